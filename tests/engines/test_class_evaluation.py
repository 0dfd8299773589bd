"""Moments of every rule for classes, and whole evaluations of grades, are the same on every engine as in NumPy."""

import narwhals as nw
import numpy as np
import polars as pl
import pytest

import propriety as pr
from propriety.errors import InputValueError, MissingValuesError
from propriety.ledger.engine_moments import moments_of_engine
from propriety.rules.catalogue import RULES
from propriety.rules.rule import ClassRule
from propriety.tables.lazy_reading import read_lazy_cases

RNG = np.random.default_rng(10)
N = 500
SHARP = RNG.dirichlet([1, 2, 1], N)
GRADE = np.array([RNG.choice(3, p=row) for row in SHARP])
ROUGH = np.round(RNG.dirichlet([1, 1, 1], N), 1)
ROUGH[:, 2] = np.maximum(1.0 - ROUGH[:, 0] - ROUGH[:, 1], 0.0)
ROWS = {"sharp": SHARP, "rough": ROUGH}
NAMED = {model: [f"{model}_{place}" for place in range(3)] for model in ROWS}
FRAME = pl.DataFrame(
    {
        "y": np.array(["low", "mid", "high"])[GRADE],
        "w": RNG.gamma(2.0, 1.0, N) * (RNG.random(N) < 0.9),
        "site": RNG.choice(["north", "south"], N),
        "ward": RNG.integers(0, 12, N),
        **{column: ROWS[model][:, place] for model, own in NAMED.items() for place, column in enumerate(own)},
    }
)
LABELLED = {"outcome": "y", "labels": ["low", "mid", "high"]}
CLASS_RULES = [rule for rule in RULES if isinstance(rule, ClassRule)]
DRAWS = {"seed": 1, "n_resamples": 20}


@pytest.mark.parametrize("lazy_engine", ["polars lazy", "duckdb"], indirect=True, ids=["polars", "duckdb"])
def test_the_moments_of_every_rule_are_those_of_numpy(lazy_engine, same_moments):
    frame = nw.from_native(lazy_engine(FRAME))
    cases = read_lazy_cases(frame, NAMED, weight="w", by="site", cluster="ward", **LABELLED)
    found = moments_of_engine(cases, CLASS_RULES)
    ledger = pr.condense(FRAME, NAMED, by="site", cluster="ward", sample_weight="w", rules=CLASS_RULES, **LABELLED)
    for rule in CLASS_RULES:
        same_moments(found[rule], ledger.moments(rule), rtol=1e-12)


def test_an_evaluation_of_grades_is_that_of_the_arrays(request, lazy_engine):
    options = LABELLED | {"ordered": True} | DRAWS
    if "spark" not in request.node.name:  # Whose planning time grows with the number of sums.
        options |= {"sample_weight": "w", "cluster": "ward"}
    one = {"rough": NAMED["rough"]}
    found, whole = (pr.evaluate(frame, one, **options) for frame in (lazy_engine(FRAME), FRAME))
    assert found.to_dict() == pytest.approx(whole.to_dict(), rel=1e-11, abs=1e-14, nan_ok=True)
    assert str(found) == str(whole)
    for model, tables in whole.tables.items():
        for label, table in tables.items():
            other = found.tables[model][label]
            assert other.forecast.tolist() == table.forecast.tolist()
            assert other.n == table.n
            np.testing.assert_allclose(other.events, table.events, rtol=1e-12, atol=1e-14)


def test_classes_groups_and_confusion_are_those_of_the_arrays(lazy_engine):
    options = LABELLED | {"by": "site"} | DRAWS
    one = {"sharp": NAMED["sharp"]}
    found, whole = (pr.evaluate(frame, one, **options) for frame in (lazy_engine(FRAME), FRAME))
    same_columns(found.classes, whole.classes)
    same_columns(found.group_calibration, whole.group_calibration)
    same_columns(found.confusion["sharp"], whole.confusion["sharp"])
    assert found.calibration[0].p == pytest.approx(whole.calibration[0].p, rel=1e-12)
    assert str(found) == str(whole)


def same_columns(found, whole):
    one, other = found.columns(), whole.columns()
    assert list(one) == list(other)
    for name, column in other.items():
        if np.asarray(column).dtype.kind == "f":
            np.testing.assert_allclose(one[name], column, rtol=1e-12, atol=1e-14, err_msg=name)
        else:
            assert list(one[name]) == list(column), name


def spoilt(column, value):
    return FRAME.with_columns(pl.when(pl.int_range(pl.len()) == 99).then(value).otherwise(column).alias(column))


@pytest.mark.parametrize("lazy_engine", ["polars lazy", "ibis on duckdb"], indirect=True, ids=["polars", "ibis"])
def test_bad_rows_are_refused_before_anything_is_computed(lazy_engine):
    for column, value, error, told in (
        ("rough_1", float("nan"), MissingValuesError, r"forecasts\['rough'\] must not hold missing values"),
        ("sharp_0", -2.0, InputValueError, r"forecasts\['sharp'\] must lie in \[0, 1\]; one is -2.0 \(1 of 500 rows\)"),
        ("rough_0", 0.999, InputValueError, r"the rows of forecasts\['rough'\] must sum to 1 within 1e-06"),
        ("y", pl.lit("else"), InputValueError, r"only the labels \['low', 'mid', 'high'\]; one is 'else' \(1 of 500"),
    ):
        with pytest.raises(error, match=told):
            pr.evaluate(lazy_engine(spoilt(column, value)), NAMED, sample_weight="w", **LABELLED, **DRAWS)


def test_a_rule_of_one_event_is_refused():
    cases = read_lazy_cases(nw.from_native(FRAME.lazy()), NAMED, **LABELLED)
    with pytest.raises(InputValueError, match="scores the forecast of one event; got rows"):
        moments_of_engine(cases, [pr.Elementary(0.3)])
