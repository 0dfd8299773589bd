"""Summaries over groups by hand: on the scale of a measure, within its range, and by the law of counts."""

import math

import numpy as np
import pytest
from scipy.special import expit, logit

import propriety as pr
from propriety.inference.between_groups import (
    _back,
    _clipped,
    _on_scale,
    pooled_estimates,
    pooled_events,
    rows_between,
)
from propriety.inference.events_by_group import EventsByGroup, mean_ratio
from propriety.inference.measures.reading import read_measure
from propriety.inference.random_effects import RandomEffects, random_effects

VALUES, ERRORS = [0.6, 0.7, 0.85, 0.75, 0.65], [0.03, 0.05, 0.02, 0.04, 0.06]
RATIO, BRIER = pr.measures.ObservedExpected(), read_measure(pr.Brier())


def pooled(measure, values=VALUES, errors=ERRORS):
    options = {"level": 0.9, "methods": ("reml", "higgins")}
    return pooled_estimates(measure, np.array(values), np.array(errors), list("abcdef")[: len(values)], **options)


def codes(found):
    return [note.code for note in found.notes]


@pytest.mark.parametrize(
    ("measure", "scale", "inner", "slope", "back"),
    [
        (RATIO, "log", np.log, lambda v: v, np.exp),
        (pr.measures.AreaUnderRoc(), "logit", logit, lambda v: v * (1 - v), expit),
        (BRIER, "identity", np.array, np.ones_like, float),
    ],
    ids=["log", "logit", "identity"],
)
def test_estimates_are_summarized_on_the_scale_of_the_measure(measure, scale, inner, slope, back):
    value, error = np.array(VALUES), np.array(ERRORS)
    found = pooled(measure)
    expected = random_effects(inner(value), error / slope(value), method="reml", prediction="higgins", level=0.9)
    for name in ("mean", "low", "high", "prediction_low"):
        assert getattr(found.effects, name) == pytest.approx(back(getattr(expected, name)))
    for name in ("tau", "i_squared", "q", "p_value", "standard_error"):
        assert getattr(found.effects, name) == getattr(expected, name)
    assert (found.scale, found.notes) == (scale, ())
    np.testing.assert_array_equal(found.weight, expected.weight)


def test_groups_without_an_error_are_left_out_and_named():
    found = pooled(RATIO, [0.6, 0.0, 0.85, 0.75, 0.7], [0.03, 0.05, math.nan, 0.04, 0.0])
    assert codes(found) == ["groups-left-out", "few-groups"]
    assert found.notes[0].parts["names"] == ("b", "c", "e")
    assert found.weight.sum() == pytest.approx(1.0)
    assert found.weight.tolist().count(0.0) == 3
    alone = pooled(RATIO, [0.6, 0.0], [0.03, 0.05])
    assert alone.effects is None
    (row,) = rows_between(alone, measure=RATIO, model="m", level=0.9)
    assert math.isnan(row.value)


def test_fewer_than_five_groups_hardly_determine_a_variance():
    values, errors = [0.4, 0.45, 0.5, 0.48], [0.02, 0.02, 0.03, 0.02]
    assert codes(pooled(BRIER, values, errors)) == ["few-groups"]
    assert codes(pooled(BRIER, [*values, 0.46], [*errors, 0.02])) == []


def test_limits_are_in_the_range_of_the_measure():
    found = pooled(BRIER, [0.02, 0.3, 0.1, 0.9, 0.6], [0.01] * 5)
    assert codes(found) == ["clipped"]
    assert (found.effects.prediction_low, found.effects.prediction_high) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("numbers", "expected", "clipped"),
    [
        ((0.5, 0.2, 0.8, 0.0, 1.0), (0.2, 0.8, 0.0, 1.0), False),
        ((0.5, -0.1, 0.8, -0.2, 1.3), (0.0, 0.8, 0.0, 1.0), True),
        ((0.5, 0.1, 1.1, 0.0, 0.9), (0.1, 1.0, 0.0, 0.9), True),
        ((1.2, 0.9, 1.4, 0.8, 1.2), (0.9, 1.2, 0.8, 1.2), True),
        ((-0.2, -0.3, 0.1, -0.2, 0.2), (-0.2, 0.1, -0.2, 0.2), True),
        ((0.5, 0.2, 0.8, math.nan, math.nan), (0.2, 0.8, math.nan, math.nan), False),
    ],
)
def test_limits_are_clipped_to_the_range_or_to_the_mean(numbers, expected, clipped):
    names = ("mean", "low", "high", "prediction_low", "prediction_high")
    effects = RandomEffects(*[0.0] * 14, np.zeros(1))._replace(**dict(zip(names, numbers, strict=True)))
    found, is_clipped = _clipped(effects, 0.0, 1.0)
    assert is_clipped is clipped
    np.testing.assert_array_equal([getattr(found, name) for name in names[1:]], expected)


def test_values_are_turned_back_without_overflow():
    assert _back(699.0, "log") == pytest.approx(math.exp(699.0))
    assert _back(700.0, "log") == math.inf
    assert _back(700.0, "identity") == 700.0
    assert _back(0.3, "logit") == pytest.approx(1.0 / (1.0 + math.exp(-0.3)))


def test_values_outside_a_scale_are_not_finite():
    values, errors = np.array([0.0, 1.0]), np.array([0.1, 0.1])
    value, error = _on_scale(values, errors, "log")
    assert (value[0], error[0], value[1], error[1]) == (-math.inf, math.inf, 0.0, 0.1)
    assert np.isinf(_on_scale(values, errors, "logit")[0]).all()
    np.testing.assert_array_equal(_on_scale(values, errors, "identity"), [values, errors])


def calibrated(seed, sites, cases, rate, *, spread=0.0):
    rng = np.random.default_rng(seed)
    p = rng.beta(1.0, 1.0 / rate - 1.0, (sites, cases))
    factor = np.exp(spread * rng.standard_normal(sites) - spread**2 / 2.0)
    y = rng.random(p.shape) < np.clip(p * factor[:, None], 0.0, 1.0)
    return y, p, np.repeat(np.arange(sites), cases).reshape(p.shape)


def events_of(y, p, site, **given):
    ledger = pr.condense(y.ravel(), {"m": p.ravel()}, by={"site": site.ravel()}, **given)
    return EventsByGroup.of(ledger, "m")


def test_the_mean_ratio_solves_its_equations():
    y, p, site = calibrated(1, 30, 60, 0.05, spread=0.6)
    found = mean_ratio(events_of(y, p, site), level=0.95, method="dersimonian-laird")
    observed, expected, variance = y.sum(axis=1), p.sum(axis=1), (p * (1 - p)).sum(axis=1)
    relative = variance / expected**2
    weight = 1 / (found.mean * relative + found.tau**2)
    assert found.mean == pytest.approx((weight * observed / expected).sum() / weight.sum())
    factor = max((weight * (observed / expected - found.mean) ** 2).sum() / 29, 1.0)
    share = weight / weight.sum()
    for limit in (found.low, found.high):
        spread = (share**2 * (limit * relative + found.tau**2)).sum()
        assert abs(found.mean - limit) / math.sqrt(factor * spread) == pytest.approx(2.0452296)  # t of 29 at .975.


def test_the_inverse_ratio_is_pooled_by_the_same_law():
    events = events_of(*calibrated(2, 12, 200, 0.1))
    labels = [str(place) for place in range(12)]
    one, other = (
        pooled_events(measure, events, labels, level=0.95).effects for measure in (RATIO, pr.measures.PredictedActual())
    )
    np.testing.assert_allclose([1 / other.mean, 1 / other.high, 1 / other.low], [one.mean, one.low, one.high])
    assert other.p_value == one.p_value


def test_groups_without_events_count():
    y, p, site = calibrated(3, 8, 100, 0.05)
    y[2] = False
    found = pooled_events(RATIO, events_of(y, p, site), list("abcdefgh"), level=0.95)
    assert (found.weight > 0.0).all()
    none = pooled_events(RATIO, events_of(np.zeros_like(y), p, site), list("abcdefgh"), level=0.95).effects
    assert (none.mean, none.low) == (0.0, 0.0)
    assert 0.0 < none.high < 0.3


def test_weights_and_copies_are_worth_what_they_hold():
    """Cases in copies of four as clusters, or with a weight of four, have the limits of the cases themselves."""
    y, p, site = calibrated(4, 12, 100, 0.1)
    alone = mean_ratio(events_of(y, p, site), level=0.95)
    weighted = mean_ratio(events_of(y, p, site, sample_weight=np.full(y.size, 4.0)), level=0.95)
    assert (weighted.mean, weighted.low) == pytest.approx((alone.mean, alone.low))
    copies = [np.repeat(one.ravel(), 4) for one in (y, p, site)]
    clusters = mean_ratio(events_of(*copies, cluster=np.repeat(np.arange(y.size), 4)), level=0.95)
    assert clusters.mean == pytest.approx(alone.mean, rel=0.02)
    assert clusters.high - clusters.low == pytest.approx(alone.high - alone.low, rel=0.05)


@pytest.mark.parametrize("design", [(30, 30, 0.05), (20, 60, 0.033), (25, 100, 0.025)], ids=str)
def test_small_calibrated_groups_have_a_mean_ratio_of_one(design):
    """A thinned run of `studies/pooled_ratios.py`."""
    found = [mean_ratio(events_of(*calibrated([5, seed], *design)), level=0.95) for seed in range(60)]
    assert np.mean([one.mean for one in found]) == pytest.approx(1.0, abs=0.07)
    assert sum(one.low <= 1.0 <= one.high for one in found) >= 53
    assert sum(one.prediction_low <= 1.0 <= one.prediction_high for one in found) >= 52
