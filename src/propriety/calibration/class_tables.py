"""Small tables of classes: neighbouring forecasts are pooled by their log-odds, so that many classes take seconds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from propriety.calibration.class_scores import BINS, EDGE, case_values
from propriety.calibration.grouping import rows_of
from propriety.result import Floats
from propriety.tables.cases import Cases
from propriety.tables.forecast_table import ForecastTable

MOST_EXACT = 2**12  # With more cases, forecasts are pooled.
CENTRES = np.concatenate([[0.0], expit(EDGE * ((2.0 * np.arange(BINS) + 1.0) / BINS - 1.0)), [1.0]])
LEAST, MOST = math.nextafter(0.0, 1.0), math.nextafter(1.0, 0.0)
NAMES = ("events", "non_events", "event_squares", "non_event_squares")


def pooled_table(table: ForecastTable) -> ForecastTable:
    """Return the table with the forecasts of each bin of log-odds replaced by their mean; 0 and 1 stay as they are.

    A bin is 0.015 wide, far less than the standard error of any curve. Up to 4,096 cases, nothing is pooled.

    Examples
    --------
    >>> p = np.linspace(0.01, 0.99, 10_000)
    >>> len(pooled_table(ForecastTable.from_predictions(p > 0.5, p)))
    628
    """
    if table.n <= MOST_EXACT:
        return table
    columns = {name: getattr(table, name) for name in NAMES}
    return _pooled(table.forecast, columns, table.n, table.n_events)[0]


def pooled_cases(own: Cases, table: ForecastTable | None = None) -> tuple[ForecastTable, NDArray[np.intp]]:
    """Return the pooled table of the cases of one event, and the row of each case; few cases may have it already."""
    forecast, happened, weight = own.gathered()
    if own.n <= MOST_EXACT:
        table = ForecastTable.from_cases(own) if table is None else table
        return table, rows_of(table, forecast)
    w = np.ones(len(forecast)) if weight is None else weight
    columns = {"events": w * happened, "non_events": w * ~happened}
    columns |= {"event_squares": w * columns["events"], "non_event_squares": w * columns["non_events"]}
    kept = w > 0.0
    return _pooled(forecast, columns, int(np.count_nonzero(kept)), int(np.count_nonzero(happened & kept)))


def _pooled(
    forecast: Floats, columns: dict[str, Floats], n: int, n_events: int
) -> tuple[ForecastTable, NDArray[np.intp]]:
    place = np.where(forecast == 0.0, 0, np.where(forecast == 1.0, BINS + 1, case_values(forecast).place + 1))
    summed = {name: np.bincount(place, values, minlength=BINS + 2) for name, values in columns.items()}
    weight = summed["events"] + summed["non_events"]
    rows = np.flatnonzero(weight)
    # Sums of differences from the centre of a bin keep means within their bins, also next to 1.
    away = np.bincount(place, (forecast - CENTRES[place]) * (columns["events"] + columns["non_events"]), len(CENTRES))
    values: dict[str, Any] = {name: one[rows] for name, one in summed.items()}
    mean, certain = CENTRES[rows] + away[rows] / weight[rows], (rows == 0) | (rows == BINS + 1)
    values["forecast"] = np.where(certain, CENTRES[rows], np.clip(mean, LEAST, MOST))
    table = ForecastTable(**values, n=n, n_events=n_events)
    return table, (np.cumsum(weight > 0.0) - 1)[place]
