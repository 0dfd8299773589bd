"""Errors of samples by outcome at fitted event rates, which use the forecasts of both samples for each of them."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import expit, logit

from propriety.calibration.calibration_errors import rows_of
from propriety.calibration.logistic import fit_logistic
from propriety.errors import InputValueError
from propriety.inference.measures.measure import Influence
from propriety.ledger.moments import MANY_EVENTS
from propriety.result import Floats
from propriety.tables.cases import Cases
from propriety.tables.forecast_table import ForecastTable

MOST_CASES = 2**17  # With more cases, the rates of a pair of models are not fitted.


def fitted_error(table: ForecastTable, influence: Influence) -> float:
    r"""Return the standard error of a measure of two samples, the events and the non-events, at fitted rates.

    A score of rare events depends on a few non-events with high forecasts. A sample of non-events with none of them has
    too small a variance, but the events have high forecasts more often. In both samples together, with :math:`n_1`
    events and :math:`n_0` non-events, the density of the forecasts is :math:`n_1 f_1 + n_0 f_0`, and the rate of events
    at a forecast is :math:`r = n_1 f_1 / (n_1 f_1 + n_0 f_0)`. So all cases with the weights :math:`1 - r` have the
    distribution :math:`f_0` of the non-events, and with the weights r that of the events, :math:`f_1`. With the rates
    :math:`\hat r_i` of a logistic regression of the outcome on the log-odds of the forecast, the variance among
    non-events is that of their influence :math:`g_i` over all cases with the weights :math:`1 - \hat r_i`, and that
    among events has the weights :math:`\hat r_i`. NaN if the rates cannot be fitted, or if both samples are large.

    The estimate is as good as the logistic regression. For the coverage of the larger of this error and that of the
    samples themselves, see `propriety.at_prevalence`.
    """
    events, others = table.n_events, table.n - table.n_events
    if min(events, others) < 2 or min(events, others) >= MANY_EVENTS:
        return math.nan
    of_event = table.events * (events / table.events.sum())
    of_other = table.non_events * (others / table.non_events.sum())
    rate = _rates([table.forecast], of_event, of_other)
    if rate is None:
        return math.nan
    number = of_event + of_other
    spreads = [_spread(part, number * share) for part, share in zip(influence, (rate, 1.0 - rate), strict=True)]
    squares = (float(table.event_squares.sum()), float(table.non_event_squares.sum()))
    return _error(spreads, squares, (events, others), table.weight)


def fitted_error_of_pair(
    cases: Cases, tables: tuple[ForecastTable, ForecastTable], influences: tuple[Influence, Influence]
) -> float:
    """Return the same for the difference of two models, also of large samples, with rates fitted to both log-odds."""
    table, event = tables[0], cases.outcomes()
    events, others = table.n_events, table.n - table.n_events
    if min(events, others) < 2 or len(cases) > MOST_CASES:
        return math.nan
    weight = np.ones(len(cases)) if cases.weight is None else np.asarray(cases.weight, dtype=np.float64)
    number = np.where(event, weight * events / weight[event].sum(), weight * others / weight[~event].sum())
    forecasts = [cases.gathered(model).forecast for model in cases.models]
    rate = _rates(forecasts, np.where(event, number, 0.0), np.where(event, 0.0, number))
    if rate is None:
        return math.nan
    rows = [rows_of(own, forecast) for own, forecast in zip(tables, forecasts, strict=True)]
    spreads = []
    for side, share in ((0, rate), (1, 1.0 - rate)):
        one, other = (influence[side][row] for influence, row in zip(influences, rows, strict=True))
        spreads.append(_spread(one - other, number * share))
    squares = (float((weight[event] ** 2).sum()), float((weight[~event] ** 2).sum()))
    return _error(spreads, squares, (events, others), float(weight.sum()))


def _rates(forecasts: list[Floats], events: Floats, others: Floats) -> Floats | None:
    """Return the rate of events at each forecast; at a forecast of 0 or 1 it is the observed one."""
    inside = np.all([(one > 0.0) & (one < 1.0) for one in forecasts], axis=0)
    columns = [logit(one[inside]) for one in forecasts]
    rate = events / (events + others)
    while columns:
        design = np.column_stack([*columns, np.ones(int(inside.sum()))])
        try:
            fit = fit_logistic(design, events[inside], others[inside])
        except InputValueError:  # The second column depends on the first, or one class is absent or separated.
            columns.pop()
            continue
        rate[inside] = expit(design @ fit.coefficients)
        return rate if fit.converged else None
    return None


def _spread(values: Floats, weight: Floats) -> float:
    """Return the weighted variance of values."""
    total = float(weight.sum())
    if not total > 0.0 or not np.isfinite(values).all():
        return math.nan
    mean = float(weight @ values) / total
    return float(weight @ (values - mean) ** 2) / total


def _error(spreads: list[float], squares: tuple[float, float], counts: tuple[int, int], total: float) -> float:
    parts = [v * one * n / (n - 1) for v, one, n in zip(spreads, squares, counts, strict=True)]
    return math.sqrt(sum(parts)) / total
