"""A measure over horizons, with intervals and the number of cases still followed up."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from propriety.inference.horizon_curve import HorizonCurve
from propriety.plots.drawable_names import drawable_names
from propriety.plots.drawing import LEGEND, SMALL, draw, line_style, new_axes, shown, write_title
from propriety.plots.names import measure_and_merit

MOST = 8  # Most horizons whose number of cases is written.


@draw.register
def _(curve: HorizonCurve, ax: Axes | None = None, *, label: str = "") -> Axes:
    """Draw the measure of each model against the horizon, with pointwise intervals, and the cases followed up."""
    ax = new_axes(ax, size=(5.2, 3.9))
    short = drawable_names(curve.models)
    for place, model in enumerate(curve.models):
        own, style = curve.model == model, line_style(place)
        mean = curve.integrated[model]
        name = f"{short[model]}: mean {shown(mean.value)}"
        if np.isfinite(mean.low):
            name += f" ({shown(mean.low)} to {shown(mean.high)})"
        ax.fill_between(
            curve.horizon[own], curve.low[own], curve.high[own], color=style["color"], alpha=0.15, linewidth=0
        )
        ax.plot(curve.horizon[own], curve.value[own], marker="o", markersize=4, label=name, **style)
    first = curve.model == curve.models[0]
    horizons, followed = curve.horizon[first], curve.event_free[first]
    if len(horizons) <= MOST:
        ticks = [f"{time:g}\n{number:,}" for time, number in zip(horizons.tolist(), followed.tolist(), strict=True)]
        ax.set_xticks(horizons, ticks)
    below = "\nand cases followed up without any event" if len(horizons) <= MOST else ""
    ax.set(xlabel=f"Horizon{below}", ylabel=measure_and_merit(curve.measure))
    ax.legend(**LEGEND)
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=SMALL, length=3)
    write_title(ax, label)
    return ax
