"""A named function for each of the main rules; each is `mean_score` under that rule.

The shared arguments, from `y_true` to `tolerance`, are described once, in `mean_score`. The formula and the reference
are given with the rule.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Literal

from numpy.typing import ArrayLike

from propriety.result import Score
from propriety.rules.class_rules import (
    PenalizedBrier,
    PenalizedLog,
    RankedProbability,
    SquaredAbsoluteRankedProbability,
)
from propriety.rules.families import BoundedBrier, BoundedLog, BoundedNetBenefit, Brier, Log, Normalize, Spherical
from propriety.rules.rule import Ties
from propriety.rules.scoring import mean_score, paired_scores
from propriety.rules.weights import read_range
from propriety.tables.cases import Cases
from propriety.tables.forecast_table import Outcomes
from propriety.tables.labels import Labels


def brier_score(
    y_true: Outcomes,
    y_proba: ArrayLike | None = None,
    *,
    scale: Literal["sum", "half"] = "sum",
    sample_weight: ArrayLike | None = None,
    pos_label: Hashable | None = None,
    labels: Labels | None = None,
) -> Score:
    """Mean Brier score: of one component for an event (0 to 1), summed over three or more classes (0 to 2).

    ``scale="half"`` halves the score of classes; the formula is given in `Brier`.

    Examples
    --------
    >>> import propriety as pr
    >>> pr.brier_score([0, 1], [0.5, 1.0])
    Score(0.125, rule='Brier()', scale='one component, 0 to 1, lower is better', n=2)
    >>> pr.brier_score([0, 2], [[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    Score(0.25, rule='Brier()', scale='sum over classes, 0 to 2, lower is better', n=2)
    """
    return mean_score(
        y_true,
        y_proba,
        rule=Brier(scale=scale),
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
    )


def log_score(
    y_true: Outcomes,
    y_proba: ArrayLike | None = None,
    *,
    clip: float | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Hashable | None = None,
    labels: Labels | None = None,
) -> Score:
    """Mean logarithmic score in nats; infinite if an outcome with probability 0 happened.

    `clip` first clips the probabilities to [clip, 1 - clip], which the score records; see `Log`.

    Examples
    --------
    >>> import propriety as pr
    >>> pr.log_score([0, 1], [0.5, 0.0])
    Score(inf, rule='Log()', scale='0 to inf, lower is better', n=2)
    >>> pr.log_score([0, 1], [0.5, 0.0], clip=1e-6).rule
    'Log(clip=1e-06)'
    """
    return mean_score(
        y_true,
        y_proba,
        rule=Log(clip=clip),
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
    )


def spherical_score(
    y_true: Outcomes,
    y_proba: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Hashable | None = None,
    labels: Labels | None = None,
) -> Score:
    """Mean spherical score as a loss, from 0 to 1; see `Spherical`.

    Examples
    --------
    >>> import propriety as pr
    >>> round(pr.spherical_score([0, 1], [0.5, 1.0]), 6)
    0.146447
    """
    return mean_score(
        y_true,
        y_proba,
        rule=Spherical(),
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
    )


def ranked_probability_score(
    y_true: ArrayLike | Cases,
    y_proba: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    labels: Labels | None = None,
) -> Score:
    """Mean ranked probability score of ordered classes, from 0 to 1; see `RankedProbability`.

    Examples
    --------
    >>> import propriety as pr
    >>> grades = ["none", "mild", "severe"]
    >>> round(pr.ranked_probability_score(["mild"], [[0.3, 0.4, 0.3]], labels=grades), 6)
    0.09
    """
    return mean_score(
        y_true,
        y_proba,
        rule=RankedProbability(),
        sample_weight=sample_weight,
        labels=labels,
    )


def squared_absolute_ranked_probability_score(
    y_true: ArrayLike | Cases,
    y_proba: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    labels: Labels | None = None,
) -> Score:
    """Mean squared absolute RPS of ordered classes, from 0 to 1; improper for three classes or more.

    Use it to examine errors, not to elicit forecasts or rank forecasters; see `SquaredAbsoluteRankedProbability`.

    Examples
    --------
    >>> import propriety as pr
    >>> round(pr.squared_absolute_ranked_probability_score([1], [[0.45, 0.5, 0.05]]), 6)
    0.0625
    """
    return mean_score(
        y_true,
        y_proba,
        rule=SquaredAbsoluteRankedProbability(),
        sample_weight=sample_weight,
        labels=labels,
    )


def penalized_brier_score(
    y_true: ArrayLike | Cases,
    y_proba: ArrayLike | None = None,
    *,
    ties: Ties = "split",
    sample_weight: ArrayLike | None = None,
    labels: Labels | None = None,
) -> Score:
    """Mean penalised Brier score, under which a right decision always beats a wrong one; see `PenalizedBrier`.

    Examples
    --------
    >>> import propriety as pr
    >>> pr.penalized_brier_score([1], [[0.25, 0.75]])
    Score(0.125, rule='PenalizedBrier()', scale='0 to 2.5, lower is better', n=1)
    """
    return mean_score(
        y_true,
        y_proba,
        rule=PenalizedBrier(ties=ties),
        sample_weight=sample_weight,
        labels=labels,
    )


def penalized_log_score(
    y_true: ArrayLike | Cases,
    y_proba: ArrayLike | None = None,
    *,
    ties: Ties = "split",
    sample_weight: ArrayLike | None = None,
    labels: Labels | None = None,
) -> Score:
    """Mean penalised log score, under which a right decision always beats a wrong one; see `PenalizedLog`.

    Examples
    --------
    >>> import propriety as pr
    >>> round(pr.penalized_log_score([0], [[0.25, 0.75]]), 6)
    2.079442
    """
    return mean_score(
        y_true,
        y_proba,
        rule=PenalizedLog(ties=ties),
        sample_weight=sample_weight,
        labels=labels,
    )


def bounded_brier_score(
    y_true: Outcomes,
    y_proba: ArrayLike | None = None,
    *,
    thresholds: tuple[float, float],
    normalize: Normalize = "regret",
    sample_weight: ArrayLike | None = None,
    pos_label: Hashable | None = None,
    labels: Labels | None = None,
) -> Score:
    """Brier score over the thresholds from low to high; by default the mean regret over them.

    ``normalize="width"`` is twice that, the scale of published tables. "none" is the difference of clipped scores,
    which adds up over adjacent intervals; see `BoundedBrier`.

    Parameters
    ----------
    thresholds : (float, float)
        The lowest and the highest threshold at which you might act.

    Examples
    --------
    >>> import propriety as pr
    >>> pr.bounded_brier_score([0], [0.75], thresholds=(0.25, 0.5))
    Score(0.375, rule='BoundedBrier(low=0.25, high=0.5)', scale='0 to 0.625, lower is better', n=1)
    """
    return mean_score(
        y_true,
        y_proba,
        rule=BoundedBrier(*read_range(thresholds), normalize=normalize),
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
    )


def bounded_log_score(
    y_true: Outcomes,
    y_proba: ArrayLike | None = None,
    *,
    thresholds: tuple[float, float],
    normalize: Normalize = "regret",
    sample_weight: ArrayLike | None = None,
    pos_label: Hashable | None = None,
    labels: Labels | None = None,
) -> Score:
    """Log score over the thresholds from low to high; by default the mean regret, uniform in log-odds.

    ``normalize="none"`` is the difference of clipped scores; see `BoundedLog`.

    Parameters
    ----------
    thresholds : (float, float)
        The lowest and the highest threshold at which you might act.

    Examples
    --------
    >>> import propriety as pr
    >>> round(pr.bounded_log_score([1], [0.1], thresholds=(0.2, 0.5), normalize="none"), 6)
    0.916291
    """
    return mean_score(
        y_true,
        y_proba,
        rule=BoundedLog(*read_range(thresholds), normalize=normalize),
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
    )


def bounded_net_benefit(
    y_true: Outcomes,
    y_proba: ArrayLike | None = None,
    *,
    thresholds: tuple[float, float],
    normalize: Normalize = "regret",
    sample_weight: ArrayLike | None = None,
    pos_label: Hashable | None = None,
    labels: Labels | None = None,
) -> Score:
    """Mean net benefit over the thresholds from low to high; **higher is better**.

    It is the gain of acting on the forecast over never acting: the difference of their `BoundedNetBenefit`, and with
    ``normalize="none"`` that difference times the width of the interval. It weights thresholds differently from the
    Brier score, so the two can rank models differently.

    Parameters
    ----------
    thresholds : (float, float)
        The lowest and the highest threshold at which you might act.

    Examples
    --------
    >>> import propriety as pr
    >>> treat_all = pr.bounded_net_benefit([1, 1, 1, 0, 0], [1.0] * 5, thresholds=(0.1, 0.9))
    >>> round(treat_all, 6), treat_all.higher_is_better
    (-0.098612, True)
    """
    forgone, forgone_by_never_acting = paired_scores(
        y_true,
        y_proba,
        rule=BoundedNetBenefit(*read_range(thresholds), normalize=normalize),
        reference=0.0,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
    )
    width = "" if normalize != "none" else " times the width of the interval"
    return forgone.turned(forgone_by_never_acting - forgone, scale=f"at most the prevalence{width}")
