"""Forest plots of groups: a measure, calibration or net benefit with its interval, and the number of cases."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from propriety import checks
from propriety.inference.finding import Findings
from propriety.inference.finding_words import note_words
from propriety.inference.group_rows import GroupRow, group_rows
from propriety.inference.measures.measure import Measure
from propriety.plots.drawable_names import LONGEST_ROW, drawable_list, plain, visible
from propriety.plots.drawing import (
    GREY,
    SMALL,
    color_of,
    marker_style,
    new_axes,
    shown,
    write_infinity,
    write_title,
)
from propriety.plots.names import measure_and_merit

FAINT = "0.62"
LETTERS = 80  # Of all names in a row of the legend.
SPREAD = 0.42  # Height of the part of a row that the models of a group share.
SIZES, REMARKS = 1.13, 1.15  # Right end of the sizes and left end of the remarks, in widths of the axes.
LONGEST_REMARK = 45  # Letters; longer notes are in the result.


def draw_slices(found: Findings, ax: Axes | None = None, *, show: str | None = None, label: str = "") -> Axes:
    """Draw one line per group and model; `show` is the key of a measure, by default the first, and `label` a title."""
    measures = {measure.key: measure for measure in found.measure}
    headline = next(iter(measures))
    measure = measures[checks.choice(headline if show is None else show, "show", list(measures))]
    models, rows = list(dict.fromkeys(found.model.tolist())), group_rows(found, measure.key)
    groups = len(rows) // len(models)
    ax = new_axes(ax, size=(6.2, 1.3 + 0.36 * groups * max(1.0, 0.62 * len(models))))
    _draw_reference(ax, found, measure, is_headline=measure.key == headline)
    tests = group_rows(found)
    for row, (own, test) in enumerate(zip(rows, tests, strict=True)):
        index, place = divmod(row, groups)
        height = place + (SPREAD * (index / (len(models) - 1) - 0.5) if len(models) > 1 else 0.0)
        value, ends = own.value.value, [own.value.low, own.value.high]
        known = bool(np.isfinite(ends).all())
        style = marker_style(index) | ({} if test.is_tested or known else {"color": FAINT})
        color = style["color"]
        if known:
            ax.plot(ends, [height, height], color=color, linewidth=1.6, solid_capstyle="butt", label="_interval")
        if math.isfinite(value):
            ax.plot(
                *([value], [height]),
                **style,
                markersize=5.5,
                markerfacecolor=color if test.is_tested else "white",
                label="_estimate",
            )
        elif math.isinf(value):
            write_infinity(ax, height, below=value < 0.0, color=color_of(index))
        if own.rest is not None and own.rest.p_adjusted <= 1.0 - own.rest.level:
            _write(ax, REMARKS, height, "differs from the rest", color=GREY["text"] if len(models) == 1 else color)
    _write_rows(ax, found, tests, groups)
    if len(models) > 1:
        _write_models(ax, models)
    zero = "Event rate minus mean forecast (0 is ideal)"
    ax.set(ylim=(groups - 0.4, -0.6), xlabel=zero if measure.key == "excess" else measure_and_merit(measure))
    ax.xaxis.set_major_locator(MaxNLocator(6))
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(labelsize=SMALL, length=3)
    ax.tick_params(axis="y", length=0)
    write_title(ax, label, pad=22)
    return ax


def _draw_reference(ax: Axes, found: Findings, measure: Measure, *, is_headline: bool) -> None:
    """Draw the value of all cases, or zero."""
    if not is_headline:
        ax.axvline(0.0, color=GREY["line"], linewidth=0.9, zorder=0.5, label="_zero")
        return
    overall = found.where(measure=measure.key, keys={})
    for index, (name, value) in enumerate(zip(overall.model, overall.value.tolist(), strict=True)):
        if not np.isfinite(value):
            continue
        single = len(overall) == 1
        color = GREY["line"] if single else color_of(index)
        ax.axvline(value, color=color, linewidth=0.9, linestyle=(0, (5, 3)), zorder=0.5, label=f"_all, {name}")
        if single:
            ax.text(
                value,
                1.0,
                f"all cases {shown(value)}",
                transform=ax.get_xaxis_transform(),
                ha="center",
                va="bottom",
                fontsize=SMALL,
                color=GREY["text"],
            )


def _write_rows(ax: Axes, found: Findings, rows: Sequence[GroupRow], groups: int) -> None:
    """Write the groups on the left, below their keys, and on the right their sizes and which could not be tested."""
    ax.set_yticks(range(groups), drawable_list([row.group for row in rows[:groups]], longest=LONGEST_ROW))
    _write(ax, -0.01, -0.62, plain(visible(", ".join(found.case_keys))), ha="right", va="bottom")
    _write(ax, SIZES, -0.62, "cases", ha="right", va="bottom")
    for place, tick in enumerate(ax.get_yticklabels()):
        tested = any(row.is_tested for row in rows[place::groups])
        color = GREY["text"] if tested else FAINT
        tick.set_color("black" if tested else FAINT)
        _write(ax, SIZES, place, f"{rows[place].value.n:,}", ha="right", color=color)
        if not tested:
            notes = "; ".join(map(note_words, rows[place].notes))
            why = "too few to test" if rows[place].is_too_small else notes
            why = why if len(why) <= LONGEST_REMARK else "not tested"
            _write(ax, REMARKS, place, plain(why), color=FAINT)


def _write(ax: Axes, x: float, y: float, text: str, *, color: str = GREY["text"], **place: Any) -> None:
    """Write next to a row."""
    options: dict[str, Any] = {"ha": "left", "va": "center", "fontsize": SMALL} | place
    ax.text(x, y, text, transform=ax.get_yaxis_transform(), color=color, **options)


def _write_models(ax: Axes, models: list[str]) -> None:
    """Write a legend of the models above the axes."""
    names = drawable_list(models)
    for index, name in enumerate(names):
        ax.plot([], [], markersize=5.5, label=name, **marker_style(index))
    ax.legend(
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=max(1, min(4, LETTERS // max(map(len, names)))),
        fontsize=SMALL,
        frameon=False,
        handlelength=1.6,
        borderaxespad=0.2,
    )
