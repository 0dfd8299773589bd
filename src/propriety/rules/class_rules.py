"""Rules of rows of probabilities only: scores of ordered classes, and scores that never prefer a wrong answer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import ClassVar

from propriety import checks
from propriety.rules.families import TWO, at_outcome
from propriety.rules.operations import NUMPY, Column, Operations
from propriety.rules.rule import BinaryRule, ClassRule, Properties, Ties


@dataclass(frozen=True, slots=True, repr=False)
class RankedProbability(ClassRule):
    r"""Ranked probability score :math:`\frac{1}{K - 1} \sum_{k < K} (P_k - Y_k)^2`, from 0 to 1.

    :math:`P_k` and :math:`Y_k` are the cumulative forecast and outcome, so it is the mean over cut points of
    the Brier score of the event "y is at most this class".

    References
    ----------
    Epstein (1969), doi:10.1175/1520-0450(1969)008<0985:ASSFPF>2.0.CO;2.

    Examples
    --------
    >>> import propriety as pr
    >>> float(pr.mean_score([0], [[0.25, 0.75, 0.0]], rule=pr.RankedProbability()))
    0.28125
    """

    name: ClassVar[str] = "ranked_probability"
    label: ClassVar[str] = "ranked probability score"
    short: ClassVar[str] = "RPS"

    def properties(self, classes: int | None = None) -> Properties:
        """Return the claims: strictly proper and sensitive to distance."""
        return _ordinal(classes, proper=True, worst=1.0)

    def class_loss(self, p: Sequence[Column], *, outcome: Sequence[Column], ops: Operations = NUMPY) -> Column:
        """Return the mean squared difference of the cumulative forecast and outcome."""
        del ops
        return sum(gap * gap for gap in _gaps(p, outcome)) / (len(p) - 1.0)


@dataclass(frozen=True, slots=True, repr=False)
class SquaredAbsoluteRankedProbability(ClassRule):
    r"""Squared absolute RPS :math:`\bigl[\frac{1}{K - 1} \sum_{k < K} |P_k - Y_k|\bigr]^2`, from 0 to 1.

    The squared expected distance between a class drawn from the forecast and the class that happened, relative to the
    largest distance. It penalises far misses more and does not favour symmetry as RPS does, but it is **improper for
    three classes or more**: under the truth (1/3, 1/3, 1/3) the report (0, 1, 0) has an expected loss of 1/6, while the
    honest report has 11/54. Use it to examine errors, not to elicit or rank forecasts.

    References
    ----------
    Galdran (2023), equation 7, arXiv:2309.08701, normalised to [0, 1].

    Examples
    --------
    >>> import propriety as pr
    >>> float(pr.mean_score([0], [[0.0, 0.0, 1.0]], rule=pr.SquaredAbsoluteRankedProbability()))
    1.0
    """

    name: ClassVar[str] = "squared_absolute_ranked_probability"
    label: ClassVar[str] = "squared absolute ranked probability score"
    short: ClassVar[str] = "sa-RPS"

    def properties(self, classes: int | None = None) -> Properties:
        """Return the claims: sensitive to distance; proper with two classes only."""
        return _ordinal(classes, proper=classes in TWO, worst=1.0)

    def class_loss(self, p: Sequence[Column], *, outcome: Sequence[Column], ops: Operations = NUMPY) -> Column:
        """Return the squared mean absolute difference of the cumulative forecast and outcome."""
        distance = sum(ops.abs(gap) for gap in _gaps(p, outcome)) / (len(p) - 1.0)
        return distance * distance


@dataclass(frozen=True, slots=True, repr=False)
class RankedLog(ClassRule):
    r"""Ranked log score :math:`-\frac{1}{K - 1} \sum_{k < K} \log |P_k + Y_k - 1|`, in nats.

    The mean over cut points of the log score of the event "y is at most this class". It is strictly proper, sensitive
    to distance, and infinite if the forecast gives probability 0 to the side of a cut point on which the outcome lies.

    References
    ----------
    Tödter & Ahrens (2012), doi:10.1175/MWR-D-11-00266.1.

    Examples
    --------
    >>> import propriety as pr
    >>> round(pr.mean_score([1], [[0.25, 0.25, 0.5]], rule=pr.RankedLog()), 6)
    0.490415
    """

    name: ClassVar[str] = "ranked_log"
    label: ClassVar[str] = "ranked log score"
    short: ClassVar[str] = "ranked log"

    def properties(self, classes: int | None = None) -> Properties:
        """Return the claims: strictly proper and sensitive to distance."""
        return _ordinal(classes, proper=True, worst=math.inf)

    def class_loss(self, p: Sequence[Column], *, outcome: Sequence[Column], ops: Operations = NUMPY) -> Column:
        """Return the mean log score over cut points; upper tails are summed from above, which keeps their digits."""
        heads, reached = list(accumulate(p)), list(accumulate(outcome))
        tails = list(accumulate(reversed(p)))[-2::-1]
        sides = zip(heads, tails, reached, strict=False)
        return -sum(ops.log(ops.where(below > 0.5, head, tail)) for head, tail, below in sides) / (len(p) - 1.0)


def _gaps(p: Sequence[Column], outcome: Sequence[Column]) -> list[Column]:
    heads, reached = accumulate(p), accumulate(outcome)
    return [head - below for head, below in zip(heads, reached, strict=True)][:-1]


def _ordinal(classes: int | None, *, proper: bool, worst: float) -> Properties:
    return Properties(
        proper=proper,
        strictly_proper=proper,
        local=False,
        distance_sensitive=True,
        superior=classes in TWO,
        right_before_wrong=classes in TWO,
        best=0.0,
        worst=worst,
    )


@dataclass(frozen=True, slots=True, repr=False)
class Misclassification(BinaryRule, ClassRule):
    r"""Error of choosing the most probable class; a tie of :math:`t` classes counts as right with probability 1/t.

    For one event, a forecast of exactly 1/2 costs 1/2 either way. The rule is proper but far from strictly so: only the
    class with the largest probability matters.

    References
    ----------
    Dimitriadis, Gneiting & Jordan (2021), doi:10.1073/pnas.2016191118.

    Examples
    --------
    >>> import propriety as pr
    >>> float(pr.mean_score([1, 1, 0], [0.7, 0.5, 0.6], rule=pr.Misclassification()))
    0.5
    """

    name: ClassVar[str] = "misclassification"
    label: ClassVar[str] = "misclassification rate"

    @property
    def changes_between(self) -> tuple[float, float]:
        """One half, beyond which all forecasts have one loss."""
        return 0.5, 0.5

    def properties(self, classes: int | None = None) -> Properties:
        """Return the claims: proper and superior."""
        del classes
        return Properties(
            proper=True,
            strictly_proper=False,
            local=False,
            distance_sensitive=False,
            superior=True,
            right_before_wrong=True,
            best=0.0,
            worst=1.0,
            ties="split",
        )

    def loss(self, p: Column, *, event: bool, ops: Operations = NUMPY) -> Column:
        """Return 0, 1/2 or 1."""
        above, below = (0.0, 1.0) if event else (1.0, 0.0)
        return ops.where(p > 0.5, above, ops.where(p < 0.5, below, 0.5))

    def class_loss(self, p: Sequence[Column], *, outcome: Sequence[Column], ops: Operations = NUMPY) -> Column:
        """Return the share of the most probable classes that did not happen, or 1."""
        return missed(p, outcome, "split", ops)


@dataclass(frozen=True, slots=True, repr=False)
class PenalizedBrier(ClassRule):
    r"""Penalised Brier score: the sum over classes, plus :math:`(c - 1) / c` if the decision is wrong.

    The penalty is the largest Brier score that a right decision among :math:`c` classes can have, so that a right
    decision always scores better than a wrong one. The range is 0 to :math:`2 + (c - 1) / c`.

    Parameters
    ----------
    ties : {"split", "first", "correct"}
        What to do if the class that happened shares the largest probability with others. "split" counts the decision as
        right with probability one over the number of tied classes, and "first" decides for the first of them; both are
        strictly proper. "correct" counts it as right, as the authors' code does; that form is improper, because a
        uniform forecast is never penalised.

    References
    ----------
    Ahmadian et al. (2024), equation 4, arXiv:2407.17697.

    Examples
    --------
    >>> import propriety as pr
    >>> round(pr.mean_score([1], [[0.51, 0.49, 0.0]], rule=pr.PenalizedBrier()), 6)
    1.186867
    """

    name: ClassVar[str] = "penalized_brier"
    label: ClassVar[str] = "penalized Brier score"
    short: ClassVar[str] = "penalized Brier"

    ties: Ties = "split"

    def __post_init__(self) -> None:
        _check_ties(self.ties)

    def properties(self, classes: int | None = None) -> Properties:
        """Return the claims: superior, and strictly proper unless ties count as correct."""
        count = classes or 2
        return _penalized(self.ties, worst=2.0 + (count - 1.0) / count)

    def class_loss(self, p: Sequence[Column], *, outcome: Sequence[Column], ops: Operations = NUMPY) -> Column:
        """Return the Brier score with the penalty."""
        brier = sum((p_k - y_k) * (p_k - y_k) for p_k, y_k in zip(p, outcome, strict=True))
        return brier + (len(p) - 1.0) / len(p) * missed(p, outcome, self.ties, ops)


@dataclass(frozen=True, slots=True, repr=False)
class PenalizedLog(ClassRule):
    r"""Penalised log score: :math:`-\log p_y`, plus :math:`\log c` if the decision is wrong.

    The penalty is the largest log score that a right decision among :math:`c` classes can have.

    Parameters
    ----------
    ties : {"split", "first", "correct"}
        As in `PenalizedBrier`; "correct" is improper.

    References
    ----------
    Ahmadian et al. (2024), equation 5, arXiv:2407.17697.

    Examples
    --------
    >>> import propriety as pr
    >>> round(pr.mean_score([1], [[0.51, 0.49, 0.0]], rule=pr.PenalizedLog()), 6)
    1.811962
    """

    name: ClassVar[str] = "penalized_log"
    label: ClassVar[str] = "penalized log score"
    short: ClassVar[str] = "penalized log"

    ties: Ties = "split"

    def __post_init__(self) -> None:
        _check_ties(self.ties)

    def properties(self, classes: int | None = None) -> Properties:
        """Return the claims: strictly proper unless ties count as correct, and superior.

        A split tie of t classes costs log t + (1 - 1/t) log c. A right answer always beats it if t log t >= log c. With
        more than four classes it need not beat a tie of two, but it beats every wrong answer.
        """
        return _penalized(self.ties, worst=math.inf, superior=self.ties != "split" or (classes or 2) <= 4)

    def class_loss(self, p: Sequence[Column], *, outcome: Sequence[Column], ops: Operations = NUMPY) -> Column:
        """Return the log score with the penalty."""
        return math.log(len(p)) * missed(p, outcome, self.ties, ops) - ops.log(at_outcome(p, outcome))


def missed(p: Sequence[Column], outcome: Sequence[Column], ties: Ties, ops: Operations) -> Column:
    """Return 1 if the class that happened does not have the largest probability; ties count as `ties` says."""
    top = ops.maximum(*p)
    hit = at_outcome(p, outcome)
    if ties == "correct":
        return ops.where(hit >= top, 0.0, 1.0)
    leads = [ops.where(p_k >= top, 1.0, 0.0) for p_k in p]
    if ties == "split":
        return 1.0 - ops.where(hit >= top, 1.0, 0.0) / sum(leads)
    right: Column = 0.0
    undecided: Column = 1.0  # Becomes 0 at the first tied class, so that later ones do not count.
    for lead, y_k in zip(leads, outcome, strict=True):
        right = right + y_k * lead * undecided
        undecided = undecided * (1.0 - lead)
    return 1.0 - right


def _penalized(ties: Ties, *, worst: float, superior: bool = True) -> Properties:
    proper = ties != "correct"
    return Properties(
        proper=proper,
        strictly_proper=proper,
        local=False,
        distance_sensitive=False,
        superior=superior,
        right_before_wrong=superior,
        best=0.0,
        worst=worst,
        ties=ties,
    )


def _check_ties(ties: str) -> None:
    checks.choice(ties, "ties", ("split", "first", "correct"))
