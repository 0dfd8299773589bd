"""What is said about calibration: errors are found and named, calibrated forecasts are rarely flagged."""

import itertools
import math
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from scipy.special import expit, logit

import propriety as pr
from propriety.inference.calibration_summary import CalibrationOutcome, Direction

DRAWS = {"seed": 1, "n_resamples": 100}
OUTCOMES = get_args(CalibrationOutcome)
DIRECTIONS = get_args(Direction)
CLAIMS = {
    "consistent": "is consistent with calibration",
    "miscalibrated": "is miscalibrated (",
    "immaterial": "is miscalibrated, but not materially (",
    "too few events": "to tell whether it is calibrated",
    "not tested": "calibration was not tested",
}
WAYS = {
    "refuted": "of exactly 0 or 1",
    "too high": "too high",
    "too low": "too low",
    "reversed": "reversed",
    "too extreme": "too extreme",
    "too timid": "too timid",
    "other shape": "its reliability curve departs from the diagonal in shape",
    "together": "intercept and slope jointly differ from 0 and 1",
}


def sample(seed, n, change=lambda x: x, shape=(1, 3)):
    """Return outcomes and their forecasts, the true log-odds changed."""
    rng = np.random.default_rng(seed)
    truth = rng.beta(*shape, n)
    y = rng.random(n) < truth
    return y, expit(change(logit(truth)))


def wave(n):
    """Return outcomes whose rates wind around the forecasts."""
    rng = np.random.default_rng(3)
    p = rng.uniform(0.15, 0.85, n)
    return rng.random(n) < p + 0.12 * np.sin(12 * np.pi * p), p


def judged(y, p, **options):
    return pr.calibration_summary(y, p, **(DRAWS | options))


def told(y, p, **options):
    """Return what is said about the calibration of a model."""
    return judged(y, p, **options).summary("m")


def test_forecasts_that_are_too_extreme_are_called_miscalibrated():
    y, p = sample(2, 500, lambda x: 1.5 * x)
    found = told(y, p)
    assert found.startswith("m is miscalibrated (p < 0.001): its forecasts are ")
    assert "too extreme (slope 0.56, 0.42 to 0.70)." in found
    cost = pr.estimate(y, p, pr.measures.Miscalibration())
    perfect = f" would lower its Brier score of 0.178 by {cost.value:.5f} ({cost.low:.5f} to {cost.high:.4f})."
    assert perfect in judged(y, p).summary("m")


@pytest.mark.simulation
def test_a_shift_of_3000_cases_is_found():
    verdicts = [judged(*sample(seed, 3000, lambda x: x + 0.25)) for seed in range(20)]
    found = [one for one in verdicts if one.outcome == "miscalibrated"]
    assert len(found) >= 17
    assert {one.directions[0] for one in found} == {"too high"}


@pytest.mark.parametrize(
    ("change", "direction", "words"),
    [
        (lambda x: x + 0.5, "too high", "too high (observed/expected 0."),
        (lambda x: x - 0.5, "too low", "too low (observed/expected 1."),
        (lambda x: 1.7 * x, "too extreme", "too extreme (slope 0."),
        (lambda x: 0.6 * x, "too timid", "too timid (slope 1."),
    ],
    ids=["high", "low", "extreme", "timid"],
)
def test_the_direction_is_named(change, direction, words):
    y, p = sample(3, 3000, change)
    found = judged(y, p)
    assert direction in found.directions
    assert found.outcome == "miscalibrated"
    assert words in found.summary("m")


def test_a_wave_has_the_wrong_shape():
    found = judged(*wave(3000))
    assert found.directions == ("other shape",)
    assert "): its reliability curve departs from the diagonal in shape (observed/expected " in str(found)


def test_the_shape_that_alone_decided_is_what_is_named():
    """Of three forecasts, level and slope are right and only the middle is off, by as much as the test just sees."""
    p = np.repeat([0.3, 0.5, 0.7], 40)
    for middle in range(40):
        y = np.concatenate([np.arange(40) < events for events in (12, middle, 28)])
        found = judged(y, p)
        assert ("other shape" in found.directions) == found.test.shows_shape(0.05)
        if "together" in found.directions:
            assert found.test.line_p_value <= 0.8 * 0.05


def test_level_and_slope_can_be_off_together_only():
    """The line of the curve leaves the diagonal in a corner between both intervals."""
    ways = [judged(*sample(seed, 400, lambda x: 1.25 * x + 0.3)).directions for seed in range(60)]
    assert ("together",) in ways
    for seed, directions in enumerate(ways):
        if directions == ("together",):
            found = judged(*sample(seed, 400, lambda x: 1.25 * x + 0.3))
            assert found.test.line_p_value <= 0.8 * 0.05
            assert found.observed_expected.low <= 1.0 <= found.observed_expected.high
            assert found.slope.low <= 1.0 <= found.slope.high
            assert (
                "intercept and slope jointly differ from 0 and 1, though neither does by itself (observed/expected"
                in str(found)
            )


@pytest.mark.parametrize(("events", "way"), [(5, "too high"), (15, "too low")])
def test_equal_forecasts_have_a_level_and_no_slope(events, way):
    found = judged(np.arange(20) < events, np.full(20, 0.5))
    assert found.directions == (way,)
    assert f"its forecasts are {way} (observed/expected" in str(found)
    assert "slope" not in str(found)


def test_a_slope_that_cannot_be_fitted_is_not_compared_with_1():
    p = np.linspace(0.3, 0.7, 40)
    found = judged(p > 0.5, p)
    assert math.isnan(found.slope.value)
    assert found.directions == ("together",)
    assert "jointly differ from 0 and 1; no slope can be fitted (observed/expected 1.00," in str(found)


@pytest.mark.parametrize(
    ("others", "said"),
    [([0.0, 1.0], "0 or 1."), ([0.3], "; the intercept leaves these out."), ([0.2, 0.4], "slope leave these out.")],
)
def test_the_note_on_forecasts_of_0_and_1_names_what_was_fitted(others, said):
    p = np.concatenate([np.repeat([0.0, 1.0], 100), np.resize(others, 400)])
    y = np.where((p == 0.0) | (p == 1.0), p, np.arange(600) % 20 < 6)
    assert said in str(judged(y, p))


@pytest.mark.simulation
def test_calibrated_samples_are_rarely_called_miscalibrated():
    outcomes = [judged(*sample(seed, 500)).outcome for seed in range(200)]
    assert outcomes.count("miscalibrated") <= 18
    assert set(outcomes) <= {"miscalibrated", "consistent"}


def test_calibrated_forecasts_are_not_accused():
    found = told(*sample(4, 2000))
    assert found.startswith("m is consistent with calibration (p = ")
    assert "; observed/expected 0.99, 0.92 to 1.06; slope 1.02, 0.90 to 1.14)." in found


@pytest.mark.slow
def test_an_error_that_cannot_matter_is_immaterial():
    y, p = sample(5, 400_000, lambda x: x + 0.015)
    found = judged(y, p)
    assert (found.outcome, found.directions) == ("immaterial", ("too high",))
    assert found.p_value <= 0.05
    assert found.summary("m").startswith("m is miscalibrated, but not materially (p ")
    # The same odds are not immaterial where the interval does not exclude an error that would matter.
    few = judged(*sample(5, 3000, lambda x: x + 0.25))
    assert few.outcome == "miscalibrated"


@pytest.mark.parametrize("event", [True, False], ids=["events", "non-events"])
def test_few_events_do_not_clear_a_forecast(event):
    y, p = sample(3, 300, shape=(1, 49))
    found = judged(y, p) if event else judged(~y, 1 - p)
    assert found.outcome == "too few events"
    words = f"m: too few {'events' if event else 'non-events'} to tell whether it is calibrated (p = "
    assert found.summary("m").startswith(words)


def test_few_events_that_are_far_off_are_found():
    y, p = sample(3, 1000, lambda x: x - 2.0, shape=(1, 49))
    found = judged(y, p)
    assert (found.outcome, found.directions[0]) == ("miscalibrated", "too low")
    assert found.test.information < 20


def test_sharp_forecasts_have_events_enough():
    y = np.arange(400) % 2
    assert "m: too few forecasts away from 0 and 1 to tell" in told(y, np.where(y == 1, 0.999, 0.001))


def test_what_weights_and_clusters_leave_too_little_of_is_named():
    y, p = sample(4, 1000)
    weight = np.ones(1000)
    weight[0] = 1e6
    assert "m: too few cases of similar weight to tell" in judged(y, p, sample_weight=weight).summary("m")
    copies = judged(np.repeat(y[:90], 30), np.repeat(p[:90], 30), cluster=np.repeat(np.arange(90), 30))
    assert "m: too few independent cases to tell" in copies.summary("m")


@pytest.mark.parametrize("wrong", [1, 2])
def test_certain_forecasts_that_did_not_come_true_refute(wrong):
    y, p = sample(4, 500)
    p[np.flatnonzero(y)[:wrong]] = 0.0
    counted = "1 forecast" if wrong == 1 else "2 forecasts"
    found = judged(y, p)
    assert (found.outcome, found.directions[0], found.p_value) == ("miscalibrated", "refuted", 0.0)
    assert f"m is miscalibrated (p < 0.001): {counted} of exactly 0 or 1 w" in found.summary("m")
    weighted = judged(y, p, sample_weight=np.arange(500) % 3 + 1)  # Their weights are no number of forecasts.
    assert "(p < 0.001): forecasts of exactly 0 or 1 were wrong" in weighted.summary("m")


def test_certain_forecasts_that_came_true_leave_the_slope_of_the_others():
    y, p = sample(4, 500)
    whole = judged(np.append(y, [0, 1]), np.append(p, [0.0, 1.0]))
    assert whole.slope.value == pytest.approx(judged(y, p).slope.value)


def test_outcomes_of_one_class_have_a_direction():
    assert "too high (observed/expected 0.00, 0.00 to 0.0" in told(np.zeros(400), np.full(400, 0.1))
    assert "too low (observed/expected 1.11, 1.10 to 1.11)." in told(np.ones(400), np.full(400, 0.9))


@pytest.mark.parametrize("name", ["cluster", "period"])
def test_cases_that_depend_on_each_other_are_tested_as_such(name):
    y, p = sample(4, 500, lambda x: x + 0.25)
    copies = np.repeat(np.arange(500), 8)
    naive, found = judged(y[copies], p[copies]), judged(y[copies], p[copies], **{name: copies})
    assert naive.p_value < 1e-6 < found.p_value
    assert found.test.dispersion > 4.0


def test_a_ledger_without_its_cases_does_not_test_clusters(tmp_path):
    y, p = sample(4, 500, lambda x: x + 0.5)
    pr.condense(y, {"m": p}, cluster=np.arange(500) // 5).to_parquet(tmp_path / "l")
    ledger = pr.Ledger.from_parquet(tmp_path / "l")
    found = pr.calibration_summary(ledger, **DRAWS)
    assert (found.outcome, found.directions, found.test) == ("not tested", (), None)
    assert math.isnan(found.p_value)
    assert (
        "m: calibration was not tested (a test needs the individual cases, which this ledger does not hold"
        in found.summary("m")
    )
    assert math.isnan(pr.evaluate(ledger, **DRAWS).miscalibrated["m"])


def made(outcome, directions):
    """Return a summary with an outcome and directions, whatever the data say."""
    y, p = sample(4, 500)
    p[np.flatnonzero(y)[0]] = 0.0
    found = judged(y, p)
    changed = {"outcome": outcome, "directions": directions, "p_value": 0.04}
    return replace(found, **changed, test=None if outcome == "not tested" else found.test, note="why")


@pytest.mark.parametrize("outcome", OUTCOMES)
@pytest.mark.parametrize("way", DIRECTIONS)
def test_no_words_claim_what_the_values_do_not(outcome, way):
    directions = (way,) if outcome in {"miscalibrated", "immaterial"} else ()
    words = made(outcome, directions).summary("m")
    assert [one for one, claim in CLAIMS.items() if claim in words] == [outcome]
    assert tuple(one for one, claim in WAYS.items() if claim in words) == directions
    assert ("is miscalibrated" in words) == (outcome in {"miscalibrated", "immaterial"})
    assert ("p = 0.04" in words) == (outcome != "not tested")
    assert words.endswith(".")


@pytest.mark.parametrize("several", [*itertools.combinations(DIRECTIONS[:-1], 2)], ids=" and ".join)
def test_two_ways_are_both_named(several):
    words = made("miscalibrated", several).summary("m")
    assert {one for one, claim in WAYS.items() if claim in words} == set(several)


@pytest.mark.parametrize(
    ("value", "low", "high", "words"),
    [
        (
            0.01,
            0.005,
            0.02,
            " Perfect recalibration would lower its Brier score of 0.200 by 0.0100 (0.00500 to 0.0200).",
        ),
        (0.0, 0.0, 0.003, " Perfect recalibration would lower its Brier score of 0.200 by at most 0.00300."),
        (0.01, math.nan, math.nan, " Perfect recalibration would lower its Brier score of 0.200 by 0.0100."),
        (math.nan, math.nan, math.nan, "to 1."),
    ],
    ids=["cost", "none", "no interval", "unknown"],
)
def test_the_cost_is_that_of_the_estimate(value, low, high, words):
    found = made("miscalibrated", ("too high",))
    cost = replace(found.miscalibration, value=value, low=low, high=high)
    told_of_it = replace(found, miscalibration=cost, brier=0.2).summary("m")
    assert words in told_of_it
    assert ("recalibration" in told_of_it) == (not math.isnan(value))


def test_bands_of_an_evaluation_are_drawn_as_often_as_asked():
    found = pr.evaluate(*sample(4, 300), seed=1, n_resamples=30)
    (curve,) = (curve for own in found.reliability.values() for curve in own.values())
    assert curve.bands[0].n_resamples == 30


def test_a_bound_above_the_score_is_not_told():
    found = made("miscalibrated", ("too high",))
    cost = replace(found.miscalibration, value=0.0, low=0.0, high=0.8)
    assert "cost" not in replace(found, miscalibration=cost, brier=0.4).summary("m")


def test_forecasts_that_rank_the_wrong_way_are_reversed_not_too_extreme():
    y, p = sample(4, 1000, lambda x: -x)
    found = judged(y, p)
    assert found.slope.high < 0.0
    assert "reversed" in found.directions
    assert "too extreme" not in found.directions
    assert "reversed (slope -" in str(found)


@pytest.mark.parametrize("shared", ["cluster", "period"])
@pytest.mark.parametrize(("units", "outcome"), [(1, "too few events"), (9, "too few events"), (30, "consistent")])
def test_few_clusters_or_times_do_not_clear_a_forecast(shared, units, outcome):
    y, p = sample(4, 3000)
    found = judged(y, p, **{shared: np.arange(3000) % units})
    assert (found.outcome, found.test.units) == (outcome, units)
    assert ("too few independent cases to tell" in str(found)) == (outcome == "too few events")


def test_few_cases_are_not_blamed_on_their_forecasts():
    p = np.linspace(0.05, 0.95, 100)
    assert "m: too few cases to tell" in judged(np.random.default_rng(1).random(100) < p, p).summary("m")


def test_a_forecast_that_all_but_excludes_the_event_has_a_ratio_with_limits():
    found = judged(np.arange(200) % 2, np.full(200, 1e-300))
    assert found.directions == ("too low",)
    assert 1e299 < found.observed_expected.low < 5e299 < found.observed_expected.high < 1e300
    assert found.miscalibration.low < found.miscalibration.value
    assert "(observed/expected 5.00e+299, " in str(found)


@pytest.mark.parametrize(("weight", "share"), [(None, "5% of the cases have"), (np.ones(400), "5% of the weight has")])
def test_forecasts_of_0_and_1_are_counted_openly(weight, share):
    y, p = sample(4, 400)
    p[:20] = y[:20]
    weight = None if weight is None else weight * (1.0 + np.arange(400) % 2)
    words = judged(y, p, sample_weight=weight).summary("m")
    assert words.endswith(f" Note: {share} a forecast of exactly 0 or 1; intercept and slope leave these out.")
