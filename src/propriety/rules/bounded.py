"""Scores restricted to the thresholds at which somebody would act: regret over a threshold range.

Each is an integral of the regret R*(c) over [low, high] with its own weight. Publications report different forms of the
integral, which `normalize` selects: "regret" is the mean regret over the interval; "width" is the difference of clipped
scores divided by the width of the interval on the score's own scale of thresholds; "none" is that difference itself.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

from propriety.errors import InputValueError
from propriety.rules.operations import NUMPY, Column, Operations
from propriety.rules.rule import BinaryRule, Properties
from propriety.rules.weights import IntervalWeight, LogOddsWeight, NetBenefitWeight, UniformWeight

Normalize = Literal["regret", "width", "none"]


@dataclass(frozen=True, slots=True, repr=False)
class _Bounded(BinaryRule):
    low: float
    high: float
    normalize: Normalize = "regret"

    def __post_init__(self) -> None:
        self.weight()  # This checks the thresholds.
        if self.normalize not in ("regret", "width", "none"):
            raise InputValueError(
                'must be "regret", "width" or "none"', argument="normalize", offender=f"got {self.normalize!r}"
            )

    @abstractmethod
    def weight(self) -> IntervalWeight:
        """Return the weight on thresholds that defines the rule."""

    @abstractmethod
    def divisor(self) -> float:
        """Return the divisor of the integral of the regret."""

    def loss(self, p: Column, *, event: bool, ops: Operations = NUMPY) -> Column:
        """Return the integral of the regret under the weight, divided as `normalize` says."""
        return self.weight().loss(p, event=event, ops=ops) / self.divisor()

    def properties(self, classes: int | None = None) -> Properties:
        """Return the claims: proper, and strictly proper only if the interval is [0, 1].

        If the interval contains 1/2, right answers score better than wrong ones. The rule is superior if a forecast of
        1/2 costs the same whether the event happens or not, as in an interval symmetric about 1/2 under the Brier and
        log scores.
        """
        del classes
        whole = self.low == 0.0 and self.high == 1.0
        around = self.low < 0.5 < self.high
        even = math.isclose(self.loss(0.5, event=True), self.loss(0.5, event=False), rel_tol=1e-12)
        return Properties(
            proper=True,
            strictly_proper=whole,
            superior=around and even,
            right_before_wrong=around,
            best=0.0,
            worst=float(max(self.loss(0.0, event=True), self.loss(1.0, event=False))),
        )


@dataclass(frozen=True, slots=True, repr=False)
class BoundedBrier(_Bounded):
    r"""Brier score over the thresholds in [low, high].

    With :math:`\hat p` the forecast clipped to the interval, the difference of clipped scores is
    :math:`(1 - \hat p)^2 - (1 - \text{high})^2` for an event and :math:`\hat p^2 - \text{low}^2` for a
    non-event; it is :math:`2 \int R^*(c)\,dc` over the interval.

    Parameters
    ----------
    low, high : float
        The thresholds at which somebody might act.
    normalize : {"regret", "width", "none"}
        Divide by 2 (high - low), which gives the mean regret over uniform thresholds; by high - low; or by nothing.

    References
    ----------
    Flores et al. (2025), theorem 3.3, arXiv:2504.04528, with the factor 2 that is missing there.

    Examples
    --------
    >>> import propriety as pr
    >>> float(pr.mean_score([0], [0.75], rule=pr.BoundedBrier(0.25, 0.5)))
    0.375
    """

    name: ClassVar[str] = "bounded_brier"
    label: ClassVar[str] = "bounded Brier score"
    short: ClassVar[str] = "bounded Brier"

    def weight(self) -> UniformWeight:
        """Return the weight 1."""
        return UniformWeight(self.low, self.high)

    def divisor(self) -> float:
        """Return the divisor; the regret is half the difference of clipped scores."""
        width = self.high - self.low
        return {"regret": width, "width": 0.5 * width, "none": 0.5}[self.normalize]


@dataclass(frozen=True, slots=True, repr=False)
class BoundedLog(_Bounded):
    r"""Log score over the thresholds in [low, high], with a uniform weight in log-odds.

    With :math:`\hat p` the forecast clipped to the interval, the difference of clipped scores is
    :math:`\log(\text{high} / \hat p)` for an event and
    :math:`\log\bigl((1 - \text{low}) / (1 - \hat p)\bigr)` for a non-event; it is
    :math:`\int R^*(c) / (c (1 - c))\,dc` over the interval.

    Parameters
    ----------
    low, high : float
        The thresholds at which somebody might act.
    normalize : {"regret", "width", "none"}
        Divide by the width in log-odds, logit(high) - logit(low), which gives the mean regret over thresholds uniform
        in log-odds ("regret" and "width" are the same here); or by nothing.

    References
    ----------
    Flores et al. (2025), theorem 3.4, arXiv:2504.04528, with the sign corrected.

    Examples
    --------
    >>> import propriety as pr
    >>> round(pr.mean_score([1], [0.1], rule=pr.BoundedLog(0.2, 0.5, normalize="none")), 6)
    0.916291
    """

    name: ClassVar[str] = "bounded_log"
    label: ClassVar[str] = "bounded log score"
    short: ClassVar[str] = "bounded log"

    def __post_init__(self) -> None:
        # The class is named because a slots dataclass replaces the class that a bare super() refers to.
        _Bounded.__post_init__(self)
        if self.normalize != "none" and (self.low == 0.0 or self.high == 1.0):
            law = "must lie strictly between 0 and 1 for a mean over log-odds"
            raise InputValueError(
                law,
                argument="thresholds",
                offender=f"they are ({self.low!r}, {self.high!r})",
                hint='narrow the interval, or pass normalize="none".',
            )

    def weight(self) -> LogOddsWeight:
        """Return the weight that is uniform in log-odds."""
        return LogOddsWeight(self.low, self.high)

    def divisor(self) -> float:
        """Return the width in log-odds, or one."""
        return 1.0 if self.normalize == "none" else self.weight().total()


@dataclass(frozen=True, slots=True, repr=False)
class BoundedNetBenefit(_Bounded):
    r"""Net benefit forgone over the thresholds in [low, high]: prevalence minus mean net benefit.

    Like every rule it is a loss: lower is better. `propriety.bounded_net_benefit` converts it to the mean net benefit,
    for which higher is better. With :math:`\hat p` the forecast clipped to the interval, the integral :math:`\int
    R^*(c) / (1 - c)\,dc` is :math:`\text{high} - \hat p` for an event and :math:`\text{low} - \hat p + \log\bigl((1 -
    \text{low}) / (1 - \hat p)\bigr)` for a non-event.

    Parameters
    ----------
    low, high : float
        The thresholds at which somebody might act; high < 1.
    normalize : {"regret", "width", "none"}
        Divide by the width of the interval ("regret" and "width" are the same here); or by nothing.

    References
    ----------
    Flores et al. (2025), theorem 3.7, arXiv:2504.04528, with the sign corrected; Vickers & Elkin (2006),
    doi:10.1177/0272989X06295361.

    Examples
    --------
    >>> import propriety as pr
    >>> float(pr.mean_score([1], [0.25], rule=pr.BoundedNetBenefit(0.0, 0.5)))
    0.5
    """

    name: ClassVar[str] = "bounded_net_benefit"
    label: ClassVar[str] = "bounded net benefit forgone"

    def __post_init__(self) -> None:
        _Bounded.__post_init__(self)
        if self.high == 1.0:
            law = "the upper threshold must be below 1 for net benefit, whose cost of a false alarm is c / (1 - c)"
            raise InputValueError(law)

    def weight(self) -> NetBenefitWeight:
        """Return the weight 1 / (1 - c)."""
        return NetBenefitWeight(self.low, self.high)

    def divisor(self) -> float:
        """Return the width of the interval, or one."""
        return 1.0 if self.normalize == "none" else self.high - self.low
