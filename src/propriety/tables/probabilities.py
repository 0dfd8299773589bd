"""Forecasts as probabilities: between 0 and 1, and rows of classes that sum to one but for rounding."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety import demands
from propriety.result import Floats
from propriety.tables import laws

TOLERANCE = 1e-6  # Allowed deviation of a row sum from one, unless rounding explains more.
SINGLE = float(np.finfo(np.float32).eps)  # Libraries with half precision sum it in single precision.
ALL = slice(None)


def checked_forecast(
    whole: NDArray[Any],
    part: slice = ALL,
    *,
    argument: str,
    tolerance: float | None,
    rows: NDArray[np.intp] | None = None,
    hint: str = demands.ROW_SUM_HINT,
) -> Floats:
    """Check that forecasts are probabilities and return them as float64, of shape (cases,) or (K, cases).

    `tolerance` is the allowed deviation of row sums from one, and None for one event. Errors count the offenders among
    all forecasts and give their row numbers in the user's data, `rows`.
    """
    forecast = np.ascontiguousarray(whole[part].T, dtype=np.float64)
    if not laws.in_unit_interval(forecast):
        laws.refuse_forecasts(argument, whole, rows)
    if tolerance is not None:
        if whole.dtype.kind == "f":
            limits = np.finfo(whole.dtype)
            tolerance = max(tolerance, rounding_of_rows(len(forecast), eps=float(limits.eps), tiny=float(limits.tiny)))
        if not np.abs(forecast.sum(axis=0) - 1.0).max() <= tolerance:
            laws.refuse_row_sums(argument, whole, tolerance, rows, hint=hint)
    return forecast


def rounding_of_rows(classes: int, *, eps: float, tiny: float) -> float:
    r"""Return how far rounding can move the sum of a row of K probabilities from one.

    A row sum may deviate from one by the requested tolerance or by this bound, whichever is larger:

    .. math:: \epsilon + \sqrt{K} \min(\epsilon, 2^{-23}) + K \epsilon \tau

    with the machine epsilon :math:`\epsilon` of the number type and its smallest normal number :math:`\tau`. The first
    term is the rounding of the probabilities and of the sum by which a softmax divides. The second is the error of
    adding K terms, which grows with the square root of K and is made in single precision at worst. The third covers
    probabilities below :math:`\tau`, which have few significant digits or none.

    Parameters
    ----------
    classes : int
        Number of classes, K.
    eps, tiny : float
        As in `numpy.finfo` and `torch.finfo`.

    References
    ----------
    Higham & Mary (2019), doi:10.1137/18M1226312, for sums.

    Examples
    --------
    >>> single, half = np.finfo(np.float32), np.finfo(np.float16)
    >>> round(float(rounding_of_rows(32_000, eps=single.eps, tiny=single.tiny)), 7)
    2.14e-05
    >>> round(float(rounding_of_rows(10, eps=half.eps, tiny=half.tiny)), 5)
    0.00098
    """
    return eps + math.sqrt(classes) * min(eps, SINGLE) + classes * eps * tiny
