"""Days as numbers: reading dates, ISO dates as text, and numbers of days."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety.checks import is_number
from propriety.errors import InputTypeError, InputValueError, Wording
from propriety.result import Floats
from propriety.tables.arrays import missing_cases, read_array

EPOCH = dt.date(1970, 1, 1).toordinal()
LARGEST = 10_000_000  # Larger numbers are not of days: seconds or milliseconds since 1970, or dates such as 20260131.
LAW = "must hold dates or numbers of days"


class Days(NamedTuple):
    """Days as numbers, NaN if missing, and whether they were dates: then they are days since 1970."""

    number: Floats
    dated: bool


def read_days(argument: str, values: object, *, missing: bool = False) -> Days:
    """Read dates, ISO dates as text, or numbers of days, which are rounded down; none may be missing unless allowed.

    Examples
    --------
    >>> read_days("made", ["1970-01-03", "1970-02-01T23:59"]).number, read_days("made", [2.5, 3]).number
    (array([ 2., 31.]), array([2., 3.]))
    """
    reading = read_array(values, argument, role="keys")
    array = reading.values
    if array.ndim != 1:
        raise InputValueError("must have one day per case", argument=argument, offender=f"got shape {array.shape}")
    absent = missing_cases(reading)
    if array.dtype.kind in "OU":
        days = _of_objects(array, absent, argument)
    elif array.dtype.kind == "M":
        days = Days(np.where(absent, np.nan, array.astype("datetime64[D]").astype(np.float64)), dated=True)
    elif array.dtype.kind in "iuf":
        days = Days(np.floor(np.where(absent, np.nan, array)), dated=False)
    else:
        raise InputTypeError(LAW, argument=argument, offender=f"got {array.dtype}")
    number = days.number
    wrong = np.isinf(number) if missing else ~np.isfinite(number)
    if wrong.any():
        law = "must hold finite days" + ("" if missing else "; none may be missing")
        raise InputValueError(law, argument=argument, row=int(np.argmax(wrong)), count=f"{wrong.sum():,} rows")
    large = np.abs(number) > LARGEST
    if large.any() and not days.dated:
        row = int(np.argmax(large))
        raise InputValueError(
            LAW,
            argument=argument,
            row=row,
            offender=f"is {array[row]}",
            count=f"{large.sum():,} rows",
            hint=Wording(
                'for milliseconds since 1970 pass numpy.array({argument}, dtype="datetime64[ms]"), and dates such as '
                "20260131 as text, 2026-01-31."
            ),
        )
    return days


def read_day(argument: str, value: object) -> Days:
    """Read one day; see `read_days`."""
    if isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim):
        raise InputTypeError("must be one day", argument=argument, got_type=value)
    return read_days(argument, [value.item() if isinstance(value, np.ndarray) else value])


def check_alike(argument: str, days: Days, first: Days) -> None:
    """Raise an error if only one of two columns of days holds dates."""
    if days.dated != first.dated and not np.isnan(days.number).all():
        kinds = {True: "dates", False: "numbers"}
        law = f"must hold {kinds[first.dated]}, as the days of the forecasts do"
        raise InputTypeError(law, argument=argument, offender=f"got {kinds[days.dated]}")


def _of_objects(array: NDArray[Any], absent: NDArray[np.bool_], argument: str) -> Days:
    """Read entries of any type; an empty text is missing."""
    entries: list[Any] = array.tolist()
    number, dated = np.full(len(entries), np.nan), set()
    for row in np.flatnonzero(~absent).tolist():
        entry = entries[row]
        if isinstance(entry, str) and not entry:
            continue
        found = _day_of(entry)
        if found is None:
            hint = "write dates as 2026-01-31."
            raise InputTypeError(LAW, argument=argument, row=row, offender=f"is {entry!r}", hint=hint)
        number[row] = found[0]
        dated.add(found[1])
    if len(dated) > 1:
        raise InputTypeError(LAW, argument=argument, offender="got dates and numbers")
    return Days(number, dated=dated == {True})


def _day_of(entry: Any) -> tuple[float, bool] | None:
    """Return the number of a day, and whether it is a date; a time has the date of its own zone."""
    if isinstance(entry, str):
        try:
            entry = dt.datetime.fromisoformat(entry)
        except ValueError:
            return None
    if isinstance(entry, np.datetime64):
        return float(entry.astype("datetime64[D]").astype(np.float64)), True
    year, month, day = (getattr(entry, name, None) for name in ("year", "month", "day"))  # Also of a pandas Period.
    if year is not None and month is not None and day is not None:
        return float(dt.date(year, month, day).toordinal() - EPOCH), True
    return (float(np.floor(float(entry))), False) if is_number(entry) or isinstance(entry, Decimal) else None
