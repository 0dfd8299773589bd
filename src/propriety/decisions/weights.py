r"""Which thresholds count, and how much: the weights that unite the measures of decisions.

Up to a function of the outcome, every proper score of an event is an integral of the regret, :math:`\int
R^*(c)\,dM(c)`, and the scores differ only in the measure :math:`M` of thresholds. Those here have a density
:math:`w`: half the Brier score has :math:`w = 1`, the log score :math:`1 / (c (1 - c))`, net benefit :math:`1 / (1 -
c)` on an interval. The elementary score at one threshold has none.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaln, xlog1py, xlogy

from propriety.checks import read_thresholds
from propriety.decisions.quadrature import Panels
from propriety.errors import InputTypeError, InputValueError, UnsupportedOperationError
from propriety.results import Floats
from propriety.rules.bounded import BoundedBrier, BoundedLog, BoundedNetBenefit, log_odds_width
from propriety.rules.elementary import BetaRegret
from propriety.rules.operations import NUMPY, Column, Operations
from propriety.rules.rule import BinaryRule

__all__ = [
    "BetaWeight",
    "CustomWeight",
    "LogOddsWeight",
    "NetBenefitWeight",
    "PointsWeight",
    "ThresholdWeight",
    "UniformWeight",
    "read_weight",
]


class ThresholdWeight(ABC):
    """A weight on the thresholds c in [0, 1]: a density, not negative, that need not integrate to one."""

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
class UniformWeight(ThresholdWeight):
    """The weight 1 on [low, high]; its regret is half the Brier score, over those thresholds.

    Parameters
    ----------
    low, high : float
        The ends of the interval.

    Examples
    --------
    >>> import propriety as pr
    >>> round(pr.weighted_regret([0, 1], [0.2, 0.6], weight=pr.UniformWeight()), 6)
    0.05
    """

    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        self._rule()

    def density(self, c: Floats) -> Floats:
        """Return 1 within the interval, else 0."""
        return _within(c, self.low, self.high).astype(np.float64)

    def total(self) -> float:
        """Return the width of the interval."""
        return self.high - self.low

    def loss(self, p: Column, *, event: bool, ops: Operations = NUMPY) -> Column:
        """Return half the difference of clipped Brier scores."""
        return 0.5 * self._rule().loss(p, event=event, ops=ops)

    def _rule(self) -> BinaryRule:
        return BoundedBrier(self.low, self.high, normalize="none")


@dataclass(frozen=True, slots=True)
class LogOddsWeight(ThresholdWeight):
    """The weight 1 / (c (1 - c)) on [low, high], even in log-odds; its regret is the log score over them.

    Parameters
    ----------
    low, high : float
        The ends of the interval.

    Examples
    --------
    >>> import propriety as pr
    >>> round(pr.weighted_regret([0, 1], [0.2, 0.6], weight=pr.LogOddsWeight()), 6)
    0.366985
    """

    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        self._rule()

    def density(self, c: Floats) -> Floats:
        """Return 1 / (c (1 - c)) within the interval, else 0."""
        with np.errstate(divide="ignore", over="ignore"):
            return np.where(_within(c, self.low, self.high), 1.0 / (c * (1.0 - c)), 0.0)

    def total(self) -> float:
        """Return the width of the interval in log-odds, infinite if it reaches 0 or 1."""
        if self.low == 0.0 or self.high == 1.0:
            return math.inf
        return log_odds_width(self.low, self.high)

    def loss(self, p: Column, *, event: bool, ops: Operations = NUMPY) -> Column:
        """Return the difference of clipped log scores."""
        return self._rule().loss(p, event=event, ops=ops)

    def _rule(self) -> BinaryRule:
        return BoundedLog(self.low, self.high, normalize="none")


@dataclass(frozen=True, slots=True)
class NetBenefitWeight(ThresholdWeight):
    """The weight 1 / (1 - c) on [low, high], high < 1; its regret is the net benefit forgone over those thresholds.

    Parameters
    ----------
    low, high : float
        The ends of the interval, `high` below 1.

    Examples
    --------
    >>> import propriety as pr
    >>> round(pr.weighted_regret([0, 1], [0.2, 0.6], weight=pr.NetBenefitWeight(0.1, 0.3)), 6)
    0.008892
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        self._rule()

    def density(self, c: Floats) -> Floats:
        """Return 1 / (1 - c) within the interval, else 0."""
        with np.errstate(divide="ignore", over="ignore"):
            return np.where(_within(c, self.low, self.high), 1.0 / (1.0 - c), 0.0)

    def total(self) -> float:
        """Return log((1 - low) / (1 - high))."""
        return math.log1p((self.high - self.low) / (1.0 - self.high))

    def loss(self, p: Column, *, event: bool, ops: Operations = NUMPY) -> Column:
        """Return the net benefit forgone."""
        return self._rule().loss(p, event=event, ops=ops)

    def _rule(self) -> BinaryRule:
        return BoundedNetBenefit(self.low, self.high, normalize="none")


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
    >>> round(pr.weighted_regret([0, 1], [0.2, 0.6], weight=pr.BetaWeight(2, 8)), 6)
    0.032891
    """

    alpha: float
    beta: float

    def __post_init__(self) -> None:
        self._rule()

    def density(self, c: Floats) -> Floats:
        """Return the density, infinite at 0 or 1 where a parameter is below one."""
        with np.errstate(divide="ignore", over="ignore"):
            logs = xlogy(self.alpha - 1.0, c) + xlog1py(self.beta - 1.0, -np.asarray(c))
            return np.asarray(np.exp(logs - betaln(self.alpha, self.beta)))

    def total(self) -> float:
        """Return one."""
        return 1.0

    def loss(self, p: Column, *, event: bool, ops: Operations = NUMPY) -> Column:
        """Return the mean regret over thresholds drawn from the distribution."""
        return self._rule().loss(p, event=event, ops=ops)

    def _rule(self) -> BinaryRule:
        return BetaRegret(self.alpha, self.beta)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PointsWeight(ThresholdWeight):
    """The weight whose graph is the straight lines between points, and 0 outside them; its regret is exact.

    Parameters
    ----------
    thresholds : array-like of shape (m,)
        In [0, 1], in order; one that stands twice makes a jump.
    densities : array-like of shape (m,)
        The weight there, finite and not negative.

    Examples
    --------
    >>> from propriety.decisions.weights import PointsWeight
    >>> round(PointsWeight([0.1, 0.2, 0.4], [0.0, 1.0, 0.0]).total(), 12)
    0.15
    """

    thresholds: ArrayLike
    densities: ArrayLike
    panels: Panels = field(init=False)

    def __post_init__(self) -> None:
        # Copies, because a weight must stay what it is when the caller's arrays change.
        thresholds, densities = read_thresholds(self.thresholds).copy(), _read_densities(self.densities)
        if densities.shape != thresholds.shape or len(thresholds) < 2:
            law = "must be two or more thresholds with one density each"
            raise InputValueError(
                law, argument="points", offender=f"shapes are {thresholds.shape} and {densities.shape}"
            )
        if (np.diff(thresholds) < 0.0).any():
            raise InputValueError("thresholds of points must be in order", hint="sort both by threshold.")
        _check_densities(densities, thresholds)
        object.__setattr__(self, "thresholds", thresholds)
        object.__setattr__(self, "densities", densities)
        object.__setattr__(self, "panels", Panels.of(self.density, thresholds, nodes=2))
        _check_total(self.total())

    def __repr__(self) -> str:
        first, *_, last = np.asarray(self.thresholds).tolist()
        return f"PointsWeight({np.size(self.thresholds)} points from {first:g} to {last:g})"

    def density(self, c: Floats) -> Floats:
        """Return the height of the lines, 0 outside the points."""
        points = np.asarray(self.thresholds), np.asarray(self.densities)
        return np.asarray(np.interp(c, *points, left=0.0, right=0.0))

    def total(self) -> float:
        """Return the area under the lines."""
        return self.panels.total

    def loss(self, p: Column, *, event: bool, ops: Operations = NUMPY) -> Column:
        """Return the integral of the regret of one case."""
        return _panel_loss(self.panels, p, event=event, ops=ops)


@dataclass(frozen=True, slots=True, eq=False)
class CustomWeight(ThresholdWeight):
    """A weight of one's own: a function of an array of thresholds, on [low, high].

    It is integrated by 15 Gauss-Legendre nodes in each of 128 panels, which are halved until that changes the total by
    less than 1e-13 of it. Of functions that are smooth but for a few jumps the error is about 1e-12 of the total. A
    weight whose integral does not settle to 1e-9 is refused. A peak narrower than a thousandth of the interval can be
    missed, and needs an interval of its own, or points.

    Parameters
    ----------
    function : callable
        Takes an array of thresholds strictly between low and high, returns finite weights that are not negative.
    low, high : float
        The thresholds outside which the weight is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from propriety.decisions.weights import CustomWeight
    >>> round(CustomWeight(np.exp).total(), 12)
    1.718281828459
    """

    function: Callable[[Floats], Any]
    low: float = 0.0
    high: float = 1.0
    panels: Panels = field(init=False, repr=False)

    def __post_init__(self) -> None:
        UniformWeight(self.low, self.high)  # Judges the interval.
        object.__setattr__(self, "panels", Panels.halved(self.density, self.low, self.high))
        _check_total(self.total())

    def density(self, c: Floats) -> Floats:
        """Return the function within the interval, else 0."""
        thresholds = np.asarray(c, dtype=np.float64)
        within = _within(thresholds, self.low, self.high)
        if within.all():
            return self._values(thresholds)
        density = np.zeros(thresholds.shape)
        density[within] = self._values(thresholds[within])
        return density

    def _values(self, thresholds: Floats) -> Floats:
        try:
            with np.errstate(all="ignore"):  # What is not finite is refused below.
                values = np.broadcast_to(np.asarray(self.function(thresholds), dtype=np.float64), thresholds.shape)
        except (TypeError, ValueError) as error:
            law = "must take an array of thresholds and return as many numbers"
            raise InputTypeError(
                law, argument="weight", offender=str(error), hint="numpy.vectorize(weight) does."
            ) from error
        _check_densities(values, thresholds)
        return values

    def total(self) -> float:
        """Return the integral of the function over the interval."""
        return self.panels.total

    def loss(self, p: Column, *, event: bool, ops: Operations = NUMPY) -> Column:
        """Return the integral of the regret of one case."""
        return _panel_loss(self.panels, p, event=event, ops=ops)


def read_weight(weight: object) -> ThresholdWeight:
    """Return a weight as it is, or make one of a function or of points."""
    if isinstance(weight, ThresholdWeight):
        return weight
    if isinstance(weight, tuple | list) and len(weight) == 2:
        return PointsWeight(*weight)
    if callable(weight) and not isinstance(weight, type):
        return CustomWeight(weight)
    law = "must be a weight on thresholds, a function, or (thresholds, densities)"
    raise InputTypeError(
        law, argument="weight", offender=f"got {weight!r}", hint="UniformWeight(low, high) is the plainest."
    )


def _panel_loss(panels: Panels, p: Column, *, event: bool, ops: Operations) -> Column:
    if ops is not NUMPY:
        raise UnsupportedOperationError("Engines have no quadrature", hint="make a ForecastTable and score that.")
    return panels.loss(np.asarray(p, dtype=np.float64), event=event)


def _within(c: Floats, low: float, high: float) -> NDArray[np.bool_]:
    return (np.asarray(c) >= low) & (np.asarray(c) <= high)


def _read_densities(densities: ArrayLike) -> Floats:
    try:
        return np.array(densities, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputTypeError("must be numbers", argument="densities", offender=str(error)) from error


def _check_densities(densities: Floats, thresholds: Floats) -> None:
    bad = ~((densities >= 0.0) & (densities < math.inf))
    if bad.any():
        offender = f"at {thresholds[bad][0].item():g} it is {densities[bad][0].item()!r}"
        raise InputValueError("must be finite and not negative", argument="weight", offender=offender)


def _check_total(total: float) -> None:
    if not total > 0.0:
        raise InputValueError("must be positive somewhere; its integral is 0", argument="weight")
