"""Cases grouped by the decisions of all models at all thresholds, and what each group gains."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from propriety.ledger.ledger import Ledger
from propriety.result import Floats
from propriety.tables.cases import Cases

NOTHING = 1e-9  # Standard errors below this share of the largest are rounding error.
BLOCK = 4_000_000  # Numbers drawn at once.
STICKS = 32  # Parts of the prior cases of an outcome; the share that is left out is about 2 ** -32.


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
    odds : ndarray of shape (thresholds,)
        Cost of a false positive, :math:`o = c / (1 - c)`.
    unit : ndarray of shape (2,)
        Size of one more non-event and of one more event: 1; with weights, the sum of the squared weights of such cases
        over the sum of their weights; with clusters, the design effect if that is larger.
    alike : ndarray of shape (models,)
        The first model with the same forecasts.
    n : float
        Number of cases; with weights, the effective one.
    counted : bool
        Whether the members are independent cases.
    """

    count: Floats
    spread: Floats
    size: Floats
    gain: Floats
    odds: Floats
    unit: Floats
    alike: NDArray[np.intp]
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

    def critical(self, contrast: Floats, level: float, noise: Floats) -> float:
        """Return the quantile of the largest standardised deviation of a contrast over the thresholds.

        `noise` are standard normal numbers of shape (draws, thresholds), from which the deviations are simulated.
        """
        usual = float(ndtri((1.0 + level) / 2.0))
        covariance = self.mean_products(contrast)
        error = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        varies = error > NOTHING * float(error.max())
        if not varies.any():
            return usual
        correlation = covariance[np.ix_(varies, varies)] / np.outer(error[varies], error[varies])
        values, vectors = np.linalg.eigh(correlation)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        largest = np.abs(noise[:, : len(values)] @ root.T).max(axis=1)
        return max(float(np.quantile(largest, level)), usual)

    def draws(self, draws: int, seed: int) -> Floats:
        r"""Draw net benefits from the posterior distribution, of shape (draws, strategies, thresholds).

        The sizes of the groups have gamma distributions with their counts as parameters, as in the Bayesian bootstrap
        of cases or clusters; with weights, the means and variances are those of the weighted bootstrap. To these, the
        `prior_cases` are added. At one threshold, the shares of cases with the same outcome and the same decisions of
        :math:`M` models then have a Dirichlet distribution with their counts plus :math:`2^{-M}` as parameters. The
        same numbers are used at all thresholds, so that curves are smooth.
        """
        generator = np.random.default_rng(seed)
        # Rounded, because NumPy draws in another way if a parameter, such as that of a single case, is exactly 1.
        parameter = np.round(self.count**2 / self.spread, 9)
        flat = self.gain.reshape(len(self.count), -1)
        found = np.empty((draws, flat.shape[1]))
        block = max(BLOCK // max(len(self.count), 2 * STICKS * len(self.alike)), 1)
        for first in range(0, draws, block):
            shape = (min(block, draws - first), len(self.count))
            weight = generator.standard_gamma(parameter, size=shape) * (self.spread / self.count)
            prior = prior_cases(self.alike, len(weight), generator) * self.unit[:, None]
            benefit = prior[:, 1, :, None] - self.odds * prior[:, 0, :, None]
            total = weight @ self.size + prior[:, :, -2].sum(axis=1)
            found[first : first + len(weight)] = (weight @ flat + benefit.reshape(len(weight), -1)) / total[:, None]
        return found.reshape(draws, *self.gain.shape[1:])


def prior_cases(alike: NDArray[np.intp], draws: int, generator: np.random.Generator) -> Floats:
    r"""Draw the prior numbers of non-events and events on which each strategy acts, of shape (draws, 2, strategies).

    The numbers of cases by outcome and decisions of :math:`M` models have independent gamma distributions with mean
    :math:`2^{-M}`: one event and one non-event, on half of which each model acts. This is Jeffreys' prior for one
    model, and adding models does not change the prior of the others. They are drawn by breaking sticks, which needs no
    list of all combinations of decisions.

    Parameters
    ----------
    alike : ndarray of shape (models,)
        The first model with the same forecasts, which makes the same decisions.
    draws : int
        Number of draws.
    generator : numpy.random.Generator
        Source of random numbers.

    References
    ----------
    Sethuraman (1994), Statistica Sinica 4, 639-650, for the sticks.

    Examples
    --------
    >>> found = prior_cases(np.array([0, 1]), 10_000, np.random.default_rng(1))
    >>> found.mean(axis=0).round(1)  # Of two models, treating all, and treating none.
    array([[0.5, 0.5, 1. , 0. ],
           [0.5, 0.5, 1. , 0. ]])
    """
    rest = np.cumprod(generator.random((draws, 2, STICKS)), axis=-1)
    part = -np.diff(rest, prepend=1.0) * generator.standard_exponential((draws, 2, 1))
    acted = generator.random((draws, 2, STICKS, len(alike)))[..., alike] < 0.5
    everybody = part.sum(axis=-1, keepdims=True)
    models = np.einsum("dok,dokm->dom", part, acted)
    return np.concatenate([models, everybody, np.zeros_like(everybody)], axis=-1)


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
    return BenefitCells(
        count=counts[kept],
        spread=spread[kept],
        size=np.ones(int(kept.sum())),
        gain=gain,
        odds=grid / (1.0 - grid),
        unit=np.array([sums[2].sum() / sums[0].sum(), sums[3].sum() / sums[1].sum()]) * worth,
        alike=np.zeros(1, dtype=np.intp),
        n=table.effective_n,
        counted=True,
    )


def cells_of_cases(cases: Cases, models: tuple[str, ...], grid: Floats) -> BenefitCells:
    """Group cases by outcome and by the thresholds that the forecast of each model reaches."""
    event = np.asarray(cases.outcomes(), dtype=bool)
    weight = cases.weights()
    # Sums of squares of an array in another layout are rounded in another way.
    weight = np.ones(len(event)) if weight is None else np.ascontiguousarray(weight, dtype=np.float64)
    forecasts = [cases.gathered(model).forecast for model in models]
    places = [np.searchsorted(grid, forecast, side="right") for forecast in forecasts]
    code: NDArray[np.intp] = event.astype(np.intp)
    for place in places:
        code = np.unique(code * (len(grid) + 1) + place, return_inverse=True)[1]
    first = np.unique(code, return_index=True)[1]
    acted = np.stack([place[first][:, None] > np.arange(len(grid)) for place in places], axis=1)
    gain = _gains(acted, event[first], grid)
    total, squares = float(weight.sum()), float(weight @ weight)
    n = total**2 / squares
    columns = np.bincount(event, weight), np.bincount(event, weight**2)
    shared = partial(
        BenefitCells, odds=grid / (1.0 - grid), alike=_first_equal(forecasts), n=n, counted=cases.cluster is None
    )
    unit = columns[1] / columns[0] * (n / total)
    if cases.cluster is None:
        count = np.bincount(code, weight).astype(np.float64) * (n / total)
        spread = np.bincount(code, weight**2).astype(np.float64) * (n / total) ** 2
        own = np.flatnonzero(count > 0.0)
        return shared(count=count[own], spread=spread[own], size=np.ones(len(own)), gain=gain[own], unit=unit)
    units = len(cases.cluster)
    table = np.zeros((units, len(first)))
    np.add.at(table, (cases.cluster.codes, code), weight * (n / total))
    table = table[table.any(axis=1)]
    ones = np.ones(len(table))
    unit = np.maximum(unit, _design_effects(table, gain))
    sums = np.tensordot(table, gain, axes=1)
    return shared(count=ones, spread=ones, size=table.sum(axis=1), gain=sums, unit=unit)


def _first_equal(forecasts: list[Floats]) -> NDArray[np.intp]:
    """Return for each model the first one with the same forecasts."""
    return np.array([next(i for i, one in enumerate(forecasts) if np.array_equal(one, own)) for own in forecasts])


def _design_effects(table: Floats, gain: Floats) -> Floats:
    """Return how much clusters inflate the variance of the shares of non-events and of events that are acted on.

    Parameters
    ----------
    table : ndarray of shape (clusters, cells)
        Number of cases of each cluster in each group.
    gain : ndarray of shape (cells, strategies, thresholds)
        Net benefit of the cases of each group.
    """
    size = table.sum(axis=1)
    found = []
    for acted in (gain < 0.0, gain > 0.0):
        number = np.tensordot(table, acted.astype(np.float64), axes=1).reshape(len(table), -1)
        share = number.sum(axis=0) / size.sum()
        away = number - size[:, None] * share
        found.append((away**2).sum() / (size.sum() * (share * (1.0 - share)).sum()))
    return np.array(found)


def _gains(acted: NDArray[np.bool_], event: NDArray[np.bool_], grid: Floats) -> Floats:
    """Return the net benefit of each group under each model, of acting on all and on none, at each threshold."""
    worth = np.where(event[:, None], 1.0, -grid / (1.0 - grid))[:, None, :]
    everybody = np.broadcast_to(worth, (len(event), 1, len(grid)))
    return np.concatenate([acted * worth, everybody, np.zeros_like(everybody)], axis=1)
