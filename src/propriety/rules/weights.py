r"""Weights on thresholds: how much each threshold counts in a measure of decisions.

Up to a function of the outcome, every proper score of an event is an integral of the regret, :math:`\int
R^*(c)\,dM(c)`, and scores differ only in the measure :math:`M` on thresholds. The weights here have a density
:math:`w`: for half the Brier score :math:`w = 1`, for the log score :math:`1 / (c (1 - c))`, for net benefit :math:`1 /
(1 - c)` on an interval. The elementary score at one threshold has no density. The integrals are implemented only here.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaln, xlog1py, xlogy

from propriety import checks, demands
from propriety.checks import is_number
from propriety.errors import InputTypeError, InputValueError, UnsupportedOperationError
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
        raise InputTypeError(demands.NUMBERS, argument=argument, offender=str(error)) from error
    if values.ndim != 1 or len(values) == 0:
        law = "must be a number or a 1-D array"
        raise InputValueError(law, argument=argument, offender=f"got shape {values.shape}")
    bad = ~((values >= 0.0) & (values <= 1.0))
    if bad.any():
        offender = f"entry {int(bad.argmax())} is {values[bad][0].item()!r}"
        raise InputValueError(demands.UNIT, argument=argument, offender=offender)
    return values


def _is_pair(thresholds: object) -> TypeGuard[Sequence[Any]]:
    return isinstance(thresholds, tuple | list | np.ndarray) and np.ndim(thresholds) > 0 and len(thresholds) == 2


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PointsWeight(ThresholdWeight):
    """A piecewise linear weight through given points, and 0 outside them. Its regret is exact.

    Parameters
    ----------
    grid : array-like of shape (m,)
        Thresholds in [0, 1], in increasing order; a threshold given twice makes a jump.
    densities : array-like of shape (m,)
        The weight at each threshold, finite and not negative.

    Examples
    --------
    >>> from propriety.rules.weights import PointsWeight
    >>> round(PointsWeight([0.1, 0.2, 0.4], [0.0, 1.0, 0.0]).total(), 12)
    0.15
    """

    grid: ArrayLike
    densities: ArrayLike
    panels: Panels = field(init=False)

    def __post_init__(self) -> None:
        grid, densities = read_grid(self.grid), _read_densities(self.densities)
        if densities.shape != grid.shape or len(grid) < 2:
            law = "must be two or more thresholds with one density each"
            raise InputValueError(law, argument="points", offender=f"shapes are {grid.shape} and {densities.shape}")
        if (np.diff(grid) < 0.0).any():
            raise InputValueError("must be in order", argument="grid", hint="sort both by threshold.")
        _check_densities(densities, grid)
        object.__setattr__(self, "grid", grid)
        object.__setattr__(self, "densities", densities)
        object.__setattr__(self, "panels", Panels.of(self.density, grid, nodes=2))
        _check_total(self.total())

    def __repr__(self) -> str:
        first, *_, last = np.asarray(self.grid).tolist()
        return f"PointsWeight({np.size(self.grid)} points from {first:g} to {last:g})"

    def density(self, c: Floats) -> Floats:
        """Return the interpolated weight, 0 outside the points."""
        points = np.asarray(self.grid), np.asarray(self.densities)
        return np.asarray(np.interp(c, *points, left=0.0, right=0.0))

    def total(self) -> float:
        """Return the integral of the weight."""
        return self.panels.total

    def loss(self, p: Column, *, event: bool, ops: Operations = NUMPY) -> Column:
        """Return the integral of the regret of one case."""
        return _panel_loss(self.panels, p, event=event, ops=ops)


@dataclass(frozen=True, slots=True, eq=False)
class CustomWeight(ThresholdWeight):
    """A weight given as a function of an array of thresholds, on [low, high].

    It is integrated with 15 Gauss-Legendre nodes in each of 128 panels, which are halved until that changes the total
    by less than a relative 1e-13. For functions that are smooth except for a few jumps, the error is about 1e-12 of the
    total. A weight whose integral does not converge to 1e-9 is rejected with an error. A peak narrower than a
    thousandth of the interval can be missed; give it an interval of its own, or use points.

    Parameters
    ----------
    function : callable
        Takes an array of thresholds strictly between low and high and returns finite, non-negative weights.
    low, high : float
        The weight is 0 outside this interval.

    Examples
    --------
    >>> import numpy as np
    >>> from propriety.rules.weights import CustomWeight
    >>> round(CustomWeight(np.exp).total(), 12)
    1.718281828459
    """

    function: Callable[[Floats], Any]
    low: float = 0.0
    high: float = 1.0
    panels: Panels = field(init=False, repr=False)

    def __post_init__(self) -> None:
        read_range((self.low, self.high))
        object.__setattr__(self, "panels", Panels.halved(self.density, self.low, self.high))
        _check_total(self.total())

    def density(self, c: Floats) -> Floats:
        """Return the function within the interval, and 0 outside."""
        thresholds = np.asarray(c, dtype=np.float64)
        within = (thresholds >= self.low) & (thresholds <= self.high)
        if within.all():
            return self._values(thresholds)
        density = np.zeros(thresholds.shape)
        density[within] = self._values(thresholds[within])
        return density

    def _values(self, thresholds: Floats) -> Floats:
        try:
            with np.errstate(all="ignore"):  # Values that are not finite are rejected below.
                found = np.asarray(self.function(thresholds))
                if found.dtype.kind == "c":
                    raise TypeError("it returned complex numbers")  # noqa: TRY301  (reported below)
                values = np.broadcast_to(found.astype(np.float64), thresholds.shape)
        except (TypeError, ValueError) as error:
            law = "must take an array of thresholds and return one number for each"
            hint = "numpy.vectorize(weight) does."
            raise InputTypeError(law, argument="weight", offender=str(error), hint=hint) from error
        _check_densities(values, thresholds)
        return values

    def total(self) -> float:
        """Return the integral of the function over the interval."""
        return self.panels.total

    def loss(self, p: Column, *, event: bool, ops: Operations = NUMPY) -> Column:
        """Return the integral of the regret of one case."""
        return _panel_loss(self.panels, p, event=event, ops=ops)


def read_weight(weight: object) -> ThresholdWeight:
    """Return a weight as it is, or make one from a function or points."""
    if isinstance(weight, ThresholdWeight):
        return weight
    if isinstance(weight, tuple | list) and len(weight) == 2:
        return PointsWeight(*weight)
    if callable(weight) and not isinstance(weight, type):
        return CustomWeight(weight)
    law = "must be a weight on thresholds, a function, or (grid, densities)"
    raise InputTypeError(law, argument="weight", got=weight, hint="UniformWeight(low, high) is the simplest.")


def _panel_loss(panels: Panels, p: Column, *, event: bool, ops: Operations) -> Column:
    if ops is not NUMPY:
        raise UnsupportedOperationError("Engines have no quadrature", hint="pass propriety.condense of the cases.")
    return panels.loss(np.asarray(p, dtype=np.float64), event=event)


def _read_densities(densities: ArrayLike) -> Floats:
    try:
        return np.asarray(densities, dtype=np.float64).copy()
    except (TypeError, ValueError) as error:
        raise InputTypeError(demands.NUMBERS, argument="densities", offender=str(error)) from error


def _check_densities(densities: Floats, thresholds: Floats) -> None:
    bad = ~((densities >= 0.0) & (densities < math.inf))
    if bad.any():
        offender = f"at {thresholds[bad][0].item():g} it is {densities[bad][0].item()!r}"
        raise InputValueError(demands.WEIGHT, argument="weight", offender=offender)


def _check_total(total: float) -> None:
    if not total > 0.0:
        raise InputValueError("must be positive somewhere; its integral is 0", argument="weight")


NODES = 15  # Nodes per panel for functions that are not polynomials.
FIRST_PANELS, MOST_PANELS, HALVINGS = 128, 4096, 200
TOLERANCE = 1e-13  # Relative change of the total allowed when a panel is halved.
SETTLED = 1e-9  # The same for a panel too narrow to be halved.
NARROWEST = 1024  # Smallest width of a panel in units of the last place.
FORECASTS_AT_ONCE = 2**13
SMALLEST, LARGEST = math.nextafter(0.0, 1.0), math.nextafter(1.0, 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class Panels:
    """A density on [edges[0], edges[-1]] that is smooth between edges, with its cumulative integrals.

    `below` holds the integral of c w(c) up to each edge, and `above` that of (1 - c) w(c) from each edge.
    """

    density: Callable[[Floats], Floats]
    edges: Floats
    nodes: int
    below: Floats
    above: Floats

    @classmethod
    def of(cls, density: Callable[[Floats], Floats], edges: Floats, nodes: int) -> Panels:
        """Integrate each panel; m nodes are exact for densities of degree up to 2m - 2.

        Examples
        --------
        >>> Panels.of(np.ones_like, np.array([0.0, 0.5, 1.0]), 2).below
        array([0.   , 0.125, 0.5  ])
        """
        alarms, misses = (
            _integral(_regret(density, event=event), edges[:-1], edges[1:], nodes) for event in (False, True)
        )
        below, above = np.append(0.0, np.cumsum(alarms)), np.append(np.cumsum(misses[::-1])[::-1], 0.0)
        return cls(density, edges, nodes, below, above)

    @classmethod
    def halved(cls, density: Callable[[Floats], Floats], low: float, high: float) -> Panels:
        """Integrate with panels that are halved until the total no longer changes.

        Examples
        --------
        >>> round(Panels.halved(lambda c: np.where(c < 0.3, 2.0, 1.0), 0.0, 1.0).total, 12)
        1.3
        """
        edges = np.linspace(low, high, FIRST_PANELS + 1)
        left, right = edges[:-1], edges[1:]
        whole = _integral(density, left, right, NODES)
        total = float(whole.sum())
        for _ in range(HALVINGS):
            middle = 0.5 * (left + right)
            first, second = _integral(density, left, middle, NODES), _integral(density, middle, right, NODES)
            change = np.abs(first + second - whole)
            total += float((first + second - whole).sum())
            narrow = right - left <= NARROWEST * np.spacing(right)
            if (change[narrow] > SETTLED * total).any():
                break
            rough = (change > TOLERANCE * total) & ~narrow
            if not rough.any():
                return cls.of(density, edges, NODES)
            edges = np.sort(np.append(edges, middle[rough]))
            if len(edges) > MOST_PANELS:
                break
            left, right = np.append(left[rough], middle[rough]), np.append(middle[rough], right[rough])
            whole = np.append(first[rough], second[rough])
        law = "must have a finite integral; the quadrature does not converge"
        hint = "give an interval of thresholds away from poles, CustomWeight(function, low, high), or points."
        raise InputValueError(law, argument="weight", hint=hint)

    @property
    def total(self) -> float:
        """Integral of the density."""
        return float(self.below[-1] + self.above[0])

    def loss(self, p: Floats, *, event: bool) -> Floats:
        """Integrate the regret of a case for each forecast: whole panels, and part of one."""
        forecast = np.clip(p, self.edges[0], self.edges[-1])
        blocks = np.split(forecast.ravel(), range(FORECASTS_AT_ONCE, forecast.size, FORECASTS_AT_ONCE))
        return np.concatenate([self._losses(block, event=event) for block in blocks]).reshape(forecast.shape)

    def _losses(self, p: Floats, *, event: bool) -> Floats:
        panel = np.clip(np.searchsorted(self.edges, p, side="right") - 1, 0, len(self.edges) - 2)
        regret = _regret(self.density, event=event)
        if event:
            return np.asarray(self.above[panel + 1] + _integral(regret, p, self.edges[panel + 1], self.nodes))
        return np.asarray(self.below[panel] + _integral(regret, self.edges[panel], p, self.nodes))


def _regret(density: Callable[[Floats], Floats], *, event: bool) -> Callable[[Floats], Floats]:
    """Return (1 - c) w(c), the cost of a miss at each threshold, or c w(c), the cost of a false alarm."""
    return lambda c: (1.0 - c if event else c) * density(c)


def _integral(function: Callable[[Floats], Floats], low: Floats, high: Floats, nodes: int) -> Floats:
    """Integrate a function over each interval."""
    at, share = _gauss_legendre(nodes)
    c = low[:, None] + (high - low)[:, None] * at
    # A node that rounds to 0 or 1 could be at a pole.
    return np.asarray(function(np.clip(c, SMALLEST, LARGEST)) @ share * (high - low))


@cache
def _gauss_legendre(nodes: int) -> tuple[Floats, Floats]:
    """Return nodes and weights on [0, 1]."""
    at, share = np.polynomial.legendre.leggauss(nodes)
    return 0.5 + 0.5 * at, 0.5 * share
