"""Figures of decision, regret, cost and Murphy curves, alone or of several models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from propriety.decisions.decision_curves import widest_threshold
from propriety.decisions.threshold_curve import ThresholdCurve
from propriety.number_words import percent
from propriety.plots.drawable_names import drawable_list, drawable_names
from propriety.plots.drawing import (
    COLORS,
    DASHES,
    GREY,
    LEGEND,
    SMALL,
    dot,
    draw,
    line_style,
    new_axes,
    shown,
    write_note,
    write_title,
)
from propriety.plots.names import label_axis, set_name, write_legend
from propriety.plots.placing import Spot, make_room, write_beside
from propriety.plots.shared_references import check_any, check_same
from propriety.plots.threshold_axis import common_thresholds, draw_threshold_axis, in_words
from propriety.result import Floats

WIDE = (4.8, 3.6)
LEAST = 1e-6  # Distance from 0 and 1, whose log-odds are infinite.
ABOVE_CHANCES = 16  # Points between the title and axes that have a second scale at the top.
ENDS: tuple[Literal["right"], Literal["left"]] = ("right", "left")
LABELS = {
    "net benefit": ("Net benefit", " (true positives per case)"),
    "regret": ("Regret", " (mean cost of wrong decisions)"),
    "least regret": ("Lowest possible regret", ""),
    "elementary score": ("Mean elementary score", "\n(area: {area})"),
}
AREAS = {"regret": "half the Brier score", "brier": "the Brier score", "expectile": "a quarter of the Brier score"}
PARTS: dict[str, tuple[str, dict[str, Any]]] = {
    "value": ("score", {"color": COLORS[0], "linewidth": 1.8, "zorder": 3}),
    "miscalibration": ("MCB", {"color": COLORS[1], "linestyle": DASHES[1], "linewidth": 1.4}),
    "discrimination": ("DSC", {"color": COLORS[2], "linestyle": DASHES[2], "linewidth": 1.4}),
    "uncertainty": ("UNC", {"color": GREY["line"], "linestyle": DASHES[3], "linewidth": 1.1}),
}


@draw.register
def _(
    curve: ThresholdCurve,
    ax: Axes | None = None,
    *,
    label: str = "",
    color: str | None = None,
    axis: Literal["linear", "log-odds"] = "linear",
    labels: tuple[str, str] = ("first model", "second model"),
) -> Axes:
    """Draw a curve with its area, parts or possible gain, and treating all and none; `labels` name a difference."""
    if curve.treat_all is None:
        return _draw_difference(curve, ax, labels)
    if curve.scale == "net benefit":
        return plot_threshold_curves({label or "model": curve}, ax)
    ax = new_axes(ax, size=WIDE)
    shown_range = draw_threshold_axis(ax, curve.thresholds, log_odds=axis == "log-odds")
    _label_value(ax, curve)
    if curve.scale == "elementary score":
        _draw_parts(curve, ax, shown_range)
    else:
        _draw_regret(curve, ax, shown_range, axis, color)
    write_title(ax, label, pad=ABOVE_CHANCES)
    return ax


def plot_threshold_curves(curves: Mapping[str, ThresholdCurve], ax: Axes | None = None) -> Axes:
    """Draw the curves of several models on one scale; benefits and regrets with treating all and treating none.

    If the curves have a threshold range, it is shaded, and the figure shows the thresholds around it. Otherwise a
    figure of net benefit shows thresholds up to about five times the prevalence, and others show all thresholds.

    Parameters
    ----------
    curves : mapping of str to ThresholdCurve
        By name of the model; all must have the same scale, unit and prevalence. The least regret can be drawn together
        with the regret.
    ax : Axes, optional
        Axes to draw on; new axes by default.

    Returns
    -------
    Axes
        The axes drawn on.

    Examples
    --------
    >>> import propriety as pr
    >>> y, p, q = [0, 1, 0, 1], [0.1, 0.6, 0.4, 0.8], [0.3, 0.4, 0.5, 0.9]
    >>> ax = pr.plots.plot_threshold_curves({"a": pr.decision_curve(y, p), "b": pr.decision_curve(y, q)})
    >>> ax.get_ylabel()
    'Net benefit (true positives per case)'
    >>> ax = pr.plots.plot_threshold_curves({"as it is": pr.regret_curve(y, p), "at best": pr.cost_curve(y, p)})
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['as it is  (area 0.046)', 'at best']
    """
    check_any(curves)
    check_same(curves, "scale", lambda curve: curve.scale.removeprefix("least "))
    check_same(curves, "unit", lambda curve: curve.unit)
    check_same(curves, "prevalence", lambda curve: curve.prevalence)
    thresholds, short = common_thresholds(curves), drawable_names(curves)
    first = next((one for one in curves.values() if one.scale != "least regret"), next(iter(curves.values())))
    of_benefit = first.scale == "net benefit"
    ax = new_axes(ax, size=WIDE)
    widest = widest_threshold(max(curve.prevalence for curve in curves.values())) if of_benefit else 1.0
    shown_range = draw_threshold_axis(ax, thresholds, widest=widest)
    for index, (name, curve) in enumerate(curves.items()):
        text = short[name]
        if curve.scale in ("regret", "elementary score"):
            text += f"  (area {shown(curve.area())})"
        elif curve.harm:
            text += f", harm {curve.harm:g}"
        elif list(curves) == ["model"]:
            text = "forecast"
        x, y = curve.threshold, curve.value
        set_name(name, *ax.plot(x, y, linewidth=1.6, label=text, zorder=3, **line_style(index, len(x))))
    _label_value(ax, first)
    drawn = [(curve.threshold, curve.value) for curve in curves.values()]
    if not of_benefit:
        if first.scale == "elementary score":  # Without treating all and none, so that similar curves stay apart.
            top = max(float(_seen(*one, shown_range).max()) for one in drawn)
            ax.set_ylim(0, 1.08 * max(top, 1e-9))
        else:
            _draw_trivial_regret(ax, first, shown_range, drawn)
        make_room(ax, _legend(ax))
        return ax
    x, treat_all = _draw_trivial_benefit(ax, first.prevalence, shown_range, drawn)
    if list(curves) != ["model"] or thresholds is not None:
        make_room(ax, _legend(ax))
    _name_lines(ax, shown_range, x, treat_all)
    return ax


def _label_value(ax: Axes, curve: ThresholdCurve) -> None:
    name, more = LABELS[curve.scale]
    label_axis(ax.yaxis, name, more.format(area=AREAS[curve.unit]))


def _draw_parts(curve: ThresholdCurve, ax: Axes, shown_range: tuple[float, float]) -> None:
    """Draw an elementary score and its parts, if the curve has them, each with its area."""
    top = 1e-9
    for (name, (short, style)), area in zip(PARTS.items(), curve.areas.values(), strict=False):
        values = getattr(curve, name)
        look = style | {"label": f"{short}  {shown(area)}"} | dot(len(values))
        set_name(short, *ax.plot(curve.threshold, values, **look))
        top = max(top, float(_seen(curve.threshold, values, shown_range).max()))
    ax.set_ylim(0, 1.08 * top)
    make_room(ax, _legend(ax, ncols=2, columnspacing=1.4))


def _draw_regret(
    curve: ThresholdCurve,
    ax: Axes,
    shown_range: tuple[float, float],
    axis: Literal["linear", "log-odds"],
    color: str | None,
) -> None:
    """Draw the regret and the area under it, or the least regret and the possible gain above it."""
    x, y, floor = curve.threshold, curve.value, np.zeros(len(curve.value))
    if curve.scale == "least regret":
        color, floor = color or COLORS[2], np.minimum(*curve.of_trivial)
        note = "coloured: possible gain over\ntreating all or none"
    else:
        color, note = color or COLORS[0], f"area {shown(curve.area(axis=axis))}"
        of_area = AREAS["regret"] if axis == "linear" else "the log loss"
        note += f", {of_area}" if curve.act_at is None else f"\nall decisions at {percent(curve.act_at, 6)}"
        note += "" if curve.thresholds is None else "\n(over all thresholds)"
        if axis == "log-odds":
            x, y = _even_in_log_odds(curve)
            floor = np.zeros(len(x))
    ax.fill_between(x, y, floor, color=color, alpha=0.14, linewidth=0, zorder=1.2, label="_area")
    ax.plot(x, y, color=color, linewidth=1.7, label="_curve", zorder=3, **dot(len(x)))
    _draw_trivial_regret(ax, curve, shown_range, [(x, y)])
    # The corner also says what the grey band is, and the curve stays below it.
    band = "" if curve.thresholds is None else f"\ngrey band: {in_words(curve.thresholds)}"
    write_note(ax, f"{note}{band}", side="right")
    make_room(ax, ax.texts[-1])


def _draw_difference(curve: ThresholdCurve, ax: Axes | None, labels: tuple[str, str]) -> Axes:
    """Draw the difference of two models, coloured by which is better."""
    ax = new_axes(ax, size=WIDE)
    shown_range = draw_threshold_axis(ax, curve.thresholds)
    x, y = curve.threshold, curve.value
    ax.axhline(0, color=GREY["line"], linewidth=0.9, zorder=1.5)
    for side, color in ((y > 0, COLORS[0]), (y < 0, COLORS[1])):
        ax.fill_between(x, y, where=side, color=color, alpha=0.25, linewidth=0, interpolate=True)
    ax.plot(x, y, color="0.15", linewidth=1.4, label="_curve", zorder=3, **dot(len(x)))
    ax.set_ylabel(f"Difference in {curve.scale}")
    seen = _seen(x, y, shown_range)
    low, top = min(0.0, float(seen.min())), max(1e-9, float(seen.max()))
    ax.set_ylim(low - 0.18 * (top - low), top + 0.18 * (top - low))
    above, below = drawable_list(labels) if curve.scale == "net benefit" else drawable_list(labels)[::-1]
    for name, place, align, color in ((above, 0.97, "top", COLORS[0]), (below, 0.03, "bottom", COLORS[1])):
        look: dict[str, Any] = {"ha": "right", "va": align, "fontsize": SMALL, "color": color}
        ax.text(0.98, place, f"{name} better", transform=ax.transAxes, **look)
    make_room(ax, ax.texts[0])
    if curve.thresholds is not None:
        make_room(ax, ax.legend(loc="upper left", **LEGEND))
    return ax


def _seen(x: Floats, y: Floats, shown_range: tuple[float, float]) -> Floats:
    """Return the values of a curve within the figure, including those at its ends."""
    left, right = shown_range
    seen = np.append(y[(x >= left) & (x <= right)], np.interp([max(left, x[0]), min(right, x[-1])], x, y))
    return np.asarray(seen[np.isfinite(seen)])


def _legend(ax: Axes, **options: Any) -> Any:
    """Write the legend, curves first and shaded ranges last."""
    entries = sorted(zip(*ax.get_legend_handles_labels(), strict=True), key=lambda entry: isinstance(entry[0], Patch))
    handles, labels = zip(*entries, strict=True)
    return write_legend(ax, handles, labels, loc="upper right", **LEGEND, **options)


def _draw_trivial_benefit(
    ax: Axes, rate: float, shown_range: tuple[float, float], curves: Sequence[tuple[Floats, Floats]]
) -> tuple[Floats, Floats]:
    """Draw the net benefit of treating all and of treating none, set the limits, and return the curve of the first."""
    left, right = shown_range
    x = np.linspace(left, min(right, 0.999), 400)
    treat_all = rate - x / (1 - x) * (1 - rate)
    grey: dict[str, Any] = {"color": GREY["line"], "linewidth": 1.1}
    ax.plot([left, right], [0, 0], zorder=1.5, label="_treat none", **grey)
    ax.plot(x, treat_all, linestyle=DASHES[1], zorder=1.6, label="_treat all", **grey)
    seen = [_seen(*curve, shown_range) for curve in curves]
    top = max([*(float(own.max()) for own in seen), float(treat_all[0]), 0.0])
    bottom = min(float(own.min()) for own in seen)
    # Negative net benefit is cut off if there is a positive one to show.
    low = (-0.22 * top if top > -0.1 * bottom else 1.1 * bottom) or -0.01
    ax.set_ylim(low, max(1.12 * top, -0.3 * low))
    return x, treat_all


def _name_lines(ax: Axes, shown_range: tuple[float, float], x: Floats, treat_all: Floats) -> None:
    """Label the net benefit of treating none and of treating all where nothing crosses the labels."""
    left, right = shown_range
    along = [left + share * (right - left) for share in (0.0, 1.0, 0.25, 0.5, 0.75)]
    sides: list[Literal["left", "center", "right"]] = ["left", "right", "center", "center", "center"]
    below = [Spot(place, 0.0, side, "top") for place, side in zip(along, sides, strict=True)]
    write_beside(ax, "treat none", [*below, *(spot._replace(va="bottom") for spot in below)])
    bottom, top = ax.get_ylim()
    seen = (treat_all >= bottom) & (treat_all <= top)
    if not seen.any():
        return
    # Below zero, useful models are not near the line.
    rows = [int(share * (seen.sum() - 1)) for share in (0.92, 0.97, 0.85, 0.7, 0.5, 0.3)]
    places = [(float(x[seen][row]), float(treat_all[seen][row])) for row in rows]
    beside = [Spot(*place, side, "center") for place in places for side in ENDS]
    corners = [spot for place in places for spot in (Spot(*place, "right", "top"), Spot(*place, "left", "bottom"))]
    write_beside(ax, "treat all", [*beside, *corners])


def _draw_trivial_regret(
    ax: Axes, curve: ThresholdCurve, shown_range: tuple[float, float], curves: Sequence[tuple[Floats, Floats]]
) -> None:
    """Draw and label the regret of treating all and of treating none, and set the limits."""
    left, right = shown_range
    x = np.linspace(left, right, 500)
    if ax.get_xscale() == "logit":
        x = 1.0 / (1.0 + np.exp(-np.linspace(-8.0, 8.0, 500)))
    rate = curve.prevalence
    always, never = x * (1 - rate), (1 - x) * rate
    peak = max(float(np.minimum(always, never).max()), *(float(_seen(*one, shown_range).max()) for one in curves))
    top = 1.15 * max(peak, 1e-9)
    ax.set_ylim(0, top)
    grey: dict[str, Any] = {"color": GREY["line"], "linewidth": 1.0, "zorder": 1.5}
    # Each line ends a little above the other, where it is not the better choice, to leave room for text.
    drawn = {}
    for name, own, other, dash in (("treat all", always, never, DASHES[1]), ("treat none", never, always, "-")):
        near = (own <= 1.3 * other) & (own <= top)
        if near.any():
            ax.plot(x[near], own[near], linestyle=dash, label=f"_{name}", **grey)
            drawn[name] = x[near], own[near]
    for name, (own_x, own_y) in drawn.items():
        rows = [int(share * (len(own_x) - 1)) for share in (0.75, 0.85, 0.6, 0.95, 0.45, 0.3)]
        rows, sides = (rows, ENDS) if name == "treat all" else (rows[::-1], ENDS[::-1])
        write_beside(ax, name, [Spot(own_x[row], own_y[row], side, "bottom") for row in rows for side in sides])


def _even_in_log_odds(curve: ThresholdCurve) -> tuple[Floats, Floats]:
    """Return the curve at more points, because its pieces are not straight on an axis of log-odds."""
    x, y = np.clip(curve.threshold, LEAST, 1.0 - LEAST), curve.value
    between = 1.0 / (1.0 + np.exp(-np.linspace(-8.0, 8.0, 1000)))
    places = np.searchsorted(x, between)
    return np.insert(x, places, between), np.insert(y, places, np.interp(between, curve.threshold, curve.value))
