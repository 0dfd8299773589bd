"""Lines with very many points, thinned to what a figure can show.

A picture of the page is some 350 points wide. Of the points that share one of 4,000 columns of it the first, the last,
the lowest and the highest are kept, which draw the same line at that resolution (M4). Tables are made before.

References
----------
Jugel, Jerzak, Hackenbroich & Markl (2014), doi:10.14778/2732951.2732953.
"""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from propriety.result import Floats

COLUMNS = 4000


def thin_lines(canvas: Figure) -> None:
    """Thin the lines of a figure that run from left to right and have far more points than are visible."""
    for ax in canvas.axes:
        for line in ax.get_lines():
            _thin(line, ax)


def kept_points(
    x: Floats, y: Floats, limits: tuple[float, float], *, columns: int = COLUMNS
) -> NDArray[np.intp] | None:
    """Return the positions of the points that are needed between the limits; None if all are, or if x decreases.

    Examples
    --------
    >>> x = np.linspace(0.0, 1.0, 100_001)
    >>> kept = kept_points(x, np.sin(1000.0 * x), (0.0, 1.0))
    >>> len(kept) < 17_000, int(kept[0]), int(kept[-1])
    (True, 0, 100000)
    """
    if len(x) <= 4 * columns or not (np.isfinite(x).all() and np.isfinite(y).all()) or (np.diff(x) < 0.0).any():
        return None
    low, high = sorted(limits)
    # One point beyond either limit, so that the line reaches it.
    first = max(int(np.searchsorted(x, low, side="left")) - 1, 0)
    last = min(int(np.searchsorted(x, high, side="right")), len(x) - 1)
    starts = np.searchsorted(x, np.linspace(low, high, columns + 1))
    starts = np.unique(np.clip([first, *starts], first, last))
    ends = np.append(starts[1:] - 1, last)
    extremes = [_places_of_lowest(sign * y[: last + 1], starts) for sign in (1.0, -1.0)]
    return np.unique(np.concatenate([starts, ends, *extremes]))


def _places_of_lowest(y: Floats, starts: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the position of the first minimum of each segment, from its start to the next."""
    lowest = np.repeat(np.minimum.reduceat(y, starts), np.diff(np.append(starts, len(y))))
    at = np.flatnonzero(y[starts[0] :] == lowest) + starts[0]
    return np.asarray(at[np.searchsorted(at, starts)])


def _thin(line: Line2D, ax: Axes) -> None:
    x, y = (np.asarray(values) for values in line.get_data(orig=True))
    if len(x) <= 4 * COLUMNS or x.dtype.kind != "f" or y.dtype.kind != "f" or line.get_transform() != ax.transData:
        return
    along = ax.xaxis.get_transform()  # Columns have equal width in the figure, also on a log-odds axis.
    low, high = along.transform(np.array(ax.get_xlim())).tolist()
    kept = kept_points(along.transform(x), y, (low, high))
    if kept is not None:
        line.set_data(x[kept], y[kept])
