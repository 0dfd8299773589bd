"""Segments in which forecasts are wrong: observed/expected of each, with its interval and number of cases."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullFormatter

from propriety.inference.segments import Segments
from propriety.plots.drawing import COLORS, GREY, SMALL, draw, new_axes, write_title

__all__: list[str] = []

TICKS = (0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.5, 2.0, 3.0, 5.0, 10.0)
SIZES = 1.13  # Right end of the numbers of cases, in widths of the axes.
MARGIN = 1.08  # Of the axis beyond the intervals, as a factor.
FEWEST_TICKS = 3


@draw.register
def _(segments: Segments, ax: Axes | None = None, *, label: str = "") -> Axes:
    """Draw one line per segment, on a logarithmic axis; `label` is the title."""
    rows = len(segments.segment)
    ax = new_axes(ax, size=(6.2, 1.3 + 0.36 * max(rows, 1)))
    ax.axvline(1.0, color=GREY["line"], linewidth=0.9, zorder=0.5, label="_one")
    for place in range(rows):
        ends, ratio = (segments.low[place], segments.high[place]), segments.observed_expected[place]
        color = COLORS[0] if ratio < 1.0 else COLORS[1]
        ax.plot(ends, [place, place], color=color, linewidth=1.6, solid_capstyle="butt", label="_interval")
        ax.plot([ratio], [place], marker="o" if ratio < 1.0 else "s", markersize=5.5, color=color, label="_estimate")
        _write(ax, place, f"{segments.n[place]:,}")
    _write(ax, -0.62, "cases", va="bottom")
    ax.set_yticks(range(rows), segments.segment.tolist())
    low = min([*segments.low[segments.low > 0.0].tolist(), 1.0]) / MARGIN
    high = max([*segments.high.tolist(), 1.0]) * MARGIN
    ax.set_xscale("log")
    ticks = [tick for tick in TICKS if low <= tick <= high]
    if len(ticks) >= FEWEST_TICKS:
        ax.set_xticks(ticks)
        ax.xaxis.set_minor_formatter(NullFormatter())
        ax.tick_params(axis="x", which="minor", length=0)
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.set(xlim=(low, high), ylim=(max(rows, 1) - 0.4, -0.6), xlabel="Observed/expected (1 is ideal)")
    if not rows:
        ax.text(0.5, 0.5, "no segment stands out", transform=ax.transAxes, ha="center", fontsize=SMALL)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(labelsize=SMALL, length=3)
    ax.tick_params(axis="y", length=0)
    write_title(ax, label, pad=22)
    return ax


def _write(ax: Axes, y: float, text: str, *, va: str = "center") -> None:
    """Write to the right of a row."""
    place = ax.get_yaxis_transform()
    ax.text(SIZES, y, text, transform=place, ha="right", va=va, fontsize=SMALL, color=GREY["text"])
