"""Reading days: dates, times, ISO texts, or numbers of days."""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.checks import is_number
from propriety.errors import InputTypeError, InputValueError
from propriety.result import Floats
from propriety.tables.arrays import missing_cases, read_array

__all__ = ["LARGEST_DAY", "read_days"]

LARGEST_DAY = 1_000_000  # Days of 2,700 years; larger numbers are 20260131, or the seconds or milliseconds of a time.
ISO = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ].*)?")
LAW = "must hold dates or numbers of days"
HINT = "write dates as 2026-01-31."


def read_days(argument: str, values: object, *, missing: bool = False) -> Floats:
    """Return days as numbers: dates as days since 1970, and numbers rounded down; missing ones are NaN if allowed.

    Examples
    --------
    >>> read_days("made", ["1970-01-02", "1970-01-03T12:00:00"]).tolist(), read_days("made", [1.0, 2.5]).tolist()
    ([1.0, 2.0], [1.0, 2.0])
    """
    if isinstance(values, str | dt.date | np.generic) or is_number(values):
        return np.asarray(read_days(argument, [values])[0])
    reading = read_array(values, argument, role="keys")
    absent = missing_cases(reading, kinds="fmM")
    found = reading.values
    days = np.full(found.shape, np.nan)
    days[~absent] = _days_of(found[~absent], argument)
    wrong = np.isinf(days) if missing else ~np.isfinite(days)
    if wrong.any():
        law = "must hold finite days" + ("" if missing else "; none may be missing")
        raise InputValueError(law, argument=argument, row=int(np.argmax(wrong.ravel())), count=f"{wrong.sum():,} rows")
    return days


def _days_of(found: NDArray[Any], argument: str) -> Floats:
    """Return the days of values none of which is missing."""
    if found.dtype.kind == "M":
        return found.astype("datetime64[D]").astype(np.float64)
    if found.dtype.kind in "iuf":
        return _numbers(found.astype(np.float64), argument)
    entries = found.tolist()
    if entries and all(is_number(one) or isinstance(one, Decimal) for one in entries):
        return _numbers(np.array(entries, dtype=np.float64), argument)
    dates = [_date(one) for one in entries]
    wrong = next((place for place, one in enumerate(dates) if one is None), None)
    if wrong is not None:
        raise InputTypeError(LAW, argument=argument, offender=f"got {entries[wrong]!r}", hint=HINT)
    return np.array(dates, dtype="datetime64[D]").astype(np.float64)


def _numbers(days: Floats, argument: str) -> Floats:
    large = (np.abs(days) >= LARGEST_DAY) & np.isfinite(days)
    if large.any():
        offender = f"got {days[large][0]:.0f}, which is no number of days"
        raise InputValueError(LAW, argument=argument, offender=offender, hint=HINT)
    return np.floor(days)


def _date(entry: object) -> str | None:
    """Return the date of a day or a time, in its own time zone; None for anything else."""
    if isinstance(entry, str):
        try:
            entry = dt.datetime.fromisoformat(entry) if ISO.fullmatch(entry) else None
        except ValueError:
            return None
    year, month, day = (getattr(entry, name, None) for name in ("year", "month", "day"))
    return None if year is None or month is None or day is None else f"{year:04d}-{month:02d}-{day:02d}"
