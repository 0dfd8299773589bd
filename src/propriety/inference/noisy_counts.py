"""Counts with noise from the discrete Laplace distribution, and bounds of weighted sums of the noise."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from propriety.result import Floats

__all__ = ["NoisyCounts"]

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
            step = points[:, None] * used
            # With both factors expanded, log M(s) = -log(1 - 2 a (cosh s - 1) / (1 - a)^2).
            share = math.exp(-one)
            total -= np.log1p(-4.0 * share * np.sinh(step / 2.0) ** 2 / (1.0 - share) ** 2).sum(axis=1)
        return largest * float((total / points).min())

    def bound_of_sum(self, number: int, risk: float) -> float:
        """Return a number that the sum of the noise of so many cells exceeds with at most this probability."""
        return self.bound(np.ones(number), risk)
