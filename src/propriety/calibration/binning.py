"""Binning of the rows of a table, for binned diagrams and decompositions."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from propriety.checks import check_choice, check_positive
from propriety.tables.forecast_table import ForecastTable

Strategy: TypeAlias = Literal["uniform", "quantile"]


def bin_starts(table: ForecastTable, *, bins: int, strategy: Strategy) -> NDArray[np.intp]:
    """Return the first row of each non-empty bin.

    Uniform bins have equal width and are closed on the left; the last is closed on both sides. Quantile bins have about
    equal weight. Equal forecasts are never split, so there can be fewer bins than requested.

    Examples
    --------
    >>> table = ForecastTable.from_predictions([0, 1, 0, 1], [0.1, 0.15, 0.5, 0.8])
    >>> bin_starts(table, bins=10, strategy="uniform")
    array([0, 2, 3])
    """
    check_positive("bins", bins)
    check_choice("strategy", strategy, get_args(Strategy))
    if strategy == "uniform":
        # Division gives the same floats that a user writes: 3 / 10 is 0.3, but 3 * 0.1 is not.
        starts = np.unique(np.searchsorted(table.forecast, np.arange(bins) / bins))
        return starts[starts < len(table)]
    before = np.cumsum(table.weights) - table.weights
    index = np.floor(bins * (before + table.weights / 2.0) / table.weight).astype(np.intp)
    return np.flatnonzero(np.diff(index, prepend=-1))
