"""Names of what is drawn: the model of a line, patch or text, and the quantity of an axis, apart from their labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.legend import Legend

from propriety.inference.comparison_words import merit_in_words
from propriety.inference.measures.measure import Measure
from propriety.number_words import capitalized
from propriety.plots.drawable_names import plain

_NAMES: WeakKeyDictionary[Artist, str] = WeakKeyDictionary()


def set_name(name: str, *artists: Artist) -> None:
    """Name artists after the model that they show.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> (line,) = Figure().subplots().plot([0, 1], [0, 1], label="triage  (AUC 0.8)")
    >>> set_name("triage", line)
    >>> name_of(line)
    'triage'
    """
    for artist in artists:
        _NAMES[artist] = name


def name_of(artist: Artist) -> str | None:
    """Return the name of an artist, if it has one."""
    return _NAMES.get(artist)


def label_axis(axis: Axis, name: str, more: str = "") -> None:
    """Name an axis after its quantity, and write the name and what follows it next to the axis.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = Figure().subplots()
    >>> label_axis(ax.yaxis, "Net benefit", " (true positives per case)")
    >>> name_of(ax.yaxis), ax.get_ylabel()
    ('Net benefit', 'Net benefit (true positives per case)')
    """
    axis.set_label_text(plain(name + more))
    set_name(name, axis)


def measure_and_merit(measure: Measure, more: str = "") -> str:
    """Return the label of an axis with a measure: its name, `more`, and which values are good, if that is defined.

    Examples
    --------
    >>> from propriety.inference.measures.of_means import MeanScore
    >>> measure_and_merit(MeanScore(), ", 95% confidence interval")
    'Brier score, 95% confidence interval (lower is better)'
    """
    merit = merit_in_words(measure)
    return plain(f"{capitalized(measure.label)}{more}" + (f" ({merit})" if merit else ""))


def write_legend(
    ax: Axes, handles: Sequence[Any] | None = None, labels: Sequence[str] | None = None, **style: Any
) -> Legend:
    """Write a legend whose entries have the names of what they stand for; by default one for each labelled artist."""
    shown = ax.get_legend_handles_labels()[0] if handles is None else handles
    texts = [str(one.get_label()) for one in shown] if labels is None else labels
    legend = ax.legend(shown, texts, **style)
    for artist, handle, text in zip(shown, legend.legend_handles, legend.get_texts(), strict=True):
        name = name_of(artist)
        if name is not None:
            set_name(name, text, *([] if handle is None else [handle]))
    return legend
