"""Measures of calibration: observed/expected, intercept, slope, and the distance from a smooth curve."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np
from scipy.special import expit, logit

from propriety.calibration.calibration_test import log_weight_ratio, weighted_variance
from propriety.calibration.logistic import CoxLine, cox_line
from propriety.calibration.smooth_calibration import calibration_index
from propriety.errors import UNDEFINED, InputValueError
from propriety.inference.measures import Influence, MeanScore
from propriety.result import Floats
from propriety.tables.forecast_table import ForecastTable

VarianceOf: TypeAlias = Callable[[Floats], Floats]


@dataclass(frozen=True, slots=True)
class ObservedExpected:
    """Observed/expected events; 1 if the forecasts are right on average, above 1 if they are too low.

    References
    ----------
    Debray et al. (2019), doi:10.1177/0962280218785504.

    Examples
    --------
    >>> ObservedExpected().value(ForecastTable.from_predictions([0, 1, 1], [0.25, 0.5, 0.25]))
    2.0
    """

    key: ClassVar[str] = "observed_expected"
    label: ClassVar[str] = "observed/expected"
    higher_is_better: ClassVar[bool] = False
    ideal: ClassVar[float] = 1.0
    scale: ClassVar[str] = "log"

    def value(self, table: ForecastTable) -> float:
        """Return the ratio."""
        if table.mean_forecast == 0.0:
            raise InputValueError("observed/expected needs forecasts above 0; all are 0")
        return table.event_rate / table.mean_forecast

    def influence(self, table: ForecastTable) -> Influence:
        """Return the derivative of the ratio of two means."""
        ratio, expected = self.value(table), table.mean_forecast
        with np.errstate(over="ignore"):  # Forecasts of almost 0.
            return Influence((1.0 - ratio * table.forecast) / expected, -ratio * table.forecast / expected)


@dataclass(frozen=True, slots=True)
class PredictedActual:
    """Predicted/actual events, the "calibration" of click models; 1 if the forecasts are right on average.

    It is the inverse of `ObservedExpected`: above 1, the forecasts are too high.

    References
    ----------
    He et al. (2014), doi:10.1145/2648584.2648589.

    Examples
    --------
    >>> PredictedActual().value(ForecastTable.from_predictions([0, 1, 1], [0.25, 0.5, 0.25]))
    0.5
    """

    key: ClassVar[str] = "predicted_actual"
    label: ClassVar[str] = "predicted/actual"
    higher_is_better: ClassVar[bool] = False
    ideal: ClassVar[float] = 1.0
    scale: ClassVar[str] = "log"

    def value(self, table: ForecastTable) -> float:
        """Return the ratio."""
        if not table.events.any():
            raise InputValueError("predicted/actual needs events; there are no events")
        return table.mean_forecast / table.event_rate

    def influence(self, table: ForecastTable) -> Influence:
        """Return the derivative of the ratio of two means."""
        ratio, rate = self.value(table), table.event_rate
        return Influence((table.forecast - ratio) / rate, table.forecast / rate)


@dataclass(frozen=True, slots=True)
class CalibrationIntercept:
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

    key: ClassVar[str] = "calibration_intercept"
    label: ClassVar[str] = "calibration intercept"
    higher_is_better: ClassVar[bool] = False
    ideal: ClassVar[float] = 0.0

    def value(self, table: ForecastTable) -> float:
        """Return the intercept."""
        return float(_line(table, slope=False).coefficients[0])

    def influence(self, table: ForecastTable) -> Influence:
        """Return the score of the fit divided by its information."""
        return _influence(table, slope=False)

    def error_of_independent(self, table: ForecastTable, variance_of: VarianceOf | None = None) -> float:
        """Return the standard error, from the variance of outcomes at the fitted rates."""
        return _error(table, variance_of, slope=False)


@dataclass(frozen=True, slots=True)
class CalibrationSlope:
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

    key: ClassVar[str] = "calibration_slope"
    label: ClassVar[str] = "calibration slope"
    higher_is_better: ClassVar[bool] = False
    ideal: ClassVar[float] = 1.0

    def value(self, table: ForecastTable) -> float:
        """Return the slope."""
        return float(_line(table, slope=True).coefficients[0])

    def influence(self, table: ForecastTable) -> Influence:
        """Return the score of the fit divided by its information."""
        return _influence(table, slope=True)

    def error_of_independent(self, table: ForecastTable, variance_of: VarianceOf | None = None) -> float:
        """Return the standard error, from the variance of outcomes at the fitted rates."""
        return _error(table, variance_of, slope=True)


@dataclass(frozen=True, slots=True)
class IntegratedCalibrationIndex:
    """Mean distance between the forecasts and their smooth calibration curve, ICI; lower is better.

    The curve and the interval are those of `ReliabilityCurve.smooth`. Noise inflates the value.

    References
    ----------
    Austin & Steyerberg (2019), doi:10.1002/sim.8281.

    Examples
    --------
    >>> y, p = ([0] * 9 + [1]) * 20 + ([0] * 4 + [1] * 6) * 20, [0.2] * 200 + [0.4] * 200
    >>> round(IntegratedCalibrationIndex().value(ForecastTable.from_predictions(y, p)), 4)
    0.15
    """

    key: ClassVar[str] = "ici"
    label: ClassVar[str] = "integrated calibration index"
    higher_is_better: ClassVar[bool] = False
    compare_instead: ClassVar[MeanScore] = MeanScore()
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def value(self, table: ForecastTable) -> float:
        """Return the mean distance."""
        return calibration_index(table, self.key)


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
