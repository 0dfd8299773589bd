"""Figures of the page: drawn by Matplotlib without a window, written as SVG, with the values that can be read off."""

from __future__ import annotations

import io
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Canvas
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.transforms import Affine2D

from propriety.plots.drawing import Percent
from propriety.plots.names import name_of
from propriety.report.page import Figure, Width
from propriety.report.svg import MODEL, clean
from propriety.report.thinning import thin_lines

SETTINGS: Any = {
    "svg.fonttype": "none",  # Text stays text: it can be searched and read aloud.
    "svg.hashsalt": "propriety",  # The same picture is the same bytes.
    "text.parse_math": False,  # A name with dollar signs is a name.
    "path.simplify_threshold": 0.5,  # A deviation of half a point is not visible.
    "figure.autolayout": False,  # With these two, layout=None means no layout.
    "figure.constrained_layout.use": False,
}
POINTS = 72  # An inch in SVG.
PAD = 3.0  # Points between the content and the edges of a figure.
START = {"left": 0.13, "right": 0.98, "bottom": 0.14, "top": 0.94}  # The edges of most panels, before their layout.
NO_METADATA: dict[str, Any] = {"Creator": None, "Date": None, "Format": None, "Type": None}
MOST_POINTS = 30  # Points of one line that can be read off.
SCALES = ("linear", "log", "logit")
_IS_DRAWN: ContextVar[bool] = ContextVar("is_drawn", default=True)
_DRAWING = threading.RLock()  # Matplotlib's settings and warning filters are shared by all threads.


def figure_of(  # noqa: PLR0913  (the parts of a figure)
    drawing: Callable[[Any], object],
    *,
    title: str,
    caption: str,
    table: Mapping[str, Any],
    call: str,
    alt: str = "",
    models: Sequence[str] = (),
    size: tuple[float, float] = (4.8, 3.7),
    whole: bool = False,
    width: Width = "half",
    of_models: tuple[str, ...] = (),
    reading: str = "",
    full: Callable[[Any], object] | None = None,
) -> Figure:
    """Draw a figure of the page.

    Parameters
    ----------
    drawing : callable
        Called with the axes to draw on, or with the whole Matplotlib figure if ``whole=True``.
    title, caption, table, call, alt, width, of_models, reading
        As in `Figure`; without `alt` the caption describes the figure.
    models : sequence of str
        The names of the page's models in this figure, in the page's order, so that they can be switched on and off;
        see `propriety.plots.names`.
    size : (width, height)
        In inches; text is about 10 points high.
    full : callable, optional
        Draws the same with axes from 0 to 1, if `drawing` shows only a part.

    Examples
    --------
    >>> import propriety as pr
    >>> curve = pr.decision_curve([0, 1, 0, 1], [0.1, 0.6, 0.4, 0.8])
    >>> figure = figure_of(
    ...     lambda ax: pr.plots.plot_threshold_curves({"a": curve}, ax),
    ...     title="Net benefit",
    ...     caption="Gain from acting on the forecasts.",
    ...     table=curve.columns(),
    ...     call="pr.decision_curve(y_true, y_proba)",
    ...     models=["a"],
    ... )
    >>> figure.points[0]["lines"][0]["name"]
    'a'
    """
    canvas = _drawn(drawing, size, models, whole=whole) if _IS_DRAWN.get() else None
    return Figure(
        title=title,
        caption=caption,
        svg="" if canvas is None else _svg(canvas),
        table=table,
        alt=alt or caption,
        call=call,
        points=() if canvas is None else tuple(_panels(canvas, models)),
        width=width,
        of_models=of_models,
        reading=reading,
        full="" if full is None or canvas is None else _svg(_drawn(full, size, models, whole=whole)),
    )


@contextmanager
def without_pictures() -> Iterator[None]:
    """Let `figure_of` draw nothing, because only the tables of the sections are needed."""
    before = _IS_DRAWN.set(False)
    try:
        yield
    finally:
        _IS_DRAWN.reset(before)


def svg_of(
    drawing: Callable[[Any], object],
    *,
    models: Sequence[str] = (),
    size: tuple[float, float] = (4.8, 3.7),
    whole: bool = False,
) -> str:
    """Draw on new axes and return clean SVG; the arguments are those of `figure_of`.

    Examples
    --------
    >>> svg_of(lambda ax: ax.plot([0, 1], [0, 1]))[:4]
    '<svg'
    """
    return _svg(_drawn(drawing, size, models, whole=whole))


def _drawn(
    drawing: Callable[[Any], object], size: tuple[float, float], models: Sequence[str], *, whole: bool
) -> Canvas:
    """Draw on a new figure that pyplot does not manage."""
    with _quiet():
        canvas = Canvas(figsize=size, layout=None)  # With a layout engine Matplotlib would draw before it writes.
        FigureCanvasAgg(canvas)  # It keeps one renderer, by which all texts are measured.
        drawing(canvas if whole else canvas.subplots(gridspec_kw=START))
        thin_lines(canvas)
        _tag(canvas, models)
        _lay_out(canvas)
    return canvas


def _lay_out(canvas: Canvas) -> None:
    """Let the axes fill the figure; the layout fixes the positions of the points, so it precedes their reading."""
    if len(canvas.axes) > 1:
        ConstrainedLayoutEngine().execute(canvas)
        return
    # For one panel, one measurement of what surrounds it gives nearly the same layout in less than half of the time.
    (ax,) = canvas.axes
    taken = ax.get_tightbbox(for_layout_only=True)
    if taken is None:
        return
    frame = ax.get_position().transformed(canvas.transFigure)  # With the aspect that measuring has applied.
    width, height = canvas.bbox.size
    pad = PAD * canvas.dpi / POINTS
    ax.set_position(
        (
            left := (pad + frame.x0 - taken.x0) / width,
            low := (pad + frame.y0 - taken.y0) / height,
            1.0 - (pad + taken.x1 - frame.x1) / width - left,
            1.0 - (pad + taken.y1 - frame.y1) / height - low,
        )
    )


def _svg(canvas: Canvas) -> str:
    written = io.StringIO()
    with _quiet():
        canvas.savefig(written, format="svg", transparent=True, metadata=NO_METADATA)
    return clean(written.getvalue())


@contextmanager
def _quiet() -> Iterator[None]:
    """Draw with these settings, one thread at a time; browsers have the glyphs that Matplotlib's font lacks."""
    with _DRAWING, mpl.rc_context(SETTINGS), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from")
        yield


def _tag(canvas: Canvas, models: Sequence[str]) -> None:
    """Set the gid of every artist of a model."""
    for artist in canvas.findobj():
        place = _place(artist, models)
        if place is not None:
            artist.set_gid(f"{MODEL}{place}")


def _place(artist: Artist, models: Sequence[str]) -> int | None:
    name = name_of(artist)
    return None if name is None or name not in models else list(models).index(name)


def _panels(canvas: Canvas, models: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield, for each panel with lines that have a name, its axes and the points of these lines."""
    width, height = canvas.get_size_inches() * POINTS
    to_page = Affine2D().scale(POINTS / canvas.dpi).scale(1, -1).translate(0, height)
    for ax in canvas.axes:
        labelled = ax.get_legend_handles_labels()[0]
        lines = [line for line in labelled if isinstance(line, Line2D) and line.get_visible()]
        if not lines or ax.get_xscale() not in SCALES or ax.get_yscale() not in SCALES:
            continue
        # After the scale of each axis, only a linear map remains.
        (left, low), (right, high) = (ax.transLimits + ax.transAxes + to_page).transform([(0, 0), (1, 1)])
        yield {
            "size": [round(float(width), 2), round(float(height), 2)],
            "x": _axis(ax.xaxis, left, right, ax.get_xscale()),
            "y": _axis(ax.yaxis, low, high, ax.get_yscale()),
            "lines": [_line(line, ax, models) for line in lines],
        }


def _axis(axis: Axis, at_zero: float, at_one: float, scale: str) -> dict[str, Any]:
    """Return how a value maps to a position on the page, and how it is labelled."""
    return {
        "at": [round(float(at_zero), 4), round(float(at_one - at_zero), 4)],
        "scale": scale,
        "label": name_of(axis) or axis.get_label_text(),
        "percent": isinstance(axis.get_major_formatter(), Percent),
    }


def _line(line: Line2D, ax: Axes, models: Sequence[str]) -> dict[str, Any]:
    x, y = (np.asarray(values, dtype=np.float64) for values in line.get_data())
    (left, right), (low, high) = sorted(ax.get_xlim()), sorted(ax.get_ylim())
    seen = np.flatnonzero((left <= x) & (x <= right) & (low <= y) & (y <= high))
    some = seen[np.unique(np.linspace(0, len(seen) - 1, min(len(seen), MOST_POINTS)).round().astype(int))]
    return {
        "model": _place(line, models),
        "name": name_of(line) or str(line.get_label()),
        "x": _short(x[some]),
        "y": _short(y[some]),
    }


def _short(values: Any) -> list[float]:
    return [float(f"{value:.5g}") for value in values]
