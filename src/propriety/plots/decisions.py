"""Figures of decisions: regret, cost, net benefit and Murphy curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.legend import Legend
from matplotlib.patches import Patch

from propriety.decisions.net_benefit import DecisionCurve, NetBenefitDifference, widest_threshold
from propriety.decisions.regret import CostCurve, MurphyCurve, RegretCurve, ThresholdAxis
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
from propriety.rules.weights import Thresholds

WIDE = (4.8, 3.6)
LEAST = 1e-6  # Distance from 0 and 1, whose log-odds are infinite.
ABOVE_CHANCES = 16  # Points between the title and axes that have a second scale at the top.
ENDS: tuple[Literal["right"], Literal["left"]] = ("right", "left")
PARTS: dict[str, tuple[str, dict[str, Any]]] = {
    "score": ("score", {"color": COLORS[0], "linewidth": 1.8, "zorder": 3}),
    "miscalibration": ("MCB", {"color": COLORS[1], "linestyle": DASHES[1], "linewidth": 1.4}),
    "discrimination": ("DSC", {"color": COLORS[2], "linestyle": DASHES[2], "linewidth": 1.4}),
    "uncertainty": ("UNC", {"color": GREY["line"], "linestyle": DASHES[3], "linewidth": 1.1}),
}


@draw.register
def _(
    curve: RegretCurve,
    ax: Axes | None = None,
    *,
    color: str = COLORS[0],
    label: str = "",
    axis: ThresholdAxis = "linear",
) -> Axes:
    """Draw the regret and the area under it: half the Brier score, or the log loss if `axis="log-odds"`."""
    ax = new_axes(ax, size=WIDE)
    log_odds = axis == "log-odds"
    shown_range = draw_threshold_axis(ax, curve.thresholds, log_odds=log_odds)
    rate = curve.table.event_rate
    x, y = _even_in_log_odds(curve) if log_odds else (curve.threshold, curve.regret)
    ax.fill_between(x, y, color=color, alpha=0.14, linewidth=0, zorder=1.2, label="_area")
    ax.plot(x, y, color=color, linewidth=1.7, label="_curve", zorder=3, **dot(len(x)))
    label_axis(ax.yaxis, "Regret", " (mean cost of wrong decisions)")
    _draw_trivial(ax, rate, shown_range, [(x, y)])
    name = {"linear": "half the Brier score", "log-odds": "the log loss"}[axis]
    note = f"area {shown(curve.area(axis=axis))}"
    note += f", {name}" if curve.act_at is None else f"\nall decisions at {percent(curve.act_at, 6)}"
    _write_corner(ax, note if curve.thresholds is None else f"{note}\n(over all thresholds)", curve.thresholds)
    write_title(ax, label, pad=ABOVE_CHANCES)
    return ax


@draw.register
def _(curve: CostCurve, ax: Axes | None = None, *, color: str = COLORS[2], label: str = "") -> Axes:
    """Draw the lowest possible regret, with that of treating all and of treating none."""
    ax = new_axes(ax, size=WIDE)
    shown_range = draw_threshold_axis(ax, curve.thresholds)
    trivial = np.minimum(curve.treat_all, curve.treat_none)
    ax.fill_between(curve.threshold, curve.regret, trivial, color=color, alpha=0.14, linewidth=0, label="_gain")
    points = dot(len(curve.threshold))
    ax.plot(curve.threshold, curve.regret, color=color, linewidth=1.7, label="_curve", zorder=3, **points)
    ax.set_ylabel("Lowest possible regret")
    _draw_trivial(ax, curve.event_rate, shown_range, [(curve.threshold, curve.regret)])
    _write_corner(ax, "coloured: possible gain over\ntreating all or none", curve.thresholds)
    write_title(ax, label, pad=ABOVE_CHANCES)
    return ax


@draw.register
def _(curve: DecisionCurve, ax: Axes | None = None, *, label: str = "model") -> Axes:
    return plot_decision_curves({label: curve}, ax)


@draw.register
def _(
    difference: NetBenefitDifference,
    ax: Axes | None = None,
    *,
    labels: tuple[str, str] = ("first model", "second model"),
) -> Axes:
    """Draw the difference in net benefit between two models; `labels` are their names."""
    ax = new_axes(ax, size=WIDE)
    shown_range = draw_threshold_axis(ax, difference.thresholds)
    x, y = difference.threshold, difference.net_benefit
    ax.axhline(0, color=GREY["line"], linewidth=0.9, zorder=1.5)
    for side, color in ((y > 0, COLORS[0]), (y < 0, COLORS[1])):
        ax.fill_between(x, y, where=side, color=color, alpha=0.25, linewidth=0, interpolate=True)
    ax.plot(x, y, color="0.15", linewidth=1.4, label="_curve", zorder=3, **dot(len(x)))
    ax.set_ylabel("Difference in net benefit")
    seen = _seen(x, y, shown_range)
    low, top = min(0.0, float(seen.min())), max(1e-9, float(seen.max()))
    ax.set_ylim(low - 0.18 * (top - low), top + 0.18 * (top - low))
    first, second = drawable_list(labels)
    for name, place, align, color in ((first, 0.97, "top", COLORS[0]), (second, 0.03, "bottom", COLORS[1])):
        ax.text(
            0.98,
            place,
            f"{name} better",
            transform=ax.transAxes,
            ha="right",
            va=align,
            fontsize=SMALL,
            color=color,
        )
    make_room(ax, ax.texts[0])
    if difference.thresholds is not None:
        make_room(ax, ax.legend(loc="upper left", **LEGEND))
    return ax


@draw.register
def _(curve: MurphyCurve, ax: Axes | None = None, *, label: str = "") -> Axes:
    """Draw the score and its parts, if the curve has them, each with its area."""
    ax = new_axes(ax, size=WIDE)
    shown_range = draw_threshold_axis(ax, curve.thresholds)
    top = 1e-9
    for name, area in curve.areas.items():
        values, (short, style) = getattr(curve, name), PARTS[name]
        look = style | {"label": f"{short}  {shown(area)}"} | dot(len(values))
        set_name(short, *ax.plot(curve.threshold, values, **look))
        top = max(top, float(_seen(curve.threshold, values, shown_range).max()))
    ax.set_ylim(0, 1.08 * top)
    _label_murphy(ax, curve)
    make_room(ax, _legend(ax, ncols=2, columnspacing=1.4))
    write_title(ax, label, pad=ABOVE_CHANCES)
    return ax


def plot_decision_curves(curves: Mapping[str, DecisionCurve], ax: Axes | None = None) -> Axes:
    """Draw the net benefit of several models, with that of treating all and of treating none.

    If the curves have a threshold range, it is shaded, and the figure shows the thresholds around it. Otherwise the
    figure shows thresholds up to about five times the prevalence.

    Parameters
    ----------
    curves : mapping of str to DecisionCurve
        By name of the model; all must have the same prevalence.
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
    >>> curves = {"a": pr.decision_curve(y, [0.1, 0.6, 0.4, 0.8]), "b": pr.decision_curve(y, [0.3, 0.4, 0.5, 0.9])}
    >>> ax = pr.plots.plot_decision_curves(curves)
    >>> ax.get_ylabel()
    'Net benefit (true positives per case)'
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['a', 'b']
    """
    check_any(curves)
    check_same(curves, "prevalence", lambda curve: curve.prevalence)
    thresholds = common_thresholds(curves)
    ax = new_axes(ax, size=WIDE)
    rate = max(curve.prevalence for curve in curves.values())
    left, right = draw_threshold_axis(ax, thresholds, widest=widest_threshold(rate))
    dense = np.linspace(left, min(right, 0.999), 400)
    treat_all = rate - dense / (1 - dense) * (1 - rate)
    grey: dict[str, Any] = {"color": GREY["line"], "linewidth": 1.1}
    ax.plot([left, right], [0, 0], zorder=1.5, label="_treat none", **grey)
    ax.plot(dense, treat_all, linestyle=DASHES[1], zorder=1.6, label="_treat all", **grey)
    short = drawable_names(curves)
    for index, (name, curve) in enumerate(curves.items()):
        _line(ax, curve.threshold, curve.net_benefit, index, name, short[name])
    seen = [_seen(curve.threshold, curve.net_benefit, (left, right)) for curve in curves.values()]
    top = max([*(float(own.max()) for own in seen), float(treat_all[0]), 0.0])
    bottom = min(float(own.min()) for own in seen)
    # Negative net benefit is cut off if there is a positive one to show.
    low = (-0.22 * top if top > -0.1 * bottom else 1.1 * bottom) or -0.01
    ax.set_ylim(low, max(1.12 * top, -0.3 * low))
    label_axis(ax.yaxis, "Net benefit", " (true positives per case)")
    if list(curves) != ["model"] or thresholds is not None:
        harms = {short[name]: f"{short[name]}, harm {curve.harm:g}" for name, curve in curves.items() if curve.harm}
        make_room(ax, _legend(ax, {"model": "forecast"} | harms))
    _name_lines(ax, (left, right), dense, treat_all)
    return ax


def plot_regret_curves(curves: Mapping[str, RegretCurve | CostCurve], ax: Axes | None = None) -> Axes:
    """Draw the regret of several models, or the regret and the lowest possible regret of one model.

    If the curves have a threshold range, it is shaded, and the figure shows the thresholds around it.

    Parameters
    ----------
    curves : mapping of str to RegretCurve or CostCurve
        By name of the model; all must have the same event rate.
    ax : Axes, optional
        Axes to draw on; new axes by default.

    Returns
    -------
    Axes
        The axes drawn on.

    Examples
    --------
    >>> import propriety as pr
    >>> y, p = [0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8]
    >>> ax = pr.plots.plot_regret_curves({"as it is": pr.regret_curve(y, p), "at best": pr.cost_curve(y, p)})
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['as it is  (area 0.087)', 'at best']
    """
    check_any(curves)
    check_same(curves, "event rate", _event_rate)
    thresholds = common_thresholds(curves)
    ax = new_axes(ax, size=WIDE)
    shown_range = draw_threshold_axis(ax, thresholds)
    rate = _event_rate(next(iter(curves.values())))
    short = drawable_names(curves)
    for index, (name, curve) in enumerate(curves.items()):
        text = f"{short[name]}  (area {shown(curve.area())})" if isinstance(curve, RegretCurve) else short[name]
        _line(ax, curve.threshold, curve.regret, index, name, text)
    label_axis(ax.yaxis, "Regret", " (mean cost of wrong decisions)")
    _draw_trivial(ax, rate, shown_range, [(curve.threshold, curve.regret) for curve in curves.values()])
    make_room(ax, _legend(ax))
    return ax


def plot_murphy_curves(curves: Mapping[str, MurphyCurve], ax: Axes | None = None) -> Axes:
    """Draw the scores of several models on one Murphy diagram, each with its area.

    If the curves have a threshold range, it is shaded, and the figure shows the thresholds around it.

    Parameters
    ----------
    curves : mapping of str to MurphyCurve
        By name of the model; all must have the same `normalize`.
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
    >>> curves = {"a": pr.murphy_curve(y, [0.1, 0.6, 0.4, 0.8]), "b": pr.murphy_curve(y, [0.3, 0.4, 0.5, 0.9])}
    >>> ax = pr.plots.plot_murphy_curves(curves)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['a  (area 0.046)', 'b  (area 0.089)']
    """
    check_any(curves)
    check_same(curves, "normalize", lambda curve: curve.normalize)
    thresholds = common_thresholds(curves)
    ax = new_axes(ax, size=WIDE)
    shown_range = draw_threshold_axis(ax, thresholds)
    short = drawable_names(curves)
    for index, (name, curve) in enumerate(curves.items()):
        _line(ax, curve.threshold, curve.score, index, name, f"{short[name]}  (area {shown(curve.area)})")
    top = max(float(_seen(curve.threshold, curve.score, shown_range).max()) for curve in curves.values())
    ax.set_ylim(0, 1.08 * max(top, 1e-9))
    _label_murphy(ax, next(iter(curves.values())))
    make_room(ax, _legend(ax))
    return ax


def _event_rate(curve: RegretCurve | CostCurve) -> float:
    return curve.event_rate if isinstance(curve, CostCurve) else curve.table.event_rate


def _seen(x: Floats, y: Floats, shown_range: tuple[float, float]) -> Floats:
    """Return the values of a curve within the figure, including those at its ends."""
    left, right = shown_range
    seen = np.append(y[(x >= left) & (x <= right)], np.interp([max(left, x[0]), min(right, x[-1])], x, y))
    return np.asarray(seen[np.isfinite(seen)])


def _legend(ax: Axes, names: Mapping[str, str] | None = None, **options: Any) -> Legend:
    """Write the legend, curves first and shaded ranges last; `names` replaces labels."""
    entries = sorted(zip(*ax.get_legend_handles_labels(), strict=True), key=lambda entry: isinstance(entry[0], Patch))
    handles, labels = zip(*entries, strict=True)
    return write_legend(
        ax, handles, [(names or {}).get(label, label) for label in labels], loc="upper right", **LEGEND, **options
    )


def _write_corner(ax: Axes, note: str, thresholds: Thresholds | None) -> None:
    """Write a note in the upper right corner, with the meaning of the grey band, and keep the curve below it."""
    text = note if thresholds is None else f"{note}\ngrey band: {in_words(thresholds)}"
    write_note(ax, text, side="right")
    make_room(ax, ax.texts[-1])


def _name_lines(ax: Axes, shown_range: tuple[float, float], x: Floats, treat_all: Floats) -> None:
    """Label the lines of treating none and of treating all where nothing crosses the labels."""
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


def _draw_trivial(
    ax: Axes, rate: float, shown_range: tuple[float, float], curves: Sequence[tuple[Floats, Floats]]
) -> None:
    """Draw and label the regret of treating all and of treating none, and set the limits."""
    left, right = shown_range
    x = np.linspace(left, right, 500)
    if ax.get_xscale() == "logit":
        x = 1.0 / (1.0 + np.exp(-np.linspace(-8.0, 8.0, 500)))
    always, never = x * (1 - rate), (1 - x) * rate
    peak = max(float(np.minimum(always, never).max()), *(float(_seen(*curve, shown_range).max()) for curve in curves))
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


def _label_murphy(ax: Axes, curve: MurphyCurve) -> None:
    whole = {"regret": "half the Brier score", "brier": "the Brier score", "expectile": "a quarter of the Brier score"}
    label_axis(ax.yaxis, "Mean elementary score", f"\n(area: {whole[curve.normalize]})")


def _line(ax: Axes, x: Floats, y: Floats, index: int, name: str, label: str) -> None:
    set_name(name, *ax.plot(x, y, linewidth=1.6, label=label, zorder=3, **line_style(index, len(x))))


def _even_in_log_odds(curve: RegretCurve) -> tuple[Floats, Floats]:
    """Return the curve at more points, because its pieces are not straight on an axis of log-odds."""
    x, y = np.clip(curve.threshold, LEAST, 1.0 - LEAST), curve.regret
    between = 1.0 / (1.0 + np.exp(-np.linspace(-8.0, 8.0, 1000)))
    places = np.searchsorted(x, between)
    return np.insert(x, places, between), np.insert(y, places, np.interp(between, curve.threshold, curve.regret))
