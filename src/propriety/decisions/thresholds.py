"""Counts of the cases acted on at a threshold, from which all decision curves are computed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from propriety.result import Floats
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.pooling import running_sum

__all__ = ["PositiveCounts", "counts_at"]


class PositiveCounts(NamedTuple):
    """Weights of the events and of the non-events acted on: those with a forecast of at least the threshold."""

    true_positives: Floats
    false_positives: Floats


def counts_at(table: ForecastTable, thresholds: Floats) -> PositiveCounts:
    """Count the cases acted on at each threshold: those with a forecast of at least the threshold.

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
    """Return the weight of each row and all above it, followed by 0."""
    return np.append(running_sum(weight[::-1])[::-1], 0.0)
