"""Weights by inverse probability of censoring and probabilities of events, in fractions, case by case.

A case is (time, kind, group, weight), where the kind is "event", "competing" or "censored".
"""

from fractions import Fraction
from typing import NamedTuple


class Followed(NamedTuple):
    time: Fraction
    kind: str
    group: object
    weight: Fraction


def followed(time, kind, group=None, weight=None):
    """Return the cases; a float is the fraction that it is."""
    n = len(time)
    groups, weights = [0] * n if group is None else group, [1] * n if weight is None else weight
    columns = zip(time, kind, groups, weights, strict=True)
    return [Followed(Fraction(float(t)), k, g, Fraction(float(w))) for t, k, g, w in columns]


def uncensored_before(cases, group, time):
    """Return G(t-): at a tied time, those with an event leave before anybody is at risk of censoring."""
    own = [case for case in cases if case.group == group]
    found = Fraction(1)
    for u in sorted({case.time for case in own if case.kind == "censored" and case.time < time}):
        leaving = sum(case.weight for case in own if case.time == u and case.kind == "censored")
        at_risk = sum(case.weight for case in own if case.time > u or (case.time == u and case.kind == "censored"))
        found *= 1 - leaving / at_risk
    return found


def weights(cases, horizon):
    """Return the weight of every case: zero if it was censored before the horizon."""
    horizon = Fraction(horizon)
    return [
        Fraction(0)
        if case.kind == "censored" and case.time < horizon
        else case.weight / uncensored_before(cases, case.group, min(case.time, horizon))
        for case in cases
    ]


def event_probability(cases, horizon):
    """Return the probability of the event by the horizon: Aalen and Johansen, without competing events Kaplan and Meier.

    It is computed from hazards of events, in which no weight of censoring occurs.
    """
    free, found = Fraction(1), Fraction(0)
    for u in sorted({case.time for case in cases if case.kind != "censored" and case.time <= Fraction(horizon)}):
        at_risk = sum(case.weight for case in cases if case.time >= u)
        events = sum(case.weight for case in cases if case.time == u and case.kind == "event")
        others = sum(case.weight for case in cases if case.time == u and case.kind == "competing")
        found += free * events / at_risk
        free *= 1 - (events + others) / at_risk
    return found


def variance_taken(cases, horizon, contributions):
    """Return by how much estimated weights lower the variance of a sum of contributions of equally weighted cases."""
    taken = Fraction(0)
    for group in {case.group for case in cases}:
        own = [(case, z) for case, z in zip(cases, contributions, strict=True) if case.group == group]
        steps = {case.time for case, _ in own if case.kind == "censored" and case.time < Fraction(horizon)}
        for u in steps:
            leaving = sum(case.time == u and case.kind == "censored" for case, _ in own)
            at_risk = leaving + sum(case.time > u for case, _ in own)
            later = sum(z for case, z in own if case.time > u)
            taken += Fraction(leaving, at_risk * (at_risk - leaving)) * later**2
    return taken
