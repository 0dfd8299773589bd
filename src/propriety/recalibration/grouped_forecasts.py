"""Groups of neighbouring forecasts, which bound the time to fit a map for each fold."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from propriety.result import Floats
from propriety.tables.forecast_table import ForecastTable

MOST_ROWS = 2**12  # Tables with at most this many rows are not grouped.
GROUPS = 2**11  # With equal shares of the weight times the standard deviation of the outcome.
WIDTH = 1.0 / 16.0  # Largest width of a group in log-odds.
STEPS = np.append(expit(WIDTH * np.arange(-745 * 16, 37 * 16)), [5e-324, 1.0])  # From the smallest double to 1.


class Grouping(NamedTuple):
    """Groups of neighbouring forecasts: the lowest forecast and the mean of each group."""

    low: Floats
    mean: Floats

    def moved(self, forecast: Floats) -> Floats:
        """Return the group mean of each forecast."""
        # A case with a weight of 0 may have a forecast below all those of the table.
        place = np.maximum(np.searchsorted(self.low, forecast, side="right") - 1, 0)
        return self.mean[place]


def grouping_of(table: ForecastTable) -> Grouping | None:
    r"""Return about 2,048 groups of the forecasts of a table; None if it has at most 4,096 rows.

    Groups have equal shares of :math:`\sum w \sqrt{p (1 - p)}`, so they are narrow where the score varies most. They
    are also cut at every 1/16 of log-odds, so they are narrow near 0 and 1. Forecasts of 0 and 1 are groups of their
    own.

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
    # The rows are sorted, so a group starts at the row that contains its limit.
    limits = np.arange(GROUPS) / GROUPS * share[-1]
    start = np.union1d(np.searchsorted(share - spread / 2.0, limits), np.searchsorted(p, STEPS))
    start = np.union1d(start[start < len(p)], 0)
    mean = np.add.reduceat(weights * p, start) / np.add.reduceat(weights, start)
    return Grouping(p[start], mean)


def grouped_tables(tables: Iterable[ForecastTable]) -> tuple[ForecastTable, ...]:
    """Return the tables with each forecast replaced by the mean of its group, formed from all tables together."""
    parts = tuple(tables)
    grouping = grouping_of(ForecastTable.merge(parts)) if sum(map(len, parts)) > MOST_ROWS else None
    return parts if grouping is None else tuple(one.moved(grouping.moved(one.forecast)) for one in parts)
