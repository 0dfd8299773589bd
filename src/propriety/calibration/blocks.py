"""Blocks of neighbouring rows of a table: isotonic regression, by pooling adjacent violators, and bins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from propriety import checks
from propriety.result import Floats
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.identity_cache import IdentityCache
from propriety.tables.pooling import isotonic_starts

Strategy: TypeAlias = Literal["uniform", "quantile"]
POOLED: IdentityCache[Blocks] = IdentityCache()


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """Blocks of isotonic regression: runs of rows with one event rate, which increases from block to block.

    `start` holds the first row of each block and, at the end, the number of rows. The arrays are read-only.
    """

    start: NDArray[np.intp]
    events: Floats
    non_events: Floats

    @classmethod
    def of(cls, events: Floats, non_events: Floats) -> Blocks:
        """Pool rows in the order of their forecasts, given the weights of their events and non-events."""
        start = isotonic_starts(events, non_events)
        return cls(start, *(np.add.reduceat(column, start[:-1]) for column in (events, non_events)))

    def __post_init__(self) -> None:
        for column in (self.start, self.events, self.non_events):
            column.flags.writeable = False

    @property
    def weight(self) -> Floats:
        """Weight of each block."""
        return self.events + self.non_events

    @property
    def event_rate(self) -> Floats:
        """Event rate of each block, strictly increasing."""
        return self.events / self.weight

    def __len__(self) -> int:
        return len(self.events)

    def per_row(self) -> Floats:
        """Recalibrated forecast of each row of the table."""
        return np.repeat(self.event_rate, np.diff(self.start))


def pool_adjacent_violators(table: ForecastTable) -> Blocks:
    """Pool the rows of a table until their event rates increase. The blocks of a table are cached.

    The regression minimises the Brier score, and every other proper score, over all nondecreasing functions of the
    forecasts.

    References
    ----------
    Ayer, Brunk, Ewing, Reid & Silverman (1955), doi:10.1214/aoms/1177728423; Dimitriadis, Gneiting & Jordan
    (2021), doi:10.1073/pnas.2016191118.

    Examples
    --------
    >>> from propriety.tables.forecast_table import ForecastTable
    >>> table = ForecastTable.from_predictions([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8])
    >>> pool_adjacent_violators(table).event_rate
    array([0. , 0.5, 1. ])
    """
    blocks = POOLED.get(table)
    if blocks is None:
        blocks = POOLED.setdefault(table, Blocks.of(table.events, table.non_events))
    return blocks


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
    checks.whole(bins, "bins", least=1)
    checks.choice(strategy, "strategy", get_args(Strategy))
    if strategy == "uniform":
        # Division gives the same floats that a user writes: 3 / 10 is 0.3, but 3 * 0.1 is not.
        starts = np.unique(np.searchsorted(table.forecast, np.arange(bins) / bins))
        return starts[starts < len(table)]
    before = np.cumsum(table.weights) - table.weights
    index = np.floor(bins * (before + table.weights / 2.0) / table.weight).astype(np.intp)
    return np.flatnonzero(np.diff(index, prepend=-1))
