"""Sensitivity, specificity and predictive values over the thresholds, with their confidence limits."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from propriety.decisions.operating_points import OperatingPoints
from propriety.number_words import percent
from propriety.plots.drawing import COLORS, DASHES, LEGEND, Percent, draw, new_axes, open_frame, write_title
from propriety.plots.names import label_axis, write_legend

RATES = {
    "sensitivity": "sensitivity",
    "specificity": "specificity",
    "positive_predictive_value": "PPV",
    "negative_predictive_value": "NPV",
    "alert_rate": "alert rate",
}
COMPACT = {"handlelength": 1.8, "columnspacing": 1.0, "handletextpad": 0.5, "borderaxespad": 0.2}
APART = 0.01  # Between the bars at a single threshold.
FEW = 12  # Thresholds that are marked by points.


@draw.register
def _(points: OperatingPoints, ax: Axes | None = None, *, label: str = "") -> Axes:
    """Draw the rates against the threshold with pointwise confidence bands; at a single threshold, with bars."""
    ax = new_axes(ax, size=(5.2, 4.0))
    order = np.argsort(points.threshold)
    threshold = points.threshold[order]
    single = bool(threshold[0] == threshold[-1])
    for place, (name, text) in enumerate(RATES.items()):
        value, low, high = (getattr(points, f"{name}{side}")[order] for side in ("", "_low", "_high"))
        style: dict[str, Any] = {"color": COLORS[place], "linestyle": DASHES[place], "zorder": 3, "label": text}
        if single:
            x = threshold + APART * (place - len(RATES) // 2)  # Bars side by side, around the only tick.
            ax.vlines(x, low, high, color=COLORS[place], linewidth=1.2, zorder=2, label="_limits")
        else:
            x = threshold
            ax.fill_between(x, low, high, color=COLORS[place], alpha=0.14, linewidth=0, zorder=2, label="_limits")
        ax.plot(x, value, linewidth=1.6, marker="o" if len(order) <= FEW else "", markersize=3.5, **style)
    ax.set_ylim(0, 1.02)
    if single:
        ax.set_xlim(threshold[0] - len(RATES) * APART, threshold[0] + len(RATES) * APART)
        ax.set_xticks(threshold[:1])
    else:
        ax.set_xlim(threshold[0], threshold[-1])
    label_axis(ax.xaxis, "Threshold", f" ({'bars' if single else 'shaded'}: {percent(points.level)} confidence limits)")
    ax.xaxis.set_major_formatter(Percent())
    ax.yaxis.set_major_formatter(Percent())
    open_frame(ax)
    write_legend(ax, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=len(RATES), **(LEGEND | COMPACT))
    write_title(ax, label, pad=24)
    return ax
