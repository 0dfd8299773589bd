"""Discrimination against miscalibration, for several models."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.text import Annotation
from matplotlib.transforms import Bbox

from propriety.calibration.decomposition import Decomposition
from propriety.errors import InputValueError
from propriety.plots.drawable_names import drawable_names
from propriety.plots.drawing import GREY, SMALL, draw, marker_style, new_axes, on_white, open_frame, shown
from propriety.plots.names import label_axis, set_name
from propriety.plots.shared_references import check_any, check_same
from propriety.result import Floats

LONGEST = 26  # Each name is written beside its marker, followed by its score.
# Possible places of a label next to its marker: alignment, and offset in points to the right and up.
SIDES: tuple[tuple[Literal["left", "center", "right"], Literal["bottom", "top"], float, float], ...] = (
    ("left", "bottom", 7, 3),
    ("center", "bottom", 0, 8),
    ("left", "top", 7, -3),
    ("center", "top", 0, -8),
    ("right", "bottom", -7, 3),
    ("right", "top", -7, -3),
)


@draw.register
def _(parts: Decomposition, ax: Axes | None = None, *, label: str = "forecast") -> Axes:
    return plot_decompositions({label: parts}, ax)


def plot_decompositions(decompositions: Mapping[str, Decomposition], ax: Axes | None = None) -> Axes:
    """Draw each model at its miscalibration and discrimination, over lines of equal score.

    Models further up discriminate better, models further left are better calibrated, and the score is lowest in the
    upper left. The line through the origin is the score of the constant forecast.

    Parameters
    ----------
    decompositions : mapping of str to Decomposition
        By name of the model; all must be of the same rule and the same cases.
    ax : Axes, optional
        Axes to draw on; new axes by default.

    Returns
    -------
    Axes
        The axes drawn on.

    Examples
    --------
    >>> import propriety as pr
    >>> y = [0, 1, 0, 1]
    >>> parts = {"a": pr.decompose(y, [0.1, 0.6, 0.4, 0.8]), "b": pr.decompose(y, [0.3, 0.4, 0.5, 0.9])}
    >>> ax = pr.plots.plot_decompositions(parts)
    >>> ax.get_xlabel()
    'Miscalibration (MCB, lower is better)'
    """
    check_any(decompositions, "decompositions")
    check_same(decompositions, "rule", lambda parts: str(parts.rule), "decompositions")
    check_same(decompositions, "uncertainty", lambda parts: parts.uncertainty, "decompositions")
    finite = {name: parts for name, parts in decompositions.items() if np.isfinite(parts.miscalibration)}
    if not finite:
        raise InputValueError("at least one model must have a finite score with known parts; there is none")
    ax = new_axes(ax)
    right = 1.25 * max([1e-6, *(parts.miscalibration for parts in finite.values())])
    top = 1.2 * max([1e-6, *(parts.discrimination for parts in finite.values())])
    uncertainty = next(iter(finite.values())).uncertainty
    starts = _nice_steps(-right, top)
    # With so many decimals, no two lines have the same number.
    places = max(3, -math.floor(math.log10(starts[1] - starts[0]) + 1e-9))
    levels = {start: shown(uncertainty - start, least=places) for start in starts.tolist()}
    scores = _draw_isolines(ax, right, top, levels)
    ax.set(xlim=(0, right), ylim=(0, top))
    label_axis(ax.xaxis, "Miscalibration", " (MCB, lower is better)")
    label_axis(ax.yaxis, "Discrimination", " (DSC, higher is better)")
    open_frame(ax)
    ax.locator_params(axis="both", nbins=5)
    ax.figure.figure.draw_without_rendering()  # The layout determines the positions of points and labels.
    points = ax.transData.transform([(parts.miscalibration, parts.discrimination) for parts in finite.values()])
    taken = [Bbox.from_bounds(x - 6, y - 6, 12, 12) for x, y in points]
    taken += [score.get_window_extent() for score in scores]
    short = drawable_names(decompositions, longest=LONGEST)
    for name, parts in finite.items():
        style = marker_style(list(decompositions).index(name)) | {"linestyle": ""}
        place = (parts.miscalibration, parts.discrimination)
        drawn = ax.plot(*place, markersize=7, label=short[name], zorder=3, clip_on=False, **style)
        label = _label(ax, f"{short[name]}  {shown(parts.score, least=places)}", place, style["color"], taken)
        set_name(name, label, *drawn)
        taken.append(label.get_window_extent())
        for score in scores:  # Where there is no free place, the name of a model matters more.
            score.set_visible(score.get_visible() and not score.get_window_extent().overlaps(taken[-1]))
    note = f"lines of equal score, UNC {shown(uncertainty, least=places)}"
    absent = {name: parts for name, parts in decompositions.items() if name not in finite}
    for why, is_so in (("infinite", np.isinf), ("parts unknown", np.isfinite)):
        named = ", ".join(short[name] for name, parts in absent.items() if is_so(parts.score))
        note += f"\nnot shown, {why}: {named}" if named else ""
    # Above the axes, because a model may be anywhere inside them.
    ax.text(1.0, 1.01, note, transform=ax.transAxes, ha="right", va="bottom", fontsize=SMALL, color=GREY["text"])
    return ax


def _label(ax: Axes, text: str, place: tuple[float, float], color: str, taken: list[Bbox]) -> Annotation:
    """Write a label next to its point, on the side with the fewest overlaps, within the axes if possible."""
    inside = ax.get_window_extent()
    shared: dict[str, Any] = {"textcoords": "offset points", "fontsize": SMALL, "color": color, "zorder": 3.1}
    best, fewest = SIDES[0], math.inf
    for side in SIDES:
        across, along, right, up = side
        label = ax.annotate(text, place, xytext=(right, up), ha=across, va=along, **shared)
        box = label.get_window_extent()
        label.remove()
        outside = not (inside.x0 <= box.x0 and box.x1 <= inside.x1 and inside.y0 <= box.y0)
        covered = sum(box.overlaps(other) for other in taken) + 2 * outside
        if covered < fewest:
            best, fewest = side, covered
    across, along, right, up = best
    return ax.annotate(text, place, xytext=(right, up), ha=across, va=along, **shared)


def _draw_isolines(ax: Axes, right: float, top: float, scores: Mapping[float, str]) -> list[Annotation]:
    """Draw lines of equal score, DSC = MCB + UNC - score, by their starts at MCB = 0; return their labels."""
    written = []
    for start, score in scores.items():
        x = np.array([0.0, right])
        constant = abs(start) < 1e-12
        ax.plot(
            x, x + start, color=GREY["line"] if constant else GREY["isoline"], linewidth=0.9, zorder=1, label="_isoline"
        )
        end = (right, right + start) if right + start <= top else (top - start, top)
        if 0.1 * right < end[0] and 0.1 * top < end[1]:
            label = ax.annotate(
                score,
                end,
                xytext=(-2, -2),
                textcoords="offset points",
                ha="right",
                va="top",
                fontsize=SMALL - 1.5,
                color=GREY["line"],
                bbox=on_white(),
                zorder=1.1,
            )
            written.append(label)
    return written


def _nice_steps(low: float, high: float) -> Floats:
    about = (high - low) / 8
    unit = 10 ** np.floor(np.log10(about))
    step = unit * next(factor for factor in (1, 2, 5, 10) if factor * unit >= 0.7 * about)
    return np.arange(np.ceil(low / step), np.floor(high / step) + 1) * step
