"""Counts with noise from the discrete Laplace distribution, and bounds of weighted sums of the noise."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from propriety.result import Floats

# Points at which Chernoff's bound is evaluated, as shares of the largest; the best of any points is a bound.
POINTS = np.geomspace(0.01, 0.97, 24)


class NoisyCounts(NamedTuple):
    """Sums of noisy counts over entries, of shape (cells, 2), and the scale of the noise in each entry."""

    counts: Floats
    epsilon: Floats

    def bound(self, weight: Floats, risk: float) -> float:
        r"""Return a number that the weighted sum of all noise exceeds with at most this probability.

        With :math:`a = e^{-\epsilon}`, noise has the moment generating function
        :math:`M(s) = (1 - a)^2 / ((1 - a e^s)(1 - a e^{-s}))`, and Chernoff's bound is

        .. math:: \min_s \frac1s \left(\sum_i \log M(s w_i) - \log \text{risk}\right) .

        Examples
        --------
        >>> noise = NoisyCounts(np.zeros((50, 2)), np.array([1.0]))
        >>> round(noise.bound(np.ones((50, 2)), 0.005), 1)
        44.9
        """
        largest = float(np.abs(weight).max(initial=0.0))
        if not len(self.epsilon) or largest == 0.0:
            return 0.0
        used = weight[weight != 0.0] / largest
        points = POINTS * float(self.epsilon.min())
        total = np.full(len(points), -math.log(risk))
        for one in self.epsilon.tolist():
            total += _log_moments(points[:, None] * used, one).sum(axis=1)
        return largest * float((total / points).min())

    def bounds_of_sums(self, most: int, risk: float) -> Floats:
        """Return the bounds of the sums of the noise of 0, 1, ..., `most` cells, each with this risk."""
        if not len(self.epsilon):
            return np.zeros(most + 1)
        points = POINTS * float(self.epsilon.min())
        grown = np.zeros(len(points))
        for one in self.epsilon.tolist():
            grown += _log_moments(points, one)
        bounds: Floats = ((np.arange(most + 1)[:, None] * grown - math.log(risk)) / points).min(axis=1)
        bounds[0] = 0.0
        return bounds


def _log_moments(step: Floats, epsilon: float) -> Floats:
    """Return the logarithm of the moment generating function of the noise, with both of its factors expanded."""
    share = math.exp(-epsilon)
    return np.asarray(-np.log1p(-4.0 * share * np.sinh(step / 2.0) ** 2 / (1.0 - share) ** 2))
