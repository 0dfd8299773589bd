"""The events that forecasts are about: a binary event, each class, each cut point of ordered classes, the top class."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from propriety import checks
from propriety.errors import InputValueError

CUMULATIVE_DECIMALS = 12  # Forecasts of cut points are rounded, because rounding noise would split ties.


class Event(NamedTuple):
    """What a forecast table is about.

    Parameters
    ----------
    kind : {"event", "class", "cut", "top"}
        "event" is the binary event, "class" is "y is this class", and "cut" is "y is at most this class". "top" is
        "y is the class with the highest probability"; of equal probabilities, the first class counts. Its forecast is
        that probability, and the event depends on the model.
    place : int
        Index of the class among the labels; 0 if the event is of no single class.
    """

    kind: Literal["event", "class", "cut", "top"]
    place: int = 0


TOP = Event("top")


def events_of(classes: int | None, *, ordered: bool = False) -> tuple[Event, ...]:
    """Return the events of K classes, or the binary event for None; for ordered classes the cut points come first.

    The last event of classes is that of the top class.

    Examples
    --------
    >>> events_of(None)
    (Event(kind='event', place=0),)
    >>> [(event.kind, event.place) for event in events_of(3, ordered=True)]
    [('cut', 0), ('cut', 1), ('class', 0), ('class', 1), ('class', 2), ('top', 0)]
    """
    if classes is None:
        return (Event("event"),)
    cuts = tuple(Event("cut", place) for place in range(classes - 1)) if ordered else ()
    return (*cuts, *(Event("class", place) for place in range(classes)), TOP)


def event_of(label: Any, labels: tuple[Any, ...] | None, *, ordered: bool) -> Event:
    """Return the event that a label stands for: its class, or for ordered classes the cut point "at most this class".

    Examples
    --------
    >>> event_of("b", ("a", "b", "c"), ordered=True)
    Event(kind='cut', place=1)
    """
    if labels is None:
        if label is not None:
            raise InputValueError(f"the forecasts are of one event, so no event can be chosen; got event={label!r}")
        return Event("event")
    known = labels[:-1] if ordered else labels
    checks.choice(label, "event", known)
    return Event("cut" if ordered else "class", labels.index(label))
