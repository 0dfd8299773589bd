"""The labels of monitored times: their order, and which of them are mature."""

from __future__ import annotations

import datetime as dt
import itertools
import re
from collections.abc import Sequence
from typing import Any

from propriety.errors import InputTypeError, InputValueError
from propriety.inference.day_numbers import EPOCH, LARGEST

DIGITS = re.compile(r"(\d+)")
# Dates that begin with the day or the month, and names of months and days of the week.
UNSORTED = re.compile(
    r"^\d{1,2}[./-]\d{1,2}[./-]\d{2,4}"
    r"|\b(jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec|mon|tues?|wed|thurs?|fri|sat|sun)\b"
    r"|\b(january|february|march|april|august|september|october|november|december)\b"
    r"|\b(mon|tues|wednes|thurs|fri|satur|sun)day\b",
    re.IGNORECASE,
)
HINT = "use integers, or dates such as 2026-01-31."


def check_texts(labels: Sequence[Any], time: str) -> None:
    """Raise an error if labels are booleans, or texts whose order is not that of the numbers in them, or of dates.

    Examples
    --------
    >>> check_texts(["2026-01-09", "2026-01-10"], "day")
    >>> check_texts(["week 1", "week 10", "week 9"], "week")
    Traceback (most recent call last):
    propriety.errors.InputValueError: the labels of 'week' must sort in the order of time; 'week 10' sorts before ...
    """
    if any(isinstance(label, bool) for label in labels):
        raise InputTypeError(f"the labels of {time!r} must be times", offender="some are booleans", hint=HINT)
    texts = [label for label in labels if isinstance(label, str)]
    if texts and len(texts) < len(labels):
        raise InputTypeError(f"the labels of {time!r} must be of one type", offender="some are texts", hint=HINT)
    numeric = next((text for text in texts if _is_number(text)), None)
    if numeric is not None:
        law = f"the labels of {time!r} must not be numbers as text, which sort as '1', '10', '2'"
        raise InputValueError(law, got=numeric, hint=HINT)
    unsorted = next((text for text in texts if UNSORTED.search(text)), None)
    if unsorted is not None:
        law = f"the labels of {time!r} must sort in the order of time, as the text of ISO dates does"
        raise InputValueError(law, got=unsorted, hint=HINT)
    ordered = sorted(texts)
    for one, other in itertools.pairwise(ordered):
        if _natural(one) > _natural(other) or _is_later(one, other):
            law = f"the labels of {time!r} must sort in the order of time"
            raise InputValueError(law, offender=f"{one!r} sorts before {other!r}", hint=HINT)


def _is_later(one: str, other: str) -> bool:
    """Whether both are moments with an offset from UTC, and the first is later."""
    try:
        moments = [dt.datetime.fromisoformat(text) for text in (one, other)]
    except ValueError:
        return False
    return all(moment.tzinfo is not None for moment in moments) and moments[0] > moments[1]


def label_in_words(label: object) -> str:
    """Return a label as it is written in code, but dates and times as text.

    Examples
    --------
    >>> label_in_words(dt.date(2026, 1, 31)), label_in_words("a")
    ('2026-01-31', "'a'")
    """
    return str(label) if isinstance(label, dt.date) else repr(label)


def check_order(labels: Sequence[Any], time: str) -> None:
    """Raise an error unless the times are in sorted order."""
    for one, other in itertools.pairwise(labels):
        try:
            in_order = one < other
        except TypeError as error:
            law = f"the labels of {time!r} must be of one type, which can be sorted"
            raise InputTypeError(law, offender=f"got {one!r} and {other!r}", hint=HINT) from error
        if not in_order:
            law = f"the labels of {time!r} must be in sorted order, and later than those monitored already"
            hint = "use dates such as 2026-01-31, and add days in order."
            raise InputValueError(law, offender=f"{label_in_words(other)} follows {label_in_words(one)}", hint=hint)


def mature_labels(labels: Sequence[Any], mature_after: int, time: str) -> list[Any]:
    """Return the labels that are at least `mature_after` days, or steps of numbers, before the last one.

    Examples
    --------
    >>> mature_labels([1, 2, 5, 6], 3, "day"), mature_labels(["2026-01-30", "2026-02-01"], 2, "day")
    ([1, 2], ['2026-01-30'])
    """
    if not mature_after:
        return list(labels)
    large = next((label for label in labels if isinstance(label, int | float) and abs(label) > LARGEST), None)
    if large is not None:
        law = f"needs labels of {time!r} that are dates or numbers of days"
        hint = "use dates such as 2026-01-31; seconds, milliseconds and numbers such as 20260131 do not count days."
        raise InputValueError(law, argument="mature_after", got=large, hint=hint)
    places = [_place(label) for label in labels]
    unknown = next((label for label, place in zip(labels, places, strict=True) if place is None), None)
    if unknown is not None:
        law = f"needs labels of {time!r} that are integers or dates"
        raise InputValueError(law, argument="mature_after", got=unknown, hint=HINT)
    last = max(place for place in places if place is not None)
    return [
        label for label, place in zip(labels, places, strict=True) if place is not None and place <= last - mature_after
    ]


def _place(label: Any) -> float | None:
    """Return the number of a day; None if the label is neither a number nor a date."""
    if isinstance(label, str):
        try:
            label = dt.datetime.fromisoformat(label)
        except ValueError:
            return None
    if isinstance(label, dt.datetime):
        return label.replace(tzinfo=label.tzinfo or dt.UTC).timestamp() / 86_400.0
    if isinstance(label, dt.date):
        return float(label.toordinal() - EPOCH)
    return float(label) if isinstance(label, int | float) else None


def _natural(text: str) -> list[Any]:
    """Return the parts of a text, with its numbers as numbers."""
    return [int(part) if place % 2 else part for place, part in enumerate(DIGITS.split(text))]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
