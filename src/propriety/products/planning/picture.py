"""The width of intervals, or the power of tests, against the number of cases of a study."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from propriety import checks
from propriety.errors import InputValueError
from propriety.number_words import capitalized, percent
from propriety.plots.drawable_names import plain
from propriety.plots.drawing import GREY, LEGEND, SMALL, Percent, color_of, draw, line_style, new_axes, write_title
from propriety.products.planning.plan import Plan

POINTS = 81


@draw.register
def _(plan: Plan, ax: Axes | None = None, *, kind: Literal["width", "power"] | None = None, label: str = "") -> Axes:
    """Draw each criterion against the number of cases, with a dot where it reaches its goal.

    `kind` chooses widths or power if the plan has both; by default that of the criterion that needs the most cases.
    """
    binding = int(np.flatnonzero(plan.criterion == plan.binding)[0])
    kind = plan.kind[binding] if kind is None else kind
    checks.choice(kind, "kind", ("width", "power"))
    rows = np.flatnonzero((plan.kind == kind) & np.isfinite(plan.n))
    if not len(rows):
        raise InputValueError(f"the plan has no criterion of {kind} that can be reached", argument="kind")
    ax = new_axes(ax, size=(5.4, 3.9))
    ax.set_xscale("log")
    ends = plan.n[rows].min() / 5.0, plan.n[rows].max() * 2.5
    grid = np.geomspace(max(ends[0], 10.0), ends[1], POINTS)
    reached = [plan.at(float(n)) for n in grid]
    for place, row in enumerate(rows):
        values = [one[plan.criterion[row]] for one in reached]
        name = plain(f"{capitalized(plan.label[row])}: n = {plan.n[row]:,.0f}")
        ax.plot(grid, values, linewidth=1.6, label=name, **line_style(place))
        ax.plot(plan.n[row], plan.goal[row], "o", color=color_of(place), markersize=6, zorder=4)
    if kind == "power":
        ax.set_ylim(0.0, 1.0 + 0.09 * (len(rows) + 0.3))  # Room for the legend.
        ax.set_yticks(np.linspace(0.0, 1.0, 6))
        ax.yaxis.set_major_formatter(Percent())
        ax.set_ylabel("Power")
    else:
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter(FuncFormatter(lambda width, _: f"{width:g}"))
        ax.yaxis.set_minor_formatter(FuncFormatter(lambda width, _: f"{width:g}" if _leading(width) in (2, 5) else ""))
        ax.set_ylabel(f"Width of the {percent(plan.level)} interval")
    ax.xaxis.set_major_formatter(FuncFormatter(lambda n, _: f"{n:,.0f}"))
    few = ends[1] < 200.0 * ends[0]
    ax.xaxis.set_minor_formatter(FuncFormatter(lambda n, _: f"{n:,.0f}" if few and _leading(n) in (2, 5) else ""))
    ax.vlines(plan.n[rows], ax.get_ylim()[0], plan.goal[rows], color=GREY["isoline"], linewidth=1, zorder=0)
    ax.set_ylim(bottom=ax.get_ylim()[0])
    ax.set_xlabel("Cases (dots: the goal of each criterion is reached)")
    ax.legend(**LEGEND, loc="upper left" if kind == "power" else "upper right")
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=SMALL, length=3, which="both")
    write_title(ax, label)
    return ax


def _leading(value: float) -> int:
    """Return the first digit of a positive number."""
    return round(value / 10.0 ** math.floor(math.log10(value) + 1e-9))
