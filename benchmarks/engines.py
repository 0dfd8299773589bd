"""Time the aggregation through propriety against the same aggregate written by hand for the engine.

Both count the cells of a grid: cases, events, smallest and largest forecast. Propriety checks every row besides. Times
are taken by turns in one run on a Parquet file that DuckDB makes, and given as the ratio of their medians.

Run: python benchmarks/engines.py [--rows 100000000] [--rounds 5] [--engines duckdb polars spark] [--folder DIR]
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import narwhals as nw

from propriety.tables.engine_source import read_source
from propriety.tables.engines import aggregate

LEVEL = 20
CELLS = 2.0**LEVEL
BY_HAND = f"""
    SELECT CASE WHEN p > 0 THEN CAST(floor(p * {CELLS}) AS BIGINT) ELSE -1 END AS cell,
           count(*) AS cases, sum(CAST(y AS DOUBLE)) AS events, min(p) AS lowest, max(p) AS highest
    FROM {{cases}} GROUP BY 1
"""  # noqa: S608  (the table is named here)
Pair = tuple[Callable[[], object], Callable[[], object]]


def made(folder: str, rows: int) -> str:
    """Draw calibrated continuous forecasts into a Parquet file."""
    import duckdb

    path = str(Path(folder) / f"cases_{rows}.parquet")
    if not Path(path).exists():
        with duckdb.connect() as connection:
            unit = "hash(i * 2 + {}) / 18446744073709551616.0"
            drawn = f"SELECT {unit.format(0)} AS p, {unit.format(1)} AS u FROM range({rows}) AS t(i)"  # noqa: S608
            connection.sql(f"SELECT p, CAST(u < p AS TINYINT) AS y FROM ({drawn})").write_parquet(path)  # noqa: S608
    return path


def through_propriety(frame: object) -> object:
    """Run the first query of a forecast table."""
    source = read_source(nw.from_native(frame), outcome="y", forecasts={None: "p"})
    return aggregate(source, LEVEL, ends=True)


@contextmanager
def duckdb_pair(path: str) -> Iterator[Pair]:
    import duckdb

    with duckdb.connect() as connection:
        by_hand = BY_HAND.format(cases=f"'{path}'")
        yield (
            lambda: connection.sql(by_hand).to_arrow_table(),
            lambda: through_propriety(connection.read_parquet(path)),
        )


@contextmanager
def polars_pair(path: str) -> Iterator[Pair]:
    import polars as pl

    p = pl.col("p")
    cell = pl.when(p > 0).then((p * CELLS).floor()).otherwise(-1.0).cast(pl.Int64).alias("cell")
    columns = [cell, p, pl.col("y").cast(pl.Float64)]
    sums = [pl.len(), pl.col("y").sum(), p.min().alias("lowest"), p.max().alias("highest")]
    by_hand = pl.scan_parquet(path).select(columns).group_by("cell").agg(sums)
    yield by_hand.collect, lambda: through_propriety(pl.scan_parquet(path))


@contextmanager
def spark_pair(path: str) -> Iterator[Pair]:
    from pyspark.sql import SparkSession

    options = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "3g",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": "8",
    }
    session = SparkSession.builder.master("local[2]").config(map=options).getOrCreate()
    by_hand = BY_HAND.format(cases=f"parquet.`{path}`")
    yield lambda: session.sql(by_hand).toArrow(), lambda: through_propriety(session.read.parquet(path))
    session.stop()


PAIRS = {"duckdb": duckdb_pair, "polars": polars_pair, "spark": spark_pair}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--engines", nargs="+", choices=PAIRS, default=list(PAIRS))
    parser.add_argument("--folder", help="where the Parquet file is kept for another run")
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = options.folder or stack.enter_context(tempfile.TemporaryDirectory())
        path = made(folder, options.rows)
        for engine in options.engines:
            times: tuple[list[float], list[float]] = ([], [])
            cpu: tuple[list[float], list[float]] = ([], [])
            with PAIRS[engine](path) as pair:
                for round_ in range(options.rounds + 1):
                    for work, taken, used in zip(pair, times, cpu, strict=True):
                        begin, busy = time.perf_counter(), time.process_time()
                        work()
                        if round_:  # The first round warms up.
                            taken.append(time.perf_counter() - begin)
                            used.append(time.process_time() - busy)
            own, ours = (statistics.median(taken) for taken in times)
            busy_own, busy_ours = (statistics.median(used) for used in cpu)
            print(
                f"{engine:8} {options.rows:>13,} rows: by hand {own:7.2f} s, through propriety {ours:7.2f} s, "
                f"ratio {ours / own:.3f}; processor time in this process {busy_own:.2f} and {busy_ours:.2f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
