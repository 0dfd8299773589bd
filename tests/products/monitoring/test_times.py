"""The labels of periods: their order, and which are mature."""

import datetime as dt

import pytest

from propriety.errors import InputTypeError, InputValueError
from propriety.products.monitoring.times import check_order, check_texts, mature_labels


class TestMonitoredTimes:
    def test_are_mature_some_days_before_the_last(self):
        assert mature_labels([3, 1, 9], 0, "day") == [3, 1, 9]
        assert mature_labels([1, 4, 5, 7], 3, "day") == [1, 4]
        assert mature_labels([1.5, 4.0], 2, "day") == [1.5]
        dates = [dt.date(2026, 2, 27), dt.date(2026, 3, 1), dt.date(2026, 3, 2)]
        assert mature_labels(dates, 3, "day") == dates[:1]
        assert mature_labels(["2026-02-27", "2026-02-28T12:00", "2026-03-02"], 2, "day") == ["2026-02-27"]
        utc = [dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC), dt.datetime(2026, 1, 3, 11, tzinfo=dt.UTC)]
        assert mature_labels(utc, 2, "day") == []
        assert mature_labels(utc, 1, "day") == utc[:1]
        with pytest.raises(
            InputValueError, match=r"mature_after needs labels of 'day' that are integers or dates.*'w1'"
        ):
            mature_labels(["w1", "w2"], 1, "day")
        with pytest.raises(InputValueError, match="dates or numbers of days; got 10000001"):
            mature_labels([1, 10_000_001], 1, "day")
        assert mature_labels([1, 10_000_000], 1, "day") == [1]

    def test_are_texts_that_sort_in_order(self):
        check_texts(["w01", "w02", "w10"], "week")
        check_texts([1, 2, 10], "day")
        for wrong in (["1", "2"], ["1e3"], ["w9", "w10"], ["3.1.2026"], ["2026 March"], ["Monday 1"]):
            with pytest.raises(InputValueError, match="the labels of 'week' must"):
                check_texts(wrong, "week")
        with pytest.raises(InputTypeError, match="must be of one type; some are texts"):
            check_texts(["w1", 2], "week")

    def test_are_in_order(self):
        check_order([1, 2, 5], "day")
        with pytest.raises(InputValueError, match="2 follows 2"):
            check_order([1, 2, 2], "day")
        with pytest.raises(InputTypeError, match="must be of one type, which can be sorted; got 1 and 'a'"):
            check_order([1, "a"], "day")
