"""Forest plots of groups with their mean: the estimates of the groups, their mean, and the range of a further one."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

from propriety import checks
from propriety.inference.finding import FURTHER_GROUP, HETEROGENEITY, MEAN_OF_GROUPS, TAU, Finding, Findings
from propriety.inference.group_rows import texts_of_labels
from propriety.inference.measures.reading import AnyMeasure, read_measure
from propriety.number_words import capitalized, p_value_words, percent
from propriety.plots.drawable_names import LONGEST_ROW, drawable, drawable_list
from propriety.plots.drawing import COLORS, GREY, SMALL, new_axes, write_title
from propriety.plots.names import measure_and_merit

# Right ends of the columns of numbers, in points to the left and to the right of the axes.
EVENTS, CASES, VALUES, WEIGHTS = -8, -48, 132, 178
GAP, CHARACTER = 38, 4.6  # Between the names and the number of cases; width of a character of a name.
TICKS = (
    (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5),
    (0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0, 1.2, 1.5, 2.0, 2.5, 3.0),
    (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0),
    (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0),
)
MOST_TICKS, FEWEST_TICKS = 8, 3
MEAN, PREDICTION = "Mean over groups", "Further group (prediction)"
SMALLEST, LARGEST = 3.0, 9.5  # Sizes of the squares.
DRAWN = (MEAN_OF_GROUPS, FURTHER_GROUP)
HALF = 0.3  # Half the height of the diamond.


class Forest(NamedTuple):
    """The rows of one measure and one model: those of the groups, and what is said over groups, by statistic."""

    groups: list[Finding]
    names: list[str]
    over: dict[str, Finding]

    @property
    def mean(self) -> Finding:
        """The mean over groups."""
        return self.over[MEAN_OF_GROUPS]

    @property
    def is_log(self) -> bool:
        """Whether the axis is logarithmic: that of ratios, if none is 0."""
        return self.mean.measure.scale == "log" and all(row.value != 0.0 for row in self.groups)

    @classmethod
    def of(cls, found: Findings, measure: AnyMeasure | None, model: str | None) -> Forest:
        """Choose the rows, by default of the first measure and of the only model."""
        measures = list(dict.fromkeys(one.key for one in found.measure))
        key = measure if isinstance(measure, str) else None if measure is None else read_measure(measure).key
        key = measures[0] if key is None else checks.choice(key, "measure", measures)
        models = list(dict.fromkeys(found.model.tolist()))
        if (model is None and len(models) > 1) or not isinstance(model, str | None):
            checks.choice(model, "model", models)
        rows = list(found.where(measure=key, model=models[0] if model is None else model))
        groups = [row for row in rows if row.keys]
        names = [", ".join(texts) for texts in zip(*(texts_of_labels(own) for own in _columns(groups)), strict=True)]
        over = {row.statistic: row for row in rows if not row.keys}
        return cls(groups, drawable_list(names, longest=LONGEST_ROW), over)


def _columns(groups: list[Finding]) -> list[list[Any]]:
    return [[row.keys[key] for row in groups] for key in groups[0].keys]


def draw_pooled(
    found: Findings,
    ax: Axes | None = None,
    *,
    measure: AnyMeasure | None = None,
    model: str | None = None,
    label: str = "",
) -> Axes:
    """Draw the groups and their mean for one measure, by default the first, and one model; `label` is the title."""
    forest = Forest.of(found, measure, model)
    rows = len(forest.groups)
    ax = new_axes(ax, size=(8.6, 1.3 + 0.27 * (rows + 3)))
    names = CASES - GAP - CHARACTER * max(len(PREDICTION), *(len(name) for name in forest.names))
    heaviest = max(_weight(row) for row in forest.groups)
    for place, (row, name) in enumerate(zip(forest.groups, forest.names, strict=True)):
        _draw_group(ax, place, row, name, names, heaviest)
    _draw_summary(ax, forest, names, rows + 0.5)
    ideal = forest.mean.measure.ideal
    if ideal is not None:
        ax.axvline(ideal, color=GREY["line"], linewidth=0.9, zorder=0.5, label="_ideal")
    _write_heads(ax, forest, names)
    _scale_axis(ax, forest)
    ax.axhline(rows - 0.25, color=GREY["isoline"], linewidth=0.8, label="_rule", clip_on=False)
    ax.set(ylim=(rows + 2.1, -0.7), xlabel=measure_and_merit(forest.mean.measure))
    ax.set_yticks([])
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(labelsize=SMALL, length=3)
    write_title(ax, label, pad=24)
    return ax


def _weight(row: Finding) -> float:
    return float(row.extra["weight"])


def _draw_group(ax: Axes, place: int, row: Finding, name: str, names: float, heaviest: float) -> None:
    """Draw the estimate of a group as a square whose area is its weight, and write its numbers."""
    weight = _weight(row)
    used = weight > 0.0
    color = COLORS[0] if used else GREY["line"]
    if np.isfinite([row.low, row.high]).all():
        ends = [row.low, row.high]
        ax.plot(ends, [place, place], color=color, linewidth=1.3, solid_capstyle="butt", label="_interval")
    if np.isfinite(row.value):
        size = max(LARGEST * np.sqrt(weight / heaviest), SMALLEST) if used else SMALLEST
        face = color if used else "white"
        ax.plot([row.value], [place], marker="s", markersize=size, color=color, markerfacecolor=face, label="_group")
    _write(ax, names, place, name, ha="left")
    _write(ax, CASES, place, f"{row.n:,}")
    if row.events is not None:
        _write(ax, EVENTS, place, f"{row.events:,}")
    _write(ax, VALUES, place, _interval(row))
    _write(ax, WEIGHTS, place, f"{weight:.1%}" if used else "left out")


def _draw_summary(ax: Axes, forest: Forest, names: float, place: float) -> None:
    """Draw the mean as a diamond, and below it the range of a further group as a bar."""
    mean = forest.mean
    if not math.isnan(mean.value):
        _write(ax, names, place, MEAN, ha="left", weight="bold")
        _write(ax, VALUES, place, _interval(mean), weight="bold")
    if not np.isfinite(mean.value):
        return
    across, down = [mean.low, mean.value, mean.high, mean.value], [place, place - HALF, place, place + HALF]
    ax.fill(across, down, color=COLORS[1], linewidth=0, label="_mean")
    ax.axvline(mean.value, color=COLORS[1], linewidth=0.8, linestyle=(0, (4, 3)), zorder=0.4, label="_mean line")
    if (further := forest.over.get(FURTHER_GROUP)) is not None:
        limits = [further.low, further.high]
        ax.plot(limits, [place + 1.0] * 2, color=COLORS[1], linewidth=3.2, solid_capstyle="butt", label="_prediction")
        _write(ax, names, place + 1.0, PREDICTION, ha="left")
        _write(ax, VALUES, place + 1.0, f"{_digits(further.low)} to {_digits(further.high)}")
    spread, share = forest.over[TAU], forest.over[HETEROGENEITY]
    scale = spread.extra["scale"]
    on = "" if scale == "identity" else f" ({scale})"
    between = f"I² {percent(share.value, 2)}, τ {spread.value:.2g}{on}, {p_value_words(share.p)}"
    _write(ax, names, place + 1.9, f"Between groups: {between}", ha="left", style="italic")


def _write_heads(ax: Axes, forest: Forest, names: float) -> None:
    """Write the names of the columns."""
    _write(ax, names, -1.0, capitalized(drawable(", ".join(forest.groups[0].keys))), ha="left", weight="bold")
    _write(ax, CASES, -1.0, "Cases", weight="bold")
    if forest.mean.events is not None:
        _write(ax, EVENTS, -1.0, "Events", weight="bold")
    _write(ax, VALUES, -1.0, f"Value ({percent(forest.mean.level)} CI)", weight="bold")
    _write(ax, WEIGHTS, -1.0, "Weight", weight="bold")


def _scale_axis(ax: Axes, forest: Forest) -> None:
    """Set the limits and ticks of the axis: logarithmic for ratios."""
    ends = [end for row in (*forest.groups, *map(forest.over.get, DRAWN)) if row is not None for end in _ends(row)]
    ends += [] if (ideal := forest.mean.measure.ideal) is None else [ideal]
    is_log = forest.is_log
    known = [float(end) for end in ends if np.isfinite(end) and (end > 0.0 or not is_log)]
    low, high = (min(known), max(known)) if known else (0.5, 1.5)
    if not is_log:
        margin = 0.04 * (high - low or 1.0)
        ax.set_xlim(low - margin, high + margin)
        ax.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
        return
    ax.set_xscale("log")
    low, high = max(low, 0.02) / 1.06, min(high, 50.0) * 1.06
    inside = [
        [tick for tick in some if low <= tick <= high] for some in TICKS if some[0] <= low * 1.3 or some is TICKS[-1]
    ]
    ticks = next((some for some in inside if len(some) <= MOST_TICKS), inside[-1])
    ax.set_xlim(low, high)
    ax.xaxis.set_major_locator(FixedLocator(ticks) if len(ticks) >= FEWEST_TICKS else LogLocator())
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _ends(row: Finding) -> list[float]:
    return [row.low, row.value, row.high]


def _interval(row: Finding) -> str:
    value, low, high = row.value, row.low, row.high
    if np.isinf(value):
        return "∞" if value > 0.0 else "\N{MINUS SIGN}∞"
    if np.isnan(value):
        return "not defined"
    limits = f" ({_digits(low)} to {_digits(high)})" if np.isfinite([low, high]).all() else ""
    return f"{_digits(value)}{limits}"


def _digits(value: float) -> str:
    """Write a number with two decimals, or with three if it is small."""
    return f"{value:.2f}" if abs(value) >= 0.3 else f"{value:.3f}"


def _write(ax: Axes, x: float, y: float, text: str, **style: Any) -> None:
    """Write in the height of a row, so many points to the left or right of the axes."""
    side = 0.0 if x < 0.0 else 1.0
    options: dict[str, Any] = {"ha": "right", "va": "center", "fontsize": SMALL, "color": GREY["text"]} | style
    ax.annotate(
        text, (side, y), xycoords=ax.get_yaxis_transform(), xytext=(x, 0.0), textcoords="offset points", **options
    )
