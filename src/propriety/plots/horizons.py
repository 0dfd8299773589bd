"""A measure over horizons, with intervals and the number of cases still followed up."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from propriety.inference.finding import Findings
from propriety.plots.drawable_names import drawable_names
from propriety.plots.drawing import LEGEND, line_style, new_axes, open_frame, shown, write_title
from propriety.plots.names import measure_and_merit

MOST = 8  # Most horizons whose number of cases is written.


def draw_horizons(found: Findings, ax: Axes | None = None, *, label: str = "") -> Axes:
    """Draw the measure of each model against the horizon, with pointwise intervals, and the cases followed up."""
    ax = new_axes(ax, size=(5.2, 3.9))
    means = found.where(keys={})
    short = drawable_names(means.model.tolist())
    first = found.where(model=means.model[0], statistic="value")
    horizons = first.keys["horizon"].astype(np.float64)
    for place, mean in enumerate(means):
        curve, style = found.where(model=mean.model, statistic="value"), line_style(place)
        name = f"{short[mean.model]}: mean {shown(mean.value)}"
        if mean.has_limits:
            name += f" ({shown(mean.low)} to {shown(mean.high)})"
        ax.fill_between(horizons, curve.low, curve.high, color=style["color"], alpha=0.15, linewidth=0)
        ax.plot(horizons, curve.value, marker="o", markersize=4, label=name, **style)
    if len(horizons) <= MOST:
        ticks = [f"{row.keys['horizon']:g}\n{row.extra['event_free']:,}" for row in first]
        ax.set_xticks(horizons, ticks)
    below = "\nand cases followed up without any event" if len(horizons) <= MOST else ""
    ax.set(xlabel=f"Horizon{below}", ylabel=measure_and_merit(found.measure[0]))
    ax.legend(**LEGEND)
    open_frame(ax)
    write_title(ax, label)
    return ax
