"""Grouping of neighbouring forecasts, so that redrawing outcomes does not take longer with more cases."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from propriety.tables.forecast_table import ForecastTable

FEWEST_GROUPS = 256
ENDS = 16


def rows_of(table: ForecastTable, forecast: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the row of a table to which each forecast of its cases belongs.

    A case of zero weight may have a forecast above all others of the table; it is assigned the last row.

    Examples
    --------
    >>> rows_of(ForecastTable.from_predictions([0, 1], [0.2, 0.7]), np.array([0.7, 0.2, 0.9]))
    array([1, 0, 1])
    """
    return np.minimum(np.searchsorted(table.forecast, forecast), len(table) - 1)


def starts_by_share(share: NDArray[np.float64], groups: int) -> NDArray[np.intp]:
    """Return the first row of each group when increasing shares are cut into equal parts.

    Examples
    --------
    >>> starts_by_share(np.array([0.1, 0.3, 0.6, 0.9]), 2), starts_by_share(np.array([0.2, 0.7]), 2)
    (array([0, 2]), array([0, 1]))
    """
    if len(share) <= groups:
        return np.arange(len(share))
    return np.flatnonzero(np.diff(np.floor(groups * share), prepend=-1.0))


def group_starts(table: ForecastTable) -> NDArray[np.intp]:
    """Return the first row of groups of neighbouring forecasts that are much smaller than the blocks of PAV.

    A block of an increasing curve holds about n^(2/3) cases. Groups of a tenth of that move a band by less than
    resampling noise does, and make the work grow with the cube root of n. Both ends are left ungrouped, because the
    blocks there are small.
    """
    groups = max(int(np.ceil(10.0 * np.cbrt(table.effective_n))), FEWEST_GROUPS)
    if len(table) <= groups:
        return np.arange(len(table))
    share = (np.cumsum(table.weights) - table.weights / 2.0) / table.weight
    group = np.floor(groups * share)
    group[:ENDS] = np.arange(ENDS) - ENDS
    group[-ENDS:] = groups + np.arange(ENDS)
    return np.flatnonzero(np.diff(group, prepend=-np.inf))


def neighbours_pooled(table: ForecastTable) -> ForecastTable:
    """Return the table of the groups, each with its mean forecast.

    Examples
    --------
    >>> table = ForecastTable.from_predictions([0, 1] * 5000, np.linspace(0.1, 0.9, 10_000))
    >>> len(neighbours_pooled(table))
    288
    """
    start = group_starts(table)
    if len(start) == len(table):
        return table
    mean = np.add.reduceat(table.weights * table.forecast, start) / np.add.reduceat(table.weights, start)
    return table.moved(np.repeat(mean, np.diff(start, append=len(table))))
