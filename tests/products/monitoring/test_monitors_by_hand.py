"""Monitors: files, words, times and days, computed by hand."""

import datetime as dt
import math
from types import SimpleNamespace

import numpy as np
import pytest

import propriety as pr
from propriety.errors import InputTypeError, InputValueError
from propriety.products.monitoring.files import _same, _state_name, _times_name
from propriety.products.monitoring.history import MonitoredDays
from propriety.products.monitoring.states import DayRows
from propriety.products.monitoring.times import check_order, check_texts, mature_labels
from propriety.products.monitoring.words import alarmed_streams, summary_of


def rows_of_day(**changes):
    plain = {"time": 1, "stream": np.array([0, 1]), "n": np.array([10, 20]), "events": np.array([1.0, 2.0])}
    plain |= {"expected": np.array([2.0, 3.0]), "score": np.array([0.1, 0.2]), "score_error": np.array([0.01, 0.02])}
    plain |= {"slope": np.array([1.0, np.nan]), "psi": np.array([np.nan, 0.1]), "log_e_value": np.array([0.5, np.nan])}
    return DayRows(**(plain | changes))


class TestMonitorFiles:
    def test_of_the_same_day_may_differ_by_rounding(self):
        one = rows_of_day()
        assert _same(one, rows_of_day())
        assert _same(one, rows_of_day(expected=np.array([2.0 + 1e-6, 3.0]), time=2, score=np.zeros(2)))
        large = rows_of_day(expected=np.array([2e6, 3e6]))
        assert _same(large, rows_of_day(expected=np.array([2e6 + 1.0, 3e6])))
        small = rows_of_day(events=np.array([0.0, 0.0]))
        assert _same(small, rows_of_day(events=np.array([5e-7, 0.0])))

    @pytest.mark.parametrize(
        "change",
        [
            {"stream": np.array([0, 2])},
            {"stream": np.array([0])},
            {"n": np.array([10, 21])},
            {"events": np.array([1.0, 2.001])},
            {"expected": np.array([2.0 + 1e-5, 3.0])},
            {"log_e_value": np.array([0.5, 0.1])},
        ],
    )
    def test_of_another_day_are_told_apart(self, change):
        assert not _same(rows_of_day(), rows_of_day(**change))

    def test_have_names_with_numbers_of_days(self):
        assert (_state_name(3), _times_name(3, 0), _times_name(3, 2)) == (
            "state-3.parquet",
            "times-3.parquet",
            "times-3-2.parquet",
        )


class TestMonitorWords:
    @staticmethod
    def watch(times=(1, 2, 3), waiting=(), keys=("site",), note="", **changes):
        streams = [SimpleNamespace(model="m", reference=None, labels=("a",))]
        streams += [SimpleNamespace(model="m", reference="old", labels=("b",))]
        streams += [SimpleNamespace(model="m", reference=None, labels=(name,)) for name in "cde"]
        plain = {"alarm": np.array([2, 1, -1, 2, 0]), "since": np.array([1, 0, -1, 1, 0])}
        plain |= {"direction": np.array([0, 4, 0, 2, 6]), "highest": np.array([5.0, 9.0, 1.0, 4.5, math.inf])}

        class States(SimpleNamespace):
            def __len__(self):
                return 5

            def log_thresholds(self, level):
                return np.full(5, -math.log(1.0 - level))

        states = States(streams=streams, **(plain | changes))
        return SimpleNamespace(
            states=states,
            times=times,
            waiting=waiting,
            keys=keys,
            time="day",
            level=0.99,
            changes=np.array([1.5, 0.02, 0.0, 1.0, 2.0]),
            note=note,
        )

    def test_tell_the_strongest_evidence_first(self):
        assert alarmed_streams(self.watch()) == [4, 1, 0, 3]
        assert summary_of(self.watch(waiting=(4, 5))) == (
            "4 alarms in 5 streams over 3 days (probability of any false alarm: at most 1%):\n"
            "m (site e): a forecast of 0 or 1 was wrong on day 1.\n"
            "m against old (site b): worse since day 1 (alarm on day 2), mean difference of the losses 0.0200 until the "
            "alarm.\n"
            "m (site a): forecasts too low since day 2 (alarm on day 3), observed/expected 1.50 until the alarm.\n"
            "m (site d): forecasts too extreme since day 2 (alarm on day 3).\n"
            "Not tested yet: 2 days."
        )

    def test_tell_dates_as_they_are_and_streams_without_keys_by_their_model(self):
        watch = self.watch(
            times=("2026-01-01", "2026-01-02", "2026-01-03"), keys=(), alarm=np.array([2, -1, -1, -1, -1])
        )
        for stream in watch.states.streams:
            stream.labels = ()
        assert summary_of(watch) == (
            "1 alarm in 5 streams over 3 days (probability of any false alarm: at most 1%):\n"
            "m: forecasts too low since 2026-01-02 (alarm on 2026-01-03), observed/expected 1.50 until the alarm."
        )

    def test_tell_that_there_is_no_alarm(self):
        found = summary_of(self.watch(alarm=np.full(5, -1), times=(1,)))
        assert found == "No alarm in 5 streams over 1 day (probability of any false alarm: at most 1%)."

    def test_end_with_the_note(self):
        found = summary_of(self.watch(alarm=np.full(5, -1), waiting=(4, 5), note="several cases"))
        assert found.splitlines() == [
            "No alarm in 5 streams over 3 days (probability of any false alarm: at most 1% for independent cases).",
            "Not tested yet: 2 days.",
            "Note: several cases.",
        ]


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


class TestMonitoredDays:
    @staticmethod
    def days(reference=None):
        labels = {"day": [1, 2, 3, 3], "model": ["m", "m", "m", "o"], "reference": [reference] * 4}
        nothing = np.full(4, np.nan)
        return MonitoredDays(
            labels=labels,
            stream=np.array([0, 0, 0, 1]),
            position=np.array([0, 1, 3, 3]),
            n=np.array([10, 20, 30, 40]),
            event_rate=np.array([0.1, 0.2, 0.4, 0.5]),
            mean_forecast=np.array([0.2, 0.25, 0.3, 0.4]) if reference is None else nothing,
            observed_expected=nothing,
            score=np.array([0.01, -0.02, 0.03, 0.1]),
            score_error=nothing,
            slope=nothing,
            psi=nothing,
            log_e_value=nothing,
        )

    def test_have_rolling_ratios(self):
        own = self.days().of_stream(0)
        assert own.labels["day"] == [1, 2, 3]
        assert own.n.tolist() == [10, 20, 30]
        assert own.rolling(2) == pytest.approx([0.5, 5.0 / 7.0, 16.0 / 14.0])
        assert own.rolling() == pytest.approx([0.5, 5.0 / 7.0, 17.0 / 16.0])
        assert self.days("old").of_stream(0).rolling(2) == pytest.approx([0.01, -0.3 / 30, 0.5 / 50])

    def test_have_totals_by_model(self):
        found = self.days().totals(["m", "o"])
        assert found["m"].n.tolist() == [10.0, 20.0, 0.0, 30.0]
        np.testing.assert_allclose(found["m"].event_rate, [0.1, 0.2, np.nan, 0.4])
        np.testing.assert_allclose(found["m"].mean_forecast, [0.2, 0.25, np.nan, 0.3])
        assert found["o"].n.tolist() == [0.0, 0.0, 0.0, 40.0]
        assert self.days("old").totals(["m"])["m"].n.tolist() == [0.0] * 4

    def test_have_sizes_of_changes(self):
        first, last = np.array([1, 0]), np.array([3, 2])
        found = self.days().sizes(first, last)
        assert found[0] == pytest.approx(16.0 / 14.0)
        assert math.isnan(found[1])
        assert self.days("old").sizes(first, np.array([3, 3])) == pytest.approx([0.5 / 50, 0.1])


class TestMonitor:
    """Two days of two sites, with forecasts that a reference beats."""

    N = 160
    P = np.tile([0.2, 0.4, 0.6, 0.8], 40)
    Y = (np.arange(N) * 7) % 10 < 5
    DAY, SITE = np.arange(N) // 80 + 1, np.array(["a", "b"])[(np.arange(N) // 4) % 2]

    @pytest.fixture
    def ledger(self):
        return pr.condense(self.Y, {"m": self.P, "half": np.full(self.N, 0.5)}, by={"day": self.DAY, "site": self.SITE})

    def test_has_one_row_for_each_stream(self, ledger):
        watch = pr.monitor(ledger)
        found = watch.columns()
        assert (watch.times, watch.keys, watch.models, watch.waiting) == ((1, 2), ("site",), ("m", "half"), ())
        rows = list(zip(found["model"], found["reference"], found["site"], strict=True))
        assert len(rows) == len(set(rows)) == len(watch.states)
        for place, (model, reference, site) in enumerate(rows):
            own = site == self.SITE
            forecasts = {"m": self.P[own], "half": np.full(own.sum(), 0.5)}
            assert found["n"][place] == own.sum()
            assert found["days"][place] == 2
            if reference is None:
                expected = self.Y[own].sum() / forecasts[model].sum()
                assert found["observed_expected"][place] == pytest.approx(expected)
                assert math.isnan(found["difference"][place])
            else:
                gap = (forecasts[model] - self.Y[own]) ** 2 - (forecasts[reference] - self.Y[own]) ** 2
                assert found["difference"][place] == pytest.approx(gap.mean())
                assert math.isnan(found["observed_expected"][place])
            middle = found["observed_expected" if reference is None else "difference"][place]
            assert found["low"][place] < middle < found["high"][place]
        np.testing.assert_allclose(found["threshold"], 1.0 / (0.05 * watch.states.share))
        np.testing.assert_allclose(found["e_value"], np.exp(watch.states.evidence.log_e_value))
        expected = np.minimum(np.exp(-watch.states.highest) / watch.states.share, 1.0)
        np.testing.assert_allclose(found["p_value"], expected)
        assert rows[:2] == [("m", None, "a"), ("m", None, "b")]
        assert found["alarm"] == [2, 2, None, None, None, None]
        assert found["since"] == [1, 1, None, None, None, None]
        assert found["direction"] == ["too extreme", "too extreme", "", "", "", ""]
        assert watch.alarms == 2
        assert sorted(str(watch).splitlines()) == [
            "2 alarms in 6 streams over 2 days (probability of any false alarm: at most 5% for independent cases):",
            f"Note: {watch.note}.",
            "m (site a): forecasts too extreme since day 1 (alarm on day 2).",
            "m (site b): forecasts too extreme since day 1 (alarm on day 2).",
        ]

    def test_has_days_with_their_numbers(self, ledger):
        days = pr.monitor(ledger).days
        rows = zip(days.labels["day"], days.labels["model"], days.labels["reference"], days.labels["site"], strict=True)
        for row, (day, model, reference, site) in enumerate(rows):
            own = (day == self.DAY) & (site == self.SITE)
            p = self.P[own] if model == "m" else np.full(own.sum(), 0.5)
            assert days.n[row] == own.sum()
            assert days.position[row] == day - 1
            loss = (p - self.Y[own]) ** 2
            if reference is None:
                assert days.event_rate[row] == pytest.approx(self.Y[own].mean())
                assert days.mean_forecast[row] == pytest.approx(p.mean())
                assert days.observed_expected[row] == pytest.approx(self.Y[own].sum() / p.sum())
            else:
                loss = loss - (0.25 if reference == "half" else (self.P[own] - self.Y[own]) ** 2)
            assert days.score[row] == pytest.approx(loss.mean())

    def test_is_continued_through_files(self, ledger, tmp_path):
        first = pr.monitor(ledger.where(day=1))
        first.to_parquet(tmp_path)
        assert sorted(one.name for one in tmp_path.glob("*.parquet")) == ["state-1.parquet", "times-1.parquet"]
        read = type(first).from_parquet(tmp_path)
        assert read.times == (1,)
        whole = read.extend(ledger.where(day=2))
        whole.to_parquet(tmp_path)
        again = type(first).from_parquet(tmp_path)
        expected = pr.monitor(ledger)
        assert again.to_dict() == expected.to_dict()
        np.testing.assert_array_equal(again.days.score, expected.days.score)
        np.testing.assert_array_equal(again.latest.n, expected.latest.n)
        assert again.latest.position.tolist() == [1] * len(expected.latest.n)
        assert sorted(one.name for one in tmp_path.glob("*.parquet")) == ["state-2.parquet", "times-2.parquet"]
        assert sorted(one.name for one in tmp_path.glob("days/*")) == ["day-1.parquet", "day-2.parquet"]
        whole.to_parquet(tmp_path)  # Nothing is new.
        with pytest.raises(InputValueError, match="holds a monitor of more days; it has 2, and this one 1"):
            first.to_parquet(tmp_path)
        with pytest.raises(InputValueError, match=r"holds a monitor with another level; it has 0.95, and this one 0.9"):
            pr.monitor(ledger, level=0.9).to_parquet(tmp_path)
        other = pr.condense(
            ~self.Y, {"m": self.P, "half": np.full(self.N, 0.5)}, by={"day": self.DAY, "site": self.SITE}
        )
        with pytest.raises(InputValueError, match="holds a monitor of other cases; the evidence after 2 differs"):
            pr.monitor(other).to_parquet(tmp_path)
        (tmp_path / "days" / "day-1.parquet").write_bytes(b"nothing")
        with pytest.raises(InputValueError, match=r"day-1.parquet has changed since the monitor was stored"):
            _ = type(first).from_parquet(tmp_path).days

    def test_notices_that_monitored_days_have_changed(self, ledger):
        watch = pr.monitor(ledger)
        assert watch.extend(ledger).to_dict() == watch.to_dict()
        for y, p, words in (
            (np.where(np.arange(self.N) == 3, ~self.Y, self.Y), self.P, "cases or forecasts"),
            (self.Y, np.where(np.arange(self.N) == 3, self.P * 1.001, self.P), "cases or forecasts"),
        ):
            other = pr.condense(y, {"m": p, "half": np.full(self.N, 0.5)}, by={"day": self.DAY, "site": self.SITE})
            with pytest.raises(InputValueError, match=f"the {words} of a day that has been monitored must not change"):
                watch.extend(other)
        fewer = self.SITE == "a"
        other = pr.condense(
            self.Y[fewer],
            {"m": self.P[fewer], "half": np.full(fewer.sum(), 0.5)},
            by={"day": self.DAY[fewer], "site": self.SITE[fewer]},
        )
        with pytest.raises(
            InputValueError, match="the models and keys of a day that has been monitored must not change"
        ):
            watch.extend(other)

    def test_waits_for_days_to_be_mature(self, ledger):
        watch = pr.monitor(ledger, mature_after=1)
        assert (watch.times, watch.waiting, watch.mature_after) == ((1,), (2,), 1)
        assert watch.immature.labels["day"] == [2] * len(watch.immature.n)
        assert np.isnan(watch.immature.log_e_value).all()
        assert watch.immature.position.tolist() == [1] * len(watch.immature.n)
        assert repr(watch) == f"LedgerMonitor(streams={len(watch.states)}, days=1, alarms=0, waiting=1, level=0.95)"
        assert pr.monitor(ledger).immature is None
        with pytest.raises(InputValueError, match=r"the ledger must have every day that was not mature.*it lacks 2"):
            watch.extend(ledger.where(day=1))
        with pytest.raises(InputValueError, match="mature_after must be shorter than the time from the first day"):
            pr.monitor(ledger, mature_after=2)
        with pytest.raises(InputValueError, match="a monitor must be continued with the same models"):
            watch.extend(pr.condense(self.Y, {"m": self.P}, by={"day": self.DAY, "site": self.SITE}))
