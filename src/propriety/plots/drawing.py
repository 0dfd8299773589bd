"""The drawing function of each type of result, and the style that all share."""

from __future__ import annotations

from functools import singledispatch
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import FuncFormatter

from propriety.result import Result

__all__ = [
    "COLORS",
    "DASHES",
    "GREY",
    "LEGEND",
    "SMALL",
    "Percent",
    "draw",
    "new_axes",
    "new_figure",
    "on_white",
    "percent",
    "shown",
    "write_note",
    "write_title",
]

# Okabe and Ito's colours, which colour-blind readers can distinguish; dashes distinguish the lines in grey.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("-", (0, (5, 2)), (0, (6, 2, 1.5, 2)), (0, (1.5, 1.5)), (0, (8, 2, 1.5, 2, 1.5, 2)), (0, (3, 1)), "-")
GREY = {"line": "0.55", "band": "0.86", "bars": "0.60", "isoline": "0.80", "text": "0.25"}
SMALL = 8.5
LEGEND: dict[str, Any] = {"fontsize": SMALL, "frameon": False, "handlelength": 2.6}


@singledispatch
def draw(result: Result, ax: Axes | None = None, **options: Any) -> Axes:
    """Draw a result on axes; each type of result registers its own function.

    ``result.plot()`` calls it.

    Parameters
    ----------
    result : Result
        The result to draw.
    ax : Axes, optional
        Axes to draw on; new axes by default.
    **options
        Options of this type of result, such as `label`.

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
    message = f"A {type(result).__name__} cannot be drawn. Hint: use its .to_frame()."
    raise NotImplementedError(message)


def new_axes(ax: Axes | None, *, size: tuple[float, float] = (4.2, 4.2)) -> Axes:
    """Return the given axes, or new ones."""
    return new_figure(size).subplots() if ax is None else ax


def new_figure(size: tuple[float, float]) -> Figure:
    """Return a new figure that pyplot manages, so that notebooks show it and `plt.show()` opens it."""
    from matplotlib import pyplot as plt  # Imported here, because reports do not need it and it is slow to import.

    return plt.figure(figsize=size, layout="constrained")


def on_white() -> dict[str, Any]:
    """Return the style of a box that keeps text readable over lines."""
    return {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1.5}


def write_note(ax: Axes, text: str, *, side: Literal["left", "right"]) -> Text:
    """Write a few lines into an upper corner."""
    return ax.text(
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
    """Write a score with three decimals, or more if it is small."""
    if not np.isfinite(value):
        return "∞" if value > 0 else str(value)
    places = 3 if abs(value) >= 0.01 or value == 0 else min(2 - int(np.floor(np.log10(abs(value)))), 7)
    return f"{value:.{places}f}"


class Percent(FuncFormatter):
    """Ticks as percentages."""

    def __init__(self) -> None:
        super().__init__(lambda value, _: percent(value))


def percent(value: float) -> str:
    """Write a threshold as a percentage, with all of its digits."""
    return f"{100 * value:g}%"


def write_title(ax: Axes, label: str, *, pad: float | None = None) -> None:
    """Write a title, if there is one, above the axes; `pad` is its distance in points."""
    if label:
        ax.set_title(label, fontsize=10, loc="left", pad=pad)
