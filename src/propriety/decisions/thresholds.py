"""Counts of the cases acted on at a threshold, from which all decision curves are computed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from propriety.result import Floats
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.pooling import running_sum


class DecisionCounts(NamedTuple):
    """Weights of the events and of the non-events that are acted on, and of those that are not."""

    true_positives: Floats
    false_positives: Floats
    false_negatives: Floats
    true_negatives: Floats


def counts_at(table: ForecastTable, thresholds: Floats) -> DecisionCounts:
    """Count the decisions at each threshold; cases with a forecast of at least the threshold are acted on.

    Examples
    --------
    >>> table = ForecastTable.from_predictions([0, 1, 0, 1], [0.1, 0.3, 0.3, 0.8])
    >>> found = counts_at(table, np.array([0.0, 0.3, 0.5, 1.0]))
    >>> found.true_positives, found.false_positives
    (array([2., 2., 1., 0.]), array([2., 1., 0., 0.]))
    """
    return _split(table, thresholds, table.events, table.non_events)


def squares_at(table: ForecastTable, thresholds: Floats) -> DecisionCounts:
    """Add up the squared weights of the cases that `counts_at` counts."""
    return _split(table, thresholds, table.event_squares, table.non_event_squares)


def _split(table: ForecastTable, thresholds: Floats, *columns: Floats) -> DecisionCounts:
    below = np.searchsorted(table.forecast, thresholds, side="left")
    # Sums of the rows, not differences from the total, so that no cases weigh exactly 0.
    acted = [np.append(running_sum(weight[::-1])[::-1], 0.0)[below] for weight in columns]
    others = [np.append(0.0, running_sum(weight))[below] for weight in columns]
    return DecisionCounts(*acted, *others)
