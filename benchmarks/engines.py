"""Time the aggregations of propriety, compared with hand-written queries of the same aggregates.

`cells` counts the cells of a grid: cases, events, smallest and largest forecast; propriety also checks every row.
`moments` sums the Brier and log losses of two models, their differences, and all squares. The plain hand-written query
computes log(1 - p) inaccurately near 0 and adds rows one by one; `accurate moments` compares the same query of
propriety with a hand-written one that is accurate and adds the sums of 256 cells of the forecast, as propriety does.
The queries take turns in one run on a Parquet file that DuckDB generates. The record has the ratios of the median
times, and of processor seconds if the engine runs in this process.

Run: python benchmarks/engines.py [--rows 100000000] [--rounds 5] [--engines duckdb polars spark]
                                  [--aggregates cells moments "accurate moments"] [--folder DIR]
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
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
from turns import by_turns

LEVEL = 20
CELLS = 2.0**LEVEL
BY_HAND = f"""
    SELECT CASE WHEN p > 0 THEN CAST(floor(p * {CELLS}) AS BIGINT) ELSE -1 END AS cell,
           count(*) AS cases, sum(CAST(y AS DOUBLE)) AS events, min(p) AS lowest, max(p) AS highest
    FROM {{cases}} GROUP BY 1
"""  # noqa: S608  (the table is named here)
SERIES = [f"{loss}_{of}" for loss in ("brier", "log") for of in ("p", "q", "d")]
LOG = "-ln(CASE WHEN y = 1 THEN {p} ELSE 1 - {p} END)"
# Minus the logarithm of 1 - p with what was rounded off in it.
ACCURATE_LOG = (
    "CASE WHEN y = 1 THEN CASE WHEN {p} > 0 THEN -ln({p}) ELSE CAST('Infinity' AS DOUBLE) END "
    "WHEN {p} < 1 THEN (((1 - {p}) - 1) + {p}) / (1 - {p}) - ln(1 - {p}) ELSE CAST('Infinity' AS DOUBLE) END"
)


def moments_by_hand(log: str, part: str = "", groups: str = "") -> str:
    """Return the query of the moments, with the formula of the log loss, and by parts of the rows."""
    sums = ", ".join(f"sum({name}) AS s_{name}, sum({name} * {name}) AS u_{name}" for name in SERIES)
    return f"""
        SELECT count(*) AS n, {sums}
        FROM (
            SELECT *, brier_p - brier_q AS brier_d, log_p - log_q AS log_d
            FROM (
                SELECT (p - y) * (p - y) AS brier_p, (q - y) * (q - y) AS brier_q,
                       {log.format(p="p")} AS log_p, {log.format(p="q")} AS log_q{part}
                FROM (SELECT p, q, CAST(y AS DOUBLE) AS y FROM {{cases}}) AS rows_
            ) AS losses
        ) AS series {groups}
    """  # noqa: S608  (as above)


MOMENTS_BY_HAND = moments_by_hand(LOG)
ACCURATE_MOMENTS = moments_by_hand(ACCURATE_LOG, ", floor(p * 256) AS part", "GROUP BY part")
AGGREGATES = ("cells", "moments", "accurate moments")
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


def moments_of(frame: object, rows: int) -> object:
    """Run the query of the moments."""
    cases = read_lazy_cases(nw.from_native(frame), {"p": "p", "q": "q"}, outcome="y")
    return sums_of_lazy(cases, RULES, rows=rows)


@contextmanager
def on_duckdb(path: str, rows: int) -> Iterator[dict[str, tuple[Work, Work]]]:
    import duckdb

    with duckdb.connect() as connection:

        def by_hand(query: str) -> Work:
            return lambda: connection.sql(query.format(cases=f"'{path}'")).to_arrow_table()

        def moments() -> object:
            return moments_of(connection.read_parquet(path), rows)

        yield {
            "cells": (by_hand(BY_HAND), lambda: cells_of(connection.read_parquet(path))),
            "moments": (by_hand(MOMENTS_BY_HAND), moments),
            "accurate moments": (by_hand(ACCURATE_MOMENTS), moments),
        }


@contextmanager
def on_polars(path: str, rows: int) -> Iterator[dict[str, tuple[Work, Work]]]:
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
    # Polars adds up a whole column pairwise.
    exact = {
        f"log_{name}": -pl.when(y == 1).then(pl.col(name).log()).otherwise((-pl.col(name)).log1p()) for name in "pq"
    }
    accurate = frame.select(**briers, **exact).with_columns(**differences).select(pl.len().alias("n"), *sums)

    def ours() -> object:
        return moments_of(pl.scan_parquet(path), rows)

    yield {
        "cells": (cells.collect, lambda: cells_of(pl.scan_parquet(path))),
        "moments": (moments.collect, ours),
        "accurate moments": (accurate.collect, ours),
    }


@contextmanager
def on_spark(path: str, rows: int) -> Iterator[dict[str, tuple[Work, Work]]]:
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

    def moments() -> object:
        return moments_of(session.read.parquet(path), rows)

    yield {
        "cells": (by_hand(BY_HAND), lambda: cells_of(session.read.parquet(path))),
        "moments": (by_hand(MOMENTS_BY_HAND), moments),
        "accurate moments": (by_hand(ACCURATE_MOMENTS), moments),
    }
    session.stop()


ENGINES = {"duckdb": on_duckdb, "polars": on_polars, "spark": on_spark}


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
    parser.add_argument("--aggregates", nargs="+", choices=AGGREGATES, default=list(AGGREGATES))
    parser.add_argument("--folder", help="where the Parquet file is kept for another run")
    options = parser.parse_args()
    found = []
    with ExitStack() as stack:
        folder = options.folder or stack.enter_context(tempfile.TemporaryDirectory())
        path = made(folder, options.rows)
        for engine in options.engines:
            with ENGINES[engine](path, options.rows) as pairs:
                for name in options.aggregates:
                    own, ours = by_turns(
                        dict(zip(("by hand", "ours"), pairs[name], strict=True)), options.rounds
                    ).values()
                    row = {"engine": engine, "aggregate": name, "by hand, s": round(own.clock, 2)}
                    row |= {"through propriety, s": round(ours.clock, 2), "ratio": round(ours.clock / own.clock, 3)}
                    # Spark has a process of its own.
                    used = "" if engine == "spark" else round(ours.processor / own.processor, 3)
                    found.append(row | {"processor ratio": used})
                    print(found[-1], flush=True)
    caption = f"Median seconds of {options.rounds} runs on {options.rows:,} rows; the implementations take turns."
    found += others(caption, found)
    found.sort(key=lambda row: (row["aggregate"], list(ENGINES).index(row["engine"])))
    spans = {}
    for name in AGGREGATES:
        ratios = [row["ratio"] for row in found if row["aggregate"] == name]
        spans[name] = f"{min(ratios)} to {max(ratios)}" if ratios else "not measured"
    write(
        "engines_overhead",
        title="Aggregations on engines, compared with hand-written queries",
        summary=f"Ratio of the time of propriety to that of a hand-written query, on {options.rows:,} rows of a "
        f"Parquet file. Cells of a forecast table: {spans['cells']}; the hand-written query checks nothing. Moments of "
        f"losses: {spans['moments']} compared with a plain query, which computes log(1 - p) inaccurately near 0 and "
        f"adds rows one by one, and {spans['accurate moments']} compared with an equally accurate query.",
        command=f"python benchmarks/engines.py --rows {options.rows} --rounds {options.rounds}",
        tables=[table(caption, found)],
        libraries=["propriety", "narwhals", "duckdb", "polars", "pyspark"],
        keeps_rows=True,
    )


if __name__ == "__main__":
    main()
