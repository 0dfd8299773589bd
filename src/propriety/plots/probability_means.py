"""Model against source probabilities: bubbles, the three means and their angle, and the divergence."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Arc

from propriety.diagnostics.probability_means import MeanSpectrum, ProbabilityGroups, ProbabilityMeans
from propriety.errors import InputValueError
from propriety.plots.drawable_names import drawable_names
from propriety.plots.drawing import (
    COLORS,
    DASHES,
    GREY,
    SMALL,
    draw,
    new_axes,
    on_white,
    open_frame,
    shown,
    write_title,
)
from propriety.result import Floats

NAMES = ("decisiveness", "accuracy", "robustness")
MARKERS = ("o", "s", "^", "D", "v")  # Of the classes, which colour does not distinguish in grey.
DARK = "0.1"
LARGEST = 420.0  # Area of the largest bubble, in square points.
ARC = 0.15
BESIDE = 0.9  # If a ray ends further right, its label is to the right of the axes.
LEFT, NAMES_END = 0.035, 0.4
HEIGHTS = (0.735, 0.665, 0.595)  # Of the names of the means, above the diagonal and left of the means.


@draw.register
def _(means: ProbabilityMeans, ax: Axes | None = None, *, label: str = "", details: bool = True) -> Axes:
    """Draw model against source probabilities; `label` is the title, `details` adds the divergence and notes."""
    if means.source is None or means.divergence is None or means.groups is None:
        law = 'the figure needs source probabilities; these means were computed with source="none"'
        raise InputValueError(law, hint='use source="pav".')
    if means.weight == 0.0:
        raise InputValueError("the figure needs cases; no case is of this class")
    ax = new_axes(ax, size=(4.6, 4.4))
    _frame(ax)
    classes = _draw_bubbles(ax, means.groups)
    _draw_line(ax, means.source, means.model, means.angle)
    if details:
        _draw_projection(ax, means.source[1], means.model[1], means.divergence[1])
        _name_marks(ax, means.source, means.model)
        _write_notes(ax, classes, means)
    write_title(ax, label)
    return ax


@draw.register
def _(spectrum: MeanSpectrum, ax: Axes | None = None) -> Axes:
    """Draw the means of model and source against their exponent."""
    ax = new_axes(ax, size=(4.6, 3.4))
    order = np.argsort(spectrum.exponent)
    order = order[np.isfinite(spectrum.exponent[order])]
    if len(order) == 0:
        raise InputValueError("the figure needs finite exponents; all are infinite")
    exponent = spectrum.exponent[order]
    lines = {"model": spectrum.model, "source": spectrum.source}
    for index, (name, values) in enumerate((name, values) for name, values in lines.items() if values is not None):
        ax.plot(exponent, values[order], color=COLORS[index], linestyle=DASHES[index], linewidth=1.7, label=name)
        ax.annotate(
            name,
            (exponent[-1], values[order][-1]),
            (4, 0),
            textcoords="offset points",
            va="center",
            fontsize=SMALL,
            color=COLORS[index],
            annotation_clip=False,
        )
    for name, at in zip(NAMES, (1.0, 0.0, -2.0 / 3.0), strict=True):
        ax.axvline(at, color=GREY["isoline"], linewidth=0.9, zorder=1)
        ax.text(
            at,
            1.01,
            name,
            transform=ax.get_xaxis_transform(),
            ha={"decisiveness": "left", "accuracy": "center", "robustness": "right"}[name],
            va="bottom",
            fontsize=SMALL - 1,
            color=GREY["text"],
        )
    ax.set(xlim=(exponent[0], exponent[-1]), xlabel="Exponent of the mean", ylabel="Mean probability of what happened")
    open_frame(ax)
    return ax


def _frame(ax: Axes) -> None:
    ax.plot([0, 1], [0, 1], color=GREY["line"], linewidth=0.9, zorder=1.5, label="_diagonal")
    ax.set(
        xlim=(0, 1),
        ylim=(0, 1),
        aspect="equal",
        xlabel="Source probability (observed rate)",
        ylabel="Model probability (forecast)",
        xticks=np.linspace(0, 1, 6),
        yticks=np.linspace(0, 1, 6),
    )
    open_frame(ax)


def _draw_bubbles(ax: Axes, groups: ProbabilityGroups) -> dict[str, Any]:
    """Draw a bubble for each group, with the weight of its true pairs as area; return the style of each class."""
    names = list(dict.fromkeys(groups.label.tolist()))
    looks = [{"color": color, "marker": marker} for color, marker in zip(COLORS, MARKERS, strict=False)]
    styles = dict(zip(names, looks if len(names) <= len(looks) else [looks[0]] * len(names), strict=False))
    area = LARGEST / float(groups.weight.max())
    for name, style in styles.items():
        here = (groups.label == name) & (groups.weight > 0.0)
        ax.scatter(
            groups.source[here],
            groups.model[here],
            s=area * groups.weight[here],
            alpha=0.35,
            facecolors=style["color"],
            edgecolors=style["color"],
            linewidths=0.8,
            marker=style["marker"],
            zorder=2,
            label=f"_{name}",
            clip_on=False,
        )
    return styles if len(names) <= len(looks) else {f"{len(names)} classes": looks[0]}


def _draw_line(ax: Axes, source: Floats, model: Floats, angle: float | None) -> None:
    """Draw the three marks, the line through the outer two, and its angle."""
    look: dict[str, Any] = {"marker": "D", "color": DARK, "edgecolors": "white", "linewidths": 0.9}
    ax.scatter(source, model, s=(42.0, 95.0, 42.0), zorder=5, label="_marks", **look)
    if angle is None or np.isnan(angle):
        return
    direction = np.array([np.cos(np.radians(angle)), np.sin(np.radians(angle))])
    ends = np.array([[source[2], model[2]], [source[0], model[0]]]) + 0.05 * np.outer([-1, 1], direction)
    ax.plot(*ends.T, color=DARK, linewidth=1.3, zorder=4, label="_line", solid_capstyle="round")
    corner = ends[0]
    ax.plot([corner[0], corner[0] + ARC], [corner[1]] * 2, color=DARK, linewidth=0.7, zorder=4, label="_level")
    low, high = sorted((0.0, angle))
    ax.add_patch(Arc(tuple(corner), 1.4 * ARC, 1.4 * ARC, theta1=low, theta2=high, color=DARK, linewidth=0.7, zorder=4))
    ax.annotate(
        f"{angle:.1f}°",
        (corner[0] + ARC, corner[1]),
        (3, -1),
        textcoords="offset points",
        va="center",
        fontsize=SMALL,
        color=DARK,
        bbox=on_white(),
        zorder=4.5,
    )


def _draw_projection(ax: Axes, source: float, model: float, divergence: float) -> None:
    """Draw the ray from the origin through the accuracy; at a source of 1, its height is the divergence."""
    meets = divergence <= 1.0
    end = (1.0, divergence) if meets else (1.0 / divergence, 1.0)
    beside = end[0] > BESIDE
    color = GREY["text"]
    ax.plot([0, end[0]], [0, end[1]], color=color, linestyle=DASHES[1], linewidth=1.1, zorder=3, label="_projection")
    ax.plot([source, source], [0, model], color=color, linestyle=DASHES[3], linewidth=0.7, zorder=2.5, label="_source")
    if meets:
        ax.plot(*end, marker="D", color=color, markersize=5, clip_on=False, zorder=5, label="_divergence")
    ax.annotate(
        f"divergence\n{shown(divergence)}",
        end,
        (7, 0) if beside else (0, 3),
        textcoords="offset points",
        ha="left" if beside else "center",
        va="center" if beside else "bottom",
        fontsize=SMALL,
        color=color,
        annotation_clip=False,
        linespacing=1.15,
    )


def _name_marks(ax: Axes, source: Floats, model: Floats) -> None:
    """Label the marks on the left, where there are no bubbles, with thin lines to them."""
    line = {"arrowstyle": "-", "color": GREY["line"], "linewidth": 0.6, "shrinkA": 1, "shrinkB": 4, "relpos": (1, 0.5)}
    for name, x, y, height in zip(NAMES, source, model, HEIGHTS, strict=True):
        ax.annotate(
            f"{name}  {shown(float(y))}",
            (x, y),
            (NAMES_END, height),
            ha="right",
            va="center",
            fontsize=SMALL,
            color=DARK,
            bbox=on_white(),
            zorder=4.6,
            arrowprops=line,
        )


def _write_notes(ax: Axes, styles: dict[str, Any], means: ProbabilityMeans) -> None:
    """Write the classes of the bubbles and the source of the probabilities in the corners."""
    note: dict[str, Any] = {"transform": ax.transAxes, "color": GREY["text"], "zorder": 4.2, "linespacing": 1.3}
    top, short = 0.965, drawable_names(styles)
    for name, style in styles.items() if list(styles) != ["all"] else ():
        ax.plot(LEFT + 0.012, top, transform=ax.transAxes, alpha=0.6, markersize=6, linestyle="", label="_key", **style)
        ax.text(LEFT + 0.045, top, short[name], fontsize=SMALL, va="center", **(note | {"color": style["color"]}))
        top -= 0.047
    bins = f"source in {means.bins} bin" + ("s" if means.bins != 1 else "")
    kind = {"pav": "isotonic source", "bins": bins}.get(means.method, f"{means.method} source")
    clipped = "not clipped" if means.precision is None else f"clipped at {means.precision:g}"
    text = f"{kind}\n{clipped}\nn = {means.n:,}"
    ax.text(0.975, 0.03, text, fontsize=SMALL - 1, ha="right", va="bottom", bbox=on_white(), **note)
