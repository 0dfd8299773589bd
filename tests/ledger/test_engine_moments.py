"""Sums of losses by any keys, classes, clusters and times in one query are those of the cases."""

import duckdb
import narwhals as nw
import numpy as np
import polars as pl
import pytest

import propriety as pr
from propriety.errors import InputValueError, UnsupportedOperationError
from propriety.ledger.engine_moments import moments_of_engine, sums_of_lazy
from propriety.tables.lazy_reading import read_lazy_cases

N = 400
RNG = np.random.default_rng(6)
ROWS = {model: RNG.dirichlet([1, 2, 1], N) for model in ("m", "n")}
FRAME = pl.DataFrame(
    {
        "y": RNG.integers(0, 2, N),
        "grade": RNG.integers(0, 3, N),
        "a": RNG.random(N),
        "b": RNG.random(N),
        **{f"{model}{place}": rows[:, place] for model, rows in ROWS.items() for place in range(3)},
        "w": RNG.gamma(2.0, 1.0, N),
        "class": RNG.choice(["south", "north"], N),
        "cluster": RNG.choice([7, 30, 4], N),
        "ward": RNG.integers(0, 5, N),
        "day": RNG.integers(0, 5, N),
    }
)
KEYED = {"weight": "w", "by": ["class", "cluster"], "cluster": "ward", "period": "day"}
RULES = [pr.Brier(), pr.Log()]


@pytest.fixture(params=["polars", "duckdb"])
def lazy(request):
    return nw.from_native(FRAME.lazy() if request.param == "polars" else duckdb.from_arrow(FRAME.to_arrow()))


def expected_of(own, forecasts, outcome, rule):
    return pr.condense(own[outcome], forecasts, rules=[rule], sample_weight=own["w"]).moments(rule).over()


@pytest.mark.slow
@pytest.mark.parametrize("dependent", [None, "cluster", "period"])
def test_the_sums_of_an_event_are_by_any_keys(lazy, dependent):
    cases = read_lazy_cases(lazy, {"a": "a", "b": "b"}, outcome="y", **KEYED)
    for keys in ([], ["cluster"], ["cluster", "class"]):
        sums = sums_of_lazy(cases, RULES, keys=keys, dependent=dependent, by_class=True)
        assert list(sums.keys) == keys
        assert (sums.units is None) == (dependent is None)
        assert sums.n.sum() == N
        units = {"cluster": "ward", "period": "day"}
        for cell, n in enumerate(sums.n):
            own = FRAME.filter(
                pl.col("y") == sums.classes[cell], *(pl.col(key) == sums.keys[key][cell] for key in keys)
            )
            if dependent is not None:
                own = own.filter(pl.col(units[dependent]) == sums.units[cell])
            assert len(own) == n
            for rule, found in zip(RULES, sums.rules, strict=True):
                expected = expected_of(own, {"a": own["a"], "b": own["b"]}, "y", rule)
                np.testing.assert_allclose(sums.weight[cell], expected.weight[0], rtol=1e-13)
                np.testing.assert_allclose(found.mean[cell], expected.mean[0], rtol=1e-11, atol=1e-13)
                np.testing.assert_allclose(found.spread[cell], expected.spread[0], rtol=1e-9, atol=1e-11)


def test_the_sums_of_classes_are_by_any_keys(lazy):
    models = {model: [f"{model}{place}" for place in range(3)] for model in ROWS}
    cases = read_lazy_cases(lazy, models, outcome="grade", **KEYED)
    sums = sums_of_lazy(cases, RULES, keys=["class", "cluster"], by_class=True)
    assert len(sums.n) == 18
    for cell in range(18):
        own = FRAME.filter(
            *(pl.col(key) == sums.keys[key][cell] for key in sums.keys), pl.col("grade") == sums.classes[cell]
        )
        forecasts = {model: own.select(columns).to_numpy() for model, columns in models.items()}
        for rule, found in zip(RULES, sums.rules, strict=True):
            expected = expected_of(own, forecasts, "grade", rule)
            np.testing.assert_allclose(found.mean[cell], expected.mean[0], rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("dependent", [None, "cluster", "period"])
def test_moments_are_by_outcome_every_key_and_what_depends(lazy, dependent):
    beside = {} if dependent is None else {dependent: "ward"}
    cases = read_lazy_cases(lazy, {"a": "a", "b": "b"}, outcome="y", weight="w", by=["class", "day"], **beside)
    found = moments_of_engine(cases, RULES, dropped=3)
    assert list(found) == RULES
    expected = pr.condense(FRAME, ["a", "b"], outcome="y", by=["class", "day"], sample_weight="w", **beside)
    for rule, one in found.items():
        other = expected.moments(rule)
        assert one.index.names == ("outcome", "class", "day", *([] if dependent is None else [dependent]))
        assert one.dropped == 3
        assert [one.index.column(name) for name in one.index.names] == [
            other.index.column(n) for n in other.index.names
        ]
        for name, column in one.sums()._asdict().items():
            np.testing.assert_allclose(column, getattr(other, name), rtol=1e-9, atol=1e-11, err_msg=name)


def test_losses_that_are_all_the_same_have_no_spread(lazy):
    flat = lazy.with_columns(a=nw.lit(0.3), b=nw.lit(0.1))
    cases = read_lazy_cases(flat, {"a": "a", "b": "b"}, outcome="y", by="day")
    moments = moments_of_engine(cases, [pr.Log()])[pr.Log()]
    assert moments.spread.tolist() == np.zeros((10, 3)).tolist()


def test_infinite_losses_stay_with_their_model(lazy):
    sure = lazy.with_columns(a=nw.when(nw.col("day") == 1).then(nw.lit(0.0)).otherwise(nw.col("a")))
    cases = read_lazy_cases(sure, {"a": "a", "b": "b"}, outcome="y", by="day")
    means = moments_of_engine(cases, [pr.Log()])[pr.Log()].over("day").mean
    assert np.isinf(means[1]).tolist() == [True, False, True]
    assert np.isfinite(means[[0, 2, 3, 4]]).all()


def test_rules_of_another_kind_and_formulas_that_no_engine_has_are_refused(lazy):
    class Rounded(pr.BinaryRule):
        def loss(self, p, *, event, ops=None):
            law = "no such operation"
            raise NotImplementedError(law)

    cases = read_lazy_cases(lazy, {"a": "a"}, outcome="y")
    with pytest.raises(UnsupportedOperationError, match=r"cannot compute these losses: Rounded\(\); no such operation"):
        moments_of_engine(cases, [Rounded()])
    rows = read_lazy_cases(lazy, {"m": ["m0", "m1", "m2"]}, outcome="grade")
    with pytest.raises(InputValueError, match=r"Elementary\(threshold=0.2\) scores the forecast of one event"):
        moments_of_engine(rows, [pr.Elementary(0.2)])
