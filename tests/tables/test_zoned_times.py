"""Two hours that a clock shows alike when daylight saving ends are two labels, whatever holds them."""

import copy
import datetime as dt
import pickle
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sliced import slices

import propriety as pr
from propriety.tables.labels import ZonedTime, plain_labels

ZONE = "Europe/Berlin"
UTC = [dt.datetime(2026, 10, 24, 12, tzinfo=dt.UTC) + dt.timedelta(hours=hour) for hour in range(48)]
LOCAL = [time.astimezone(ZoneInfo(ZONE)) for time in UTC]
TWICE = slice(12, 14)  # Both are 02:00 on the clock.
RNG = np.random.default_rng(0)
P = RNG.random(48)
Y = (RNG.random(48) < P).astype(int)
CONTAINERS = {
    "list": LOCAL,
    "array": np.array(LOCAL, dtype=object),
    "pandas": pd.Series(UTC).dt.tz_convert(ZONE),
    "pandas index": pd.DatetimeIndex(UTC).tz_convert(ZONE),
    "Timestamps": pd.Series(UTC).dt.tz_convert(ZONE).astype(object).to_numpy(),
    "Polars": pl.Series(UTC).dt.convert_time_zone(ZONE),
    "PyArrow": pa.array(UTC, pa.timestamp("us", tz=ZONE)),
}


def of_arrays(hours):
    return pr.condense(Y, P, by={"hour": hours})


def of_engine(rows):
    return pr.condense(rows, ["p"], outcome="y", by="hour")


def on_duckdb():
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    connection.execute(f"set timezone='{ZONE}'")
    connection.register("rows", pa.table({"y": Y, "p": P, "hour": CONTAINERS["PyArrow"]}))
    return connection, connection.sql("select * from rows")


@pytest.mark.parametrize("hours", CONTAINERS.values(), ids=CONTAINERS)
def test_every_hour_is_a_key(hours):
    ledger = of_arrays(hours)
    assert ledger.keys["hour"] == tuple(UTC)
    assert [time.utcoffset() for time in ledger.keys["hour"]] == [time.utcoffset() for time in LOCAL]
    for label in (*UTC[TWICE], *LOCAL[TWICE], *CONTAINERS["Timestamps"][TWICE]):
        assert ledger.where(hour=label).n == 1
    assert ledger.where(hour=LOCAL[TWICE]).n == 2
    found = pr.condense(Y, P, period=hours)
    assert found.periods() == UTC


@pytest.mark.parametrize("engine", ["Polars", "DuckDB"])
def test_engines_have_the_same_keys(engine):
    if engine == "DuckDB":
        connection, rows = on_duckdb()
    else:
        connection, rows = None, pl.DataFrame({"y": Y, "p": P, "hour": CONTAINERS["Polars"]}).lazy()
    ledger = of_engine(rows)
    assert ledger.keys["hour"] == tuple(UTC)
    assert [ledger.where(hour=time).n for time in LOCAL[TWICE]] == [1, 1]
    if connection is not None:
        connection.close()


def test_they_are_stored_and_added(tmp_path):
    ledger = of_arrays(LOCAL)
    ledger.to_parquet(tmp_path / "all")
    stored = pr.Ledger.from_parquet(tmp_path / "all")
    assert stored.keys == ledger.keys
    assert (stored + ledger).keys == ledger.keys
    assert [(stored + ledger).where(hour=time).n for time in LOCAL[TWICE]] == [2, 2]
    for place, time in enumerate(LOCAL):
        pr.condense(Y[[place]], P[[place]], by={"hour": [time]}).to_parquet(tmp_path / "hourly", partition=["hour"])
    assert pr.Ledger.from_parquet(tmp_path / "hourly").keys == ledger.keys


def test_tables_of_groups_have_them():
    groups = slices(Y, P, by=LOCAL, smallest=1).group
    assert groups.tolist() == [str(time) for time in LOCAL]
    assert len(set(groups.tolist())) == 48


def test_only_times_shown_twice_are_changed():
    labels = plain_labels(LOCAL)
    assert [type(label) for label in labels[TWICE]] == [ZonedTime, ZonedTime]
    assert {type(label) for place, label in enumerate(labels) if place not in (12, 13)} == {dt.datetime}
    fixed = [time.astimezone(dt.timezone(dt.timedelta(hours=2))) for time in UTC]
    assert plain_labels(fixed) == fixed
    assert {type(label) for label in plain_labels(fixed)} == {dt.datetime}


def test_they_compare_as_instants():
    first, second = plain_labels(LOCAL)[TWICE]
    assert first < second
    assert second > first
    assert first <= second == max(first, second)
    assert second >= first == min(first, second)
    assert first != second
    assert (first, second) == tuple(UTC[TWICE])
    assert (hash(first), hash(second)) == tuple(map(hash, UTC[TWICE]))
    assert UTC[11] < first < UTC[13] == second
    assert first != dt.datetime(2026, 10, 25, 2)  # noqa: DTZ001  (a time without a zone)
    assert first != "2026-10-25 02:00:00+02:00"
    for same in (pickle.loads(pickle.dumps(second)), copy.deepcopy(second)):
        assert (same, same.fold, type(same)) == (second, 1, ZonedTime)
    with pytest.raises(TypeError, match="can't compare"):
        first < dt.datetime(2026, 10, 25, 2)  # noqa: B015, DTZ001
