"""Histogram of the forecasts: bars for discrete forecasts, bins for continuous ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from propriety.result import Floats, Result
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.quantiles import quantile_of_sorted

SMALLEST_GAP = 0.01  # Forecasts no closer than this count as discrete (Dimitriadis, Gneiting & Jordan 2021).
MOST_BINS = 200


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ForecastHistogram(Result):
    """Weight of the forecasts between `left` and `right`, or of a single value if the two are equal."""

    left: Floats
    right: Floats
    weight: Floats


def is_discrete(table: ForecastTable) -> bool:
    """Whether no two distinct forecasts are closer than 0.01."""
    few = len(table) <= 1.0 / SMALLEST_GAP + 1.0  # No more fit between 0 and 1.
    rounding = 1e-12  # In floating point, hundredths may differ by slightly less than 0.01.
    return len(table) == 1 or (few and bool(np.diff(table.forecast).min() >= SMALLEST_GAP - rounding))


def forecast_histogram(table: ForecastTable) -> ForecastHistogram:
    """Count the forecasts: each value if they are discrete, else in bins by the Freedman-Diaconis rule.

    The bins span [0, 1], and their width is twice the interquartile range over the cube root of the sample size. There
    are at most 200.

    References
    ----------
    Freedman & Diaconis (1981), doi:10.1007/BF01025868.
    """
    if is_discrete(table):
        return ForecastHistogram(left=table.forecast, right=table.forecast, weight=table.weights)
    share = np.cumsum(table.weights)
    lower, upper = quantile_of_sorted(table.forecast, share, np.array([0.25, 0.75]))
    width = 2.0 * (upper - lower) / np.cbrt(table.effective_n)
    bins = int(np.clip(np.ceil(1.0 / max(width, 1e-9)), 1, MOST_BINS))
    edges = np.arange(bins + 1) / bins
    start = np.append(np.searchsorted(table.forecast, edges[:-1]), len(table))  # A forecast of 1 is in the last bin.
    below = np.where(start > 0, share[start - 1], 0.0)
    return ForecastHistogram(left=edges[:-1], right=edges[1:], weight=np.diff(below))
