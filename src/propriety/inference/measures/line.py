"""Cox's line: the intercept and the slope of the log-odds of the event on those of the forecast."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.special import expit, logit

from propriety.calibration.calibration_test import log_weight_ratio, weighted_variance
from propriety.calibration.logistic import CoxLine, cox_line
from propriety.errors import UNDEFINED, InputValueError
from propriety.inference.measures.measure import Imagination, Influence, Measure
from propriety.inference.notes import Note
from propriety.result import Floats
from propriety.tables.forecast_table import ForecastTable

VarianceOf: TypeAlias = Callable[[Floats], Floats]


class _OfLine(Measure):
    """The common part of the coefficients of Cox's line, which has no place for forecasts of exactly 0 or 1."""

    higher_is_better = False

    def left_out(self, table: ForecastTable) -> Note | None:
        """Return how many forecasts have no log-odds."""
        certain = (table.forecast == 0.0) | (table.forecast == 1.0)
        if not certain.any():
            return None
        share = float(table.weights[certain].sum()) / table.weight
        return Note("certain", {"share": share, "weighted": table.is_weighted, "left_out": True})


@dataclass(frozen=True)
class CalibrationIntercept(_OfLine):
    r"""Intercept a of :math:`\operatorname{logit} P(Y = 1) = a + \operatorname{logit} p`; 0 if calibrated.

    Forecasts of exactly 0 or 1 have no log-odds and are left out; the note of an estimate says how many. The error of
    an estimate allows for a slope other than 1.

    References
    ----------
    Cox (1958), doi:10.1093/biomet/45.3-4.562.

    Examples
    --------
    >>> table = ForecastTable.from_predictions([0, 0, 0, 1] * 10, [0.5] * 40)
    >>> round(CalibrationIntercept().value(table), 4)
    -1.0986
    """

    key = "calibration_intercept"
    label = "calibration intercept"
    ideal = 0.0

    def value(self, table: ForecastTable) -> float:
        """Return the intercept."""
        return float(_line(table, slope=False).coefficients[0])

    def influence(self, table: ForecastTable) -> Influence:
        """Return the score of the fit divided by its information."""
        return _influence(table, slope=False)

    def imagination(self, table: ForecastTable) -> Imagination:
        """Return the fitted rates; the skewness of a canonical parameter is -2 times that of its influence."""
        return Imagination(rate=_fitted(table, slope=False)[0], skew=-2.0)

    def error_of_independent(self, table: ForecastTable, variance_of: VarianceOf | None = None) -> float:
        """Return the standard error, from the variance of outcomes at the fitted rates."""
        return _error(table, variance_of, slope=False)


@dataclass(frozen=True)
class CalibrationSlope(_OfLine):
    r"""Slope b of :math:`\operatorname{logit} P(Y = 1) = a + b \operatorname{logit} p`; 1 if calibrated.

    Forecasts of exactly 0 or 1 have no log-odds and are left out; the note of an estimate says how many.

    References
    ----------
    Cox (1958), doi:10.1093/biomet/45.3-4.562.

    Examples
    --------
    >>> table = ForecastTable.from_predictions([0, 0, 0, 1, 0, 1, 1, 1] * 10, [0.1] * 40 + [0.8] * 40)
    >>> round(CalibrationSlope().value(table), 4)
    0.0
    """

    key = "calibration_slope"
    label = "calibration slope"
    ideal = 1.0

    def value(self, table: ForecastTable) -> float:
        """Return the slope."""
        return float(_line(table, slope=True).coefficients[0])

    def influence(self, table: ForecastTable) -> Influence:
        """Return the score of the fit divided by its information."""
        return _influence(table, slope=True)

    def imagination(self, table: ForecastTable) -> None:
        """Return nothing: its error is that at the fitted rates already, and few events hardly skew it."""
        del table

    def error_of_independent(self, table: ForecastTable, variance_of: VarianceOf | None = None) -> float:
        """Return the standard error, from the variance of outcomes at the fitted rates."""
        return _error(table, variance_of, slope=True)


def _line(table: ForecastTable, *, slope: bool) -> CoxLine:
    line = cox_line(table, slope=slope)
    if not line.converged:
        raise InputValueError("the fit of the calibration line did not converge")
    return line


def _influence(table: ForecastTable, *, slope: bool) -> Influence:
    """Return the influence of a case on a coefficient of Cox's line: its score divided by the information."""
    rate, moved = _fitted(table, slope=slope)
    return Influence(table.weight * moved * (1.0 - rate), -table.weight * moved * rate)


def _fitted(table: ForecastTable, *, slope: bool) -> tuple[Floats, Floats]:
    """Return the fitted rate of each row, and how far a residual of 1 moves the coefficient.

    Rows with a forecast of exactly 0 or 1 do not move it.
    """
    line = _line(table, slope=slope)
    inside = (table.forecast > 0.0) & (table.forecast < 1.0)
    rate, moved = table.forecast.copy(), np.zeros(len(table))
    x = logit(table.forecast[inside])
    if slope:
        rate[inside] = expit(line.coefficients[0] * x + line.coefficients[1])
        moved[inside] = line.covariance[0, 0] * x + line.covariance[0, 1]
    else:
        rate[inside] = expit(x + line.coefficients[0])
        moved[inside] = line.covariance[0, 0]
    return rate, moved


def _error(table: ForecastTable, variance_of: VarianceOf | None, *, slope: bool) -> float:
    """Return the standard error of a coefficient; squared residuals would depend on the few of largest weight.

    `variance_of` returns the variance of the weighted residuals of each row from the rates of all rows.
    """
    rate, moved = _fitted(table, slope=slope)
    fitted = rate if slope else _rates_of_line(table, rate)
    if variance_of is not None:
        variance = variance_of(fitted)
    elif table.is_weighted:
        variance = weighted_variance(fitted, table.event_squares, table.non_event_squares, log_weight_ratio(table))
    else:
        variance = table.weights * fitted * (1.0 - fitted)
    squares = table.event_squares + table.non_event_squares
    return math.sqrt(float((variance + squares * (fitted - rate) ** 2) @ moved**2))


def _rates_of_line(table: ForecastTable, rate: Floats) -> Floats:
    """Return the rates of the line with a slope.

    If the slope is not 1, residuals from the line of slope 1 vary more, and differ between forecasts. Equal forecasts
    have no slope. If the fit has no maximum, because outcomes are separated, its limit has the observed rates.
    """
    try:
        return _fitted(table, slope=True)[0]
    except UNDEFINED:
        inside = (table.forecast > 0.0) & (table.forecast < 1.0)
        if np.count_nonzero(inside) < 2:
            return rate
        return np.where(inside, table.events / table.weights, rate)
