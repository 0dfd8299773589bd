"""Kinds of labels x containers and engines: each combination gives the groups of plain Python, or a clear refusal."""

import datetime as dt
import uuid
from collections import Counter
from decimal import Decimal
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import propriety as pr
from propriety.cli.cases import Cases
from propriety.errors import ProprietyError

N = 48
RNG = np.random.default_rng(10)
Y = RNG.integers(0, 2, N)
P = RNG.uniform(0.1, 0.9, N).round(2)
PLACES = RNG.permutation(np.arange(N) % 7 % 3)  # Three labels, not equally often.
TOKYO = ZoneInfo("Asia/Tokyo")
ONE = dt.datetime(2024, 3, 30, 1, 2, 3, 4, tzinfo=dt.UTC).replace(tzinfo=None)

# Three labels of each kind in their order, and the type that Arrow has for them.
KINDS = {
    "text": (["a", "b", "é \"'"], pa.string()),
    "text that looks like numbers": (["0e1", "0e2", "1"], pa.string()),
    "text with zeros": (["007", "07", "7"], pa.string()),
    "empty text": (["", " ", "a"], pa.string()),
    "boolean": ([False, True, True], pa.bool_()),
    "int8": ([-3, 0, 7], pa.int8()),
    "int64 above 2**53": ([2**53, 2**53 + 1, 2**63 - 1], pa.int64()),
    "uint64 above 2**63": ([2**63, 2**63 + 1, 2**64 - 1], pa.uint64()),
    "integers on both sides of 2**63": ([1, 2**63 - 1, 2**63], pa.uint64()),
    "float": ([-0.5, 0.1, 1e300**0.01], pa.float64()),
    "float of large identifiers": ([1.7e18, 1.7e18 + 256, 1.8e18], pa.float64()),
    "decimal": ([Decimal("0.10"), Decimal("1.05"), Decimal("2.00")], pa.decimal128(10, 2)),
    "decimal of 30 digits": ([Decimal(10) ** 29 + one for one in range(3)], pa.decimal128(38, 0)),
    "date": ([dt.date(2024, 2, 29), dt.date(2024, 3, 1), dt.date(2025, 1, 1)], pa.date32()),
    "time of day": ([dt.time(0), dt.time(12, 30), dt.time(23, 59, 59)], pa.time64("us")),
    "datetime": ([ONE, ONE + dt.timedelta(microseconds=1), ONE + dt.timedelta(days=1)], pa.timestamp("us")),
    "datetime in nanoseconds": ([np.datetime64(int(1e18) + one, "ns") for one in range(3)], pa.timestamp("ns")),
    "zoned datetime": (
        [dt.datetime(1970, 1, 1, hour, tzinfo=TOKYO) for hour in (0, 1, 9)],
        pa.timestamp("us", tz="Asia/Tokyo"),
    ),
    "timedelta": (
        [dt.timedelta(seconds=-1), dt.timedelta(0), dt.timedelta(days=40, microseconds=1)],
        pa.duration("us"),
    ),
    "bytes": ([b"a", b"a\x00", b"b"], pa.binary()),
    "ordered categories": (["low", "mid", "high"], pa.dictionary(pa.int8(), pa.string(), ordered=True)),
    # What Arrow has no type for, as labels.
    "uuid": ([uuid.UUID(int=one) for one in (1, 2, 2**100)], None),
    "int128": ([2**70, 2**70 + 1, 2**71], None),
    "tuple": ([("a", 1), ("a", 2), ("b", 0)], None),
    "frozenset": ([frozenset("ab"), frozenset("b"), frozenset("c")], None),
    "several kinds": (["a", 1, dt.date(2024, 1, 1)], None),
    "lists": ([[1], [1, 2], []], pa.list_(pa.int64())),
    "structs": ([{"a": 1}, {"a": 2}, {"a": 3}], pa.struct({"a": pa.int64()})),
}


class CannotHoldError(Exception):
    """A container has no such values."""


def objects(labels):
    return np.fromiter((labels[place] for place in PLACES), dtype=object, count=N)


def arrow(kind):
    labels, given = KINDS[kind]
    if given is None:
        raise CannotHoldError
    if pa.types.is_dictionary(given):
        return pa.DictionaryArray.from_arrays(pa.array(PLACES, pa.int8()), labels, ordered=True)
    return pa.array([labels[place] for place in PLACES], given)


def table(kind):
    return pa.table({"y": Y, "p": P, "k": arrow(kind)})


def pandas_of(kind):
    labels, given = KINDS[kind]
    if kind == "ordered categories":
        column = pd.Categorical.from_codes(PLACES, labels, ordered=True)
    elif kind == "zoned datetime":
        column = pd.Series(pd.to_datetime([labels[place] for place in PLACES]))
    else:
        column = pd.Series(objects(labels))
        column = column if given is None else column.infer_objects()
    return pd.DataFrame({"y": Y, "p": P, "k": column})


def polars_of(kind):
    labels, given = KINDS[kind]
    if kind == "ordered categories":
        column = pl.Series([labels[place] for place in PLACES], dtype=pl.Enum(labels))
    elif kind == "int128":
        column = pl.Series([labels[place] for place in PLACES], dtype=pl.Int128)
    elif given is None:
        column = pl.Series(objects(labels), dtype=pl.Object)
    else:
        column = pl.from_arrow(arrow(kind))
    return pl.DataFrame({"y": Y, "p": P, "k": column})


def duckdb_of(kind, connection):
    labels, _ = KINDS[kind]
    if kind in ("uuid", "int128", "ordered categories"):
        sql = {"uuid": "UUID", "int128": "HUGEINT", "ordered categories": "ENUM('low', 'mid', 'high')"}[kind]
        text = pa.table({"y": Y, "p": P, "k": [str(labels[place]) for place in PLACES]})  # noqa: F841  (DuckDB finds it)
        return connection.sql(f"SELECT y, p, k::{sql} AS k FROM text")  # noqa: S608  (made here)
    given = table(kind)  # noqa: F841  (DuckDB finds it)
    return connection.sql("SELECT * FROM given")


def dask_of(kind):
    dask = pytest.importorskip("dask.dataframe", reason="Dask is not installed")
    frame = pandas_of(kind) if kind == "ordered categories" else table(kind).to_pandas(types_mapper=pd.ArrowDtype)
    return dask.from_pandas(frame, npartitions=3)


def ibis_of(kind):
    ibis = pytest.importorskip("ibis", reason="Ibis is not installed")
    if kind == "uuid":
        text = pa.table({"y": Y, "p": P, "k": [str(one) for one in objects(KINDS[kind][0])]})
        return ibis.memtable(text).mutate(k=lambda rows: rows.k.cast("uuid"))
    return ibis.memtable(table(kind))


def postgresql_of(kind, connection):
    if kind == "uuid":
        text = pa.table({"y": Y, "p": P, "k": [str(one) for one in objects(KINDS[kind][0])]})
        stored = connection.create_table("keys", text, temp=True, overwrite=True)
        return stored.mutate(k=stored.k.cast("uuid"))
    return storing(lambda: connection.create_table("keys", table(kind), temp=True, overwrite=True))


def spark_of(kind, session, folder):
    path = str(folder / "k.parquet")
    parquet.write_table(table(kind), path, coerce_timestamps=None)
    return storing(lambda: session.read.parquet(path))


def storing(make):
    """Return what an engine was given, unless it does not take it."""
    try:
        found = make()
        found.columns  # noqa: B018  (engines look at a file when they are asked)
    except Exception as error:
        raise CannotHoldError from error
    return found


def from_files(kind, folder, suffix):
    """Return what the command line reads of a file."""
    path = folder / f"k.{suffix}"
    if suffix == "parquet":
        parquet.write_table(table(kind), path)
    else:
        text = pa.array([str(one) for one in objects(KINDS[kind][0])])
        csv.write_csv(pa.table({"y": Y, "p": P, "k": text}), path)
    columns = Cases(outcome="y", forecasts=["p"], by=["k"], cluster="k")
    with columns.opened([path]) as opened:
        return columns.arguments(opened)["y_true"]


FRAMES = {
    "pandas": lambda kind, request: pandas_of(kind),
    "polars": lambda kind, request: polars_of(kind),
    "pyarrow": lambda kind, request: table(kind),
    "lazy polars": lambda kind, request: polars_of(kind).lazy(),
    "duckdb": lambda kind, request: duckdb_of(kind, request.getfixturevalue("duckdb_connection")),
    "dask": lambda kind, request: dask_of(kind),
    "ibis on duckdb": lambda kind, request: ibis_of(kind),
    "ibis on postgresql": lambda kind, request: postgresql_of(kind, request.getfixturevalue("postgresql")),
    "spark": lambda kind, request: spark_of(
        kind, request.getfixturevalue("spark"), request.getfixturevalue("tmp_path")
    ),
    "parquet file": lambda kind, request: from_files(kind, request.getfixturevalue("tmp_path"), "parquet"),
    "csv file": lambda kind, request: from_files(kind, request.getfixturevalue("tmp_path"), "csv"),
}
ARRAYS = {
    "list": lambda kind: list(objects(KINDS[kind][0])),
    "array": lambda kind: objects(KINDS[kind][0]),
    "native array": lambda kind: np.array([KINDS[kind][0][place] for place in PLACES]),
}
# What is refused; everything else gives the groups of plain Python.
REFUSED = {
    "float of large identifiers": "a float that may stand for several whole numbers",
    "lists": "must",
    "structs": "must",
}
REFUSED_HERE = {
    # NumPy itself makes floats of them.
    ("integers on both sides of 2**63", "native array"): "a float that may stand for several whole numbers",
    ("empty text", "csv file"): "must be known for every case",
    ("timedelta", "ibis on duckdb"): "ibis on duckdb holds values of dtype",
    **{
        (kind, "lazy polars"): "polars holds values of dtype object"
        for kind in ("uuid", "tuple", "frozenset", "several kinds")
    },
}
NOT_HELD = {
    ("datetime in nanoseconds", "ibis on postgresql"): "PostgreSQL stores microseconds",
    ("bytes", "native array"): "NumPy cuts zeros off",
    ("timedelta", "parquet file"): "Parquet has whole numbers in their place",
    ("timedelta", "spark"): "Parquet has whole numbers in their place",
    **{(kind, "native array"): "an array of rows" for kind in ("lists", "structs", "tuple")},
    **{(kind, "csv file"): "CSV has texts" for kind in ("bytes", "lists", "structs")},
}
KNOW_CATEGORIES = ("pandas", "polars", "pyarrow", "lazy polars", "duckdb", "dask")


def expected_of(kind, container):
    """Return the cases and the events of each label, in order, by nothing but Python."""
    labels = dict.fromkeys(KINDS[kind][0])
    if kind in ("frozenset", "several kinds"):  # They have no order, so that the first comes first.
        labels = dict.fromkeys(objects(KINDS[kind][0]))
    if kind == "ordered categories" and container not in KNOW_CATEGORIES:
        labels = sorted(labels)
    cases = Counter(objects(KINDS[kind][0]))
    events = Counter(objects(KINDS[kind][0])[Y == 1])
    return {label: (cases[label], events[label]) for label in labels}


def found_in(ledger):
    """Return the like of a ledger by group and by cluster."""
    groups = {label: ledger.table("p", k=label) for label in ledger.keys["k"]}
    units = ledger.moments(pr.Brier()).over("cluster")
    clusters = dict(zip(units.index.column("cluster"), units.n.tolist(), strict=True))
    return {label: (one.n, one.n_events) for label, one in groups.items()}, clusters


def check(kind, container, condense):
    """Check that a cell of the matrix is one of the two."""
    reason = REFUSED.get(kind) or REFUSED_HERE.get((kind, container))
    if reason is not None:
        with pytest.raises(ProprietyError, match=reason):
            condense()
        return "refused"
    groups, clusters = found_in(condense())
    expected = expected_of(kind, container)
    if container == "csv file":
        groups, clusters, expected = (
            {str(label): one for label, one in own.items()} for own in (groups, clusters, expected)
        )
        assert groups == expected
    else:
        assert list(groups.items()) == list(expected.items())
        assert {type(label) for label in groups} <= {type(label) for label in expected} | {Decimal}
    assert clusters == {label: cases for label, (cases, _) in expected.items()}
    return "equal"


@pytest.mark.parametrize("container", ARRAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_arrays_have_the_groups_of_python(kind, container):
    if (kind, container) in NOT_HELD:
        pytest.skip(NOT_HELD[kind, container])
    column = ARRAYS[container](kind)
    check(kind, container, lambda: pr.condense(Y, {"p": P}, by={"k": column}, cluster=column))


@pytest.mark.parametrize("container", FRAMES)
@pytest.mark.parametrize("kind", KINDS)
def test_frames_engines_and_files_have_the_groups_of_python(kind, container, request):
    if (kind, container) in NOT_HELD:
        pytest.skip(NOT_HELD[kind, container])
    try:
        frame = FRAMES[container](kind, request)
    except CannotHoldError:
        pytest.skip(f"{container} does not hold such values")
    check(kind, container, lambda: pr.condense(frame, ["p"], outcome="y", by=["k"], cluster="k"))
