"""Time recalibration on an engine against the same counts by a query by hand: ten folds, all methods of one event.

The rows are in a Parquet file, which is made first. More than 1e8 rows are a file of 1e8 rows read several times. The
query by hand sums cases, events and forecasts by fold and cell of a grid, and checks nothing. propriety also checks,
fits every method to all cases and to all folds but one, and scores them out of sample.

Run: python benchmarks/recalibration.py [--rows 1000000000] [--engine duckdb|spark]
"""

from __future__ import annotations

import argparse
import resource
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import propriety as pr
from propriety.recalibration import METHODS

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "quality"))
from record import IN_THE_SCRIPT, earlier, table, write
from turns import timed

NAME, FOLDS, CELLS = "recalibration_scale", 10, 2**16
RATE = "0.15 + 0.7 * p"  # The forecasts are too extreme.
DRAWN = "((hash({0}) >> 11) + 0.5) * pow(2.0, -53)"
LONGEST = 10**8  # Most rows of the file.
BY_HAND = f"""
    SELECT id % {FOLDS} AS fold, CAST(floor(p * {CELLS}) AS BIGINT) AS cell, count(*) AS cases,
           sum(CASE WHEN y THEN 1 ELSE 0 END) AS events, sum(p) AS forecasts
    FROM cases GROUP BY 1, 2
"""  # noqa: S608  (the table is named here)
Cases = tuple[Any, Callable[[], object]]


def written(folder: Path, rows: int) -> list[str]:
    """Write a file of cases, each with a number, a forecast and whether the event happened; return what to read."""
    import duckdb

    file, times = folder / "cases.parquet", max(rows // LONGEST, 1)
    p, u = DRAWN.format("id"), DRAWN.format("id + 9223372036")
    numbers = f"(SELECT range AS id FROM range({rows // times}))"  # noqa: S608  (our own words)
    drawn = f"SELECT id, {p} AS p, {u} AS u FROM {numbers}"  # noqa: S608  (as above)
    duckdb.execute(f"COPY (SELECT id, p, u < {RATE} AS y FROM ({drawn})) TO '{file}'")  # noqa: S608  (as above)
    return [str(file)] * times


def on_duckdb(files: list[str]) -> Cases:
    """Return a relation of the cases, and the query by hand."""
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET memory_limit = '2GB'")
    connection.read_parquet(files).create_view("cases")
    return connection.table("cases"), lambda: connection.sql(BY_HAND).fetchnumpy()


def on_spark(files: list[str]) -> Cases:
    """Return a data frame of the cases, and the query by hand."""
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master("local[2]").config("spark.driver.memory", "2g").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    session.read.parquet(*files).createOrReplaceTempView("cases")
    return session.table("cases"), lambda: session.sql(BY_HAND).collect()


ENGINES: Mapping[str, Callable[[list[str]], Cases]] = {"duckdb": on_duckdb, "spark": on_spark}


def kept(row: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the rows of the record with a new one in place of that of the same engine and number of rows."""
    others = [one for one in earlier(NAME) if (one["engine"], one["rows"]) != (row["engine"], row["rows"])]
    return sorted([*others, row], key=lambda one: (one["engine"], float(one["rows"])))


def main() -> None:
    """Measure one engine, and write its row into the record."""
    asked = argparse.ArgumentParser()
    asked.add_argument("--rows", type=float, default=1e9)
    asked.add_argument("--engine", choices=ENGINES, default="duckdb")
    options = asked.parse_args()
    rows = int(options.rows)
    with TemporaryDirectory() as folder:
        cases, by_hand = ENGINES[options.engine](written(Path(folder), rows))
        by_hand()  # The file is then in memory, for both.
        (counted, _), _ = timed(by_hand)
        (taken, _), fix = timed(
            lambda: pr.recalibrate(cases, "p", outcome="y", id="id", folds=FOLDS, candidates=list(METHODS))
        )
    print(fix)
    row = {
        "engine": options.engine,
        "rows": f"{rows:.0e}".replace("e+0", "e"),
        "query by hand (s)": round(counted, 1),
        "recalibrate, all methods (s)": round(taken, 1),
        "ratio": round(taken / counted, 2),
        "peak memory of the Python process (GB)": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
    }
    print(row)
    rows_kept = kept(row)
    most = max(rows_kept, key=lambda one: float(one["rows"]))
    write(
        NAME,
        title="Recalibration on engines",
        summary=(
            f"Counting {most['rows']} rows on {most['engine']} in {FOLDS} folds, fitting and cross-fitting "
            f"{len(METHODS)} methods takes {most['ratio']} times as long as a query by hand that sums the same."
        ),
        command="python benchmarks/recalibration.py --rows ROWS --engine ENGINE",
        tables=[table("The rows are read from Parquet.", rows_kept)],
        libraries=("propriety", "numpy", "scipy", "narwhals", "duckdb"),
        seed=IN_THE_SCRIPT,
        keeps_rows=True,
    )


if __name__ == "__main__":
    main()
