"""Limits and tests: the hull of what was seen, by Student's t, and of what the forecasts say may still happen."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc, gammaincc, gammainccinv, gammaincinv, ndtr, ndtri, stdtr, stdtrit

from propriety.inference.imagined import Imagined
from propriety.result import Floats

FLAT = 0.05  # With jumps below this share of the standard deviation, their distribution is taken as normal.


class _Jumps(NamedTuple):
    """The gamma distribution of imagined jumps: their signed size, their number and how many were seen."""

    size: Floats
    number: Floats
    seen: Floats
    deviation: Floats
    is_skewed: NDArray[np.bool_]


def _jumps(imagined: Imagined) -> _Jumps:
    with np.errstate(all="ignore"):  # Nothing can move the number, or it is not known.
        size = imagined.third / imagined.variance
        number = imagined.variance / size**2
        seen = np.maximum(number - imagined.centre / size, 0.0)
        deviation = np.sqrt(imagined.variance)
        return _Jumps(size, number, seen, deviation, np.abs(size) > FLAT * deviation)


def imagined_limits(value: Floats, imagined: Imagined, df: Floats | float, level: float) -> tuple[Floats, Floats]:
    r"""Return the limits of a number by the distribution of imagined outcomes; NaN if that is not known.

    With the variance v and the third moment :math:`k_3` of the imagined value, :math:`w = k_3 / v` is the size of a
    jump, :math:`N = v / w^2` the imagined number of jumps and :math:`K = \max(N + (m - c) / w, 0)` the number seen, for
    the observed value m and the imagined mean c. With the quantiles G of the gamma distribution, the limits are

    .. math:: m + w \, [G_K(\alpha / 2) - K], \qquad
              m + w \left[\frac{G_{K + 1}(1 - \alpha / 2)}{1 + b / N} - K\right] ,

    where the discount b is 0.2 for most measures.

    Examples
    --------
    Three events in 1,000 cases, of which the forecasts foresee three, have nearly Poisson's limits:

    >>> rate = Imagined(np.array(0.0), np.array(3e-6), np.array(3e-9))
    >>> [round(float(1000 * limit), 2) for limit in imagined_limits(np.array(0.003), rate, np.inf, 0.95)]
    [0.62, 8.22]
    """
    jumps = _jumps(imagined)
    z = stdtrit(df, 0.5 + level / 2.0)
    tail = ndtr(-z)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        near = np.where(jumps.seen > 0.0, gammaincinv(jumps.seen, tail), 0.0) - jumps.seen
        # The upper quantile from the upper tail, because 1 - tail is rounded to 1 with few degrees of freedom.
        far = gammainccinv(jumps.seen + 1.0, tail) / (1.0 + imagined.discount / jumps.number) - jumps.seen
        below = np.where(jumps.is_skewed, jumps.size * near, -z * jumps.deviation)
        above = np.where(jumps.is_skewed, jumps.size * far, z * jumps.deviation)
        return value + np.fmin(below, above), value + np.fmax(below, above)


def imagined_p_value(value: Floats, imagined: Imagined, df: Floats | float = np.inf) -> Floats:
    """Return the two-sided p-value of zero, at whose level `imagined_limits` reach zero."""
    jumps = _jumps(imagined)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        in_jumps = value / jumps.size
        at = np.maximum(jumps.seen - in_jumps, 0.0)
        skewed = np.where(
            in_jumps > 0.0,
            gammainc(jumps.seen, at),
            gammaincc(jumps.seen + 1.0, at * (1.0 + imagined.discount / jumps.number)),
        )
        tail = np.where(jumps.is_skewed, skewed, ndtr(-np.abs(value) / jumps.deviation))
        found: Floats = np.minimum(2.0 * stdtr(df, ndtri(tail)), 1.0)
    return found


def hull(first: tuple[Floats, Floats], second: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """Return the smallest interval that contains two others; one that is not known does not count."""
    return np.fmin(first[0], second[0]), np.fmax(first[1], second[1])
