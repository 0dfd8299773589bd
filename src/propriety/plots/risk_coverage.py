"""The risk-coverage curve, with the best that the accuracy allows and the risk of random abstention."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from propriety.inference.risk_coverage import RiskCoverageCurve
from propriety.plots.drawable_names import drawable, drawable_names
from propriety.plots.drawing import (
    DASHES,
    GREY,
    LEGEND,
    SMALL,
    Percent,
    draw,
    line_style,
    new_axes,
    open_frame,
    shown,
    write_title,
)
from propriety.plots.names import label_axis, set_name, write_legend
from propriety.plots.placing import make_room
from propriety.plots.shared_references import check_any

FEW, NOISY = 30, 0.05  # Curves with few rows have markers; the axis fits coverages from here on.


@draw.register
def _(curve: RiskCoverageCurve, ax: Axes | None = None, *, label: str = "", color: int = 0) -> Axes:
    """Draw the risk against the coverage, with AURC and its interval; `color` numbers the curve on shared axes."""
    fresh = ax is None
    ax = new_axes(ax, size=(4.8, 3.7))
    style, name = line_style(color), drawable(label) if label else ""
    ax.plot(curve.coverage, curve.risk, linewidth=1.7, zorder=3, label=name or "risk", **style)
    marked = slice(None) if len(curve.risk) <= FEW else slice(-1, None)
    dots: dict[str, Any] = {"marker": "o", "linestyle": "", "markersize": 4, "clip_on": False}
    ax.plot(curve.coverage[marked], curve.risk[marked], color=style["color"], zorder=4, label="_rows", **dots)
    text = f"AURC {shown(curve.aurc.value)}"
    if np.isfinite(curve.aurc.low):
        text += f" ({shown(curve.aurc.low)} to {shown(curve.aurc.high)})"
    ax.text(
        0.03,
        0.97 - 0.08 * color,
        f"{name}: {text}" if name and not fresh else text,
        transform=ax.transAxes,
        ha="left",
        va="top",
        fontsize=SMALL,
        color=style["color"],
    )
    top = 1.25 * _highest(curve)
    if fresh:
        _mark_references(ax, curve)
        write_title(ax, label)
    return _framed(ax, max(top, 0.0 if fresh or color == 0 else ax.get_ylim()[1]))


def plot_risk_coverage_curves(curves: Mapping[str, RiskCoverageCurve], ax: Axes | None = None) -> Axes:
    """Draw the risk of several models against the coverage, with AURC in the legend.

    Parameters
    ----------
    curves : mapping of str to RiskCoverageCurve
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
    >>> curve = pr.risk_coverage_curve([1, 1, 0, 1], [0.9, 0.8, 0.6, 0.6])
    >>> ax = pr.plots.plot_risk_coverage_curves({"a": curve})
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['a  (AURC 0.104)']
    """
    check_any(curves)
    ax = new_axes(ax, size=(4.8, 3.7))
    short = drawable_names(curves)
    for index, (name, curve) in enumerate(curves.items()):
        style = line_style(index, len(curve.risk)) | {"label": f"{short[name]}  (AURC {shown(curve.aurc.value)})"}
        set_name(name, *ax.plot(curve.coverage, curve.risk, linewidth=1.6, zorder=3, **style))
    top = max(_highest(curve) for curve in curves.values())
    if len(curves) == 1:
        _mark_references(ax, curve)
    legend = write_legend(ax, loc="upper left", **LEGEND)
    _framed(ax, 1.1 * top)
    make_room(ax, legend)
    return _with_ticks_to_one(ax)


def _framed(ax: Axes, top: float) -> Axes:
    """Name the axes, with risks up to `top`."""
    ax.set(xlim=(0, 1), ylim=(0, max(top, 1e-3)))
    label_axis(ax.xaxis, "Coverage", ": share of the cases answered")
    label_axis(ax.yaxis, "Risk", ": share of wrong answers\namong them (lower is better)")
    ax.xaxis.set_major_formatter(Percent())
    ax.yaxis.set_major_formatter(Percent())
    open_frame(ax)
    return _with_ticks_to_one(ax)


def _with_ticks_to_one(ax: Axes) -> Axes:
    """Label no risk above 1 if the axis goes beyond it, to make room for text."""
    if ax.get_ylim()[1] > 1.0:
        ax.set_yticks(np.linspace(0.0, 1.0, 6))
    return ax


def _highest(curve: RiskCoverageCurve) -> float:
    """Return the highest risk; that of the first few answers is mostly noise and may leave the picture."""
    return float(curve.risk[curve.coverage >= NOISY].max())


def _mark_references(ax: Axes, curve: RiskCoverageCurve) -> None:
    """Draw the lowest risk possible with this accuracy, and that of abstaining at random."""
    error = 1.0 - curve.accuracy
    ax.axhline(error, color=GREY["line"], linewidth=0.9, linestyle=DASHES[3], zorder=1, label="_random")
    coverage = np.linspace(max(curve.accuracy, 1e-9), 1.0, 101)
    best = np.append(0.0, 1.0 - curve.accuracy / coverage)
    ax.plot(np.append(0.0, coverage), best, color=GREY["line"], linewidth=0.9, zorder=1, label="_best possible")
    for text, place, height, align in (
        ("abstaining at random", 0.98, error, "right"),
        ("best possible ", curve.accuracy, 0.0, "right"),
    ):
        ax.annotate(
            text,
            (place, height),
            (0, 3),
            textcoords="offset points",
            ha=align,
            va="bottom",
            fontsize=SMALL - 1,
            color=GREY["text"],
        )
