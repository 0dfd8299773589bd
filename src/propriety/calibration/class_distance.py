"""Miscalibration of class probabilities summed over the classes, corrected for noise."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from propriety.calibration.grouping import rows_of
from propriety.calibration.squared_distance import grouped_functions
from propriety.result import Floats
from propriety.tables.cases import Cases
from propriety.tables.events import Event
from propriety.tables.forecast_table import ForecastTable

__all__ = ["ClassDistance", "ClassPart", "class_distance", "part_of_class"]


class ClassDistance(NamedTuple):
    """The distance summed over the classes with its limits, and the uncorrected sign-free part of each class."""

    value: float
    low: float
    high: float
    of_class: Floats


class ClassPart(NamedTuple):
    """What one class adds: its distance, which noise can make negative, the fitted difference by row, and the noise."""

    distance: float
    fitted: Floats
    noise: float


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
    return ClassPart(distance, fitted, 2.0 * float((covariance**2).sum()))


def class_distance(cases: Cases, model: str, *, level: float) -> ClassDistance:
    r"""Estimate :math:`\sum_k E (P(Y = k \mid p_k) - p_k)^2` with limits, for independent cases.

    The sum is set to 0 if it is negative, not its terms, because the noise of many classes would then add up. With the
    residual r and the fitted difference d of each class, the variance of the sum is

    .. math:: \max\Bigl(\operatorname{var}\Bigl[\sum_k (2 r_k d_k - d_k^2)\Bigr] / n - v_0, v_0\Bigr) ,

    where :math:`v_0` is that of calibrated forecasts. The limits always contain the estimate.
    """
    linear = np.zeros(len(cases))
    parts, noise = [], 0.0
    for own in _classes(cases, model):
        forecast, happened, _ = own.gathered()
        table = ForecastTable.from_cases(own)
        part = part_of_class(table)
        fitted = part.fitted[rows_of(table, forecast)]
        linear += fitted * (2.0 * (happened - forecast) - fitted)
        parts.append(part.distance)
        noise += part.noise
    weight = cases.weights()
    share = np.full(len(cases), 1.0 / len(cases)) if weight is None else weight / weight.sum()
    centred = share * (linear - float(share @ linear))
    error = math.sqrt(max(float(centred @ centred) - noise, noise))
    value = max(math.fsum(parts), 0.0)
    half = float(ndtri(0.5 + level / 2.0)) * error
    return ClassDistance(value, max(math.fsum(parts) - half, 0.0), value + half, np.array(parts))


def _classes(cases: Cases, model: str) -> Iterator[Cases]:
    for place in range(cases.classes or 0):
        yield cases.event(Event("class", place), model)
