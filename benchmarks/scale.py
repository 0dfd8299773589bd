"""Fill a ledger, evaluate and recalibrate from it, and search segments: seconds and memory by the number of rows.

The rows are in Parquet files, which are made first: two models, ten folds, fifty sites, three columns of labels and a
planted segment. More than 1e8 rows are files of 1e8 rows read several times, each time with other outcomes: repeated
outcomes would deviate together, as no sample of that size does. Filling takes turns with plain SQL that sums the same
and checks nothing, the search for segments with one bare GROUP BY for each pair of columns. Every number of rows has a
process of its own, so that its peak memory is known.

Run: python benchmarks/scale.py [--rows 1e7 1e8 1e9] [--folder DIR]
"""

from __future__ import annotations

import argparse
import itertools
import resource
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb

import propriety as pr

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "quality"))
from ledger_year import LOSSES, MODELS, moments_by_hand, tables_by_hand
from record import IN_THE_SCRIPT, earlier, table, write
from turns import timed

NAME = "scale"
LONGEST = 10**8  # Most rows of the files.
READINGS = 10  # Outcomes of each row of the files, one for each time they are read.
PIECES = 2  # Files, written at the same time.
KEYS, COLUMNS = ("fold", "site"), ("site", "device", "channel", "country")
PLANTED = "device = device 2 and channel = channel 3"
SUMS = "count(*), sum(y), sum(a), sum(a * (1 - a)), sum(a * (1 - a) * (1 - 2 * a))"
UNIT = "((hash(i * 16 + {}) >> 11) + 0.5) * pow(2.0, -53)"
SMALL, LARGE = "1e8", "1e9"  # Between these, memory shall stay and time shall grow at most 12.5 times.


def label(name: str, place: int, count: int) -> str:
    """Return the expression of a column of labels that are drawn."""
    return f"'{name} ' || (hash(i * 16 + {place}) % {count}) AS {name}"


def made(folder: str, rows: int) -> str:
    """Write the cases to Parquet files, unless they are there; return the query that reads them."""
    times = max(rows // LONGEST, 1)
    place = Path(folder).resolve() / f"scale_{rows // times}"
    if not place.exists():
        place.mkdir()
        with ThreadPoolExecutor(PIECES) as pool:  # DuckDB counts up in one thread.
            list(pool.map(write_piece, [place] * PIECES, range(PIECES), [rows // times // PIECES] * PIECES))
    for reading in range(times):
        own = place / f"reading={reading}"
        if not own.exists():
            own.mkdir()
            for piece in place.glob("*.parquet"):
                (own / piece.name).symlink_to(piece)
    # One scan of all readings: a UNION ALL of them would keep groups of its own for each.
    files = [str(place / f"reading={reading}" / "*.parquet") for reading in range(times)]
    kept = "* EXCLUDE (outcomes, reading), CAST((outcomes >> CAST(reading AS INTEGER)) & 1 AS TINYINT) AS y"
    return f"SELECT {kept} FROM read_parquet({files}, hive_partitioning = true)"  # noqa: S608  (made of constants)


def write_piece(place: Path, piece: int, rows: int) -> None:
    """Write one of the files, with rows of its own."""
    columns = [label("site", 0, 50), label("device", 1, 8), label("channel", 2, 12), label("country", 3, 20)]
    units = [f"0.001 + 0.4 * {UNIT.format(4)} AS a", *(f"{UNIT.format(5 + k)} AS u{k}" for k in range(READINGS))]
    numbers = f"range({piece * rows}, {(piece + 1) * rows}) AS t(i)"
    drawn = f"SELECT i % 10 AS fold, {', '.join(columns + units)} FROM {numbers}"  # noqa: S608  (made of constants)
    wrong = "CASE WHEN device = 'device 2' AND channel = 'channel 3' THEN 1.3 ELSE 1.0 END"
    outcomes = " + ".join(f"CAST(u{k} < a * {wrong} AS SMALLINT) * {2**k}" for k in range(READINGS))
    kept = "fold, site, device, channel, country, a, 0.05 + 0.8 * a AS b"
    path = place / f"{piece}.parquet"
    duckdb.connect().execute(f"COPY (SELECT {kept}, {outcomes} AS outcomes FROM ({drawn})) TO '{path}'")  # noqa: S608  (as above)


def steps(rows: int, folder: str) -> dict[str, Any]:
    """Do all the work with a number of rows; return its row of the record."""
    connection = duckdb.connect()
    connection.execute("SET memory_limit = '2GB'")
    connection.sql(made(folder, rows)).create_view("cases")
    cases = connection.table("cases")
    (count, _), _ = timed(lambda: connection.sql("SELECT sum(a), sum(b), count(site) FROM cases").fetchall())
    print(f"read in {count:.1f} s", flush=True)  # What fits is now in memory, for all.
    (filled, _), ledger = timed(lambda: pr.condense(cases, list(MODELS), outcome="y", by=list(KEYS)))
    cells = ledger.table("a").cells

    def plain() -> None:
        for model in MODELS:
            connection.sql(tables_by_hand("cases", model, cells, checked=False, keys=KEYS)).to_arrow_table()
        connection.sql(moments_by_hand("cases", LOSSES, keys=KEYS)).to_arrow_table()

    def bare() -> None:
        for pair in itertools.combinations(COLUMNS, 2):
            keys = ", ".join(pair)
            connection.sql(f"SELECT {keys}, {SUMS} FROM cases GROUP BY {keys}").fetchall()  # noqa: S608  (made of constants)

    (summed, _), _ = timed(plain)
    print(f"filled in {filled:.1f} s, plain SQL {summed:.1f} s, {cells} cells", flush=True)
    with TemporaryDirectory(dir=folder) as store:
        ledger.to_parquet(Path(store) / "ledger")
        (evaluated, _), _ = timed(lambda: str(pr.evaluate(pr.Ledger.from_parquet(Path(store) / "ledger"), seed=1)))
    (mended, _), _ = timed(lambda: pr.recalibrate(ledger, model="b", folds="fold"))
    print(f"evaluated in {evaluated:.1f} s, recalibrated in {mended:.1f} s", flush=True)
    (searched, _), found = timed(lambda: pr.find_segments(pr.cases(cases, "a", outcome="y", by=list(COLUMNS)), seed=1))
    (grouped, _), _ = timed(bare)
    print(f"searched in {searched:.1f} s, bare GROUP BYs {grouped:.1f} s", flush=True)
    return {
        "rows": f"{rows:.0e}".replace("e+0", "e"),
        "fill the ledger (s)": round(filled, 1),
        "ratio to plain SQL": round(filled / summed, 2),
        "read and evaluate it (s)": round(evaluated, 1),
        "recalibrate (s)": round(mended, 1),
        "find segments (s)": round(searched, 1),
        "ratio to bare GROUP BYs": round(searched / grouped, 2),
        "all (s)": round(filled + evaluated + mended + searched, 1),
        "peak memory (GB)": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
        "planted segment": named(list(found.segment)),
    }


def named(segments: Sequence[str]) -> str:
    """Return whether the planted segment was found, and how many others, which are wrong by chance only."""
    others = len(set(segments) - {PLANTED})
    return f"{'named' if PLANTED in segments else 'not named'}, and {others or 'no'} other{'s' if others > 1 else ''}"


def record(row: dict[str, Any]) -> None:
    """Write the record with a new row in place of that of the same number of rows."""
    rows = [*(one for one in earlier(NAME) if one["rows"] != row["rows"]), row]
    rows.sort(key=lambda one: float(one["rows"]))
    known = {one["rows"]: one for one in rows}
    growth = ""
    if SMALL in known and LARGE in known:
        small, large = known[SMALL], known[LARGE]
        growth = (
            f" From {SMALL} to {LARGE} rows the time grows {large['all (s)'] / small['all (s)']:.1f} times, and the "
            f"peak memory {large['peak memory (GB)'] / small['peak memory (GB)']:.2f} times."
        )
    write(
        NAME,
        title="All steps at growing size",
        summary="A ledger of two models, ten folds and fifty sites filled on DuckDB, stored, evaluated and used for "
        f"recalibration, and a search for segments of up to two of four columns.{growth}",
        command=f"python benchmarks/scale.py --rows {' '.join(known)}",
        tables=[table("Seconds by the clock and peak memory of the process", rows)],
        libraries=("propriety", "numpy", "scipy", "narwhals", "duckdb", "pyarrow"),
        seed=IN_THE_SCRIPT,
        keeps_rows=True,
        notes=[
            (
                "DuckDB has a memory limit of 2 GB. More than 1e8 rows are files of 1e8 rows read several times, "
                "each time with other outcomes."
            ),
            (
                "Plain SQL sums the same for each model, fold, site and cell, and checks nothing; a bare GROUP BY "
                "computes the five sums of the segments of a pair of columns."
            ),
        ],
    )


def main(words: Sequence[str] | None = None) -> None:
    """Measure one number of rows in this process, or several in one process each."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--rows", nargs="+", default=["1e7", "1e8", "1e9"])
    asked.add_argument("--folder", help="where the Parquet files are kept for another run")
    options = asked.parse_args(words)
    with ExitStack() as stack:
        folder = options.folder or stack.enter_context(TemporaryDirectory())
        if len(options.rows) == 1:
            row = steps(int(float(options.rows[0])), folder)
            print(row)
            record(row)
        else:
            for rows in options.rows:
                again = [sys.executable, __file__, "--rows", rows, "--folder", folder]
                subprocess.run(again, check=True)  # noqa: S603  (this file)


if __name__ == "__main__":
    main()
