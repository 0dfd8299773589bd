"""Forest plots of groups: a measure, calibration or net benefit with its interval, and the number of cases."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from propriety.errors import InputValueError
from propriety.inference.measures.of_means import NetBenefit
from propriety.inference.slice_table import TOO_FEW, Slices
from propriety.plots.drawable_names import LONGEST_ROW, drawable_list, plain, visible
from propriety.plots.drawing import (
    GREY,
    SMALL,
    color_of,
    draw,
    marker_style,
    new_axes,
    shown,
    write_infinity,
    write_title,
)
from propriety.plots.names import measure_and_merit

Shown: TypeAlias = Literal["value", "excess", "net_benefit"]

FAINT = "0.62"
LETTERS = 80  # Of all names in a row of the legend.
SPREAD = 0.42  # Height of the part of a row that the models of a group share.
SIZES, REMARKS = 1.13, 1.15  # Right end of the sizes and left end of the remarks, in widths of the axes.
LONGEST_REMARK = 45  # Letters; longer notes are in the result.
SHOWN = get_args(Shown)


@draw.register
def _(slices: Slices, ax: Axes | None = None, *, show: Shown = "value", label: str = "") -> Axes:
    """Draw one line per group and model; `show` is "value", "excess" or "net_benefit", and `label` is the title."""
    values = getattr(slices, show) if show in SHOWN else None
    if values is None:
        hint = "net benefit needs thresholds= in slices()." if show == "net_benefit" else ""
        hint = 'with classes, only "value" is available.' if slices.events is None and show in SHOWN else hint
        raise InputValueError('must be "value", "excess" or "net_benefit"', argument="show", got=show, hint=hint)
    models = list(slices.overall)
    groups = len(slices.group) // len(models)
    ax = new_axes(ax, size=(6.2, 1.3 + 0.36 * groups * max(1.0, 0.62 * len(models))))
    _draw_reference(ax, slices, show)
    limits = (slices.low, slices.high) if show == "value" else _limits(slices, show)
    for row, value in enumerate(values):
        index, place = divmod(row, groups)
        height = place + (SPREAD * (index / (len(models) - 1) - 0.5) if len(models) > 1 else 0.0)
        tested, ends = bool(slices.is_tested[row]), [limit[row] for limit in limits]
        known = bool(np.isfinite(ends).all())
        style = marker_style(index) | ({} if tested or known else {"color": FAINT})
        color = style["color"]
        if known:
            ax.plot(ends, [height, height], color=color, linewidth=1.6, solid_capstyle="butt", label="_interval")
        if np.isfinite(value):
            ax.plot(
                *([value], [height]),
                **style,
                markersize=5.5,
                markerfacecolor=color if tested else "white",
                label="_estimate",
            )
        elif np.isinf(value):
            write_infinity(ax, height, below=value < 0.0, color=color_of(index))
        if show == "value" and slices.p_adjusted[row] <= 1.0 - slices.level:
            _write(ax, REMARKS, height, "differs from the rest", color=GREY["text"] if len(models) == 1 else color)
    _write_rows(ax, slices, groups)
    if len(models) > 1:
        _write_models(ax, models)
    ax.set(ylim=(groups - 0.4, -0.6), xlabel=_axis_label(slices, show))
    ax.xaxis.set_major_locator(MaxNLocator(6))
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(labelsize=SMALL, length=3)
    ax.tick_params(axis="y", length=0)
    write_title(ax, label, pad=22)
    return ax


def _axis_label(slices: Slices, show: Shown) -> str:
    if show == "value":
        return measure_and_merit(slices.measure)
    if slices.thresholds is None or show == "excess":
        return "Event rate minus mean forecast (0 is ideal)"
    return measure_and_merit(NetBenefit(slices.thresholds))


def _limits(slices: Slices, show: Shown) -> tuple[np.ndarray, np.ndarray]:
    return getattr(slices, f"{show}_low"), getattr(slices, f"{show}_high")


def _draw_reference(ax: Axes, slices: Slices, show: Shown) -> None:
    """Draw the value of all cases, or zero."""
    if show != "value":
        ax.axvline(0.0, color=GREY["line"], linewidth=0.9, zorder=0.5, label="_zero")
        return
    for index, (name, value) in enumerate(slices.overall.items()):
        if not np.isfinite(value):
            continue
        single = len(slices.overall) == 1
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


def _write_rows(ax: Axes, slices: Slices, groups: int) -> None:
    """Write the groups on the left, below their keys, and on the right their sizes and which could not be tested."""
    ax.set_yticks(range(groups), drawable_list(slices.group[:groups].tolist(), longest=LONGEST_ROW))
    _write(ax, -0.01, -0.62, plain(visible(", ".join(slices.by))), ha="right", va="bottom")
    _write(ax, SIZES, -0.62, "cases", ha="right", va="bottom")
    for place, tick in enumerate(ax.get_yticklabels()):
        tested = bool(slices.is_tested[place::groups].any())
        color = GREY["text"] if tested else FAINT
        tick.set_color("black" if tested else FAINT)
        _write(ax, SIZES, place, f"{slices.n[place]:,}", ha="right", color=color)
        if not tested:
            why = TOO_FEW if slices.is_too_small[place] else str(slices.note[place])
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
