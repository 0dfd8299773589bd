"""Who is acted on at a threshold: the counts from which every decision curve is made."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from propriety.result import Floats
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.pooling import running_sum

__all__ = ["PositiveCounts", "counts_at"]


class PositiveCounts(NamedTuple):
    """Weight of the events and of the non-events that are acted on, those with a forecast at or above the threshold."""

    true_positives: Floats
    false_positives: Floats


def counts_at(table: ForecastTable, thresholds: Floats) -> PositiveCounts:
    """Count, at each threshold, the cases that are acted on: the forecast is at least the threshold.

    Examples
    --------
    >>> table = ForecastTable.from_predictions([0, 1, 0, 1], [0.1, 0.3, 0.3, 0.8])
    >>> counts_at(table, np.array([0.0, 0.3, 0.5, 1.0]))
    PositiveCounts(true_positives=array([2., 2., 1., 0.]), false_positives=array([2., 1., 0., 0.]))
    """
    below = np.searchsorted(table.forecast, thresholds, side="left")
    events, non_events = _from_the_top(table.events), _from_the_top(table.non_events)
    return PositiveCounts(events[below], non_events[below])


def _from_the_top(weight: Floats) -> Floats:
    """Return the weight of each row and all above it, and 0 for none."""
    return np.append(running_sum(weight[::-1])[::-1], 0.0)
