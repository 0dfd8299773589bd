"""User-defined weights on thresholds: piecewise linear, or any function."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from propriety.errors import InputTypeError, InputValueError, UnsupportedOperationError
from propriety.result import Floats
from propriety.rules.operations import NUMPY, Column, Operations
from propriety.rules.weights import ThresholdWeight, read_grid, read_range


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
    >>> from propriety.rules.custom_weights import PointsWeight
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
    >>> from propriety.rules.custom_weights import CustomWeight
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
        raise InputTypeError("must be numbers", argument="densities", offender=str(error)) from error


def _check_densities(densities: Floats, thresholds: Floats) -> None:
    bad = ~((densities >= 0.0) & (densities < math.inf))
    if bad.any():
        offender = f"at {thresholds[bad][0].item():g} it is {densities[bad][0].item()!r}"
        raise InputValueError("must be finite and not negative", argument="weight", offender=offender)


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
