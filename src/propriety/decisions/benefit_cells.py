"""Cases grouped by the decisions of all models at all thresholds, and what each group gains."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from propriety.ledger.ledger import Ledger
from propriety.result import Floats
from propriety.rules.weights import IntervalWeight
from propriety.tables.cases import Cases, Chunk

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

    def mean_and_number(self, own: Floats) -> tuple[Floats, Floats]:
        """Return the means of a value of each group by threshold, and the numbers of cases that have their errors."""
        return mean_and_number(own, self.count[:, None], self.spread[:, None])

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


class _Placed(NamedTuple):
    """Forecasts on the grid: the cell of each, its integral of regret, and the parts of the cell below and above it."""

    cell: NDArray[np.intp]
    value: Floats
    above: Floats
    below: Floats


class Cells:
    """The cells between neighbouring thresholds of a grid, with a weight on thresholds."""

    def __init__(self, grid: Floats, weight: IntervalWeight) -> None:
        self.grid, self.weight, self.size = grid, weight, len(grid) - 1
        self.edges = np.stack([weight.cost(grid[0], grid, event=event) for event in (False, True)])
        self.width = np.diff(self.edges)
        self.below = np.tri(self.size, k=-1)  # [j, a] is 1 where cell a lies below cell j.

    def place(self, forecast: Floats, event: NDArray[np.bool_]) -> _Placed:
        """Return the positions of forecasts on the grid."""
        clipped = np.clip(forecast, self.grid[0], self.grid[-1])
        cell = np.minimum(np.searchsorted(self.grid, clipped, side="right") - 1, self.size - 1)
        regrets = (self.weight.cost(self.grid[0], clipped, event=happened) for happened in (True, False))
        value = np.where(event, *regrets)
        kind = event.astype(np.intp)
        return _Placed(cell, value, self.edges[kind, cell + 1] - value, value - self.edges[kind, cell])


class ModelMoments:
    """Sums over cases of each model's loss on each cell."""

    def __init__(self, models: int, grid: Floats, weight: IntervalWeight) -> None:
        self.cells = Cells(grid, weight)
        self.n, self.weight = 0, 0.0
        self.loss = np.zeros((models, 2, 2, self.cells.size))

    def add(self, chunks: Sequence[Chunk]) -> None:
        """Add the same cases, with the forecasts of each model."""
        event, weight = chunks[0].outcome, chunks[0].weight
        self.n += len(event) if weight is None else int(np.count_nonzero(weight))
        self.weight += float(len(event) if weight is None else weight.sum())
        for place, chunk in enumerate(chunks):
            one = self.cells.place(chunk.forecast, event)
            key, part = event * self.cells.size + one.cell, np.where(event, one.above, one.below)
            self.loss[place] += _grouped(key, (1.0, part), weight, (2, self.cells.size))

    def regrets(self) -> Floats:
        """Return the mean regret of each model, summed over the cells of each interval."""
        count, part = self.loss[:, 0], self.loss[:, 1]
        width, below = self.cells.width, self.cells.below
        whole = width[1] * (count[:, 1] @ below.T) + width[0] * (count[:, 0] @ below)
        return _sum_cells(part.sum(axis=1) + whole) / self.weight


class PairMoments:
    """Sums over cases of the differences between the losses of two models on the cells, for some pairs of models.

    Of two forecasts, the lower lies in cell a and the higher in cell b. The losses differ on the part x of a above the
    lower one, the part z of b below the higher one, and all cells between. It therefore suffices to sum 1, x, z, x^2, x
    z and z^2 over the cases for each a and b, each sign of the difference and each outcome.
    """

    def __init__(self, pairs: Sequence[tuple[int, int]], grid: Floats, weight: IntervalWeight) -> None:
        self.cells, self.pairs = Cells(grid, weight), pairs
        self.n, self.weight, self.weight_squares = 0, 0.0, 0.0
        grouped = (2, 2, self.cells.size, self.cells.size)
        self.plain = np.zeros((len(pairs), 3, *grouped))
        self.squared = np.zeros((len(pairs), 6, *grouped))
        self.differing = np.zeros((len(pairs), *grouped[1:]))

    def add(self, chunks: Mapping[int, Chunk]) -> None:
        """Add the same cases, with the forecasts of each model of a pair."""
        event, weight = next((chunk.outcome, chunk.weight) for chunk in chunks.values())
        self.n += len(event) if weight is None else int(np.count_nonzero(weight))
        self.weight += float(len(event) if weight is None else weight.sum())
        self.weight_squares += float(len(event) if weight is None else (weight * weight).sum())
        placed = {model: self.cells.place(chunk.forecast, event) for model, chunk in chunks.items()}
        size, shape = self.cells.size, self.squared.shape[2:]
        for place, (first, second) in enumerate(self.pairs):
            one, other = placed[first], placed[second]
            lower = one.value < other.value
            together = one.cell == other.cell
            x = np.where(together, np.abs(one.value - other.value), np.where(lower, one.above, other.above))
            z = np.where(together, 0.0, np.where(lower, other.below, one.below))
            a, b = np.minimum(one.cell, other.cell), np.maximum(one.cell, other.cell)
            key = ((2 * (lower == event) + event) * size + a) * size + b
            parts = (1.0, x, z, x * x, x * z, z * z)
            squared = _grouped(key, parts, None if weight is None else weight * weight, shape)
            self.squared[place] += squared
            self.plain[place] += squared[:3] if weight is None else _grouped(key, parts[:3], weight, shape)
            differs = (one.value != other.value) if weight is None else (one.value != other.value) & (weight > 0.0)
            end = np.where(together | (z > 0.0), b, b - 1)  # The higher forecast may be at the lower edge of its cell.
            self.differing[place] += _grouped((event * size + a) * size + end, (differs,), None, shape[1:])[0]

    def differences(self) -> tuple[Floats, Floats]:
        """Return the mean difference of each pair on each interval, and its standard error."""
        mean = _sum_cells(self._by_cell(self.plain)) / self.weight
        if self.n == 1:
            return mean, np.full_like(mean, np.nan)
        squares = _sum_blocks(self._products()) + mean**2 * self.weight_squares
        squares -= 2.0 * mean * _sum_cells(self._by_cell(self.squared[:, :3]))
        return mean, np.sqrt(np.maximum(squares, 0.0) * (self.n / (self.n - 1))) / self.weight

    def fewest(self) -> Floats:
        """Return the number of events, or if smaller of non-events, whose losses differ on each interval."""
        first, last = np.triu_indices(self.cells.size)
        begun = np.cumsum(self.differing.sum(axis=-1), axis=-1)  # Differences that begin in a cell, or below it.
        ended = np.cumsum(self.differing.sum(axis=-2), axis=-1)
        before = np.concatenate([np.zeros_like(ended[..., :1]), ended[..., :-1]], axis=-1)
        return np.asarray((begun[..., last] - before[..., first]).min(axis=1))

    def _by_cell(self, sums: Floats) -> Floats:
        """Return the sum of the differences on each cell."""
        one, x, z = np.moveaxis(sums[:, :, 1] - sums[:, :, 0], 1, 0)
        below = self.cells.below
        across = np.diagonal(below @ one @ below, axis1=-2, axis2=-1)
        return np.asarray((self.cells.width * across + x.sum(axis=-1) + z.sum(axis=-2)).sum(axis=1))

    def _products(self) -> Floats:
        """Return the sums of products of the differences on each pair of cells, as an upper triangle."""
        one, x, z, xx, xz, zz = np.moveaxis(self.squared.sum(axis=2), 1, 0)
        width, below = self.cells.width, self.cells.below
        right, left = width[:, None, :], width[:, :, None]
        both = np.triu(left * (below @ one @ below) * right)
        mixed = np.triu(xz + (x @ below) * right + left * (below @ z), 1)
        ends = (xx.sum(axis=-1) + zz.sum(axis=-2))[..., None] * np.eye(self.cells.size)
        return np.asarray((both + mixed + ends).sum(axis=1))


def _grouped(key: NDArray[np.intp], parts: Sequence[Any], weight: Floats | None, shape: tuple[int, ...]) -> Floats:
    """Sum each part, times the weight, over the cases of each key."""
    weights = [part if weight is None else part * weight for part in parts]
    sums = [np.bincount(key, np.broadcast_to(one, key.shape), minlength=math.prod(shape)) for one in weights]
    return np.reshape(sums, (len(parts), *shape))


def _sum_cells(cells: Floats) -> Floats:
    """Sum the cells of every interval, from shape (..., cells)."""
    size = cells.shape[-1]
    from_each = np.triu(np.broadcast_to(cells[..., None, :], (*cells.shape, size)))
    return np.cumsum(from_each, axis=-1)[..., *np.triu_indices(size)]


def _sum_blocks(upper: Floats) -> Floats:
    """Sum symmetric products over all pairs of cells of every interval, from their upper triangle."""
    doubled = upper + np.triu(upper, 1)
    columns = np.cumsum(doubled[..., ::-1, :], axis=-2)[..., ::-1, :]
    return np.cumsum(columns, axis=-1)[..., *np.triu_indices(upper.shape[-1])]
