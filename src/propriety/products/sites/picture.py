"""Forest plots of meta-analyses: the estimates of the sites, their mean, and the prediction interval."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

from propriety.inference.measures.reading import AnyMeasure
from propriety.number_words import capitalized, percent
from propriety.plots.drawable_names import LONGEST_ROW, drawable, drawable_list
from propriety.plots.drawing import COLORS, GREY, SMALL, draw, new_axes, write_title
from propriety.plots.names import measure_and_merit
from propriety.products.sites.pooling import MetaAnalysis

# Right ends of the columns of numbers, in points to the left and to the right of the axes.
EVENTS, CASES, VALUES, WEIGHTS = -8, -48, 132, 178
GAP, CHARACTER = 38, 4.6  # Between the names and the number of cases; width of a character of a name.
TICKS = (
    (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5),
    (0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0, 1.2, 1.5, 2.0, 2.5, 3.0),
    (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0),
    (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0),
)
MOST_TICKS, FEWEST_TICKS = 8, 3
PREDICTION = "New site (prediction)"
SMALLEST, LARGEST = 3.0, 9.5  # Sizes of the squares.
HALF = 0.3  # Half the height of the diamond.


@draw.register
def _(
    found: MetaAnalysis,
    ax: Axes | None = None,
    *,
    measure: AnyMeasure | None = None,
    model: str | None = None,
    label: str = "",
) -> Axes:
    """Draw the sites and the summary of one measure, by default the first, and one model; `label` is the title."""
    row = found.row(measure, model)
    asked = next(one for one in found.measures if one.key == found.measure[row])
    sites = found.of_row(row)
    rows = len(sites["site"])
    ax = new_axes(ax, size=(8.6, 1.3 + 0.27 * (rows + 3)))
    sites["site"] = np.array(drawable_list(sites["site"].tolist(), longest=LONGEST_ROW), dtype=object)
    names = CASES - GAP - CHARACTER * max(len(PREDICTION), *(len(name) for name in sites["site"]))
    for place in range(rows):
        site = {name: column[place] for name, column in sites.items()}
        _draw_site(ax, place, site, names, float(sites["weight"].max()))
    _draw_summary(ax, found, row, names, rows + 0.5)
    ideal = asked.ideal
    if ideal is not None:
        ax.axvline(ideal, color=GREY["line"], linewidth=0.9, zorder=0.5, label="_ideal")
    _write_heads(ax, found, names, has_events="events" in sites)
    _scale_axis(ax, found, row, sites, ideal)
    ax.axhline(rows - 0.25, color=GREY["isoline"], linewidth=0.8, label="_rule", clip_on=False)
    ax.set(ylim=(rows + 2.1, -0.7), xlabel=measure_and_merit(asked))
    ax.set_yticks([])
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(labelsize=SMALL, length=3)
    write_title(ax, label, pad=24)
    return ax


def _draw_site(ax: Axes, place: int, site: dict[str, Any], names: float, heaviest: float) -> None:
    """Draw the estimate of a site as a square whose area is its weight, and write its numbers."""
    used = site["weight"] > 0.0
    color = COLORS[0] if used else GREY["line"]
    if np.isfinite([site["low"], site["high"]]).all():
        ends = [site["low"], site["high"]]
        ax.plot(ends, [place, place], color=color, linewidth=1.3, solid_capstyle="butt", label="_interval")
    if np.isfinite(site["value"]):
        size = max(LARGEST * np.sqrt(site["weight"] / heaviest), SMALLEST) if used else SMALLEST
        face = color if used else "white"
        ax.plot([site["value"]], [place], marker="s", markersize=size, color=color, markerfacecolor=face, label="_site")
    _write(ax, names, place, site["site"], ha="left")
    _write(ax, CASES, place, f"{site['n']:,}")
    if "events" in site:
        _write(ax, EVENTS, place, f"{site['events']:,}")
    _write(ax, VALUES, place, _interval(site["value"], site["low"], site["high"]))
    _write(ax, WEIGHTS, place, f"{site['weight']:.1%}" if used else "left out")


def _draw_summary(ax: Axes, found: MetaAnalysis, row: int, names: float, place: float) -> None:
    """Draw the mean as a diamond, and below it the prediction interval as a bar."""
    mean, low, high = (float(column[row]) for column in (found.mean, found.low, found.high))
    if np.isinf(mean):
        _write(ax, names, place, "Mean over sites", ha="left", weight="bold")
        _write(ax, VALUES, place, _interval(mean, low, high), weight="bold")
    if not np.isfinite(mean):
        return
    across, down = [low, mean, high, mean], [place, place - HALF, place, place + HALF]
    ax.fill(across, down, color=COLORS[1], linewidth=0, label="_mean")
    ax.axvline(mean, color=COLORS[1], linewidth=0.8, linestyle=(0, (4, 3)), zorder=0.4, label="_mean line")
    _write(ax, names, place, "Mean over sites", ha="left", weight="bold")
    _write(ax, VALUES, place, _interval(mean, low, high), weight="bold")
    limits = float(found.prediction_low[row]), float(found.prediction_high[row])
    if np.isfinite(limits).all():
        ax.plot(limits, [place + 1.0] * 2, color=COLORS[1], linewidth=3.2, solid_capstyle="butt", label="_prediction")
        _write(ax, names, place + 1.0, PREDICTION, ha="left")
        _write(ax, VALUES, place + 1.0, f"{_digits(limits[0])} to {_digits(limits[1])}")
    between = f"I² {percent(float(found.i_squared[row]), 2)}, τ {found.tau[row]:.2g}"
    on = "" if found.scale[row] == "identity" else f" ({found.scale[row]})"
    _write(ax, names, place + 1.9, f"Between sites: {between}{on}", ha="left", style="italic")


def _write_heads(ax: Axes, found: MetaAnalysis, names: float, *, has_events: bool) -> None:
    """Write the names of the columns."""
    _write(ax, names, -1.0, capitalized(drawable(found.by)), ha="left", weight="bold")
    _write(ax, CASES, -1.0, "Cases", weight="bold")
    if has_events:
        _write(ax, EVENTS, -1.0, "Events", weight="bold")
    _write(ax, VALUES, -1.0, f"Value ({percent(found.level)} CI)", weight="bold")
    _write(ax, WEIGHTS, -1.0, "Weight", weight="bold")


def _scale_axis(ax: Axes, found: MetaAnalysis, row: int, sites: dict[str, Any], ideal: float | None) -> None:
    """Set the limits and ticks of the axis: logarithmic for ratios."""
    ends = [*sites["low"], *sites["high"], *sites["value"], found.prediction_low[row], found.prediction_high[row]]
    ends += [] if ideal is None else [ideal]
    is_log = found.scale[row] == "log"
    known = [float(end) for end in ends if np.isfinite(end) and (end > 0.0 or not is_log)]
    low, high = (min(known), max(known)) if known else (0.5, 1.5)
    if not is_log:
        margin = 0.04 * (high - low or 1.0)
        ax.set_xlim(low - margin, high + margin)
        ax.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
        return
    ax.set_xscale("log")
    low, high = max(low, 0.02) / 1.06, min(high, 50.0) * 1.06
    inside = [
        [tick for tick in some if low <= tick <= high] for some in TICKS if some[0] <= low * 1.3 or some is TICKS[-1]
    ]
    ticks = next((some for some in inside if len(some) <= MOST_TICKS), inside[-1])
    ax.set_xlim(low, high)
    ax.xaxis.set_major_locator(FixedLocator(ticks) if len(ticks) >= FEWEST_TICKS else LogLocator())
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _interval(value: float, low: float, high: float) -> str:
    if np.isinf(value):
        return "∞" if value > 0.0 else "\N{MINUS SIGN}∞"
    if np.isnan(value):
        return "not defined"
    limits = f" ({_digits(low)} to {_digits(high)})" if np.isfinite([low, high]).all() else ""
    return f"{_digits(value)}{limits}"


def _digits(value: float) -> str:
    """Write a number with two decimals, or with three if it is small."""
    return f"{value:.2f}" if abs(value) >= 0.3 else f"{value:.3f}"


def _write(ax: Axes, x: float, y: float, text: str, **style: Any) -> None:
    """Write in the height of a row, so many points to the left or right of the axes."""
    side = 0.0 if x < 0.0 else 1.0
    options: dict[str, Any] = {"ha": "right", "va": "center", "fontsize": SMALL, "color": GREY["text"]} | style
    ax.annotate(
        text, (side, y), xycoords=ax.get_yaxis_transform(), xytext=(x, 0.0), textcoords="offset points", **options
    )
