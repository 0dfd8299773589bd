"""The calibration curve over sites: its band, the range of a further site, and the curves of the sites."""

from __future__ import annotations

from matplotlib.axes import Axes

from propriety.number_words import percent
from propriety.plots.drawing import COLORS, GREY, LEGEND, SMALL, draw, draw_band, new_axes, write_title
from propriety.products.sites.curve import PooledCurve


@draw.register
def _(found: PooledCurve, ax: Axes | None = None, *, label: str = "") -> Axes:
    """Draw the curve with its band; `label` is the title."""
    ax = new_axes(ax)
    limit = float(max(found.forecast[-1], found.site_rate.max(), found.further_high.max())) * 1.02
    ax.axline((0.0, 0.0), slope=1.0, color=GREY["line"], linewidth=0.9, label="_ideal")
    further = f"further site ({percent(found.level)})"
    draw_band(ax, found.forecast, found.further_low, found.further_high, color=GREY["band"], linewidth=0, label=further)
    for rate in found.site_rate:
        ax.plot(found.forecast, rate, color=GREY["line"], linewidth=0.6, label="_site")
    mean = f"mean site ({percent(found.level)} band)"
    draw_band(ax, found.forecast, found.low, found.high, color=COLORS[0], alpha=0.3, linewidth=0, label="_band")
    ax.plot(found.forecast, found.event_rate, color=COLORS[0], linewidth=1.8, label=mean)
    ax.plot([], [], color=GREY["line"], linewidth=0.6, label=f"each of {len(found.site)} sites")
    ax.set(xlim=(0.0, limit), ylim=(0.0, limit), xlabel="Forecast", ylabel="Event rate")
    ax.set_aspect("equal")
    ax.legend(loc="upper left", **LEGEND)
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=SMALL, length=3)
    write_title(ax, label)
    return ax
