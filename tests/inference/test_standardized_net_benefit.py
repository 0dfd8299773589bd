"""Limits of standardized net benefit if hardly any case is acted on."""

import numpy as np
import pytest
from scipy import stats

import propriety as pr
from propriety.tables.forecast_table import ForecastTable

Y = np.tile([1, 0, 0, 1, 0], 40)
P = np.linspace(0.1, 0.7, 200)


def added(table, threshold):
    """Return limits from a list of all cases, with two events, one of them missed, and a non-event that is acted on."""
    odds = threshold / (1.0 - threshold)
    value = pr.measures.StandardizedNetBenefit(threshold).value(table)
    acted = np.append(threshold <= P, [True, True, False])
    event = np.append(Y, [1, 0, 1]).astype(bool)
    gain = np.where(acted, np.where(event, 1.0, -odds), 0.0) - np.where(event, value, 0.0)
    gain /= table.event_rate
    return value + gain.mean() + stats.norm.ppf([0.025, 0.975]) * np.sqrt(gain.var() / len(gain))


@pytest.mark.parametrize("threshold", [0.3, 0.69, 0.9])
def test_limits_contain_those_with_an_event_and_a_non_event_added(threshold):
    measure = pr.measures.StandardizedNetBenefit(threshold)
    table = ForecastTable.from_predictions(Y, P)
    low, high = added(table, threshold)
    assert measure.least_limits(table, measure.value(table), 0.95) == pytest.approx((low, high))
    found = pr.estimate(Y, P, measure)
    assert found.low <= low + 1e-12
    assert found.high >= min(high, 1.0) - 1e-12
    assert found.note == ""


def test_limits_hold_the_truth_if_hardly_any_event_is_missed():
    """Of 99 in 100 events that are acted on, 100 events often lack the one that is not."""
    rng, measure, held = np.random.default_rng(1), pr.measures.StandardizedNetBenefit(0.1), []
    for _ in range(200):
        y = np.arange(1000) < 100
        p = np.where(rng.random(1000) < np.where(y, 0.99, 0.01), 0.5, 0.05)
        found = pr.estimate(y, p, measure)
        held.append(found.low <= 0.99 - 0.01 <= found.high)
    assert np.mean(held) >= 0.93


def test_differences_of_almost_perfect_models_hold_the_truth():
    rng, measure, held = np.random.default_rng(5), pr.measures.StandardizedNetBenefit(0.2), []
    for _ in range(200):
        y = rng.random(1000) < 0.3
        forecasts = {
            name: np.where(y ^ (rng.random(1000) < wrong), 0.98, 0.02) for name, wrong in (("a", 0.001), ("b", 0.006))
        }
        found = pr.compare(y, forecasts, measure)
        truth = 0.005 * (1.0 + 0.25 * 0.7 / 0.3)
        held.append(found.low[0] <= truth <= found.high[0])
    assert np.mean(held) >= 0.93


def test_weights_count_by_their_effective_number():
    measure = pr.measures.StandardizedNetBenefit(0.9)
    equal, heavy = (ForecastTable.from_predictions(Y, P, sample_weight=np.tile(one, 100)) for one in ([2, 2], [1, 9]))
    narrow, wide = (np.diff(measure.least_limits(one, 0.0, 0.95))[0] * one.event_rate for one in (equal, heavy))
    plain = ForecastTable.from_predictions(Y, P)
    assert narrow == pytest.approx(np.diff(measure.least_limits(plain, 0.0, 0.95))[0] * plain.event_rate)
    assert wide == pytest.approx(narrow * (200 + 3) / (heavy.effective_n + 3), rel=1e-2)
