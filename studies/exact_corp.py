"""Is the reliability curve of a lazy frame identical to that of its cases? Compared block by block, and timed.

Cases are generated inside DuckDB by hashing row numbers, so they need no storage: a forecast uniform on [0, 1] and an
event with the probability forecast + sin(20 forecast) / 50. The curve of the refined table is compared with isotonic
regression of all cases in NumPy, in every field of every block, up to `--compare` cases; above, only the engine is
timed. Writes `results/exact_corp.csv`: seconds of the aggregation, seconds of the whole table and of processors, the
share of the cases that later queries fetched, rows of the table, blocks, and the largest resident memory of the process
that queried.

Run: python studies/exact_corp.py [--rows 10000000 100000000 1000000000] [--compare 100000000]
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from typing import Any

import duckdb
import numpy as np
from study_tables import write_rows

from propriety.calibration.blocks import pool_adjacent_violators
from propriety.tables import refinement
from propriety.tables.forecast_table import ForecastTable

CASES = """
    SELECT p, (u < least(greatest(p + sin(20 * p) / 50, 0), 1))::TINYINT AS y
    FROM (
        SELECT hash(i * 2) / 18446744073709551616.0 AS p, hash(i * 2 + 1) / 18446744073709551616.0 AS u
        FROM range({rows}) AS t(i)
    )
"""
FIELDS = ("forecast_min", "forecast_max", "event_rate", "weight")


def blocks_of(table: ForecastTable) -> dict[str, np.ndarray]:
    """Return the fields of the pooled blocks of a table."""
    blocks = pool_adjacent_violators(table)
    ends = table.forecast[blocks.start[:-1]], table.forecast[blocks.start[1:] - 1]
    return dict(zip(FIELDS, (*ends, blocks.event_rate, blocks.weight), strict=True))


def refined(rows: int) -> tuple[ForecastTable, dict[str, Any]]:
    """Make the refined table of so many cases and say what it took."""
    queries: list[tuple[float, float]] = []
    aggregate = refinement.aggregate

    def timed(*arguments: Any, **options: Any) -> Any:
        begin = time.perf_counter()
        counted = aggregate(*arguments, **options)
        queries.append((time.perf_counter() - begin, sum(float(counts.cases.sum()) for counts in counted)))
        return counted

    refinement.aggregate = timed
    with duckdb.connect() as connection:
        frame = connection.sql(CASES.format(rows=rows))
        begin, busy = time.perf_counter(), time.process_time()
        table = ForecastTable.from_frame(frame, outcome="y", forecast="p")
        seconds, busy = time.perf_counter() - begin, time.process_time() - busy
    refinement.aggregate = aggregate
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return table, {
        "rows": rows,
        "first_query_seconds": round(queries[0][0], 2),
        "later_queries": len(queries) - 1,
        "later_queries_seconds": round(sum(query[0] for query in queries[1:]), 2),
        "seconds": round(seconds, 2),
        "processor_seconds": round(busy, 2),
        "share_fetched": round(sum(query[1] for query in queries[1:]) / rows, 5),
        "table_rows": len(table),
        "peak_memory_gb": round(memory, 2),
    }


def exact_blocks(rows: int) -> dict[str, np.ndarray]:
    """Pool all cases in NumPy."""
    with duckdb.connect() as connection:
        columns = connection.sql(CASES.format(rows=rows)).fetchnumpy()
    return blocks_of(ForecastTable.from_predictions(columns["y"], columns["p"]))


def measured(rows: int, *, compare: bool) -> dict[str, Any]:
    """Return one row of the results."""
    table, found = refined(rows)
    blocks = blocks_of(table)
    found["blocks"] = len(blocks["weight"])
    if compare:
        expected = exact_blocks(rows)
        same = all(np.array_equal(blocks[name], expected[name]) for name in FIELDS)
        found["identical"] = "yes" if same else "no"
    else:
        found["identical"] = ""
    return found


def main() -> None:
    """Measure each number of cases in a process of its own, whose memory is its own, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000_000, 100_000_000, 1_000_000_000])
    parser.add_argument("--compare", type=int, default=100_000_000)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        rows = options.rows[0]
        print(json.dumps(measured(rows, compare=rows <= options.compare)))
        return
    found = []
    for rows in options.rows:
        command = [sys.executable, __file__, "--one", "--rows", str(rows)]
        command += ["--compare", str(options.compare)]
        run = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603  (this script)
        found.append(json.loads(run.stdout))
        print(found[-1], flush=True)
    write_rows("exact_corp", found, libraries=("propriety", "numpy", "scipy", "narwhals", "duckdb"))


if __name__ == "__main__":
    main()
