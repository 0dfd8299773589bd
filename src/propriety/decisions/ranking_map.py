"""The model with the lowest regret on every threshold range, its margin, and whether the margin is noise."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit, ndtri

from propriety import checks
from propriety.checks import check_level
from propriety.decisions.ranking_moments import ModelMoments, PairMoments
from propriety.decisions.threshold_curve import REGRET_AXES, ThresholdAxis
from propriety.errors import InputValueError
from propriety.result import Floats, Result
from propriety.rules.families import BoundedBrier, BoundedLog
from propriety.rules.weights import IntervalWeight, read_grid, read_range
from propriety.tables.cases import Cases
from propriety.tables.labels import Labels
from propriety.tables.validation import Forecasts, read_cases

Names: TypeAlias = NDArray[np.str_]

RULES: dict[ThresholdAxis, type[BoundedBrier | BoundedLog]] = {"linear": BoundedBrier, "log-odds": BoundedLog}
THRESHOLDS = 41
MOST_SUMS = 2**17  # Most pairs of models times squared cells kept at a time, with 36 sums for each.
FEWEST = 5  # Events and non-events whose losses differ, with which a margin can be tested.
RAREST = 0.001  # First default threshold on the log-odds axis; the last is 1 minus this.
COLUMNS = ("low", "high", "winner", "runner_up", "regret", "margin", "standard_error", "is_noise")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class RankedInterval(Result):
    """The model with the lowest mean regret over one threshold range; the fields are those of `RankingMap`."""

    low: float
    high: float
    winner: str
    runner_up: str
    regret: float
    margin: float
    standard_error: float
    is_noise: bool
    regrets: Mapping[str, float]
    axis: ThresholdAxis
    level: float

    def columns(self) -> Mapping[str, list[Any]]:
        """Return one row, with a column for the regret of each model."""
        own = {f"regret {model}": [regret] for model, regret in self.regrets.items()}
        return {name: [getattr(self, name)] for name in COLUMNS} | own


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class RankingMap(Result):
    """The model with the lowest mean regret, one row per threshold range; see `ranking_map`.

    Parameters
    ----------
    low, high : ndarray of shape (intervals,)
        The ends of each interval.
    winner, runner_up : ndarray of shape (intervals,)
        The models with the lowest and the second lowest regret; in a tie, one of those tied.
    regret, margin : ndarray of shape (intervals,)
        Mean regret of the winner, and how much higher that of the runner-up is; 0 in a tie.
    standard_error, is_noise : ndarray of shape (intervals,)
        Standard error of the margin (NaN for a single case), and whether the margin is within z standard errors.
    regrets : ndarray of shape (intervals, models)
        Mean regret of each model.
    grid, models, axis, level
        The thresholds that bound the intervals, the names in the order given, and the arguments.
    n, dropped : int
        Number of cases with positive weight, and of rows left out because of missing values.
    marked : RankedInterval, optional
        The result for the decision maker's own range.
    """

    low: Floats
    high: Floats
    winner: Names
    runner_up: Names
    regret: Floats
    margin: Floats
    standard_error: Floats
    is_noise: NDArray[np.bool_]
    regrets: Floats
    grid: Floats
    models: tuple[str, ...]
    axis: ThresholdAxis
    level: float
    n: int
    dropped: int = 0
    marked: RankedInterval | None = None
    cases: Cases = field(metadata={"hidden": True})

    def columns(self) -> Mapping[str, NDArray[Any]]:
        """Return one row per interval, with a column for the regret of each model."""
        own = {f"regret {model}": self.regrets[:, place] for place, model in enumerate(self.models)}
        return {name: getattr(self, name) for name in COLUMNS} | own

    def at(self, thresholds: tuple[float, float]) -> RankedInterval:
        """Return the exact result for one threshold range, whose ends need not be on the grid.

        This takes another pass over the cases.

        Examples
        --------
        >>> ranking = ranking_map([0, 1, 0, 1], {"a": [0.1, 0.7, 0.2, 0.9], "b": [0.4, 0.4, 0.3, 0.6]})
        >>> answer = ranking.at((0.35, 0.5))
        >>> answer.winner, round(answer.margin, 6)
        ('a', 0.122917)
        """
        only = _rank(self.cases, _read_grid(read_range(thresholds), self.axis), self.axis, self.level)
        return RankedInterval(
            **{name: getattr(only, name).item() for name in COLUMNS},
            regrets=dict(zip(only.models, only.regrets[0].tolist(), strict=True)),
            axis=self.axis,
            level=self.level,
        )


def ranking_map(
    y_true: ArrayLike | Cases,
    forecasts: Forecasts | None = None,
    *,
    thresholds: tuple[float, float] | None = None,
    grid: ArrayLike | None = None,
    axis: ThresholdAxis = "linear",
    level: float = 0.95,
    sample_weight: ArrayLike | None = None,
    pos_label: Hashable | None = None,
    labels: Labels | None = None,
) -> RankingMap:
    r"""Rank models on every interval of thresholds by their mean regret over it.

    The regret of a model over the thresholds from low to high is :math:`\int R^*(c)\,dc / (\text{high} - \text{low})`,
    or on the log-odds axis :math:`\int R^*(c) / (c (1 - c))\,dc / (\operatorname{logit} \text{high} -
    \operatorname{logit} \text{low})`: the score of `BoundedBrier` or `BoundedLog`. With :math:`d_i` the loss of the
    runner-up minus that of the winner in case :math:`i`, the margin is :math:`\bar d = \sum w_i d_i / \sum w_i`, and
    its squared standard error :math:`\frac{n}{n - 1} \sum w_i^2 (d_i - \bar d)^2 / (\sum w_i)^2`.

    Parameters
    ----------
    y_true : array-like of shape (n,), or Cases
        Outcomes, or cases with the forecasts of two models or more; see `propriety.cases`.
    forecasts : mapping of str to array-like of shape (n,)
        Probability of the event by each model; two models or more.
    thresholds : (float, float), optional
        The range of probabilities at which somebody would act, to be marked; its ends need not be on the grid.
    grid : array-like, optional
        Thresholds that bound the intervals, in any order: by default 41, evenly spaced from 0 to 1, or evenly spaced in
        log-odds from 0.001 to 0.999. Use a narrow grid for rare events.
    axis : {"linear", "log-odds"}
        The axis on which thresholds are weighted uniformly.
    level : float
        Level at which a margin is distinguished from noise, strictly between 0 and 1.
    sample_weight, pos_label, labels
        As in `propriety.mean_score`.

    Returns
    -------
    RankingMap
        One row per interval.

    Notes
    -----
    `is_noise` compares the margin with its standard error, for one interval and one pair of models chosen in advance.
    Here the data choose the winner and there are many intervals, so a margin that is significant somewhere on the map
    is weaker evidence than the level says. A third model may have a higher regret than the runner-up and still not
    differ significantly from the winner, if its differences vary more. Formulas and cost: `docs/reference/methods.md`.

    References
    ----------
    Flores et al. (2025), theorems 3.3 and 3.4, arXiv:2504.04528, corrected; Diebold & Mariano (1995),
    doi:10.1080/07350015.1995.10524599, for the paired comparison.

    Examples
    --------
    >>> y, sharp, vague = [0, 1, 0, 1] * 5, [0.1, 0.7, 0.2, 0.9] * 5, [0.4, 0.4, 0.3, 0.6] * 5
    >>> ranking = ranking_map(y, {"sharp": sharp, "vague": vague}, grid=[0.2, 0.5, 0.8])
    >>> ranking.winner.tolist(), ranking.margin.round(4).tolist(), ranking.is_noise.tolist()
    (['sharp', 'sharp', 'sharp'], [0.1167, 0.1167, 0.1167], [False, False, True])
    """
    check_level(level)
    cases = read_cases(
        y_true,
        forecasts,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
        fewest=2,
        kind="event",
    )
    return ranking_of(cases, thresholds=thresholds, grid=grid, axis=axis, level=level)


def ranking_of(
    cases: Cases,
    *,
    thresholds: tuple[float, float] | None = None,
    grid: ArrayLike | None = None,
    axis: ThresholdAxis = "linear",
    level: float = 0.95,
) -> RankingMap:
    """Rank the models of checked cases; see `ranking_map`."""
    own = None if thresholds is None else read_range(thresholds)
    ranking = _rank(cases, _read_grid(grid, axis), axis, level)
    return ranking if own is None else replace(ranking, marked=ranking.at(own))


def _rank(cases: Cases, grid: Floats, axis: ThresholdAxis, level: float) -> RankingMap:
    models = cases.models
    weight = REGRET_AXES[axis](*grid[[0, -1]].tolist())
    moments = ModelMoments(len(models), grid, weight)
    for chunks in zip(*(cases.chunks(model) for model in models), strict=True):
        moments.add(chunks)
    starts, last_cells = np.triu_indices(len(grid) - 1)
    place = grid if axis == "linear" else logit(grid)
    width = place[last_cells + 1] - place[starts]
    regret = moments.regrets() / width
    winner, runner_up = np.argsort(regret, axis=0, kind="stable")[:2]
    each = np.arange(len(width))
    difference, error, fewest = _differences(cases, grid, weight, winner, runner_up)
    margin, error = np.abs(difference) / width, error / width
    return RankingMap(
        low=grid[starts],
        high=grid[last_cells + 1],
        winner=np.array(models)[winner],
        runner_up=np.array(models)[runner_up],
        regret=regret[winner, each],
        margin=margin,
        standard_error=error,
        # Not "less than": a tie has zero margin and zero error, and the error of a single case is NaN.
        is_noise=~(margin > ndtri(0.5 + level / 2.0) * error) | (fewest < FEWEST),
        regrets=regret.T,
        grid=grid,
        models=models,
        axis=axis,
        level=level,
        n=moments.n,
        dropped=cases.dropped,
        cases=cases,
    )


def _differences(
    cases: Cases, grid: Floats, weight: IntervalWeight, winner: NDArray[np.intp], runner_up: NDArray[np.intp]
) -> tuple[Floats, Floats, Floats]:
    """Return the mean difference of the two best models on each interval, its error, and the fewest cases that differ.

    This takes another pass over the cases. Only pairs that are best somewhere are computed, some at a time, which
    bounds the memory.
    """
    both = np.sort(np.stack([winner, runner_up]), axis=0)
    pairs, pair_of = np.unique(both, axis=1, return_inverse=True)
    pair_of = pair_of.reshape(-1)
    difference, error, fewest = (np.empty(len(winner)) for _ in range(3))
    most = max(MOST_SUMS // (len(grid) - 1) ** 2, 1)
    for start in range(0, pairs.shape[1], most):
        some: list[tuple[int, int]] = [(one, other) for one, other in pairs[:, start : start + most].T.tolist()]
        used = sorted({model for pair in some for model in pair})
        moments = PairMoments(some, grid, weight)
        for chunks in zip(*(cases.chunks(cases.models[model]) for model in used), strict=True):
            moments.add(dict(zip(used, chunks, strict=True)))
        here = np.flatnonzero((pair_of >= start) & (pair_of < start + most))
        means, errors = moments.differences()
        rows = pair_of[here] - start, here
        difference[here], error[here], fewest[here] = means[rows], errors[rows], moments.fewest()[rows]
    return difference, error, fewest


def _read_grid(grid: ArrayLike | None, axis: ThresholdAxis) -> Floats:
    checks.choice(axis, "axis", get_args(ThresholdAxis))
    if grid is None:
        even = np.linspace(logit(RAREST), -logit(RAREST), THRESHOLDS)
        return np.linspace(0.0, 1.0, THRESHOLDS) if axis == "linear" else np.asarray(expit(even))
    thresholds = np.unique(read_grid(grid))
    if len(thresholds) < 2:
        law = "must hold two different thresholds or more"
        raise InputValueError(law, argument="grid", offender=f"got {len(thresholds)}")
    RULES[axis](*thresholds[[0, -1]].tolist())  # This checks the ends.
    return thresholds
