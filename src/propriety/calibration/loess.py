"""Cleveland's local regression of outcomes on forecasts, as R's `lowess` computes it."""

from __future__ import annotations

import numpy as np

from propriety.result import Floats

SPAN, DELTA = 2.0 / 3.0, 0.01
NEAR, FAR = 0.001, 0.999  # Shares of the width within which cases have full weight, and beyond which they have none.


def loess_of(forecast: Floats, events: Floats, count: Floats) -> Floats:
    r"""Return the event rate at each forecast by local linear regression.

    At a forecast, the two thirds of the cases that are nearest to it are fitted by a line with tricube weights. As in
    R's ``lowess(p, y, iter=0)``, which `rms::val.prob` uses, the fit is made at forecasts 1% of their range apart and
    interpolated between them.

    Parameters
    ----------
    forecast : array of shape (rows,)
        Distinct forecasts in increasing order.
    events, count : array of shape (rows,)
        Number of events and of cases with each forecast.

    References
    ----------
    Cleveland (1979), doi:10.1080/01621459.1979.10481038.

    Examples
    --------
    >>> p = np.array([0.1, 0.2, 0.4, 0.5, 0.7, 0.8])
    >>> loess_of(p, np.array([0.0, 0.0, 1.0, 0.0, 1.0, 1.0]), np.ones(6)).round(4)
    array([-0.1075,  0.1835,  0.4495,  0.5505,  0.8165,  1.1075])
    """
    n, span = float(count.sum()), float(forecast[-1] - forecast[0])
    nearest = max(2, min(int(n), int(SPAN * n + 1e-7)))
    end = np.cumsum(count)
    places = _places(forecast, DELTA * span)
    left = _first_of_nearest(forecast, end, nearest, forecast[places])
    fitted = np.array(
        [_fit_at(forecast, events, count, end, nearest, span, *one) for one in zip(places, left, strict=True)]
    )
    return np.asarray(np.interp(forecast, forecast[places], fitted), dtype=np.float64)


def _places(forecast: Floats, delta: float) -> list[int]:
    """Return the rows at which the line is fitted: the last one within `delta` of the one before, or the next."""
    places = [0]
    while places[-1] < len(forecast) - 1:
        last = places[-1]
        within = int(np.searchsorted(forecast, forecast[last] + delta, side="right")) - 1
        places.append(max(last + 1, within))
    return places


def _first_of_nearest(forecast: Floats, end: Floats, nearest: int, at: Floats) -> Floats:
    """Return where the `nearest` cases around each place begin: the number of cases before them, by bisection."""
    low, high = np.zeros(len(at)), np.full(len(at), end[-1] - nearest)
    while (low < high).any():
        middle = np.floor((low + high) / 2.0)
        rows = [np.searchsorted(end, place, side="right") for place in (middle, middle + nearest)]
        first, after = (forecast[np.minimum(row, len(forecast) - 1)] for row in rows)
        too_far_left = (at - first > after - at) & (low < high)
        low, high = np.where(too_far_left, middle + 1.0, low), np.where(too_far_left, high, middle)
    return low


def _fit_at(
    forecast: Floats,
    events: Floats,
    count: Floats,
    end: Floats,
    nearest: int,
    span: float,
    place: int,
    left: float,
) -> float:
    """Return the value at one place of the line fitted to the cases around it."""
    first, last = np.searchsorted(end, [left, left + nearest - 1.0], side="right")
    x = forecast[first:] - forecast[place]
    width = max(-x[0], float(forecast[last] - forecast[place]))
    distance = np.abs(x)
    with np.errstate(invalid="ignore", divide="ignore"):
        weight = np.where(distance <= NEAR * width, 1.0, (1.0 - (distance / width) ** 3) ** 3)
    weight = np.where(distance <= FAR * width, weight, 0.0) * count[first:]
    weight /= weight.sum()
    centre = float(weight @ x)
    variance = float(weight @ (x - centre) ** 2)
    if np.sqrt(variance) > NEAR * span:
        weight *= 1.0 - centre / variance * (x - centre)
    return float(weight @ (events[first:] / count[first:]))
