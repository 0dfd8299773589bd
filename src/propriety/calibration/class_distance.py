"""Miscalibration of class probabilities summed over the classes, corrected for noise."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from propriety.calibration.squared_distance import grouped_functions
from propriety.result import Floats
from propriety.tables.cases import Cases
from propriety.tables.forecast_table import ForecastTable

ROUNDING = 1e-14  # Smaller distances are rounding error.


class ClassDistance(NamedTuple):
    """The distance summed over the classes with its limits, and the part of each class, which can be negative."""

    value: float
    low: float
    high: float
    of_class: Floats


class ClassPart(NamedTuple):
    """What one class adds: its distance, which noise can make negative, the fitted difference by row, and the noise.

    `spread` is the variance of the mean of :math:`2 r d - d^2` with residuals r and fitted differences d.
    """

    distance: float
    fitted: Floats
    noise: float
    spread: float


def part_of_class(table: ForecastTable) -> ClassPart:
    r"""Return the corrected squared distance of one class, without a limit at 0.

    The residuals are regressed on functions of the forecast as in `squared_distance`, without steps. With coefficients
    c, their covariance :math:`\hat C` and that of calibrated forecasts, :math:`C_0`, the distance is
    :math:`n (c^\top c - \operatorname{tr} \hat C) / (n - 1)`, and its noise if calibrated
    :math:`2 \operatorname{tr} C_0^2`.
    """
    groups = grouped_functions(table, 0)
    functions = np.column_stack([np.ones(len(groups.start)), groups.functions])
    p, total = table.forecast, table.weight
    residual = table.events * (1.0 - p) - table.non_events * p
    coefficients = functions.T @ np.add.reduceat(residual, groups.start) / total
    squares = table.event_squares * (1.0 - p) ** 2 + table.non_event_squares * p**2
    null = (table.event_squares + table.non_event_squares) * p * (1.0 - p)
    spent = float(np.add.reduceat(squares, groups.start) @ (functions**2).sum(axis=1)) / total**2
    covariance = (functions * np.add.reduceat(null, groups.start)[:, None]).T @ functions / total**2
    factor = table.n / max(table.n - 1.0, 1.0)
    distance = factor * (float(coefficients @ coefficients) - spent)
    fitted = np.repeat(functions @ coefficients, np.diff(groups.start, append=len(table)))
    return ClassPart(distance, fitted, 2.0 * float((covariance**2).sum()), _spread(table, fitted))


def _spread(table: ForecastTable, fitted: Floats) -> float:
    linear = [fitted * (2.0 * residual - fitted) for residual in (1.0 - table.forecast, -table.forecast)]
    mean = float(table.events @ linear[0] + table.non_events @ linear[1]) / table.weight
    squares = table.event_squares @ (linear[0] - mean) ** 2 + table.non_event_squares @ (linear[1] - mean) ** 2
    return float(squares) / table.weight**2


class DistanceSum:
    r"""Adds up :math:`\sum_k E (P(Y = k \mid p_k) - p_k)^2` class by class, for independent cases.

    The sum is set to 0 if it is negative, not its terms, because the noise of many classes would then add up. With the
    residual r and the fitted difference d of each class, the variance of the sum is

    .. math:: \max\Bigl(\operatorname{var}\Bigl[\sum_k (2 r_k d_k - d_k^2)\Bigr] / n - v_0, v_0\Bigr) ,

    where :math:`v_0` is that of calibrated forecasts. The limits always contain the estimate. Without the cases, the
    square root of the first variance is replaced by its upper bound, the sum of the standard errors of the classes.

    Parameters
    ----------
    weight : ndarray of shape (n,), optional
        Weights of the cases; None if the cases are not available.
    """

    def __init__(self, weight: Floats | None) -> None:
        self.share = None if weight is None else weight / weight.sum()
        self.linear = np.zeros(0 if weight is None else len(weight))
        self.parts: list[float] = []
        self.noise = self.errors = 0.0

    def add(self, table: ForecastTable, rows: NDArray[np.intp] | None = None, own: Cases | None = None) -> None:
        """Add a class, given its table and, if available, its cases and the row of each in the table."""
        part = part_of_class(table)
        self.parts.append(part.distance)
        self.noise += part.noise
        self.errors += math.sqrt(part.spread)
        if own is not None:
            forecast, happened, _ = own.gathered()
            fitted = part.fitted[rows]
            self.linear += fitted * (2.0 * (happened - forecast) - fitted)

    def result(self, level: float) -> ClassDistance:
        """Return the sum with its limits."""
        parts = np.array(self.parts)
        of_class = np.where(np.abs(parts) > ROUNDING, parts, 0.0)
        total, spread = math.fsum(of_class.tolist()), self.errors**2
        if self.share is not None:
            centred = self.share * (self.linear - float(self.share @ self.linear))
            spread = float(centred @ centred)
        half = float(ndtri(0.5 + level / 2.0)) * math.sqrt(max(spread - self.noise, self.noise))
        limits = max(total, 0.0), total - half, max(total, 0.0) + half
        value, low, high = (one if one > ROUNDING else 0.0 for one in limits)
        return ClassDistance(value, low, high, of_class)
