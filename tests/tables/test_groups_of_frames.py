"""Groups of eager and of lazy frames are the same: their labels, their order, their cases, and which are left out."""

import datetime as dt
import uuid
from zoneinfo import ZoneInfo

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sliced import Sliced, slices

import propriety as pr
from propriety.errors import InputTypeError, InputValueError, MissingValuesError
from propriety.tables.forecast_table import ForecastTable

RNG = np.random.default_rng(4)
N = 240
FRAME = pl.DataFrame(
    {
        "y": RNG.integers(0, 2, N),
        "p": RNG.uniform(0.05, 0.95, N).round(2),
        "w": RNG.gamma(2.0, size=N).round(3),
        "k": RNG.integers(0, 3, N),
    }
)
LEVELS = ["low", "mid", "high"]
CONNECTION = duckdb.connect()


def on_duckdb(frame):
    return CONNECTION.from_arrow(frame.to_arrow())


ENGINES = {
    "polars": pl.DataFrame.clone,
    "pandas": pl.DataFrame.to_pandas,
    "lazy": pl.DataFrame.lazy,
    "duckdb": on_duckdb,
}


@pytest.fixture(params=ENGINES)
def engine(request):
    return ENGINES[request.param]


def test_a_group_without_weight_is_left_out(engine):
    frame = FRAME.with_columns(w=pl.when(pl.col("k") == 1).then(0.0).otherwise("w"))
    ledger = pr.condense(engine(frame), ["p"], outcome="y", by=["k"], sample_weight="w")
    assert ledger.keys == {"k": (0, 2)}
    found = pr.evaluate(engine(frame), ["p"], outcome="y", by="k", sample_weight="w", seed=1)
    assert Sliced(found.slices).group.tolist() == ["0", "2"]
    tables = ForecastTable.from_frame(engine(frame), outcome="y", forecast="p", weight="w", by="k")
    assert list(tables) == [0, 2]


def test_a_group_is_left_out_if_its_cases_with_weight_are_dropped(engine):
    zero = pl.col("k") == 1
    first = pl.int_range(N) == FRAME["k"].to_list().index(1)
    for name, weight in {"y": 1.0, "p": 1.0, "w": 0.0}.items():
        frame = FRAME.with_columns(w=pl.when(first).then(weight).when(zero).then(0.0).otherwise("w"))
        frame = engine(frame.with_columns(pl.when(~first).then(name).alias(name)))
        options = {"outcome": "y", "forecast": "p", "weight": "w", "by": "k"}
        assert list(ForecastTable.from_frame(frame, **options, missing="drop")) == [0, 2]
        with pytest.raises(MissingValuesError):
            ForecastTable.from_frame(frame, **options)


def test_a_group_without_weight_is_checked_all_the_same(engine):
    frame = FRAME.with_columns(
        w=pl.when(pl.col("k") == 1).then(0.0).otherwise("w"), p=pl.when(pl.col("k") == 1).then(1.5).otherwise("p")
    )
    with pytest.raises(InputValueError, match=r"must lie in \[0, 1\]"):
        ForecastTable.from_frame(engine(frame), outcome="y", forecast="p", weight="w", by="k")
    with pytest.raises(InputValueError, match=r"must lie in \[0, 1\]"):
        pr.condense(engine(frame), ["p"], outcome="y", by=["k"], sample_weight="w")


def test_groups_that_all_lack_weight_are_refused(engine):
    frame = FRAME.with_columns(w=pl.lit(0.0))
    with pytest.raises(InputValueError, match="sample_weight must be positive for at least one case"):
        ForecastTable.from_frame(engine(frame), outcome="y", forecast="p", weight="w", by="k")
    with pytest.raises(InputValueError, match="sample_weight must be positive for at least one case"):
        pr.condense(engine(frame), ["p"], outcome="y", by=["k"], sample_weight="w")


def test_events_of_weighted_groups_are_counted_and_not_weighted(engine):
    frame = pl.DataFrame(
        {"y": [1] * 100 + [0] * 100, "p": [0.6] * 200, "w": [0.01] * 100 + [1.0] * 100, "k": ["a"] * 200}
    )
    ledger = pr.condense(engine(frame), ["p"], outcome="y", by=["k"], sample_weight="w")
    assert ledger.table("p", k="a").n_events == 100
    found = slices(engine(frame), ["p"], outcome="y", by="k", sample_weight="w")
    assert found.n.tolist() == [200]
    assert found.note.tolist() == [""]


def test_ordered_categories_keep_their_order(engine):
    words = FRAME.with_columns(k=pl.Series([LEVELS[k] for k in FRAME["k"]], dtype=pl.Enum(LEVELS)))
    frame = engine(words)
    if engine is on_duckdb:
        kind = "ENUM('low', 'mid', 'high')"
        frame = frame.project(f"y, p, w, CAST(k AS VARCHAR)::{kind} AS k")
    elif engine is pl.DataFrame.to_pandas:
        frame["k"] = pd.Categorical(frame["k"].astype(str), LEVELS, ordered=True)
    assert pr.condense(frame, ["p"], outcome="y", by=["k"], cluster="k").keys == {"k": tuple(LEVELS)}
    found = pr.evaluate(frame, ["p"], outcome="y", by="k", seed=1)
    assert Sliced(found.slices).group.tolist() == LEVELS
    assert list(ForecastTable.from_frame(frame, outcome="y", forecast="p", by="k")) == LEVELS


def test_groups_of_several_columns(engine):
    frame = FRAME.with_columns(day=pl.Series([dt.date(2024, 1, 1 + int(k)) for k in RNG.integers(0, 2, N)]))
    tables = ForecastTable.from_frame(engine(frame), outcome="y", forecast="p", by=["k", "day"])
    expected = {key: len(rows) for key, rows in frame.partition_by("k", "day", as_dict=True).items()}
    if engine is pl.DataFrame.to_pandas:  # It has times in place of days.
        expected = {(k, dt.datetime.combine(day, dt.time())): n for (k, day), n in expected.items()}
    assert list(tables) == sorted(expected)
    assert {key: table.n for key, table in tables.items()} == expected


def test_a_missing_label_is_a_group_of_its_own_in_tables_and_refused_in_ledgers(engine):
    frame = FRAME.with_columns(k=pl.when(pl.col("k") == 1).then(None).otherwise("k"))
    tables = ForecastTable.from_frame(engine(frame), outcome="y", forecast="p", by="k")
    assert list(tables) == [0, 2, None]
    with pytest.raises(MissingValuesError, match="must be known for every case"):
        pr.condense(engine(frame), ["p"], outcome="y", by=["k"])


@pytest.mark.parametrize(
    "name", ["a.b", "a`b", 'a"b', "a'b", "a b", "^k.*$", "*", "é", "select", "a;b", "key_0", "class"]
)
def test_columns_may_have_any_name(engine, name):
    frame = FRAME.select(pl.col("y"), pl.col("p"), pl.col("k").alias(name))
    assert pr.condense(engine(frame), ["p"], outcome="y", by=[name]).keys == {name: (0, 1, 2)}
    frame = FRAME.select(pl.col("y"), pl.col("p").alias(name))
    assert pr.condense(engine(frame), [name], outcome="y").n == N


def test_kinds_of_duckdb_come_back_or_are_refused_by_name():
    identifiers = [uuid.UUID(int=one) for one in (2**100, 7)]
    table = pa.table(
        {"y": [0, 1], "p": [0.2, 0.7], "id": list(map(str, identifiers)), "hours": [48, 36], "bits": ["1", "0"]}
    )
    frame = CONNECTION.from_arrow(table).project(
        "y, p, id::UUID AS id, to_hours(hours) AS duration, to_months(hours) AS months, bits::BIT AS bits"
    )
    assert pr.condense(frame, ["p"], outcome="y", by=["id"]).keys["id"] == (identifiers[1], identifiers[0])
    durations = (dt.timedelta(hours=36), dt.timedelta(days=2))
    assert pr.condense(frame, ["p"], outcome="y", by=["duration"]).keys["duration"] == durations
    with pytest.raises(InputTypeError, match="must hold durations in days and microseconds; one in 'months'"):
        pr.condense(frame, ["p"], outcome="y", by=["months"])
    with pytest.raises(InputTypeError, match="duckdb holds values of dtype bit in 'bits'"):
        pr.condense(frame, ["p"], outcome="y", cluster="bits")


@pytest.mark.parametrize("kind", ["uint64", "zoned", "decimal", "duration"])
def test_labels_of_any_kind_go_back_to_an_engine_that_refines_its_cells(kind):
    """The refinement joins the labels of groups with the rows of the engine."""
    rng = np.random.default_rng(0)
    many = 3000
    keys = {
        "uint64": pl.Series(2**63 + rng.integers(0, 3, many).astype(np.uint64), dtype=pl.UInt64),
        "zoned": (pl.datetime(1970, 1, 1) + pl.duration(hours=pl.col("c"))).dt.replace_time_zone("Asia/Tokyo"),
        "decimal": pl.col("c").cast(pl.Decimal(30, 2)),
        "duration": pl.duration(hours=pl.col("c")),
    }
    frame = pl.DataFrame({"y": rng.integers(0, 2, many), "p": rng.uniform(size=many), "c": rng.integers(0, 3, many)})
    frame = frame.with_columns(k=keys[kind])
    options = {"outcome": "y", "forecast": "p", "by": "k"}
    whole = ForecastTable.from_frame(frame, **options)
    for engine in (pl.DataFrame.lazy, on_duckdb):
        if kind == "duration" and engine is on_duckdb:
            continue  # Arrow makes no arrays of intervals for DuckDB to join with.
        tables = ForecastTable.from_frame(engine(frame), **options, budget=500, cells=16)
        assert list(tables) == list(whole)
        for label, table in tables.items():
            assert (table.n, table.n_events) == (whole[label].n, whole[label].n_events)


def test_ledgers_of_keys_of_any_kind_are_stored_as_they_are_or_refused(tmp_path):
    y, p = [0, 1, 1], [0.2, 0.7, 0.6]
    kept = {
        "large": [2**63, 2**63 + 1, 2**63],
        "zoned": pd.Series(pd.to_datetime(["1970-01-01", "1970-01-02", "1970-01-01"]).tz_localize("Asia/Tokyo")),
        "ordered": pd.Series(pd.Categorical(["low", "high", "low"], ["low", "high"], ordered=True)),
        "duration": pl.Series([dt.timedelta(days=1), dt.timedelta(0), dt.timedelta(days=1)]),
    }
    for name, column in kept.items():
        ledger = pr.condense(y, {"p": p}, by={name: column})
        ledger.to_parquet(tmp_path / name)
        assert pr.Ledger.from_parquet(tmp_path / name).keys == ledger.keys
    for name, column in {
        "tuple": [("a", 1), ("b", 2), ("a", 1)],
        "set": [frozenset("a"), frozenset("b"), frozenset("a")],
        "zones": [
            dt.datetime(2024, 1, 1, tzinfo=ZoneInfo(zone)) for zone in ("Asia/Tokyo", "Asia/Dubai", "Asia/Tokyo")
        ],
        "fine": pd.Series([pd.Timestamp(10**18 + one, tz="Asia/Tokyo") for one in (0, 1, 0)]),
    }.items():
        ledger = pr.condense(y, {"p": p}, by={name: column})
        with pytest.raises(InputTypeError, match=f"the labels of {name} must be of one kind that Arrow knows"):
            ledger.to_parquet(tmp_path / name)


def test_a_dictionary_of_arrow_without_an_order_is_sorted():
    column = pa.chunked_array([pa.DictionaryArray.from_arrays([0, 1, 0], ["z", "a"])])
    assert pr.condense([0, 1, 1], {"p": [0.2, 0.7, 0.6]}, by={"k": column}).keys["k"] == ("a", "z")
