"""Segments in which forecasts are wrong: observed/expected of each, with its interval and number of cases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullFormatter

from propriety.inference.segments import Segments
from propriety.plots.drawing import COLORS, GREY, SMALL, draw, new_axes, write_title

__all__: list[str] = []

TICKS = (0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.5, 2.0, 3.0, 5.0, 10.0)
SIZES = 1.13  # Right end of the numbers of cases, in widths of the axes.
MARGIN = 1.08  # Of the axis beyond the intervals, as a factor.
FEWEST_TICKS = 3


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
    low = min([*(row.low for row in rows if row.low > 0.0), 1.0]) / MARGIN
    high = max([*(row.high for row in rows if row.high > 0.0), 1.0]) * MARGIN
    for place, row in enumerate(rows):
        color = GREY["text"] if not row.found else COLORS[0] if row.ratio < 1.0 else COLORS[1]
        width = 1.6 if row.found else 0.9
        ax.plot((row.low, row.high), [place, place], color=color, linewidth=width, solid_capstyle="butt")
        marker = ("o" if row.ratio < 1.0 else "s") if row.found else "|"
        if not low <= row.ratio <= high:  # Without events, or if none is expected, it is at the end of the axis.
            marker = "<" if row.ratio < low else ">"
        at = min(max(row.ratio, low), high)
        ax.plot([at], [place], marker=marker, markersize=5.5, color=color, label="_estimate", clip_on=False)
        _write(ax, place, f"{row.n:,}")
    _write(ax, -0.62, "cases", va="bottom")
    ax.set_yticks(range(len(rows)), [row.name for row in rows])
    for tick, row in zip(ax.get_yticklabels(), rows, strict=True):
        tick.set_color("black" if row.found else GREY["text"])
    ax.set_xscale("log")
    ticks = [tick for tick in TICKS if low <= tick <= high] if TICKS[0] / 2.0 <= low and high <= 2.0 * TICKS[-1] else []
    if len(ticks) >= FEWEST_TICKS:
        ax.set_xticks(ticks)
        ax.xaxis.set_minor_formatter(NullFormatter())
        ax.tick_params(axis="x", which="minor", length=0)
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.set(xlim=(low, high), ylim=(max(len(rows), 1) - 0.4, -0.6), xlabel="Observed/expected (1 is ideal)")
    if not rows:
        ax.text(0.5, 0.5, "no segment stands out", transform=ax.transAxes, ha="center", fontsize=SMALL)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(labelsize=SMALL, length=3)
    ax.tick_params(axis="y", length=0)
    write_title(ax, label, pad=22)
    return ax


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
