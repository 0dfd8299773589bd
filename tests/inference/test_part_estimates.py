"""Miscalibration and discrimination with intervals: less what recalibration fits of the noise, and never below zero."""

import math

import numpy as np
import pytest
from scipy import stats

import propriety as pr
from propriety.calibration.pav import pool_adjacent_violators
from propriety.inference.bootstrap import Drawing
from propriety.inference.estimation import estimate
from propriety.inference.measures import Discrimination, Miscalibration
from propriety.inference.part_estimates import overfits

RNG = np.random.default_rng(11)
N = 400
P = RNG.beta(1.5, 2.0, N)
Y = RNG.random(N) < P
WEIGHT = RNG.gamma(2.0, 1.0, N)


def name(measure):
    return f"{type(measure).__name__} {measure.rule}"


@pytest.mark.parametrize("measure", [Miscalibration(), Discrimination(), Miscalibration(pr.Log())], ids=name)
def test_parts_are_corrected_for_what_recalibration_overfits(measure):
    found = estimate(Y, P, measure, n_resamples=300, seed=1)
    assert found.bias > 0.0
    centre = found.value - found.bias
    table = pr.ForecastTable.from_predictions(Y, P)
    rates = pool_adjacent_violators(table).per_row()
    varies = overfits(table, measure.rule, rates, Drawing(n_resamples=300, seed=1)).std()
    margin = stats.norm.ppf(0.975) * math.hypot(found.standard_error, varies)
    assert found.low == pytest.approx(max(centre - margin, 0.0), abs=1e-12)
    assert found.high == pytest.approx(max(centre + margin, 0.0), abs=1e-12)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weights"])
@pytest.mark.parametrize("measure", [Miscalibration(), Discrimination(pr.Log())], ids=name)
def test_the_error_is_that_of_a_mean_difference_of_losses(measure, weight):
    found = estimate(Y, P, measure, n_resamples=40, seed=1, sample_weight=weight)
    table = pr.ForecastTable.from_predictions(Y, P, sample_weight=weight)
    rates = np.clip(pool_adjacent_violators(table).per_row(), 0.0, 1.0)[np.searchsorted(table.forecast, P)]
    given = P if isinstance(measure, Miscalibration) else np.full(N, table.event_rate)
    with np.errstate(divide="ignore"):
        d = pr.case_scores(Y, given, rule=measure.rule) - pr.case_scores(Y, rates, rule=measure.rule)
    w = np.ones(N) if weight is None else weight
    deviation = w * (d - np.average(d, weights=w))
    assert found.standard_error == pytest.approx(math.sqrt(N / (N - 1) * (deviation**2).sum()) / w.sum(), rel=1e-10)


def test_the_bias_is_what_calibrated_forecasts_show():
    p = np.repeat([0.2, 0.4, 0.6, 0.8], 250)
    y = np.concatenate([np.arange(250) < 250 * rate for rate in (0.2, 0.4, 0.6, 0.8)])
    found = estimate(y, p, Miscalibration(), n_resamples=400, seed=1)
    rng = np.random.default_rng(2)
    shown = [pr.decompose(rng.random(1000) < p, p).miscalibration for _ in range(400)]
    assert found.value == pytest.approx(0.0, abs=1e-12)
    assert found.bias == pytest.approx(np.mean(shown), rel=0.15)
    assert found.low == 0.0
    assert found.high == pytest.approx(max(stats.norm.ppf(0.975) * np.std(shown) - np.mean(shown), 0.0), rel=0.25)


@pytest.mark.parametrize(
    ("measure", "forecasts", "rates"),
    [
        pytest.param(Miscalibration(), [0.5], [0.52], id="MCB, one value"),
        pytest.param(Miscalibration(), [0.3, 0.5, 0.7], [0.35, 0.55, 0.65], id="MCB, three values"),
        pytest.param(Discrimination(), [0.4, 0.6], [0.48, 0.52], id="DSC, two values"),
        pytest.param(Discrimination(), [0.4, 0.6], [0.5, 0.5], id="no DSC"),
    ],
)
def test_parts_next_to_zero_hold_the_truth_and_never_claim_certainty(measure, forecasts, rates):
    p, rate = np.resize(forecasts, 240), np.resize(rates, 240)
    truth = measure.value(
        pr.ForecastTable.from_predictions(
            np.repeat([1, 0], 240), np.tile(p, 2), sample_weight=np.append(rate, 1 - rate)
        )
    )
    rng = np.random.default_rng(8)
    held = []
    for seed in range(60):
        found = estimate(rng.random(240) < rate, p, measure, n_resamples=40, seed=seed)
        assert found.high > 0.0
        held.append(found.low - 1e-12 <= truth <= found.high)
    assert np.mean(held) > 0.9


@pytest.mark.parametrize(
    ("measure", "truth"), [(Miscalibration(), 0.0), (Discrimination(), 1 / 12)], ids=["MCB", "DSC"]
)
def test_corrected_parts_hold_the_truth(measure, truth):
    rng = np.random.default_rng(5)
    held = []
    for seed in range(20):
        p = rng.random(200)
        found = estimate(rng.random(200) < p, p, measure, n_resamples=30, seed=seed)
        held.append(found.low <= truth <= found.high)
    assert np.mean(held) > 0.8


def test_many_weighted_cases_take_fewer_draws_and_the_method_says_so(monkeypatch):
    monkeypatch.setattr("propriety.inference.part_estimates.WORK", 10_000)
    found = estimate(Y, P, Miscalibration(), sample_weight=WEIGHT, seed=1)
    assert found.n_resamples == 10_000 // N
    assert found.method.endswith(f"at the recalibrated rates, {10_000 // N} of them for {N} cases")
    few = estimate(Y, P, Miscalibration(), sample_weight=WEIGHT, seed=1, n_resamples=22)
    assert few.method.endswith("at the recalibrated rates")
    assert estimate(Y, P, Miscalibration(), seed=1).n_resamples == 1000  # Neighbours are drawn together.


def test_weights_of_any_size_are_drawn():
    large, plain = (
        estimate(Y, P, Miscalibration(), sample_weight=w, n_resamples=40, seed=1) for w in (WEIGHT * 1e20, WEIGHT)
    )
    assert (large.low, large.high) == pytest.approx((plain.low, plain.high), rel=1e-9)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weights"])
def test_the_order_of_the_cases_does_not_matter(weight):
    order = RNG.permutation(N)
    one = estimate(Y, P, Miscalibration(), sample_weight=weight, n_resamples=40, seed=1)
    mixed = None if weight is None else weight[order]
    other = estimate(Y[order], P[order], Miscalibration(), sample_weight=mixed, n_resamples=40, seed=1)
    np.testing.assert_allclose([one.low, one.high, one.bias], [other.low, other.high, other.bias], rtol=1e-12)


def test_neighbours_in_time_count_as_independent_and_the_note_says_so():
    found = estimate(Y, P, Discrimination(), time=np.arange(N) // 2, n_resamples=40, seed=1)
    plain = estimate(Y, P, Discrimination(), n_resamples=40, seed=1)
    assert (found.low, found.high) == (plain.low, plain.high)
    assert found.note == "neighbours in time count as independent: it may be too narrow"
    assert plain.note == ""


def test_an_estimate_beyond_its_limits_says_why():
    rng = np.random.default_rng(1)
    p = rng.random(500)
    found = estimate(rng.random(500) < p, p, Miscalibration(), seed=1)
    assert found.value > found.high
    assert found.note == "sampling noise inflates this value; the interval is corrected for it"
    bold = estimate(rng.random(500) < 0.5 + 0.3 * (p - 0.5), p, Miscalibration(), seed=1)
    assert bold.low < bold.value < bold.high
    assert not bold.note
