"""Curves of very many points, thinned to what a picture can show: the drawn line stays the same to a hundredth of it.

A page's picture is about 350 points wide. Of the points that share one of 4,000 columns, the first, the last, the
lowest and the highest are kept, which draws the same line at that resolution (M4). Tables and readings are not made
of them.

References
----------
Jugel, Jerzak, Hackenbroich & Markl (2014), doi:10.14778/2732951.2732953.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from propriety.results import Floats

__all__ = ["kept_points", "thin_lines"]

COLUMNS = 4000


def thin_lines(canvas: Figure) -> None:
    """Thin the lines of a figure that go from left to right and have far more points than can be seen."""
    for ax in canvas.axes:
        for line in ax.get_lines():
            _thin(line, ax.get_xlim())


def kept_points(x: Floats, y: Floats, limits: tuple[float, float]) -> NDArray[np.intp] | None:
    """Return the places of the points that are needed between the limits; None if that is all, or x goes back.

    Examples
    --------
    >>> x = np.linspace(0.0, 1.0, 100_001)
    >>> kept = kept_points(x, np.sin(1000.0 * x), (0.0, 1.0))
    >>> len(kept) < 17_000, kept[0], kept[-1]
    (True, np.int64(0), np.int64(100000))
    """
    if len(x) <= 4 * COLUMNS or not (np.isfinite(x).all() and np.isfinite(y).all()) or (np.diff(x) < 0.0).any():
        return None
    low, high = sorted(limits)
    first, last = (int(place) for place in np.searchsorted(x, [low, high], side="left"))
    # One point beyond either limit, to which the line leads.
    first, last = max(first - 1, 0), min(last + 1, len(x) - 1)
    if last - first < 4 * COLUMNS:
        return np.arange(first, last + 1)
    edges = np.searchsorted(x[first : last + 1], np.linspace(low, high, COLUMNS + 1)) + first
    starts = np.unique(np.clip(edges, first, last))
    ends = np.append(starts[1:] - 1, last)
    extremes = [_places_of_extremes(sign * y[: last + 1], starts) for sign in (1.0, -1.0)]
    return np.unique(np.concatenate([[first], starts, ends, *extremes]))


def _places_of_extremes(y: Floats, starts: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return where each segment, from its start to the next, is lowest for the first time."""
    lowest = np.repeat(np.minimum.reduceat(y, starts), np.diff(np.append(starts, len(y))))
    at = np.flatnonzero(y[starts[0] :] == lowest) + starts[0]
    found: NDArray[np.intp] = at[np.searchsorted(at, starts)]
    return found


def _thin(line: Line2D, limits: tuple[float, float]) -> None:
    x, y = (np.asarray(values) for values in line.get_data(orig=True))
    on_data = line.axes is not None and line.get_transform().contains_branch(line.axes.transData)
    if x.dtype.kind != "f" or y.dtype.kind != "f" or not on_data:
        return
    kept = kept_points(x, y, limits)
    if kept is not None:
        line.set_data(x[kept], y[kept])
