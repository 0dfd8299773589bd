"""Days are dates, times, ISO texts or numbers of days in any container; anything else is refused."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from propriety.errors import InputTypeError, InputValueError
from propriety.inference.day_numbers import read_day, read_days

DATE = dt.date(2026, 1, 31)
DAY = float(np.datetime64(DATE, "D").astype(int))
LATE = dt.datetime.fromisoformat("2026-01-31T23:30:00")  # On the next day in UTC.
ZONE = "America/New_York"


@pytest.mark.parametrize(
    "values",
    [
        [DATE, None],
        ["2026-01-31", None],
        ["2026-01-31T23:30:00-05:00", None],
        np.array(["2026-01-31", None], dtype=object),
        np.array([DATE, "NaT"], dtype="datetime64[D]"),
        np.array([LATE, "NaT"], dtype="datetime64[ms]"),
        pd.Series(["2026-01-31", None], dtype="string"),
        pd.Series([LATE, pd.NaT]).dt.tz_localize(ZONE),
        pd.Categorical(["2026-01-31", None]),
        pd.PeriodIndex([DATE, pd.NaT], freq="D"),
        pl.Series([DATE, None]),
        pl.Series(["2026-01-31", None]),
        lambda: pl.Series([LATE, None]).dt.replace_time_zone(ZONE),  # Computes, in threads that a fork would lack.
        pa.array([LATE, None]),
        pd.Series([DAY, None], dtype="Int64"),
        pa.array([int(DAY), None], pa.decimal128(7, 0)),
        [DAY + 0.75, np.nan],
    ],
    ids=range(17),
)
def test_days_are_read_from_everything_that_has_them(values):
    values = values() if callable(values) else values
    np.testing.assert_array_equal(read_days("made", values, missing=True).number, [DAY, np.nan])
    with pytest.raises(InputValueError, match="none may be missing"):
        read_days("made", values)


def test_one_day_is_a_number():
    for day in (DATE, LATE, "2026-01-31", np.datetime64(DATE), pd.Timestamp(LATE, tz=ZONE), DAY):
        assert read_day("now", day).number.tolist() == [DAY]


@pytest.mark.parametrize(
    "values",
    [
        ["31/01/2026", "01/02/2026"],
        ["1", "2"],
        ["2026-13-01"],
        [DATE, 5],
        [True],
        [object()],
        [dt.timedelta(1)],
        [1_769_817_600_000],  # Milliseconds.
        [20_260_131],
    ],
    ids=range(9),
)
def test_what_is_no_day_is_refused(values):
    with pytest.raises((InputTypeError, InputValueError), match="must hold dates or numbers of days"):
        read_days("made", values)
