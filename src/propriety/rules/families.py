"""The classic proper scores and their families, for one event and for K classes."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import ClassVar, Literal

from propriety import checks
from propriety.errors import InputValueError
from propriety.rules.operations import NUMPY, Column, Operations
from propriety.rules.rule import BinaryRule, ClassRule, Properties
from propriety.rules.weights import BetaWeight, IntervalWeight, LogOddsWeight, NetBenefitWeight, UniformWeight

TWO = (None, 2)  # Two classes: one event, or two columns.


def symmetric(classes: int | None, *, worst: float, local: bool = False) -> Properties:
    """Declare the properties of a strictly proper rule that treats all classes alike.

    With two classes such a rule is superior, because its loss decreases strictly with the probability of the class that
    happened, in the same way for both. With more classes it is not.
    """
    return Properties(
        proper=True,
        strictly_proper=True,
        local=local,
        distance_sensitive=False,
        superior=classes in TWO,
        right_before_wrong=classes in TWO,
        best=0.0,
        worst=worst,
    )


@dataclass(frozen=True, slots=True, repr=False)
class Brier(BinaryRule, ClassRule):
    r"""Brier score: :math:`(p - y)^2` for one event, :math:`\sum_k (p_k - y_k)^2` for K classes.

    A 1-D forecast is scored by its one component, from 0 to 1. Class probabilities are scored by the sum over classes,
    from 0 to 2, or with ``scale="half"`` by half of it, from 0 to 1. For two classes the half equals the one-component
    score.

    Parameters
    ----------
    scale : {"sum", "half"}
        Unit in which class probabilities are scored; ``"half"`` is scikit-learn's ``scale_by_half=True``.

    References
    ----------
    Brier (1950), doi:10.1175/1520-0493(1950)078<0001:VOFEIT>2.0.CO;2.

    Examples
    --------
    >>> import propriety as pr
    >>> float(pr.mean_score([1], [0.7], rule=pr.Brier()))
    0.09000000000000002
    >>> float(pr.mean_score([1], [[0.25, 0.75, 0.0]], rule=pr.Brier()))
    0.125
    """

    name: ClassVar[str] = "brier"
    label: ClassVar[str] = "Brier score"
    short: ClassVar[str] = "Brier"
    is_even_at_mean: ClassVar[bool] = True

    scale: Literal["sum", "half"] = "sum"

    def __post_init__(self) -> None:
        checks.choice(self.scale, "scale", ("sum", "half"))

    def properties(self, classes: int | None = None) -> Properties:
        """Return the claims: strictly proper; superior with two classes only."""
        return symmetric(classes, worst=2.0 if classes and self.scale == "sum" else 1.0)

    def units(self, classes: int | None = None) -> str:
        """Return the scale: one component, the sum over classes, or half of it."""
        if classes is None:
            return "one component, 0 to 1"
        return "sum over classes, 0 to 2" if self.scale == "sum" else "half the sum over classes, 0 to 1"

    def loss(self, p: Column, *, event: bool, ops: Operations = NUMPY) -> Column:
        """Return the squared distance to the outcome."""
        del ops
        error = 1.0 - p if event else p
        return error * error

    def case_loss(self, p: Column, event: Column, *, ops: Operations = NUMPY) -> Column:
        """Return the squared distance to the outcome, for each case."""
        error = ops.number(event) - p
        return error * error

    def class_loss(self, p: Sequence[Column], *, outcome: Sequence[Column], ops: Operations = NUMPY) -> Column:
        """Return the squared distance to the outcome, summed over classes."""
        del ops
        total = sum((p_k - y_k) * (p_k - y_k) for p_k, y_k in zip(p, outcome, strict=True))
        return total if self.scale == "sum" else 0.5 * total


BRIER = Brier()  # The default rule of functions that take any.


@dataclass(frozen=True, slots=True, repr=False)
class Log(BinaryRule, ClassRule):
    r"""Logarithmic score :math:`-\log p_y`, in nats.

    With three classes or more it is, up to affine transformations, the only strictly proper score that is local; with
    two classes every score is local. The loss is infinite if an event with a forecast of 0 happens.

    Parameters
    ----------
    clip : float, optional
        Clip probabilities to [clip, 1 - clip] first. The score is then bounded and no longer strictly proper. With
        three classes or more it is not even proper, because a class below `clip` is charged for twice.

    References
    ----------
    Good (1952), doi:10.1111/j.2517-6161.1952.tb00104.x.

    Examples
    --------
    >>> import propriety as pr
    >>> float(pr.mean_score([1, 0], [0.5, 0.75], rule=pr.Log()))
    1.0397207708399179
    >>> float(pr.mean_score([1], [0.0], rule=pr.Log()))
    inf
    """

    name: ClassVar[str] = "log"
    label: ClassVar[str] = "log score"
    short: ClassVar[str] = "log"

    clip: float | None = None

    def __post_init__(self) -> None:
        if self.clip is not None:
            checks.number(self.clip, "clip", above=0.0, below=0.5)

    def properties(self, classes: int | None = None) -> Properties:
        """Return the claims: strictly proper and local, unless clipped."""
        if self.clip is None:
            return symmetric(classes, worst=math.inf, local=True)
        return Properties(
            proper=classes in TWO,  # Two probabilities clipped at both ends still sum to one.
            strictly_proper=False,
            local=True,
            distance_sensitive=False,
            superior=classes in TWO,
            right_before_wrong=classes in TWO,
            best=-math.log1p(-self.clip),
            worst=-math.log(self.clip),
        )

    def loss(self, p: Column, *, event: bool, ops: Operations = NUMPY) -> Column:
        """Return minus the logarithm of the probability given to what happened."""
        return self.clipped(-ops.log(p) if event else -ops.log1p(-p), ops)

    def case_loss(self, p: Column, event: Column, *, ops: Operations = NUMPY) -> Column:
        """Return minus the logarithm of the probability given to what happened, for each case."""
        return self.clipped(-ops.log_likelihood(p, event), ops)

    def class_loss(self, p: Sequence[Column], *, outcome: Sequence[Column], ops: Operations = NUMPY) -> Column:
        """Return minus the logarithm of the probability given to the class that happened."""
        return self.clipped(-ops.log(at_outcome(p, outcome)), ops)

    def clipped(self, loss: Column, ops: Operations) -> Column:
        """Clip the loss as clipping the probability would; 1 - clip may not be representable as a float."""
        return loss if self.clip is None else ops.clip(loss, -math.log1p(-self.clip), -math.log(self.clip))


@dataclass(frozen=True, slots=True, repr=False)
class Spherical(BinaryRule, ClassRule):
    r"""Spherical score as a loss: :math:`1 - p_y / \lVert p \rVert_2`, from 0 to 1.

    A 1-D forecast is scored as the row (1 - p, p). The code uses an equivalent form that avoids the difference of two
    nearly equal numbers: with :math:`r = \sum_{k \ne y} p_k^2`, the loss is
    :math:`r / (\lVert p \rVert (\lVert p \rVert + p_y))`.

    References
    ----------
    Gneiting & Raftery (2007), doi:10.1198/016214506000001437.

    Examples
    --------
    >>> import propriety as pr
    >>> round(pr.mean_score([0], [[0.5, 0.5]], rule=pr.Spherical()), 6)
    0.292893
    """

    name: ClassVar[str] = "spherical"
    label: ClassVar[str] = "spherical score"
    short: ClassVar[str] = "spherical"

    def properties(self, classes: int | None = None) -> Properties:
        """Return the claims: strictly proper; superior with two classes only."""
        return symmetric(classes, worst=1.0)

    def loss(self, p: Column, *, event: bool, ops: Operations = NUMPY) -> Column:
        """Return one minus the cosine between the forecast (1 - p, p) and the outcome."""
        hit, miss = (p, 1.0 - p) if event else (1.0 - p, p)
        norm = ops.power(hit * hit + miss * miss, 0.5)
        return miss * miss / (norm * (norm + hit))

    def class_loss(self, p: Sequence[Column], *, outcome: Sequence[Column], ops: Operations = NUMPY) -> Column:
        """Return one minus the cosine between the forecast and the outcome."""
        hit = at_outcome(p, outcome)
        rest = sum(p_k * p_k * (1.0 - y_k) for p_k, y_k in zip(p, outcome, strict=True))
        norm = ops.power(hit * hit + rest, 0.5)
        return rest / (norm * (norm + hit))


@dataclass(frozen=True, slots=True, repr=False)
class Pseudospherical(BinaryRule, ClassRule):
    r"""Pseudospherical family :math:`\bigl(1 - (p_y / \lVert p \rVert_\beta)^{\beta - 1}\bigr) / (\beta - 1)`.

    Order 2 is the spherical score; as the order decreases to 1, it becomes the log score. A 1-D forecast is scored as
    the row (1 - p, p).

    Parameters
    ----------
    order : float
        :math:`\beta \ge 1.000001`.

    References
    ----------
    Good (1971); Gneiting & Raftery (2007), doi:10.1198/016214506000001437.

    Examples
    --------
    >>> import propriety as pr
    >>> rows = [[0.2, 0.3, 0.5]]
    >>> bool(abs(pr.mean_score([1], rows, rule=pr.Pseudospherical(2)) - pr.spherical_score([1], rows)) < 1e-15)
    True
    """

    name: ClassVar[str] = "pseudospherical"
    label: ClassVar[str] = "pseudospherical score"
    short: ClassVar[str] = "pseudospherical"

    order: float = 3.0

    def __post_init__(self) -> None:
        _check_order(self.order)

    def properties(self, classes: int | None = None) -> Properties:
        """Return the claims: strictly proper; superior with two classes only."""
        return symmetric(classes, worst=1.0 / (self.order - 1.0))

    def loss(self, p: Column, *, event: bool, ops: Operations = NUMPY) -> Column:
        """Return the loss of the row (1 - p, p)."""
        hit, miss = (p, 1.0 - p) if event else (1.0 - p, p)
        return self._loss(hit, (miss,), ops.maximum(hit, miss), ops)

    def class_loss(self, p: Sequence[Column], *, outcome: Sequence[Column], ops: Operations = NUMPY) -> Column:
        """Return the loss of class probabilities."""
        return self._loss(at_outcome(p, outcome), elsewhere(p, outcome), ops.maximum(*p), ops)

    def _loss(self, hit: Column, others: Sequence[Column], top: Column, ops: Operations) -> Column:
        # Dividing by the largest probability prevents underflow at high orders. If the class that happened has the
        # largest probability, the first two terms cancel exactly and the digits of the others are kept.
        excess = ops.power(hit / top, self.order) - 1.0 + sum(ops.power(other / top, self.order) for other in others)
        share = 1.0 / self.order
        distance = ops.log(top) - ops.log(ops.where(hit > 0.0, hit, top)) + share * ops.log1p(excess)
        cosine = hit / top / ops.power(1.0 + excess, share)
        return _shortfall(cosine, distance, self.order - 1.0, ops)


@dataclass(frozen=True, slots=True, repr=False)
class Tsallis(BinaryRule, ClassRule):
    r"""Power family :math:`\bigl(1 - \gamma p_y^{\gamma - 1} + (\gamma - 1) \sum_k p_k^\gamma\bigr) / (\gamma - 1)`.

    The score associated with Tsallis entropy. Order 2 is the Brier score summed over classes; as the order decreases to
    1, it becomes the log score. A 1-D forecast is scored as the row (1 - p, p), so that order 2 is twice the
    one-component Brier score.

    Parameters
    ----------
    order : float
        :math:`\gamma \ge 1.000001`.

    References
    ----------
    Tsallis (1988), doi:10.1007/BF01016429; Gneiting & Raftery (2007), doi:10.1198/016214506000001437.

    Examples
    --------
    >>> import propriety as pr
    >>> rows = [[0.2, 0.3, 0.5]]
    >>> bool(abs(pr.mean_score([1], rows, rule=pr.Tsallis(2)) - pr.brier_score([1], rows)) < 1e-15)
    True
    """

    name: ClassVar[str] = "tsallis"
    label: ClassVar[str] = "Tsallis score"
    short: ClassVar[str] = "Tsallis"

    order: float = 1.5

    def __post_init__(self) -> None:
        _check_order(self.order)

    def properties(self, classes: int | None = None) -> Properties:
        """Return the claims: strictly proper; superior with two classes only."""
        return symmetric(classes, worst=self.order / (self.order - 1.0))

    def loss(self, p: Column, *, event: bool, ops: Operations = NUMPY) -> Column:
        """Return the loss of the row (1 - p, p)."""
        hit, miss = (p, 1.0 - p) if event else (1.0 - p, p)
        return self._loss(hit, miss, (miss,), ops)

    def class_loss(self, p: Sequence[Column], *, outcome: Sequence[Column], ops: Operations = NUMPY) -> Column:
        """Return the loss of class probabilities."""
        hit = at_outcome(p, outcome)
        return self._loss(hit, 1.0 - hit, elsewhere(p, outcome), ops)

    def _loss(self, hit: Column, miss: Column, others: Sequence[Column], ops: Operations) -> Column:
        # With m = 1 - p_y, the term of p_y is the integral of order * u * (1 - u)^(order - 2) up to m. If m is small,
        # its series keeps the digits that the difference below loses.
        order = self.order
        series: Column = 0.0
        for coefficient in reversed(self._coefficients()):
            series = coefficient + miss * series
        lost = _shortfall(hit, -ops.log(ops.where(hit > 0.0, hit, 1.0)), order - 1.0, ops)
        part = ops.where(miss < 1.0 / (32.0 * order), miss * miss * series, lost - miss + (order - 1.0) * miss * lost)
        return part + sum(ops.power(other, order) for other in others)

    def _coefficients(self) -> list[float]:
        """Return order * binomial(order - 2, j) * (-1)^j / (j + 2) for as many j as double precision needs."""
        signed = accumulate(range(1, 12), lambda c, j: -c * (self.order - 1.0 - j) / j, initial=1.0)
        return [self.order * c / (j + 2.0) for j, c in enumerate(signed)]


def at_outcome(p: Sequence[Column], outcome: Sequence[Column]) -> Column:
    """Return the probability given to the class that happened; exact, because all other terms are zero."""
    return sum(p_k * y_k for p_k, y_k in zip(p, outcome, strict=True))


def elsewhere(p: Sequence[Column], outcome: Sequence[Column]) -> list[Column]:
    """Return the probabilities of the classes that did not happen, with 0 for the one that did."""
    return [p_k * (1.0 - y_k) for p_k, y_k in zip(p, outcome, strict=True)]


def _shortfall(x: Column, minus_log: Column, exponent: float, ops: Operations) -> Column:
    """Return (1 - x^exponent) / exponent, accurate also for x near 1, from an accurate -log x.

    The quotient (1 - z) / log z is nearly constant for z near 1, so that the rounding of z = x^exponent hardly affects
    it. Multiplying by the logarithm then keeps all its digits (Higham 2002, section 1.14.1).
    """
    z = ops.power(x, exponent)
    safe = ops.where((z > 0.5) & (z < 1.0), z, 0.5)
    slope = (1.0 - safe) / -ops.log(safe)
    return ops.where(z < 0.5, (1.0 - z) / exponent, ops.where(z < 1.0, slope, 1.0) * minus_log)


def _check_order(order: float) -> None:
    hint = "closer to 1 the family is the log score, Log()."
    checks.number(order, "order", least=1.0 + 1e-6, below=math.inf, hint=hint)


Normalize = Literal["regret", "width", "none"]


@dataclass(frozen=True, slots=True, repr=False)
class _Bounded(BinaryRule):
    low: float
    high: float
    normalize: Normalize = "regret"

    def __post_init__(self) -> None:
        self.weight()  # This checks the thresholds.
        if self.normalize not in ("regret", "width", "none"):
            raise InputValueError('must be "regret", "width" or "none"', argument="normalize", got=self.normalize)

    @property
    def changes_between(self) -> tuple[float, float]:
        """The thresholds, beyond which all forecasts have one loss."""
        return self.low, self.high

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
            raise InputValueError(
                "must lie strictly between 0 and 1 for a mean over log-odds",
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


@dataclass(frozen=True, slots=True, repr=False)
class Elementary(BinaryRule):
    r"""Regret of acting if the forecast reaches the threshold :math:`c`.

    Acting without the event costs :math:`c`; not acting on the event costs :math:`1 - c`: :math:`S(p, 1) = (1 - c) 1\{p
    < c\}` and :math:`S(p, 0) = c\, 1\{p \ge c\}`. The mean over cases is the regret :math:`R^*(c)`. Every proper score
    is a mixture of these over thresholds.

    Parameters
    ----------
    threshold : float
        :math:`c` in (0, 1), the cost of a false alarm as a share of the cost of both errors. It is one number: each
        threshold has its own rule, and a range has a mixture of them, such as `BoundedBrier`.

    References
    ----------
    Ehm, Gneiting, Jordan & Krüger (2016), doi:10.1111/rssb.12154.

    Examples
    --------
    >>> import propriety as pr
    >>> float(pr.mean_score([0, 1], [0.2, 0.1], rule=pr.Elementary(0.2)))
    0.5
    """

    name: ClassVar[str] = "elementary"
    label: ClassVar[str] = "regret"

    threshold: float

    def __post_init__(self) -> None:
        checks.number(self.threshold, "threshold", above=0.0, below=1.0)

    @property
    def changes_between(self) -> tuple[float, float]:
        """The threshold, beyond which all forecasts have one loss."""
        return self.threshold, self.threshold

    def properties(self, classes: int | None = None) -> Properties:
        """Return the claims: proper, but not strictly, because only the side of the threshold matters."""
        del classes
        worst = max(self.threshold, 1.0 - self.threshold)
        return Properties(
            proper=True,
            strictly_proper=False,
            superior=False,
            right_before_wrong=False,
            best=0.0,
            worst=worst,
            ties="act",
        )

    def loss(self, p: Column, *, event: bool, ops: Operations = NUMPY) -> Column:
        """Return the cost of the decision if it is wrong, else 0."""
        acts = p >= self.threshold
        return ops.where(acts, 0.0, 1.0 - self.threshold) if event else ops.where(acts, self.threshold, 0.0)


@dataclass(frozen=True, slots=True, repr=False)
class ShiftedBrier(BinaryRule):
    r"""Brier score of a transformed forecast, so that thresholds around :math:`\mu` count most.

    With :math:`M(p) = p (1 - \mu) / (p (1 - \mu) + (1 - p) \mu)`, which maps :math:`\mu` to 1/2, the loss is :math:`(1
    - \mu) (1 - M(p))^2` for an event and :math:`\mu M(p)^2` for a non-event: the regret averaged over thresholds with
    density :math:`2 \mu^2 (1 - \mu)^2 / (\mu + c (1 - 2 \mu))^3`. For :math:`\mu = 1/2` it is half the Brier score.

    Parameters
    ----------
    mu : float
        The threshold that matters most, in (0, 1).
    weighted : bool
        False omits the factors :math:`1 - \mu` and :math:`\mu`, as in the publication. That form is improper unless
        :math:`\mu = 1/2`; it is provided to reproduce published numbers.

    References
    ----------
    Flores et al. (2025), appendix D, arXiv:2504.04528, corrected.

    Examples
    --------
    >>> import propriety as pr
    >>> float(pr.mean_score([1, 0], [0.2, 0.2], rule=pr.ShiftedBrier(0.2)))
    0.125
    """

    name: ClassVar[str] = "shifted_brier"
    label: ClassVar[str] = "shifted Brier score"
    short: ClassVar[str] = "shifted Brier"

    mu: float
    weighted: bool = True

    def __post_init__(self) -> None:
        checks.number(self.mu, "mu", above=0.0, below=1.0)

    def properties(self, classes: int | None = None) -> Properties:
        """Return the claims: with the factors strictly proper, without them only at 1/2; superior only at 1/2."""
        del classes
        even = self.mu == 0.5
        proper = self.weighted or even
        worst = max(self.mu, 1.0 - self.mu) if self.weighted else 1.0
        return Properties(
            proper=proper, strictly_proper=proper, superior=even, right_before_wrong=True, best=0.0, worst=worst
        )

    def loss(self, p: Column, *, event: bool, ops: Operations = NUMPY) -> Column:
        """Return the weighted squared error of the transformed forecast."""
        del ops
        hit, miss = p * (1.0 - self.mu), (1.0 - p) * self.mu
        error = (miss if event else hit) / (hit + miss)
        factor = (1.0 - self.mu if event else self.mu) if self.weighted else 1.0
        return factor * error * error


@dataclass(frozen=True, slots=True, repr=False)
class BetaRegret(BinaryRule):
    r"""Regret averaged over thresholds drawn from Beta(:math:`\alpha, \beta`).

    :math:`S(p, 1) = \frac{\beta}{\alpha + \beta} \bigl(1 - I_p(\alpha, \beta + 1)\bigr)` and
    :math:`S(p, 0) = \frac{\alpha}{\alpha + \beta} I_p(\alpha + 1, \beta)` with the regularised incomplete beta
    function :math:`I`. Beta(1, 1) gives half the Brier score. On an engine it is computed from the forecast table.

    Parameters
    ----------
    alpha, beta : float
        Parameters of the distribution of thresholds, positive.

    References
    ----------
    Buja, Stuetzle & Shen (2005); Hand (2009), doi:10.1007/s10994-009-5119-5.

    Examples
    --------
    >>> import propriety as pr
    >>> float(pr.mean_score([1, 0], [0.5, 0.5], rule=pr.BetaRegret(1, 1)))
    0.125
    """

    name: ClassVar[str] = "beta_regret"
    label: ClassVar[str] = "beta regret"

    alpha: float
    beta: float

    def __post_init__(self) -> None:
        BetaWeight(self.alpha, self.beta)  # This checks the parameters.

    def properties(self, classes: int | None = None) -> Properties:
        """Return the claims: strictly proper, because every threshold has weight; superior if weights are symmetric."""
        del classes
        even = self.alpha == self.beta
        worst = max(self.alpha, self.beta) / (self.alpha + self.beta)
        return Properties(
            proper=True, strictly_proper=True, superior=even, right_before_wrong=True, best=0.0, worst=worst
        )

    def loss(self, p: Column, *, event: bool, ops: Operations = NUMPY) -> Column:
        """Return the mean cost over the thresholds on the wrong side of the forecast."""
        return BetaWeight(self.alpha, self.beta).loss(p, event=event, ops=ops)
