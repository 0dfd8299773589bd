"""Results of the tests of all pairs: adjusted p-values, verdicts and ranks. `comparison_words` writes the sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from propriety.inference.dependence import Estimates
from propriety.inference.estimates import ROUNDING
from propriety.inference.measures.measure import Measure
from propriety.result import Floats, Result

Names: TypeAlias = NDArray[np.str_]
Verdict: TypeAlias = Literal[
    "better",
    "worse",
    "different",
    "not distinguishable",
    "same",
    "no spread",
    "infinite",
    "one unit",
    "too few events",
    "not tested",
]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Standings(Result):
    """Value and ranks of each model, one row per model, the best first; see `compare`.

    Parameters
    ----------
    model : ndarray of shape (models,)
        Names.
    value, low, high, standard_error : ndarray of shape (models,)
        Value of the measure, its confidence limits and its standard error; NaN if unknown.
    rank, best_rank, worst_rank : ndarray of shape (models,)
        Rank of the value, 1 for the best, and the best and the worst rank that the tests do not exclude: after all
        models found to be better, and before all models found to be worse. With an ideal value, the rank is that of
        the distance from it; if it is not known which values are better, all have rank 1.
    measure : Measure
        The measure compared.
    level, n
        The level of the intervals and tests, and the number of cases.
    """

    model: Names
    value: Floats
    low: Floats
    high: Floats
    standard_error: Floats
    rank: NDArray[np.int64]
    best_rank: NDArray[np.int64]
    worst_rank: NDArray[np.int64]
    measure: Measure
    level: float
    n: int


class Pair(NamedTuple):
    """One row of a comparison; the fields are those of `Comparison`."""

    model: str
    reference: str
    difference: float
    low: float
    high: float
    standard_error: float
    p_value: float
    p_adjusted: float


class VerdictBasis(NamedTuple):
    """What verdicts are based on: the number of cases, of independent units and of pairs, and the level.

    For binary outcomes, `events` has the numbers of events and non-events.
    """

    n: int
    units: int
    unit: Literal["case", "cluster", "period"]
    pairs: int
    level: float
    measure: Measure
    events: tuple[int, int] | None = None


def holm(p_values: Floats) -> Floats:
    r"""Adjust p-values by Holm's method: the :math:`j`-th smallest of :math:`m` is multiplied by :math:`m - j + 1`.

    Adjusted p-values keep the order of the p-values and are at most 1. NaN means no test and is not counted.

    Examples
    --------
    >>> holm(np.array([0.01, 0.04, 0.03, np.nan]))
    array([0.03, 0.06, 0.06,  nan])
    """
    adjusted = np.full(len(p_values), np.nan)
    order = np.argsort(p_values)[: np.count_nonzero(~np.isnan(p_values))]
    multiplied = p_values[order] * np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(multiplied), 1.0)
    return adjusted


def verdict_on(pair: Pair, tested: VerdictBasis) -> Verdict:
    """Return the verdict of the test of a pair on the model, compared with the reference.

    Examples
    --------
    >>> from propriety.inference.measures.of_means import MeanScore
    >>> tested = VerdictBasis(1204, 1204, "case", 1, 0.95, MeanScore())
    >>> verdict_on(Pair("a", "b", -0.004, -0.007, -0.001, 0.0015, 0.01, 0.01), tested)
    'better'
    """
    difference, error, p_adjusted = (
        np.array([value]) for value in (pair.difference, pair.standard_error, pair.p_adjusted)
    )
    verdict: Any = verdicts_of(difference, error, p_adjusted, tested).item()
    return cast("Verdict", verdict)


def verdicts_of(difference: Floats, standard_error: Floats, p_adjusted: Floats, tested: VerdictBasis) -> Names:
    """Return the verdicts on pairs; see `verdict_on`."""
    merit = merit_of(tested.measure)
    reasons: dict[Verdict, NDArray[np.bool_]] = {
        "infinite": ~np.isfinite(difference),
        "same": (difference == 0.0) & (standard_error == 0.0),
        "one unit": np.full(len(difference), tested.units == 1),
        "no spread": standard_error == 0.0,
        "too few events": np.isnan(p_adjusted) & (tested.events is not None and min(tested.events) < 2),
        "not tested": np.isnan(p_adjusted),
        "not distinguishable": p_adjusted > 1.0 - tested.level,
        "different": np.full(len(difference), merit is None),
        "better": difference > 0.0 if merit == "higher" else difference < 0.0,
    }
    return np.select(list(reasons.values()), list(reasons), "worse")


def merit_of(measure: Measure) -> Literal["higher", "lower"] | None:
    """Return which values are better; None if there is an ideal value, or if the measure does not say.

    Examples
    --------
    >>> from propriety.inference.measures.of_means import MeanScore, Skill
    >>> from propriety.inference.measures.line import CalibrationSlope
    >>> [merit_of(measure) for measure in (MeanScore(), Skill(), CalibrationSlope())]
    ['lower', 'higher', None]
    """
    if measure.ideal is not None or measure.higher_is_better is None:
        return None
    return "higher" if measure.higher_is_better else "lower"


def standings_of(
    models: Sequence[str], values: Floats, found: Estimates, columns: Mapping[str, NDArray[Any]], tested: VerdictBasis
) -> Standings:
    """Rank models by their values, which come first in `found`, and by the columns of a comparison."""
    count = len(models)
    error, low, high = (column[:count] for column in (found.standard_error, found.low, found.high))
    value = values[:count]
    flat = error * math.sqrt(tested.units) <= ROUNDING * np.abs(value)
    order = np.argsort(np.array(models))
    model, reference = (
        order[np.searchsorted(np.array(models)[order], columns[name])] for name in ("model", "reference")
    )
    is_better, is_worse = (columns["verdict"] == verdict for verdict in ("better", "worse"))
    ahead = np.concatenate([model[is_better], reference[is_worse]])
    behind = np.concatenate([reference[is_better], model[is_worse]])
    better, worse = (np.bincount(places, minlength=count) for places in (ahead, behind))
    cost = _cost(value, tested.measure)
    slack = ROUNDING * np.where(np.isfinite(cost), np.abs(cost), 0.0)
    rank = 1 + (cost[:, None] - slack[:, None] > cost).sum(axis=1)
    order = np.argsort(rank, kind="stable")
    columns = {
        "model": np.array(models),
        "value": value,
        "low": np.where(flat, np.nan, low),
        "high": np.where(flat, np.nan, high),
        "standard_error": np.where(flat, 0.0, error),
        "rank": rank,
        "best_rank": 1 + worse,
        "worst_rank": count - better,
    }
    ordered = {name: column[order] for name, column in columns.items()}
    return Standings(**ordered, measure=tested.measure, level=tested.level, n=tested.n)


def _cost(value: Floats, measure: Measure) -> Floats:
    """Return numbers that are lower for better values: the distance from an ideal value, on the scale of the measure.

    Examples
    --------
    >>> from propriety.inference.measures.ratios import ObservedExpected
    >>> _cost(np.array([0.5, 1.9]), ObservedExpected()).round(2)
    array([0.69, 0.64])
    """
    ideal, merit = measure.ideal, merit_of(measure)
    if ideal is not None:
        with np.errstate(divide="ignore", invalid="ignore"):
            off: Floats = np.log(value / ideal) if measure.scale == "log" else value - ideal
        return np.abs(off)
    if merit is None:
        return np.zeros(len(value))
    return -value if merit == "higher" else value
