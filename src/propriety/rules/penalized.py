"""Misclassification, and scores that never prefer a wrong answer to a right one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from propriety import checks
from propriety.rules.families import at_outcome
from propriety.rules.operations import NUMPY, Column, Operations
from propriety.rules.rule import BinaryRule, ClassRule, Properties, Ties


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
