"""Calibration slopes of many forecast tables at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from propriety.ledger.keyed_tables import KeyedTables
from propriety.result import Floats

MOST_STEPS, LAST_STEP = 40, 1e-6
LONGEST = 2.0  # A step of Newton's method changes no log-odds of a typical forecast by more.


def fitted_slopes(keyed: KeyedTables, wanted: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    r"""Fit the line :math:`a + b x` to the log-odds of the event in each wanted table; return the slopes and errors.

    The log-odds x are those of the forecasts other than 0 and 1. Newton's method starts at a slope of 0 for all tables
    together. The standard errors are those of independent cases at the fitted rates. Where the slope is not determined,
    and in tables that are not wanted, the slope is NaN and its error infinite.

    Examples
    --------
    >>> from propriety.tables.forecast_table import ForecastTable
    >>> table = ForecastTable(forecast=[0.1, 0.8], events=[10, 30], non_events=[30, 10])
    >>> slope, error = fitted_slopes(KeyedTables.of_tables([table]), np.array([True]))
    >>> slope.round(3), error.round(3)
    (array([0.613]), array([0.144]))
    """
    tables = len(keyed.n)
    used = np.flatnonzero(wanted[keyed.entry] & (keyed.forecast > 0.0) & (keyed.forecast < 1.0))
    entry, events, non_events = keyed.entry[used], keyed.events[used], keyed.non_events[used]
    weight, squares = events + non_events, keyed.event_squares[used] + keyed.non_event_squares[used]

    def summed(values: Floats) -> Floats:
        return np.bincount(entry, values, minlength=tables).astype(np.float64)

    x = logit(keyed.forecast[used])
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        x -= (summed(weight * x) / summed(weight))[entry]
        scale = np.sqrt(summed(weight * x**2) / summed(weight))
        level, slope = logit(summed(events) / summed(weight)), np.zeros(tables)
        longest = np.full(tables, np.inf)
        for _ in range(MOST_STEPS):
            rate = expit(level[entry] + slope[entry] * x)
            residual, curve = events - weight * rate, weight * rate * (1.0 - rate)
            first, mixed, second = summed(curve), summed(curve * x), summed(curve * x**2)
            determinant = first * second - mixed**2
            of_level, of_slope = summed(residual), summed(residual * x)
            up = (second * of_level - mixed * of_slope) / determinant
            along = (first * of_slope - mixed * of_level) / determinant
            longest = np.maximum(np.abs(up), np.abs(along) * scale)
            shorter = np.minimum(1.0, LONGEST / longest)
            level, slope = level + shorter * up, slope + shorter * along
            if ((longest <= LAST_STEP) | ~np.isfinite(longest)).all():
                break
        rate = expit(level[entry] + slope[entry] * x)
        curve, spread = weight * rate * (1.0 - rate), squares * rate * (1.0 - rate)
        first, mixed, second = summed(curve), summed(curve * x), summed(curve * x**2)
        parts = summed(spread), summed(spread * x), summed(spread * x**2)
        variance = mixed**2 * parts[0] - 2.0 * first * mixed * parts[1] + first**2 * parts[2]
        variance /= (first * second - mixed**2) ** 2
        error = np.sqrt(variance)
    known = (longest <= LAST_STEP) & np.isfinite(slope) & ~_are_separate(entry, x, events, non_events, tables)
    return np.where(known, slope, np.nan), np.where(known, error, np.inf)


def _are_separate(
    entry: NDArray[np.intp], x: Floats, events: Floats, non_events: Floats, tables: int
) -> NDArray[np.bool_]:
    """Whether all events of a table have forecasts at least as high, or at most as high, as its non-events.

    The best slope is then infinite; whether Newton's method notices depends on rounding.
    """
    ends = []
    for weight in (events, non_events):
        happened = weight > 0.0
        low, high = np.full(tables, np.inf), np.full(tables, -np.inf)
        np.minimum.at(low, entry[happened], x[happened])
        np.maximum.at(high, entry[happened], x[happened])
        ends.append((low, high))
    (low, high), (lowest, highest) = ends
    return np.asarray((low >= highest) | (high <= lowest))
