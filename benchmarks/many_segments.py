"""What a ledger of many segments costs: bytes, scans, sums and the monitor, per row, cell and segment.

DuckDB generates two days of cases in a Parquet file per day. On one thread, `condense` fills the ledger of each day on
grids of several sizes. The ledgers are stored, read and added, and a monitor is extended by the second day. Times are
processor seconds. `docs/scale.md` extrapolates them to 1e12 rows a day.

Many cases in few segments show the cost per row, and few cases in 100,000 segments that of the segments.

Run: python benchmarks/many_segments.py
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import duckdb

import propriety as pr

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "quality"))
from record import table, write
from turns import timed

# Segments, cases of each a day, and grids.
SETTINGS = ((500, 20_000, (64, 1024, 8192)), (100_000, 100, (64,)))
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


def size(folder: Path, below: str) -> int:
    """Return the bytes of the files below a folder."""
    return sum(path.stat().st_size for path in (folder / below).rglob("*.parquet"))


def measured(paths: list[Path], cells: int, segments: int, cases: int, scratch: Path) -> dict[str, Any]:
    """Measure everything on one grid."""
    rows = segments * cases

    def filled(path: Path) -> pr.Ledger:
        source = duckdb.sql(f"SELECT * FROM '{path}'")  # noqa: S608  (our file)
        return pr.condense(source, {"m": "p"}, outcome="y", by=["day", "segment"], cells=cells)

    ((_, filling), one), ((_, again), other) = (timed(lambda path=path: filled(path)) for path in paths)
    (_, bare), _ = timed(
        lambda: duckdb.sql(
            f"SELECT day, segment, floor(p * {cells}), count(*), sum(y), sum(p) FROM '{paths[0]}' GROUP BY ALL"  # noqa: S608
        ).to_arrow_table()
    )
    folder = scratch / str(cells)
    (_, writing), _ = timed(lambda: one.to_parquet(folder))
    (_, reading), stored = timed(lambda: pr.Ledger.from_parquet(folder))
    (_, adding), _ = timed(lambda: stored.over("day") + other.over("day"))
    held = sum(len(stored.keyed_tables("m", event).entry) for event in stored.events)
    watch = pr.monitor(one)
    watch.to_parquet(scratch / f"monitor-{cells}")

    def extended() -> None:
        state = pr.results.Monitored.from_parquet(scratch / f"monitor-{cells}")
        state.extend(other).to_parquet(scratch / f"monitor-{cells}")

    (_, monitoring), _ = timed(extended)
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


def of_setting(segments: int, cases: int, grids: tuple[int, ...]) -> tuple[list[dict[str, Any]], float]:
    """Return what was measured on each grid, and the bytes of a case in Parquet."""
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        paths = [scratch / f"{day}.parquet" for day in (1, 2)]
        for day, path in enumerate(paths, start=1):
            write_cases(path, day, segments, cases)
        found = [measured(paths, cells, segments, cases, scratch) for cells in grids]
        return found, sum(path.stat().st_size for path in paths) / (2 * segments * cases)


def main() -> None:
    """Measure and write the record."""
    duckdb.sql("SET threads = 1")
    tables, notes, first = [], [], {}
    for segments, cases, grids in SETTINGS:
        found, per_row = of_setting(segments, cases, grids)
        first = first or found[0]
        rows = [
            {"what": what} | {f"grid of {one['grid']}": one[what] for one in found}
            for what in found[0]
            if what != "grid"
        ]
        tables.append(table(f"{segments:,} segments with {cases:,} cases a day each", rows))
        notes.append(f"In Parquet, a case takes {per_row:.1f} bytes with {segments:,} segments.")
    write(
        "many_segments",
        title="Many segments",
        summary=f"One model on a grid of 64 cells: a core condenses {first['rows per second and core']} rows a second, "
        f"a segment and day takes {first['cells per segment and day']} cells of {first['bytes per cell']} bytes, and "
        f"the monitor {first['µs per segment, monitoring a day']} µs of processor time.",
        command="python benchmarks/many_segments.py",
        tables=tables,
        notes=[*notes, "Times are processor seconds of one thread; monitoring includes reading and writing the state."],
        libraries=("propriety", "numpy", "narwhals", "duckdb", "pyarrow"),
    )


if __name__ == "__main__":
    main()
