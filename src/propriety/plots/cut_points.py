"""Figures of ordered outcomes by cut point: reliability, and the contribution of each to the score."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from propriety.calibration.decomposition import Decomposition
from propriety.calibration.reliability import ReliabilityCurve
from propriety.errors import InputValueError
from propriety.plots.drawable_names import drawable_list, drawable_names
from propriety.plots.drawing import GREY, SMALL, color_of, new_figure, shown, varied
from propriety.plots.reliability import plot_grid
from propriety.plots.shared_references import check_same
from propriety.result import Floats

Part: TypeAlias = Literal["miscalibration", "discrimination"]

LABELS: dict[Part, str] = {
    "miscalibration": "Miscalibration (MCB, lower is better)",
    "discrimination": "Discrimination (DSC, higher is better)",
}
SHORT: dict[Part, str] = {"miscalibration": "MCB", "discrimination": "DSC"}
WIDTH = 0.8  # Of the bars of all models at a cut point; cut points are 1 apart.
HATCHES = ("", "////", "....", "xxxx", "\\\\\\\\", "----", "||||")


def plot_cut_point_reliability(
    curves: Mapping[Any, ReliabilityCurve], *, columns: int = 4, size: float = 2.9, figure: Figure | None = None
) -> Figure:
    """Draw the reliability curve of each cut point of an ordered outcome, one panel each.

    Parameters
    ----------
    curves : mapping of label to ReliabilityCurve
        The curve of the event "y is at most this class" for all classes but the last, from `Ledger.tables`. Bands are
        drawn if the curves have them.
    columns : int
        Largest number of panels in a row.
    size : float
        Width and height of a panel, in inches.
    figure : Figure, optional
        Figure to draw on; a new one by default.

    Returns
    -------
    Figure
        The figure drawn on.

    Examples
    --------
    >>> import propriety as pr
    >>> y, rows = [0, 1, 2, 1], [[0.5, 0.4, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7], [0.4, 0.3, 0.3]]
    >>> tables = pr.condense(y, rows, ordered=True).tables()
    >>> figure = plot_cut_point_reliability({label: pr.reliability_curve(table) for label, table in tables.items()})
    >>> [panel.get_title(loc="left") for panel in figure.axes]
    ['at most 0', 'at most 1']
    """
    named = {f"at most {label}": curve for label, curve in curves.items()}
    return plot_grid(named, columns=columns, size=size, figure=figure)


def plot_cut_point_decompositions(
    decompositions: Mapping[str, Decomposition], *, height: float = 3.3, figure: Figure | None = None
) -> Figure:
    """Draw the contribution of each cut point to the miscalibration and discrimination of ranked probability scores.

    The parts of the ranked probability score are the means of those of the cut points. Above a bar of miscalibration is
    its share of the miscalibration of the model. The line above bars of discrimination is the uncertainty at the cut
    point, the maximum of discrimination.

    Parameters
    ----------
    decompositions : mapping of str to Decomposition
        By name of the model, the result of `propriety.decompose` with ``rule=RankedProbability()``.
    height : float
        Height of the figure, in inches.
    figure : Figure, optional
        Figure to draw on; a new one by default.

    Returns
    -------
    Figure
        The figure drawn on.

    Examples
    --------
    >>> import propriety as pr
    >>> y, rows = [0, 1, 2, 1], [[0.5, 0.4, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7], [0.4, 0.3, 0.3]]
    >>> figure = plot_cut_point_decompositions({"model": pr.decompose(y, rows, rule=pr.RankedProbability())})
    >>> [panel.get_ylabel() for panel in figure.axes]
    ['Miscalibration (MCB, lower is better)', 'Discrimination (DSC, higher is better)']
    """
    cut_points = _cut_points(decompositions)
    for label in cut_points:
        uncertainty = {name: (total.parts or {})[label].uncertainty for name, total in decompositions.items()}
        check_same(uncertainty, f"uncertainty at the cut point {label}", float, "decompositions")
    if figure is None:
        width = 0.8 + max(0.36 * len(decompositions), 0.68) * len(cut_points)
        figure = new_figure((2 * width, height))
    panels = figure.subplots(1, 2)
    for panel, part in zip(panels, LABELS, strict=True):
        _draw_bars(panel, decompositions, part)
        panel.set_xticks(np.arange(len(cut_points)), drawable_list(cut_points))
        panel.set(ylabel=LABELS[part], xlabel="Cut point: y is at most")
        panel.spines[["top", "right"]].set_visible(False)
        panel.tick_params(labelsize=SMALL, length=3)
        panel.legend(loc="lower left", bbox_to_anchor=(-0.02, 1.0), fontsize=SMALL, frameon=False, handlelength=1.4)
    return figure


def _cut_points(decompositions: Mapping[str, Decomposition]) -> list[Any]:
    """Return the cut points, which must be the same for all models."""
    named = [list(parts.parts or {}) for parts in decompositions.values()]
    if not named or not named[0] or any(one != named[0] for one in named):
        law = "must have the parts of the same cut points for every model"
        raise InputValueError(law, argument="decompositions", hint="call decompose(y, rows, rule=RankedProbability()).")
    return named[0]


def _draw_bars(ax: Axes, decompositions: Mapping[str, Decomposition], part: Part) -> None:
    """Draw one part of all models, with the bars of a cut point side by side."""
    bar, short = WIDTH / len(decompositions), drawable_names(decompositions)
    for index, (name, total) in enumerate(decompositions.items()):
        events = list((total.parts or {}).values())
        left: Floats = np.arange(len(events), dtype=np.float64) - WIDTH / 2.0 + index * bar
        style: dict[str, Any] = {"color": color_of(index), "hatch": varied(HATCHES, index)}
        ax.bar(
            left,
            [getattr(event, part) for event in events],
            0.94 * bar,
            align="edge",
            edgecolor="white",
            linewidth=0,
            label=f"{short[name]}: {SHORT[part]} {shown(getattr(total, part))}",
            **style,
        )
        if part == "miscalibration":
            _write_shares(ax, events, left + 0.47 * bar, style["color"])
    if part == "discrimination":
        _draw_uncertainty(ax, next(iter(decompositions.values())))
    ax.margins(y=0.1)


def _write_shares(ax: Axes, events: list[Decomposition], middle: Floats, color: str) -> None:
    whole = sum(event.miscalibration for event in events)
    for place, event in zip(middle, events, strict=True):
        text = f"{100 * event.miscalibration / whole:.0f}%" if whole > 0.0 else ""
        ax.annotate(
            text,
            (place, event.miscalibration),
            (0, 2),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize=SMALL - 1,
            color=color,
        )


def _draw_uncertainty(ax: Axes, total: Decomposition) -> None:
    """Draw the uncertainty at each cut point, which depends only on the outcomes."""
    heights = [event.uncertainty for event in (total.parts or {}).values()]
    for place, height in enumerate(heights):
        ends = [place - WIDTH / 2.0, place + WIDTH / 2.0]
        ax.plot(ends, [height, height], color=GREY["text"], linewidth=1.2, zorder=3, label="_uncertainty")
    ax.annotate(
        "UNC",
        (0, heights[0]),
        (0, 2),
        textcoords="offset points",
        ha="center",
        va="bottom",
        fontsize=SMALL - 1,
        color=GREY["text"],
    )
