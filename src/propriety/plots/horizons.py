"""A measure over horizons, with intervals and the number of cases still followed up."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from propriety.inference.comparison_words import merit_in_words
from propriety.inference.horizon_curve import HorizonCurve
from propriety.inference.number_words import capitalized
from propriety.plots.drawing import (
    COLORS,
    DASHES,
    LEGEND,
    SMALL,
    draw,
    new_axes,
    shown,
    write_title,
)

__all__: list[str] = []

MOST = 8  # Most horizons whose number of cases is written.


@draw.register
def _(curve: HorizonCurve, ax: Axes | None = None, *, label: str = "") -> Axes:
    """Draw the measure of each model against the horizon, with pointwise intervals, and the cases followed up."""
    ax = new_axes(ax, size=(5.2, 3.9))
    for place, model in enumerate(curve.models):
        own = curve.model == model
        paint, dash = COLORS[place % len(COLORS)], DASHES[place % len(DASHES)]
        mean = curve.integrated[model]
        name = f"{model}: mean {shown(mean.value)}"
        if np.isfinite(mean.low):
            name += f" ({shown(mean.low)} to {shown(mean.high)})"
        ax.fill_between(curve.horizon[own], curve.low[own], curve.high[own], color=paint, alpha=0.15, linewidth=0)
        ax.plot(curve.horizon[own], curve.value[own], color=paint, linestyle=dash, marker="o", markersize=4, label=name)
    first = curve.model == curve.models[0]
    horizons, followed = curve.horizon[first], curve.event_free[first]
    if len(horizons) <= MOST:
        ticks = [f"{time:g}\n{number:,}" for time, number in zip(horizons.tolist(), followed.tolist(), strict=True)]
        ax.set_xticks(horizons, ticks)
    merit = merit_in_words(curve.measure)
    merit = f" ({merit})" if merit else ""
    below = "\nand cases followed up without the event" if len(horizons) <= MOST else ""
    ax.set(xlabel=f"Horizon{below}", ylabel=f"{capitalized(curve.measure.label)}{merit}")
    ax.legend(**LEGEND)
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=SMALL, length=3)
    write_title(ax, label)
    return ax
