"""Newton's method for the likelihoods of maps, with a penalty and bounds, and how much the evidence keeps of a fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from propriety.result import Floats

MAX_STEPS = 100
LAST_STEP = 1e-11  # Of a parameter, relative to the largest.
LAST_GAIN = 1e-16  # Of a step, relative to the loss, whose rounding error is larger.
SHARES = 0.5 ** np.arange(40)  # Fractions of a step that are tried.
CONDITION = 1e-13  # A direction with a smaller relative curvature counts as flat.
CAUTION = 1.25  # With 1, recalibrating calibrated forecasts costs 1.5 times as much, and other forecasts gain little.


class Sums(NamedTuple):
    """The negative log-likelihood at given parameters, with its gradient and Hessian."""

    loss: float
    gradient: Floats
    hessian: Floats


Likelihood: TypeAlias = Callable[[Floats], Sums]


def penalised(likelihood: Likelihood, penalty: Floats, centre: Floats) -> Likelihood:
    r"""Add :math:`\tfrac12 (\theta - c)^\top P (\theta - c)` to a negative log-likelihood."""

    def sums(parameters: Floats) -> Sums:
        found, away = likelihood(parameters), parameters - centre
        pull = penalty @ away
        return Sums(found.loss + float(away @ pull) / 2.0, found.gradient + pull, found.hessian + penalty)

    return sums


def newton(value_gradient_hessian: Likelihood, start: Floats, lowest: Floats | float = -np.inf) -> Floats | None:
    """Return the parameters, none below its lower bound, that minimise a convex function; None if there are none.

    A step changes the parameters that are not held at their bound. One that overshoots is halved. The slope along the
    step decides, because near the minimum the difference of two losses is mostly rounding error.
    """
    now: Floats = np.maximum(start, lowest)
    at = value_gradient_hessian(now)
    # If the forecasts separate the outcomes, the curvature vanishes as parameters go to infinity.
    flat = CONDITION * at.hessian.diagonal()
    for _ in range(MAX_STEPS):
        step = _step(at, now > lowest, at.gradient < 0.0)
        if step is None or (at.hessian.diagonal() <= flat).any():
            return None
        downhill = at.gradient
        for share in SHARES:
            there = np.maximum(now + share * step, lowest)
            # At the minimum the slope is rounding error.
            limit = max(0.0, -float(downhill @ (there - now)) / 2.0)
            at = value_gradient_hessian(there)
            if limit == 0.0 or float(at.gradient @ (there - now)) <= limit:
                break
        else:
            return None
        now = there
        small = float(np.abs(step).max()) <= LAST_STEP * max(1.0, float(np.abs(now).max()))
        if small or limit <= LAST_GAIN * share * at.loss:
            return now
    return None


def _step(at: Sums, inside: NDArray[np.bool_], falling: NDArray[np.bool_]) -> Floats | None:
    """Return the Newton step of parameters that are not at their bound or leave it; None if a direction is flat."""
    free = inside | falling
    step = np.zeros(len(free))
    while free.any():
        found = _solved(at.hessian[np.ix_(free, free)], at.gradient[free])
        if found is None:
            return None
        step[free] = found
        held = free & ~inside & (step < 0.0)
        if not held.any():
            break
        free, step = free & ~held, np.zeros(len(free))
    return step


def _solved(hessian: Floats, gradient: Floats) -> Floats | None:
    from scipy.linalg import LinAlgError, cho_factor, cho_solve  # Imported here, because it is slow to import.

    scale = np.sqrt(np.maximum(hessian.diagonal(), 0.0))
    if not (scale > 0.0).all() or not np.isfinite(hessian).all():
        return None
    try:
        factor = cho_factor(hessian / np.outer(scale, scale), check_finite=False)
    except LinAlgError:
        return None
    if float(np.abs(factor[0].diagonal()).min()) ** 2 <= CONDITION:
        return None
    return -cho_solve(factor, gradient / scale, check_finite=False) / scale


def expected_ratio(information: Floats, noise: Floats, penalty: Floats) -> float:
    """Return twice the gain in log-likelihood over the true parameters that is expected of a penalised fit.

    `information` is the Hessian at the truth, and `noise` the same with squared weights.
    """
    inverse = np.linalg.inv(information + penalty)
    moved = inverse @ noise
    return float(2.0 * np.trace(moved) - np.trace(inverse @ information @ moved))


def share_kept(gain: float, expected: float) -> float:
    """Return the share of a fit that shrinkage keeps, by its gain in log-likelihood and twice the expected one."""
    return min(1.0, max(0.0, 1.0 - CAUTION * expected / (2.0 * gain))) if gain > 0.0 else 0.0
