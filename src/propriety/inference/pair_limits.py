"""Limits and tests of the difference of two models: Student's t, and outcomes imagined where neither is favoured."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc, gammaincc, gammainccinv, gammaincinv, ndtr, ndtri, stdtr, stdtrit

from propriety.inference.imagined import Imagined
from propriety.inference.limits import FLAT
from propriety.inference.measures.measure import DISCOUNT
from propriety.result import Floats


class Seen(NamedTuple):
    """What the cases show of some differences, one entry each.

    Parameters
    ----------
    value, error, df : ndarray
        Differences, their standard errors, and the degrees of freedom of these.
    variance : ndarray
        Squared errors as if cases were independent.
    third, third_of_units : ndarray
        Third central moment of the difference as if cases were independent, and that of clusters or periods.
    """

    value: Floats
    error: Floats
    df: Floats
    variance: Floats
    third: Floats
    third_of_units: Floats

    @property
    def factor(self) -> Floats:
        """By how much correlation inflates the variance."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.fmax(np.where(self.variance > 0.0, self.error**2 / self.variance, 1.0), 1.0)


class PairLaw(NamedTuple):
    r"""The distribution of differences of two models, on the side to which rare outcomes point and on the other.

    With the variance v and the third moment of imagined differences, the size of a jump w and the numbers N imagined
    and K seen are those of `imagined_limits`. On the far side, to which jumps point, the limit is the farther of
    Student's and

    .. math:: w \, [G_{K + u}(1 - \alpha / 2) / d - K], \qquad u = \frac{0.4 N + 2}{N + 2},

    with a discount d. On the near side, Student's t is corrected for the skewness that was both seen and imagined:
    :math:`a (k - G_k(\alpha / 2))` with :math:`k = V / a^2`, the larger variance V and the smaller jump a.
    """

    seen: Seen
    sign: Floats
    jump: Floats
    number: Floats
    more: Floats
    discount: Floats
    is_skewed: NDArray[np.bool_]
    imagined: Floats
    largest: Floats
    small: Floats
    shape: Floats

    @classmethod
    def of(cls, seen: Seen, imagined: Imagined) -> PairLaw:
        """Return the law of differences from what was seen and what is imagined."""
        v, f = imagined.variance, seen.factor
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            jump = imagined.third / v
            sign = np.where(jump < 0.0, -1.0, 1.0)
            jump = np.abs(jump)
            number = v / jump**2
            is_skewed = jump > FLAT * np.sqrt(v)
            known = np.where(is_skewed, np.maximum(number - sign * imagined.centre / jump, 0.0), 1.0)
            more = (0.4 * number + 2.0) / (number + 2.0)
            discount = np.maximum(1.0 + 0.4 / (number + 4.0) + 0.02 / number**2, 1.0 + DISCOUNT / number)
            largest = np.maximum(seen.error**2, np.where(is_skewed, jump**2 * known, v))
            observed = np.fmin(
                np.nan_to_num(f * sign * seen.third / seen.variance),
                np.nan_to_num(sign * seen.third_of_units / seen.error**2),
            )
            small = np.clip(np.fmin(jump, observed), 0.0, None)
            small = np.where(small > FLAT * np.sqrt(largest), small, 0.0)
            shape = np.where(small > 0.0, largest / small**2, 1.0)
        return cls(seen, sign, jump, known, more, discount, is_skewed, v, largest, small, shape)

    def limits(self, level: float) -> tuple[Floats, Floats]:
        """Return the limits of the differences."""
        t = stdtrit(self.seen.df, 0.5 + level / 2.0)
        tail = ndtr(-t)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            jumps = self.jump * (gammainccinv(self.number + self.more, tail) / self.discount - self.number)
            far = np.fmax(t * self.seen.error, np.where(self.is_skewed, jumps, t * np.sqrt(self.imagined)))
            skewed = self.small * (self.shape - gammaincinv(self.shape, tail))
            near = np.where(self.small > 0.0, skewed, t * np.sqrt(self.largest))
        value, is_up = self.seen.value, self.sign > 0.0
        return np.where(is_up, value - near, value - far), np.where(is_up, value + far, value + near)

    def p_value(self) -> Floats:
        """Return the two-sided p-values of no difference, at whose level the limits reach zero."""
        size, df = np.abs(self.seen.value), self.seen.df
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            jumps = gammaincc(self.number + self.more, self.discount * (self.number + size / self.jump))
            normal = -size / np.sqrt(self.imagined)
            far = np.fmax(
                2.0 * stdtr(df, -size / self.seen.error),
                2.0 * stdtr(df, np.where(self.is_skewed, ndtri(jumps), normal)),
            )
            left = np.maximum(self.shape - size / self.small, 0.0)
            skewed = np.where(self.small > 0.0, ndtri(gammainc(self.shape, left)), -size / np.sqrt(self.largest))
            near = 2.0 * stdtr(df, skewed)
        return np.minimum(np.where(self.sign * self.seen.value < 0.0, far, near), 1.0)
