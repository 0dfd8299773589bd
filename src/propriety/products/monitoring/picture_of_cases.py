"""Figures of monitors: e-values and alarms, and the difference between two models with its confidence sequence."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator, StrMethodFormatter
from numpy.typing import NDArray

from propriety import checks
from propriety.number_words import percent
from propriety.plots.drawing import COLORS, DASHES, GREY, SMALL, draw, new_axes, write_title
from propriety.products.monitoring.calibration_stream import MonitoredCalibration
from propriety.products.monitoring.comparison_stream import MonitoredComparison
from propriety.products.monitoring.e_process import EProcess
from propriety.result import Floats

WIDE = (5.8, 3.5)
POINTS = 3000  # More than can be distinguished on a page.
LEAST = -4.0  # Power of ten below which the evidence is cut off.
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")  # Unlike mathematical text, the report shows them too.
ROOM = 0.13  # Height of a label at the end of a curve, as a share of the axes.


@draw.register
def _(process: MonitoredCalibration, ax: Axes | None = None, *, label: str = "") -> Axes:
    """Draw the evidence against calibration after each case."""
    ax = new_axes(ax, size=WIDE)
    _draw_evidence(ax, process, {"not calibrated": (process.log_e_value, process.alarm, "alarm after {:,} cases")})
    write_title(ax, label)
    return ax


@draw.register
def _(
    process: MonitoredComparison,
    ax: Axes | None = None,
    *,
    label: str = "",
    show: Literal["evidence", "difference"] = "evidence",
) -> Axes:
    """Draw the evidence that the model is worse, and that it is better; or the difference, if `show="difference"`."""
    checks.choice(show, "show", ("evidence", "difference"))
    ax = new_axes(ax, size=WIDE)
    if show == "difference":
        _draw_difference(ax, process)
    else:
        lines = {
            "model worse": (process.log_e_value, process.alarm, "alarm after {:,} cases"),
            "model better": (process.log_e_better, process.better_at, "better after {:,} cases"),
        }
        _draw_evidence(ax, process, lines)
    write_title(ax, label)
    return ax


def _draw_evidence(ax: Axes, process: EProcess, lines: dict[str, tuple[Floats, int | None, str]]) -> None:
    powers = {name: np.append(0.0, values) / math.log(10.0) for name, (values, _, _) in lines.items()}
    threshold = math.log10(process.threshold)
    finite = np.concatenate([power[np.isfinite(power)] for power in powers.values()])
    low, high = max(float(finite.min()), LEAST), max(float(finite.max()), threshold)
    low, high = low - 0.06 * (high - low), high + 0.2 * (high - low)
    _frame(ax, process.n)
    ax.set(ylim=(low, high), ylabel="Evidence (e-value, log scale)")
    ax.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda power, _: power_of_ten(power)))
    ax.axhspan(threshold, high, color=GREY["band"], alpha=0.5, linewidth=0, zorder=0.5)
    ax.axhline(0.0, color=GREY["isoline"], linewidth=0.9, zorder=1)
    ax.axhline(threshold, color=GREY["text"], linewidth=1.0, linestyle=DASHES[1], zorder=1.5, label="_threshold")
    budget = f"false alarms: at most {percent(1 - process.level)}"
    alarm = f"alarm at {process.threshold:,.4g}\n({budget}\nfor independent cases)"
    beside = [(threshold, alarm, GREY["text"])]
    for index, (name, (_, at, text)) in enumerate(lines.items()):
        color, power = (COLORS[1], COLORS[0])[index], np.minimum(powers[name], high)
        rows = _thinned(len(power), at)
        ax.plot(rows, power[rows], color=color, linestyle=DASHES[index], linewidth=1.5, label=f"_{name}", zorder=3)
        beside.append((max(float(power[-1]), low), f"evidence:\n{name}", color))
        if at is not None:
            _mark(ax, at, float(power[at]), text.format(at), color, line=index)
    places = parted([place for place, _, _ in beside], ROOM * (high - low))
    for place, (_, text, color) in zip(places, beside, strict=True):
        _write_beside(ax, process.n, place, text, color)


def _draw_difference(ax: Axes, process: MonitoredComparison) -> None:
    rows = _thinned(process.n, process.alarm)
    cases = rows + 1
    # The first limits span all possible values; the axes show the later ones.
    seen = rows >= min(process.n - 1, max(10, process.n // 20))
    low, high = float(process.low[rows][seen].min()), float(process.high[rows][seen].max())
    _frame(ax, process.n)
    ax.axhline(0.0, color=GREY["text"], linewidth=1.0, linestyle=DASHES[1], zorder=1.5)
    ax.fill_between(cases, process.low[rows], process.high[rows], color=COLORS[0], alpha=0.16, linewidth=0)
    ax.plot(cases, process.difference[rows], color=COLORS[0], linewidth=1.6, label="_difference", zorder=3)
    low, high = min(low, 0.0), max(high, 0.0)
    ax.set(ylim=(low - 0.08 * (high - low), high + 0.08 * (high - low)), ylabel="Mean loss: model minus reference")
    last, ends = float(process.difference[-1]), f"{process.low[-1]:+.3g} to {process.high[-1]:+.3g}"
    text = f"{last:+.3g}\n{ends}\n({percent(process.level)}, at all times)"
    _write_beside(ax, process.n, last, text, COLORS[0])
    for side, place, align in (("model worse", 0.98, "top"), ("model better", 0.02, "bottom")):
        ax.text(0.99, place, side, transform=ax.transAxes, ha="right", va=align, zorder=4, **_grey())


def _frame(ax: Axes, cases: int) -> None:
    ax.set(xlim=(0, cases), xlabel="Number of cases")
    ax.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=SMALL, length=3)


def _mark(ax: Axes, at: int, height: float, text: str, color: str, *, line: int) -> None:
    """Mark the alarm, and label it at the top, on the side where the curve is low."""
    ax.plot([at], [height], "o", color=color, markersize=5, zorder=4, label="_mark", clip_on=False)
    ax.axvline(at, color=color, linewidth=0.9, linestyle=":", zorder=2, label="_moment")
    late = at >= 0.38 * ax.get_xlim()[1]
    ax.annotate(
        text,
        (at, 1.0),
        (-5 if late else 5, -3 - 12 * line),
        xycoords=ax.get_xaxis_transform(),
        textcoords="offset points",
        ha="right" if late else "left",
        va="top",
        fontsize=SMALL,
        color=color,
        zorder=4,
    )


def _write_beside(ax: Axes, x: float, y: float, text: str, color: str) -> None:
    ax.annotate(
        text,
        (x, y),
        (5, 0),
        textcoords="offset points",
        va="center",
        fontsize=SMALL,
        color=color,
        annotation_clip=False,
    )


def _grey() -> dict[str, Any]:
    return {"fontsize": SMALL, "color": GREY["text"]}


def _thinned(length: int, at: int | None) -> NDArray[np.intp]:
    """Return the rows to draw: all, or evenly spaced ones and the row of the alarm."""
    rows = np.linspace(0, length - 1, min(length, POINTS)).astype(np.intp)
    return rows if at is None else np.unique(np.append(rows, min(at, length - 1)))


def parted(heights: list[float], room: float) -> list[float]:
    """Move heights apart if labels at them would overlap."""
    order = np.argsort(heights, kind="stable")
    moved = np.array(heights)[order]
    for _ in range(len(moved)):
        for below in range(len(moved) - 1):
            overlap = room - (moved[below + 1] - moved[below])
            if overlap > 0.0:
                moved[below] -= overlap / 2.0
                moved[below + 1] += overlap / 2.0
    parted = np.empty(len(moved))
    parted[order] = moved
    return parted.tolist()


def power_of_ten(power: float) -> str:
    """Return the label of a tick at a power of ten."""
    return f"{10.0**power:,.6g}" if abs(power) <= 3 else f"10{f'{power:.0f}'.translate(SUPERSCRIPTS)}"
