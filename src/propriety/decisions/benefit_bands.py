"""Limits of net benefits and of gains: at each threshold by itself, and at all thresholds together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from propriety.decisions.benefit_cells import BenefitCells
from propriety.decisions.net_benefit_limits import error_of_difference, limits_of_net_benefit, wilson_limits
from propriety.result import Floats

NOTHING = 1e-9  # Standard errors below this share of the largest are rounding error.


@dataclass(frozen=True, slots=True)
class Bands:
    """Limits of every strategy of grouped cases.

    Parameters
    ----------
    cells : BenefitCells
        The cases.
    grid : ndarray of shape (thresholds,)
        The thresholds of the cells.
    level : float
        Level of the limits.
    noise : ndarray of shape (draws, thresholds)
        Standard normal numbers, from which the largest deviation over the thresholds is simulated.
    """

    cells: BenefitCells
    grid: Floats
    level: float
    noise: Floats

    def of(self, against: NDArray[np.intp] | None) -> Floats:
        """Return low, high, band low and band high of every strategy, minus a reference at each threshold if given."""
        strategies, thresholds = self.cells.gain.shape[1:]
        found = np.empty((4, strategies, thresholds))
        for place in range(strategies):
            contrast = np.zeros((strategies, thresholds))
            contrast[place] += 1.0
            if against is not None:
                contrast[against, np.arange(thresholds)] -= 1.0
            found[:, place] = self._limits(contrast)
        return found

    def _limits(self, contrast: Floats) -> Floats:
        covariance = self.cells.mean_products(contrast) / self.cells.n
        usual = float(ndtri((1.0 + self.level) / 2.0))
        limits = [*self._at(contrast, covariance, usual), *self._at(contrast, covariance, self._critical(covariance))]
        return np.stack(limits)

    def _at(self, contrast: Floats, covariance: Floats, critical: float) -> tuple[Floats, Floats]:
        """Return the limits with a critical value of the standardised deviation."""
        own = np.einsum("jst,st->jt", self.cells.gain, contrast)
        total = float(self.cells.count @ self.cells.size)
        value = self.cells.count @ own / total
        if not self.cells.counted:
            error = np.sqrt(np.maximum(np.diag(covariance), 0.0))
            return value - critical * error, value + critical * error
        squares, n = self.cells.count @ own**2 / total, self.cells.mean_and_number(own)[1]
        odds, level = self.grid / (1.0 - self.grid), 2.0 * float(ndtr(critical)) - 1.0
        if (contrast[:-2] < 0.0).any():
            error = error_of_difference(value, squares, n, odds)
            low, high = value - critical * error, value + critical * error
        else:
            # Over treating all, events that are missed are lost and non-events that are passed over are gained.
            sign = np.where(contrast[-2] < 0.0, -1.0, 1.0)
            limits = limits_of_net_benefit(sign * value, squares, n, odds, level, most=self._prevalence(level))
            low, high = np.sort([sign * limits.low, sign * limits.high], axis=0)
        still = ~(contrast[:-1] != 0.0).any(axis=0)  # The reference itself, and treating none, whose benefit is 0.
        return np.where(still, value, low), np.where(still, value, high)

    def _prevalence(self, level: float) -> Floats:
        """Return the upper limit of the prevalence; acting on everybody gains something in events only."""
        events = (self.cells.gain[:, -2, :1] > 0.0).astype(np.float64)
        share, n = self.cells.mean_and_number(events)
        return wilson_limits(share * n, n, level)[1]

    def _critical(self, covariance: Floats) -> float:
        """Return the quantile of the largest standardised deviation over the thresholds."""
        usual = float(ndtri((1.0 + self.level) / 2.0))
        error = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        varies = error > NOTHING * float(error.max())
        if not varies.any():
            return usual
        correlation = covariance[np.ix_(varies, varies)] / np.outer(error[varies], error[varies])
        values, vectors = np.linalg.eigh(correlation)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        largest = np.abs(self.noise[:, : len(values)] @ root.T).max(axis=1)
        return max(float(np.quantile(largest, self.level)), usual)
