"""Figures of error analysis: retention curves, and the forecasts of the worst cases."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from propriety.diagnostics.retention import RetentionCurve
from propriety.diagnostics.worst_cases import WorstCases
from propriety.plots.drawable_names import drawable_list
from propriety.plots.drawing import (
    COLORS,
    DASHES,
    GREY,
    SMALL,
    Percent,
    color_of,
    draw,
    line_style,
    new_axes,
    open_frame,
    shown,
    write_title,
)
from propriety.result import Floats

METRICS = {
    "qwk": "Quadratic weighted kappa",
    "accuracy": "Accuracy",
    "linear cost": "Expected cost, linear",
    "quadratic cost": "Expected cost, quadratic",
    "cost": "Expected cost",
}
LONGEST = 16  # Of a class, which is written below its bar.
LINE = 0.062  # Height of a line of text, as a share of that of the axes.
CELL = (2.1, 0.62)  # Width and height of one case, in inches.


@draw.register
def _(curve: RetentionCurve, ax: Axes | None = None, *, label: str = "", bands: bool = True) -> Axes:
    """Draw the curve of every rule, labelled with its mean height; `bands` shades the confidence limits."""
    ax = new_axes(ax, size=(5.4, 3.7))
    lines = len(curve.areas.rule)
    removed = curve.removed[: len(curve.removed) // lines]
    values = curve.value.reshape(lines, -1)
    for index, line in enumerate(values):
        style = line_style(index, len(removed))
        ax.plot(removed, line, linewidth=1.7, zorder=3, label=curve.short_names[index], **style)
        if bands and curve.low is not None and curve.high is not None:
            lower, upper = (limit.reshape(lines, -1)[index] for limit in (curve.low, curve.high))
            ax.fill_between(
                removed, lower, upper, color=style["color"], alpha=0.1, linewidth=0, zorder=1.2, label="_band"
            )
    if removed[0] == 0.0:
        _mark_all_cases(ax, float(values[0, 0]), above=not curve.higher_is_better)
    direction = "higher is better" if curve.higher_is_better else "lower is better"
    ax.set(
        xlim=(removed[0], removed[-1]),
        xlabel="Share of the cases removed, largest loss first",
        ylabel=f"{METRICS[curve.metric]}\nof the cases kept ({direction})",
    )
    ax.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    ax.xaxis.set_major_formatter(Percent())
    open_frame(ax)
    _name_ends(ax, curve, values[:, -1])
    write_title(ax, label)
    return ax


def _mark_all_cases(ax: Axes, value: float, *, above: bool) -> None:
    """Draw the value at which all curves start, labelled on the side without curves."""
    ax.axhline(value, color=GREY["line"], linewidth=0.9, linestyle=DASHES[3], zorder=1, label="_all cases")
    ax.annotate(
        "all cases",
        (0.99, value),
        (0, 3 if above else -3),
        xycoords=ax.get_yaxis_transform(),
        textcoords="offset points",
        ha="right",
        va="bottom" if above else "top",
        fontsize=SMALL - 1,
        color=GREY["text"],
    )


def _name_ends(ax: Axes, curve: RetentionCurve, ends: Floats) -> None:
    """Write the name and the mean height of each rule next to the end of its curve, without overlaps."""
    low, high = ax.get_ylim()
    wanted = (ends - low) / (high - low)
    places = _spread(np.where(np.isnan(wanted), 0.5, wanted), LINE)
    for index, (name, place) in enumerate(zip(drawable_list(curve.short_names), places, strict=True)):
        color = color_of(index)
        ax.annotate(
            f"{name}  {shown(float(curve.areas.mean_height[index]))}",
            (1.0, wanted[index] if np.isfinite(wanted[index]) else place),
            (1.06, place),
            xycoords="axes fraction",
            textcoords="axes fraction",
            va="center",
            fontsize=SMALL,
            color=color,
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": color, "linewidth": 0.7, "shrinkA": 0, "shrinkB": 1},
        )
    ax.annotate(
        "mean height",
        (1.06, max(places) + 1.1 * LINE),
        xycoords="axes fraction",
        va="center",
        fontsize=SMALL - 1,
        color=GREY["text"],
        annotation_clip=False,
    )


def _spread(wanted: Floats, gap: float) -> Floats:
    """Return places close to the wanted ones, in the same order, with at least the gap between them."""
    order = np.argsort(wanted, kind="stable")
    steps = gap * np.arange(len(wanted))
    # The mean of the places moved up and of those moved down has the gap and keeps the centre.
    up = np.maximum.accumulate(wanted[order] - steps)
    down = np.minimum.accumulate((wanted[order] - steps)[::-1])[::-1]
    places = np.empty(len(wanted))
    places[order] = (up + down) / 2.0 + steps
    return places


@draw.register
def _(worst: WorstCases, ax: Axes | None = None, *, label: str = "", n: int = 6) -> Axes:
    """Draw the forecasts of the `n` worst cases of each rule as bars, one column per rule, the outcome in colour."""
    columns, classes = len(worst.rules), len(worst.labels)
    per_rule = len(worst.case) // columns
    lines = min(n, per_rule)
    ax = new_axes(ax, size=(CELL[0] * columns + 0.5, CELL[1] * lines + 0.9))
    wide = classes + 1.6  # The bars of a case, and the space after them.
    for column, name in enumerate(drawable_list(worst.short_names)):
        left = column * wide
        ax.text(left, 0.06, name, fontsize=SMALL + 0.5, fontweight="bold", va="bottom", ha="left")
        for line in range(lines):
            _draw_case(ax, worst, column * per_rule + line, left, line + 1.0)
        _name_classes(ax, worst, left, lines + 0.2)
    ax.set(xlim=(-0.2, columns * wide - 0.6), ylim=(lines + (1.0 if _are_words(worst) else 0.5), -0.6))
    ax.text(
        -0.2,
        -0.55,
        "bars: forecast; ▴ and colour: outcome",
        fontsize=SMALL - 1,
        color=GREY["text"],
        va="top",
    )
    ax.axis("off")
    write_title(ax, label)
    return ax


def _name_classes(ax: Axes, worst: WorstCases, left: float, place: float) -> None:
    """Write the classes below their bars, slanted if they are words."""
    words = _are_words(worst)
    for position, name in enumerate(drawable_list(worst.labels, longest=LONGEST)):
        ax.text(
            left + position + (0.7 if words else 0.5),
            place,
            name,
            fontsize=SMALL - 1.5,
            color=GREY["text"],
            rotation=40 if words else 0,
            rotation_mode="anchor",
            ha="right" if words else "center",
            va="top",
        )


def _are_words(worst: WorstCases) -> bool:
    return max(len(str(name)) for name in worst.labels) > 2


def _draw_case(ax: Axes, worst: WorstCases, row: int, left: float, floor: float) -> None:
    """Draw one forecast; the axis points down, so the bars extend upwards from their floor."""
    height = 0.54
    ax.plot([left, left + len(worst.labels)], [floor, floor], color=GREY["line"], linewidth=0.8, label="_floor")
    happened = worst.labels.index(worst.outcome[row])
    for position, probability in enumerate(worst.forecast[row]):
        color = COLORS[1] if position == happened else GREY["bars"]
        tall = height * float(probability)
        ax.add_patch(Rectangle((left + position + 0.1, floor - tall), 0.8, tall, color=color, linewidth=0))
    ax.plot(left + happened + 0.5, floor + 0.07, "^", color=COLORS[1], markersize=4, label="_happened")
    ax.text(
        left,
        floor - 0.8,
        f"case {worst.case[row]}, loss {shown(float(worst.loss[row]))}",
        fontsize=SMALL - 1.5,
        color=GREY["text"],
        va="top",
    )
