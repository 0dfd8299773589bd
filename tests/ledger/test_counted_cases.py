"""Rows that count equal cases give the ledger of all cases, without weights."""

import duckdb
import numpy as np
import polars as pl
import pytest

import propriety as pr
from propriety.errors import InputTypeError, InputValueError
from propriety.ledger.moments import Sums


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(1)
    n = 6_000
    a = np.round(rng.beta(1, 4, n), 2)
    b = np.round(np.clip(a + rng.normal(0, 0.1, n), 0, 1), 1)
    y = rng.random(n) < a
    columns = {"a": a, "b": b, "y": y.astype(int), "day": rng.integers(1, 4, n), "site": rng.choice(["x", "y"], n)}
    return pl.DataFrame(columns)


def counted(frame):
    return frame.group_by("a", "b", "y", "day", "site").len("cases")


def assert_same(found, expected):
    assert (found.models, found.keys, found.n, found.is_weighted) == (
        expected.models,
        expected.keys,
        expected.n,
        expected.is_weighted,
    )
    for model in expected.models:
        for event in expected.events:
            one, other = (ledger.keyed_tables(model, event) for ledger in (found, expected))
            for name in ("entry", "forecast", "events", "non_events", "event_squares", "n", "n_events"):
                np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert found.rules == expected.rules
    for rule in expected.rules:
        one, other = found.moments(rule), expected.moments(rule)
        assert one.index.labels == other.index.labels
        for name in Sums._fields:
            np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-10, atol=1e-10, err_msg=name)


@pytest.mark.parametrize(
    "as_source", [pl.DataFrame.to_arrow, pl.DataFrame.lazy, "duckdb"], ids=["eager", "lazy", "sql"]
)
def test_counted_rows_give_the_ledger_of_all_cases(frame, as_source):
    cells = counted(frame)
    source = duckdb.sql("SELECT * FROM cells") if as_source == "duckdb" else as_source(cells)
    options = {"outcome": "y", "by": ["day", "site"]}
    found = pr.condense(source, ["a", "b"], **options, counts="cases")
    expected = pr.condense(frame, ["a", "b"], **options)
    assert_same(found, expected)
    assert str(pr.compare(found)) == str(pr.compare(expected))


def test_classes_clusters_and_rows_without_cases(frame):
    rng = np.random.default_rng(2)
    p = rng.choice([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]], 40)
    y, cluster, counts = rng.integers(0, 3, 40), rng.integers(0, 5, 40), rng.integers(0, 4, 40)
    every = np.repeat(np.arange(40), counts)
    found = pr.condense(y, {"m": p}, cluster=cluster, counts=counts)
    assert_same(found, pr.condense(y[every], {"m": p[every]}, cluster=cluster[every]))


def test_a_grid_and_stored_files(frame, tmp_path):
    cells = pr.condense(counted(frame), ["a"], outcome="y", by=["day"], counts="cases", cells=16)
    cells.to_parquet(tmp_path / "ledger")
    expected = pr.condense(frame, ["a"], outcome="y", by=["day"], cells=16).table("a")
    found = pr.Ledger.from_parquet(tmp_path / "ledger").table("a")
    np.testing.assert_allclose(found.forecast, expected.forecast, rtol=1e-12)
    assert found.events.tolist() == expected.events.tolist()


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([1.5, 2], "counts must be whole numbers; row 0 is 1.5"),
        ([1, -2], "counts must be finite and not negative; row 1 is -2"),
        ([0, 0], "counts must be positive for at least one case"),
        ([1, None], "counts must not hold missing values"),
        ([2.0**53, 2], "counts must add up to at most 2"),
    ],
)
def test_invalid_counts_are_rejected(counts, message):
    with pytest.raises(InputValueError, match=message):
        pr.condense([0, 1], [0.2, 0.7], counts=counts)


def test_counts_are_not_weights_and_not_for_ledgers():
    with pytest.raises(InputValueError, match="counts= or sample_weight=, not both"):
        pr.condense([0, 1], [0.2, 0.7], counts=[1, 2], sample_weight=[1, 2])
    with pytest.raises(InputTypeError, match="pass it without counts"):
        pr.condense(pr.condense([0, 1], [0.2, 0.7]), counts=[1, 2])
    with pytest.raises(InputTypeError, match=r"put it into a list, \[counts\]"):
        pr.condense([0, 1], [0.2, 0.7], counts="cases")


def test_few_events_and_a_row_without_cases():
    """A row without cases must not count, nor its infinite loss."""
    rng = np.random.default_rng(3)
    p = {name: np.round(rng.beta(1, 9, 300), 2) for name in "abc"}
    y, counts = rng.random(300) < 0.05, rng.integers(0, 6, 300)
    y[0], p["a"][0], counts[0] = True, 0.0, 0
    every = np.repeat(np.arange(300), counts)
    found = pr.condense(y, p, counts=counts)
    expected = pr.condense(y[every], {name: own[every] for name, own in p.items()})
    assert_same(found, expected)
    assert str(pr.compare(found)) == str(pr.compare(expected))
