"""What is said about calibration: errors are found and named, calibrated forecasts are rarely flagged."""

import itertools
import math
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from checked import DRAWS, checked
from scipy.special import expit, logit

import propriety as pr
from propriety.inference.calibration_words import Direction, event_words
from propriety.inference.finding import Verdict
from propriety.inference.notes import Note

OUTCOMES = get_args(Verdict)
DIRECTIONS = get_args(Direction)
CLAIMS = {
    "good": "is calibrated: errors that matter are excluded (",
    "no error found": "no error of calibration found (",
    "bad": "is miscalibrated (",
    "small": "is miscalibrated, but only slightly (",
    "too few": "to tell whether it is calibrated",
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


judged = checked


def told(y, p, **options):
    """Return what is said about the calibration of a model."""
    return judged(y, p, **options).words


def test_forecasts_that_are_too_extreme_are_called_miscalibrated():
    y, p = sample(2, 500, lambda x: 1.5 * x)
    found = told(y, p)
    assert found.startswith("m is miscalibrated (p < 0.001): its forecasts are ")
    assert "too extreme (slope 0.56, 0.42 to 0.70)." in found
    cost = pr.estimate(y, p, pr.measures.Miscalibration())
    assert f" would lower its Brier score by {cost.value:.5f} ({cost.low:.5f} to {cost.high:.4f})." in found


@pytest.mark.simulation
def test_a_shift_of_3000_cases_is_found():
    verdicts = [judged(*sample(seed, 3000, lambda x: x + 0.25)) for seed in range(20)]
    found = [one for one in verdicts if one.verdict == "bad"]
    assert len(found) >= 17
    assert {one.ways[0] for one in found} == {"too high"}


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
    assert direction in found.ways
    assert found.verdict == "bad"
    assert words in found.words


def test_a_wave_has_the_wrong_shape():
    found = judged(*wave(3000))
    assert found.ways == ("other shape",)
    assert "): its reliability curve departs from the diagonal in shape (observed/expected " in found.words


def test_level_and_slope_can_be_off_together_only():
    """The line of the curve leaves the diagonal in a corner between both intervals."""
    found = [judged(*sample(seed, 400, lambda x: 1.25 * x + 0.3)) for seed in range(60)]
    together = [one for one in found if one.ways == ("together",)]
    assert together
    for one in together:
        assert one.row.extra["p_cox"] <= 0.8 * 0.05
        assert one.ratio.low <= 1.0 <= one.ratio.high
        assert one.slope.low <= 1.0 <= one.slope.high
        said = "intercept and slope jointly differ from 0 and 1, though neither does by itself (observed/expected"
        assert said in one.words


@pytest.mark.parametrize(("events", "way"), [(5, "too high"), (15, "too low")])
def test_equal_forecasts_have_a_level_and_no_slope(events, way):
    found = judged(np.arange(20) < events, np.full(20, 0.5))
    assert found.ways == (way,)
    assert f"its forecasts are {way} (observed/expected" in found.words
    assert "slope" not in found.words


def test_a_slope_that_cannot_be_fitted_is_not_compared_with_1():
    p = np.linspace(0.3, 0.7, 40)
    found = judged(p > 0.5, p)
    assert math.isnan(found.slope.value)
    assert (found.verdict, found.slope.verdict) == ("bad", "not tested")


@pytest.mark.simulation
def test_calibrated_samples_are_rarely_called_miscalibrated():
    verdicts = [judged(*sample(seed, 500)).verdict for seed in range(200)]
    assert verdicts.count("bad") + verdicts.count("small") <= 18
    assert set(verdicts) <= {"bad", "small", "no error found", "good"}


def test_calibrated_forecasts_are_not_accused():
    found = told(*sample(4, 2000))
    assert found.startswith("m: no error of calibration found (p = ")
    assert "; observed/expected 0.99, 0.92 to 1.06; slope 1.02, 0.90 to 1.14)." in found


@pytest.mark.slow
def test_an_error_that_cannot_matter_is_small():
    y, p = sample(5, 400_000, lambda x: x + 0.015)
    found = judged(y, p)
    assert (found.verdict, found.ways) == ("small", ("too high",))
    assert found.p <= 0.05
    assert found.words.startswith("m is miscalibrated, but only slightly (p ")


@pytest.mark.parametrize("event", [True, False], ids=["events", "non-events"])
def test_few_events_do_not_clear_a_forecast(event):
    y, p = sample(3, 300, shape=(1, 49))
    found = judged(y, p) if event else judged(~y, 1 - p)
    assert found.verdict == "too few"
    words = f"m: too few {'events' if event else 'non-events'} to tell whether it is calibrated (p = "
    assert found.words.startswith(words)


def test_few_events_that_are_far_off_are_found():
    y, p = sample(3, 1000, lambda x: x - 2.0, shape=(1, 49))
    found = judged(y, p)
    assert (found.verdict, found.ways[0]) == ("bad", "too low")
    assert "draws" in found.row.method


def test_what_weights_and_clusters_leave_too_little_of_is_named():
    y, p = sample(4, 1000)
    weight = np.ones(1000)
    weight[0] = 1e6
    assert judged(y, p, sample_weight=weight).verdict == "too few"
    copies = judged(np.repeat(y[:90], 30), np.repeat(p[:90], 30), cluster=np.repeat(np.arange(90), 30))
    assert "m: too few events to tell" in copies.words


@pytest.mark.parametrize("wrong", [1, 2])
def test_certain_forecasts_that_did_not_come_true_refute(wrong):
    y, p = sample(4, 500)
    p[np.flatnonzero(y)[:wrong]] = 0.0
    counted = "1 forecast" if wrong == 1 else "2 forecasts"
    found = judged(y, p)
    assert (found.verdict, found.ways[0], found.p) == ("bad", "refuted", 0.0)
    assert f"m is miscalibrated (p < 0.001): {counted} of exactly 0 or 1 w" in found.words
    weighted = judged(y, p, sample_weight=np.arange(500) % 3 + 1)  # Their weights are no number of forecasts.
    assert "(p < 0.001): forecasts of exactly 0 or 1 were wrong" in weighted.words


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
    assert naive.p < 1e-6 < found.p


def test_a_ledger_without_its_cases_does_not_test_clusters(tmp_path):
    y, p = sample(4, 500, lambda x: x + 0.5)
    pr.condense(y, {"m": p}, cluster=np.arange(500) // 5).to_parquet(tmp_path / "l")
    ledger = pr.Ledger.from_parquet(tmp_path / "l")
    found = judged(ledger)
    assert (found.verdict, found.ways) == ("not tested", ())
    assert math.isnan(found.p)
    said = "m: calibration was not tested (a test needs the individual cases, which this ledger does not hold"
    assert said in found.words
    assert math.isnan(pr.evaluate(ledger, **DRAWS).miscalibrated["m"])


def made(verdict, ways=()):
    """Return a row with a verdict and sizes that are wrong in these ways, whatever the data say."""
    y, p = sample(4, 500)
    found = judged(y, p)
    codes = [Note("refuted", {"number": 1.0, "weighted": False})] if "refuted" in ways else []
    codes += [Note("shape")] if "other shape" in ways else []
    row = replace(found.row, verdict=verdict, p=math.nan if verdict == "not tested" else 0.04, notes=tuple(codes))
    ratio = {"too high": (0.8, 0.9), "too low": (1.1, 1.2)}
    slope = {"reversed": (-0.9, -0.1), "too extreme": (0.7, 0.9), "too timid": (1.1, 1.3)}
    low, high = next((ratio[way] for way in ways if way in ratio), (0.9, 1.1))
    least, most = next((slope[way] for way in ways if way in slope), (0.8, 1.2))
    sizes = {
        "observed_expected": replace(found.ratio, value=(low + high) / 2, low=low, high=high),
        "calibration_slope": replace(found.slope, value=(least + most) / 2, low=least, high=most),
        "miscalibration": found.cost,
    }
    return row, sizes


@pytest.mark.parametrize("verdict", OUTCOMES)
@pytest.mark.parametrize("way", DIRECTIONS)
def test_no_words_claim_what_the_values_do_not(verdict, way):
    ways = (way,) if verdict in {"bad", "small"} else ()
    row, sizes = made(verdict, ways)
    words = event_words(row, sizes, "m")
    assert [one for one, claim in CLAIMS.items() if claim in words] == [verdict]
    assert tuple(one for one, claim in WAYS.items() if claim in words) == ways
    assert ("is miscalibrated" in words) == (verdict in {"bad", "small"})
    assert ("p = 0.04" in words) == (verdict != "not tested")
    assert words.endswith(".")


BOTH = [
    pair
    for pair in itertools.combinations(DIRECTIONS[:-1], 2)
    if pair
    not in (
        ("too high", "too low"),
        ("reversed", "too extreme"),
        ("reversed", "too timid"),
        ("too extreme", "too timid"),
    )
]


@pytest.mark.parametrize("several", BOTH, ids=" and ".join)
def test_two_ways_are_both_named(several):
    words = event_words(*made("bad", several), "m")
    assert {one for one, claim in WAYS.items() if claim in words} == set(several)


@pytest.mark.parametrize(
    ("value", "low", "high", "words"),
    [
        (0.01, 0.005, 0.02, " Perfect recalibration would lower its Brier score by 0.0100 (0.00500 to 0.0200)."),
        (0.0, 0.0, 0.003, " Perfect recalibration would lower its Brier score by at most 0.00300."),
        (0.01, math.nan, math.nan, " Perfect recalibration would lower its Brier score by 0.0100."),
        (math.nan, math.nan, math.nan, "to 0.90)."),
        (0.0, 0.0, 0.8, "to 0.90)."),
    ],
    ids=["cost", "none", "no interval", "unknown", "a bound that says nothing"],
)
def test_the_cost_is_that_of_the_estimate(value, low, high, words):
    row, sizes = made("bad", ("too high",))
    sizes["miscalibration"] = replace(sizes["miscalibration"], value=value, low=low, high=high)
    said = event_words(row, sizes, "m")
    assert said.endswith(words)


def test_bands_of_an_evaluation_are_drawn_as_often_as_asked():
    found = pr.evaluate(*sample(4, 300), seed=1, n_resamples=30)
    (curve,) = (curve for own in found.reliability.values() for curve in own.values())
    assert curve.bands[0].n_resamples == 30


def test_forecasts_that_rank_the_wrong_way_are_reversed_not_too_extreme():
    y, p = sample(4, 1000, lambda x: -x)
    found = judged(y, p)
    assert found.slope.high < 0.0
    assert "reversed" in found.ways
    assert "too extreme" not in found.ways
    assert "reversed (slope -" in found.words


@pytest.mark.parametrize("shared", ["cluster", "period"])
@pytest.mark.parametrize(("units", "verdict"), [(1, "too few"), (9, "too few"), (30, "no error found")])
def test_few_clusters_or_times_do_not_clear_a_forecast(shared, units, verdict):
    y, p = sample(4, 3000)
    found = judged(y, p, **{shared: np.arange(3000) % units})
    assert (found.verdict, found.row.units) == (verdict, units)
    assert (f"too few {shared}s to tell" in found.words) == (verdict == "too few")


def test_a_forecast_that_all_but_excludes_the_event_has_a_ratio_with_limits():
    found = judged(np.arange(200) % 2, np.full(200, 1e-300))
    assert found.ways == ("too low",)
    assert 1e299 < found.ratio.low < 5e299 < found.ratio.high < 1e300
    assert found.cost.low < found.cost.value
    assert "(observed/expected 5.00e+299, " in found.words


@pytest.mark.parametrize(("weight", "share"), [(None, "5% of the cases have"), (np.ones(400), "5% of the weight has")])
def test_forecasts_of_0_and_1_are_counted_openly(weight, share):
    y, p = sample(4, 400)
    p[:20] = y[:20]
    weight = None if weight is None else weight * (1.0 + np.arange(400) % 2)
    words = judged(y, p, sample_weight=weight).words
    assert words.endswith(f" Note: {share} a forecast of exactly 0 or 1, which has no log-odds.")
