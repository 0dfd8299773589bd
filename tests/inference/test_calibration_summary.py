"""Calibration in a few numbers: against independent computations, under laws, and where there is no answer."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from propriety.calibration.summary import calibration_summary
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.isotonic import IsotonicRegression

from propriety import ForecastTable
from propriety.calibration import cox_line
from propriety.calibration import summary as module
from propriety.calibration.logistic import LogisticFit
from propriety.errors import InputTypeError, InputValueError, MissingValuesError

Z = 1.959963984540054
VALUES = ("observed", "expected", "ratio", "intercept", "slope", "ici", "e50", "e90", "e_max")
LIMITS = tuple(f"{name}_{side}" for name in ("ratio", "intercept", "slope") for side in ("lower", "upper"))


def numbers(summary, names=VALUES):
    return np.array([getattr(summary, name) for name in names])


def sample(n, seed=0, intercept=0.0, slope=1.0):
    """Return outcomes whose calibration intercept and slope are the given ones, and their forecasts."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    return rng.random(n) < expit(intercept + slope * x), expit(x)


def newton(gradient, start):
    """Return the root of a gradient and the inverse of its numerical derivative there."""
    root = np.array(start, dtype=float)
    for _ in range(3):
        steps = 1e-5 * np.eye(len(root))
        hessian = np.array([(gradient(root + step) - gradient(root - step)) / 2e-5 for step in steps])
        root -= np.linalg.solve(hessian, gradient(root))
    return root, np.linalg.inv(hessian)


def test_intercept_and_slope_maximise_the_likelihood_and_intervals_are_walds():
    y, p = sample(300, intercept=0.5, slope=0.7)
    x = logit(p)
    summary = calibration_summary(y, p)

    def loss(beta):
        eta = beta[0] + beta[1] * x
        return np.sum(np.logaddexp(0.0, eta) - y * eta)

    def slopes(beta):
        residual = expit(beta[0] + beta[1] * x) - y
        return np.array([residual.sum(), residual @ x])

    start = minimize(loss, [0.0, 1.0]).x
    (_, slope), covariance = newton(slopes, start)
    assert summary.slope == pytest.approx(slope, abs=1e-8)
    half = Z * math.sqrt(covariance[1, 1])
    assert (summary.slope_lower, summary.slope_upper) == pytest.approx((slope - half, slope + half), abs=1e-6)

    start = minimize(lambda a: loss([a[0], 1.0]), [0.0]).x
    (intercept,), variance = newton(lambda a: slopes([a[0], 1.0])[:1], start)
    assert summary.intercept == pytest.approx(intercept, abs=1e-8)
    half = Z * math.sqrt(variance[0, 0])
    expected = (intercept - half, intercept + half)
    assert (summary.intercept_lower, summary.intercept_upper) == pytest.approx(expected, abs=1e-6)


def test_ratio_and_its_interval():
    summary = calibration_summary([1, 0, 0, 0, 1], [0.2, 0.1, 0.3, 0.2, 0.7], level=0.9)
    assert (summary.observed, summary.expected) == pytest.approx((0.4, 0.3))
    assert summary.ratio == pytest.approx(4 / 3)
    # The standard error of the log is sqrt(1 / events - 1 / cases), and the normal quantile of 90% is 1.6449.
    factor = math.exp(1.6448536269514722 * math.sqrt(1 / 2 - 1 / 5))
    assert (summary.ratio_lower, summary.ratio_upper) == pytest.approx((4 / 3 / factor, 4 / 3 * factor))
    assert summary.level == 0.9


def test_distances_are_those_from_the_isotonic_regression():
    y, p = sample(501, slope=0.4)
    distance = np.abs(p - IsotonicRegression().fit_transform(p, y.astype(float)))
    summary = calibration_summary(y, p)
    assert summary.ici == pytest.approx(distance.mean(), abs=1e-12)
    assert summary.e50 == pytest.approx(np.median(distance), abs=1e-12)
    assert summary.e90 == pytest.approx(np.quantile(distance, 0.9, method="inverted_cdf"), abs=1e-12)
    assert summary.e_max == pytest.approx(distance.max(), abs=1e-12)


def test_forecasts_that_are_event_rates_are_at_no_distance():
    summary = calibration_summary([0, 0, 0, 1, 0, 1], [0.25] * 4 + [0.5] * 2)
    assert (summary.ici, summary.e50, summary.e90, summary.e_max) == (0.0, 0.0, 0.0, 0.0)
    assert (summary.ratio, summary.slope) == pytest.approx((1.0, 1.0))
    assert summary.intercept == pytest.approx(0.0, abs=1e-12)
    assert summary.note is None


def test_calibrated_forecasts_are_near_the_truth():
    summary = calibration_summary(*sample(200_000))
    assert summary.slope == pytest.approx(1.0, abs=0.02)
    assert summary.intercept == pytest.approx(0.0, abs=0.02)
    assert summary.ratio == pytest.approx(1.0, abs=0.02)
    assert summary.ici < 0.01


@pytest.mark.parametrize(("intercept", "slope"), [(0.0, 1.0), (0.4, 1.0), (-0.2, 0.6)])
def test_intervals_cover_the_truth_as_often_as_they_say(intercept, slope):
    draws = [calibration_summary(*sample(400, seed, intercept, slope), level=0.8) for seed in range(200)]
    covered = np.mean([draw.slope_lower <= slope <= draw.slope_upper for draw in draws])
    assert 0.7 < covered < 0.9
    if slope == 1.0:
        covered = np.mean([draw.intercept_lower <= intercept <= draw.intercept_upper for draw in draws])
        assert 0.7 < covered < 0.9


cases = st.lists(st.tuples(st.booleans(), st.floats(-4.0, 4.0)), min_size=6, max_size=40)


@given(sample=cases, factor=st.floats(0.2, 5.0))
def test_logits_times_a_factor_divide_the_slope_by_it(sample, factor):
    y, x = (np.array(column) for column in zip(*sample, strict=True))
    summary = calibration_summary(y, expit(x))
    # Nearly separated and nearly constant forecasts are determined by the last digits of their log-odds.
    assume(summary.slope is not None and 0.01 < abs(summary.slope) < 10 and np.ptp(x) > 0.1)
    stretched = calibration_summary(y, expit(factor * x))
    assume(stretched.slope is not None)
    assert stretched.slope == pytest.approx(summary.slope / factor, rel=1e-6)


@given(sample=cases, shift=st.floats(-3.0, 3.0))
def test_shifted_logits_shift_the_intercept(sample, shift):
    y, x = (np.array(column) for column in zip(*sample, strict=True))
    assume(0 < y.sum() < len(y))
    summary, moved = (calibration_summary(y, expit(x + c)) for c in (0.0, shift))
    assert moved.intercept == pytest.approx(summary.intercept - shift, abs=1e-8)
    assert moved.intercept_upper == pytest.approx(summary.intercept_upper - shift, abs=1e-8)


@given(sample=cases)
def test_the_distances_are_ordered(sample):
    y, x = (np.array(column) for column in zip(*sample, strict=True))
    summary = calibration_summary(y, expit(x))
    assert 0.0 <= summary.e50 <= summary.e90 <= summary.e_max <= 1.0
    assert summary.ici <= summary.e_max + 1e-15


@given(seed=st.integers(0, 10**6))
def test_weights_mean_repetition_for_the_values(seed):
    rng = np.random.default_rng(seed)
    p, weight = np.round(rng.uniform(0.1, 0.9, 40), 1), rng.integers(1, 4, 40)
    y = rng.random(40) < 0.5
    summary = calibration_summary(y, p, sample_weight=weight)
    repeated = calibration_summary(np.repeat(y, weight), np.repeat(p, weight))
    assume(summary.note is None)
    np.testing.assert_allclose(numbers(summary), numbers(repeated), atol=1e-8)


def test_equal_weights_change_nothing():
    y, p = sample(100)
    summary, weighted = calibration_summary(y, p), calibration_summary(y, p, sample_weight=np.full(100, 2.5))
    names = (*VALUES, *LIMITS)
    np.testing.assert_allclose(numbers(weighted, names), numbers(summary, names), atol=1e-9)
    assert weighted.effective_n == pytest.approx(100)


def test_intervals_of_weighted_cases_are_for_their_effective_number():
    y, p = sample(100)
    weight = np.tile([1.0, 3.0], 50)
    weighted = calibration_summary(y, p, sample_weight=weight)
    # The same table, four times over: half the standard errors.
    table = ForecastTable.from_predictions(y, p, sample_weight=weight)
    fourfold = calibration_summary(table + table + table + table)
    assert weighted.effective_n == pytest.approx(200**2 / (50 * 1 + 50 * 9))
    for name in ("intercept", "slope"):
        once, more = (getattr(s, f"{name}_upper") - getattr(s, name) for s in (weighted, fourfold))
        assert more == pytest.approx(once / 2, rel=1e-6)
    rate = weighted.observed
    factor = math.exp(Z * math.sqrt((1 - rate) / (80 * rate)))
    assert weighted.ratio_upper == pytest.approx(weighted.ratio * factor)


def test_a_table_stands_for_its_predictions():
    y, p = sample(200)
    table = ForecastTable.from_predictions(y, p)
    assert calibration_summary(table).to_dict() == calibration_summary(y, p).to_dict()
    with pytest.raises(InputTypeError, match="ForecastTable holds"):
        calibration_summary(table, p)


def test_order_does_not_matter():
    y, p = sample(200)
    order = np.random.default_rng(1).permutation(200)
    assert calibration_summary(y[order], p[order]).to_dict() == calibration_summary(y, p).to_dict()


@pytest.mark.parametrize(
    ("y", "p", "unknown", "note"),
    [
        (
            [0, 1, 1],
            [0.0, 0.5, 0.8],
            ("intercept", "slope"),
            "No intercept and slope: forecasts of exactly 0 or 1 have no log-odds.",
        ),
        (
            [0, 1, 0],
            [0.2, 1.0, 0.8],
            ("intercept", "slope"),
            "No intercept and slope: forecasts of exactly 0 or 1 have no log-odds.",
        ),
        (
            [0, 0],
            [0.2, 0.5],
            ("ratio_lower", "intercept", "slope"),
            "No interval of the ratio, intercept and slope: all outcomes are of one class.",
        ),
        (
            [1, 1],
            [0.2, 0.5],
            ("ratio_lower", "intercept", "slope"),
            "No interval of the ratio, intercept and slope: all outcomes are of one class.",
        ),
        (
            [0, 1],
            [0.0, 0.0],
            ("ratio", "intercept", "slope"),
            "No ratio: all forecasts are 0. No intercept and slope: forecasts of exactly 0 or 1 have no log-odds.",
        ),
        ([0, 1, 1], [0.4, 0.4, 0.4], ("slope",), "No slope: all forecasts are equal."),
        ([0, 0, 1], [0.1, 0.2, 0.3], ("slope",), "No slope: the forecasts separate events from non-events."),
        ([1, 1, 0], [0.1, 0.2, 0.3], ("slope",), "No slope: the forecasts separate events from non-events."),
        ([0, 1, 0, 1], [0.1, 0.2, 0.2, 0.3], ("slope",), "No slope: the forecasts separate events from non-events."),
        (
            [0, 1, 0, 0],
            [0.5, 0.5 + 1e-15, 0.7, 0.5],
            ("slope",),
            "No slope: the forecasts are all but equal, or all but separate events from non-events.",
        ),
        (
            [0, 1, 0],
            [0.3, 0.3 + 1e-15, 0.3 + 2e-15],
            ("slope",),
            "No slope: the forecasts are all but equal, or all but separate events from non-events.",
        ),
    ],
)
def test_what_the_data_do_not_determine_is_none_with_the_reason(y, p, unknown, note):
    summary = calibration_summary(y, p)
    assert summary.note == note
    for name in ("ratio", "intercept", "slope"):
        limits = [getattr(summary, f"{name}_{side}") for side in ("lower", "upper")]
        if name in unknown:
            assert getattr(summary, name) is None
        else:
            assert math.isfinite(getattr(summary, name))
        assert (limits == [None, None]) == (name in unknown or f"{name}_lower" in unknown)
    assert all(math.isfinite(getattr(summary, name)) for name in ("observed", "expected", "ici", "e_max"))
    assert "None" not in repr(summary)


def test_a_fit_that_did_not_come_to_rest_is_told(monkeypatch):
    restless = LogisticFit(coefficients=np.zeros(2), covariance=np.eye(2), converged=False)
    monkeypatch.setattr(cox_line, "fit_logistic", lambda *data: restless)
    summary = module.calibration_summary(*sample(50))
    assert (summary.intercept, summary.slope) == (None, None)
    assert summary.note == "No intercept and slope: the fit did not converge."


def test_the_result_turns_into_a_row_and_a_dict():
    summary = calibration_summary([0, 1, 1], [0.2, 0.5, None], missing="drop")
    assert (summary.n, summary.dropped) == (2, 1)
    frame = summary.to_frame(backend="polars")
    assert frame.shape[0] == 1
    assert frame["note"][0] == summary.note == summary.to_dict()["note"]


@pytest.mark.parametrize("level", [0.0, 1.0, -1, 95, math.nan])
def test_bad_levels_are_refused(level):
    with pytest.raises(InputValueError, match="level must lie strictly between 0 and 1"):
        calibration_summary([0, 1], [0.2, 0.3], level=level)


def test_bad_predictions_are_refused():
    with pytest.raises(InputValueError, match="y_proba must lie in"):
        calibration_summary([0, 1], [0.2, 1.3])
    with pytest.raises(MissingValuesError):
        calibration_summary([0, 1], [0.2, math.nan])
    with pytest.raises(InputValueError, match="pos_label"):
        calibration_summary(["no", "yes"], [0.2, 0.7])
    assert calibration_summary(["no", "yes"], [0.2, 0.7], pos_label="yes").n == 2
