"""Figures of gain, lift and precision-recall curves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from propriety.decisions.expected_cost import GainCurve
from propriety.plots.drawable_names import drawable_names
from propriety.plots.drawing import GREY, LEGEND, SMALL, Percent, draw, line_style, new_axes, shown
from propriety.plots.names import label_axis, set_name, write_legend
from propriety.plots.shared_references import check_any, check_same


@draw.register
def _(curve: GainCurve, ax: Axes | None = None, *, label: str = "model") -> Axes:
    """Draw the gain curve of one model."""
    return plot_gains({label: curve}, ax)


def plot_precision_recall(curves: Mapping[str, GainCurve], ax: Axes | None = None) -> Axes:
    """Draw precision against recall, with the average precision of each model in the legend.

    Parameters
    ----------
    curves : mapping of str to GainCurve
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
    >>> curve = pr.roc_curve([0, 1, 0, 1], [0.1, 0.6, 0.4, 0.8]).gains()
    >>> pr.plots.plot_precision_recall({"a": curve}).get_ylabel()
    'Precision (events among the cases acted on)'
    """
    check_any(curves)
    check_same(curves, "prevalence", lambda curve: curve.prevalence)
    ax = new_axes(ax)
    prevalence = next(iter(curves.values())).prevalence
    ax.axhline(prevalence, color=GREY["isoline"], linewidth=0.9, zorder=1.5)
    short = drawable_names(curves)
    for index, (name, curve) in enumerate(curves.items()):
        _line(ax, index, name, curve.recall, curve.precision, f"{short[name]}  (AP {shown(curve.average_precision)})")
    ax.set(xlim=(0, 1), ylim=(0, 1))
    label_axis(ax.xaxis, "Recall", " (events acted on)")
    label_axis(ax.yaxis, "Precision", " (events among the cases acted on)")
    return _finished(ax, "upper right")


def plot_gains(curves: Mapping[str, GainCurve], ax: Axes | None = None) -> Axes:
    """Draw the share of the events found against the share of the cases acted on.

    Parameters
    ----------
    curves : mapping of str to GainCurve
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
    >>> curve = pr.roc_curve([0, 1, 0, 1], [0.1, 0.6, 0.4, 0.8]).gains()
    >>> pr.plots.plot_gains({"a": curve}).get_ylabel()
    'Events found'
    """
    check_any(curves)
    check_same(curves, "prevalence", lambda curve: curve.prevalence)
    ax = new_axes(ax)
    prevalence = next(iter(curves.values())).prevalence
    ax.plot([0, prevalence, 1], [0, 1, 1], color=GREY["isoline"], linewidth=0.9, zorder=1.4)
    ax.plot([0, 1], [0, 1], color=GREY["isoline"], linewidth=0.9, zorder=1.5)
    short = drawable_names(curves)
    for index, (name, curve) in enumerate(curves.items()):
        _line(ax, index, name, np.append(0.0, curve.share), np.append(0.0, curve.recall), short[name])
    ax.set(xlim=(0, 1), ylim=(0, 1))
    label_axis(ax.xaxis, "Cases acted on", ", highest forecasts first")
    label_axis(ax.yaxis, "Events found")
    return _finished(ax, "lower right")


def plot_lifts(curves: Mapping[str, GainCurve], ax: Axes | None = None) -> Axes:
    """Draw precision divided by prevalence against the share of the cases acted on.

    Parameters
    ----------
    curves : mapping of str to GainCurve
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
    >>> curve = pr.roc_curve([0, 1, 0, 1], [0.1, 0.6, 0.4, 0.8]).gains()
    >>> pr.plots.plot_lifts({"a": curve}).get_ylabel()
    'Lift'
    """
    check_any(curves)
    ax = new_axes(ax)
    ax.axhline(1.0, color=GREY["isoline"], linewidth=0.9, zorder=1.5)
    short = drawable_names(curves)
    for index, (name, curve) in enumerate(curves.items()):
        _line(ax, index, name, curve.share, curve.lift, short[name])
    ax.set(xlim=(0, 1))
    ax.set_ylim(bottom=0.0)
    label_axis(ax.xaxis, "Cases acted on", ", highest forecasts first")
    label_axis(ax.yaxis, "Lift")
    ax = _finished(ax, "upper right")
    ax.yaxis.set_major_formatter("{x:g}")
    return ax


def _line(ax: Axes, index: int, name: str, x: Any, y: Any, label: str) -> None:
    set_name(
        name, *ax.plot(x, y, linewidth=1.6, label=label, zorder=3, clip_on=len(x) > 1, **line_style(index, len(x)))
    )


def _finished(ax: Axes, place: str) -> Axes:
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(Percent())
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=SMALL, length=3)
    write_legend(ax, loc=place, **LEGEND)
    return ax
