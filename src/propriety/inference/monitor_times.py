"""The labels of monitored times: their order, and which of them are mature."""

from __future__ import annotations

import datetime as dt
import itertools
import re
from collections.abc import Sequence
from typing import Any

from propriety.errors import InputValueError
from propriety.inference.days import LARGEST_DAY
from propriety.tables.label_codes import ordered_labels

__all__ = ["check_order", "check_texts", "mature_labels"]

DIGITS = re.compile(r"(\d+)")
MONTHS = (
    "jan(uary)?|feb(ruary)?|mar(ch)?|apr(il)?|may|june?|july?|aug(ust)?|"
    "sept?(ember)?|oct(ober)?|nov(ember)?|dec(ember)?"
)
# Dates that begin with the day or the month, or name the month.
LOCAL = re.compile(rf"^\d{{1,2}}([-./ ])\d{{1,2}}\1(\d{{4}}|\d\d)\b|\b({MONTHS})\b", re.IGNORECASE)
HINT = "use integers, or dates such as 2026-01-31."


def check_texts(labels: Sequence[Any], time: str) -> None:
    """Raise an error if labels are texts whose order is not that of the numbers in them, or that of dates.

    Examples
    --------
    >>> check_texts(["2026-01-09", "2026-01-10"], "day")
    >>> check_texts(["week 1", "week 10", "week 9"], "week")
    Traceback (most recent call last):
    propriety.errors.InputValueError: the labels of 'week' must sort in the order of time; 'week 10' sorts before ...
    """
    texts = [label for label in labels if isinstance(label, str)]
    numeric = next((text for text in texts if _is_number(text)), None)
    if numeric is not None:
        law = f"the labels of {time!r} must not be numbers as text, which sort as '1', '10', '2'"
        raise InputValueError(law, offender=f"got {numeric!r}", hint=HINT)
    local = next((text for text in texts if LOCAL.search(text)), None)
    if local is not None:
        law = f"the labels of {time!r} must sort in the order of time, so dates must begin with the year"
        raise InputValueError(law, offender=f"got {local!r}", hint=HINT)
    ordered = sorted(texts)
    for one, other in itertools.pairwise(ordered):
        if _natural(one) > _natural(other):
            law = f"the labels of {time!r} must sort in the order of time"
            raise InputValueError(law, offender=f"{one!r} sorts before {other!r}", hint=HINT)


def check_order(labels: Sequence[Any], time: str) -> None:
    """Raise an error unless the times are in sorted order."""
    if tuple(labels) != ordered_labels(labels):
        law = f"the labels of {time!r} must be in sorted order, and later than those monitored already"
        one, other = next(pair for pair in zip(labels, ordered_labels(labels), strict=True) if pair[0] != pair[1])
        hint = "use dates such as 2026-01-31, and add days in order."
        raise InputValueError(law, offender=f"{one!r} comes before {other!r}", hint=hint)


def mature_labels(labels: Sequence[Any], mature_after: int, time: str) -> list[Any]:
    """Return the labels that are at least `mature_after` days, or steps of numbers, before the last one.

    Examples
    --------
    >>> mature_labels([1, 2, 5, 6], 3, "day"), mature_labels(["2026-01-30", "2026-02-01"], 2, "day")
    ([1, 2], ['2026-01-30'])
    """
    if not mature_after:
        return list(labels)
    places = [_place(label) for label in labels]
    _check_days(labels, time)
    unknown = next((label for label, place in zip(labels, places, strict=True) if place is None), None)
    if unknown is not None:
        law = f"needs labels of {time!r} that are integers or dates"
        raise InputValueError(law, argument="mature_after", offender=f"got {unknown!r}", hint=HINT)
    last = max(place for place in places if place is not None)
    return [
        label for label, place in zip(labels, places, strict=True) if place is not None and place <= last - mature_after
    ]


def _check_days(labels: Sequence[Any], time: str) -> None:
    """Raise an error for numbers too large to be days, such as 20260131 and the milliseconds of a time."""
    large = next((label for label in labels if isinstance(label, int | float) and abs(label) >= LARGEST_DAY), None)
    if large is not None:
        law = f"needs labels of {time!r} that count days, or dates"
        hint = "use integers that differ by 1 from day to day, or dates such as 2026-01-31."
        raise InputValueError(law, argument="mature_after", offender=f"got {large!r}", hint=hint)


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
        return float(label.toordinal())
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
