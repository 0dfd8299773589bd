r"""Weights on thresholds: how much each threshold counts in a measure of decisions.

Up to a function of the outcome, every proper score of an event is an integral of the regret, :math:`\int
R^*(c)\,dM(c)`, and scores differ only in the measure :math:`M` on thresholds. The weights here have a density
:math:`w`: for half the Brier score :math:`w = 1`, for the log score :math:`1 / (c (1 - c))`, for net benefit :math:`1 /
(1 - c)` on an interval. The elementary score at one threshold has no density. The integrals are implemented only here.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaln, xlog1py, xlogy

from propriety import checks
from propriety.checks import is_number
from propriety.errors import InputTypeError, InputValueError
from propriety.result import Floats
from propriety.rules.operations import NUMPY, Column, Operations


class ThresholdWeight(ABC):
    """A weight on the thresholds c in [0, 1]: a non-negative density that need not integrate to one."""

    __slots__ = ()

    @abstractmethod
    def density(self, c: Floats) -> Floats:
        """Return the weight at thresholds."""

    @abstractmethod
    def total(self) -> float:
        """Return the integral of the weight over all thresholds, which may be infinite."""

    @abstractmethod
    def loss(self, p: Column, *, event: bool, ops: Operations = NUMPY) -> Column:
        r"""Return the integral of the regret of one case with the forecast `p`.

        It is :math:`\int_p^1 (1 - c)\, w(c)\,dc` for an event and :math:`\int_0^p c\, w(c)\,dc` for a non-event.
        """


@dataclass(frozen=True, slots=True)
class IntervalWeight(ThresholdWeight):
    """A weight on the thresholds from low to high, with its integrals in closed form."""

    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        read_range((self.low, self.high))

    @abstractmethod
    def cost(self, start: Column, stop: Column, *, event: bool, ops: Operations = NUMPY) -> Column:
        r"""Integrate the cost of an error over the thresholds from `start` to `stop`, both within the interval.

        It is :math:`\int (1 - c)\, w(c)\,dc`, the cost of a miss, for an event, and :math:`\int c\, w(c)\,dc`, the cost
        of a false alarm, for a non-event.
        """

    def loss(self, p: Column, *, event: bool, ops: Operations = NUMPY) -> Column:
        """Return the cost of a miss at thresholds above the forecast, or of a false alarm at those below it."""
        inside = ops.clip(p, self.low, self.high)
        start, stop = (inside, self.high) if event else (self.low, inside)
        return self.cost(start, stop, event=event, ops=ops)


@dataclass(frozen=True, slots=True)
class UniformWeight(IntervalWeight):
    """The weight 1 on [low, high]; its regret is half the Brier score restricted to these thresholds.

    Parameters
    ----------
    low, high : float
        The ends of the interval.

    Examples
    --------
    >>> import propriety as pr
    >>> round(pr.weighted_regret([0, 1], [0.2, 0.6], weight=pr.weights.UniformWeight()), 6)
    0.05
    """

    def density(self, c: Floats) -> Floats:
        """Return 1 within the interval, else 0."""
        return _within(c, self.low, self.high).astype(np.float64)

    def total(self) -> float:
        """Return the width of the interval."""
        return self.high - self.low

    def cost(self, start: Column, stop: Column, *, event: bool, ops: Operations = NUMPY) -> Column:
        """Return half a difference of squares, as a product to keep its digits."""
        del ops
        ends = (1.0 - stop) + (1.0 - start) if event else stop + start
        return 0.5 * ((stop - start) * ends)


@dataclass(frozen=True, slots=True)
class LogOddsWeight(IntervalWeight):
    """The weight 1 / (c (1 - c)) on [low, high], uniform in log-odds; its regret is the log score restricted to them.

    Parameters
    ----------
    low, high : float
        The ends of the interval.

    Examples
    --------
    >>> import propriety as pr
    >>> round(pr.weighted_regret([0, 1], [0.2, 0.6], weight=pr.weights.LogOddsWeight()), 6)
    0.366985
    """

    def density(self, c: Floats) -> Floats:
        """Return 1 / (c (1 - c)) within the interval, else 0."""
        with np.errstate(divide="ignore", over="ignore"):
            return np.where(_within(c, self.low, self.high), 1.0 / (c * (1.0 - c)), 0.0)

    def total(self) -> float:
        """Return the width of the interval in log-odds, infinite if it reaches 0 or 1."""
        if self.low == 0.0 or self.high == 1.0:
            return math.inf
        return float(sum(self.cost(self.low, self.high, event=event) for event in (True, False)))

    def cost(self, start: Column, stop: Column, *, event: bool, ops: Operations = NUMPY) -> Column:
        """Return log(stop / start) or log((1 - start) / (1 - stop)).

        A quotient keeps the digits of a narrow interval; a difference is used where the quotient could be infinite.
        """
        if event and self.high < 1e300 * self.low:
            return ops.log1p((stop - start) / start)
        # An end of the interval is a number, not a column of an engine.
        if event:
            return (NUMPY if stop is self.high else ops).log(stop) - ops.log(start)
        if self.high < 1.0:
            return ops.log1p((stop - start) / (1.0 - stop))
        return (NUMPY if start is self.low else ops).log1p(-start) - ops.log1p(-stop)


@dataclass(frozen=True, slots=True)
class NetBenefitWeight(IntervalWeight):
    """The weight 1 / (1 - c) on [low, high]; its regret is the net benefit forgone over these thresholds.

    Parameters
    ----------
    low, high : float
        The ends of the interval.

    Examples
    --------
    >>> import propriety as pr
    >>> round(pr.weighted_regret([0, 1], [0.2, 0.6], weight=pr.weights.NetBenefitWeight(0.1, 0.3)), 6)
    0.008892
    """

    def density(self, c: Floats) -> Floats:
        """Return 1 / (1 - c) within the interval, else 0."""
        with np.errstate(divide="ignore", over="ignore"):
            return np.where(_within(c, self.low, self.high), 1.0 / (1.0 - c), 0.0)

    def total(self) -> float:
        """Return log((1 - low) / (1 - high)), infinite if the interval reaches 1."""
        return math.inf if self.high == 1.0 else math.log1p((self.high - self.low) / (1.0 - self.high))

    def cost(self, start: Column, stop: Column, *, event: bool, ops: Operations = NUMPY) -> Column:
        """Return stop - start or log((1 - start) / (1 - stop)) - (stop - start)."""
        if event:
            return stop - start
        if self.high == 1.0:  # The cost at a threshold of 1 is infinite.
            rest = ops.where(stop < 1.0, stop, self.low)
            return ops.where(stop < 1.0, self._alarms(start, rest, ops), math.inf)
        return self._alarms(start, stop, ops)

    @staticmethod
    def _alarms(start: Column, stop: Column, ops: Operations) -> Column:
        u = (stop - start) / (1.0 - stop)  # The logarithm is that of 1 + u.
        # For small u, log(1 + u) = 2 artanh(s) with s = u / (2 + u). The difference is then u (c - s) + 2 s^3 / 3 + 2
        # s^5 / 5 + ..., in which no term is negative.
        s = u / (2.0 + u)
        q = s * s
        series = 1.0 / 3.0 + q * (0.2 + q * (1.0 / 7.0 + q * (1.0 / 9.0 + q * (1.0 / 11.0 + q / 13.0))))
        near = u * (stop - s) + 2.0 * s * q * series
        return ops.where(u < 0.125, near, ops.log1p(u) - (stop - start))


@dataclass(frozen=True, slots=True)
class BetaWeight(ThresholdWeight):
    """The density of Beta(alpha, beta).

    Parameters
    ----------
    alpha, beta : float
        The parameters of the distribution, above 0.

    Examples
    --------
    >>> import propriety as pr
    >>> round(pr.weighted_regret([0, 1], [0.2, 0.6], weight=pr.weights.BetaWeight(2, 8)), 6)
    0.032891
    """

    alpha: float
    beta: float

    def __post_init__(self) -> None:
        for name in ("alpha", "beta"):
            if not is_number(getattr(self, name)) or not 0.0 < getattr(self, name) < math.inf:
                given = f"got {getattr(self, name)!r}"
                raise InputValueError("must be positive and finite", argument=name, offender=given)

    def density(self, c: Floats) -> Floats:
        """Return the density, infinite at 0 or 1 if a parameter is below one."""
        with np.errstate(divide="ignore", over="ignore"):
            logs = xlogy(self.alpha - 1.0, c) + xlog1py(self.beta - 1.0, -np.asarray(c))
            return np.asarray(np.exp(logs - betaln(self.alpha, self.beta)))

    def total(self) -> float:
        """Return one."""
        return 1.0

    def loss(self, p: Column, *, event: bool, ops: Operations = NUMPY) -> Column:
        """Return the mean cost over the thresholds on the wrong side of the forecast."""
        alpha, beta = self.alpha, self.beta
        if event:
            return beta / (alpha + beta) * ops.incomplete_beta(alpha, beta + 1.0, p, upper=True)
        return alpha / (alpha + beta) * ops.incomplete_beta(alpha + 1.0, beta, p)


def _within(c: Floats, low: float, high: float) -> NDArray[np.bool_]:
    return (np.asarray(c) >= low) & (np.asarray(c) <= high)


Thresholds: TypeAlias = float | tuple[float, float]  # The probability at which somebody acts, or a range of it.


def read_thresholds(thresholds: object) -> Thresholds | None:
    """Check the thresholds of a decision maker: a number strictly between 0 and 1, two in order, or None.

    Examples
    --------
    >>> read_thresholds(0.1), read_thresholds([0, 0.2])
    (0.1, (0.0, 0.2))
    """
    if thresholds is None:
        return None
    if is_number(thresholds):
        checks.number(thresholds, "thresholds", above=0.0, below=1.0)
        return float(thresholds)  # type: ignore[arg-type]  # a number
    if _is_pair(thresholds):
        return read_range(thresholds)
    raise InputTypeError("must be None, a number, or a pair (low, high)", argument="thresholds", got=thresholds)


def read_range(thresholds: object, argument: str = "thresholds") -> tuple[float, float]:
    """Check a range of thresholds; a single threshold is rejected.

    Examples
    --------
    >>> read_range((0.05, 0.2))
    (0.05, 0.2)
    """
    if not _is_pair(thresholds):
        raise InputTypeError("must be a pair (low, high)", argument=argument, got=thresholds)
    low, high = thresholds
    if not (is_number(low) and is_number(high) and 0.0 <= low < high <= 1.0):
        law, hint = "must satisfy 0 <= low < high <= 1", "pass probabilities, not odds or percentages."
        raise InputValueError(law, argument=argument, offender=f"got ({low!r}, {high!r})", hint=hint)
    return float(low), float(high)


def read_grid(grid: ArrayLike, argument: str = "grid") -> Floats:
    """Check the thresholds at which a curve is evaluated: numbers in [0, 1], one or more, in any order.

    Examples
    --------
    >>> read_grid(0.2), read_grid([0.1, 0.3])
    (array([0.2]), array([0.1, 0.3]))
    """
    if np.ma.is_masked(grid):
        raise InputValueError("must have no missing values", argument=argument, offender="some are masked")
    try:
        # A copy, because curves keep their thresholds; `numpy.array` makes none of PyArrow's arrays.
        values = np.atleast_1d(np.asarray(grid, dtype=np.float64).copy())
    except (TypeError, ValueError) as error:
        raise InputTypeError("must be numbers", argument=argument, offender=str(error)) from error
    if values.ndim != 1 or len(values) == 0:
        law = "must be a number or a 1-D array"
        raise InputValueError(law, argument=argument, offender=f"got shape {values.shape}")
    bad = ~((values >= 0.0) & (values <= 1.0))
    if bad.any():
        offender = f"entry {int(bad.argmax())} is {values[bad][0].item()!r}"
        raise InputValueError("must lie in [0, 1]", argument=argument, offender=offender)
    return values


def _is_pair(thresholds: object) -> TypeGuard[Sequence[Any]]:
    return isinstance(thresholds, tuple | list | np.ndarray) and np.ndim(thresholds) > 0 and len(thresholds) == 2
