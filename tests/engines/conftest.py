"""Engines for real: a Spark cluster of two executors, Dask, DuckDB, Polars, Ibis on DuckDB and on a PostgreSQL server."""

import functools
import getpass
import itertools
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest

# Warnings are errors in all tests. These are of the engines' own libraries: PySpark's about pandas, Ibis's calls of
# DuckDB, and the sockets of clusters, which are closed when they are collected.
QUIET = (
    "ignore:PySpark does not yet fully support pandas:FutureWarning",
    "ignore:distutils Version classes are deprecated:DeprecationWarning",
    "ignore:is_categorical_dtype is deprecated:DeprecationWarning",
    "ignore:fetch_arrow_table.. is deprecated:DeprecationWarning",
    "ignore:unclosed .*socket:ResourceWarning",
)

TABLES = itertools.count()  # Names of the tables of PostgreSQL, which live as long as the connection.


# The other engines plan a query in milliseconds. CI tries every law on these, and on one of the slow ones.
SLOW_TO_PLAN = ("spark", "postgresql", "dask")
# Many small cases of one law, or plans that take long, run only nightly on the slow ones.
MATRICES = (
    *("test_key_matrix", "test_column_names", "test_the_moments_of_every_rule", "test_every_function_takes"),
    *("test_bad_rows", "test_refinement"),
)


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.engine)
            if any(name in item.name for name in SLOW_TO_PLAN):
                matrix = any(name in item.nodeid for name in MATRICES)
                item.add_marker(pytest.mark.nightly if matrix else pytest.mark.slow)
            for quiet in QUIET:
                item.add_marker(pytest.mark.filterwarnings(quiet))


@pytest.fixture(scope="session")
def spark():
    """Return a session on a cluster of two executors, each a process of its own."""
    sql = pytest.importorskip("pyspark.sql", reason="PySpark is not installed")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    options = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": "2",
        "spark.default.parallelism": "2",
        "spark.executor.memory": "512m",
        # Queries as short as these end before the compiler that optimizes most has paid off.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
    }
    builder = sql.SparkSession.builder.master("local-cluster[2,1,1024]").appName("propriety")
    with tempfile.TemporaryDirectory() as folder:
        session = builder.config(map=options | {"spark.local.dir": folder}).getOrCreate()
        yield session
        session.stop()


@pytest.fixture(scope="session")
def postgresql():
    """Return an Ibis connection to a PostgreSQL server that is started for it and listens on a socket only."""
    ibis = pytest.importorskip("ibis", reason="Ibis is not installed")
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    initdb = shutil.which("initdb") or (str(programs[-1]) if programs else None)
    if initdb is None:
        pytest.skip("PostgreSQL is not installed")
    with tempfile.TemporaryDirectory() as folder:
        data, control = Path(folder) / "data", str(Path(initdb).resolve().parent / "pg_ctl")
        user = _server_user(folder)
        _run(user, folder, initdb, "-D", data, "-U", "propriety", "-A", "trust", "--no-sync")
        # Compiling a query takes longer than running it on tables as small as those of the tests.
        settings = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off -c jit=off"
        _run(user, folder, control, "-D", data, "-o", settings, "-l", data / "log", "-w", "start")
        try:
            connection = ibis.postgres.connect(host=folder, user="propriety", database="postgres")
            yield connection
            connection.disconnect()
        finally:
            _run(user, folder, control, "-D", data, "-m", "immediate", "stop")


def _run(user, folder, *command):
    whose = {} if user == getpass.getuser() else {"user": user}
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=folder, **whose)  # noqa: S603  (made here)


def _server_user(folder):
    """Return who runs the server: PostgreSQL refuses to be run by root."""
    if os.geteuid() != 0:
        return getpass.getuser()
    import pwd  # Windows does not have it.

    name = next(name for name in ("postgres", "nobody") if name in {entry.pw_name for entry in pwd.getpwall()})
    shutil.chown(folder, name)
    return name


@pytest.fixture(scope="session")
def duckdb_connection():
    """Return a connection of its own, as relations of another connection do not join."""
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    with duckdb.connect() as connection:
        yield connection


def _stored(request):
    """Return a function that writes a frame to a Parquet file of its own, and names it."""
    folder, numbers = request.getfixturevalue("tmp_path_factory").mktemp("cases"), itertools.count()

    def stored(frame):
        path = folder / f"{next(numbers)}.parquet"
        # Polars 1.12 writes NaN as the smallest and largest value if there is one; Spark 3.5 then finds no `x <= 1`.
        frame.write_parquet(path, statistics=False)
        return str(path)

    return stored


def _on_duckdb(request):
    connection, stored = request.getfixturevalue("duckdb_connection"), _stored(request)
    return lambda frame: connection.read_parquet(stored(frame))


def _on_dask(request):
    dask = pytest.importorskip("dask.dataframe", reason="Dask is not installed")
    return lambda frame: dask.from_pandas(frame.to_pandas(), npartitions=3)


def _on_ibis_and_duckdb(request):
    ibis = pytest.importorskip("ibis", reason="Ibis is not installed")
    stored = _stored(request)
    return lambda frame: ibis.duckdb.connect().read_parquet(stored(frame))


def _on_ibis_and_postgresql(request):
    connection = request.getfixturevalue("postgresql")

    def fed(frame):
        # Ibis cannot insert into columns whose names hold a per cent sign.
        plain = {name: f"column_{place}" for place, name in enumerate(frame.columns)}
        table = connection.create_table(f"cases_{next(TABLES)}", frame.rename(plain).to_arrow(), temp=True)
        return table.rename(plain)

    return fed


def _on_spark(request):
    session, stored = request.getfixturevalue("spark"), _stored(request)
    return lambda frame: session.read.parquet(stored(frame))


EAGER = {
    "pandas": lambda _: pl.DataFrame.to_pandas,
    "polars": lambda _: pl.DataFrame.clone,
    "pyarrow": lambda _: pl.DataFrame.to_arrow,
}
LAZY = {
    "polars lazy": lambda _: pl.DataFrame.lazy,
    "duckdb": _on_duckdb,
    "dask": _on_dask,
    "ibis on duckdb": _on_ibis_and_duckdb,
    "ibis on postgresql": _on_ibis_and_postgresql,
    "spark": _on_spark,
}


@pytest.fixture(scope="module", params=EAGER | LAZY, ids=lambda name: name.replace(" ", "-"))
def engine(request):
    """Return a function that hands columns, as a Polars frame, to an engine."""
    return (EAGER | LAZY)[request.param](request)


@pytest.fixture(scope="module", params=LAZY, ids=lambda name: name.replace(" ", "-"))
def lazy_engine(request):
    """Return the same for the engines that are lazy."""
    return LAZY[request.param](request)


@pytest.fixture
def same_moments():
    """Return a function that compares moments of an engine with those of NumPy, their means as closely as asked."""

    def compare(found, expected, *, rtol):
        assert (found.rule, found.models) == (expected.rule, expected.models)
        assert found.index.names == expected.index.names
        assert found.index.labels == expected.index.labels
        assert found.index.codes.tolist() == expected.index.codes.tolist()
        assert (found.n.tolist(), found.dropped) == (expected.n.tolist(), expected.dropped)
        with np.errstate(invalid="ignore"):
            close = functools.partial(np.testing.assert_allclose, err_msg=found.rule)
            close(found.weight, expected.weight, rtol=1e-12)
            close(found.weight_squares, expected.weight_squares, rtol=1e-12)
            close(found.mean, expected.mean, rtol=rtol, atol=1e-14)
            close(found.lean, expected.lean, rtol=rtol, atol=1e-10)
            close(found.spread, expected.spread, rtol=1e-9, atol=1e-12)
            close(found.standard_errors(), expected.standard_errors(), rtol=1e-10, atol=1e-14)
            assert (found.pair_sums is None) == (expected.pair_sums is None)
            if expected.pair_sums is not None:
                close(found.pair_sums.imagined, expected.pair_sums.imagined, rtol=1e-9, atol=1e-12)
                close(found.pair_sums.cubes, expected.pair_sums.cubes, rtol=1e-9, atol=1e-12)
                assert found.pair_sums.differ.tolist() == expected.pair_sums.differ.tolist()

    return compare
