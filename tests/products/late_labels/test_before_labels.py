"""Scores expected before labels: values, variances, limits from past days, and reconciliation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit, stdtrit, xlogy

import propriety as pr
from propriety.errors import InputTypeError, InputValueError

MEASURES = [
    pr.Brier(),
    pr.Log(),
    pr.measures.ObservedExpected(),
    pr.measures.AreaUnderRoc(),
    pr.measures.NetBenefit(0.2),
    pr.measures.CalibrationSlope(),
]


def batches(rng, days, n, *, shifts):
    """Return outcomes, forecasts and days; the outcomes follow the forecasts shifted by day on the logit scale."""
    day, p = np.repeat(np.arange(days), n), expit(rng.normal(-1, 1, days * n))
    return rng.random(days * n) < expit(logit(p) + np.asarray(shifts)[day]), p, day


def test_values_and_limits_are_those_of_drawn_outcomes():
    rng = np.random.default_rng(1)
    p = expit(rng.normal(-1, 1, 600))
    found = pr.before_labels(p, measures=MEASURES)
    drawn = np.array([[pr.estimate(rng.random(600) < p, p, measure=one).value for one in MEASURES] for _ in range(100)])
    error = (found.chance_high - found.chance_low) / 2 / 1.96
    np.testing.assert_allclose(drawn.std(axis=0), error, rtol=0.3)
    assert (np.abs(drawn.mean(axis=0) - found.expected) < 0.5 * error).all()
    assert found.expected[2] == pytest.approx(1.0)
    assert found.expected[0] == pytest.approx(np.mean(p * (1 - p)))


def test_curves_read_the_expected_table():
    p = np.array([0.0, 0.1, 0.1, 0.4, 1.0])
    table = pr.before_labels(p).table
    curve = pr.decision_curve(table, grid=[0.2])
    assert curve.value[0] == pytest.approx((1.4 - 0.25 * 0.6) / 5)
    assert table.event_rate == pytest.approx(p.mean())


def test_past_days_widen_and_shift_the_limits():
    rng = np.random.default_rng(2)
    past = batches(rng, 40, 400, shifts=rng.normal(0.3, 0.4, 40))
    ledger = pr.condense(past[0], past[1], by={"day": past[2]})
    found = pr.before_labels(past[1][:400], past=ledger)
    assert found.past_difference[1] == pytest.approx(
        np.mean([past[0][past[2] == day].sum() / past[1][past[2] == day].sum() - 1 for day in range(40)]), abs=0.05
    )
    assert (found.high - found.low)[1] > 2 * (found.chance_high - found.chance_low)[1]
    assert found.days.tolist() == [40] * 3


def test_limits_hold_for_a_new_day_like_the_past_ones():
    rng = np.random.default_rng(3)
    held = 0
    for _ in range(60):
        y, p, day = batches(rng, 16, 300, shifts=rng.normal(0.2, 0.3, 16))
        old = day < 15
        found = pr.before_labels(p[~old], past=pr.condense(y[old], p[old], by={"day": day[old]}), measures=[pr.Brier()])
        held += bool(found.reconcile(y[~old]).inside[0])
    assert held >= 52


def test_reconciliation_and_words():
    p = np.linspace(0.05, 0.6, 200)
    found = pr.before_labels(p, measures=[pr.Log()])
    ones = found.reconcile(np.ones(200))
    assert ones.value[0] == pytest.approx(np.mean(-np.log(p)))
    assert not ones.inside[0]
    assert "outside the limits" in str(ones)
    assert found.expected[0] == pytest.approx(np.mean(-p * np.log(p) - (1 - p) * np.log1p(-p)))
    assert "Log score: 0.569 expected if the forecasts are calibrated" in str(found)
    assert "concept drift" in str(found)


def test_days_without_a_value_are_left_out():
    y, p, day = [0, 0, 0, 1, 0, 1, 1, 0], [0.1, 0.2, 0.3, 0.4] * 2, [1, 1, 2, 2, 3, 3, 4, 4]
    found = pr.before_labels(p, past=pr.condense(y, p, by={"day": day}), measures=[pr.measures.AreaUnderRoc()])
    assert found.days[0] == 3
    alone = pr.before_labels(p, past=pr.condense(y[:2], p[:2], by={"day": day[:2]}))
    assert np.isnan(alone.low).all()


def test_wrong_input_is_rejected():
    with pytest.raises(InputTypeError, match="have an influence function"):
        pr.before_labels([0.1, 0.2], measures=[pr.measures.Miscalibration()])
    with pytest.raises(InputValueError, match="forecasts must be the forecast of one event"):
        pr.before_labels([[0.1, 0.2, 0.7]])
    with pytest.raises(InputValueError, match="with the key 'day'"):
        pr.before_labels([0.1, 0.2], past=pr.condense([0, 1], [0.1, 0.2]))


MEASURES = [pr.Brier(), pr.measures.AreaUnderRoc(), pr.measures.ObservedExpected()]


def test_limits_are_possible_values():
    found = pr.before_labels([0.01, 0.02, 0.03, 0.9], measures=MEASURES)
    assert (found.chance_low >= 0.0).all()
    assert (found.chance_high[:2] <= 1.0).all()
    assert (found.chance_low <= found.expected).all()


def cox_line_by_hand(y, p):
    """Return the slope and the intercept of a logistic regression on the log-odds."""

    def loss(line):
        rate = expit(line[0] * logit(p) + line[1])
        return -np.mean(xlogy(y, rate) + xlogy(1.0 - y, 1.0 - rate))

    return minimize(loss, [1.0, 0.0], method="BFGS", options={"gtol": 1e-9}).x


def test_limits_from_past_days_need_not_contain_the_expected_value():
    rng = np.random.default_rng(1)
    y, p, day = batches(rng, 30, 2000, shifts=np.full(30, 0.6))
    new = expit(rng.normal(-1, 1, 2000))
    found = pr.before_labels(new, past=pr.condense(y, p, by={"day": day}), measures=[pr.measures.ObservedExpected()])
    slope, intercept = cox_line_by_hand(y, p)
    differences, variances = [], []
    for one in range(30):
        own = p[day == one]
        rate = expit(slope * logit(own) + intercept)
        differences.append(y[day == one].sum() / own.sum() - 1.0)
        variances.append((rate * (1.0 - rate)).sum() / own.sum() ** 2)
    difference, variance = np.array(differences), np.array(variances)
    weight = 1.0 / variance
    excess = weight @ (difference - weight @ difference / weight.sum()) ** 2 - 29
    between = max(excess / (weight.sum() - weight @ weight / weight.sum()), 0.0)
    weight = 1.0 / (variance + between)
    mean = weight @ difference / weight.sum()
    rate = expit(slope * logit(new) + intercept)
    chance = (rate * (1.0 - rate)).sum() / new.sum() ** 2
    away = stdtrit(29, 0.975) * np.sqrt(between + chance + 1.0 / weight.sum())
    assert found.low[0] == pytest.approx(1.0 + mean - away)
    assert found.high[0] == pytest.approx(1.0 + mean + away)
    assert found.low[0] > 1.2
    calibrated = rng.random(2000) < new
    assert not found.reconcile(calibrated).inside[0]


def test_limits_of_a_smaller_day_hold_for_miscalibrated_forecasts():
    rng = np.random.default_rng(4)
    values = expit(np.linspace(-5.0, -3.0, 9))
    measures, held = [pr.Brier(), pr.measures.ObservedExpected()], np.zeros(2)
    for _ in range(60):
        day, p = np.append(np.repeat(np.arange(8), 1000), np.full(100, 8)), rng.choice(values, 8100)
        y, old = rng.random(len(p)) < expit(logit(p) + 1.8), day < 8
        found = pr.before_labels(p[~old], past=pr.condense(y[old], p[old], by={"day": day[old]}), measures=measures)
        held += found.reconcile(y[~old]).inside
    assert (held >= 53).all()


def test_variances_without_a_line_are_those_of_slope_one_or_of_calibrated_forecasts():
    new, day = np.array([0.1, 0.3, 0.6]), np.repeat([1, 2], 20)
    measure = pr.measures.ObservedExpected()

    def width(y, p):
        found = pr.before_labels(new, past=pr.condense(y, p, by={"day": day}), measures=[measure])
        return found.past_difference[0], found.high[0] - (1.0 + found.past_difference[0])

    def by_hand(rate, own):
        chance, error = (rate(new) * (1.0 - rate(new))).sum() / new.sum() ** 2, 20 * rate(own) * (1.0 - rate(own))
        return stdtrit(1, 0.975) * np.sqrt(chance + error / (20 * own) ** 2 / 2)

    equal = np.full(40, 0.2)
    none = width(np.zeros(40), equal)
    assert none == (-1.0, pytest.approx(by_hand(lambda p: p, 0.2)))
    shift = logit(0.4) - logit(0.2)
    half = width(np.tile([1, 1, 0, 0, 0], 8), equal)
    assert half == (pytest.approx(1.0), pytest.approx(by_hand(lambda p: expit(logit(p) + shift), 0.2)))


def test_a_measure_without_a_value_is_neither_inside_nor_outside():
    found = pr.before_labels([0.01] * 30 + [0.02] * 30).reconcile(np.zeros(60))
    assert str(found).splitlines()[2] == "Area under the ROC curve: no value."
    assert "nan" not in str(found)


def test_outcomes_of_another_index_are_refused():
    pd = pytest.importorskip("pandas")
    p = pd.Series([0.1, 0.4, 0.6, 0.8], index=[3, 1, 0, 2])
    found = pr.before_labels(p)
    assert found.reconcile(pd.Series([0, 0, 1, 1], index=[3, 1, 0, 2])).value[0] == pytest.approx(0.0925)
    with pytest.raises(InputValueError, match="different indices"):
        found.reconcile(pd.Series([0, 0, 1, 1]))
