"""Thresholds inside the cells of a pooled table, at which the decisions about its cases are not known."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from propriety.errors import InputValueError, Wording
from propriety.number_words import percent
from propriety.result import Floats
from propriety.tables.forecast_table import ForecastTable

# A threshold is refused inside a cell with a larger share of the cases. It is far above that of the cells in which an
# engine pools continuous forecasts, and changes net benefit by less than its third digit.
LARGEST_SHARE = 0.001
EQUAL = 1e-9  # The forecasts of a cell whose mean is this close to the threshold are taken as equal to it.


def undecided_share(table: ForecastTable, thresholds: Floats) -> Floats:
    """Return the share of the cases that share the cell of each threshold, so that decisions about them are not known.

    Examples
    --------
    >>> table = ForecastTable.from_predictions([0, 1, 1], [0.1, 0.2, 0.6]).grid(4)
    >>> undecided_share(table, np.array([0.12, 0.25, 0.9])).round(2)
    array([0.67, 0.  , 0.  ])
    """
    if table.cells is None or table.refined:
        return np.zeros(len(thresholds))
    inside = (table.forecast > 0.0) & (table.forecast < 1.0)  # Forecasts of exactly 0 and 1 are not pooled.
    cells = np.floor(table.forecast[inside] * table.cells)
    at, is_edge = np.floor(thresholds * table.cells), thresholds * table.cells % 1.0 == 0.0
    row = np.minimum(np.searchsorted(cells, at), max(len(cells) - 1, 0))
    if not len(cells):
        return np.zeros(len(thresholds))
    is_equal = np.abs(table.forecast[inside][row] - thresholds) <= EQUAL
    shared = (cells[row] == at) & ~is_edge & ~is_equal
    found: Floats = np.where(shared, table.weights[inside][row] / table.weight, 0.0)
    return found


def is_decided(table: ForecastTable, thresholds: Floats) -> NDArray[np.bool_]:
    """Whether the decisions at each threshold are known, but for a share of the cases that does not matter."""
    found: NDArray[np.bool_] = undecided_share(table, thresholds) <= LARGEST_SHARE
    return found


def check_decided(table: ForecastTable, thresholds: Floats) -> None:
    """Raise an error at a threshold inside a cell that holds more than a thousandth of the cases."""
    shares = undecided_share(table, thresholds)
    if not (shares > LARGEST_SHARE).any():
        return
    worst = int(shares.argmax())
    law = f"{percent(float(shares[worst]), 2)} of the cases share a cell of the table with the threshold"
    hint = Wording(f"use a multiple of 1/{table.cells}, or condense with more {{cells=}}, or with {{rules=}} for it.")
    raise InputValueError(f"{law} {thresholds[worst]:g}, so it is not known on which side of it they are", hint=hint)


def cell_edges(table: ForecastTable) -> Floats | None:
    """Return the edges of the occupied cells if some hold so many cases that decisions inside are not known."""
    if table.cells is None or table.refined or not (table.weights > LARGEST_SHARE * table.weight).any():
        return None
    low = np.floor(table.forecast * table.cells)
    return np.unique(np.concatenate([[0.0, 1.0], low / table.cells, np.minimum(low + 1.0, table.cells) / table.cells]))
