"""Small tables of classes: neighbouring forecasts are pooled by their log-odds, so that many classes take seconds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.calibration.class_scores import BINS, case_values
from propriety.calibration.grouping import rows_of
from propriety.result import Floats
from propriety.tables.cases import Cases
from propriety.tables.forecast_table import ForecastTable

__all__ = ["MOST_EXACT", "pooled_cases", "pooled_table"]

MOST_EXACT = 2**12  # With more cases, forecasts are pooled.
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


def pooled_cases(own: Cases) -> tuple[ForecastTable, NDArray[np.intp]]:
    """Return the pooled table of the cases of one event, and the row of each case."""
    forecast, happened, weight = own.gathered()
    if own.n <= MOST_EXACT:
        table = ForecastTable.from_cases(own)
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
    mean = np.bincount(place, forecast * (columns["events"] + columns["non_events"]), minlength=BINS + 2)
    values: dict[str, Any] = {name: one[rows] for name, one in summed.items()}
    values["forecast"] = np.minimum(mean[rows] / weight[rows], 1.0)
    table = ForecastTable(**values, n=n, n_events=n_events)
    return table, (np.cumsum(weight > 0.0) - 1)[place]
