"""What a ledger of many segments costs: bytes, scans, sums and the monitor, per row, cell and segment.

DuckDB generates two days of cases in a Parquet file per day. On one thread, `condense` fills the ledger of each day on
grids of several sizes. The ledgers are stored, read and added, and a monitor is extended by the second day. Times are
processor seconds. `docs/scale.md` extrapolates them to 1e12 rows a day.

Run: python benchmarks/many_segments.py [--segments 500] [--cases 20000]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb

import propriety as pr

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "quality"))
from record import table, write

GRIDS = (64, 1024, 8192)
UNIT = "hash(i * 4 + {}) / 18446744073709551616.0"


def write_cases(path: Path, day: int, segments: int, cases: int) -> None:
    """Write calibrated forecasts of rare events, skewed as those of clicks are, and their outcomes."""
    first = day * segments * cases
    duckdb.sql(f"""
        COPY (
            SELECT {day} AS day, i % {segments} AS segment, p, CAST(u < p AS TINYINT) AS y
            FROM (
                SELECT i, 0.0005 + 0.6 * power({UNIT.format(0)}, 4) AS p, {UNIT.format(1)} AS u
                FROM range({first}, {first + segments * cases}) AS t(i)
            )
        ) TO '{path}' (FORMAT parquet)
    """)  # noqa: S608  (made of constants)


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """Return the result of some work, and the processor seconds that it took."""
    start = time.process_time()
    found = work()
    return found, time.process_time() - start


def size(folder: Path, below: str) -> int:
    """Return the bytes of the files below a folder."""
    return sum(path.stat().st_size for path in (folder / below).rglob("*.parquet"))


def measured(paths: list[Path], cells: int, segments: int, cases: int, scratch: Path) -> dict[str, Any]:
    """Measure everything on one grid."""
    rows = segments * cases

    def filled(path: Path) -> pr.Ledger:
        source = duckdb.sql(f"SELECT * FROM '{path}'")  # noqa: S608  (our file)
        return pr.condense(source, {"m": "p"}, outcome="y", by=["day", "segment"], cells=cells)

    (one, filling), (other, again) = (timed(lambda path=path: filled(path)) for path in paths)
    _, bare = timed(
        lambda: duckdb.sql(
            f"SELECT day, segment, floor(p * {cells}), count(*), sum(y), sum(p) FROM '{paths[0]}' GROUP BY ALL"  # noqa: S608
        ).to_arrow_table()
    )
    folder = scratch / str(cells)
    _, writing = timed(lambda: one.to_parquet(folder))
    stored, reading = timed(lambda: pr.Ledger.from_parquet(folder))
    _, adding = timed(lambda: stored.over("day") + other.over("day"))
    held = sum(len(stored.keyed_tables("m", event).entry) for event in stored.events)
    watch = pr.monitor(one)
    watch.to_parquet(scratch / f"monitor-{cells}")

    def extended() -> None:
        state = pr.results.LedgerMonitor.from_parquet(scratch / f"monitor-{cells}")
        state.extend(other).to_parquet(scratch / f"monitor-{cells}")

    _, monitoring = timed(extended)
    return {
        "grid": f"{cells:,}",
        "cells per segment and day": f"{held / segments:.0f}",
        "bytes per cell": f"{size(folder, 'tables') / held:.1f}",
        "bytes of moments per segment and day": f"{size(folder, 'moments') / segments:.0f}",
        "rows per second and core": f"{2 * rows / (filling + again):,.0f}",
        "same GROUP BY by hand": f"{rows / bare:,.0f}",
        "ns per cell, writing": f"{1e9 * writing / held:.0f}",
        "ns per cell, reading": f"{1e9 * reading / held:.0f}",
        "ns per cell, adding two": f"{1e9 * adding / (2 * held):.0f}",
        "µs per segment, monitoring a day": f"{1e6 * monitoring / segments:.0f}",
        "bytes of the monitor per segment": f"{size(scratch / f'monitor-{cells}', '.') / segments:.0f}",
    }


def main() -> None:
    """Measure and write the record."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--segments", type=int, default=500)
    parser.add_argument("--cases", type=int, default=20_000)
    asked = parser.parse_args()
    duckdb.sql("SET threads = 1")
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        paths = [scratch / f"{day}.parquet" for day in (1, 2)]
        for day, path in enumerate(paths, start=1):
            write_cases(path, day, asked.segments, asked.cases)
        found = [measured(paths, cells, asked.segments, asked.cases, scratch) for cells in GRIDS]
        per_row = sum(path.stat().st_size for path in paths) / (2 * asked.segments * asked.cases)
    rows = [
        {"what": what} | {f"grid of {one['grid']}": one[what] for one in found} for what in found[0] if what != "grid"
    ]
    write(
        "many_segments",
        title="Many segments",
        summary=f"One model, {asked.segments:,} segments with {asked.cases:,} cases a day each: on a grid of "
        f"{found[0]['grid']} cells, a core condenses {found[0]['rows per second and core']} rows a second, a segment "
        f"and day takes {found[0]['cells per segment and day']} cells of {found[0]['bytes per cell']} bytes, and the "
        f"monitor {found[0]['µs per segment, monitoring a day']} µs of processor time.",
        command=f"python benchmarks/many_segments.py --segments {asked.segments} --cases {asked.cases}",
        tables=[table("Cost per row, cell and segment", rows)],
        notes=[
            f"The cases take {per_row:.1f} bytes per row in Parquet. Times are processor seconds of one thread.",
            "Monitoring a day includes reading and writing the state.",
        ],
        libraries=("propriety", "numpy", "narwhals", "duckdb", "pyarrow"),
    )


if __name__ == "__main__":
    main()
