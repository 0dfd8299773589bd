"""Precision and recall of acting on the k highest forecasts."""

from __future__ import annotations

from typing import Literal

import numpy as np
from matplotlib.axes import Axes

from propriety.decisions.top_k import TopK
from propriety.plots.drawing import COLORS, DASHES, GREY, SMALL, Percent, draw, new_axes, open_frame
from propriety.plots.placing import Spot, write_beside

VERTICAL: tuple[Literal["top"], Literal["bottom"]] = ("top", "bottom")


@draw.register
def _(result: TopK, ax: Axes | None = None) -> Axes:
    """Draw precision and recall against the capacity, with the precision of random choices."""
    ax = new_axes(ax, size=(4.6, 3.6))
    capacity = np.atleast_1d(result.k)
    order = np.argsort(capacity)
    ax.axhline(result.event_rate, color=GREY["line"], linewidth=0.9, zorder=1)
    lines = (
        ("precision: events among cases acted on", result.precision),
        ("recall: events acted on", result.recall),
    )
    for index, (name, values) in enumerate(lines):
        share = np.atleast_1d(values)[order]
        ax.plot(
            capacity[order], share, color=COLORS[index], linestyle=DASHES[index], label=name, marker="o", markersize=3.5
        )
    ax.legend(fontsize=SMALL, frameon=False, loc="best")
    ax.set(ylim=(0, 1.08), xlabel=f"Capacity: cases acted on, of {result.n:,}", ylabel="Share")
    ax.yaxis.set_major_formatter(Percent())
    first, last = ax.get_xlim()
    sides: tuple[tuple[float, Literal["left", "right"]], ...] = ((last, "right"), (first, "left"))
    spots = [Spot(x, result.event_rate, side, up) for up in VERTICAL for x, side in sides]
    write_beside(ax, f"prevalence {result.event_rate:.1%}", spots)
    open_frame(ax)
    return ax
