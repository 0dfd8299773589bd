"""A page of figures of an evaluation: reliability, decisions, and the decomposition of scores."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from propriety.plots.decomposition import plot_decompositions
from propriety.plots.drawable_names import drawable_names
from propriety.plots.drawing import new_figure
from propriety.plots.reliability import plot_curves, plot_grid
from propriety.plots.threshold_curves import plot_threshold_curves

if TYPE_CHECKING:
    from propriety.evaluation.evaluation import Evaluation


def plot_evaluation(evaluation: Evaluation, figure: Figure | None = None) -> Figure:
    """Draw the page: reliability, decisions, Murphy diagram and decomposition for an event, or reliability by class.

    Parameters
    ----------
    evaluation : Evaluation
        The result of `propriety.evaluate`.
    figure : Figure, optional
        Figure to draw on; a new one by default.

    Returns
    -------
    Figure
        The figure drawn on.

    Examples
    --------
    >>> import propriety as pr
    >>> y = [0, 1, 0, 1, 1, 0]
    >>> result = pr.evaluate(y, {"a": [0.1, 0.6, 0.4, 0.8, 0.7, 0.3], "b": [0.3, 0.4, 0.5, 0.9, 0.6, 0.2]}, seed=1)
    >>> len(plot_evaluation(result).axes)
    4
    """
    if evaluation.kind == "binary":
        return _of_an_event(evaluation, figure)
    return _of_classes(evaluation, figure)


def _of_an_event(evaluation: Evaluation, figure: Figure | None) -> Figure:
    figure = new_figure((10.5, 8.6)) if figure is None else figure
    (reliability, decisions), (murphy, parts) = figure.subplots(2, 2)
    plot_curves({model: curves["event"] for model, curves in evaluation.reliability.items()}, reliability)
    plot_threshold_curves(evaluation.decision_curves, decisions)
    plot_threshold_curves(evaluation.murphy_curves, murphy)
    plot_decompositions(evaluation.decompositions, parts)
    titles = ("Reliability", "Net benefit", "Murphy diagram", "Parts of the score")
    for panel, title in zip((reliability, decisions, murphy, parts), titles, strict=True):
        _write_title(panel, title)
    return figure


def _write_title(ax: Axes, title: str) -> None:
    """Write the title of a panel, above its legend if that is above the axes."""
    legend, pad = ax.get_legend(), 6.0
    if legend is not None:
        box = legend.get_window_extent()
        if box.y0 >= ax.get_window_extent().y1:
            pad += box.height * 72.0 / ax.figure.dpi
    ax.set_title(title, loc="left", fontsize=11, pad=pad)


def _of_classes(evaluation: Evaluation, figure: Figure | None) -> Figure:
    found = evaluation.reliability[evaluation.best]
    curves = [(label, found[label]) for label in evaluation.drawn_classes]
    columns = 5 if len(curves) > 8 else 4
    rows = -(-len(curves) // columns)
    panels: dict[str, Callable[[Axes], Any]] = {}
    decompositions = evaluation.decompositions
    if any(math.isfinite(parts.miscalibration) for parts in decompositions.values()):
        panels["Parts of the score"] = partial(plot_decompositions, decompositions)
    if evaluation.comparison is not None:
        panels["Scores and ranks"] = evaluation.comparison.ranks().plot
    height = 4.2 if panels else 0.0
    figure = new_figure((10.5, height + 3.3 * rows)) if figure is None else figure
    below: Any = figure
    if panels:
        above, below = figure.subfigures(2, 1, height_ratios=[height, 3.3 * rows])  # type: ignore[misc]  # an array
        for ax, (title, plot) in zip(above.subplots(1, len(panels), squeeze=False)[0], panels.items(), strict=True):
            plot(ax)
            _write_title(ax, title)
    words = "at most {}" if evaluation.kind == "ordinal" else "{}"
    plot_grid({words.format(label): curve for label, curve in curves}, columns=columns, figure=below)
    title = f"Reliability of {drawable_names(evaluation.models)[evaluation.best]}"
    if len(curves) < len(found):
        what = "cut points" if evaluation.kind == "ordinal" else "classes"
        title += f": the {len(curves)} {what} with the strongest evidence of miscalibration, of {len(found):,}"
    below.suptitle(title, x=0.01, ha="left", fontsize=11)
    return figure
