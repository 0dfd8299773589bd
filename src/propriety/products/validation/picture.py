"""Apparent and corrected values of learners, with the values in the parts of a cross-validation."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from propriety.inference.measures.reading import AnyMeasure
from propriety.plots.drawable_names import drawable_list
from propriety.plots.drawing import GREY, LEGEND, SMALL, color_of, draw, new_axes, shown, write_infinity, write_title
from propriety.plots.names import measure_and_merit
from propriety.products.validation.validate import Validation

BELOW = 0.26  # Distance of the parts below the corrected value.


@draw.register
def _(found: Validation, ax: Axes | None = None, *, measure: AnyMeasure | None = None, label: str = "") -> Axes:
    """Draw one measure, by default the first: a row per learner with apparent and corrected values and the parts."""
    asked = found.measure_named(measure)
    rows, parts = found.corrected.where(measure=asked.key), found.parts.where(measure=asked.key)
    ax = new_axes(ax, size=(6.0, 1.6 + 0.62 * len(rows)))
    for place, (row, other) in enumerate(zip(rows, found.apparent.where(measure=asked.key), strict=True)):
        color, corrected, apparent = color_of(place), row.value, other.value
        ax.plot([corrected, apparent], [place] * 2, color=GREY["isoline"], linewidth=0.9, zorder=1, label="_optimism")
        if np.isfinite([row.low, row.high]).all():
            ax.plot(
                [row.low, row.high], [place] * 2, color=color, linewidth=1.8, solid_capstyle="butt", label="_interval"
            )
        if np.isinf(corrected):
            write_infinity(ax, place, below=corrected < 0.0)
        ax.plot([corrected], [place], "o", color=color, markersize=6.5, label="_corrected")
        ax.plot([apparent], [place], "D", color=color, markerfacecolor="white", markersize=5.5, label="_apparent")
        if len(parts):
            values = parts.where(model=row.model).value
            ax.plot(values, np.full(len(values), place + BELOW), "|", color=color, alpha=0.6, label="_folds")
        if np.isfinite(corrected):
            ax.annotate(
                shown(corrected), (corrected, place), (0, 7), textcoords="offset points", ha="center", fontsize=SMALL
            )
    ideal = asked.ideal
    if ideal is not None:
        ax.axvline(ideal, color=GREY["line"], linewidth=0.9, zorder=0.5, label="_ideal")
    _write_legend(ax, None if not len(parts) else "sites" if found.imitation == "leave-one-site-out" else "folds")
    ax.set_yticks(range(len(rows)), drawable_list(rows.model.tolist()))
    ax.set(ylim=(len(rows) - 0.45, -0.55), xlabel=measure_and_merit(asked))
    ax.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(labelsize=SMALL, length=3)
    ax.tick_params(axis="y", length=0)
    write_title(ax, label, pad=26)
    return ax


def _write_legend(ax: Axes, parts: str | None) -> None:
    """Write above the axes what the markers mean."""
    color = GREY["text"]
    ax.plot([], [], "o", color=color, markersize=6.5, label="corrected, with interval")
    ax.plot([], [], "D", color=color, markerfacecolor="white", markersize=5.5, label="apparent")
    if parts is not None:
        ax.plot([], [], "|", color=color, label=parts)
    ax.legend(**LEGEND | {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "ncols": 3, "handlelength": 1.2})
