"""What is said about calibration: errors are found and named, calibrated forecasts are rarely flagged."""

import numpy as np
import pytest
from propriety.evaluation.calibration_verdict import calibration_verdict
from scipy.special import expit, logit

import propriety as pr
from propriety.evaluation import calibration_verdict as verdicts

DRAWS = {"seed": 1, "n_resamples": 100}


def sample(seed, n, change=lambda x: x, shape=(1, 3)):
    """Return outcomes and their forecasts, the true log-odds changed."""
    rng = np.random.default_rng(seed)
    truth = rng.beta(*shape, n)
    y = rng.random(n) < truth
    return y, expit(change(logit(truth)))


def told(y, p, **options):
    """Return the lines about the calibration of a model."""
    lines = pr.evaluate(y, {"m": p}, **DRAWS, **options).summary().splitlines()
    return " ".join(line for line in lines if line.startswith(("m is ", "m: ")))


def judged(y, p):
    return calibration_verdict(pr.ForecastTable.from_predictions(y, p), level=0.95, **DRAWS)


def test_forecasts_that_are_too_extreme_are_called_miscalibrated():
    y, p = sample(2, 500, lambda x: 1.5 * x)
    found = told(y, p)
    assert found.startswith("m is miscalibrated (p < 0.001): its forecasts are ")
    assert "too extreme (slope 0.56, 0.42 to 0.70)." in found
    assert "Its miscalibration, sampling noise included, is 0.0154 of a Brier score of 0.178." in found


def test_a_shift_of_3000_cases_is_found():
    verdict = [judged(*sample(seed, 3000, lambda x: x + 0.25)) for seed in range(20)]
    found = [one for one in verdict if one.outcome == "miscalibrated"]
    assert len(found) >= 17
    assert {one.level_is_off for one in found} == {"too high"}


@pytest.mark.parametrize(
    ("change", "direction"),
    [
        (lambda x: x + 0.5, "too high (observed/expected 0."),
        (lambda x: x - 0.5, "too low (observed/expected 1."),
        (lambda x: 0.6 * x, "too timid (slope 1."),
    ],
    ids=["high", "low", "timid"],
)
def test_the_direction_is_named(change, direction):
    assert direction in told(*sample(3, 3000, change))


def test_a_wave_has_the_wrong_shape():
    rng = np.random.default_rng(3)
    p = rng.uniform(0.15, 0.85, 3000)
    y = rng.random(3000) < p + 0.12 * np.sin(12 * np.pi * p)
    assert "): the shape of its reliability curve is off (observed/expected " in told(y, p)


def test_calibrated_samples_are_rarely_called_miscalibrated():
    tables = [pr.ForecastTable.from_predictions(*sample(seed, 500)) for seed in range(200)]
    outcomes = [calibration_verdict(one, level=0.95, n_resamples=100, seed=1).outcome for one in tables]
    assert outcomes.count("miscalibrated") <= 16
    assert set(outcomes) <= {"miscalibrated", "no evidence"}


def test_calibrated_forecasts_are_not_accused():
    found = told(*sample(4, 2000))
    assert found.startswith("m: no evidence of miscalibration (p = ")
    assert "; observed/expected 0.99, 0.91 to 1.07; slope 1.02, 0.90 to 1.14)." in found


@pytest.mark.parametrize("event", [True, False], ids=["events", "non-events"])
def test_few_events_do_not_clear_a_forecast(event):
    y, p = sample(3, 300, shape=(1, 49))
    found = told(y, p) if event else told(~y, 1 - p)
    assert f"m: too few {'events' if event else 'non-events'} to tell whether it is calibrated (p = " in found


def test_sharp_forecasts_have_events_enough():
    y = np.arange(400) % 2
    assert "m: too few forecasts away from 0 and 1 to tell" in told(y, np.where(y == 1, 0.999, 0.001))


@pytest.mark.parametrize("wrong", [1, 2])
def test_certain_forecasts_that_did_not_come_true_refute(wrong):
    y, p = sample(4, 500)
    p[np.flatnonzero(y)[:wrong]] = 0.0
    counted = "1 forecast" if wrong == 1 else "2 forecasts"
    assert f"m is refuted: {counted} of exactly 0 or 1 did not come true." in told(y, p)
    found = told(y, p, sample_weight=np.linspace(1, 2, 500))
    assert "m is refuted: forecasts of exactly 0 or 1 did not come true." in found


def test_certain_forecasts_that_came_true_leave_the_slope_of_the_others():
    y, p = sample(4, 500)
    whole = judged(np.append(y, [0, 1]), np.append(p, [0.0, 1.0]))
    assert whole.slope == pytest.approx(judged(y, p).slope)


def test_outcomes_of_one_class_have_a_direction():
    assert "too high (observed/expected 0.00)." in told(np.zeros(400), np.full(400, 0.1))


@pytest.mark.parametrize("name", ["cluster", "time"])
def test_dependent_cases_are_tested_as_if_they_were_independent(name):
    y, p = sample(4, 2000)
    assert ", as if cases were independent; observed/expected " in told(y, p, **{name: np.arange(2000) // 4})


def test_weighted_cases_are_tested_by_cox_alone():
    y, p = sample(4, 2000)
    weight = np.linspace(1, 3, 2000)
    size = weight.sum() ** 2 / (weight**2).sum()
    assert f", as if these were {size:,.0f} independent cases of equal weight; " in told(y, p, sample_weight=weight)
    table = pr.ForecastTable.from_predictions(y, p, sample_weight=weight)
    verdict = calibration_verdict(table, level=0.95, **DRAWS)
    assert (verdict.shape_p_value, verdict.p_value) == (None, verdict.cox.p_value)


def test_large_tables_are_tested_by_cox_alone(monkeypatch):
    monkeypatch.setattr(verdicts, "MOST_ROWS", 499)
    verdict = judged(*sample(4, 500))
    assert (verdict.shape_p_value, verdict.p_value) == (None, verdict.cox.p_value)


def test_two_tests_share_the_level():
    verdict = judged(*sample(4, 500))
    assert verdict.p_value == pytest.approx(min(1.0, 2.0 * min(verdict.cox.p_value, verdict.shape_p_value)))


def test_rounded_forecasts_are_said_to_be():
    table = pr.ForecastTable.from_predictions(*sample(4, 500)).grid()
    assert ", with forecasts rounded to 1,024 cells; " in pr.evaluate({"m": table}, **DRAWS).summary()


def test_bands_of_an_evaluation_are_drawn_as_often_as_asked():
    found = pr.evaluate(*sample(4, 300), seed=1, n_resamples=30)
    (curve,) = (curve for own in found.reliability.values() for curve in own.values())
    assert curve.bands[0].n_resamples == 30
