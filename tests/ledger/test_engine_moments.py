"""Sums of losses by any keys, classes, clusters and times in one query are those of the cases."""

import duckdb
import narwhals as nw
import numpy as np
import polars as pl
import pytest
from propriety.inference.engine_moments import moments_of_lazy, sums_of_lazy

import propriety as pr
from propriety.errors import InputValueError
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
KEYED = {"weight": "w", "by": ["class", "cluster"], "cluster": "ward", "time": "day"}
RULES = [pr.Brier(), pr.Log()]


@pytest.fixture(params=["polars", "duckdb"])
def lazy(request):
    return nw.from_native(FRAME.lazy() if request.param == "polars" else duckdb.from_arrow(FRAME.to_arrow()))


def expected_of(own, forecasts, outcome, rule):
    return pr.loss_moments(own[outcome], forecasts, rule=rule, sample_weight=own["w"])


@pytest.mark.parametrize("dependent", [None, "cluster", "time"])
def test_the_sums_of_an_event_are_by_any_keys(lazy, dependent):
    cases = read_lazy_cases(lazy, {"a": "a", "b": "b"}, outcome="y", **KEYED)
    for keys in ([], ["cluster"], ["cluster", "class"]):
        sums = sums_of_lazy(cases, RULES, keys=keys, dependent=dependent, by_class=True)
        assert list(sums.keys) == keys
        assert (sums.units is None) == (dependent is None)
        assert sums.n.sum() == N
        units = {"cluster": "ward", "time": "day"}
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


def test_moments_are_kept_by_one_key(lazy):
    cases = read_lazy_cases(lazy, {"a": "a"}, outcome="y", **KEYED)
    for options in ({"keys": ["class", "cluster"]}, {"keys": ["class"], "by_class": True}):
        with pytest.raises(InputValueError, match="kept by one key, or by class"):
            moments_of_lazy(cases, RULES, **options)
