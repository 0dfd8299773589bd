"""Reporting delays of events: their distribution, estimated from events reported so far, and its error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from propriety.result import Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReportingDelays:
    r"""The share F of events reported by each age in days, and the errors of its logarithm.

    Parameters
    ----------
    share : ndarray of shape (ages,)
        F at ages 0, 1, ..., with 1 at the largest age.
    steps : ndarray of shape (ages,)
        Variance of each factor of F: the covariance of :math:`\log F(a)` and :math:`\log F(b)` is the sum of the
        steps after the larger of the two ages.
    """

    share: Floats
    steps: Floats

    def stretched(self, factor: float) -> ReportingDelays:
        """Return the distribution if all delays were longer by a factor.

        Examples
        --------
        >>> delays = ReportingDelays(share=np.array([0.2, 0.4, 1.0]), steps=np.zeros(3))
        >>> delays.stretched(2.0).share
        array([0.1, 0.2, 0.3])
        """
        days = np.arange(len(self.share) + 1)
        # A delay of d days is one of d to d + 1, so F(a) is the share reported after a + 1.
        share = np.interp(days[1:] / factor, days, np.append(0.0, self.share))
        return ReportingDelays(share=share, steps=self.steps)

    def variance(self, expected: Floats) -> Floats:
        r"""Return the covariance matrix of sums of :math:`e_a F(a)` due to the error of F.

        Parameters
        ----------
        expected : ndarray of shape (sums, ages)
            The sums :math:`e_a F(a)` at each age.
        """
        before = np.cumsum(expected, axis=1) - expected  # The sums over smaller ages, which a step affects.
        found: Floats = (before * self.steps) @ before.T
        return found


def estimate_delays(delay: NDArray[np.intp], age: NDArray[np.intp], count: Floats, ages: int) -> ReportingDelays:
    r"""Estimate the distribution of delays from events that have been reported.

    An event is seen only if its delay is at most its age (right truncation). With the number :math:`n_d` of delays of
    d days, and :math:`R_d` of those of at most d days among events of age d or more,

    .. math:: F(a) = \prod_{d > a} \left(1 - \frac{n_d}{R_d}\right), \qquad
              \operatorname{Var} \log F(a) \approx \sum_{d > a} \frac{n_d}{R_d (R_d - n_d)} ,

    the product-limit estimator of Lynden-Bell. It takes every event to be reported by the largest age.

    Parameters
    ----------
    delay, age : ndarray of int of shape (cells,)
        Delay of reported events and the age of their cases, in days.
    count : ndarray of shape (cells,)
        How many there are of each.
    ages : int
        Number of ages, from 0.

    References
    ----------
    Lynden-Bell (1971), doi:10.1093/mnras/155.1.95; Woodroofe (1985), doi:10.1214/aos/1176346584; Lagakos, Barraj &
    De Gruttola (1988), doi:10.1093/biomet/75.3.515, for delays of reports.

    Examples
    --------
    >>> found = estimate_delays(np.array([0, 0, 1]), np.array([0, 2, 2]), np.array([1.0, 2.0, 2.0]), 3)
    >>> found.share
    array([0.5, 1. , 1. ])
    """
    at = np.bincount(delay, count, minlength=ages)
    # Those of at most d days and of age d or more: entered at their delay, left after their age.
    at_risk = np.cumsum(at - np.append(0.0, np.bincount(age, count, minlength=ages)[:-1]))
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.where(at > 0.0, 1.0 - at / at_risk, 1.0)
        steps = np.where((at > 0.0) & (at_risk > at), at / (at_risk * (at_risk - at)), 0.0)
    share = np.append(np.cumprod(factor[:0:-1])[::-1], 1.0)
    return ReportingDelays(share=share, steps=steps)
