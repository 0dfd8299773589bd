"""Decision curves with bands, the probability that a strategy is best, and the value of more information."""

from __future__ import annotations

from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from propriety import checks
from propriety.inference.decision_uncertainty import ALL, NONE, DecisionUncertainty
from propriety.number_words import percent
from propriety.plots.drawable_names import drawable_names
from propriety.plots.drawing import (
    DASHES,
    GREY,
    LEGEND,
    draw,
    draw_band,
    line_style,
    new_axes,
    open_frame,
    write_title,
)
from propriety.plots.threshold_axis import draw_threshold_axis

KINDS = ("curve", "gain", "best", "value")


@draw.register
def _(
    found: DecisionUncertainty,
    ax: Axes | None = None,
    *,
    kind: Literal["curve", "gain", "best", "value"] = "curve",
    label: str = "",
) -> Axes:
    """Draw net benefits, gains over the reference, the probability of being best, or the value of information.

    Dark bands hold at each threshold by itself, light ones at all thresholds together.
    """
    checks.choice(kind, "kind", KINDS)
    ax = new_axes(ax, size=(5.2, 3.9))
    grid = found.threshold[found.of(found.strategies[0])]
    draw_threshold_axis(ax, None, widest=float(grid[-1]) if len(grid) > 1 else 1.0)
    if kind == "value":
        _draw_value(found, ax, grid)
    else:
        _draw_strategies(found, ax, kind)
    if len(grid) > 1:
        ax.set_xlim(grid[0], grid[-1])
    handles = ax.get_legend_handles_labels()[0]
    if kind in ("curve", "gain"):
        handles += [
            Patch(
                color=GREY["line"], alpha=0.45, linewidth=0, label=f"{percent(found.level)} limits at each threshold"
            ),
            Patch(color=GREY["line"], alpha=0.2, linewidth=0, label="at all thresholds together"),
        ]
    ax.legend(handles=handles, **LEGEND)
    open_frame(ax)
    write_title(ax, label)
    return ax


def _draw_strategies(found: DecisionUncertainty, ax: Axes, kind: str) -> None:
    short = drawable_names(found.strategies)
    for place, strategy in enumerate(found.strategies):
        own = found.of(strategy)
        default = strategy in (ALL, NONE)
        x = found.threshold[own]
        style = line_style(place, len(x)) | {"linewidth": 1.6, "label": short[strategy]}
        if default:
            style |= {"color": GREY["line"], "linestyle": DASHES[1 if strategy == ALL else 3]}
        if kind == "best":
            ax.plot(x, found.probability_best[own], **style)
            continue
        if kind == "gain" and (default or not found.gain[own].any()):
            continue
        name = {"curve": "net_benefit", "gain": "gain"}[kind]
        start = "" if kind == "curve" else "gain_"
        ax.plot(x, getattr(found, name)[own], zorder=3, **style)
        if default:
            continue
        for limits, strength in (("band_", 0.10), ("", 0.18)):
            low, high = (getattr(found, f"{start}{limits}{end}")[own] for end in ("low", "high"))
            draw_band(ax, x, low, high, color=style["color"], alpha=strength, linewidth=0)
    if kind == "best":
        ax.set(ylim=(-0.02, 1.02), ylabel="Probability of the highest net benefit")
    elif kind == "gain":
        ax.axhline(0.0, color=GREY["line"], linewidth=1, zorder=1)
        bottom, top = ax.get_ylim()
        ax.set_ylim(bottom, top + 0.3 * (top - bottom))  # Room for the legend.
        ax.set_ylabel(f"Gain in net benefit over {short.get(found.reference, found.reference)}")
    else:
        models = np.isin(found.strategy, [one for one in found.strategies if one not in (ALL, NONE)])
        drawn = np.stack([found.net_benefit, found.band_low, found.band_high])[:, models]
        least, top = min(float(np.nanmin(drawn)), 0.0), float(np.nanmax(drawn))
        ax.set_ylim(least - 0.08 * (top - least), top + 0.2 * (top - least))
        ax.set_ylabel("Net benefit")


def _draw_value(found: DecisionUncertainty, ax: Axes, grid: np.ndarray) -> None:
    rows = found.of(found.strategies[0])
    ax.plot(grid, found.evpi[rows], **line_style(0, len(grid)), linewidth=1.6, label="perfect information (EVPI)")
    if found.more_cases is not None:
        name = f"{found.more_cases:,} more cases (EVSI)"
        ax.plot(grid, found.evsi[rows], **line_style(1, len(grid)), linewidth=1.6, label=name)
    ax.set_ylim(bottom=0.0)
    ax.set_ylabel("Net true positives per 1,000 cases")
