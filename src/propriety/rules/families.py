"""The classic proper scores and their families, for one event and for K classes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import ClassVar, Literal

from propriety.checks import is_number
from propriety.errors import InputValueError
from propriety.rules.operations import NUMPY, Column, Operations
from propriety.rules.rule import BinaryRule, ClassRule, Properties

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

    scale: Literal["sum", "half"] = "sum"

    def __post_init__(self) -> None:
        if self.scale not in ("sum", "half"):
            raise InputValueError('must be "sum" or "half"', argument="scale", offender=f"got {self.scale!r}")

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
        if self.clip is not None and not (is_number(self.clip) and 0.0 < self.clip < 0.5):
            raise InputValueError("must lie in (0, 0.5)", argument="clip", offender=f"got {self.clip!r}")

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
    if not is_number(order) or not 1.0 + 1e-6 <= order < math.inf:
        law = "must be a number above 1.000001"
        raise InputValueError(
            law, argument="order", offender=f"got {order!r}", hint="closer to 1 the family is the log score, Log()."
        )
