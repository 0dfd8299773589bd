"""Isotonic recalibration: event rates of pooled blocks with linear interpolation, optionally with corrected ends."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from propriety.calibration.pav import pool_adjacent_violators
from propriety.recalibration.maps import RecalibrationMap, checked_column
from propriety.recalibration.written_maps import Column, Written, piecewise
from propriety.result import Floats
from propriety.tables.forecast_table import ForecastTable


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class IsotonicMap(RecalibrationMap):
    """A nondecreasing piecewise linear map, constant before the first point and after the last.

    Parameters
    ----------
    forecast : array of shape (points,)
        Forecasts, strictly increasing: the first and the last of each pooled block.
    event_rate : array of shape (points,)
        Their recalibrated forecasts, nondecreasing.

    Examples
    --------
    >>> IsotonicMap(forecast=[0.2, 0.6], event_rate=[0.1, 0.5])([0.0, 0.4, 0.9])
    array([0.1, 0.3, 0.5])
    """

    kind: ClassVar[str] = "isotonic"

    forecast: Floats
    event_rate: Floats

    def __post_init__(self) -> None:
        forecast = checked_column("forecast", self.forecast, strictly=True, low=0.0, high=1.0)
        rate = checked_column("event_rate", self.event_rate, size=len(forecast), strictly=False, low=0.0, high=1.0)
        object.__setattr__(self, "forecast", forecast)
        object.__setattr__(self, "event_rate", rate)

    def recalibrated(self, forecast: Floats) -> Floats:
        """Return the recalibrated forecasts. Between points too close for a slope, the map is that of the first."""
        found: Floats = np.interp(forecast, self.forecast, self.event_rate)
        if np.isinf(found).any():
            place = np.searchsorted(self.forecast, forecast, side="right") - 1
            found = np.where(np.isinf(found), self.event_rate[place], found)
        return found

    def written(self, p: Column, ops: Written) -> Column:
        """Return the map applied to a column."""
        starts, rates = self.forecast, self.event_rate
        with np.errstate(over="ignore"):
            slopes = np.diff(rates) / np.diff(starts)
        slopes[np.isinf(slopes)] = 0.0

        def piece(place: int) -> Column:
            if place in (-1, len(slopes)) or slopes[place] == 0.0:
                return ops.constant(float(rates[max(place, 0)]))
            return float(slopes[place]) * (p - float(starts[place])) + float(rates[place])

        breaks = [(start, False) for start in starts.tolist()]
        return piecewise(p, [partial(piece, place) for place in range(-1, len(starts))], breaks, ops)

    @property
    def is_monotone(self) -> bool:
        """True."""
        return True

    @property
    def formula(self) -> str:
        """The map in one line."""
        return f"a nondecreasing piecewise linear function with {len(self.forecast):,} points"


def fit_isotonic(table: ForecastTable) -> IsotonicMap:
    """Fit isotonic regression: the reliability curve, which is optimal in the sample under every proper rule.

    Forecasts of 0 and 1 are treated like any other. If all cases of the first or last block have the same outcome,
    their forecasts become 0 or 1, and the log score of new cases can be infinite; see `fit_isotonic_corrected`.

    Parameters
    ----------
    table : ForecastTable
        Any; a weight of w counts as w cases.

    Returns
    -------
    IsotonicMap
        The map.

    References
    ----------
    Zadrozny & Elkan (2002), doi:10.1145/775047.775151.

    Examples
    --------
    >>> table = ForecastTable.from_predictions([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8])
    >>> fit_isotonic(table)([0.1, 0.2, 0.35, 0.9])
    array([0.  , 0.25, 0.5 , 1.  ])
    """
    blocks = pool_adjacent_violators(table)
    return _through(table, blocks.start, blocks.event_rate)


def fit_isotonic_corrected(table: ForecastTable) -> IsotonicMap:
    r"""Fit isotonic regression without forecasts of 0 and 1 at its ends.

    A block of w cases without events gets the rate :math:`\frac{1/2}{w + 1}`, or that of the next block if this is
    lower. A block without non-events is treated symmetrically. These are the rates with half a case of each outcome
    added, the posterior means under Jeffreys' prior. With weights, w is the weight of the block divided by
    :math:`\sum_i w_i^2 / \sum_i w_i`.

    Parameters
    ----------
    table : ForecastTable
        Any. Weights are relative: the result does not depend on their unit.

    Returns
    -------
    IsotonicMap
        The map.

    Examples
    --------
    >>> table = ForecastTable.from_predictions([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8])
    >>> fit_isotonic_corrected(table)([0.1, 0.35, 0.9])
    array([0.25, 0.5 , 0.75])
    """
    blocks = pool_adjacent_violators(table)
    rate, weight = blocks.event_rate.copy(), blocks.weight / (table.weight_squares / table.weight)
    mixed = rate[(blocks.events > 0.0) & (blocks.non_events > 0.0)]
    lowest, highest = (mixed[0], mixed[-1]) if len(mixed) else (0.5, 0.5)
    if blocks.events[0] == 0.0:
        rate[0] = min(0.5 / (weight[0] + 1.0), lowest)
    if blocks.non_events[-1] == 0.0:
        rate[-1] = max(1.0 - 0.5 / (weight[-1] + 1.0), highest)
    return _through(table, blocks.start, rate)


def _through(table: ForecastTable, start: NDArray[np.intp], rate: Floats) -> IsotonicMap:
    """Return the piecewise linear map through the first and the last forecast of each block."""
    first, last = start[:-1], start[1:] - 1
    places = np.column_stack([first, last]).ravel()
    kept = np.append(True, np.diff(places) > 0)
    return IsotonicMap(forecast=table.forecast[places[kept]], event_rate=np.repeat(rate, 2)[kept])
