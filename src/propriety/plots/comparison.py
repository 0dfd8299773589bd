"""Comparisons: a forest plot of the differences between models, and models by rank with their values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from propriety.inference.comparison_words import merit_of, pairs_tested, ranks_in_words, short_words
from propriety.inference.finding import Findings
from propriety.inference.measures.measure import Measure
from propriety.inference.verdict import lead
from propriety.number_words import percent
from propriety.plots.drawable_names import drawable_list, drawable_names, plain
from propriety.plots.drawing import COLORS, GREY, SMALL, new_axes, write_infinity, write_title
from propriety.plots.names import measure_and_merit
from propriety.result import Floats

ROW = 0.34  # Inches for each row.
LONGEST = 20  # A row has the names of two models, and a verdict with one of them.
UNDECIDED = "0.45"


def draw_comparison(found: Findings, ax: Axes | None = None, *, label: str = "") -> Axes:
    """Draw the difference of each pair of models with its interval; `label` is the title."""
    pairs = found.differences
    rows, measure, level = list(pairs), pairs[0].measure, pairs[0].level
    decided = [lead(row) != 0 for row in rows]
    ax = new_axes(ax, size=(6.2, 1.3 + ROW * len(rows)))
    _draw_rows(ax, pairs.value, pairs.low, pairs.high, decided)
    ax.axvline(0.0, color=GREY["line"], linewidth=0.9, zorder=1)
    _include_zero(ax)
    short = drawable_names([*pairs.model.tolist(), *pairs.against.tolist()], longest=LONGEST)
    shared = short[pairs.against[0]] if len(set(pairs.against)) == 1 else None
    named = [(short[row.model], short[str(row.against)]) for row in rows]
    names = [model if shared else f"{model} minus {other}" for model, other in named]
    # The interval is for one pair, while the verdict is adjusted for the number of pairs.
    tested = f"\n({pairs_tested(pairs)} pairs tested)"
    words = [short_words(row, *own) + tested * bool(row.note("adjusted")) for row, own in zip(rows, named, strict=True)]
    _write_rows(ax, names, words, decided)
    _write_sides(ax, *_sides(measure, shared))
    ax.set_xlabel(
        plain(f"Difference in {measure.label}, {percent(level)} confidence interval"),
        labelpad=SMALL + 8,
        fontsize=SMALL + 1,
    )
    _finish(ax, label)
    return ax


def draw_ranks(ranked: Findings, ax: Axes | None = None, *, label: str = "") -> Axes:
    """Draw the value of each model with its interval, by rank, and the possible ranks; `label` is the title."""
    ax = new_axes(ax, size=(6.2, 1.1 + ROW * len(ranked)))
    ranks = [(int(row.extra["best_rank"]), int(row.extra["worst_rank"])) for row in ranked]
    settled = [best == worst for best, worst in ranks]
    _draw_rows(ax, ranked.value, ranked.low, ranked.high, settled)
    for row in np.flatnonzero(~np.isfinite(ranked.value)).tolist():
        write_infinity(ax, row)
    _write_rows(ax, drawable_list(ranked.model.tolist()), [ranks_in_words(*own) for own in ranks], settled)
    ax.text(1.03, -0.75, "possible ranks:", transform=ax.get_yaxis_transform(), fontsize=SMALL, color=GREY["text"])
    interval = f", {percent(ranked[0].level)} confidence interval"
    ax.set_xlabel(measure_and_merit(ranked[0].measure, interval), fontsize=SMALL + 1)
    _finish(ax, label)
    return ax


def _draw_rows(ax: Axes, value: Floats, low: Floats, high: Floats, filled: Sequence[bool] | np.ndarray) -> None:
    """Draw a point with an interval in each row, filled and coloured if the result is clear."""
    for row, (middle, left, right, full) in enumerate(zip(value, low, high, filled, strict=True)):
        if not np.isfinite(middle):
            continue
        color = COLORS[0] if full else UNDECIDED
        if np.isfinite(left):
            ax.plot([left, right], [row, row], color=color, linewidth=1.8 if full else 1.2, solid_capstyle="butt")
        ax.plot(middle, row, marker="o", markersize=6, color=color, markerfacecolor=color if full else "white")
    ax.set_ylim(len(value) - 0.4, -0.6)


def _write_rows(ax: Axes, names: list[str], words: list[str], filled: list[bool]) -> None:
    """Write the names of the rows on the left and their results on the right."""
    ax.set_yticks(range(len(names)), names, fontsize=SMALL + 1)
    for row, (text, full) in enumerate(zip(words, filled, strict=True)):
        ax.text(
            1.03,
            row,
            text,
            transform=ax.get_yaxis_transform(),
            va="center",
            fontsize=SMALL + 1,
            color=COLORS[0] if full else GREY["text"],
        )


def _sides(measure: Measure, shared: str | None) -> tuple[str, str]:
    """Return the meaning of a difference below zero, and of one above zero."""
    merit = merit_of(measure)
    if merit is None:
        return (f"lower than {shared}", f"higher than {shared}") if shared else ("first lower", "first higher")
    better, worse = (f"better than {shared}", f"worse than {shared}") if shared else ("first better", "second better")
    return (worse, better) if merit == "higher" else (better, worse)


def _write_sides(ax: Axes, left: str, right: str) -> None:
    """Write the meaning of each side below the axis."""
    for place, text, side in ((0.0, f"← {left}", "left"), (1.0, f"{right} →", "right")):
        ax.annotate(
            text,
            (place, 0.0),
            xycoords="axes fraction",
            xytext=(0.0, -SMALL - 9),
            textcoords="offset points",
            ha=side,
            va="top",
            fontsize=SMALL,
            color=GREY["text"],
        )


def _include_zero(ax: Axes) -> None:
    low, high = ax.get_xlim()
    room = 0.05 * (max(high, 0.0) - min(low, 0.0))
    ax.set_xlim(min(low, -room), max(high, room))


def _finish(ax: Axes, label: str) -> None:
    ax.xaxis.set_major_locator(MaxNLocator(4))
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="x", labelsize=SMALL, length=3)
    ax.tick_params(axis="y", length=0)
    write_title(ax, label)
