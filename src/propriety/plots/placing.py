"""Places for text that no curve crosses: labels next to lines, and room above curves for a legend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.legend import Legend
from matplotlib.path import Path
from matplotlib.transforms import BboxBase

from propriety.plots.drawing import GREY, SMALL
from propriety.plots.names import write_legend

PAD = 0.03  # Of the axes.
GAP = 4.0  # Points between a line and its label.


class Spot(NamedTuple):
    """A possible place of a label: a point in data coordinates, and the alignment of the text."""

    x: float
    y: float
    ha: Literal["left", "center", "right"]
    va: Literal["top", "center", "bottom"]


def write_beside(ax: Axes, text: str, spots: Sequence[Spot]) -> None:
    """Write a label at the first spot that no line or other label of the axes crosses, or else at the first one.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = Figure().subplots()
    >>> line = ax.plot([0, 1], [0, 1])
    >>> write_beside(ax, "label", [Spot(0.5, 0.5, "center", "center"), Spot(0.9, 0.1, "right", "bottom")])
    >>> ax.texts[0].xy
    (0.9, 0.1)
    """
    lines = _paths(ax)
    texts = [other.get_window_extent() for other in ax.texts]
    frame = ax.get_window_extent()
    style: dict[str, Any] = {"fontsize": SMALL, "color": GREY["text"], "zorder": 4, "textcoords": "offset points"}
    tried = []
    for spot in spots:
        offset = (_offset(spot.ha, ("left", "right")), _offset(spot.va, ("bottom", "top")))
        tried.append(ax.annotate(text, (spot.x, spot.y), offset, ha=spot.ha, va=spot.va, **style))
        box = tried[-1].get_window_extent()
        crossed = box.count_overlaps(texts) or _cross(lines, box)
        if _holds(frame, box) and not crossed:
            kept = tried[-1]
            break
    else:
        kept = tried[0]
    for label in tried:
        if label is not kept:
            label.remove()


def place_legend(ax: Axes, handles: Sequence[Artist], labels: Sequence[str], **style: Any) -> Legend:
    """Write a legend in the upper left or lower right corner if no line crosses it there, or else above the axes.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = Figure().subplots()
    >>> lines = ax.plot([0, 0.1, 1], [0, 1, 1])
    >>> bool(place_legend(ax, lines, ["a"]).get_window_extent().y1 < ax.get_window_extent().y1 / 2)
    True
    """
    for corner in ("upper left", "lower right"):
        legend = write_legend(ax, handles, labels, loc=corner, **style)
        if not is_crossed(ax, legend):
            return legend
    return write_legend(ax, handles, labels, loc="lower left", bbox_to_anchor=(0.0, 1.0), borderaxespad=0.2, **style)


def is_crossed(ax: Axes, artist: Artist) -> bool:
    """Whether a line of the axes crosses a text or a legend."""
    return _cross(_paths(ax), artist.get_window_extent())


def make_room(ax: Axes, artist: Artist) -> None:
    """Raise the upper limit until no line reaches a legend or note in an upper corner.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = Figure().subplots()
    >>> line = ax.plot([0, 1], [0, 1], label="a")
    >>> make_room(ax, ax.legend(loc="upper right"))
    >>> bool(ax.get_ylim()[1] > 1.1)
    True
    """
    to_axes = ax.transAxes.inverted()
    box = artist.get_window_extent().transformed(to_axes)
    left, right, free = box.x0 - PAD, box.x1 + PAD, box.y0 - PAD
    highest = 0.0
    for line in ax.get_lines():
        x, y = to_axes.transform(line.get_transform().transform(line.get_xydata())).T
        seen = np.append(y[(x >= left) & (x <= right)], np.interp([left, right], x, y))
        highest = max(highest, float(seen[np.isfinite(seen)].max(initial=0.0)))
    if highest > free > 0.25:  # A legend that fills the axes is not moved.
        bottom, top = ax.get_ylim()
        ax.set_ylim(bottom, bottom + (top - bottom) * highest / free)


def _paths(ax: Axes) -> list[Path]:
    return [Path(line.get_transform().transform(line.get_xydata())) for line in ax.get_lines() if line.get_visible()]


def _cross(lines: Sequence[Path], box: BboxBase) -> bool:
    return any(line.intersects_bbox(box, filled=False) for line in lines)  # type: ignore[arg-type]  # a Bbox


def _offset(align: str, sides: tuple[str, str]) -> float:
    return {sides[0]: GAP, sides[1]: -GAP}.get(align, 0.0)


def _holds(frame: BboxBase, box: BboxBase) -> bool:
    return frame.x0 <= box.x0 and box.x1 <= frame.x1 and frame.y0 <= box.y0 and box.y1 <= frame.y1
