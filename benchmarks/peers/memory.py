"""The memory that the same task needs beyond its input, each measured in a separate process.

Run: PYTHONPATH=quality python benchmarks/peers/memory.py, about 4 minutes, on Linux. Writes `peers_memory`.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import warnings
from statistics import median

import matplotlib as mpl
from packages import LIBRARIES
from record import IN_THE_SCRIPT, table, write
from resident import extra_memory
from sample import Sample
from works import TASKS

mpl.use("agg")

SIZE = 1_000_000
LONGEST = 60  # Seconds for one process, its imports included.
MOST = 8 * 10**9  # Bytes that one process may ask for.
NOTES = (
    "Peak resident memory during the call, minus the memory of the process before it, which includes the input.",
    f"Stopped: the process needed more than {LONGEST} s or more than {MOST / 1e9:.0f} GB.",
)


def bytes_of(task: str, package: str, size: int) -> int:
    """Measure in this process: a small sample loads what is loaded on first use, and shows which containers to make."""
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_DATA, (MOST, MOST))
    work = TASKS[task][package]
    small, sample = Sample(1_000), Sample(size)
    work(small)
    sample.prepare(small)
    return extra_memory(lambda: work(sample))


def measured(task: str, package: str, size: int) -> int | None:
    """Measure in a process of its own; None if it does not come to an end."""
    command = [sys.executable, __file__, "--one", task, package, "--size", str(size)]
    try:
        done = subprocess.run(command, capture_output=True, check=True, text=True, timeout=LONGEST)  # noqa: S603  (ours)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        return None
    return int(done.stdout)


def row(task: str, package: str, size: int) -> dict[str, object]:
    """Return the row of one package at one task."""
    found = measured(task, package, size)
    print(task, package, found, flush=True)
    return {
        "task": task,
        "package": package,
        "MB": "stopped" if found is None else round(found / 1e6),
        "bytes per case": "" if found is None else round(found / size),
    }


def summary(rows: list[dict[str, object]], size: int) -> str:
    """Return how much more the others need."""
    ours = {row["task"]: row["MB"] for row in rows if row["package"] == "propriety"}
    others = [row for row in rows if not str(row["package"]).startswith("propriety") and row["MB"] != "stopped"]
    more = sum(row["MB"] > ours[row["task"]] for row in others)
    return (
        f"At {size:,} cases, the other package needs more memory than propriety in {more} of {len(others)} pairings "
        f"on the same task. propriety needs {min(ours.values())} to {max(ours.values())} MB beyond its input, and "
        f"{median(ours.values()):.0f} MB for the median task."
    )


def main() -> None:
    """Measure everything, or the one that is asked for, and write the record."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--one", nargs=2, metavar=("TASK", "PACKAGE"), help="print the bytes of one work")
    parser.add_argument("--size", type=int, default=SIZE)
    given = parser.parse_args()
    if given.one:
        print(bytes_of(*given.one, given.size))
        return
    rows = [row(task, package, given.size) for task, works in TASKS.items() for package in works]
    print(summary(rows, given.size))
    if given.size == SIZE:
        write(
            "peers_memory",
            title="Memory",
            summary=summary(rows, given.size),
            command="PYTHONPATH=quality python benchmarks/peers/memory.py",
            tables=[table(f"Memory beyond the input, {SIZE:,} cases", rows)],
            notes=NOTES,
            seed=IN_THE_SCRIPT,
            libraries=LIBRARIES,
        )


if __name__ == "__main__":
    main()
