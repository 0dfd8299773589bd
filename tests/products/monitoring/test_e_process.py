"""Exact bets on single cases: no way of stopping beats the claim, by enumeration; limits, margins and parts."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from propriety.products.monitoring import e_process
from propriety.products.monitoring.e_process import (
    BETS,
    LOG_SHARE,
    RECALIBRATIONS,
    MeanBets,
    StreamBets,
    bet_on_mean,
    calibration_paths,
    mean_paths,
)

DEPTH, BAR = 6, math.log(20.0)
inner = st.floats(0.01, 0.99)


def of_calibration(y, p, margin=0.0):
    start = StreamBets.start(of_calibration=True)
    return calibration_paths(np.array(p), np.array(y, dtype=bool), start, margin, BAR)


def of_difference(y, p, r, margin=0.0):
    y, p, r = (np.array(one, dtype=float) for one in (y, p, r))
    x = (p - y) ** 2 - (r - y) ** 2
    return mean_paths(x, 1.0, StreamBets.start(of_calibration=False), np.full(len(x), margin), 1, BAR)


def tree(case, monitor, depth=DEPTH):
    """Return, for every history, its probability and the result of monitoring it."""
    found = {}
    for outcomes in itertools.product((0, 1), repeat=depth):
        steps = [case(outcomes[:t]) for t in range(depth)]
        chance = math.prod(rate if y else 1 - rate for y, (*_, rate) in zip(outcomes, steps, strict=True))
        if chance > 0:
            *forecasts, _ = zip(*steps, strict=True)
            found[outcomes] = chance, monitor(outcomes, *map(list, forecasts))
    return found


def best_stopping(case, e_of, history=(), depth=DEPTH):
    """Return the largest expected e-value of any stopping rule, by dynamic programming; stopping at once gives 1."""
    now = e_of(history) if history else 1.0
    if len(history) == depth:
        return now
    *_, rate = case(history)
    follow = [
        chance * best_stopping(case, e_of, (*history, y), depth) for y, chance in ((1, rate), (0, 1 - rate)) if chance
    ]
    return max(now, sum(follow))


def e_values(found):
    e = {
        outcomes[: t + 1]: math.exp(paths.against[t])
        for outcomes, (_, paths) in found.items()
        for t in range(len(outcomes))
    }
    return e.__getitem__


def calibrated(history):
    p = (0.005, 0.3, 0.62, 0.95)[(len(history) + sum(history)) % 4]
    return p, p


def sometimes_certain(history):
    p = (0.0, 0.4, 1.0, 0.7)[(len(history) + sum(history)) % 4]
    return p, p


def within_the_margin(history):
    """The rate is off by at most a tenth, in the direction in which the forecasts were wrong before."""
    p, _ = calibrated(history)
    return p, min(p * (1.1 if sum(history) % 2 else 0.9), 1.0)


def equal(history):
    """Brier loses as much with either forecast if the rate is halfway between them; forecasts depend on the past."""
    p, r = 0.2 + 0.1 * (sum(history) % 5), 0.9 - 0.1 * len(history)
    return p, r, (p + r) / 2


def never_worse(history):
    p, r, middle = equal(history)
    return p, r, (p + 2 * middle) / 3


@pytest.mark.parametrize("case", [calibrated, sometimes_certain])
def test_no_stopping_makes_evidence_against_calibrated_forecasts(case):
    assert best_stopping(case, e_values(tree(case, of_calibration))) <= 1 + 1e-12


def test_no_stopping_makes_evidence_against_rates_within_the_margin():
    def monitor(y, p):
        return of_calibration(y, p, margin=0.1)

    assert best_stopping(within_the_margin, e_values(tree(within_the_margin, monitor))) <= 1 + 1e-12
    assert best_stopping(within_the_margin, e_values(tree(within_the_margin, of_calibration))) > 1.0


@pytest.mark.parametrize("case", [equal, never_worse])
def test_no_stopping_makes_evidence_against_a_model_that_is_no_worse(case):
    assert best_stopping(case, e_values(tree(case, of_difference))) <= 1 + 1e-12


def test_a_difference_within_the_margin_makes_none_either():
    def case(_):
        return 0.2, 0.8, 0.55  # The model loses .06 more.

    def monitor(y, p, r):
        return of_difference(y, p, r, margin=0.07)

    assert best_stopping(case, e_values(tree(case, of_difference))) > 1.05
    assert best_stopping(case, e_values(tree(case, monitor))) <= 1 + 1e-12


def test_evidence_grows_if_the_claim_is_false():
    def too_low(_):
        return 0.2, 0.7

    def worse(_):
        return 0.2, 0.8, 0.75

    assert best_stopping(too_low, e_values(tree(too_low, of_calibration))) > 1.5
    assert best_stopping(worse, e_values(tree(worse, of_difference))) > 1.3


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(inner, inner), min_size=4, max_size=4))
def test_evidence_is_a_martingale_between_models_that_are_equal(pairs):
    def case(history):
        p, r = pairs[len(history)]
        return p, r, (p + r) / 2

    found = tree(case, of_difference, depth=4)
    for t in range(4):
        assert sum(chance * math.exp(paths.against[t]) for chance, paths in found.values()) == pytest.approx(1)


@pytest.mark.slow
def test_limits_hold_at_all_times_as_often_as_they_say():
    missed = 0.0
    for chance, paths in tree(calibrated, of_calibration, depth=8).values():
        missed += chance * bool(np.any((paths.low > 0.0) | (paths.high < 0.0)))  # The mean of y - p is 0.
    assert missed <= 2.0 * math.exp(-BAR)


def test_the_capital_of_bets_and_its_bound():
    x = np.random.default_rng(0).uniform(-0.5, 0.9, 12)
    log_e, bound, _ = bet_on_mean(x, MeanBets.start(), BAR)
    for t in range(1, 13):
        paths = np.prod(1.0 + BETS[:, None] * x[:t], axis=1)
        assert math.exp(log_e[t - 1]) == pytest.approx(np.exp(LOG_SHARE) @ paths)
        discounted = np.exp(LOG_SHARE - BETS * t * bound[t - 1]) @ paths
        assert bound[t - 1] == -1.0 or discounted == pytest.approx(20.0, rel=1e-3)


def test_shares_are_of_one_unit():
    assert np.exp(LOG_SHARE).sum() == pytest.approx(1.0)
    assert all(one.share.sum() == pytest.approx(1.0) for one in RECALIBRATIONS)


def test_a_certain_forecast_that_fails_settles_it():
    paths = of_calibration([0, 1, 0], [0.2, 0.0, 0.4])
    assert paths.against.tolist()[1:] == [math.inf, math.inf]
    assert math.isfinite(of_calibration([0, 0, 1], [0.2, 0.0, 1.0]).against[-1])


@pytest.mark.parametrize("cut", [1, 7, 30])
@pytest.mark.parametrize("blocks", [False, True])
def test_a_stream_in_parts_or_blocks_is_the_whole(cut, blocks, monkeypatch):
    rng = np.random.default_rng(4)
    p, r = rng.random((2, 40))
    y = rng.random(40) < p
    whole = of_calibration(y, p), of_difference(y, p, r)
    if blocks:
        monkeypatch.setattr(e_process, "BLOCK", cut)
        again = of_calibration(y, p), of_difference(y, p, r)
        for one, other in zip(whole, again, strict=True):
            np.testing.assert_array_equal(one.against, other.against)
        return
    first = of_calibration(y[:cut], p[:cut])
    last = calibration_paths(p[cut:], y[cut:], first.bets, 0.0, BAR)
    np.testing.assert_array_equal(np.append(first.against, last.against), whole[0].against)
    np.testing.assert_array_equal(np.append(first.low, last.low), whole[0].low)
