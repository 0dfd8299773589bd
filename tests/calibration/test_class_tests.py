"""Sums of class scores by their definition, their draws, and the summed distance."""

import numpy as np
import pytest
from scipy.special import logit

from propriety.calibration.class_test import (
    DistanceSum,
    class_scores,
    class_test,
    combined,
    drawn_test,
    expected_test,
    line_of_table,
    line_statistics,
    pooled_cases,
    pooled_table,
    standardised,
)
from propriety.tables.cases import Cases
from propriety.tables.forecast_table import ForecastTable


def sample(n=400, classes=4, seed=1, power=1.0):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(classes), n)
    truth = p**power / (p**power).sum(axis=1, keepdims=True)
    y = (truth.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    return Cases(outcome=y, forecasts={"m": p}, labels=tuple(range(classes)))


@pytest.mark.parametrize("weighted", [False, True])
def test_sums_and_variances_are_those_of_the_definition(weighted):
    cases = sample()
    weight = np.random.default_rng(2).gamma(2.0, 0.5, 400) if weighted else None
    cases = Cases(outcome=cases.outcome, forecasts=cases.forecasts, labels=cases.labels, weight=weight)
    found = class_scores(cases, "m")
    p, w = cases.forecasts["m"], np.ones(400) if weight is None else weight
    y = np.eye(4)[cases.outcome]
    place = ((logit(p) + 30) * (2**12 / 60)).astype(int)
    f = np.concatenate([np.log(p)[:, :, None], found.shapes[place]], axis=2)
    np.testing.assert_allclose(found.sums, np.einsum("i,ik,ikj->j", w, y - p, f), rtol=1e-10, atol=1e-10)
    means = np.einsum("ik,ikj->ij", p, f)
    second = np.einsum("i,ik,ikj,ikl->jl", w**2, p, f, f)
    np.testing.assert_allclose(found.variance, second - np.einsum("i,ij,il->jl", w**2, means, means), atol=1e-9)
    np.testing.assert_allclose(found.line_sums[:, 1], (w[:, None] * (y - p) * logit(p)).sum(axis=0), atol=1e-10)
    np.testing.assert_allclose(found.residuals.sum(axis=0), found.sums, atol=1e-10)


def test_lines_of_tables_are_those_of_cases():
    cases = sample()
    found = class_scores(cases, "m")
    for place, own in enumerate(cases.events("class", "m")):
        sums, variance, information = line_of_table(ForecastTable.from_cases(own))
        np.testing.assert_allclose(sums, found.line_sums[place], rtol=1e-12, atol=1e-11)
        np.testing.assert_allclose(variance, found.line_variance[place], rtol=1e-12)
        assert information == pytest.approx(variance[0])


def test_quadratic_forms_are_those_of_the_inverse():
    found = class_scores(sample(), "m")
    z, *shape = standardised(found.sums, found.variance)
    whole = found.sums @ np.linalg.solve(found.variance, found.sums)
    assert z**2 + np.sum(np.square(shape)) == pytest.approx(whole)
    assert z == pytest.approx(found.sums[0] / np.sqrt(found.variance[0, 0]))
    lines, df = line_statistics(found.line_sums, found.line_variance, found.line_variance[:, 0])
    first, mixed, second = found.line_variance[1]
    cox = found.line_sums[1] @ np.linalg.solve([[first, mixed], [mixed, second]], found.line_sums[1])
    assert lines[1] == pytest.approx(cox * first / (first + 1.0))
    assert df.tolist() == [2.0] * 4


def test_draws_agree_with_chi_squared_for_frequent_classes():
    cases = sample(3000, 3, seed=4)
    scores = class_scores(cases, "m")
    plain, drawn = expected_test(scores), drawn_test(cases, "m", scores, 2000, 1)
    for view, p_value in plain.p_values.items():
        if view != "class-wise":  # This is a bound of the chi-squared distribution.
            assert drawn.p_values[view] == pytest.approx(p_value, abs=0.04)
    np.testing.assert_allclose(drawn.class_p_values, plain.class_p_values, atol=0.04)
    assert class_test(cases, "m", scores, level=0.95, n_resamples=100, seed=1).method == "chi-squared"
    assert (
        "draws"
        in class_test(sample(100), "m", class_scores(sample(100), "m"), level=0.95, n_resamples=99, seed=1).method
    )


@pytest.mark.parametrize("classes", [3, 40])
def test_drawn_outcomes_have_the_probabilities(classes):
    cases = sample(50, classes, seed=3)
    scores = class_scores(cases, "m")
    from propriety.calibration.class_test import _drawn_sums

    sums, lines = _drawn_sums(cases, "m", scores, 4000, 1)
    np.testing.assert_allclose(np.cov(sums.T), scores.variance, rtol=0.15, atol=0.1 * scores.variance.max())
    np.testing.assert_allclose(lines[:, :, 0].var(axis=0), scores.line_variance[:, 0], rtol=0.2)
    assert np.abs(lines.mean(axis=0)).max() < 0.25


def test_shares_of_the_level_add_up():
    assert combined({"temperature": 0.02, "class-wise": 0.5, "shape": 0.5}) == (pytest.approx(0.05), "temperature")
    assert combined({"temperature": 0.5, "class-wise": 0.5, "shape": 0.01}) == (pytest.approx(0.05), "shape")


def summed(cases):
    added = DistanceSum(np.ones(len(cases)))
    for own in cases.events("class", "m"):
        added.add(*pooled_cases(own), own)
    return added.result(0.95)


def test_the_distance_of_calibrated_probabilities_is_not_inflated():
    values = [summed(sample(300, 10, seed=seed)) for seed in range(40)]
    raw = [one.of_class.sum() for one in values]
    assert abs(np.mean(raw)) < 3 * np.std(raw) / np.sqrt(40)
    assert all(one.low <= one.value <= one.high for one in values)
    assert np.mean([one.low for one in values]) == 0.0 or np.mean([one.low > 0 for one in values]) < 0.15


def test_the_distance_of_constant_shifts_is_known():
    rng = np.random.default_rng(6)
    p = rng.dirichlet([8, 8, 8], 6000)
    truth = p + np.array([0.1, -0.1, 0.0])
    y = (truth.cumsum(axis=1) > rng.random((6000, 1))).argmax(axis=1)
    found = summed(Cases(outcome=y, forecasts={"m": p}, labels=(0, 1, 2)))
    assert found.low < 0.02 < found.high
    assert found.value == pytest.approx(0.02, abs=0.005)


@pytest.mark.parametrize("weighted", [False, True])
def test_pooled_tables_of_cases_and_of_tables_agree(weighted):
    cases = sample(8000, 3)
    weight = np.random.default_rng(1).integers(0, 3, 8000).astype(float) if weighted else None
    cases = Cases(outcome=cases.outcome, forecasts=cases.forecasts, labels=cases.labels, weight=weight)
    own = next(cases.events("class", "m"))
    table = ForecastTable.from_cases(own)
    one, other = pooled_cases(own)[0], pooled_table(table)
    assert len(one) < len(table)
    for name in ("forecast", "events", "non_events", "event_squares"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-12)
    assert (one.n, one.n_events) == (table.n, table.n_events)
    assert one.mean_forecast == pytest.approx(table.mean_forecast, rel=1e-12)


def test_forecasts_next_to_one_are_not_pooled_with_one():
    near = np.concatenate(
        [np.full(3000, 1.0 - 1e-14), np.full(3000, np.nextafter(1.0, 0.0)), np.linspace(0.1, 0.9, 100)]
    )
    forecast = np.concatenate([near, np.ones(50), np.zeros(50), [5e-324]])
    table = ForecastTable.from_predictions(forecast > 0.5, forecast)
    pooled = pooled_table(table)
    assert pooled.forecast[[0, -1]].tolist() == [0.0, 1.0]
    assert (np.diff(pooled.forecast) > 0.0).all()
    assert (pooled.events[-1], pooled.non_events[0]) == (50.0, 50.0)
    assert pooled.forecast[1] == 5e-324


def test_enough_draws_are_made_for_the_level():
    cases = sample(40, power=-3.0)
    scores = class_scores(cases, "m")
    few = class_test(cases, "m", scores, level=0.5, n_resamples=10, seed=1)
    assert (few.method, few.smallest) == ("10 draws of outcomes", 1 / 11)
    found = class_test(cases, "m", scores, level=0.9995, n_resamples=10, seed=1)
    assert found.p_value <= 0.0005
    assert found.class_p_adjusted.min() <= 0.4 * 0.0005
    right = sample(40)
    assert "40 draws" in class_test(right, "m", class_scores(right, "m"), level=0.9995, n_resamples=40, seed=1).method


def test_limits_from_tables_contain_those_from_cases():
    cases = sample(500, 5, seed=2, power=0.6)
    tables = DistanceSum(None)
    for own in cases.events("class", "m"):
        tables.add(ForecastTable.from_cases(own))
    one, other = summed(cases), tables.result(0.95)
    assert other.value == pytest.approx(one.value)
    assert other.low <= one.low
    assert one.high < other.high < 3.0 * one.high


def test_rounding_errors_of_the_distance_are_zero():
    y = np.arange(3).repeat(100)
    cases = Cases(outcome=y, forecasts={"m": np.full((300, 3), 1 / 3)}, labels=(0, 1, 2))
    assert all(one == 0.0 or one > 1e-6 for one in summed(cases)[:3])
