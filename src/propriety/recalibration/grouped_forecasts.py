"""Neighbouring forecasts put together, so that fitting a map for every fold does not take longer with more cases."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from propriety.result import Floats
from propriety.tables.forecast_table import ForecastTable

__all__ = ["Grouping", "grouped_tables", "grouping_of"]

MOST_ROWS = 2**12  # Of tables that stay as they are.
GROUPS = 2**11  # Of equal shares of the weight times the standard deviation of the outcome.
WIDTH = 1.0 / 16.0  # Of a group in log-odds at most.
STEPS = np.append(expit(WIDTH * np.arange(-745 * 16, 37 * 16)), [5e-324, 1.0])  # From the smallest double to 1.


class Grouping(NamedTuple):
    """Groups of neighbouring forecasts: the lowest and the mean of each."""

    low: Floats
    mean: Floats

    def moved(self, forecast: Floats) -> Floats:
        """Return the mean of the group of each forecast."""
        # A case without weight may have a forecast below all others of the table.
        place = np.maximum(np.searchsorted(self.low, forecast, side="right") - 1, 0)
        return self.mean[place]


def grouping_of(table: ForecastTable) -> Grouping | None:
    r"""Return some 2,048 groups of the forecasts of a table; None if it has at most 4,096 rows.

    Groups have equal shares of :math:`\sum w \sqrt{p (1 - p)}`, so that they are fine where scores are decided, and are
    cut at every 1/16 of log-odds, so that they are fine near 0 and 1. Forecasts of 0 and 1 stay by themselves.

    Examples
    --------
    >>> table = ForecastTable.from_predictions([0, 1] * 5000, np.linspace(0.1, 0.9, 10_000))
    >>> found = grouping_of(table)
    >>> len(found.mean), float(np.abs(found.moved(table.forecast) - table.forecast).max().round(5))
    (2098, 0.00028)
    """
    if len(table) <= MOST_ROWS:
        return None
    p, weights = table.forecast, table.weights
    spread = weights * np.sqrt(p * (1.0 - p))
    share = np.cumsum(spread)
    # The rows are in order, so that groups begin where the row of a limit is.
    limits = np.arange(GROUPS) / GROUPS * share[-1]
    start = np.union1d(np.searchsorted(share - spread / 2.0, limits), np.searchsorted(p, STEPS))
    start = np.union1d(start[start < len(p)], 0)
    mean = np.add.reduceat(weights * p, start) / np.add.reduceat(weights, start)
    return Grouping(p[start], mean)


def grouped_tables(tables: Iterable[ForecastTable]) -> tuple[ForecastTable, ...]:
    """Return tables whose forecasts are those of the groups of all of them together."""
    parts = tuple(tables)
    grouping = grouping_of(ForecastTable.merge(parts)) if sum(map(len, parts)) > MOST_ROWS else None
    return parts if grouping is None else tuple(one.moved(grouping.moved(one.forecast)) for one in parts)
