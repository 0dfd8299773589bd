"""Weights of censored outcomes and their errors are those of fractions, with ties, groups, competing events and weights."""

from fractions import Fraction
from math import nextafter

import numpy as np
import pytest
from exact_censoring import event_probability, variance_taken, weights
from inference_samples import FOLLOWED, followed_up

import propriety as pr

FEW = 32.0
EPSILON = 2.0**-52


def assert_near(value, exact):
    assert abs(Fraction(float(value)) - exact) <= Fraction(FEW * EPSILON) * abs(exact), (float(value), float(exact))


@pytest.mark.parametrize("horizon", [0.5, 1.0, nextafter(3.0, 0.0), 3.0, nextafter(3.0, 9.0), 5.5, 6.0])
@pytest.mark.parametrize("name", FOLLOWED)
def test_weights_are_one_over_the_probability_just_before(name, horizon):
    if name == "neighbouring times" and horizon > 3.0:
        horizon = 3.0
    outcome, cases = followed_up(name, horizon)
    exact = weights(cases, horizon)
    (known,) = outcome.known
    for value, truth in zip(known.weight.tolist(), exact, strict=True):
        assert_near(value, truth)
    happened = [case.kind == "event" and case.time <= Fraction(horizon) for case in cases]
    assert known.outcome.tolist() == happened
    assert sum(exact) == sum(case.weight for case in cases)
    assert_near(outcome.largest_weight[0], max(w / case.weight for w, case in zip(exact, cases, strict=True)))


@pytest.mark.parametrize("name", [name for name in FOLLOWED if "group" not in name])
def test_weighted_event_rates_are_those_of_kaplan_meier_and_aalen_johansen(name):
    horizons = [1.0, 2.0, 3.0]
    outcome, cases = followed_up(name, horizons)
    for value, horizon in zip(outcome.event_probability.tolist(), horizons, strict=True):
        assert_near(value, event_probability(cases, horizon))


@pytest.mark.parametrize("name", ["ties", "competing events", "groups"])
def test_errors_allow_for_estimated_weights(name):
    """The Brier score of a few forecasts, in fractions: the squared error of its mean and the part that is taken off."""
    outcome, cases = followed_up(name, 4.0)
    p = np.random.default_rng(9).choice([0.125, 0.25, 0.5, 0.75], len(cases))
    exact = weights(cases, 4.0)
    total = sum(exact)
    losses = [
        (Fraction(float(q)) - (case.kind == "event" and case.time <= 4)) ** 2 for q, case in zip(p, cases, strict=True)
    ]
    mean = sum(w * loss for w, loss in zip(exact, losses, strict=True)) / total
    parts = [w * (loss - mean) / total for w, loss in zip(exact, losses, strict=True)]
    variance = sum(part**2 for part in parts) - variance_taken(cases, 4.0, parts)
    n = len(cases)
    found = pr.estimate(outcome, p, pr.Brier())
    assert_near(found.value, mean)
    square = variance * Fraction(n, n - 1)
    assert abs(Fraction(found.error) ** 2 - square) <= Fraction(1e-12) * square
