"""Segments in which forecasts are wrong: observed/expected of each, with its interval and number of cases."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullLocator

from propriety.plots.drawable_names import LONGEST_ROW, drawable_names
from propriety.plots.drawing import COLORS, GREY, SMALL, draw, new_axes, on_white, write_title
from propriety.products.segments.find import Segments

# The first ones have priority if there is no room for all.
TICKS = (
    *(1.0, 0.5, 2.0, 0.1, 10.0, 0.2, 5.0, 0.01, 100.0, 0.7, 1.5, 0.3, 3.0, 0.02, 50.0, 0.05, 20.0),
    *(0.8, 1.2, 0.9, 1.1, 1.3, 0.95, 1.05, 0.98, 1.02, 0.99, 1.01),
)
APART = 0.09  # Between ticks, as a share of the axis.
WIDE = (0.1, 10.0)  # At least so far reaches the axis on the side of a ratio of 0, or of infinity.
SIZES = 1.13  # Right end of the numbers of cases, in widths of the axes.
TWO_LINES = 66  # Letters of a name that fit on two lines, wherever the line is broken.
MARGIN = 1.08  # Of the axis beyond the intervals, as a factor.


class _Row(NamedTuple):
    """A line of the figure: a segment that was found, or a wider one below it."""

    name: str
    n: int
    ratio: float
    low: float
    high: float
    found: bool


@draw.register
def _(segments: Segments, ax: Axes | None = None, *, label: str = "") -> Axes:
    """Draw one line per segment, on a logarithmic axis; `label` is the title.

    Below a segment of several columns are those with one column less, in grey. They show whether the deviation belongs
    to the combination.
    """
    rows = list(_rows(segments))
    ax = new_axes(ax, size=(6.2, 1.3 + 0.32 * max(len(rows), 1)))
    ax.axvline(1.0, color=GREY["line"], linewidth=0.9, zorder=0.5, label="_one")
    low, high = _ends(rows)
    for place, row in enumerate(rows):
        color = GREY["text"] if not row.found else COLORS[0] if row.ratio < 1.0 else COLORS[1]
        width = 1.6 if row.found else 0.9
        ax.plot((row.low, row.high), [place, place], color=color, linewidth=width, solid_capstyle="butt")
        marker = ("o" if row.ratio < 1.0 else "s") if row.found else "|"
        if not low <= row.ratio <= high:  # Without events, or if none is expected, it is at the end of the axis.
            marker = "<" if row.ratio < low else ">"
            _write_ratio(ax, row.ratio, low if row.ratio < low else high, place, color)
        at = min(max(row.ratio, low), high)
        ax.plot([at], [place], marker=marker, markersize=5.5, color=color, label="_estimate", clip_on=False)
        _write(ax, place, f"{row.n:,}")
    _write(ax, -0.62, "cases", va="bottom")
    short = drawable_names([row.name for row in rows], longest=TWO_LINES)  # A wider segment may be in several rows.
    ax.set_yticks(range(len(rows)), ["\n".join(textwrap.wrap(short[row.name], LONGEST_ROW)) for row in rows])
    for tick, row in zip(ax.get_yticklabels(), rows, strict=True):
        tick.set_color("black" if row.found else GREY["text"])
    ax.set_xscale("log")
    ax.set_xticks(_ticks(low, high))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.set(xlim=(low, high), ylim=(max(len(rows), 1) - 0.4, -0.6), xlabel="Observed/expected (1 is ideal)")
    if not rows:
        note = "no segment stands out"
        ax.text(0.5, 0.5, note, transform=ax.transAxes, ha="center", fontsize=SMALL, bbox=on_white())
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(labelsize=SMALL, length=3)
    ax.tick_params(axis="y", length=0, pad=8)  # Markers at the end of the axis do not touch the names.
    write_title(ax, label, pad=22)
    return ax


def _ends(rows: list[_Row]) -> tuple[float, float]:
    """Return the limits of the axis, which shows all ratios and intervals that are not 0 or infinite."""
    known = [end for row in rows for end in row[2:5] if 0.0 < end < math.inf]
    low, high = min([*known, 1.0]) / MARGIN, max([*known, 1.0]) * MARGIN
    none, unbounded = (any(end == edge for row in rows for end in row[2:5]) for edge in (0.0, math.inf))
    return min(low, WIDE[0]) if none else low, max(high, WIDE[1]) if unbounded else high


def _ticks(low: float, high: float) -> list[float]:
    """Return the round ratios on the axis that are not too close to each other."""
    kept: list[float] = []
    for tick in TICKS:
        apart = (abs(math.log(tick / other)) / math.log(high / low) for other in kept)
        if low <= tick <= high and all(distance >= APART for distance in apart):
            kept.append(tick)
    return sorted(kept)


def _write_ratio(ax: Axes, ratio: float, at: float, place: int, color: str) -> None:
    """Write a ratio that is beyond the axis above its marker at the end."""
    left = ratio < at
    ax.annotate(
        "0" if left else "∞",
        (at, place),
        (0, 4),
        textcoords="offset points",
        ha="left" if left else "right",
        va="bottom",
        fontsize=SMALL,
        color=color,
    )


def _rows(segments: Segments) -> Iterator[_Row]:
    """Yield the lines from top to bottom."""
    columns = (segments.segment, segments.n, segments.observed_expected, segments.low, segments.high)
    for place, row in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
        name, n, ratio, low, high = row
        yield _Row(name, n, ratio, low, high, found=True)
        for one in segments.wider:
            if one.found == place:
                yield _Row(f"all of {one.segment}", one.n, one.observed_expected, one.low, one.high, found=False)


def _write(ax: Axes, y: float, text: str, *, va: str = "center") -> None:
    """Write to the right of a row."""
    place = ax.get_yaxis_transform()
    ax.text(SIZES, y, text, transform=place, ha="right", va=va, fontsize=SMALL, color=GREY["text"])
