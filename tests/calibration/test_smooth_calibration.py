"""The smooth calibration curve and its indices."""

import numpy as np
import pytest
from scipy.special import expit, logit

import propriety as pr
from propriety.calibration.smooth_calibration import INDICES, smooth_calibration_of, split_histogram
from propriety.tables.forecast_table import ForecastTable


def sample(n, change=lambda x: x, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.normal(-1.2, 1.1, n)
    return rng.random(n) < expit(change(x)), expit(x)


def table_of(*arguments, **options):
    return ForecastTable.from_predictions(*sample(*arguments, **options))


def test_a_miscalibrated_sample_is_rejected_and_its_limits_exclude_zero():
    found = smooth_calibration_of(table_of(2000, lambda x: 0.5 * x), seed=1, n_resamples=200)
    assert found.p_value < 1e-6
    for name in INDICES:
        value, low, high = found.index(name)
        assert 0.0 < low <= value <= high


def test_a_calibrated_sample_has_a_lower_limit_of_zero():
    found = smooth_calibration_of(table_of(2000), seed=1, n_resamples=200)
    assert found.p_value > 0.05
    assert all(found.index(name)[1] == 0.0 for name in INDICES)


def test_the_band_contains_the_curve_and_a_large_sample_finds_the_truth():
    found = smooth_calibration_of(table_of(40_000, lambda x: 0.6 * x - 0.3), seed=1, n_resamples=100)
    assert ((found.low <= found.event_rate) & (found.event_rate <= found.high)).all()
    inside = (found.forecast > 0.05) & (found.forecast < 0.7)
    truth = expit(0.6 * logit(found.forecast[inside]) - 0.3)
    np.testing.assert_allclose(found.event_rate[inside], truth, atol=0.02)


def test_equal_weights_change_nothing_and_one_seed_gives_one_answer():
    y, p = sample(300)
    plain, twice = (pr.reliability_curve(y, p, sample_weight=weight).smooth(seed=3) for weight in (None, [2.0] * 300))
    assert plain.ici == pytest.approx(twice.ici, rel=1e-9)
    assert plain.ici_high == pytest.approx(twice.ici_high, rel=1e-6)
    assert plain.p_value == pytest.approx(twice.p_value, rel=1e-9)


@pytest.mark.parametrize(("y", "p"), [([0, 1], [0.5, 0.5]), ([0, 1, 1, 0], [0.0, 0.4, 0.4, 1.0]), ([0, 1], [0.0, 1.0])])
def test_what_has_no_smooth_curve_is_rejected(y, p):
    with pytest.raises(pr.errors.InputValueError, match="different forecasts other than 0 and 1"):
        pr.reliability_curve(y, p).smooth()


def test_the_histogram_counts_every_case_once():
    table = table_of(500)
    found = split_histogram(table)
    assert found.events.sum() == table.n_events
    assert found.non_events.sum() == table.n - table.n_events


def test_certain_forecasts_are_left_out_and_the_note_says_how_many():
    y, p = sample(300)
    plain = pr.reliability_curve(y, p).smooth(seed=3)
    more = pr.reliability_curve(np.append(y, [False] * 3), np.append(p, [0.0] * 3)).smooth(seed=3)
    assert [more.index(name) for name in INDICES] == [plain.index(name) for name in INDICES]
    assert more.note.startswith("0.99% of the weight has a forecast of exactly 0 or 1")
    assert more.n == 303


def test_a_loess_curve_has_no_limits_and_needs_cases_without_weights():
    y, p = sample(300)
    found = pr.reliability_curve(y, p).smooth(method="loess", seed=1)
    assert np.isnan([found.ici_low, found.ici_high, found.p_value, *found.low]).all()
    assert found.note == "a loess curve has no intervals and no test"
    with pytest.raises(pr.errors.InputValueError, match="without weights"):
        pr.reliability_curve(y, p, sample_weight=p).smooth(method="loess")


def test_many_forecasts_are_grouped_without_moving_the_indices():
    table = table_of(20_000, lambda x: 0.7 * x)
    found = smooth_calibration_of(table, seed=1, n_resamples=50)
    coarse = smooth_calibration_of(table.grid(4096), seed=1, n_resamples=50)
    for name in ("ici", "e50", "e90"):
        assert found.index(name) == pytest.approx(coarse.index(name), rel=0.02)


@pytest.mark.parametrize(("events", "others"), [(60, 2000), (100, 1000), (300, 300)])
def test_weights_of_the_outcome_do_not_make_calibrated_forecasts_look_wrong(events, others):
    rng = np.random.default_rng(12)
    p = rng.beta(2, 8, 200_000)
    y = rng.random(len(p)) < p
    rejected = 0
    for _ in range(60):
        rows = np.concatenate([rng.choice(np.flatnonzero(y), events), rng.choice(np.flatnonzero(~y), others)])
        weight = np.where(y[rows], y.mean() / events, (1.0 - y.mean()) / others)
        curve = pr.reliability_curve(y[rows], p[rows], sample_weight=weight)
        rejected += curve.smooth(seed=1, n_resamples=20).p_value < 0.05
    assert rejected <= 8  # With one effective number of cases, 21 of 60 for the first, and none for the last.


@pytest.mark.parametrize("n", [20, 40, 60, 200])  # Shares of 5% of the cases are met exactly.
def test_indices_of_swapped_outcomes_are_the_same(n):
    rng = np.random.default_rng(n)
    p = rng.random(n)
    y = rng.random(n) < p
    one, other = (pr.reliability_curve(*both).smooth(n_resamples=50, seed=1) for both in ((y, p), (~y, 1.0 - p)))
    assert (one.ici, one.e50, one.e90, one.e_max) == pytest.approx(
        (other.ici, other.e50, other.e90, other.e_max), rel=1e-9
    )
