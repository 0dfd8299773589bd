"""Logistic fits against SciPy, scikit-learn and published numbers; splines; smooth recalibration."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import CubicSpline
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

from propriety.calibration import logistic as module
from propriety.calibration.logistic import fit_logistic, natural_spline_basis, smooth_recalibration
from propriety.errors import InputValueError
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.laws import weighted_quantile

# Hours of study and whether the exam was passed: the example of https://en.wikipedia.org/wiki/Logistic_regression.
HOURS = np.array([2, 3, 4, 5, 6, 7, 7, 8, 9, 10, 11, 12, 13, 14, 16, 17, 18, 19, 20, 22]) / 4
PASSED = np.array([0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 1, 1, 1, 1, 1.0])


def line(x):
    return np.column_stack([np.ones(len(x)), x])


def problem(seed, rows=40, columns=3):
    rng = np.random.default_rng(seed)
    design = np.column_stack([np.ones(rows), rng.normal(size=(rows, columns - 1))])
    weight = rng.integers(1, 20, rows)
    events = rng.binomial(weight, expit(design @ rng.normal(size=columns)))
    # One more of each in every row, so that no draw is separated.
    return design, events + 1.0, weight - events + 1.0, rng.normal(size=rows)


def negative_log_likelihood(beta, design, events, non_events, offset):
    eta = design @ beta + offset
    return events @ np.logaddexp(0.0, -eta) + non_events @ np.logaddexp(0.0, eta)


def gradient(beta, design, events, non_events, offset):
    mu = expit(design @ beta + offset)
    return design.T @ ((events + non_events) * mu - events)


def numerical_hessian(beta, *data, step=1e-5):
    sides = [[gradient(beta + sign * step * unit, *data) for unit in np.eye(len(beta))] for sign in (1, -1)]
    return (np.array(sides[0]) - np.array(sides[1])) / (2 * step)


def test_published_coefficients_and_standard_errors():
    fit = fit_logistic(line(HOURS), PASSED, 1.0 - PASSED)
    np.testing.assert_allclose(fit.coefficients, [-4.0777, 1.5046], atol=5e-5)
    np.testing.assert_allclose(np.sqrt(np.diag(fit.covariance)), [1.7610, 0.6287], atol=5e-5)
    assert fit.converged


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("columns", [1, 2, 4])
def test_agrees_with_a_general_optimiser(seed, columns):
    data = problem(seed, columns=columns)
    found = minimize(
        negative_log_likelihood, np.zeros(columns), args=data, jac=gradient, method="BFGS", options={"gtol": 1e-5}
    ).x
    # Two Newton steps with a numerical Hessian take the optimiser from its tolerance to that of the test.
    for _ in range(2):
        found -= np.linalg.solve(numerical_hessian(found, *data), gradient(found, *data))
    fit = fit_logistic(*data)
    np.testing.assert_allclose(fit.coefficients, found, atol=1e-8)
    np.testing.assert_allclose(fit.covariance, np.linalg.inv(numerical_hessian(found, *data)), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("few", [5, 11])
def test_a_start_from_runs_of_rows_changes_nothing(monkeypatch, seed, few):
    design, events, non_events, offset = problem(seed)
    events[::2] = 0.0
    monkeypatch.setattr(module, "FEW_ROWS", len(design))
    expected = fit_logistic(design, events, non_events, offset)
    monkeypatch.setattr(module, "FEW_ROWS", few)
    found = fit_logistic(design, events, non_events, offset)
    assert found.converged
    np.testing.assert_allclose(found.coefficients, expected.coefficients, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.covariance, expected.covariance, rtol=1e-8)


def test_runs_without_a_fit_of_their_own_are_no_start(monkeypatch):
    x = np.arange(12.0)
    events = np.isin(x, [7, 9]) * 1.0  # All in the second of two runs, so that these are separated.
    non_events = 1.0 - events
    expected = fit_logistic(line(x), events, non_events)
    monkeypatch.setattr(module, "FEW_ROWS", 2)
    np.testing.assert_allclose(fit_logistic(line(x), events, non_events).coefficients, expected.coefficients, rtol=1e-9)


def test_agrees_with_scikit_learn():
    design, events, non_events, _ = problem(1)
    cases = np.repeat(np.concatenate([design, design]), np.concatenate([events, non_events]).astype(int), axis=0)
    outcome = np.repeat([1, 0], [int(events.sum()), int(non_events.sum())])
    other = LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-10).fit(cases, outcome)
    np.testing.assert_allclose(fit_logistic(design, events, non_events).coefficients, other.coef_[0], atol=1e-4)


@given(seed=st.integers(0, 10**6))
def test_grouped_rows_weights_and_repetition_mean_the_same(seed):
    design, events, non_events, offset = problem(seed, rows=12, columns=2)
    grouped = fit_logistic(design, events, non_events, offset)
    rows = np.repeat(np.arange(12), (events + non_events).astype(int))
    outcome = np.concatenate([np.repeat([1.0, 0.0], [int(e), int(f)]) for e, f in zip(events, non_events, strict=True)])
    single = fit_logistic(design[rows], outcome, 1.0 - outcome, offset[rows])
    np.testing.assert_allclose(single.coefficients, grouped.coefficients, atol=1e-9)
    np.testing.assert_allclose(single.covariance, grouped.covariance, rtol=1e-8)
    scaled = fit_logistic(design, 3.0 * events, 3.0 * non_events, offset)
    np.testing.assert_allclose(scaled.coefficients, grouped.coefficients, atol=1e-9)
    np.testing.assert_allclose(scaled.covariance, grouped.covariance / 3.0, rtol=1e-8)


@given(seed=st.integers(0, 10**6), factor=st.sampled_from([1e-6, 1e-2, 7.0, 1e5]))
def test_units_of_the_columns_do_not_matter(seed, factor):
    design, events, non_events, offset = problem(seed, rows=12, columns=2)
    units = np.array([1.0, factor])
    fit, other = (fit_logistic(columns, events, non_events, offset) for columns in (design, design * units))
    np.testing.assert_allclose(other.coefficients * units, fit.coefficients, atol=1e-8)


@pytest.mark.parametrize("offset", [-700.0, -30.0, 0.0, 30.0, 700.0])
def test_far_offsets_are_overcome(offset):
    fit = fit_logistic(np.ones((2, 1)), np.array([1.0, 2.0]), np.array([3.0, 0.0]), np.full(2, offset))
    assert fit.converged
    np.testing.assert_allclose(fit.coefficients, -offset, atol=1e-9)


def test_rare_events_among_many_cases():
    x = np.array([-1.0, 0.0, 1.0])
    events, non_events = np.array([3.0, 10.0, 31.0]), np.full(3, 1e12)
    fit = fit_logistic(line(x), events, non_events)
    found = fit_logistic(line(x), events, np.full(3, 1e9))
    assert fit.converged
    np.testing.assert_allclose(fit.coefficients[1], found.coefficients[1], rtol=1e-6)
    np.testing.assert_allclose(fit.coefficients[0], found.coefficients[0] - np.log(1e3), rtol=1e-6)


@pytest.mark.parametrize(("events", "word"), [(0.0, "non-events"), (1.0, "events")])
def test_one_class_is_refused(events, word):
    with pytest.raises(InputValueError, match=f"both classes; all are {word}"):
        fit_logistic(np.ones((3, 1)), np.full(3, events), np.full(3, 1.0 - events))


@pytest.mark.parametrize(
    ("events", "non_events"),
    [
        ([0, 0, 1, 1], [1, 1, 0, 0]),  # apart
        ([1, 1, 0, 0], [0, 0, 1, 1]),  # apart, the other way round
        ([0, 1, 1, 1], [1, 1, 0, 0]),  # touching in one mixed row
        ([0, 0, 3, 1], [5, 0.5, 2, 0]),
        ([0, 1e-3, 1e3, 0], [1, 1e3, 0, 0]),
    ],
)
def test_separated_classes_are_refused(events, non_events):
    with pytest.raises(InputValueError, match="do not separate"):
        fit_logistic(line(np.arange(4.0)), np.array(events, dtype=float), np.array(non_events, dtype=float))


@pytest.mark.parametrize("gap", [1e-3, 1.0, 1e3])
def test_the_smallest_overlap_has_a_finite_fit(gap):
    x = np.array([0.0, 1.0, 1.0 + gap, 2.0 + gap])
    fit = fit_logistic(line(x), np.array([0.0, 1, 0, 1]), np.array([1.0, 0, 1, 0]))
    assert fit.converged
    slope = gradient(fit.coefficients, line(x), np.array([0.0, 1, 0, 1]), np.array([1.0, 0, 1, 0]), 0.0)
    np.testing.assert_allclose(slope, 0.0, atol=1e-9 * (2.0 + gap))


def test_dependent_columns_are_refused():
    events = np.array([1.0, 0, 1])
    for design in (np.ones((3, 2)), line(np.zeros(3)), np.ones((1, 2))):
        with pytest.raises(InputValueError, match="linearly independent"):
            fit_logistic(design, events[: len(design)], 2.0 - events[: len(design)])


def test_a_fit_that_did_not_come_to_rest_says_so(monkeypatch):
    monkeypatch.setattr(module, "MAX_STEPS", 1)
    assert not fit_logistic(line(HOURS), PASSED, 1.0 - PASSED).converged
    table = ForecastTable.from_predictions(PASSED, HOURS / 6)
    with pytest.raises(InputValueError, match="did not converge in 1 steps"):
        smooth_recalibration(table)


KNOTS = np.array([-2.0, -0.5, 1.0, 1.5, 4.0])


def test_the_basis_spans_the_natural_splines():
    x = np.linspace(-2.0, 4.0, 200)
    basis = np.column_stack([np.ones(200), natural_spline_basis(x, KNOTS)])
    natural = CubicSpline(KNOTS, np.random.default_rng(0).normal(size=5), bc_type="natural")(x)
    fitted = basis @ np.linalg.lstsq(basis, natural)[0]
    np.testing.assert_allclose(fitted, natural, atol=1e-10)


def test_the_basis_is_linear_outside_the_knots():
    for x in (np.linspace(-50.0, -2.0, 9), np.linspace(4.0, 50.0, 9)):
        bends = np.diff(natural_spline_basis(x, KNOTS), n=2, axis=0)
        np.testing.assert_allclose(bends, 0.0, atol=1e-9)


@pytest.mark.parametrize("knots", [[], [0.0], [0.0, 1.0]])
def test_fewer_than_three_knots_leave_the_line(knots):
    x = np.array([1.0, 2.0])
    np.testing.assert_array_equal(natural_spline_basis(x, np.array(knots)), x[:, None])


@given(
    values=st.lists(st.integers(0, 9), min_size=1, max_size=30),
    counts=st.lists(st.integers(1, 4), min_size=30, max_size=30),
    level=st.sampled_from([0.05, 0.1, 0.35, 0.5, 0.65, 0.9, 0.95, 1.0]),
)
def test_weighted_quantiles_are_those_of_repeated_values(values, counts, level):
    values, counts = np.array(values, dtype=float), np.array(counts[: len(values)])
    expected = np.quantile(np.repeat(values, counts), level, method="averaged_inverted_cdf")
    assert weighted_quantile(values, counts.astype(float), np.array([level]))[0] == expected
    assert weighted_quantile(values, counts / 7.0, np.array([level]))[0] == expected


def simulated(n, curve, seed=0, decimals=17):
    rng = np.random.default_rng(seed)
    p = np.round(expit(rng.normal(size=n)), decimals)
    return ForecastTable.from_predictions(rng.random(n) < curve(p), p)


@pytest.mark.slow
@pytest.mark.parametrize("knots", [3, 4, 5, 6, 7])
def test_a_smooth_curve_is_recovered(knots):
    def curve(p):
        return expit(0.5 * logit(p) + 0.3 * np.maximum(logit(p), 0.0))

    forecast, rate = smooth_recalibration(simulated(200_000, curve), knots)
    inner = (forecast > 0.1) & (forecast < 0.9)
    np.testing.assert_allclose(rate[inner], curve(forecast[inner]), atol=0.015)


def test_the_curve_maximises_the_likelihood_of_the_spline():
    table = simulated(500, lambda p: p**2, decimals=2)
    forecast, rate = smooth_recalibration(table)
    assert forecast is table.forecast
    x = logit(table.forecast)
    repeated = np.repeat(x, table.weights.astype(int))
    knots = np.quantile(repeated, [0.05, 0.35, 0.65, 0.95], method="inverted_cdf")
    design = np.column_stack([np.ones(len(x)), natural_spline_basis(x, knots)])
    # The score equations of the maximum.
    np.testing.assert_allclose(design.T @ (table.events - table.weights * rate), 0.0, atol=1e-7)


def test_large_tables_are_given_at_201_points_of_their_range():
    table = simulated(1000, lambda p: p)
    forecast, rate = smooth_recalibration(table)
    np.testing.assert_array_equal(forecast, np.linspace(table.forecast[0], table.forecast[-1], 201))
    assert rate.shape == (201,)
    assert ((rate > 0.0) & (rate < 1.0)).all()


def table_of(forecast, events, non_events):
    return ForecastTable(forecast=forecast, events=events, non_events=non_events)


def test_a_single_forecast_gets_the_event_rate():
    forecast, rate = smooth_recalibration(table_of([0.4], [3], [1]))
    np.testing.assert_allclose((forecast, rate), ([0.4], [0.75]), rtol=1e-12)


def test_two_forecasts_get_their_event_rates():
    _, rate = smooth_recalibration(table_of([0.4, 0.6], [3, 7], [1, 3]))
    np.testing.assert_allclose(rate, [0.75, 0.7], rtol=1e-10)


def test_three_forecasts_get_their_event_rates_from_three_knots():
    _, rate = smooth_recalibration(table_of([0.1, 0.4, 0.6], [1, 3, 7], [9, 7, 3]), knots=7)
    np.testing.assert_allclose(rate, [0.1, 0.3, 0.7], rtol=1e-10)


def test_quantiles_that_coincide_are_one_knot():
    # All quantiles from 0.05 to 0.95 are the same forecast: the curve is a line between log-odds.
    table = table_of([0.1, 0.2, 0.4, 0.6, 0.7], [0, 1, 400, 2, 1], [1, 1, 600, 1, 0])
    _, rate = smooth_recalibration(table)
    fit = fit_logistic(line(logit(table.forecast)), table.events, table.non_events)
    np.testing.assert_allclose(logit(rate), line(logit(table.forecast)) @ fit.coefficients, rtol=1e-10)


@given(seed=st.integers(0, 10**6), scale=st.sampled_from([0.25, 3.0]))
def test_the_scale_of_the_weights_does_not_move_the_curve(seed, scale):
    rng = np.random.default_rng(seed)
    p, y = np.round(rng.uniform(0.05, 0.95, 200), 1), rng.random(200) < 0.5
    curves = [
        smooth_recalibration(ForecastTable.from_predictions(y, p, sample_weight=np.full(200, weight)))[1]
        for weight in (1.0, scale)
    ]
    np.testing.assert_allclose(*curves, atol=1e-9)


@pytest.mark.parametrize(("certain", "told"), [([0.0], "exactly 0"), ([1.0], "exactly 1"), ([0.0, 1.0], "0 and 1")])
def test_certain_forecasts_are_refused(certain, told):
    p = [0.2, 0.7, *certain]
    table = ForecastTable.from_predictions([0, 1, 1, 0][: len(p)], p)
    with pytest.raises(
        InputValueError, match=f'no log-odds; the table has forecasts of .*{told}.* Hint: use method="corp"'
    ):
        smooth_recalibration(table)


@pytest.mark.parametrize("knots", [2, 8, 4.5, None])
def test_unknown_numbers_of_knots_are_refused(knots):
    with pytest.raises(InputValueError, match="knots must be a whole number from 3 to 7"):
        smooth_recalibration(ForecastTable.from_predictions([0, 1], [0.2, 0.7]), knots)


def test_separated_forecasts_are_refused():
    with pytest.raises(InputValueError, match=r'do not separate .*Hint: .*method="corp"'):
        smooth_recalibration(ForecastTable.from_predictions([0, 0, 1, 1], [0.1, 0.2, 0.7, 0.8]))
