"""Confidence limits of net benefit that hold for few decisions: of a strategy, and of the difference of two."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from propriety.result import Floats


class NetBenefitLimits(NamedTuple):
    """Confidence limits and standard errors of net benefits."""

    low: Floats
    high: Floats
    standard_error: Floats


def limits_of_net_benefit(
    value: Floats, squares: Floats, n: Floats, odds: Floats, level: float, *, most: Floats
) -> NetBenefitLimits:
    r"""Return the limits of net benefits of independent, unweighted cases.

    .. math:: \mathrm{NB} = \frac{a_1 - o\, a_0}{n}, \qquad
              \operatorname{Var} \mathrm{NB} = \frac1n \left( \frac{a_1 + o^2 a_0}{n} - \mathrm{NB}^2 \right)

    with the events :math:`a_1` and non-events :math:`a_0` that are acted on. The limits and the standard error are
    those of :math:`a_1 + 1`, :math:`a_0 + 1` and :math:`n + 3`, an addition like that of Agresti and Coull for a share.

    Parameters
    ----------
    value, squares : ndarray
        Net benefit, and mean square of the net benefits of the cases, :math:`(a_1 + o^2 a_0) / n`.
    n : ndarray
        Number of cases.
    odds : ndarray
        Cost of a false positive, :math:`o = c / (1 - c)`.
    level : float
        Level of the limits.
    most : ndarray
        Upper confidence limit of the prevalence, which no net benefit exceeds.

    References
    ----------
    Agresti & Coull (1998), doi:10.1080/00031305.1998.10480550, for the idea.

    Examples
    --------
    >>> acted, odds, n = np.array([20.0, 30.0]), np.array([0.25]), np.array([100.0])
    >>> value, squares = (acted[0] - odds * acted[1]) / n, (acted[0] + odds**2 * acted[1]) / n
    >>> found = limits_of_net_benefit(value, squares, n, odds, 0.95, most=np.array([0.5]))
    >>> found.low.round(3), found.high.round(3)
    (array([0.041]), array([0.216]))
    """
    z, more = float(ndtri((1.0 + level) / 2.0)), n + 3.0
    centre = (n * value + 1.0 - odds) / more
    error = np.sqrt(np.maximum((n * squares + 1.0 + odds**2) / more - centre**2, 0.0) / more)
    low, high = np.minimum(centre - z * error, value), np.maximum(np.minimum(centre + z * error, most), value)
    return NetBenefitLimits(low, high, error)


def error_of_difference(value: Floats, squares: Floats, n: Floats, odds: Floats) -> Floats:
    r"""Return the standard error of differences in net benefit of independent, unweighted cases.

    It is that of :math:`d_1 + 1` events and :math:`d_0 + 1` non-events on which the decisions differ, half of those
    added in either direction, among :math:`n + 2` cases, in units of the difference in the sample. For the parameters,
    see `limits_of_net_benefit`.

    References
    ----------
    Agresti & Min (2005), doi:10.1002/sim.1781, for paired shares.

    Examples
    --------
    >>> n, odds = np.array([100.0]), np.array([0.25])
    >>> error_of_difference(np.array([0.0]), np.array([0.0]), n, odds).round(4)
    array([0.0103])
    """
    more = n + 2.0
    centre = n * value / more
    return np.asarray(np.sqrt(np.maximum((n * squares + 1.0 + odds**2) / more - centre**2, 0.0) / more) * (more / n))


def mean_and_number(value: Floats, weight: Floats, squares: Floats) -> tuple[Floats, Floats]:
    """Return the mean of a value of each group, and the number of cases of equal weight with the same error.

    The sums of the weights and of their squares have a row for each group; columns may be thresholds. Weights may
    depend on the outcome or on the forecast, so that no one number holds for all means.

    Examples
    --------
    >>> ones = np.ones((2, 1))
    >>> mean, number = mean_and_number(np.array([[1.0], [0.0]]), 10.0 * ones, 40.0 * ones)
    >>> mean, number
    (array([0.5]), array([5.]))
    """
    total = weight.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = (weight * value).sum(axis=0) / total
        away = (value - mean) ** 2
        spread = (weight * away).sum(axis=0) / total
        variance = (squares * away).sum(axis=0) / total**2
        return mean, np.where(variance > 0.0, spread / variance, total**2 / squares.sum(axis=0))


def wilson_limits(part: Floats, whole: Floats, level: float) -> tuple[Floats, Floats]:
    """Return Wilson's limits of a share; of nothing they are 0 and 1.

    References
    ----------
    Wilson (1927), doi:10.1080/01621459.1927.10502953.

    Examples
    --------
    >>> low, high = wilson_limits(np.array([0.0, 5.0]), np.array([10.0, 10.0]), 0.95)
    >>> low.round(3), high.round(3)
    (array([0.   , 0.237]), array([0.278, 0.763]))
    """
    z = float(ndtri((1.0 + level) / 2.0))
    with np.errstate(invalid="ignore", divide="ignore"):
        share = part / whole
        centre = (share + z * z / (2.0 * whole)) / (1.0 + z * z / whole)
        margin = z / (1.0 + z * z / whole) * np.sqrt(share * (1.0 - share) / whole + (z / (2.0 * whole)) ** 2)
    return np.where(part == 0.0, 0.0, centre - margin), np.where(part == whole, 1.0, centre + margin)
