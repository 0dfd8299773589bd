"""What the studies of recalibration share: simulated forecasts of one event, and the expected score of a map."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import expit, ndtri

import propriety as pr

MEAN, SPREAD = -0.5, 1.6  # Of the log-odds of the forecasts, which are normal.
RULES: dict[str, pr.BinaryRule] = {"log": pr.Log(), "Brier": pr.Brier()}


def points(number: int) -> np.ndarray:
    """Return the log-odds of forecasts that are equally likely and as spread as those of `drawn`."""
    return MEAN + SPREAD * ndtri((np.arange(number) + 0.5) / number)


def drawn(
    generator: np.random.Generator, n: int, truth: Callable[[np.ndarray], np.ndarray] = lambda x: x
) -> tuple[np.ndarray, np.ndarray]:
    """Return outcomes and log-odds of forecasts, of which `truth` returns the true ones."""
    x = generator.normal(MEAN, SPREAD, n)
    return generator.random(n) < expit(truth(x)), x


def expected_score(
    rule: pr.BinaryRule, forecast: np.ndarray, rate: np.ndarray, share: np.ndarray | float = 1.0
) -> float:
    """Return the expected score of forecasts whose events have these rates; `share` are weights with a mean of 1."""
    losses = rate * rule.loss(forecast, event=True) + (1.0 - rate) * rule.loss(forecast, event=False)
    return float(np.mean(share * losses))
