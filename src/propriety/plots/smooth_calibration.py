"""Figure of a smooth calibration curve with its band, the CORP curve, and a histogram split by outcome."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from propriety.calibration.reliability import ReliabilityCurve
from propriety.calibration.smooth_calibration import SmoothCalibration
from propriety.number_words import percent
from propriety.plots.drawing import COLORS, GREY, LEGEND, SMALL, draw, new_axes, open_frame, write_title
from propriety.plots.names import label_axis

MARGIN = 0.14  # Height of the histogram below the curve, as a share of the axis.


@draw.register
def _(
    smooth: SmoothCalibration,
    ax: Axes | None = None,
    *,
    color: str = COLORS[0],
    label: str = "",
    curve: ReliabilityCurve | None = None,
    limit: float = 1.0,
) -> Axes:
    """Draw the curve and its band up to `limit` on both axes; `curve` is the CORP curve, drawn if given."""
    ax = new_axes(ax)
    ax.plot([0, limit], [0, limit], color=GREY["line"], linewidth=0.9, zorder=1.5, label="_diagonal")
    if not np.isnan(smooth.low).all():  # Of clustered cases it has no band.
        ax.fill_between(
            smooth.forecast,
            smooth.low,
            smooth.high,
            color=color,
            alpha=0.18,
            linewidth=0,
            zorder=2,
            label=f"{percent(smooth.level)} pointwise confidence band",
        )
    if curve is not None:
        corners = np.stack([curve.forecast_min, curve.forecast_max], axis=1).ravel()
        rates = np.repeat(curve.event_rate, 2)
        for band in curve.bands[:1]:
            grey: dict[str, Any] = {"color": GREY["band"], "linewidth": 0, "zorder": 1.2, "label": "_consistency band"}
            ax.fill_between(band.forecast, band.low, band.high, **grey)
        ax.plot(corners, rates, color=GREY["text"], linewidth=0.9, linestyle=(0, (3, 1.5)), zorder=2.5, label="CORP")
    ax.plot(smooth.forecast, smooth.event_rate, color=color, linewidth=1.8, zorder=3, label="smooth curve")
    _draw_histogram(ax, smooth, limit)
    ax.set(xlim=(0, limit), ylim=(-MARGIN * limit, limit), aspect="equal")
    ticks = np.linspace(0, limit, 6)
    ax.set_xticks(ticks)
    ax.set_yticks(ticks)
    label_axis(ax.xaxis, "Forecast probability")
    label_axis(ax.yaxis, "Observed event rate")
    open_frame(ax)
    ax.legend(loc="upper left", **LEGEND)
    write_title(ax, label)
    return ax


def _draw_histogram(ax: Axes, smooth: SmoothCalibration, limit: float) -> None:
    """Draw events above a line below the curve and non-events below it, each relative to its largest bin."""
    found = smooth.histogram
    base, height = -MARGIN * limit / 2.0, 0.45 * MARGIN * limit
    ax.axhline(base, color=GREY["line"], linewidth=0.6, zorder=1.4)
    for weight, sign in ((found.events, 1.0), (found.non_events, -1.0)):
        bars = sign * height * weight / max(float(weight.max()), 1e-300)
        ax.stairs(
            base + bars,
            found.edges,
            baseline=base,
            fill=True,
            color=GREY["text"] if sign > 0 else GREY["bars"],
            linewidth=0,
            zorder=1.45,
            label="_histogram",
        )
    ax.set_yticks([base + height / 2.0, base - height / 2.0], ["events", "non-events"], minor=True)
    ax.tick_params(axis="y", which="minor", length=0, labelsize=SMALL - 2, labelcolor=GREY["text"])
