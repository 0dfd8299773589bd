"""The forecast table that is expected before outcomes are known, if the forecasts or other rates are right."""

from __future__ import annotations

import numpy as np

from propriety.result import Floats
from propriety.tables.forecast_table import ForecastTable

ROUNDING = 1e-9


def expected_table(forecast: Floats, weight: Floats, squares: Floats, rate: Floats | None = None) -> ForecastTable:
    """Return the table in which a case with forecast p is p of an event and 1 - p of a non-event.

    Its scores and curves are those expected if the forecasts are calibrated. Its number of cases counts both parts of a
    case; with weights, it is that of equally weighted cases.

    Parameters
    ----------
    forecast : ndarray of shape (rows,)
        Distinct forecasts, increasing.
    weight, squares : ndarray of shape (rows,)
        Sum of the weights of the cases with this forecast and of their squares; without weights, their number.
    rate : ndarray of shape (rows,), optional
        Event rate of these cases, if it is not the forecast: a case is then that much of an event.

    Examples
    --------
    >>> count = np.array([20.0, 10.0])
    >>> table = expected_table(np.array([0.1, 0.6]), count, count)
    >>> table.events, table.non_events
    (array([2., 6.]), array([18.,  4.]))
    """
    cases = np.ceil(weight**2 / squares * (1.0 - ROUNDING))
    rate = forecast if rate is None else rate
    n_events = int(cases[rate > 0.0].sum())
    return ForecastTable(
        forecast=forecast,
        events=weight * rate,
        non_events=weight * (1.0 - rate),
        event_squares=squares * rate**2,
        non_event_squares=squares * (1.0 - rate) ** 2,
        n=n_events + int(cases[rate < 1.0].sum()),
        n_events=n_events,
    )
