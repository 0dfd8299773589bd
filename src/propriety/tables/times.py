"""Checks of the times of cases: their order must be that of time."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Any

from propriety.errors import InputTypeError

FLAGS_HINT = (
    "pass the day or period of each case; whether follow-up ended with the event belongs to "
    "propriety.censored(time, event, horizons=...)."
)
HINT = "write all dates as 2026-01-31, or all times as 2026-01-31T12:00:00."
# Without an offset from UTC, or with "Z", texts of one form sort in the order of time.
ISO = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)?Z?")


def check_time_labels(times: Sequence[Any]) -> None:
    """Raise an error unless different times, in the order in which they are kept, are numbers or dates in order.

    ISO dates may be texts, if they are all written in the same way; other texts sort differently.

    Examples
    --------
    >>> check_time_labels(["2026-01-31", "2026-02-01"])
    >>> check_time_labels(["01/02/2026", "31/01/2026"])
    Traceback (most recent call last):
    propriety.errors.InputTypeError: time must hold numbers or dates; '01/02/2026' is text. Hint: ...
    """
    if any(isinstance(time, bool) for time in times):
        law = "must hold numbers or dates"
        raise InputTypeError(law, argument="time", offender="got booleans", hint=FLAGS_HINT)
    text = next((time for time in times if isinstance(time, str) and not _is_like(time, times[0])), None)
    if text is not None:
        raise InputTypeError("must hold numbers or dates", argument="time", offender=f"{text!r} is text", hint=HINT)
    try:
        in_order = all(one < other for one, other in itertools.pairwise(times))
    except TypeError:
        in_order = False
    if not in_order:
        kinds = " and ".join(dict.fromkeys(type(time).__name__ for time in times))
        law, told = "must hold numbers or dates", f"got {kinds} without an order"
        raise InputTypeError(law, argument="time", offender=told, hint=HINT)


def _is_like(text: str, first: Any) -> bool:
    """Whether a text is an ISO date, written in the same way as the first one."""
    if not isinstance(first, str) or ISO.fullmatch(text) is None:
        return False
    return len(text) == len(first) and text[10:11] == first[10:11] and text.endswith("Z") == first.endswith("Z")
