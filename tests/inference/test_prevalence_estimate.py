"""The event rate of cases without labels, estimated from their forecasts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit

import propriety as pr
from propriety.errors import InputValueError


def drawn(rng, n, rate, *, slope=1.0):
    """Return outcomes, and forecasts that are calibrated at an event rate of 0.2 if the slope is 1."""
    y = rng.random(n) < rate
    x = rng.normal(size=n) + 1.2 * y
    return y, expit(slope * (1.2 * x - 0.72) + logit(0.2))


def em(y, p, unlabelled):
    """Return where the EM algorithm of Saerens ends."""
    start = rate = p.mean()
    for _ in range(3000):
        event = rate / start * unlabelled
        rate = np.mean(event / (event + (1 - rate) / (1 - start) * (1 - unlabelled)))
    return rate


def test_the_likelihood_is_maximised_where_em_ends():
    rng = np.random.default_rng(1)
    y, p = drawn(rng, 2000, 0.2)
    _, unlabelled = drawn(rng, 1000, 0.4)
    found = pr.estimate_prevalence(y, p, unlabelled=unlabelled, method="em")
    assert found.value == pytest.approx(em(y, p, unlabelled), abs=1e-6)
    assert found.low < 0.4 < found.high


def test_black_box_limits_do_not_need_calibration():
    rng = np.random.default_rng(2)
    held = {"black-box": 0, "em": 0}
    for _ in range(60):
        y, p = drawn(rng, 1000, 0.2, slope=1.6)
        _, unlabelled = drawn(rng, 1000, 0.05, slope=1.6)
        for method in held:
            found = pr.estimate_prevalence(y, p, unlabelled=unlabelled, method=method)
            held[method] += found.low <= 0.05 <= found.high
    assert held["black-box"] >= 52
    assert held["em"] <= 30


def test_the_labelled_cases_give_their_own_rate():
    y, p = drawn(np.random.default_rng(3), 500, 0.2)
    found = pr.estimate_prevalence(pr.ForecastTable.from_predictions(y, p), unlabelled=p)
    assert found.value == pytest.approx(y.mean())
    assert found.labelled_rate == y.mean()


@pytest.mark.parametrize("method", ["black-box", "em"])
def test_forecasts_that_no_event_rate_explains_are_noted(method):
    y, p = [0, 0, 1, 0, 1, 1] * 50, [0.1, 0.2, 0.4, 0.5, 0.7, 0.9] * 50
    found = pr.estimate_prevalence(y, p, unlabelled=[0.01] * 60 + [0.0] * 10, method=method)
    assert found.value == 0.0
    assert np.isnan(found.high)
    assert "more than the event rate has changed" in found.note


def test_useless_forecasts_determine_nothing():
    found = pr.estimate_prevalence([0, 1] * 20, [0.5, 0.6, 0.6, 0.5] * 10, unlabelled=[0.5, 0.6])
    assert (found.low, found.high) == (0.0, 1.0)
    assert "not determined" in found.note


@pytest.mark.parametrize("p", [[0.5, 0.5], [0.3, 0.7]])
def test_a_flat_likelihood_determines_nothing(p):
    found = pr.estimate_prevalence([0, 1] * 50, p * 50, unlabelled=[0.5] * 20, method="em")
    assert np.isnan(found.value)
    assert (found.low, found.high) == (0.0, 1.0)
    assert "not determined" in found.note


def test_input_is_checked():
    with pytest.raises(InputValueError, match="two events"):
        pr.estimate_prevalence([0, 0, 1], [0.1, 0.2, 0.3], unlabelled=[0.1, 0.2])
    with pytest.raises(InputValueError, match="unlabelled must be the forecast of one event"):
        pr.estimate_prevalence([0, 1] * 9, [0.1, 0.2] * 9, unlabelled=[[0.1, 0.2, 0.7]])
    with pytest.raises(InputValueError, match="unlabelled must lie in"):
        pr.estimate_prevalence([0, 1] * 9, [0.1, 0.2] * 9, unlabelled=[0.1, 1.2])


@pytest.mark.parametrize("extra", [1.0, 0.0, 0.999999])
def test_one_extreme_forecast_hardly_moves_the_limits(extra):
    rng = np.random.default_rng(0)
    p = rng.beta(2, 2, 2000)
    y, more = rng.random(2000) < p, rng.beta(2, 2, 2000)
    without = pr.estimate_prevalence(y, p, unlabelled=more, method="em")
    found = pr.estimate_prevalence(y, p, unlabelled=np.append(more, extra), method="em")
    assert [found.low, found.high] == pytest.approx([without.low, without.high], abs=0.005)
