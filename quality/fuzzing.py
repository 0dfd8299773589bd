"""Fuzz the input checks, the stored files and the command line in parallel, and write the record "fuzzing".

Run it as `python quality/fuzzing.py --seconds 3600`, the processor time of each target, with atheris, pandas, Polars,
PyArrow and the extras `cli` and `report` installed. `--target maps` fuzzes only this target, and may be repeated; the
record keeps the rows of the others. With `--minimize` it instead rewrites `quality/fuzz/corpus.json` from the inputs of
the last run: the smallest ones that reach the same code.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import math
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from fuzz import corpus
from record import RESULTS, table, write

FUZZ = Path(__file__).resolve().parent / "fuzz"
WORK = FUZZ.parents[1] / "build" / "fuzzing"
CORPUS = WORK / "corpus"  # The inputs of the repository, as files.
TARGETS = {
    "arguments": "hostile arguments to scores, tables, curves and decompositions",
    "stored": "`from_dict` and `from_parquet` of tables, and the files of ledgers",
    "command_line": "files given to `condense`, `merge`, `evaluate` and `compare`",
    "ledgers": "rows of partitioned ledgers and of monitors that are repeated, left out, moved or changed",
    "maps": "the JSON of recalibration maps",
    "configuration": "TOML files of options",
    "logs": "logs of the lm-evaluation-harness and of Inspect",
    "dialects": "cases in dialects of CSV",
}
LIMITS = ["-max_len=400", "-len_control=0", "-timeout=600", "-rss_limit_mb=3000", "-print_final_stats=1"]
ENOUGH = 0.99  # Of the processor time; a process does not use all of its time, even alone.
Row = dict[str, str | int]
NOTES = (
    "A bug is an error that is not one of the package's own, a warning, or a number that the harness does not confirm.",
    "The harness computes case by case in exact fractions, without using the package.",
    "A crash is a process that died, hung for ten minutes or used 3 GB.",
    "The targets were fuzzed on the dates given. Bugs that were found are fixed, and their inputs are in the corpus.",
    "CPU seconds are the processor time of a target. Until 18 November, targets stopped by the clock.",
    "The inputs kept, including each that once found a bug, are in quality/fuzz/corpus.json; the tests replay them.",
)


class Run:
    """A target that is fuzzed for a given processor time; a process that dies counts as a crash.

    A process stops by the clock. As long as processor time is left, because others used the machine too, another one
    goes on with the inputs that the last one kept.
    """

    def __init__(self, name: str, seconds: int) -> None:
        self.name, self.begun, self.seconds = name, time.monotonic(), seconds
        self.log = WORK / f"{name}.log"
        self.log.write_bytes(b"")
        self.crashes, self.cpu, self.wall = 0, 0.0, 0.0
        self.start()

    def start(self) -> None:
        """Start a process for the processor time that is left."""
        own = WORK / self.name
        own.mkdir(exist_ok=True)
        left = max(1, math.ceil(self.seconds - self.cpu))
        options = [*LIMITS, f"-max_total_time={left}", f"-artifact_prefix={WORK}/{self.name}-"]
        command = [sys.executable, str(FUZZ / "target.py"), self.name, str(own), str(CORPUS / self.name), *options]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(  # noqa: S603  (our own script)
                command, stdout=log, stderr=log, env={**os.environ, "FOUND": str(WORK / "found")}
            )

    def finished(self) -> bool:
        """Look after the process; return whether the processor time is used up."""
        pid, status, usage = os.wait4(self.process.pid, os.WNOHANG)
        if pid == 0:
            return False
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self.cpu += usage.ru_utime + usage.ru_stime
        self.wall = time.monotonic() - self.begun
        self.crashes += self.process.returncode != 0
        if self.cpu >= self.seconds * ENOUGH:
            return True
        self.start()
        return False

    def row(self) -> Row:
        """Return what came of it."""
        log = self.log.read_text(errors="replace")
        counts = [int(count) for count in re.findall(r"stat::number_of_executed_units: (\d+)", log)]
        bugs = list((WORK / "found" / self.name).glob("*.txt"))
        return {
            "target": f"{self.name}: {TARGETS[self.name]}",
            "date": dt.datetime.now(tz=dt.UTC).date().isoformat(),
            "wall seconds": round(self.wall),
            "CPU seconds": round(self.cpu),
            "executions": sum(counts),
            "edges covered": max(map(int, re.findall(r"cov: (\d+)", log)), default=0),
            "inputs kept": len(list((CORPUS / self.name).iterdir())),
            "crashes": self.crashes,
            "bugs": len(bugs),
        }


def main(arguments: Sequence[str] | None = None) -> None:
    """Fuzz, or make the corpus anew."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=3600, help="processor time for each target")
    parser.add_argument("--minimize", action="store_true", help="make the corpus from what the last run has kept")
    parser.add_argument("--target", action="append", choices=list(TARGETS), help="a target, by default all of them")
    asked = parser.parse_args(arguments)
    targets = asked.target or list(TARGETS)
    shutil.rmtree(CORPUS, ignore_errors=True)
    for name in TARGETS:
        corpus.unpack(name, CORPUS / name)
    if asked.minimize:
        minimize(targets)
    else:
        _record(fuzz(targets, asked.seconds), asked.seconds, asked.target or [])


def fuzz(targets: Sequence[str], seconds: int) -> list[Row]:
    """Fuzz several targets at the same time."""
    shutil.rmtree(WORK / "found", ignore_errors=True)
    WORK.mkdir(parents=True, exist_ok=True)
    runs = [Run(name, seconds) for name in targets]
    waiting = runs
    while waiting:
        time.sleep(1)
        waiting = [run for run in waiting if not run.finished()]
    return [run.row() for run in runs]


def minimize(targets: Sequence[str]) -> None:
    """Keep the smallest inputs that reach what all inputs of the corpus and of the last run reach."""
    smallest = corpus.read()
    for name in targets:
        kept = WORK / "merged" / name
        shutil.rmtree(kept, ignore_errors=True)
        kept.mkdir(parents=True)
        sources = [str(CORPUS / name), str(WORK / name)]
        command = [sys.executable, str(FUZZ / "target.py"), name, "-merge=1", *LIMITS, str(kept), *sources]
        subprocess.run(command, check=True)  # noqa: S603  (our own script)
        for fault in (CORPUS / name).glob("fault-*"):  # An input that once found a bug is always kept.
            for same in kept.iterdir():
                if same.read_bytes() == fault.read_bytes():
                    same.unlink()
            shutil.copy(fault, kept)
        smallest[name] = {path.name: path.read_bytes() for path in kept.iterdir()}
    corpus.write(smallest)


def _record(rows: list[Row], seconds: int, named: Sequence[str]) -> None:
    rows = sorted([*_earlier(rows), *rows], key=lambda row: list(TARGETS).index(_name(row)))
    bugs = sum(int(row["bugs"]) + int(row["crashes"]) for row in rows)
    executions = sum(int(row["executions"]) for row in rows)
    times = [int(row["CPU seconds"]) for row in rows]
    found = "no bug" if bugs == 0 else "1 bug" if bugs == 1 else f"{bugs} bugs"
    ran = f"with {min(times):,} to {max(times):,} seconds of processor time each"
    write(
        "fuzzing",
        title="Fuzzing",
        summary=f"{executions:,} inputs to {len(rows)} targets, {ran}, found {found}.",
        command=f"python quality/fuzzing.py --seconds {seconds}" + "".join(f" --target {name}" for name in named),
        tables=[table("Targets, fuzzed by atheris (libFuzzer) with coverage of the package", rows)],
        libraries=("propriety", "numpy", "scipy", "narwhals", "pandas", "polars", "pyarrow", "duckdb", "atheris"),
        notes=NOTES,
        keeps_rows=True,
    )


def _earlier(rows: list[Row]) -> list[Row]:
    """Return the rows of the record whose targets were not fuzzed now, with the dates on which they were."""
    now = {_name(row) for row in rows}
    stored = json.loads((RESULTS / "fuzzing.json").read_text(encoding="utf-8"))["tables"][0]
    found: list[Row] = [dict(zip(stored["columns"], row, strict=True)) for row in stored["rows"]]
    return [row for row in found if _name(row) not in now]


def _name(row: Row) -> str:
    return str(row["target"]).partition(":")[0]


if __name__ == "__main__":
    main()
