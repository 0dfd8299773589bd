"""Times are numbers or dates, or ISO texts of one form; texts that do not sort in the order of time are refused."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pytest

import propriety as pr
from propriety.errors import InputTypeError
from propriety.tables.keys import check_period_labels

RNG = np.random.default_rng(3)
DAYS = [dt.date(2026, 1, 20) + dt.timedelta(int(one)) for one in np.repeat(np.arange(30), 4)]
P = RNG.uniform(0.1, 0.9, 120)
Y = (RNG.random(120) < P).astype(int)


@pytest.mark.parametrize("form", ["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%MZ"])
@pytest.mark.parametrize("lazy", [False, True])
def test_iso_texts_give_the_numbers_of_dates(form, lazy):
    expected = pr.estimate(Y, P, period=DAYS)
    frame = pl.DataFrame({"y": Y, "p": P, "t": [day.strftime(form) for day in DAYS]})
    found = pr.estimate(frame.lazy() if lazy else frame, "p", outcome="y", period="t")
    np.testing.assert_allclose((found.low, found.high), (expected.low, expected.high), rtol=1e-12)


@pytest.mark.parametrize(
    "form", ["%d/%m/%Y", "%d.%m.%y", "%b %d, %Y", "%Y%m%d", "%B", "week %j", "%j", "%Y-%m-%d %I %p"]
)
@pytest.mark.parametrize("lazy", [False, True])
def test_other_texts_are_refused_by_every_analysis(form, lazy):
    frame = pl.DataFrame({"y": Y, "p": P, "q": P, "t": [day.strftime(form) for day in DAYS]})
    frame = frame.lazy() if lazy else frame
    calls = [pr.condense, pr.estimate, pr.compare]
    for call in calls if lazy else [*calls, pr.recalibrate]:  # Lazy frames have folds of their own.
        models = ["p", "q"] if call is pr.compare else "p"
        with pytest.raises(
            InputTypeError, match=r"^period must hold numbers or dates; .* is text\. Hint: write all dates"
        ):
            call(frame, models, outcome="y", period="t")


FLAGS = np.arange(120) % 2 == 0
FLAGGED = {
    "estimate": lambda flags: pr.estimate(Y, P, period=flags),
    "objects": lambda flags: pr.estimate(Y, P, period=flags.astype(object)),
    "nullable": lambda flags: pr.compare(Y, {"a": P, "b": P}, period=pd.Series(flags, dtype="boolean")),
    "one time": lambda flags: pr.check_calibration(Y, P, period=flags | True),
    "evaluate": lambda flags: pr.evaluate(Y, P, period=flags),
    "recalibrate": lambda flags: pr.recalibrate(Y, P, period=flags),
    "frame": lambda flags: pr.condense(pl.DataFrame({"y": Y, "p": P, "t": flags}), ["p"], outcome="y", period="t"),
    "lazy frame": lambda flags: pr.condense(pl.LazyFrame({"y": Y, "p": P, "t": flags}), ["p"], outcome="y", period="t"),
}


@pytest.mark.parametrize("call", FLAGGED.values(), ids=FLAGGED)
def test_booleans_are_no_times(call):
    with pytest.raises(InputTypeError, match=r"^period must hold numbers or dates; got booleans\. Hint: .*censored"):
        call(FLAGS)


def test_booleans_are_no_follow_up():
    with pytest.raises(
        InputTypeError, match=r"time must hold real numbers; got booleans\. Hint: are time and event swapped"
    ):
        pr.censored(FLAGS, Y, horizons=0.5)


@pytest.mark.product("late_labels")
def test_booleans_are_no_days_of_forecasts():
    with pytest.raises(InputTypeError, match="made must hold dates or numbers of days"):
        pr.late_labels(P, made=FLAGS, reported=np.ones(120))


@pytest.mark.product("monitoring")
def test_booleans_are_no_days_of_a_ledger():
    with pytest.raises(InputTypeError, match="the labels of 'day' must be times; some are booleans"):
        pr.monitor(pr.condense(Y, P, by={"day": FLAGS}), reference_days=1)


@pytest.mark.parametrize(
    "times",
    [
        ["2026-01-31", "2026-02-01T00:00"],
        ["2026-01-31 12:00", "2026-01-31T11:00"],
        ["2026-01-31T12:00", "2026-01-31T13:00Z"],
        ["2026-01-31T12:00+01:00", "2026-01-31T12:30+02:00"],
        [dt.date(2026, 1, 31), dt.datetime.fromisoformat("2026-02-01")],
        [1, "2026-01-31"],
    ],
    ids=range(6),
)
def test_times_of_several_forms_are_refused(times):
    with pytest.raises(InputTypeError, match="period must hold numbers or dates"):
        check_period_labels(times)


def test_ledgers_of_other_times_are_not_added():
    parts = [pr.condense(Y, P, period=time) for time in (DAYS, np.arange(120))]
    with pytest.raises(InputTypeError, match="got date and int without an order"):
        pr.Ledger.merge(parts)
