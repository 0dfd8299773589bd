"""The drawer of each kind of result, found by its type, and the look that all share."""

from __future__ import annotations

from functools import singledispatch
from typing import Any, Literal

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from propriety.result import Result

__all__ = [
    "COLORS",
    "DASHES",
    "GREY",
    "LEGEND",
    "SMALL",
    "Percent",
    "capitalized",
    "draw",
    "new_axes",
    "on_white",
    "percent",
    "shown",
    "write_note",
    "write_title",
]

# Okabe and Ito's colours, told apart by colour-blind readers; dashes tell the lines apart in grey.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("-", (0, (5, 2)), (0, (6, 2, 1.5, 2)), (0, (1.5, 1.5)), (0, (8, 2, 1.5, 2, 1.5, 2)), (0, (3, 1)), "-")
GREY = {"line": "0.55", "band": "0.86", "bars": "0.60", "isoline": "0.80", "text": "0.25"}
SMALL = 8.5
LEGEND: dict[str, Any] = {"fontsize": SMALL, "frameon": False, "handlelength": 2.6}


@singledispatch
def draw(result: Result, ax: Axes | None = None, **options: Any) -> Axes:
    """Draw a result on axes; each kind of result registers its own drawer.

    It is what ``result.plot()`` calls.

    Parameters
    ----------
    result : Result
        What is drawn.
    ax : Axes, optional
        Where to draw, by default on new axes.
    **options
        Those of the drawer of this kind of result, such as `label`.

    Returns
    -------
    Axes
        The axes drawn on.

    Examples
    --------
    >>> import propriety as pr
    >>> curve = pr.reliability_curve([0, 1, 0, 1], [0.1, 0.6, 0.4, 0.8])
    >>> pr.plots.draw(curve, label="triage").get_title(loc="left")
    'triage'
    """
    del ax, options
    message = f"There is no picture of a {type(result).__name__} yet. Hint: look at its .to_frame()."
    raise NotImplementedError(message)


def new_axes(ax: Axes | None, *, size: tuple[float, float] = (4.2, 4.2)) -> Axes:
    """Return the caller's axes, or new ones of a size that suits a column."""
    return plt.subplots(figsize=size, layout="constrained")[1] if ax is None else ax


def on_white() -> dict[str, Any]:
    """Return the box that keeps text readable where it stands over lines."""
    return {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1.5}


def write_note(ax: Axes, text: str, *, side: Literal["left", "right"]) -> None:
    """Write a few lines into an upper corner."""
    ax.text(
        0.03 if side == "left" else 0.98,
        0.97,
        text,
        transform=ax.transAxes,
        ha=side,
        va="top",
        fontsize=SMALL,
        color=GREY["text"],
        bbox=on_white(),
        zorder=4,
        linespacing=1.35,
    )


def shown(value: float) -> str:
    """Write a score in three places, or more where it is small."""
    if not np.isfinite(value):
        return "∞" if value > 0 else str(value)
    places = 3 if abs(value) >= 0.01 or value == 0 else min(2 - int(np.floor(np.log10(abs(value)))), 7)
    return f"{value:.{places}f}"


def capitalized(label: str) -> str:
    """Return a label as the beginning of a line.

    Examples
    --------
    >>> capitalized("area under the ROC curve")
    'Area under the ROC curve'
    """
    return f"{label[:1].upper()}{label[1:]}"


class Percent(FuncFormatter):
    """Ticks as percentages."""

    def __init__(self) -> None:
        super().__init__(lambda value, _: percent(value))


def percent(value: float) -> str:
    """Write a threshold as a percentage, with as many digits as it has."""
    return f"{100 * value:g}%"


def write_title(ax: Axes, label: str, *, pad: float | None = None) -> None:
    """Write the name of a model, if it has one, above the axes: so many points above, or as Matplotlib is set."""
    if label:
        ax.set_title(label, fontsize=10, loc="left", pad=pad)
