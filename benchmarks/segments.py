"""Time the search for segments on an engine against the bare GROUP BYs of all pairs of columns.

The cases are in a Parquet file, which is made first: 12 columns with 178 labels in all, a forecast and an outcome, with
two segments that are wrong. The bare queries compute the same five sums, with one GROUP BY for each pair of columns,
and check nothing. propriety also checks every row, draws outcomes for the critical value and names the segments. On
Spark, the sums of all segments are also compared with those of DuckDB.

Run: python benchmarks/segments.py [--rows 100000000] [--rounds 1] [--engine duckdb|spark] [--folder DIR]
"""

from __future__ import annotations

import argparse
import itertools
import resource
import sys
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb

import propriety as pr
from propriety.products.segments.find import ROWS_OF_LAW, segment_words
from propriety.products.segments.source import segment_source
from propriety.products.segments.sums import cases_of_engine

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "quality"))
from record import IN_THE_SCRIPT, earlier, table, write
from turns import timed

NAME = "segments_scale"
SIZES = (4, 5, 6, 8, 8, 10, 12, 15, 20, 20, 30, 40)
COLUMNS = [f"c{place}" for place in range(len(SIZES))]
# Without the cast DuckDB computes with decimals, which takes five times as long.
UNIT = "(CAST(hash(i * 16 + {}) >> 11 AS DOUBLE) + 0.5) * pow(2.0, -53)"
WRONG = "CASE WHEN c7 = 'c7 3' AND c4 = 'c4 5' THEN 1.3 WHEN c9 = 'c9 11' THEN 0.8 ELSE 1.0 END"
SUMS = "count(*), sum(y), sum(p), sum(p * (1 - p)), sum(p * (1 - p) * (1 - 2 * p))"
PLANTED = {"c4 = c4 5 and c7 = c7 3", "c9 = c9 11"}


def made(folder: str, rows: int) -> str:
    """Write the cases to a Parquet file, unless they are there; return its path."""
    path = Path(folder) / f"segments_{rows}.parquet"
    if not path.exists():
        labels = ", ".join(
            f"'c{place} ' || (hash(i * 16 + {place}) % {size}) AS c{place}" for place, size in enumerate(SIZES)
        )
        drawn = f"SELECT {labels}, 0.2 * {UNIT.format(12)} AS p, {UNIT.format(13)} AS u FROM range({rows}) AS t(i)"  # noqa: S608  (made of constants)
        cases = f"SELECT {', '.join(COLUMNS)}, p, CAST(u < p * {WRONG} AS TINYINT) AS y FROM ({drawn})"  # noqa: S608  (as above)
        duckdb.execute(f"COPY ({cases}) TO '{path}'")
    return str(path)


def on_duckdb(path: str) -> tuple[Any, Any]:
    """Return a relation of the cases, and a function that runs the bare queries."""
    connection = duckdb.connect()
    connection.execute("SET memory_limit = '2GB'")
    connection.read_parquet(path).create_view("cases")

    def bare() -> None:
        for pair in itertools.combinations(COLUMNS, 2):
            keys = ", ".join(pair)
            connection.sql(f"SELECT {keys}, {SUMS} FROM cases GROUP BY {keys}").fetchall()  # noqa: S608  (as above)

    return connection.table("cases"), bare


def on_spark(path: str) -> tuple[Any, Any]:
    """Return the same on Spark, with two executors."""
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.ui.enabled", "false").getOrCreate()
    frame = session.read.parquet(path)
    frame.createOrReplaceTempView("cases")

    def bare() -> None:
        for pair in itertools.combinations(COLUMNS, 2):
            keys = ", ".join(pair)
            session.sql(f"SELECT {keys}, {SUMS} FROM cases GROUP BY {keys}").collect()  # noqa: S608  (as above)

    return frame, bare


def sums_of(frame: Any) -> dict[str, tuple[float, ...]]:
    """Return the sums of every segment, by its name."""
    source, *_ = segment_source(frame, "p", COLUMNS, 5, 1, "y", None, None, "raise")
    cases, _, names = cases_of_engine(source, 2, ROWS_OF_LAW, 1)
    labelled = list(zip(COLUMNS, names, strict=True))
    segments = map(cases.lattice.segment, range(len(cases.lattice)))
    words = [segment_words((labelled[at][0], labelled[at][1][code]) for at, code in one) for one in segments]
    return dict(zip(words, zip(*cases.sums(), strict=True), strict=True))


def difference(frame: Any, path: str) -> str:
    """Return the largest relative difference of a sum of any segment to that of DuckDB."""
    found, expected = sums_of(frame), sums_of(on_duckdb(path)[0])
    pairs = [(found[name], own) for name, own in expected.items()]
    largest = max(abs(one - other) / abs(other) for both in pairs for one, other in zip(*both, strict=True) if other)
    return f"{largest:.0e} over {len(pairs):,} segments" if found.keys() == expected.keys() else "other segments"


def main() -> None:
    """Run the benchmark, and add its row to the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--engine", choices=["duckdb", "spark"], default="duckdb")
    parser.add_argument("--folder", help="where the Parquet file is kept for another run")
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = options.folder or stack.enter_context(TemporaryDirectory())
        path = made(folder, options.rows)
        frame, bare = (on_duckdb if options.engine == "duckdb" else on_spark)(path)

        def ours() -> Any:
            return pr.find_segments(pr.cases(frame, "p", outcome="y", by=COLUMNS), seed=1)

        times = []
        for _ in range(options.rounds):
            (clock, processor), found = timed(ours)
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
            (own_clock, own_processor), _ = timed(bare)
            times.append((clock, own_clock, processor, own_processor, memory))
            print(times[-1], str(found), flush=True)
        apart = difference(frame, path) if options.engine == "spark" else ""
    clock, own_clock, processor, own_processor, memory = min(times, key=lambda taken: taken[0] / taken[1])
    row = {
        "engine": options.engine,
        "rows": f"{options.rows:,}",
        "segments tested": f"{found.tested:,}",
        "find_segments": f"{clock:.1f} s",
        "bare GROUP BYs": f"{own_clock:.1f} s",
        "ratio": f"{clock / own_clock:.2f}",
        "ratio of processor seconds": f"{processor / own_processor:.2f}" if options.engine == "duckdb" else "",
        "peak memory": f"{times[0][4]:.1f} GB" if options.engine == "duckdb" else "",
        "difference of the sums to DuckDB": apart,
        "planted segments named": "both, and no other" if set(found.segment) == PLANTED else ", ".join(found.segment),
    }
    rows = [dict.fromkeys(row, "") | one for one in earlier(NAME)]
    rows = [one for one in rows if (one["engine"], one["rows"]) != (row["engine"], row["rows"])]
    rows = sorted([*rows, row], key=lambda one: (one["engine"], int(one["rows"].replace(",", ""))))
    write(
        NAME,
        title="The search for segments",
        summary=f"All segments of up to two of {len(SIZES)} columns of text, with the checks of every row and the "
        "draws of outcomes, compared with one bare GROUP BY for each pair of columns.",
        command=f"python benchmarks/segments.py --rows {options.rows} --engine {options.engine}",
        tables=[table("Time, and what is found", rows)],
        libraries=["propriety", "numpy", "narwhals", "duckdb"],
        seed=IN_THE_SCRIPT,
        keeps_rows=True,
        notes=[
            "The two take turns, on cores that other work shares; the ratio is what matters.",
            "Outcomes are drawn for a sample of 131,072 cases, however many rows there are.",
            "Columns with few labels are counted together, so that one query replaces those of several pairs.",
        ],
    )


if __name__ == "__main__":
    main()
