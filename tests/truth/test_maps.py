"""Recalibration maps are exact to the rounding of their terms, and their fits are the maxima of exact likelihoods."""

import math

import narwhals as nw
import numpy as np
import polars as pl
import pytest
from adversarial import BELOW_ONE, FORECASTS, ROWS
from exact_maps import (
    best_temperature,
    floor_of,
    floored_cases,
    isotonic_at,
    log,
    log_odds,
    most_likely,
    mpf,
    recalibrated,
    recalibrated_row,
    sigmoid,
    venn_abers_pair,
)
from exact_measures import cases_of, total
from exact_rules import ulps
from inference_samples import APPLIED, map_errors
from samples import SAMPLES

import propriety.recalibration as maps
from propriety.tables.forecast_table import ForecastTable

FEW = 16.0
EPSILON = 2.0**-52
PLAIN = "adversarial forecasts"
WHOLE = [pytest.param(sample, id=name) for name, sample in SAMPLES.items()]


def rounding_of(fitted, p):
    """Return how many units in the last place the rounding of the log-odds of both sides may cost."""
    if not hasattr(fitted, "floor") or isinstance(fitted, maps.IdentityMap):
        return FEW
    x = log_odds(min(max(mpf(p), 5e-324), BELOW_ONE))
    parts = {
        maps.OddsMap: lambda: abs(fitted.intercept) + sum(map(abs, fitted.slopes)) * abs(x),
        maps.SplineMap: lambda: abs(fitted.level) + max(fitted.slopes) * (abs(x) + abs(fitted.knots).max()),
    }
    return FEW + 4.0 * min(float(parts[type(fitted)]()), 3000.0)


@pytest.mark.parametrize("fitted", APPLIED, ids=repr)
def test_maps_are_exact(fitted):
    for p, q, error in map_errors(fitted):
        assert 0.0 <= q <= 1.0
        assert error <= rounding_of(fitted, p), (p, q)


# Maps in infinite log-odds are not written for engines.
WRITTEN = [one for one in APPLIED if getattr(one, "floor", 1.0) > EPSILON or isinstance(one, maps.IdentityMap)]


@pytest.mark.parametrize("fitted", WRITTEN, ids=repr)
def test_maps_written_for_engines_are_exact(fitted):
    """Engines have no log1p: near a forecast of 1 they know the distance to 1 as the forecast does, to 2**-53."""
    found = nw.from_native(pl.DataFrame({"p": FORECASTS})).select(q=fitted.expression("p"))["q"].to_list()
    for p, q in zip(FORECASTS, found, strict=True):
        exact = recalibrated(fitted, p)
        assert abs(mpf(q) - exact) <= 1e-13 * exact + mpf(1e-300), (p, q, float(exact))


@pytest.mark.parametrize(
    "fitted",
    [
        maps.MatrixMap(matrix=0.4, floor=1e-12),
        maps.MatrixMap(matrix=3.0, floor=1e-300),
        maps.MatrixMap(matrix=[0.5, 1.0, 2.0], intercepts=[0.1, -0.3, 0.2], floor=1e-12),
        maps.MatrixMap(
            matrix=[[1.0, 0.2, 0.0], [0.1, 0.8, -0.1], [0.0, 0.3, 1.2]], intercepts=[0.1, -0.3, 0.2], floor=1e-12
        ),
    ],
    ids=repr,
)
def test_class_maps_are_exact(fitted):
    rows = [row for row in ROWS if len(row) == 3]
    reach = 4.0 * 3.0 * abs(math.log(fitted.floor))
    for row, found in zip(rows, fitted(rows).tolist(), strict=True):
        for q, exact in zip(found, recalibrated_row(fitted, row), strict=True):
            assert ulps(q, exact) <= FEW + reach, (row, q)


@pytest.mark.parametrize("sample", WHOLE)
def test_isotonic_maps_are_the_min_max_formula(sample):
    table, cases = ForecastTable.from_predictions(sample[0], sample[1], sample_weight=sample[2]), cases_of(*sample)
    fitted = maps.fit_isotonic(table)
    for p in [*table.forecast.tolist(), 0.2, 0.4, 0.6]:
        exact = isotonic_at(cases, p)
        assert abs(mpf(float(fitted(p))) - exact) <= FEW * EPSILON * (exact if p in table.forecast else 1)


@pytest.mark.parametrize("sample", WHOLE)
@pytest.mark.parametrize("own", [None, 1.0, 1e-3])
def test_venn_abers_is_isotonic_regression_with_one_more_case(sample, own):
    table, cases = ForecastTable.from_predictions(sample[0], sample[1], sample_weight=sample[2]), cases_of(*sample)
    fitted = maps.fit_venn_abers(table, case_weight=own)
    weight = total(cases) / len(cases) if own is None else mpf(own)
    for p in [*table.forecast.tolist()[::3], 0.2, 0.6]:
        (low,), (high,) = fitted.interval([p])
        exact = venn_abers_pair(cases, p, weight)
        assert abs(mpf(float(low)) - exact[0]) <= 1e-14, (p, low, float(exact[0]))
        assert abs(mpf(float(high)) - exact[1]) <= 1e-14, (p, high, float(exact[1]))


def one(p):
    return mpf(1)


COLUMNS = {
    "intercept": (maps.fit_intercept, lambda m: [m.intercept], [one]),
    "slope": (maps.fit_slope, lambda m: [m.slope], [log_odds]),
    "logistic": (maps.fit_logistic, lambda m: [m.intercept, m.slope], [one, log_odds]),
    "beta": (maps.fit_beta, lambda m: [m.intercept, *m.slopes], [one, log, lambda p: -log(1 - p)]),
}


@pytest.mark.parametrize("method", COLUMNS)
@pytest.mark.parametrize("sample", [PLAIN, "spread"])
def test_fits_are_at_the_maximum_of_the_exact_likelihood(method, sample):
    """The slope of the likelihood is a sum of 40 rounded terms, and so is the maximum known."""
    y, p, w = SAMPLES[sample] if sample in SAMPLES else spread_out()
    fit, coefficients, columns = COLUMNS[method]
    fitted = fit(ForecastTable.from_predictions(y, p, sample_weight=w))
    cases = cases_of(y, p, w)
    assert ulps(fitted.floor, floor_of(cases)) <= 1.0
    inside = floored_cases(y, p, w, fitted.floor)
    found = [mpf(value) for value in coefficients(fitted)]
    if method == "intercept":
        # The slope of 1 is given: its log-odds are an offset, which a prior on the odds is too.
        exact = _offset_intercept(inside, found[0])
        assert abs(found[0] - exact) <= 1e-12 * max(1, abs(exact))
        return
    if method == "beta" and 0.0 in fitted.slopes:
        columns = [column for column, value in zip(columns, found, strict=True) if value != 0]
        found = [value for value in found if value != 0]
    exact, _ = most_likely(inside, columns, found)
    for value, truth in zip(found, exact, strict=True):
        assert abs(value - truth) <= 1e-9 * max(1, abs(truth)), (float(value), float(truth))


def _offset_intercept(cases, start):
    found = start
    for _ in range(60):
        rates = [sigmoid(found + log_odds(case.forecast)) for case in cases]
        slope = sum(case.weight * (case.event - q) for case, q in zip(cases, rates, strict=True))
        curve = sum(case.weight * q * (1 - q) for case, q in zip(cases, rates, strict=True))
        found += slope / curve
        if abs(slope / curve) < mpf(10) ** -40:
            break
    return found


def spread_out():
    """Return 60 weighted cases whose forecasts are too extreme."""
    generator = np.random.default_rng(11)
    x = generator.normal(0.0, 1.0, 60)
    y = generator.random(60) < 1.0 / (1.0 + np.exp(-x))
    return y, 1.0 / (1.0 + np.exp(-2.0 * x - 0.3)), generator.uniform(0.1, 3.0, 60)


def test_temperature_is_at_the_maximum_of_the_exact_likelihood():
    generator = np.random.default_rng(12)
    rows = generator.dirichlet([0.5, 0.5, 0.5], 40)
    rows = np.maximum(rows, 1e-4)
    rows /= rows.sum(axis=1, keepdims=True)
    y = np.array([generator.choice(3, p=row**0.5 / (row**0.5).sum()) for row in rows])
    w = generator.uniform(0.1, 3.0, 40)
    fitted = maps.fit_temperature(maps.ClassRows.from_predictions(y, rows, sample_weight=w))
    exact = best_temperature(rows.tolist(), y.tolist(), w.tolist(), fitted.floor, fitted.matrix)
    assert abs(mpf(fitted.matrix) - exact) <= 1e-10 * exact


def test_prior_corrections_are_bayes_theorem():
    for prior, sampled in ((0.01, 0.5), (1e-9, 0.3), (BELOW_ONE, 0.2), (0.4, 1e-12)):
        fitted = maps.prior_correction(prior=prior, sampled_at=sampled)
        a, b = mpf(prior), mpf(sampled)
        for p in (1e-12, 0.2, 0.5, 0.9):
            happens, fails = mpf(p) * a / b, (1 - mpf(p)) * (1 - a) / (1 - b)
            assert ulps(float(fitted(p)), happens / (happens + fails)) <= FEW
