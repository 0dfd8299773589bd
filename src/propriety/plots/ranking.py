"""Ranking maps: a triangle of threshold ranges, coloured by the best model and hatched if that may be due to chance."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from matplotlib import colors
from matplotlib.axes import Axes
from matplotlib.patches import Patch, PathPatch, Polygon
from matplotlib.path import Path
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator
from numpy.typing import NDArray
from scipy.special import expit, logit

from propriety.decisions.ranking_map import RankedInterval, RankingMap
from propriety.number_words import percent
from propriety.plots.drawable_names import drawable_names
from propriety.plots.drawing import (
    COLORS,
    GREY,
    SMALL,
    color_of,
    draw,
    new_axes,
    on_white,
    open_frame,
    shown,
    write_title,
)
from propriety.plots.names import set_name, write_legend
from propriety.result import Floats

TIED = "0.9"
HATCHES = ("", "..", "oo", "xx", "++", "**", "--")  # In white, one for each time that the colours are used.
TINT = 0.42  # Share of the winner's colour in hatched regions.
RASTER = 160  # Points along each side of the map, among which a place for a name is sought.
WIDEST = 48  # Letters of a line below the diagonal.
COARSE = (0.0001, 0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999)
FINE = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999)
FEWEST_TICKS, MOST_TICKS = 3, 8


@draw.register
def _(ranking: RankingMap, ax: Axes | None = None, *, label: str = "") -> Axes:
    """Draw the map; a ring marks the range of interest, and `label` is the title."""
    ax = new_axes(ax, size=(5.6, 5.2))
    _frame(ax, ranking)
    winner, noise = _squares(ranking)
    edges = _edges(ranking)
    triangle = Polygon(_triangle(ranking), closed=True, transform=ax.transData)
    for place, name in [*enumerate(ranking.models), (-1, "tied")]:
        for hatched in (False, True):
            region = (winner == place) & (noise == hatched)
            if not region.any():
                continue
            patch = PathPatch(_outline(region, edges), linewidth=0, label=f"{name}, noise" if hatched else name)
            patch.set(**_look(place, hatched=hatched))
            ax.add_patch(patch)
            if place >= 0:
                set_name(name, patch)
            patch.set_clip_path(triangle)
    ax.plot(*_triangle(ranking)[[0, 2]].T, color=GREY["line"], linewidth=0.9, label="_diagonal", zorder=2.5)
    unnamed = _write_names(ax, ranking, winner, edges)
    _write_legend(ax, ranking, unnamed, tied=bool((winner == -1).any()), noisy=bool((noise & (winner >= 0)).any()))
    if ranking.marked is not None:
        _mark(ax, ranking.marked, ranking.models)
    write_title(ax, label)
    return ax


def chance(probability: float) -> str:
    """Write a probability as a number of cases, such as 1 in 20.

    Examples
    --------
    >>> chance(0.05), chance(0.3), chance(0.08), chance(0.999)
    ('1 in 20', '3 in 10', '8 in 100', '999 in 1,000')
    """
    cases, of = odds_of(probability)
    return f"{cases} in {of:,}"


def odds_of(probability: float) -> tuple[int, int]:
    """Return a probability as a number of cases and their total, a power of ten unless it is one case."""
    share = Fraction(f"{probability:.6g}")
    if share.numerator == 1:
        return 1, share.denominator
    of = next(power for power in (10**digits for digits in itertools.count(1)) if (share * power).denominator == 1)
    return int(share * of), of


def _frame(ax: Axes, ranking: RankingMap) -> None:
    low, high = ranking.grid[[0, -1]].tolist()
    if ranking.axis == "log-odds":
        ax.set(xscale="logit", yscale="logit")
    ticks = _ticks(low, high, ranking.axis)
    ax.set(xlim=(low, high), ylim=(low, high), aspect="equal")
    # No range ends at the lowest threshold or begins at the highest; labels there would overlap.
    upper, lower = ([tick for tick in ticks if not np.isclose(tick, end, atol=0.0)] for end in (low, high))
    for axis, name, places in ((ax.xaxis, "Lowest", lower), (ax.yaxis, "Highest", upper)):
        axis.set_major_locator(FixedLocator(places))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(_reading))
        axis.set_label_text(f"{name} threshold at which you would act")
    open_frame(ax)
    ax.margins(0)


def _ticks(low: float, high: float, axis: str) -> list[float]:
    """Return the round probabilities in the range that fit on the axis."""
    even = MaxNLocator(5, steps=[1, 2, 5, 10]).tick_values(low, high)
    choices: list[Sequence[float]] = [even] if axis == "linear" else [FINE, COARSE, even]
    inside = [[tick for tick in choice if low * (1 - 1e-9) <= tick <= high * (1 + 1e-9)] for choice in choices]
    return next((ticks for ticks in inside if FEWEST_TICKS <= len(ticks) <= MOST_TICKS), inside[-1])


def _reading(tick: float, _: object = None) -> str:
    """Write a threshold as a percentage, and below it as a number of cases."""
    return f"{percent(tick, 6)}\n{chance(tick)}" if 0.0 < tick < 1.0 else percent(tick, 6)


def _triangle(ranking: RankingMap) -> Floats:
    low, high = ranking.grid[0], ranking.grid[-1]
    return np.array([(low, low), (low, high), (high, high)])


def _squares(ranking: RankingMap) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return winner (-1 for a tie, -2 below the diagonal) and noise at each pair of thresholds, [high, low].

    The diagonal, where a range has no width, has the values of the narrowest range next to it.
    """
    size = len(ranking.grid)
    place = {name: index for index, name in enumerate(ranking.models)}
    winner, noise = np.full((size, size), -2), np.zeros((size, size), dtype=bool)
    starts, stops = np.searchsorted(ranking.grid, ranking.low), np.searchsorted(ranking.grid, ranking.high)
    numbers = np.array([place[name] for name in ranking.winner.tolist()])
    winner[stops, starts] = np.where(ranking.margin == 0.0, -1, numbers)
    # Without a standard error, noise is not marked.
    noise[stops, starts] = ranking.is_noise & ~np.isnan(ranking.standard_error)
    each = np.arange(size)
    above = np.minimum(each + 1, size - 1)
    for values in (winner, noise):
        values[each, each] = values[above, above - 1]
    return winner, noise


def _edges(ranking: RankingMap) -> Floats:
    """Return the edges of the squares of the thresholds: half way between them, on the scale of the map."""
    grid = ranking.grid if ranking.axis == "linear" else logit(ranking.grid)
    edges = np.concatenate([grid[:1], (grid[:-1] + grid[1:]) / 2, grid[-1:]])
    return edges if ranking.axis == "linear" else np.asarray(expit(edges))


def _outline(region: NDArray[np.bool_], edges: Floats) -> Path:
    """Return the region as one path, a rectangle for each run of squares in a row."""
    paths = []
    for row, cells in enumerate(region):
        steps = np.flatnonzero(np.diff(np.concatenate([[False], cells, [False]]).astype(np.int8)))
        for start, stop in steps.reshape(-1, 2):
            left, right, bottom, top = edges[start], edges[stop], edges[row], edges[row + 1]
            corners = [(left, bottom), (right, bottom), (right, top), (left, top), (left, bottom)]
            paths.append(Path(corners, closed=True))
    return Path.make_compound_path(*paths)


def _look(place: int, *, hatched: bool = False) -> dict[str, Any]:
    """Return the colour and the hatch of the regions of a model, or of ties if its place is negative."""
    if place < 0:
        return {"facecolor": TIED}
    color, hatch = color_of(place), HATCHES[place // len(COLORS) % len(HATCHES)]
    if hatched:
        return {"facecolor": _tint(color), "hatch": f"/////{hatch}", "edgecolor": color}
    return {"facecolor": color} | ({"hatch": hatch, "edgecolor": "white"} if hatch else {})


def _tint(color: str) -> tuple[float, float, float]:
    red, green, blue = (1.0 - TINT * (1.0 - channel) for channel in colors.to_rgb(color))
    return red, green, blue


def _write_names(ax: Axes, ranking: RankingMap, winner: NDArray[np.intp], edges: Floats) -> list[str]:
    """Write each name on its region if it fits; return the names that do not fit."""
    points = ax.transAxes.transform(np.repeat((np.arange(RASTER) + 0.5) / RASTER, 2).reshape(-1, 2))
    x, y = ax.transData.inverted().transform(points).T
    across, along = (np.searchsorted(edges[1:-1], values, side="right") for values in (x, y))
    raster = np.where(x[None, :] < y[:, None], winner[along[:, None], across[None, :]], -2)
    frame, short = ax.get_window_extent(), drawable_names(ranking.models)
    unnamed = []
    for place, name in [*enumerate(ranking.models), (-1, "tied")]:
        region = raster == place
        if not region.any():
            continue
        text = ax.text(0.5, 0.5, short[name] if place >= 0 else name, transform=ax.transAxes, fontsize=SMALL + 0.5)
        text.set(ha="center", va="center", zorder=4, color=GREY["text"], bbox=on_white() | {"alpha": 0.9})
        box = text.get_window_extent()
        spot = _room(region, (box.height + 12) / frame.height, (box.width + 14) / frame.width)
        if spot is None:
            text.remove()
            unnamed.append(name)
        else:
            text.set_position(spot)
            if place >= 0:
                set_name(name, text)
    return unnamed


def _room(region: NDArray[np.bool_], height: float, width: float) -> tuple[float, float] | None:
    """Return the centre of the box within the region that is nearest to the centre of the region."""
    tall, wide = int(np.ceil(height * RASTER)), int(np.ceil(width * RASTER))
    if tall >= RASTER or wide >= RASTER:
        return None
    total = np.zeros((RASTER + 1, RASTER + 1), dtype=np.intp)
    total[1:, 1:] = region.cumsum(axis=0).cumsum(axis=1)
    filled = total[tall:, wide:] - total[:-tall, wide:] - total[tall:, :-wide] + total[:-tall, :-wide]
    rows, columns = np.nonzero(filled == tall * wide)
    if len(rows) == 0:
        return None
    centers = np.stack([columns + wide / 2, rows + tall / 2])
    middle = np.array(np.nonzero(region)[::-1]).mean(axis=1)
    x, y = centers[:, np.abs(centers - middle[:, None]).sum(axis=0).argmin()] / RASTER
    return float(x), float(y)


def _write_legend(ax: Axes, ranking: RankingMap, unnamed: list[str], *, tied: bool, noisy: bool) -> None:
    """Write a legend below the diagonal, where there are no ranges, for what is not labelled on the map."""
    handles = []
    short = drawable_names(ranking.models)
    for name in unnamed:
        if name != "tied":
            handles.append(Patch(**_look(ranking.models.index(name)), linewidth=0, label=short[name]))
            set_name(name, handles[-1])
    if noisy:
        noise = f"hatched: the difference is\nwithin sampling error ({percent(ranking.level)})"
        handles.append(Patch(facecolor="0.92", edgecolor="0.45", hatch="/////", linewidth=0, label=noise))
    if np.isnan(ranking.standard_error).all():
        handles.append(
            Patch(facecolor="none", label="differences may be due to chance:\nno standard error is available")
        )
    if tied:
        handles.append(Patch(facecolor=TIED, label="tied: the best models\nmake the same decisions"))
    if handles:
        title = "Lowest mean regret" if set(unnamed) - {"tied"} else None
        write_legend(
            ax,
            handles,
            title=title,
            title_fontsize=SMALL,
            loc="lower right",
            fontsize=SMALL,
            frameon=False,
            handlelength=1.6,
        )


def _mark(ax: Axes, marked: RankedInterval, models: Sequence[str]) -> None:
    """Mark the range of interest with a ring, and write its result below the diagonal."""
    short = drawable_names(models)
    winner, runner_up = short[marked.winner], short[marked.runner_up]
    if marked.margin == 0.0:
        result = f"{winner} and {runner_up} are tied"
        result = result if len(result) <= WIDEST else f"{winner}\nand {runner_up}\nare tied"
    else:
        # Without a verdict, which needs a test.
        error = "" if math.isnan(marked.standard_error) else f" (SE {shown(marked.standard_error)})"
        result = f"{winner}: regret lower than {runner_up}"
        if len(result) > WIDEST:
            result = f"{winner}:\nregret lower than\n{runner_up}"
        result += f"\nby {shown(marked.margin)}{error}"
    text = f"{percent(marked.low, 6)} to {percent(marked.high, 6)}\n{result}"
    style: dict[str, Any] = {"ha": "right", "va": "top", "fontsize": SMALL, "color": "black", "zorder": 5.2}
    low, high = ax.get_xlim()
    if not (low <= marked.low and marked.high <= high):
        ax.text(0.99, 0.47, f"{text}\n(outside this map)", transform=ax.transAxes, **style)
        return
    place = (marked.low, marked.high)
    for shade, width in (("white", 4.0), ("black", 1.6)):
        ring, *_ = ax.plot(*place, "o", markersize=11, markerfacecolor="none", label="_marked", zorder=5, clip_on=False)
        ring.set(markeredgecolor=shade, markeredgewidth=width)
    height = float(ax.transAxes.inverted().transform(ax.transData.transform(place))[1])
    ax.annotate(
        text,
        place,
        xytext=(0.99, min(max(height - 0.06, 0.4), 0.47)),
        textcoords="axes fraction",
        arrowprops={"arrowstyle": "-", "color": "black", "linewidth": 0.9, "shrinkB": 7, "relpos": (0, 0.6)},
        **style,
    )
