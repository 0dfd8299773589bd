"""Figures of gain, lift and precision-recall curves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from propriety.decisions.expected_cost import GainCurve
from propriety.plots.drawable_names import drawable_names
from propriety.plots.drawing import GREY, LEGEND, Percent, draw, line_style, new_axes, open_frame, shown
from propriety.plots.names import label_axis, set_name, write_legend
from propriety.plots.shared_references import check_any, check_same

REFERENCE: dict[str, Any] = {"color": GREY["isoline"], "linewidth": 0.9, "zorder": 1.5}


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
    ax, prevalence = _started(curves, ax), _prevalence(curves)
    ax.axhline(prevalence, **REFERENCE)
    _draw(ax, curves, lambda curve: (curve.recall, curve.precision), "  (AP {})")
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
    ax, prevalence = _started(curves, ax), _prevalence(curves)
    for x, y in (([0, prevalence, 1], [0, 1, 1]), ([0, 1], [0, 1])):
        ax.plot(x, y, **REFERENCE)
    _draw(ax, curves, lambda curve: (np.append(0.0, curve.share), np.append(0.0, curve.recall)))
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
    ax = _started(curves, ax)
    ax.axhline(1.0, **REFERENCE)
    _draw(ax, curves, lambda curve: (curve.share, curve.lift))
    ax.autoscale(axis="y")
    ax.set_ylim(bottom=0.0)
    label_axis(ax.xaxis, "Cases acted on", ", highest forecasts first")
    label_axis(ax.yaxis, "Lift")
    ax = _finished(ax, "upper right")
    ax.yaxis.set_major_formatter("{x:g}")
    return ax


def _started(curves: Mapping[str, GainCurve], ax: Axes | None) -> Axes:
    check_any(curves)
    ax = new_axes(ax)
    ax.set(xlim=(0, 1), ylim=(0, 1))
    return ax


def _prevalence(curves: Mapping[str, GainCurve]) -> float:
    """Return the prevalence that all curves share."""
    check_same(curves, "prevalence", lambda curve: curve.prevalence)
    return next(iter(curves.values())).prevalence


def _draw(ax: Axes, curves: Mapping[str, GainCurve], of: Callable[[GainCurve], Any], more: str = "") -> None:
    """Draw what `of` returns of each curve, with the average precision in the label where `more` asks for it."""
    short = drawable_names(curves)
    for index, (name, curve) in enumerate(curves.items()):
        x, y = of(curve)
        look = line_style(index, len(x)) | {"label": short[name] + more.format(shown(curve.average_precision))}
        set_name(name, *ax.plot(x, y, linewidth=1.6, zorder=3, clip_on=len(x) > 1, **look))


def _finished(ax: Axes, place: str) -> Axes:
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(Percent())
    open_frame(ax)
    write_legend(ax, loc=place, **LEGEND)
    return ax
