"""The drawing function of each type of result, and the style that all share."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import Any, Literal, TypeVar

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import FuncFormatter

from propriety.number_words import percent
from propriety.plots.drawable_names import plain
from propriety.result import Floats, Result

# Okabe and Ito's colours, which colour-blind readers can distinguish; dashes distinguish the lines in grey.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = (
    "-",
    (0, (5, 2)),
    (0, (6, 2, 1.5, 2)),
    (0, (1.5, 1.5)),
    (0, (8, 2, 1.5, 2, 1.5, 2)),
    (0, (3, 1)),
    (0, (10, 2, 4, 2)),
)
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
GREY = {"line": "0.55", "band": "0.86", "bars": "0.60", "isoline": "0.80", "text": "0.25"}
SMALL = 8.5
LEGEND: dict[str, Any] = {"fontsize": SMALL, "frameon": False, "handlelength": 2.6}
BAR = 6.0  # Width of a band at a single point.

Choice = TypeVar("Choice")


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
    message = f"{type(result).__name__} has no figure. Hint: use its .to_frame()."
    raise NotImplementedError(message)


def new_axes(ax: Axes | None, *, size: tuple[float, float] = (4.2, 4.2)) -> Axes:
    """Return the given axes, or new ones."""
    return new_figure(size).subplots() if ax is None else ax


def new_figure(size: tuple[float, float]) -> Figure:
    """Return a new figure that pyplot manages, so that notebooks show it and `plt.show()` opens it."""
    from matplotlib import pyplot as plt  # Imported here, because reports do not need it and it is slow to import.

    return plt.figure(figsize=size, layout="constrained")


def color_of(index: int) -> str:
    """Return the colour of a model."""
    return COLORS[index % len(COLORS)]


def varied(choices: Sequence[Choice], index: int) -> Choice:
    """Return the dash, marker or hatch of a model, another one whenever its colour is used again.

    Examples
    --------
    >>> len({(color_of(index), varied(DASHES, index)) for index in range(49)})
    49
    """
    return choices[(index + index // len(COLORS)) % len(choices)]


def line_style(index: int, points: int = 2) -> dict[str, Any]:
    """Return the colour and the dash of the line of a model, and a dot if the line is a single point."""
    return {"color": color_of(index), "linestyle": varied(DASHES, index)} | dot(points)


def dot(points: int) -> dict[str, Any]:
    """Return the marker of a line of so many points: none, or a dot if a single point would not be visible."""
    return {"marker": "o", "markersize": 5} if points == 1 else {}


def marker_style(index: int) -> dict[str, Any]:
    """Return the colour and the marker of a model."""
    return {"color": color_of(index), "marker": varied(MARKERS, index)}


def draw_band(ax: Axes, x: Floats, low: Floats, high: Floats, **style: Any) -> None:
    """Shade the area between limits; at a single point, which has no area, draw a bar."""
    if len(x) == 1:
        ax.vlines(x, low, high, **style | {"linewidth": BAR})
    else:
        ax.fill_between(x, low, high, **style)


def open_frame(ax: Axes) -> None:
    """Leave out the upper and right side of the frame, and make the ticks small."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=SMALL, length=3)


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


def shown(value: float, *, least: int = 3) -> str:
    """Write a score with `least` decimals, or more if it is small."""
    if not np.isfinite(value):
        return "∞" if value > 0 else str(value)
    places = 3 if abs(value) >= 0.01 or value == 0 else min(2 - int(np.floor(np.log10(abs(value)))), 7)
    return f"{value:.{max(places, least)}f}"


class Percent(FuncFormatter):
    """Ticks as percentages."""

    def __init__(self) -> None:
        super().__init__(lambda value, _: percent(value, 6))


def write_infinity(ax: Axes, row: float, *, below: bool = False, color: str = "black") -> None:
    """Write at the end of a row that its value is infinite, or with `below` minus infinite."""
    at, align, text = (0.015, "left", "← \N{MINUS SIGN}∞") if below else (0.985, "right", "∞ →")
    beside = ax.get_yaxis_transform()
    ax.text(at, row, text, transform=beside, ha=align, va="center", fontsize=SMALL + 1, color=color)


def write_title(ax: Axes, label: str, *, pad: float | None = None) -> None:
    """Write a title, if there is one, above the axes; `pad` is its distance in points."""
    if label:
        ax.set_title(plain(label), fontsize=10, loc="left", pad=pad)
