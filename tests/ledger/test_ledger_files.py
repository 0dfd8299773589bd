"""Moments written and read again: the same numbers, and errors for what does not fit together."""

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

import propriety as pr
from propriety.errors import InputTypeError, InputValueError

RNG = np.random.default_rng(2)
Y, P, Q = RNG.integers(0, 2, 60), RNG.random(60), RNG.random(60)
BY, CLUSTER = RNG.choice(["a", "b"], 60), RNG.integers(0, 5, 60)


def moments(**options):
    return pr.loss_moments(Y, {"p": P, "q": Q}, **options)


def same(one, other):
    assert one.to_dict() == other.to_dict()
    np.testing.assert_array_equal(one.standard_errors(), other.standard_errors())


KINDS = {"plain": {}, "groups": {"by": BY}, "clusters": {"cluster": CLUSTER}, "both": {"by": BY, "cluster": CLUSTER}}


@pytest.mark.parametrize("kind", KINDS)
def test_files_and_plain_data_give_the_moments_back(kind, tmp_path):
    found = moments(**KINDS[kind])
    found.to_parquet(tmp_path / "m.parquet")
    same(pr.LossMoments.from_parquet(tmp_path / "m.parquet"), found)
    same(pr.LossMoments.from_dict(json.loads(json.dumps(found.to_dict()))), found)


def test_days_are_merged_as_if_they_were_one(tmp_path):
    for day in range(6):
        part = slice(10 * day, 10 * day + 10)
        pr.loss_moments(Y[part], {"p": P[part], "q": Q[part]}).to_parquet(tmp_path / f"{day}.parquet")
    merged = pr.LossMoments.merge(pr.LossMoments.from_parquet(path) for path in sorted(tmp_path.iterdir()))
    np.testing.assert_allclose(merged.means, moments().means, rtol=1e-14)
    np.testing.assert_allclose(merged.standard_errors(), moments().standard_errors(), rtol=1e-13)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"schema": "propriety.forecast_table"}, "must be a stored propriety.loss_moments"),
        ({"version": 2}, "must have version 1"),
        ({"mean": [[0.1, 0.2]]}, "mean of propriety.loss_moments must be of shape"),
        ({"weight": ["x"]}, "must hold numbers"),
        ({"n": [0]}, "must hold a case"),
        ({"n": [2.0**63]}, "must hold a case"),
        ({"n": None}, "n of propriety.loss_moments must hold numbers"),
        ({"n": 2}, r"n of propriety.loss_moments must be of shape \(1,\) with at least one cell; got \(\)"),
        ({"models": []}, "must name its models"),
        ({"models": "pq"}, "must name its models"),
        ({"rule": None}, "must name its models and its rule"),
        ({"group": ["a", "b"]}, "one label per cell"),
        ({"spare": 1}, "it has \\['spare'\\] too"),
    ],
    ids=[
        "schema",
        "version",
        "shape",
        "numbers",
        "empty",
        "countless",
        "none",
        "scalar",
        "models",
        "text",
        "rule",
        "labels",
        "surplus",
    ],
)
def test_what_does_not_fit_together_is_refused(change, match):
    with pytest.raises(InputValueError, match=match):
        pr.LossMoments.from_dict(moments().to_dict() | change)


@given(
    field=st.sampled_from(sorted(moments().to_dict())),
    value=st.one_of(st.none(), st.integers(), st.text(), st.lists(st.floats())),
)
def test_a_field_of_another_kind_never_passes_for_something_else(field, value):
    data = moments().to_dict() | {field: value}
    try:
        found = pr.LossMoments.from_dict(data)
    except InputValueError:
        return
    assert found.models == ("p", "q")
    assert found.mean.shape == (1, 3)


@pytest.mark.parametrize(
    "change",
    [
        {"schema": np.array(["a", "b"])},
        {"n": [59.5]},
        {"n": [10**400]},
        {"n": ["60"]},
        {"weight": [np.inf]},
        {"weight": [61.0]},
        {"weight": [5e-324]},
        {"weight_squares": [-1.0]},
        {"weight_squares": [np.nan]},
        {"mean": [[0.1, None, 0.3]]},
        {"spread": [[-1.0, 1.0, 1.0]]},
        {"lean": [[1e3, 0.0, 0.0]]},
        {"mean": [[1e300, 0.0, 0.0]]},
        {"spread": [[1e308, 1.0, 1.0]]},
        {"lean": [[1e308, 0.0, 0.0]], "spread": [[np.inf, 1.0, 1.0]]},
        {"dropped": True},
        {"dropped": 2**63},
        {"models": ["p", "p"]},
        {"group": [["a"]]},
    ],
    ids=lambda change: "-".join(f"{name} {str(value)[:12]}" for name, value in change.items()),
)
def test_moments_that_no_losses_have_are_refused(change):
    with pytest.raises(InputValueError):
        pr.LossMoments.from_dict(moments().to_dict() | change)


@pytest.mark.parametrize("rule", [pr.Brier(), pr.Log()], ids=repr)
def test_every_moments_that_losses_have_are_read(rule):
    """With weights over many orders of magnitude, equal losses and infinite ones, stored after each addition."""
    found = pr.loss_moments([1], {"p": [1.0], "q": [0.5]}, rule=rule)
    for y, p, q, weight in zip(
        [0, 1, 1, 0], [0.3, 0.3, 0.0, 1.0], [0.7, 1 / 3, 0.1, 0.2], [1e8, 1e-8, 0.1, 3], strict=True
    ):
        with np.errstate(invalid="ignore"):
            found += pr.loss_moments([y], {"p": [p], "q": [q]}, rule=rule, sample_weight=[weight])
        again = pr.LossMoments.from_dict(found.to_dict())
        np.testing.assert_array_equal(again.spread, found.spread)


def test_a_list_that_is_missing_from_a_file_is_refused(tmp_path):
    path = tmp_path / "m.parquet"
    moments(by=BY).to_parquet(path)
    table = parquet.read_table(path)
    gap = pa.array([None, [1.0, 1.0, 1.0]], type=pa.list_(pa.float64()))
    for column in (gap, pa.nulls(2), pa.array(["a", "b"])):
        parquet.write_table(table.set_column(table.column_names.index("mean"), "mean", column), path)
        with pytest.raises(InputValueError, match=r"mean of propriety\.loss_moments must"):
            pr.LossMoments.from_parquet(path)


def test_labels_of_several_kinds_do_not_go_into_one_column(tmp_path):
    labels = np.array([1, "a"] * 30, dtype=object)
    with pytest.raises(InputTypeError, match="must hold values of one kind"):
        moments(by=labels).to_parquet(tmp_path / "m.parquet")
