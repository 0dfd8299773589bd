"""Time the aggregations through propriety against the same aggregates written by hand for the engine.

`cells` counts the cells of a grid: cases, events, smallest and largest forecast. `moments` adds up the Brier and log
losses of two models, their differences, and all squares. Propriety checks every row besides. Times are taken by turns
in one run on a Parquet file that DuckDB makes, and given as the ratio of their medians; with a record for the docs.

Run: python benchmarks/engines.py [--rows 100000000] [--rounds 5] [--engines duckdb polars spark]
                                  [--aggregates cells moments] [--folder DIR]
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import narwhals as nw

import propriety as pr
from propriety.ledger.engine_moments import sums_of_lazy
from propriety.tables.engines import aggregate
from propriety.tables.lazy_reading import read_lazy_cases

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "quality"))
from record import RESULTS, table, write

LEVEL = 20
CELLS = 2.0**LEVEL
BY_HAND = f"""
    SELECT CASE WHEN p > 0 THEN CAST(floor(p * {CELLS}) AS BIGINT) ELSE -1 END AS cell,
           count(*) AS cases, sum(CAST(y AS DOUBLE)) AS events, min(p) AS lowest, max(p) AS highest
    FROM {{cases}} GROUP BY 1
"""  # noqa: S608  (the table is named here)
SERIES = [f"{loss}_{of}" for loss in ("brier", "log") for of in ("p", "q", "d")]
MOMENTS_BY_HAND = f"""
    SELECT count(*) AS n, {", ".join(f"sum({name}), sum({name} * {name})" for name in SERIES)}
    FROM (
        SELECT *, brier_p - brier_q AS brier_d, log_p - log_q AS log_d
        FROM (
            SELECT (p - y) * (p - y) AS brier_p, (q - y) * (q - y) AS brier_q,
                   -ln(CASE WHEN y = 1 THEN p ELSE 1 - p END) AS log_p,
                   -ln(CASE WHEN y = 1 THEN q ELSE 1 - q END) AS log_q
            FROM {{cases}}
        ) AS losses
    ) AS series
"""  # noqa: S608  (as above)
RULES = (pr.Brier(), pr.Log())
Work = Callable[[], object]


def made(folder: str, rows: int) -> str:
    """Draw calibrated continuous forecasts into a Parquet file."""
    import duckdb

    path = str(Path(folder) / f"cases_{rows}.parquet")
    if not Path(path).exists():
        with duckdb.connect() as connection:
            unit = "hash(i * 2 + {}) / 18446744073709551616.0"
            drawn = f"SELECT {unit.format(0)} AS p, {unit.format(1)} AS u FROM range({rows}) AS t(i)"  # noqa: S608
            columns = "p, 0.1 + 0.8 * p AS q, CAST(u < p AS TINYINT) AS y"
            connection.sql(f"SELECT {columns} FROM ({drawn})").write_parquet(path)  # noqa: S608
    return path


def cells_of(frame: object) -> object:
    """Run the first query of a forecast table."""
    return aggregate(read_lazy_cases(nw.from_native(frame), {"p": "p"}, outcome="y"), LEVEL, ends=True)


def moments_of(frame: object) -> object:
    """Run the query of the moments."""
    return sums_of_lazy(read_lazy_cases(nw.from_native(frame), {"p": "p", "q": "q"}, outcome="y"), RULES)


@contextmanager
def on_duckdb(path: str) -> Iterator[dict[str, tuple[Work, Work]]]:
    import duckdb

    with duckdb.connect() as connection:

        def by_hand(query: str) -> Work:
            return lambda: connection.sql(query.format(cases=f"'{path}'")).to_arrow_table()

        yield {
            "cells": (by_hand(BY_HAND), lambda: cells_of(connection.read_parquet(path))),
            "moments": (by_hand(MOMENTS_BY_HAND), lambda: moments_of(connection.read_parquet(path))),
        }


@contextmanager
def on_polars(path: str) -> Iterator[dict[str, tuple[Work, Work]]]:
    import polars as pl

    frame, p, y = pl.scan_parquet(path), pl.col("p"), pl.col("y").cast(pl.Float64)
    cell = pl.when(p > 0).then((p * CELLS).floor()).otherwise(-1.0).cast(pl.Int64).alias("cell")
    ends = [p.min().alias("lowest"), p.max().alias("highest")]
    cells = frame.select(cell, p, y).group_by("cell").agg(pl.len(), pl.col("y").sum(), *ends)
    briers = {f"brier_{name}": (pl.col(name) - y) ** 2 for name in "pq"}
    logs = {f"log_{name}": -pl.when(y == 1).then(pl.col(name)).otherwise(1 - pl.col(name)).log() for name in "pq"}
    differences = {f"{loss}_d": pl.col(f"{loss}_p") - pl.col(f"{loss}_q") for loss in ("brier", "log")}
    sums = [term for name in SERIES for term in (pl.col(name).sum(), (pl.col(name) ** 2).sum().name.suffix("_2"))]
    moments = frame.select(**briers, **logs).with_columns(**differences).select(pl.len().alias("n"), *sums)
    yield {
        "cells": (cells.collect, lambda: cells_of(pl.scan_parquet(path))),
        "moments": (moments.collect, lambda: moments_of(pl.scan_parquet(path))),
    }


@contextmanager
def on_spark(path: str) -> Iterator[dict[str, tuple[Work, Work]]]:
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

    def by_hand(query: str) -> Work:
        return lambda: session.sql(query.format(cases=f"parquet.`{path}`")).toArrow()

    yield {
        "cells": (by_hand(BY_HAND), lambda: cells_of(session.read.parquet(path))),
        "moments": (by_hand(MOMENTS_BY_HAND), lambda: moments_of(session.read.parquet(path))),
    }
    session.stop()


ENGINES = {"duckdb": on_duckdb, "polars": on_polars, "spark": on_spark}


def timed(pair: tuple[Work, Work], rounds: int) -> tuple[float, float]:
    """Return the median seconds of two works done by turns; the first round warms up."""
    times: tuple[list[float], list[float]] = ([], [])
    for round_ in range(rounds + 1):
        for work, taken in zip(pair, times, strict=True):
            begin = time.perf_counter()
            work()
            if round_:
                taken.append(time.perf_counter() - begin)
    own, ours = (statistics.median(taken) for taken in times)
    return own, ours


def others(caption: str, found: list[dict[str, object]]) -> list[dict[str, object]]:
    """Return what an earlier run like this found of other engines or aggregates."""
    path = RESULTS / "engines_overhead.json"
    if not path.exists():
        return []
    (last,) = json.loads(path.read_text(encoding="utf-8"))["tables"]
    rows = [dict(zip(last["columns"], row, strict=True)) for row in last["rows"] if last["caption"] == caption]
    known = {(row["engine"], row["aggregate"]) for row in found}
    return [row for row in rows if (row["engine"], row["aggregate"]) not in known]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--aggregates", nargs="+", choices=["cells", "moments"], default=["cells", "moments"])
    parser.add_argument("--folder", help="where the Parquet file is kept for another run")
    options = parser.parse_args()
    found = []
    with ExitStack() as stack:
        folder = options.folder or stack.enter_context(tempfile.TemporaryDirectory())
        path = made(folder, options.rows)
        for engine in options.engines:
            with ENGINES[engine](path) as pairs:
                for name in options.aggregates:
                    own, ours = timed(pairs[name], options.rounds)
                    row = {"engine": engine, "aggregate": name, "by hand, s": round(own, 2)}
                    found.append(row | {"through propriety, s": round(ours, 2), "ratio": round(ours / own, 3)})
                    print(found[-1], flush=True)
    caption = f"Median seconds of {options.rounds} runs on {options.rows:,} rows, taken by turns."
    found += others(caption, found)
    found.sort(key=lambda row: (row["aggregate"], list(ENGINES).index(row["engine"])))
    spans = {}
    for name in ("cells", "moments"):
        ratios = [row["ratio"] for row in found if row["aggregate"] == name]
        spans[name] = f"{min(ratios)} to {max(ratios)}" if ratios else "not measured"
    write(
        "engines_overhead",
        title="Aggregations on engines, against the same by hand",
        summary=f"Times as long as by hand, on {options.rows:,} rows of a Parquet file: {spans['cells']} for the cells "
        f"of a forecast table, {spans['moments']} for moments of losses. What is written by hand checks nothing, loses "
        "the digits of log(1 - p) next to 0 and adds one row after another.",
        command=f"python benchmarks/engines.py --rows {options.rows} --rounds {options.rounds}",
        tables=[table(caption, found)],
        libraries=["propriety", "narwhals", "duckdb", "polars", "pyspark"],
    )


if __name__ == "__main__":
    main()
