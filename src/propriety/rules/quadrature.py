"""Integrals of the regret of a case under any weight on thresholds, by Gauss-Legendre quadrature in panels."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from propriety.errors import InputValueError
from propriety.result import Floats

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
