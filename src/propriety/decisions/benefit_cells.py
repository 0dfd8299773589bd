"""Cases grouped by the decisions of all models at all thresholds, and what each group gains."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from propriety.decisions.net_benefit_limits import mean_and_number
from propriety.ledger.ledger import Ledger
from propriety.result import Floats
from propriety.tables.cases import Cases

__all__ = ["BenefitCells", "cells_of_cases", "cells_of_ledger"]

BLOCK = 4_000_000  # Numbers drawn at once.


@dataclass(frozen=True, slots=True)
class BenefitCells:
    r"""Groups of cases, or clusters, of which all members have the same net benefit under every strategy.

    Parameters
    ----------
    count : ndarray of shape (cells,)
        Number of cases, or clusters, in each group; with weights, in units of the effective number of cases.
    spread : ndarray of shape (cells,)
        Sum of the squared weights of the cases in each group, in these units; without weights, their number.
    size : ndarray of shape (cells,)
        Number of cases of a member: 1, or the size of the cluster.
    gain : ndarray of shape (cells, strategies, thresholds)
        Net benefit of a member, summed over its cases: an event that is acted on counts 1, a non-event :math:`-o`.
    n : float
        Number of cases; with weights, the effective one.
    counted : bool
        Whether the members are independent cases.
    """

    count: Floats
    spread: Floats
    size: Floats
    gain: Floats
    n: float
    counted: bool

    @property
    def net_benefit(self) -> Floats:
        """Net benefit of each strategy at each threshold."""
        return np.asarray(np.einsum("j,jst->st", self.count, self.gain) / float(self.count @ self.size))

    def mean_products(self, contrast: Floats) -> Floats:
        """Return the covariance of contrasts between strategies over thresholds, times the number of cases.

        Parameters
        ----------
        contrast : ndarray of shape (strategies, thresholds)
            Weights of the strategies at each threshold.
        """
        own = np.einsum("jst,st->jt", self.gain, contrast)
        away = own - self.size[:, None] * (self.count @ own / float(self.count @ self.size))
        factor = 1.0 if self.counted else len(self.count) / max(len(self.count) - 1, 1)
        return np.asarray((away * self.spread[:, None]).T @ away * (factor / self.n))

    def mean_and_number(self, own: Floats) -> tuple[Floats, Floats]:
        """Return the means of a value of each group by threshold, and the numbers of cases that have their errors."""
        return mean_and_number(own, self.count[:, None], self.spread[:, None])

    def draws(self, draws: int, seed: int) -> Floats:
        """Draw net benefits from the posterior distribution, of shape (draws, strategies, thresholds).

        The shares of the groups have a Dirichlet distribution with their counts as parameters, which is the Bayesian
        bootstrap of cases or clusters. The shares of weighted groups have the same mean and variance as there.
        """
        generator = np.random.default_rng(seed)
        flat = self.gain.reshape(len(self.count), -1)
        found = np.empty((draws, flat.shape[1]))
        block = max(BLOCK // len(self.count), 1)
        for first in range(0, draws, block):
            shape = (min(block, draws - first), len(self.count))
            weight = generator.standard_gamma(self.count**2 / self.spread, size=shape) * (self.spread / self.count)
            found[first : first + len(weight)] = weight @ flat / (weight @ self.size)[:, None]
        return found.reshape(draws, *self.gain.shape[1:])


def cells_of_ledger(ledger: Ledger, grid: Floats) -> BenefitCells:
    """Group the cases of a ledger; without cases in memory it must have one model, whose table is used."""
    if ledger.cases is not None:
        return cells_of_cases(ledger.cases, ledger.models, grid)
    table = ledger.table(ledger.models[0])
    place = np.searchsorted(grid, table.forecast, side="right")
    worth = table.effective_n / table.weight
    columns = table.non_events, table.events, table.non_event_squares, table.event_squares
    sums = [np.bincount(place, column, minlength=len(grid) + 1).astype(np.float64) for column in columns]
    acted = np.arange(len(grid) + 1)[:, None] > np.arange(len(grid))
    event = np.repeat([False, True], len(grid) + 1)
    counts, spread = np.concatenate(sums[:2]) * worth, np.concatenate(sums[2:]) * worth**2
    kept = counts > 0.0
    gain = _gains(np.tile(acted, (2, 1))[kept][:, None], event[kept], grid)
    ones = np.ones(int(kept.sum()))
    return BenefitCells(counts[kept], spread[kept], ones, gain, table.effective_n, counted=True)


def cells_of_cases(cases: Cases, models: tuple[str, ...], grid: Floats) -> BenefitCells:
    """Group cases by outcome and by the thresholds that the forecast of each model reaches."""
    event = np.asarray(cases.outcomes(), dtype=bool)
    weight = cases.weights()
    # Sums of squares of an array in another layout are rounded in another way.
    weight = np.ones(len(event)) if weight is None else np.ascontiguousarray(weight, dtype=np.float64)
    places: Mapping[str, NDArray[np.intp]] = {
        model: np.searchsorted(grid, cases.gathered(model).forecast, side="right") for model in models
    }
    code: NDArray[np.intp] = event.astype(np.intp)
    for place in places.values():
        code = np.unique(code * (len(grid) + 1) + place, return_inverse=True)[1]
    first = np.unique(code, return_index=True)[1]
    acted = np.stack([place[first][:, None] > np.arange(len(grid)) for place in places.values()], axis=1)
    gain = _gains(acted, event[first], grid)
    total, squares = float(weight.sum()), float(weight @ weight)
    n = total**2 / squares
    if cases.cluster is None:
        count = np.bincount(code, weight).astype(np.float64) * (n / total)
        spread = np.bincount(code, weight**2).astype(np.float64) * (n / total) ** 2
        own = np.flatnonzero(count > 0.0)
        return BenefitCells(count[own], spread[own], np.ones(len(own)), gain[own], n, counted=True)
    units = len(cases.cluster)
    table = np.zeros((units, len(first)))
    np.add.at(table, (cases.cluster.codes, code), weight * (n / total))
    kept = table.any(axis=1)
    sums = np.einsum("uj,jst->ust", table[kept], gain)
    ones = np.ones(int(kept.sum()))
    return BenefitCells(ones, ones, table[kept].sum(axis=1), sums, n, counted=False)


def _gains(acted: NDArray[np.bool_], event: NDArray[np.bool_], grid: Floats) -> Floats:
    """Return the net benefit of each group under each model, of acting on all and on none, at each threshold."""
    worth = np.where(event[:, None], 1.0, -grid / (1.0 - grid))[:, None, :]
    everybody = np.broadcast_to(worth, (len(event), 1, len(grid)))
    return np.concatenate([acted * worth, everybody, np.zeros_like(everybody)], axis=1)
