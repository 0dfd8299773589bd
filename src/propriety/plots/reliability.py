"""Reliability diagrams: one curve with its bands and histogram, several curves in one diagram, or a grid."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.text import Annotation

from propriety.calibration.bands import Band
from propriety.calibration.calibration_errors import ForecastHistogram
from propriety.calibration.reliability import ReliabilityCurve
from propriety.number_words import percent
from propriety.plots.drawable_names import LONGEST, drawable_names, short_names
from propriety.plots.drawing import (
    COLORS,
    DASHES,
    GREY,
    LEGEND,
    SMALL,
    draw,
    draw_band,
    line_style,
    new_axes,
    new_figure,
    on_white,
    open_frame,
    shown,
    write_note,
    write_title,
)
from propriety.plots.names import label_axis, set_name
from propriety.plots.placing import is_crossed, place_legend
from propriety.plots.shared_references import check_any
from propriety.result import Floats

HISTOGRAM_HEIGHT = 0.1
MOST_LEFT_OUT = 0.01  # Share of the cases, those with the highest forecasts, that may lie beyond the axes.
NICE_LIMITS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5)


@draw.register
def _(
    curve: ReliabilityCurve,
    ax: Axes | None = None,
    *,
    color: str = COLORS[0],
    label: str = "",
    histogram: bool = True,
    scores: bool = True,
) -> Axes:
    """Draw one curve: `label` is the title, `histogram` and `scores` add the histogram and the decomposition."""
    ax = new_axes(ax)
    limit = _limit([curve])
    _frame(ax, [curve], limit)
    if histogram:
        _draw_histogram(ax, curve.histogram, limit)
    for band in curve.bands:
        _draw_band(ax, band, color)
    names = [_name_band(ax, band, color, place=place, limit=limit) for place, band in enumerate(curve.bands)]
    _draw_line(ax, curve, limit, color=color, linestyle=DASHES[0])
    above = scores and _print_scores(ax, curve)
    if any(is_crossed(ax, name) for name in names):
        _move_names(ax, names, below=0.72 if scores and not above else 0.97)
    write_title(ax, label, pad=28 if above else None)
    return ax


def plot_curves(curves: Mapping[str, ReliabilityCurve], ax: Axes | None = None) -> Axes:
    """Draw several curves on one diagram, with their miscalibration in the legend and without their bands.

    Parameters
    ----------
    curves : mapping of str to ReliabilityCurve
        By name of the model.
    ax : Axes, optional
        Axes to draw on; new axes by default.

    Returns
    -------
    Axes
        The axes drawn on.

    Examples
    --------
    >>> import propriety as pr
    >>> y = [0, 1, 0, 1]
    >>> curves = {
    ...     "a": pr.reliability_curve(y, [0.1, 0.6, 0.4, 0.8]),
    ...     "b": pr.reliability_curve(y, [0.3, 0.4, 0.5, 0.9]),
    ... }
    >>> ax = pr.plots.plot_curves(curves)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['a  (MCB 0.093)', 'b  (MCB 0.052)']
    """
    check_any(curves)
    ax = new_axes(ax)
    limit = _limit(list(curves.values()))
    _frame(ax, list(curves.values()), limit)
    handles, short = [], drawable_names(curves)
    for index, (name, curve) in enumerate(curves.items()):
        drawn = _draw_line(ax, curve, limit, label=short[name], **line_style(index))
        set_name(name, *drawn)
        handles.append(drawn[0])
    labels = [f"{short[name]}  (MCB {shown(curve.decomposition.miscalibration)})" for name, curve in curves.items()]
    place_legend(ax, handles, labels, **LEGEND)
    return ax


def plot_grid(
    curves: Mapping[str, ReliabilityCurve], *, columns: int = 3, size: float = 2.9, figure: Figure | None = None
) -> Figure:
    """Draw curves side by side, one panel each: classes, cut points, groups or models.

    Parameters
    ----------
    curves : mapping of str to ReliabilityCurve
        By the title of the panel; bands are drawn if the curves have them.
    columns : int
        Largest number of panels in a row.
    size : float
        Width and height of a panel, in inches.
    figure : Figure, optional
        Figure to draw on; a new one by default.

    Returns
    -------
    Figure
        The figure drawn on.

    Examples
    --------
    >>> import propriety as pr
    >>> curve = pr.reliability_curve([0, 1, 0, 1], [0.1, 0.6, 0.4, 0.8])
    >>> len(pr.plots.plot_grid({"a": curve, "b": curve}).axes)
    2
    """
    check_any(curves)
    columns = min(columns, len(curves))
    lines = -(-len(curves) // columns)
    if figure is None:
        figure = new_figure((size * columns, size * lines + 0.2))
    panels, titles = figure.subplots(lines, columns, squeeze=False), short_names(list(curves), longest=LONGEST)
    for panel, name, curve in zip(panels.flat, titles, curves.values(), strict=False):
        draw(curve, panel, label=name)
    for panel in panels.flat[len(curves) :]:
        panel.remove()
    for place, panel in np.ndenumerate(panels):
        below = place[0] + 1 < lines and place[0] * columns + place[1] + columns < len(curves)
        if below:
            own = list(curves.values())[place[0] * columns + place[1]]
            panel.set_xlabel(_left_out([own], _limit([own])))
        if place[1] > 0:
            panel.set_ylabel("")
    return figure


def _limit(curves: list[ReliabilityCurve]) -> float:
    """Return the end of both axes: 1, or less if nearly all forecasts and their rates are smaller."""
    largest = max(_usual(curve) for curve in curves)
    return next((nice for nice in NICE_LIMITS if largest <= nice), 1.0)


def _usual(curve: ReliabilityCurve) -> float:
    """Return the largest forecast and event rate without the highest forecasts, `MOST_LEFT_OUT` of the cases."""
    table = curve.table
    below = int(np.searchsorted(np.cumsum(table.weights), (1.0 - MOST_LEFT_OUT) * table.weights.sum()))
    forecast = float(table.forecast[min(below, len(table.forecast) - 1)])
    return max(forecast, float(curve.event_rate[curve.forecast_min <= forecast].max(initial=0.0)))


def _left_out(curves: list[ReliabilityCurve], limit: float) -> str:
    """Say how many cases have forecasts or event rates beyond the axes: of several curves, the most."""
    share = max(_share_beyond(curve, limit) for curve in curves)
    return f"({percent(share, 2)} of the cases not shown)" if share > 0.0 else ""


def _share_beyond(curve: ReliabilityCurve, limit: float) -> float:
    table = curve.table
    beyond = table.forecast > limit
    for block in np.flatnonzero(curve.event_rate > limit).tolist():
        beyond |= (table.forecast >= curve.forecast_min[block]) & (table.forecast <= curve.forecast_max[block])
    return float(table.weights[beyond].sum() / table.weights.sum())


def _frame(ax: Axes, curves: list[ReliabilityCurve], limit: float) -> None:
    ax.plot([0, limit], [0, limit], color=GREY["line"], linewidth=0.9, zorder=1.5)
    ax.set(xlim=(0, limit), ylim=(0, limit), aspect="equal")
    beyond = _left_out(curves, limit)
    label_axis(ax.xaxis, "Forecast probability", f"\n{beyond}" if beyond else "")
    label_axis(ax.yaxis, "Observed event rate")
    ticks = np.linspace(0, limit, 6)
    ax.set_xticks(ticks)
    ax.set_yticks(ticks)
    ax.margins(0)
    open_frame(ax)


def _draw_line(ax: Axes, curve: ReliabilityCurve, limit: float, *, label: str = "_curve", **style: Any) -> list[Line2D]:
    """Draw the curve, and its points if it has few; return the lines."""
    x, y = _path(curve)
    reach: dict[str, Any] = {"clip_on": bool(max(x.max(), y.max()) > limit)}
    lines = ax.plot(x, y, linewidth=1.7, label=label, zorder=3, solid_capstyle="round", **style, **reach)
    if curve.method == "bins" or curve.discrete:
        dots, rates = (
            (curve.forecast_mean, curve.event_rate)
            if curve.method == "bins"
            else (curve.table.forecast, curve.blocks.per_row())
        )
        lines += ax.plot(dots, rates, "o", color=style["color"], markersize=4, label="_dots", zorder=3.2, **reach)
    return lines


def _path(curve: ReliabilityCurve) -> tuple[Floats, Floats]:
    """Return the corners of the curve, which is horizontal in each block and linear between blocks."""
    if curve.method == "bins":
        return curve.forecast_mean, curve.event_rate
    corners = np.stack([curve.forecast_min, curve.forecast_max], axis=1).ravel()
    return corners, np.repeat(curve.event_rate, 2)


def _draw_band(ax: Axes, band: Band, color: str) -> None:
    around_diagonal = band.kind == "consistency"
    forecast, lower, upper = _corners(band)
    draw_band(
        ax,
        forecast,
        lower,
        upper,
        color=GREY["band"] if around_diagonal else color,
        alpha=1.0 if around_diagonal else 0.16,
        linewidth=0,
        zorder=1.2 if around_diagonal else 2.2,
        label=band.label,
    )
    if band.kind == "simultaneous":
        for edge in (lower, upper):
            ax.plot(forecast, edge, color=color, linewidth=0.8, linestyle=DASHES[3], label="_edge", zorder=2.3)


def _name_band(ax: Axes, band: Band, color: str, *, place: int, limit: float) -> Annotation:
    """Write the label of the band above the histogram, one label above the other."""
    size = SMALL - 1
    return ax.annotate(
        band.label + (" (dotted)" if band.kind == "simultaneous" else ""),
        (0.98 * limit, (HISTOGRAM_HEIGHT + 0.03) * limit),
        (0.0, 1.4 * size * place),
        textcoords="offset points",
        ha="right",
        va="bottom",
        fontsize=size,
        color=GREY["text"] if band.kind == "consistency" else color,
        bbox=on_white(),
        zorder=4,
    )


def _move_names(ax: Axes, names: list[Annotation], *, below: float) -> None:
    """Move labels of bands that a curve crosses to the upper left, unless it crosses them there too."""
    before = [(name.xy, name.xycoords, name.get_position(), name.get_horizontalalignment()) for name in names]
    for place, name in enumerate(names):
        name.xy, name.xycoords = (0.03, below), "axes fraction"
        name.set(position=(0.0, -1.4 * (SMALL - 1) * place), ha="left", va="top")
    if any(is_crossed(ax, name) for name in names):
        for name, (xy, coords, position, side) in zip(names, before, strict=True):
            name.xy, name.xycoords = xy, coords
            name.set(position=position, ha=side, va="bottom")


def _corners(band: Band) -> tuple[Floats, Floats, Floats]:
    """Return the corners of the band: its points, or for a simultaneous band its steps."""
    if band.kind != "simultaneous":
        return band.forecast, band.low, band.high
    # The upper limit rises at each point, the lower limit at the next one.
    forecast = np.stack([band.forecast[:-1], band.forecast[:-1], band.forecast[1:]], axis=1).ravel()
    lower = np.repeat(band.low[:-1], 3)
    upper = np.stack([band.high[:-1], band.high[1:], band.high[1:]], axis=1).ravel()
    ends = (band.forecast[-1:], band.low[-1:], band.high[-1:])
    return tuple(np.append(column, end) for column, end in zip((forecast, lower, upper), ends, strict=True))  # type: ignore[return-value]  # three


def _draw_histogram(ax: Axes, histogram: ForecastHistogram, limit: float) -> None:
    width = histogram.right - histogram.left
    single = width == 0.0
    width = np.where(single, 0.008 * limit, width)
    left = np.where(single, histogram.left - width / 2, histogram.left)
    height = HISTOGRAM_HEIGHT * limit * histogram.weight / histogram.weight.max()
    right, floor = left + width, np.zeros(len(left))
    corners = np.stack([left, floor, left, height, right, height, right, floor], axis=1).reshape(-1, 4, 2)
    # One path of all bars: the patches of `Axes.bar` take longer than all else of the picture.
    bars = Path.make_compound_path_from_polys(corners)
    ax.add_patch(PathPatch(bars, color=GREY["bars"], linewidth=0, zorder=1.4, label="_histogram"))


def _print_scores(ax: Axes, curve: ReliabilityCurve) -> bool:
    """Write the decomposition in the corner, or above the axes if the curve is there; return whether."""
    parts = curve.decomposition
    lines = [
        f"MCB  {shown(parts.miscalibration)}",
        f"DSC  {shown(parts.discrimination)}",
        f"UNC  {shown(parts.uncertainty)}",
    ]
    lines.append(f"n = {curve.n:,}")
    if curve.method != "corp":
        lines.append({"bins": "binned, for comparison", "smooth": "smooth, for comparison"}[curve.method])
    note = write_note(ax, "\n".join(lines), side="left")
    crossed = is_crossed(ax, note)
    if crossed:
        # Two lines, so that they are not wider than small axes.
        rows = "   ".join(lines[:2]), "   ".join(lines[2:])
        note.set(text="\n".join(rows), position=(0.0, 1.01), verticalalignment="bottom", bbox=None)
    return crossed
