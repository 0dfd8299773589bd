"""Evidence of sums of periods: the formulas computed directly, pooled periods, false alarms, and notes."""

import math

import numpy as np
import pytest
from scipy.special import ndtri

from propriety.products.monitoring import period_evidence
from propriety.products.monitoring.period_evidence import SPREADS, Evidence, PeriodSums, share_of_start


def evidence_of(x, e, v, *, learnt=False):
    """Return the evidence of one stream."""
    found = Evidence.none(1, [learnt])
    for place, day in enumerate(zip(x, e, v, strict=True)):
        found = found.after(PeriodSums(*(np.array([one], dtype=float) for one in day)), place)
    return found


def sides_of(found, margin=0.0, reference=0):
    return found.sides(np.full(len(found), margin), np.full(len(found), reference))


def simulated(periods=12, seed=0, effect=0.3, drift=1.0):
    """Return sums of y - p, of forecasts and variances of days with effects of their own."""
    rng = np.random.default_rng(seed)
    e = rng.uniform(30.0, 90.0, periods)
    v = 0.9 * e
    x = e * effect * rng.normal(size=periods) + np.sqrt(v) * rng.normal(size=periods)
    return x + e * (drift - 1.0) * (np.arange(periods) >= periods // 2), e, v


def directly(x, e, v, sign, *, margin=0.0, reference=0):
    """Return the sums of z and of t over all starts, written as in the docstring, for periods that are not pooled."""
    mean = x.sum() / e.sum()
    c = max(((x - mean * e) ** 2 - v).sum() / (v**2).sum(), 0.0)
    w, periods, found = v * (1.0 + c * v), len(x), []
    for scale in ("z", "t"):
        variance, total = v if scale == "z" else w, 0.0
        for start in range(reference, periods):
            post, pre = slice(start, None), slice(start)
            if scale == "z":
                d, q = x[post].sum() / e[post].sum(), v[post].sum() / e[post].sum() ** 2
                unit = v.sum() / e.sum() ** 2 * periods
                if reference:
                    d, q = d - x[pre].sum() / e[pre].sum(), q + v[pre].sum() / e[pre].sum() ** 2
            else:
                weight = [(e[one] ** 2 / variance[one]).sum() for one in (post, pre)]
                cross = [(e[one] * x[one] / variance[one]).sum() for one in (post, pre)]
                d, q, unit = cross[0] / weight[0], 1.0 / weight[0], periods / sum(weight)
                if reference:
                    d, q = d - cross[1] / weight[1], q + 1.0 / weight[1]
            d = sign * d - margin
            if d <= 0.0 or (scale == "z" and d**2 / q <= period_evidence.LEAST_SQUARE):
                continue
            each = []
            for g in SPREADS:
                k = g * unit / q
                if scale == "z":
                    one = math.exp(0.5 * d**2 / q * k / (1.0 + k))
                else:
                    rest = ((x - e * cross[0] / weight[0]) ** 2 / w)[post].sum()
                    if start:
                        rest += ((x - e * cross[1] / weight[1]) ** 2 / w)[pre].sum()
                    one = (1.0 - d**2 / q / (rest + d**2 / q) * k / (1.0 + k)) ** (-(periods - (start > 0)) / 2.0)
                each.append((2.0 * one - 1.0) / math.sqrt(1.0 + k))
            total += float(share_of_start(np.array([start + 1 - reference]))[0]) * np.mean(each)
        found.append(total)
    return found


@pytest.mark.parametrize("reference", [0, 3])
@pytest.mark.parametrize("margin", [0.0, 0.05])
def test_evidence_is_that_of_the_formula(margin, reference, monkeypatch):
    monkeypatch.setattr(period_evidence, "RECENT", 100)  # No period is pooled.
    compared = 0
    for seed in range(30):
        x, e, v = simulated(seed=seed, effect=0.1, drift=1.4)
        sides = sides_of(evidence_of(x, e, v), margin, reference)
        for sign, log_e in ((1.0, sides.higher[0]), (-1.0, sides.lower[0])):
            z, t = directly(x, e, v, sign, margin=margin, reference=reference)
            expected = z if z <= 1.0 else min(z, t)
            compared += z > 1.0
            assert math.exp(log_e) == pytest.approx(expected, rel=1e-9)
    assert compared > 20


def test_a_scale_that_is_learnt_does_not_matter():
    x, e, v = simulated(seed=3, drift=1.5)
    one, other = (sides_of(evidence_of(x, e, v * scale, learnt=True)) for scale in (1.0, 1e4))
    np.testing.assert_allclose(one.higher, other.higher, rtol=1e-9)


def test_pooled_periods_keep_their_sums_and_nearly_the_evidence(monkeypatch):
    x, e, v = simulated(periods=200, seed=5, effect=0.1, drift=1.1)
    found = evidence_of(x, e, v)
    assert found.number.shape[1] < 40
    for name, column in (("sums", x), ("exposure", e), ("variance", v), ("square", v**2)):
        assert getattr(found, name).sum() == pytest.approx(column.sum())
    starts = found.number[0]
    age, lowest = 200 - starts, starts & -starts
    assert ((age < period_evidence.RECENT * lowest) | (starts == 1)).all()
    monkeypatch.setattr(period_evidence, "RECENT", 1000)
    whole = evidence_of(x, e, v)
    assert whole.number.shape[1] == 200
    assert found.excess == pytest.approx(whole.excess)
    assert sides_of(found).higher[0] == pytest.approx(sides_of(whole).higher[0], abs=1.5)


def test_a_period_costs_the_same_after_years():
    rng = np.random.default_rng(1)
    days = rng.normal(size=4000)
    found = evidence_of(days, np.ones(4000), np.ones(4000))
    assert found.number.shape[1] < 60


def test_streams_do_not_touch_each_other():
    streams = [simulated(periods=40, seed=seed) for seed in range(3)]
    alone = [evidence_of(*one) for one in streams]
    found = Evidence.none(0)
    for place in range(40):
        several = np.arange(3) if place >= 5 else np.arange(2)  # The third begins later.
        before = found.at(several[: len(found)]) if len(found) else Evidence.none(0)
        before = before.with_streams(np.arange(len(before), len(several)), Evidence.none(len(several) - len(before)))
        day = PeriodSums(*(np.array([streams[one][column][place] for one in several]) for column in range(3)))
        found = before.after(day, place)
    for one in (0, 1):
        np.testing.assert_allclose(sides_of(found).higher[one], sides_of(alone[one]).higher[0], rtol=1e-12)
    late = evidence_of(*(column[5:] for column in streams[2]))
    np.testing.assert_allclose(sides_of(found).lower[2], sides_of(late).lower[0], rtol=1e-12)


def test_shares_add_up_to_at_most_one():
    assert share_of_start(np.arange(1, 2**21)).sum() < 1.0 - 0.5 / 0.75 / 21 / 2
    known, computed = share_of_start(np.arange(1, 4097)), period_evidence._shares(np.arange(1, 4097))
    np.testing.assert_array_equal(known, computed)


def alarms(days, streams, periods, margin):
    found, alarm = Evidence.none(streams), np.zeros(streams, dtype=bool)
    for place in range(periods):
        found = found.after(PeriodSums(*days(place)), place)
        sides = sides_of(found, margin)
        alarm |= np.logaddexp(sides.higher, sides.lower) - math.log(2.0) >= math.log(20.0)
    return alarm.mean(), found


@pytest.mark.parametrize("correlation", [0.2, 0.5])
def test_correlated_stations_raise_few_alarms(correlation):
    rng = np.random.default_rng(6)

    def days(_):
        p = np.repeat(rng.beta(2, 5, (100, 1)), 12, axis=1)
        z = math.sqrt(correlation) * rng.normal(size=(100, 1))
        y = z + math.sqrt(1.0 - correlation) * rng.normal(size=(100, 12)) < ndtri(p)
        return (y - p).sum(1), p.sum(1), (p * (1.0 - p)).sum(1)

    assert alarms(days, 100, 120, 0.0)[0] <= 0.11


@pytest.mark.parametrize(("excess", "few"), [(0.03, True), (-0.05, True), (0.15, False)])
def test_a_constant_excess_within_the_margin_raises_none(excess, few):
    rng = np.random.default_rng(7)
    e = np.full(60, 1000.0)

    def days(_):
        return e * excess + np.sqrt(900.0) * rng.normal(size=60), e, np.full(60, 900.0)

    assert bool(alarms(days, 60, 60, 0.05)[0] <= 0.07) is few


@pytest.mark.parametrize(("alike", "drift", "noted"), [(0.0, 0.0, False), (0.5, 0.0, True), (0.0, 0.3, False)])
def test_neighbours_that_are_alike_are_noted_and_lasting_changes_are_not(alike, drift, noted):
    rng, last = np.random.default_rng(8), np.zeros(40)
    e, v = np.full(40, 100.0), np.full(40, 95.0)

    def days(place):
        last[:] = alike * last + math.sqrt(1.0 - alike**2) * rng.normal(size=40)
        return e * (0.2 * last + drift * (place >= 150)) + np.sqrt(v) * rng.normal(size=40), e, v

    _, found = alarms(days, 40, 250, 0.05)
    share = np.mean([found.at(np.array([one])).correlated(0.95)[0] for one in range(40)])
    assert (share > 0.85) if noted else (share < 0.2)


def test_limits_hold_after_every_period():
    rng, truth, missed = np.random.default_rng(9), 0.1, np.zeros(100, dtype=bool)
    found = Evidence.none(100)
    for place in range(80):
        e = rng.uniform(50.0, 150.0, 100)
        x = e * (truth + 0.15 * rng.normal(size=100)) + np.sqrt(e) * rng.normal(size=100)
        found = found.after(PeriodSums(x, e, e), place)
        low, high = found.limits(np.full(100, math.log(20.0)))
        missed |= (low > truth) | (high < truth)
    assert missed.mean() <= 0.1
    assert (high - low).max() < 0.3


@pytest.mark.parametrize("tiny", [1e-300, 5e-324])
def test_tiny_forecasts_are_numbers(tiny):
    sides = sides_of(evidence_of([1.0, 0.1, -0.2], [tiny, 0.5, 0.5], [tiny, 0.4, 0.4]))
    assert not np.isnan([sides.higher[0], sides.lower[0]]).any()
