"""Scores for ordered classes, under which a near miss costs less than a far one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import ClassVar

from propriety.rules.families import TWO
from propriety.rules.operations import NUMPY, Column, Operations
from propriety.rules.rule import ClassRule, Properties


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
