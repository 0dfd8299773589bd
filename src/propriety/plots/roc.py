"""Figures of ROC curves, with marked thresholds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator

from propriety.decisions.roc import RocCurve
from propriety.number_words import percent
from propriety.plots.drawable_names import drawable_names
from propriety.plots.drawing import (
    COLORS,
    DASHES,
    GREY,
    LEGEND,
    SMALL,
    Percent,
    draw,
    line_style,
    new_axes,
    on_white,
    open_frame,
    shown,
    write_title,
)
from propriety.plots.names import label_axis, set_name, write_legend
from propriety.plots.shared_references import check_any
from propriety.plots.threshold_axis import common_thresholds, in_words

MARKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9)


@draw.register
def _(
    curve: RocCurve, ax: Axes | None = None, *, color: str = COLORS[0], label: str = "", hull: RocCurve | None = None
) -> Axes:
    """Draw the curve with some of its thresholds; `hull` is its convex hull, which is drawn if given."""
    ax = new_axes(ax)
    _frame(ax)
    if hull is not None:
        _draw_roc(ax, hull, color=COLORS[1], linestyle=DASHES[1], linewidth=1.2, label="_hull")
    _draw_roc(ax, curve, color=color, linewidth=1.7, label="_curve")
    _mark_thresholds(ax, curve, color)
    text = f"AUC {shown(curve.auc)}" + ("" if hull is None else f"\nconvex hull {shown(hull.auc)}")
    ax.text(
        0.97,
        0.05,
        f"{text}\nn = {curve.n:,}",
        ha="right",
        va="bottom",
        fontsize=SMALL,
        color=GREY["text"],
        linespacing=1.35,
        bbox=on_white(),
    )
    write_title(ax, label)
    return ax


def plot_roc_curves(curves: Mapping[str, RocCurve], ax: Axes | None = None) -> Axes:
    """Draw the ROC curves of several models, each with its area.

    Parameters
    ----------
    curves : mapping of str to RocCurve
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
    >>> curves = {"a": pr.roc_curve(y, [0.1, 0.6, 0.4, 0.8]), "b": pr.roc_curve(y, [0.3, 0.4, 0.5, 0.9])}
    >>> ax = pr.plots.plot_roc_curves(curves)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['a  (AUC 1.000)', 'b  (AUC 0.750)']
    """
    check_any(curves)
    thresholds = common_thresholds(curves)
    ax = new_axes(ax)
    _frame(ax)
    short = drawable_names(curves)
    for index, (name, curve) in enumerate(curves.items()):
        style = line_style(index)
        set_name(name, *_draw_roc(ax, curve, linewidth=1.6, label=f"{short[name]}  (AUC {shown(curve.auc)})", **style))
        if curve.thresholds is not None:
            rows = _rows_at(curve, np.atleast_1d(curve.thresholds))
            points = curve.false_positive_rate[rows], curve.true_positive_rate[rows]
            look: dict[str, Any] = {"color": style["color"], "markersize": 4.5, "zorder": 3.5, "clip_on": False}
            set_name(name, *ax.plot(*points, "o", label="_mark", **look))
    if thresholds is not None:
        ax.plot([], [], "o", color=GREY["line"], markersize=4.5, label=in_words(thresholds, "and"))
    write_legend(ax, loc="lower right", **LEGEND)
    return ax


def _frame(ax: Axes) -> None:
    ax.plot([0, 1], [0, 1], color=GREY["isoline"], linewidth=0.9, zorder=1.5, label="_chance")
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    label_axis(ax.xaxis, "False positive rate", " (non-events acted on)")
    label_axis(ax.yaxis, "True positive rate", " (events acted on)")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(FixedLocator(np.linspace(0, 1, 6).tolist()))
        axis.set_major_formatter(Percent())
    open_frame(ax)


def _draw_roc(ax: Axes, curve: RocCurve, **style: Any) -> list[Line2D]:
    return ax.plot(curve.false_positive_rate, curve.true_positive_rate, zorder=3, clip_on=False, **style)


def _rows_at(curve: RocCurve, threshold: Any) -> Any:
    """Return the row of the curve that corresponds to a threshold."""
    return np.searchsorted(-curve.threshold, -threshold, side="right") - 1


def _mark_thresholds(ax: Axes, curve: RocCurve, color: str) -> None:
    """Mark the points of the given thresholds, or of round ones, unless they are too close together."""
    taken = [(0.0, 0.0), (1.0, 1.0)] if curve.thresholds is None else [(-1.0, -1.0)]
    marks = MARKS if curve.thresholds is None else np.atleast_1d(curve.thresholds).tolist()
    for mark in marks[::-1]:
        row = int(_rows_at(curve, mark))
        place = (float(curve.false_positive_rate[row]), float(curve.true_positive_rate[row]))
        if min(np.hypot(place[0] - x, place[1] - y) for x, y in taken) < 0.12:
            continue
        taken.append(place)
        ax.plot(*place, "o", color=color, markersize=4, label="_mark", zorder=3.5)
        ax.annotate(
            f"≥ {percent(mark, 6)}",
            place,
            (5, -4),
            textcoords="offset points",
            ha="left",
            va="top",
            fontsize=SMALL - 1,
            color=GREY["text"],
            zorder=4,
        )
