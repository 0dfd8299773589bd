"""What an evaluation says is true: of samples whose truth is known, it finds errors and does not invent them."""

import math

import numpy as np
import pytest
from scipy.special import expit, logit

import propriety as pr
from propriety.calibration.calibration_test import calibration_test
from propriety.cli.machine import evaluation_document
from propriety.tables.forecast_table import ForecastTable

DRAWS = {"seed": 1, "n_resamples": 100}
EXTREME = 1.5


def sample(rng, n, change=lambda x: x, shape=(1, 3)):
    """Return outcomes and their forecasts, the true log-odds changed."""
    truth = rng.beta(*shape, n)
    return rng.random(n) < truth, expit(change(logit(truth)))


def verdicts(rng, times, n, change=lambda x: x, shape=(1, 3)):
    return [pr.check_calibration(*sample(rng, n, change, shape), **DRAWS)[0].verdict for _ in range(times)]


def test_overconfident_forecasts_of_500_cases_are_not_put_down_to_chance():
    rng = np.random.default_rng(2)
    q = rng.beta(1, 3, 500)
    y, p = rng.random(500) < q, expit(EXTREME * logit(q))
    said = pr.evaluate(y, {"m": p}, **DRAWS).card.words
    assert said[0].endswith("but is miscalibrated (p < 0.001).")
    assert any(one.startswith("'m' is miscalibrated: ") for one in said)
    assert not any("chance" in one or "no error" in one for one in said)


def test_a_cohort_with_too_few_expected_events_is_miscalibrated():
    rng = np.random.default_rng(3)
    x = rng.normal(-1.5, 1.2, 3097)
    found = pr.evaluate(rng.random(3097) < expit(0.31 + 0.82 * x), {"m": expit(x)}, **DRAWS)
    test, ratio, slope, _ = found.calibration
    assert test.verdict == "bad"
    assert ratio.low > 1.0 > slope.high
    assert found.to_dict()["miscalibrated"] == 1.0


@pytest.mark.simulation
@pytest.mark.parametrize(
    ("n", "change", "shape", "least"),
    [
        (200, lambda x: EXTREME * x, (1, 3), 0.65),
        (500, lambda x: EXTREME * x, (1, 3), 0.95),
        (500, lambda x: x + 0.4, (1, 3), 0.75),
        (3000, lambda x: x + 0.25, (1, 3), 0.85),
        (2000, lambda x: x + math.log(2), (1, 49), 0.9),
    ],
    ids=["slope of 200", "slope of 500", "shift of 500", "shift of 3000", "rare events"],
)
def test_errors_are_found_as_often_as_they_can_be(n, change, shape, least):
    found = verdicts(np.random.default_rng(4), 60, n, change, shape)
    assert found.count("bad") / 60 >= least


@pytest.mark.simulation
@pytest.mark.parametrize(
    ("n", "shape"), [(200, (1, 3)), (500, (1, 3)), (2000, (1, 3)), (500, (1, 49)), (2000, (1, 49))], ids=str
)
def test_calibrated_forecasts_are_rarely_flagged(n, shape):
    found = verdicts(np.random.default_rng(5), 150, n, shape=shape)
    assert (found.count("bad") + found.count("small")) / 150 <= 0.1


@pytest.mark.parametrize("n", [1_000_000, 5_000_000])
def test_calibrated_forecasts_of_millions_of_cases_are_rarely_flagged(n):
    rng = np.random.default_rng(6)
    p = np.linspace(0.001, 0.999, 999)
    flagged = []
    for _ in range(150):
        cases = rng.multinomial(n, np.exp(-3 * p) / np.exp(-3 * p).sum())
        events = rng.binomial(cases, p)
        table = ForecastTable(forecast=p, events=events, non_events=cases - events)
        flagged.append(calibration_test(table, **DRAWS).p_value <= 0.05)
    assert np.mean(flagged) <= 0.1


def test_the_miscalibration_of_calibrated_forecasts_is_next_to_nothing():
    rng = np.random.default_rng(0)
    q = rng.beta(1, 3, 2000)
    y = rng.random(2000) < q
    found = pr.estimate(y, q, pr.measures.Miscalibration())
    assert found.low == 0.0
    assert found.value < found.extra["raw"] == pytest.approx(0.00345, abs=1e-5)
    assert found.low <= found.value <= found.high


@pytest.mark.simulation
def test_intervals_of_miscalibration_hold_the_truth():
    rng = np.random.default_rng(7)
    q = rng.beta(1, 3, 1_000_000)
    truth = ((q - expit(EXTREME * logit(q))) ** 2).mean()
    held = []
    for _ in range(100):
        found = pr.estimate(*sample(rng, 2000, lambda x: EXTREME * x), pr.measures.Miscalibration())
        held.append(found.low <= truth <= found.high)
    assert np.mean(held) >= 0.89


def test_a_grid_does_not_invent_miscalibration_of_rare_events():
    rng = np.random.default_rng(3)
    p = rng.beta(0.3, 300, 200_000)
    ledger = pr.condense(rng.random(200_000) < p, p)
    whole, grid = (pr.check_calibration(one, **DRAWS) for one in (ledger, ledger.grid(2**10)))
    for name in ("value", "low", "high"):
        assert getattr(grid[1], name) == pytest.approx(getattr(whole[1], name), rel=1e-4)
    assert grid[1].low <= 1.0 <= grid[1].high
    assert {grid[0].verdict, whole[0].verdict} <= {"small", "bad"}  # By chance, at p = 0.04.
    assert grid[0].p == pytest.approx(whole[0].p, abs=0.02)


def test_the_intercept_of_cases_and_controls_has_an_error_of_the_right_size():
    rng = np.random.default_rng(8)
    values, errors = [], []
    for _ in range(80):
        y, p = sample(rng, 10_000, shape=(1, 19))
        kept = np.concatenate([rng.permutation(np.flatnonzero(y == side))[:200] for side in (True, False)])
        weight = np.where(y, y.sum() / 200, (~y).sum() / 200)[kept]
        found = pr.estimate(y[kept], p[kept], pr.measures.CalibrationIntercept(), sample_weight=weight)
        values.append(found.value)
        errors.append(found.error)
        test = pr.check_calibration(y[kept], p[kept], sample_weight=weight, **DRAWS)[0]
        assert test.note("fixed-numbers") is not None
    # It is too large, as the note says, because the number of events was fixed; Kish's would be five times the truth.
    assert np.std(values) < np.mean(errors) < 2.5 * np.std(values)


@pytest.mark.simulation
def test_intervals_of_cases_that_are_stratified_by_forecast_hold_the_truth():
    rng = np.random.default_rng(9)
    held = []
    for _ in range(150):
        y, p = sample(rng, 2000)
        chance = np.clip(p, 0.05, 1.0)
        kept = rng.random(2000) < chance
        measures = (pr.measures.CalibrationIntercept(), pr.measures.CalibrationSlope())
        found = [pr.estimate(y[kept], p[kept], one, sample_weight=1.0 / chance[kept]) for one in measures]
        held.append([one.low <= one.measure.ideal <= one.high for one in found])
    assert (np.mean(held, axis=0) >= 0.84).all()


@pytest.mark.nightly
@pytest.mark.parametrize("n", [100, 200, 500])
def test_a_gate_on_miscalibration_rarely_stops_calibrated_forecasts(n):
    rng = np.random.default_rng(10)
    stopped = [pr.evaluate(*sample(rng, n), **DRAWS).to_dict()["miscalibrated"] for _ in range(60)]
    assert np.nanmean(stopped) <= 0.15
    found = [pr.evaluate(*sample(rng, n, lambda x: x + 1.5), **DRAWS).to_dict()["miscalibrated"] for _ in range(10)]
    assert np.mean(found) >= 0.9


@pytest.mark.nightly
def test_the_interval_of_the_best_of_many_allows_for_their_choice():
    rng = np.random.default_rng(11)
    held = []
    for _ in range(25):
        q = rng.beta(2, 2, 300)
        y = rng.random(300) < q
        forecasts = {f"m{place}": np.clip(q + rng.normal(0, 0.2, 300), 0.01, 0.99) for place in range(20)}
        result = pr.evaluate(y, forecasts, **DRAWS)
        best = forecasts[result.best]
        truth = (q * (1 - best) ** 2 + (1 - q) * best**2).mean()
        found, own = result.best_estimate, result.estimates[result.best]["brier"]
        held.append(found.low <= truth <= found.high)
        assert found.low < own.low < own.high < found.high
    assert np.mean(held) >= 0.9


def test_a_higher_event_rate_of_a_group_is_not_told_as_a_worse_forecast():
    rng = np.random.default_rng(12)
    group = np.arange(2000) % 2
    q = np.where(group == 0, rng.beta(1, 9, 2000), rng.beta(5, 5, 2000))  # The same skill, 1 / 11.
    said = pr.evaluate(rng.random(2000) < q, {"m": q}, by={"group": group}, **DRAWS).card.words
    assert "No group with enough data was found to be miscalibrated." in said
    assert (
        "The Brier score differs in 0 and 1, but no difference in skill was found: a different event rate by itself "
        "changes the score."
    ) in said
    assert not any("less skill" in one for one in said)


def test_no_estimate_of_an_evaluation_stands_outside_its_interval():
    rng = np.random.default_rng(13)
    for n in (60, 300, 2000):
        scores = pr.evaluate(*sample(rng, n), **DRAWS).scores
        known = np.isfinite(scores.low)
        assert known.sum() > 5
        assert (scores.low[known] <= scores.value[known]).all()
        assert (scores.value[known] <= scores.high[known]).all()


@pytest.mark.slow
def test_a_class_is_told_alike_in_words_json_and_gate():
    """A class that is found miscalibrated alone need not be where the level is held over all classes."""
    differ = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        rows = rng.dirichlet([1.0, 1.0, 1.0], 300)
        y = (rng.random((300, 1)) > rows.cumsum(axis=1)[:, :2]).sum(axis=1)
        result = pr.evaluate(y, {"m": rows}, **DRAWS)
        found = evaluation_document(result, [])["calibration"]["m"]
        accused = found["verdict"] == "bad"
        assert (result.to_dict()["miscalibrated"] == 1.0) == accused
        told = any(one.startswith("'m' is miscalibrated: ") for one in result.card.sentences)
        assert told == accused == ("is miscalibrated (" in found["words"])
        alone = [pr.check_calibration(y == label, rows[:, label], **DRAWS)[0].verdict for label in range(3)]
        differ += "bad" in alone and not accused
    assert differ
