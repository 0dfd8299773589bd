"""Scores, curves and areas of a few weighted cases in arithmetic of many digits, case by case and pair by pair.

A sample is a tuple of (event, forecast, weight). Nothing is sorted into a table or pooled but for the isotonic regression.
"""

from functools import cache
from typing import NamedTuple

from exact_rules import binary_loss, log
from mpmath import exp, mpf


class Case(NamedTuple):
    event: bool
    forecast: mpf
    weight: mpf


class Parts(NamedTuple):
    score: mpf
    recalibrated: mpf
    reference: mpf


def cases_of(y, p, w):
    """Return the cases that count: those with a weight."""
    given = zip(y, p, w, strict=True)
    return tuple(Case(bool(event), mpf(forecast), mpf(weight)) for event, forecast, weight in given if weight > 0)


def total(cases):
    return sum(case.weight for case in cases)


def event_rate(cases):
    return sum(case.weight for case in cases if case.event) / total(cases)


def mean_loss(rule, cases, forecasts=None):
    """Return the mean loss, of other forecasts if they are given; an infinite loss makes it infinite."""
    scored = [case.forecast for case in cases] if forecasts is None else forecasts
    losses = [binary_loss(rule, p, event=case.event) for case, p in zip(cases, scored, strict=True)]
    return sum(case.weight * loss for case, loss in zip(cases, losses, strict=True)) / total(cases)


@cache
def isotonic(cases):
    """Return the recalibrated forecast of each case: the greatest mean to its left of the least means to the right."""
    levels = sorted({case.forecast for case in cases})
    weight = [sum(case.weight for case in cases if case.forecast == level) for level in levels]
    events = [sum(case.weight for case in cases if case.forecast == level and case.event) for level in levels]

    def rate(first, last):
        return sum(events[first : last + 1]) / sum(weight[first : last + 1])

    size = len(levels)
    fitted = {
        level: max(min(rate(first, last) for last in range(place, size)) for first in range(place + 1))
        for place, level in enumerate(levels)
    }
    return [fitted[case.forecast] for case in cases]


def parts(rule, cases):
    """Return the mean loss of the forecasts, of the recalibrated ones, and of the constant event rate."""
    rate = event_rate(cases)
    recalibrated, constant = isotonic(cases), [rate] * len(cases)
    return Parts(*(mean_loss(rule, cases, forecasts) for forecasts in (None, recalibrated, constant)))


def regret(cases, cost, act_at, forecasts=None):
    """Return the mean cost of acting at or above a threshold, when a false alarm costs `cost`."""
    scored = [case.forecast for case in cases] if forecasts is None else forecasts
    wrong = [
        case.weight * ((1 - cost) if case.event else cost)
        for case, p in zip(cases, scored, strict=True)
        if case.event != (p >= act_at)
    ]
    return sum(wrong, mpf(0)) / total(cases)


def least_regret(cases, cost):
    """Return the least regret that any threshold on the forecasts reaches."""
    return min(regret(cases, cost, act_at) for act_at in [*(case.forecast for case in cases), mpf(2)])


def uncertainty(cases, cost):
    """Return the regret of the better of always and never acting."""
    rate = event_rate(cases)
    return min(cost * (1 - rate), (1 - cost) * rate)


def benefit_and_harm(cases, cost):
    """Return true positives per case, and false positives per case times the odds of the threshold."""
    acted = [case for case in cases if case.forecast >= cost]
    true = sum((case.weight for case in acted if case.event), mpf(0))
    false = sum((case.weight for case in acted if not case.event), mpf(0))
    return true / total(cases), cost / (1 - cost) * false / total(cases)


def partial_areas(cases, low, high, *, forecasts=None):
    """Return pAUC+, pAUC-, and the shares of non-events and events with a forecast in [low, high]."""
    scored = [case.forecast for case in cases] if forecasts is None else forecasts
    events = [(p, case.weight) for case, p in zip(cases, scored, strict=True) if case.event]
    non_events = [(p, case.weight) for case, p in zip(cases, scored, strict=True) if not case.event]
    plus = minus = mpf(0)
    for p, w in events:
        for q, v in non_events:
            won = w * v * (mpf(p > q) + mpf(p == q) / 2)
            plus += won * (low <= q <= high)
            minus += won * (low <= p <= high)
    all_events, all_non_events = (sum(w for _, w in kind) for kind in (events, non_events))
    pairs = all_events * all_non_events
    width = sum((w for q, w in non_events if low <= q <= high), mpf(0)) / all_non_events
    height = sum((w for p, w in events if low <= p <= high), mpf(0)) / all_events
    return plus / pairs, minus / pairs, width, height


def true_positives(cases, capacity):
    """Return the weight of events among the cases with the highest forecasts, ties sharing what is left."""
    found, left = mpf(0), mpf(capacity)
    for level in sorted({case.forecast for case in cases}, reverse=True):
        tied = [case for case in cases if case.forecast == level]
        taken = min(left / total(tied), mpf(1))
        found += taken * sum((case.weight for case in tied if case.event), mpf(0))
        left -= taken * total(tied)
    return found


def power_mean(values, weights, exponent):
    """Return the mean of some exponent; with 0 the geometric one. A zero makes it zero unless the exponent is positive."""
    if exponent <= 0 and min(values) == 0:
        return mpf(0)
    whole = sum(weights)
    if exponent == 0:
        return exp(sum(w * log(v) for v, w in zip(values, weights, strict=True)) / whole)
    m = mpf(exponent)
    return (sum(w * v**m for v, w in zip(values, weights, strict=True)) / whole) ** (1 / m)
