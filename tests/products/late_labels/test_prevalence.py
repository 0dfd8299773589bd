"""The event rate of cases without labels, estimated from their forecasts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit

import propriety as pr
from propriety.errors import InputValueError
from propriety.tables.forecast_table import ForecastTable


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
    found = pr.estimate_prevalence(ForecastTable.from_predictions(y, p), unlabelled=p)
    assert found.value == pytest.approx(y.mean())
    assert found.labelled_rate == y.mean()


@pytest.mark.parametrize("method", ["black-box", "em"])
def test_forecasts_that_no_event_rate_explains_are_noted(method):
    y, p = [0, 0, 1, 0, 1, 1] * 50, [0.1, 0.2, 0.4, 0.5, 0.7, 0.9] * 50
    found = pr.estimate_prevalence(y, p, unlabelled=[0.01] * 60 + [0.0] * 10, method=method)
    assert found.value == 0.0
    assert np.isnan(found.high)
    assert "more than the event rate has changed" in found.note


@pytest.mark.parametrize("mirrored", [False, True])
def test_a_sample_without_events_is_explained_by_a_rate_of_zero(mirrored):
    # Of 100 non-events, all have the forecast 0.01 with probability 0.99**100 = 0.37.
    y, p, new = np.repeat([1, 0, 1, 0], [1, 99, 99, 1]), np.repeat([0.01, 0.99], 100), np.full(100, 0.01)
    y, p, new = (1 - y, 1.0 - p, 1.0 - new) if mirrored else (y, p, new)
    found = pr.estimate_prevalence(y, p, unlabelled=new, method="em")
    assert found.note == ""
    rate, _, away = sorted(abs(one - mirrored) for one in (found.value, found.low, found.high))
    assert rate == 0.0
    # The density is 1.98 for non-events and 0.02 for events; the likelihood ratio falls by 3.84 in all.
    assert 200.0 * np.log(1.98 / (1.98 - 1.96 * away)) == pytest.approx(3.8415, abs=0.05)


def test_the_limits_of_the_likelihood_ratio_include_the_error_of_the_mean_forecast():
    rng = np.random.default_rng(7)
    y, p = drawn(rng, 300, 0.2)
    _, new = drawn(rng, 400, 0.3)
    found = pr.estimate_prevalence(y, p, unlabelled=new, method="em")
    rate, step = p.mean(), 1e-5

    def log_likelihood(at, rate):
        return np.log(at * new / rate + (1 - at) * (1 - new) / (1 - rate)).sum()

    def slope(rate):
        return (log_likelihood(found.value + step, rate) - log_likelihood(found.value - step, rate)) / (2 * step)

    event, other = new / rate, (1 - new) / (1 - rate)
    curvature = (((event - other) / (found.value * event + (1 - found.value) * other)) ** 2).sum()
    change = (slope(rate + step) - slope(rate - step)) / (2 * step)
    factor = 1 + change**2 * p.var(ddof=1) / len(p) / curvature
    assert factor > 1.1
    for limit in (found.low, found.high):
        fall = 2 * (log_likelihood(found.value, rate) - log_likelihood(limit, rate))
        assert fall == pytest.approx(3.841459 * factor, rel=1e-4)


@pytest.mark.parametrize("events", [0, 3, 10])
def test_limits_of_decided_classes_are_those_of_wilson(events):
    new = np.repeat([1.0, 0.0], [events, 10 - events])
    found = pr.estimate_prevalence([0] * 20 + [1] * 20, [0.0] * 20 + [1.0] * 20, unlabelled=new)
    z, rate = 1.959964, events / 10
    middle, half = (
        (rate + z**2 / 20) / (1 + z**2 / 10),
        z * np.sqrt(rate * (1 - rate) / 10 + z**2 / 400) / (1 + z**2 / 10),
    )
    assert (found.value, found.note) == (rate, "")
    assert (found.low, found.high) == pytest.approx((middle - half, middle + half), abs=1e-6)


@pytest.mark.parametrize("method", ["black-box", "em"])
@pytest.mark.parametrize("rate", [0.005, 0.98])
def test_rates_at_the_edge_are_covered_by_well_separated_forecasts(method, rate):
    rng, held, noted = np.random.default_rng(8), 0, 0
    for _ in range(80):
        y, other = rng.random(2000) < 0.5, rng.random(100) < rate
        p, new = (expit(np.where(one, 4.5, -4.5) + 3 * rng.normal(size=len(one))) for one in (y, other))
        found = pr.estimate_prevalence(y, p, unlabelled=new, method=method)
        held += found.low <= rate <= found.high
        noted += found.note != ""
    assert held >= 71
    assert noted <= 6


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
