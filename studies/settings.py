"""The simulated forecasts of Dimitriadis, Gneiting & Jordan (2021), appendix A: calibrated, discrete or continuous."""

from __future__ import annotations

import numpy as np
from scipy import stats

SHAPES = ("uniform", "linear", "beta mixture")
DISTINCT = (10, 20, 50, None)  # None is the continuous setting.


def density(shape: str, x: np.ndarray) -> np.ndarray:
    """Return the density of the forecasts at x."""
    if shape == "uniform":
        return np.ones_like(x)
    if shape == "linear":
        return 0.4 + 1.2 * x
    return 0.75 * stats.beta(1, 10).pdf(x) + 0.25


def draw_forecasts(shape: str, distinct: int | None, n: int, generator: np.random.Generator) -> np.ndarray:
    """Draw n forecasts: continuous, or on the midpoints of so many cells."""
    if distinct is not None:
        points = (2 * np.arange(1, distinct + 1) - 1) / (2 * distinct)
        weight = density(shape, points)
        return generator.choice(points, n, p=weight / weight.sum())
    u = generator.random(n)
    if shape == "uniform":
        return u
    if shape == "linear":
        return (-0.4 + np.sqrt(0.16 + 2.4 * u)) / 1.2
    return np.where(generator.random(n) < 0.75, generator.beta(1, 10, n), u)


def draw_outcomes(rate: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Draw events at the given rates."""
    return generator.random(len(rate)) < rate
