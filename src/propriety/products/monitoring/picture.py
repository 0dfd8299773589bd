"""Figures of a monitored ledger: the evidence in all streams, and observed/expected of one stream, by day."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import NDArray

from propriety.errors import InputValueError
from propriety.plots.drawable_names import LONGEST_ROW, drawable, drawable_list, drawable_names
from propriety.plots.drawing import (
    COLORS,
    DASHES,
    GREY,
    LEGEND,
    SMALL,
    Percent,
    dot,
    draw,
    line_style,
    new_axes,
    write_title,
)
from propriety.products.monitoring.history import DayTotals
from propriety.products.monitoring.ledger_monitor import LedgerMonitor
from propriety.products.monitoring.picture_of_cases import parted, power_of_ten
from propriety.products.monitoring.states import DIRECTIONS, NEVER
from propriety.products.monitoring.words import alarmed_streams, stream_name, time_words
from propriety.result import Floats

WIDE = (6.4, 3.6)
NAMED = 5  # Streams with an alarm that are drawn in colour and named.
OTHERS = 40  # Streams without an alarm that are drawn, those with the strongest evidence.
MOST = 3.0  # Powers of ten that are shown, relative to that of the threshold.
ROOM = 0.075  # Height of a label at the end of a line, as a share of the axes.
LONG = 6  # Characters of a label of time, of which few fit below the axis.
POWER = math.log(10.0)
HOLLOW: dict[str, Any] = {"markerfacecolor": "none", "markeredgecolor": GREY["text"]}


@draw.register
def _(watch: LedgerMonitor, ax: Axes | None = None, *, stream: int | None = None, label: str | None = None) -> Axes:
    """Draw the evidence of every stream after each day, or the days of the stream in a row of ``watch.to_frame()``."""
    if stream is not None:
        return _draw_stream(watch, stream, ax, label)
    ax = new_axes(ax, size=WIDE)
    days, states = watch.days, watch.states
    named = alarmed_streams(watch)[:NAMED]
    order = [place for place in np.argsort(-states.highest, kind="stable").tolist() if place not in named]
    thresholds = states.log_thresholds(watch.level) / POWER
    threshold = float(thresholds[0])
    finite = days.log_e_value[np.isfinite(days.log_e_value)] / POWER
    high = min(max(float(finite.max(initial=0.0)) * 1.08, 1.3 * threshold), MOST * threshold)
    low = min(float(finite.min(initial=0.0)), -0.5)
    rows = np.argsort(days.stream, kind="stable")
    bounds = np.searchsorted(days.stream[rows], np.arange(len(states) + 1))
    _frame(ax, watch.times, watch.time)
    ax.set(ylim=(low - 0.04 * (high - low), high), ylabel="Evidence (e-value, log scale)")
    ax.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda power, _: power_of_ten(power)))
    ax.axhspan(threshold, high, color=GREY["band"], alpha=0.5, linewidth=0, zorder=0.5)
    ax.axhline(threshold, color=GREY["text"], linewidth=1.0, linestyle=DASHES[1], zorder=1.5, label="_threshold")
    for place in order[:OTHERS]:
        own = rows[bounds[place] : bounds[place + 1]]
        thin: dict[str, Any] = {"color": GREY["line"], "linewidth": 0.6, "alpha": 0.6, "label": "_stream"}
        thin |= dot(len(own))
        ax.plot(days.position[own], days.log_e_value[own] / POWER, zorder=2, **thin)
    beside = [(threshold, "alarm", GREY["text"])]
    names = drawable_list([_name(watch, place) for place in named], longest=LONGEST_ROW)
    for number, (place, name) in enumerate(zip(named, names, strict=True)):
        own = rows[bounds[place] : bounds[place + 1]]
        power = days.log_e_value[own] / POWER
        style: dict[str, Any] = {"color": COLORS[(1, 0, 2, 3, 4)[number]], "linestyle": DASHES[number]} | dot(len(own))
        ax.plot(days.position[own], power, linewidth=1.6, zorder=4, label=f"_{name}", **style)
        at = days.position[own] == states.alarm[place]
        ax.plot(days.position[own][at], power[at], "o", color=style["color"], markersize=5, zorder=5, label="_alarm")
        beside.append((float(power[-1]), name, style["color"]))
    _write_beside(ax, beside, ROOM * (high - low), high)
    write_title(ax, label or "")
    return ax


def _write_beside(ax: Axes, labels: Sequence[tuple[float, str, str]], room: float, high: float) -> None:
    """Write labels at the ends of lines; those of lines that leave the axes are placed below each other at the top."""
    heights, beyond = [], 0
    for height, _, _ in labels:
        heights.append(min(height, high - room * (beyond + 0.5)) if height >= high else height)
        beyond += height >= high
    for height, (_, text, color) in zip(parted(heights, room), labels, strict=True):
        ax.annotate(
            text,
            (1.0, height),
            (5, 0),
            xycoords=ax.get_yaxis_transform(),
            textcoords="offset points",
            va="center",
            fontsize=SMALL,
            color=color,
            annotation_clip=False,
        )


def _draw_stream(watch: LedgerMonitor, stream: int, ax: Axes | None, label: str | None) -> Axes:
    """Draw observed/expected of one stream by day, with the alarm and the estimated change; of a pair, the difference.

    Dots are days, and circles days that are not mature. The line is the ratio over the last seven days of the stream.
    The default title is the model and the labels of the keys.
    """
    streams = len(watch.states.streams)
    if isinstance(stream, bool) or not isinstance(stream, int | np.integer) or not 0 <= stream < streams:
        raise InputValueError(f"must be the row of a stream, from 0 to {streams - 1}", argument="stream", got=stream)
    ax = new_axes(ax, size=(4.2, 2.8))
    days, states = watch.days.of_stream(int(stream)), watch.states
    pair = states.streams[stream].reference is not None
    color = COLORS[1] if states.alarm[stream] != NEVER else COLORS[0]
    x, line = days.position, days.rolling(7)
    later = None if watch.immature is None else watch.immature.of_stream(stream)
    _frame(ax, watch.times if later is None else [*watch.times, *watch.waiting], watch.time)
    if pair:
        ideal, values = 0.0, days.score
        ax.set_ylabel("Mean difference of losses")
    else:
        ideal, values = 1.0, days.observed_expected
        ax.set_ylabel("Observed/expected")
    ax.axhline(ideal, color=GREY["text"], linewidth=1.0, linestyle=DASHES[1], zorder=1.5, label="_ideal")
    ax.plot(x, values, "o", color=GREY["line"], markersize=2.2, alpha=0.55, markeredgewidth=0, zorder=2, label="_days")
    ax.plot(x, line, color=color, linewidth=1.6, zorder=3, label="_last seven days", **dot(len(x)))
    ends = line
    if later is not None:
        waiting = later.score if pair else later.observed_expected
        _draw_waiting(ax, later.position, waiting)
        ends = np.concatenate([line, waiting])
    _limit(ax, values, ends, ideal)
    if states.alarm[stream] != NEVER:
        _mark_change(ax, watch, stream)
    write_title(ax, "\n".join(textwrap.wrap(_name(watch, stream), LONGEST_ROW)) if label is None else label)
    return ax


def _draw_waiting(ax: Axes, x: NDArray[np.int64], values: Floats) -> None:
    """Draw days that are not mature as circles."""
    ax.plot(x, values, "o", markersize=2.8, markeredgewidth=0.7, **HOLLOW, zorder=2, label="_not mature")


def _mark_change(ax: Axes, watch: LedgerMonitor, stream: int) -> None:
    """Shade the days from the estimated change to the alarm, and name both."""
    states = watch.states
    since, alarm = int(states.since[stream]), int(states.alarm[stream])
    direction = DIRECTIONS[int(states.direction[stream])]
    ax.axvspan(since, alarm, color=GREY["band"], linewidth=0, zorder=0.5)
    ax.axvline(since, color=GREY["text"], linewidth=0.9, linestyle=":", zorder=2.5)
    share = np.array([since, alarm]) / len(watch.times)
    # Right of the alarm if there is room, else left of the change, else between them.
    at, align = (alarm, "left") if share[1] < 0.6 else (since, "right") if share[0] > 0.4 else (since, "left")
    ax.annotate(
        f"{direction}\nsince {time_words(watch, since)}\nalarm {time_words(watch, alarm)}",
        (at, 1.0),
        (-4 if align == "right" else 4, -3),
        xycoords=ax.get_xaxis_transform(),
        textcoords="offset points",
        ha=align,
        va="top",
        fontsize=SMALL,
        color=GREY["text"],
        zorder=4,
    )


def _limit(ax: Axes, values: Floats, line: Floats, ideal: float) -> None:
    """Show the line and most of the days."""
    known = np.concatenate([values[np.isfinite(values)], [ideal]])
    ends = np.quantile(known, [0.02, 0.98]).tolist() + line[np.isfinite(line)].tolist() + [ideal]
    low, high = min(ends), max(ends)
    room = 0.08 * (high - low) or 0.1
    ax.set_ylim(low - room, high + 2.5 * room)


def _frame(ax: Axes, times: Sequence[Any], name: str) -> None:
    ax.set(xlim=(-0.5, max(len(times) - 0.5, 0.5)), xlabel=drawable(name.capitalize()))
    if all(isinstance(label, int | float) for label in times):
        ticks = [tick for tick in MaxNLocator(5).tick_values(times[0], times[-1]) if times[0] <= tick <= times[-1]]
        ax.set_xticks(np.interp(ticks, times, np.arange(len(times))), [f"{tick:g}" for tick in ticks])
    else:
        ax.xaxis.set_major_locator(MaxNLocator(3 if len(str(times[-1])) > LONG else 5, integer=True))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda place, _: _label(times, place)))
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=SMALL, length=3)


def _label(times: Sequence[Any], place: float) -> str:
    at = round(place)
    return drawable(times[at]) if 0 <= at < len(times) else ""


def _name(watch: LedgerMonitor, place: int) -> str:
    stream, keys = watch.states.streams[place], stream_name(watch, place)
    model = stream.model if stream.reference is None else f"{stream.model} - {stream.reference}"
    several = len(watch.models) > 1 or not keys
    return f"{model}, {keys}" if several and keys else model if several else keys


def draw_volume(watch: LedgerMonitor, totals: Mapping[str, DayTotals], figure: Figure) -> None:
    """Draw the number of cases, the event rate and the mean forecast of each model on a figure, by time."""
    left, right = figure.subplots(1, 2)
    x, first = np.arange(len(watch.times)), totals[watch.models[0]]
    later = None if watch.immature is None else watch.immature.totals(watch.models)[watch.models[0]]
    for ax in (left, right):
        _frame(ax, watch.times if later is None else [*watch.times, *watch.waiting], watch.time)
    left.fill_between(x, first.n, color=GREY["band"], linewidth=0, step="mid")
    left.plot(x, first.n, color=GREY["text"], linewidth=1.0, drawstyle="steps-mid", label="_cases")
    left.set(ylabel="Cases", ylim=(0, 1.1 * max(float(first.n.max()), 1.0)))
    right.plot(x, first.event_rate, "o", color=GREY["line"], markersize=2.2, markeredgewidth=0, label="_events")
    if later is not None:
        waiting = np.arange(len(watch.times), len(later.n))
        _draw_waiting(left, waiting, later.n[waiting])
        _draw_waiting(right, waiting, later.event_rate[waiting])
    short = drawable_names(totals)
    for number, (name, one) in enumerate(totals.items()):
        right.plot(x, one.mean_forecast, linewidth=1.6, label=short[name], **line_style(number, len(x)))
    right.set(ylabel="Event rate (dots), mean forecast")
    right.set_ylim(bottom=0)
    right.yaxis.set_major_formatter(Percent())
    right.legend(loc="lower left", **LEGEND)
