"""Moments of every rule, and whole evaluations, are the same on every engine as in NumPy."""

import narwhals as nw
import numpy as np
import polars as pl
import pytest

import propriety as pr
from propriety.errors import InputValueError, MissingValuesError, UnsupportedOperationError
from propriety.ledger.engine_moments import moments_of_engine
from propriety.rules.catalogue import RULES
from propriety.rules.rule import BinaryRule
from propriety.tables.lazy_reading import read_lazy_cases

RNG = np.random.default_rng(9)
N = 2000
TRUTH = np.round(RNG.beta(1, 3, N), 3)
FRAME = pl.DataFrame(
    {
        "y": (RNG.random(N) < TRUTH).astype(np.int64),
        "a": TRUTH,
        "b": np.round(np.clip(TRUTH + RNG.normal(0, 0.1, N), 0.01, 0.99), 3),
        "w": RNG.gamma(2.0, 1.0, N),
        "site": RNG.choice(["north", "south"], N),
        "ward": RNG.integers(0, 25, N),
    }
)
FORECASTS = {"a": FRAME["a"], "b": FRAME["b"]}
BINARY = [rule for rule in RULES if isinstance(rule, BinaryRule) and not isinstance(rule, pr.BetaRegret)]
DRAWS = {"seed": 1, "n_resamples": 20}
# Spark takes half a minute to plan either of these two formulas.
LEFT_OUT = {"pyspark": (pr.Pseudospherical, pr.BoundedNetBenefit)}


@pytest.mark.parametrize("weight", [None, "w"], ids=["unweighted", "weighted"])
def test_the_moments_of_every_rule_are_those_of_numpy(request, lazy_engine, same_moments, weight):
    if weight is None and any(name in request.node.name for name in ("dask", "spark")):
        pytest.skip("planning takes most of a minute, and the weighted query does all that the other does")
    frame, models = nw.from_native(lazy_engine(FRAME)), {"a": "a", "b": "b"}
    cases = read_lazy_cases(frame, models, outcome="y", weight=weight, by="site", cluster="ward")
    rules = [rule for rule in BINARY if not isinstance(rule, LEFT_OUT.get(cases.engine, ()))]
    found = moments_of_engine(cases, rules)
    shared = {"by": "site", "cluster": "ward", "sample_weight": weight}
    ledger = pr.condense(FRAME, ["a", "b"], outcome="y", **shared, rules=rules)
    for rule in rules:
        same_moments(found[rule], ledger.moments(rule), rtol=1e-11)


def test_an_evaluation_is_that_of_the_arrays(engine):
    found = pr.evaluate(engine(FRAME), ["a", "b"], outcome="y", by="site", thresholds=(0.05, 0.3), **DRAWS)
    whole = pr.evaluate(FRAME["y"], FORECASTS, by=FRAME["site"], thresholds=(0.05, 0.3), **DRAWS)
    assert found.to_dict() == pytest.approx(whole.to_dict(), rel=1e-11, abs=1e-14, nan_ok=True)
    np.testing.assert_allclose(found.comparison.differences.value, whole.comparison.differences.value, rtol=1e-10)
    np.testing.assert_allclose(found.slices.value, whole.slices.value, rtol=1e-11)
    np.testing.assert_allclose(found.slices.p, whole.slices.p, rtol=1e-8)
    assert found.slices.to_dict()["events"] == whole.slices.to_dict()["events"]
    for curve, expected in zip(found.reliability.values(), whole.reliability.values(), strict=True):
        assert curve["event"].event_rate.tolist() == expected["event"].event_rate.tolist()


def test_bad_rows_are_refused_before_anything_is_computed(lazy_engine):
    bad = FRAME.with_columns(pl.when(pl.int_range(pl.len()) == 777).then(1.5).otherwise(pl.col("b")).alias("b"))
    with pytest.raises(InputValueError, match=r"forecasts\['b'\] must lie in \[0, 1\]; one is 1.5 \(1 of 2,000 rows\)"):
        pr.evaluate(lazy_engine(bad), ["a", "b"], outcome="y", **DRAWS)
    absent = FRAME.with_columns(pl.when(pl.int_range(pl.len()) == 5).then(None).otherwise(pl.col("a")).alias("a"))
    with pytest.raises(MissingValuesError, match=r"forecasts\['a'\] must not hold missing values"):
        pr.evaluate(lazy_engine(absent), ["a", "b"], outcome="y", **DRAWS)


def test_an_operation_that_engines_lack_is_told():
    cases = read_lazy_cases(nw.from_native(FRAME.lazy()), {"a": "a"}, outcome="y")
    with pytest.raises(UnsupportedOperationError, match="no incomplete beta"):
        moments_of_engine(cases, [pr.BetaRegret(2.0, 3.0)])
