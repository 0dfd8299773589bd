"""Figures of a monitor: the evidence in all streams, one stream by period, and the volume of cases."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
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
from propriety.products.monitoring.monitor import Monitored
from propriety.products.monitoring.streams import DIRECTIONS, NEVER, Chunk
from propriety.products.monitoring.words import (
    NAMES,
    alarmed_streams,
    by_evidence,
    measure_name,
    stream_name,
    time_words,
)
from propriety.result import Floats

WIDE = (6.4, 3.6)
NAMED = 5  # Streams with an alarm that are drawn in colour and named.
OTHERS = 40  # Streams without an alarm that are drawn, those with the strongest evidence.
POINTS = 3000  # More than can be distinguished on a page.
LEAST, MOST = -2.0, 3.0  # Powers of ten that are shown; the largest relative to that of the threshold.
ROOM = 0.075  # Height of a label at the end of a line, as a share of the axes.
LONG = 6  # Characters of a label of time, of which few fit below the axis.
POWER = math.log(10.0)
WINDOW = 7  # Periods over which the line of a stream is averaged.
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")  # Unlike mathematical text, the report shows them too.
HOLLOW: dict[str, Any] = {"markerfacecolor": "none", "markeredgecolor": GREY["text"]}


@draw.register
def _(watch: Monitored, ax: Axes | None = None, *, stream: int | None = None, label: str | None = None) -> Axes:
    """Draw the evidence of every stream after each period, or the values of the stream in a row of the table."""
    if stream is not None:
        return _draw_stream(watch, stream, ax, label)
    ax = new_axes(ax, size=WIDE)
    chunk, streams = watch.numbers(), watch.streams
    named = alarmed_streams(watch)[:NAMED]
    order = [place for place in by_evidence(watch) if place not in named]
    threshold = float(streams.log_thresholds(watch.options.level)[0]) / POWER
    powers = np.maximum(chunk.log_e_value / POWER, LEAST)
    finite = powers[np.isfinite(powers)]
    high = min(max(float(finite.max(initial=0.0)) * 1.08, 1.3 * threshold), MOST * threshold)
    low = min(float(finite.min(initial=0.0)), -0.5)
    _frame(ax, watch.times, watch.options.noun)
    ax.set(ylim=(low - 0.04 * (high - low), high), ylabel="Evidence (e-value, log scale)")
    ax.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda power, _: power_of_ten(power)))
    ax.axhspan(threshold, high, color=GREY["band"], alpha=0.5, linewidth=0, zorder=0.5)
    ax.axhline(threshold, color=GREY["text"], linewidth=1.0, linestyle=DASHES[1], zorder=1.5, label="_threshold")
    rows = np.argsort(chunk.stream, kind="stable")
    bounds = np.searchsorted(chunk.stream[rows], np.arange(len(streams) + 1))

    def path(place: int) -> tuple[NDArray[np.int64], Floats]:
        own = _thinned(rows[bounds[place] : bounds[place + 1]])
        return chunk.period[own], np.minimum(powers[own], 2.0 * high)

    for place in order[:OTHERS]:
        x, y = path(place)
        ax.plot(x, y, color=GREY["line"], linewidth=0.6, alpha=0.6, label="_stream", zorder=2, **dot(len(x)))
    beside = [(threshold, "alarm", GREY["text"])]
    names = drawable_list([_name(watch, place) for place in named], longest=LONGEST_ROW)
    for number, (place, name) in enumerate(zip(named, names, strict=True)):
        x, y = path(place)
        style: dict[str, Any] = {"color": COLORS[(1, 0, 2, 3, 4)[number]], "linestyle": DASHES[number]} | dot(len(x))
        ax.plot(x, y, linewidth=1.6, zorder=4, label=f"_{name}", **style)
        alarm = int(streams["alarm"][place])
        height = np.interp(alarm, x, y)
        ax.plot([alarm], [height], "o", color=style["color"], markersize=5, zorder=5, label="_alarm")
        beside.append((float(y[-1]), name, style["color"]))
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


def _draw_stream(watch: Monitored, stream: int, ax: Axes | None, label: str | None) -> Axes:
    """Draw the value of one stream by period, with the alarm and the estimated change.

    Dots are periods, and circles periods that are not mature. The line is the value of the last seven periods of the
    stream together. The default title is the model, the measure and the labels of the keys.
    """
    size = len(watch)
    if isinstance(stream, bool) or not isinstance(stream, int | np.integer) or not 0 <= stream < size:
        raise InputValueError(f"must be the row of a stream, from 0 to {size - 1}", argument="stream", got=stream)
    ax = new_axes(ax, size=(4.2, 2.8))
    own, later = of_stream(watch.numbers(), stream), watch.immature()
    waiting = None if later is None else of_stream(later, stream)
    alarmed = watch.streams["alarm"][stream] != NEVER
    claim = watch.options.rules.questions[int(watch.streams["asked"][stream])].claim
    claim = float(watch.value[stream]) if claim is None else claim
    _frame(ax, watch.times if waiting is None else [*watch.times, *watch.waiting], watch.options.noun)
    is_pair = watch.against[stream] is not None
    ax.set_ylabel("Mean difference of losses" if is_pair else _capital(measure_name(watch, stream)))
    ax.axhline(claim, color=GREY["text"], linewidth=1.0, linestyle=DASHES[1], zorder=1.5, label="_ideal")
    window = WINDOW if watch.streams.bets is None else max(WINDOW, len(own.n) // 20)
    x, value, line = own.period, own.value, rolling(own, window)
    kept = _thinned(np.arange(len(x)))
    ax.plot(
        x[kept],
        value[kept],
        "o",
        color=GREY["line"],
        markersize=2.2,
        alpha=0.55,
        markeredgewidth=0,
        zorder=2,
        label="_days",
    )
    color = COLORS[1] if alarmed else COLORS[0]
    ax.plot(x[kept], line[kept], color=color, linewidth=1.6, zorder=3, label="_last seven days", **dot(len(x)))
    ends = line
    if waiting is not None:
        _draw_waiting(ax, waiting.period, waiting.value)
        ends = np.concatenate([line, waiting.value])
    _limit(ax, value, ends, claim)
    if alarmed:
        _mark_change(ax, watch, stream)
    write_title(ax, "\n".join(textwrap.wrap(_name(watch, stream), LONGEST_ROW)) if label is None else label)
    return ax


def of_stream(chunk: Chunk, stream: int) -> Chunk:
    """Return the numbers of one stream."""
    rows = chunk.stream == stream
    return Chunk(*(column[rows] for column in chunk))


def rolling(chunk: Chunk, window: int = WINDOW) -> Floats:
    """Return the value of the last periods of one stream together, at each of them."""
    above, below = (np.cumsum(np.append(0.0, part)) for part in (chunk.total, chunk.exposure))
    end = np.arange(1, len(chunk.n) + 1)
    start = np.maximum(end - window, 0)
    sums = below[end] - below[start]
    return np.divide(above[end] - above[start], sums, out=np.full(len(end), np.nan), where=sums > 0.0)


def _draw_waiting(ax: Axes, x: NDArray[np.int64], value: Floats) -> None:
    """Draw periods that are not mature as circles."""
    ax.plot(x, value, "o", markersize=2.8, markeredgewidth=0.7, **HOLLOW, zorder=2, label="_not mature")


def _mark_change(ax: Axes, watch: Monitored, stream: int) -> None:
    """Shade the periods from the estimated change to the alarm, and name both."""
    since, alarm = (int(watch.streams[name][stream]) for name in ("since", "alarm"))
    direction = DIRECTIONS[int(watch.streams["direction"][stream])]
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


def _limit(ax: Axes, value: Floats, line: Floats, ideal: float) -> None:
    """Show the line and most of the periods."""
    known = np.concatenate([value[np.isfinite(value)], [ideal]])
    ends = np.quantile(known, [0.02, 0.98]).tolist() + line[np.isfinite(line)].tolist() + [ideal]
    low, high = min(ends), max(ends)
    room = 0.08 * (high - low) or 0.1
    ax.set_ylim(low - room, high + 2.5 * room)


def _frame(ax: Axes, times: Sequence[Any], name: str) -> None:
    ax.set(xlim=(-0.5, max(len(times) - 0.5, 0.5)), xlabel=drawable(_capital(name)))
    if all(isinstance(label, int | float) for label in times):
        ticks = [tick for tick in MaxNLocator(5).tick_values(times[0], times[-1]) if times[0] <= tick <= times[-1]]
        ax.set_xticks(np.interp(ticks, times, np.arange(len(times))), [f"{tick:,g}" for tick in ticks])
    else:
        ax.xaxis.set_major_locator(MaxNLocator(3 if len(str(times[-1])) > LONG else 5, integer=True))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda place, _: _label(times, place)))
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=SMALL, length=3)


def _label(times: Sequence[Any], place: float) -> str:
    at = round(place)
    return drawable(times[at]) if 0 <= at < len(times) else ""


def _capital(name: str) -> str:
    return name[:1].upper() + name[1:]


def _name(watch: Monitored, place: int) -> str:
    stream, keys = watch.streams.names[place], stream_name(watch, place)
    model = stream.model if stream.against is None else f"{stream.model} - {stream.against}"
    parts = [model] if len(watch.options.models) > 1 or not keys else []
    parts += [] if stream.measure == next(iter(NAMES)) or stream.against is not None else [measure_name(watch, place)]
    return ", ".join([*parts, *([keys] if keys else [])])


def draw_volume(watch: Monitored, totals: dict[str, dict[str, Floats]], figure: Figure) -> None:
    """Draw the number of cases, the event rate and the mean forecast of each model on a figure, by period."""
    left, right = figure.subplots(1, 2)
    first = next(iter(totals.values()))
    x, mature = np.arange(len(first["n"])), len(watch.times)
    for ax in (left, right):
        _frame(ax, [*watch.times, *watch.waiting][: len(x)], watch.options.noun)
    left.fill_between(x[:mature], first["n"][:mature], color=GREY["band"], linewidth=0, step="mid")
    left.plot(x[:mature], first["n"][:mature], color=GREY["text"], linewidth=1.0, drawstyle="steps-mid", label="_cases")
    left.set(ylabel="Cases", ylim=(0, 1.1 * max(float(first["n"].max()), 1.0)))
    right.plot(
        x[:mature],
        first["event_rate"][:mature],
        "o",
        color=GREY["line"],
        markersize=2.2,
        markeredgewidth=0,
        label="_events",
    )
    if len(x) > mature:
        _draw_waiting(left, x[mature:], first["n"][mature:])
        _draw_waiting(right, x[mature:], first["event_rate"][mature:])
    short = drawable_names(totals)
    for number, (name, one) in enumerate(totals.items()):
        right.plot(
            x[:mature], one["mean_forecast"][:mature], linewidth=1.6, label=short[name], **line_style(number, mature)
        )
    right.set(ylabel="Event rate (dots), mean forecast")
    right.set_ylim(bottom=0)
    right.yaxis.set_major_formatter(Percent())
    right.legend(loc="lower left", **LEGEND)


def _thinned(rows: NDArray[Any]) -> NDArray[Any]:
    """Return the rows to draw: all, or evenly spaced ones."""
    if len(rows) <= POINTS:
        return rows
    thin: NDArray[Any] = rows[np.linspace(0, len(rows) - 1, POINTS).astype(np.intp)]
    return thin


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
