"""The forecast table that is expected before outcomes are known, if the forecasts are calibrated."""

from __future__ import annotations

import numpy as np

from propriety.result import Floats
from propriety.tables.forecast_table import ForecastTable

__all__ = ["expected_table"]


def expected_table(forecast: Floats, count: Floats) -> ForecastTable:
    """Return the table in which a case with forecast p is p of an event and 1 - p of a non-event.

    Its scores and curves are those expected if the forecasts are calibrated. The number of cases of the table counts
    both parts of a case.

    Parameters
    ----------
    forecast : ndarray of shape (rows,)
        Distinct forecasts, increasing.
    count : ndarray of shape (rows,)
        Number, or weight, of the cases with this forecast.

    Examples
    --------
    >>> table = expected_table(np.array([0.1, 0.6]), np.array([20.0, 10.0]))
    >>> table.events, table.non_events
    (array([2., 6.]), array([18.,  4.]))
    """
    cases = np.maximum(np.ceil(count), 1.0)
    n_events = int(cases[forecast > 0.0].sum())
    return ForecastTable(
        forecast=forecast,
        events=count * forecast,
        non_events=count * (1.0 - forecast),
        event_squares=count * forecast**2,
        non_event_squares=count * (1.0 - forecast) ** 2,
        n=n_events + int(cases[forecast < 1.0].sum()),
        n_events=n_events,
    )
