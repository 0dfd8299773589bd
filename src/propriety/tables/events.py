"""The events that forecasts are about: the one of a binary outcome, each class, each cut point of ordered classes."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from propriety.errors import InputValueError

__all__ = ["CUMULATIVE_DECIMALS", "Event", "event_of", "events_of"]

CUMULATIVE_DECIMALS = 12  # Digits of the forecasts of cut points, because the noise of their sums would split ties.


class Event(NamedTuple):
    """What a forecast table is about.

    Parameters
    ----------
    kind : {"event", "class", "cut"}
        The event itself, "y is this class", or "y is at most this class".
    place : int
        Place of the class among the labels.
    """

    kind: Literal["event", "class", "cut"]
    place: int = 0


def events_of(classes: int | None, *, ordered: bool = False) -> tuple[Event, ...]:
    """Return the events of a number of classes, or of one event; of ordered classes the cut points come first.

    Examples
    --------
    >>> events_of(None)
    (Event(kind='event', place=0),)
    >>> [(event.kind, event.place) for event in events_of(3, ordered=True)]
    [('cut', 0), ('cut', 1), ('class', 0), ('class', 1), ('class', 2)]
    """
    if classes is None:
        return (Event("event"),)
    cuts = tuple(Event("cut", place) for place in range(classes - 1)) if ordered else ()
    return (*cuts, *(Event("class", place) for place in range(classes)))


def event_of(label: Any, labels: tuple[Any, ...] | None, *, ordered: bool) -> Event:
    """Return the event that a label stands for: a class, or of ordered classes the cut point "at most this class".

    Examples
    --------
    >>> event_of("b", ("a", "b", "c"), ordered=True)
    Event(kind='cut', place=1)
    """
    if labels is None:
        if label is not None:
            raise InputValueError(f"the forecasts are of one event; got event={label!r}")
        return Event("event")
    known = labels[:-1] if ordered else labels
    if label not in known:
        raise InputValueError(f"must be one of {list(known)}", argument="event", offender=f"got {label!r}")
    return Event("cut" if ordered else "class", labels.index(label))
