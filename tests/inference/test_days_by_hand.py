"""Days as numbers: what is read, and what is refused."""

import datetime as dt
import math
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from propriety.errors import InputTypeError, InputValueError
from propriety.inference.day_numbers import Days, check_alike, read_day, read_days


class TestDays:
    def test_are_numbers_rounded_down_or_days_since_1970(self):
        found = read_days("made", [2.75, -0.5, 3])
        assert (found.number.tolist(), found.dated) == ([2.0, -1.0, 3.0], False)
        found = read_days("made", ["1970-01-02", "1969-12-31T23:00", "2000-03-01"])
        assert (found.number.tolist(), found.dated) == ([1.0, -1.0, 11017.0], True)
        found = read_days("made", np.array(["1970-01-02T12", "NaT"], dtype="datetime64[h]"), missing=True)
        assert found.dated
        assert found.number[0] == 1.0
        assert math.isnan(found.number[1])
        assert read_days("made", np.array([1, 2], dtype=np.uint16)).number.tolist() == [1.0, 2.0]

    def test_of_any_type_are_read_one_by_one(self):
        values = [dt.date(1970, 1, 3), np.datetime64("1970-01-04T22"), "1970-01-05", "", None]
        found = read_days("made", np.array(values, dtype=object), missing=True)
        np.testing.assert_array_equal(found.number, [2.0, 3.0, 4.0, np.nan, np.nan])
        assert found.dated
        numbers = read_days("made", np.array([Decimal("2.5"), 3, 4.9], dtype=object))
        assert (numbers.number.tolist(), numbers.dated) == ([2.0, 3.0, 4.0], False)
        empty = read_days("made", np.array(["", None], dtype=object), missing=True)
        assert np.isnan(empty.number).all()
        assert not empty.dated

    def test_have_a_largest_number(self):
        assert read_days("made", [10_000_000, -10_000_000]).number.tolist() == [1e7, -1e7]
        with pytest.raises(InputValueError, match=r"row 1 is 10000001 .2 rows..*datetime64"):
            read_days("made", [3, 10_000_001, -10_000_001])
        assert read_days("made", np.array([20_000_000], dtype="datetime64[D]")).number.tolist() == [2e7]

    def test_must_be_finite(self):
        with pytest.raises(InputValueError, match=r"must hold finite days; none may be missing.*row 1.*2 rows"):
            read_days("made", [1.0, math.nan, math.inf])
        with pytest.raises(InputValueError, match="made must hold finite days; row 2"):
            read_days("made", [1.0, math.nan, math.inf], missing=True)
        assert math.isnan(read_days("made", [1.0, math.nan], missing=True).number[1])

    def test_must_be_days(self):
        with pytest.raises(InputTypeError, match=r"made must hold dates or numbers of days.*got bool"):
            read_days("made", [True, False])
        with pytest.raises(InputTypeError, match="got dates and numbers"):
            read_days("made", np.array(["1970-01-05", 3], dtype=object))
        with pytest.raises(InputTypeError, match=r"row 1 is 'soon'.*2026-01-31"):
            read_days("made", np.array(["1970-01-05", "soon"], dtype=object))
        with pytest.raises(InputValueError, match=r"must have one day per case.*got shape \(1, 2\)"):
            read_days("made", np.array([[1, 2]]))

    def test_may_be_single(self):
        assert read_day("now", np.array(5)).number.tolist() == [5.0]
        assert read_day("now", pd.Period("1970-01-03", freq="D")).number.tolist() == [2.0]
        for wrong in ([1], (1,), np.array([1])):
            with pytest.raises(InputTypeError, match=f"now must be one day.*got {type(wrong).__name__}"):
                read_day("now", wrong)

    def test_must_be_of_the_same_kind(self):
        dates, numbers = Days(np.array([1.0]), dated=True), Days(np.array([1.0]), dated=False)
        check_alike("known", dates, dates)
        check_alike("known", numbers, numbers)
        check_alike("known", Days(np.array([np.nan]), dated=False), dates)
        with pytest.raises(InputTypeError, match="known must hold dates, as the days of the forecasts do; got numbers"):
            check_alike("known", numbers, dates)
        with pytest.raises(InputTypeError, match="known must hold numbers, as the days of the forecasts do; got dates"):
            check_alike("known", Days(np.array([np.nan, 1.0]), dated=True), numbers)
