"""The risk-coverage curve, with the best that the accuracy allows and the risk of random abstention."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from propriety.inference.risk_coverage import RiskCoverageCurve
from propriety.plots.drawing import COLORS, DASHES, GREY, SMALL, Percent, draw, new_axes, shown, write_title

__all__: list[str] = []

FEW, NOISY = 30, 0.05  # Curves with few rows have markers; the axis fits coverages from here on.


@draw.register
def _(curve: RiskCoverageCurve, ax: Axes | None = None, *, label: str = "", color: int = 0) -> Axes:
    """Draw the risk against the coverage, with AURC and its interval; `color` numbers the curve on shared axes."""
    fresh = ax is None
    ax = new_axes(ax, size=(4.8, 3.7))
    paint, dash = COLORS[color % len(COLORS)], DASHES[color % len(DASHES)]
    ax.plot(curve.coverage, curve.risk, color=paint, linestyle=dash, linewidth=1.7, zorder=3, label=label or "risk")
    marked = slice(None) if len(curve.risk) <= FEW else slice(-1, None)
    dots: dict[str, Any] = {"marker": "o", "linestyle": "", "markersize": 4, "clip_on": False}
    ax.plot(curve.coverage[marked], curve.risk[marked], color=paint, zorder=4, label="_rows", **dots)
    text = f"AURC {shown(curve.aurc.value)}"
    if np.isfinite(curve.aurc.low):
        text += f" ({shown(curve.aurc.low)} to {shown(curve.aurc.high)})"
    ax.text(
        0.03,
        0.97 - 0.08 * color,
        f"{label}: {text}" if label and not fresh else text,
        transform=ax.transAxes,
        ha="left",
        va="top",
        fontsize=SMALL,
        color=paint,
    )
    # The risk of the first few answers is mostly noise and may leave the picture.
    top = 1.25 * float(curve.risk[curve.coverage >= NOISY].max())
    if fresh:
        _mark_references(ax, curve)
        write_title(ax, label)
    ax.set(
        xlim=(0, 1),
        ylim=(0, max(top, 0.0 if fresh or color == 0 else ax.get_ylim()[1], 1e-3)),
        xlabel="Coverage: share of the cases answered, most confident first",
        ylabel="Risk: share of wrong answers\namong them (lower is better)",
    )
    ax.xaxis.set_major_formatter(Percent())
    ax.yaxis.set_major_formatter(Percent())
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=SMALL, length=3)
    return ax


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
