"""Does the same seed give the same bytes? Every public function with other containers, orders, shards and engines.

Run as `python quality/stability.py`; takes some minutes. The calls and containers are those of `tests/stability`.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
from record import IN_THE_SCRIPT, table, write

import propriety as pr
from propriety.tables.forecast_table import ForecastTable

TESTS = Path(__file__).resolve().parent.parent / "tests" / "stability"
sys.path.insert(0, str(TESTS))

import calls  # noqa: E402  (found by the line above)
from layouts import CONTAINERS, KINDS, changed  # noqa: E402

N, MANY, ROWS = 500, 20_000, 200_000
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS")
OF_CASES = [name for name in calls.CALLS if name not in calls.OF_NO_CASES]
QUICK = [name for name in calls.QUICK if name not in calls.OF_NO_CASES]
Answers = Mapping[str, str]

SUMS = (
    "Differences are relative for numbers above 1. The last digits of sums of losses or weights depend on the order "
    "and on the number of BLAS threads; sums of counts do not."
)
ORDERS = (
    "Resampling of weighted cases, and of the cases of a retention curve, depends on the order of the cases, so it is "
    "left out where the order varies."
)


def compared(what: str, settings: str, pairs: list[tuple[Answers, Answers]]) -> dict[str, Any]:
    """Return a row of the record: how many answers are the same to the last bit, and how far the others are off."""
    both = [(found[name], expected[name]) for found, expected in pairs for name in found]
    off = [difference(*one) for one in both if one[0] != one[1]]
    return {
        "what varies": what,
        "settings": settings,
        "answers compared": len(both),
        "the same bytes": len(both) - len(off),
        "largest difference of the others": f"{max(off):.1e}" if off else "",
    }


def difference(found: str, expected: str) -> float:
    """Return the largest difference of the numbers, relative to those above 1; infinite where anything else differs."""
    (numbers, words), (wanted, said) = calls.flat(found), calls.flat(expected)
    if words != said or numbers.keys() != wanted.keys():
        return math.inf
    apart = [abs(one - wanted[at]) / max(1.0, abs(one)) for at, one in numbers.items() if one != wanted[at]]
    return max((one for one in apart if not math.isnan(one)), default=0.0)


def samples(n: int) -> list[calls.Data]:
    """Return cases without and with weights."""
    return [calls.cases(n), calls.cases(n, weighted=True)]


def containers() -> Iterator[dict[str, Any]]:
    """Vary what holds the cases."""
    given = [(d, calls.answers(d, QUICK)) for d in samples(N)]
    for name, container in CONTAINERS.items():
        yield compared("container", name, [(calls.answers(container(d), QUICK), known) for d, known in given])
    for name, kind in KINDS.items():
        others = [(replace(d, y=d.y.astype(kind), grade=d.grade.astype(kind)), known) for d, known in given]
        yield compared("outcomes", name, [(calls.answers(d, QUICK), known) for d, known in others])
    yield compared("calls in one process", "a second time", [(calls.answers(d, QUICK), known) for d, known in given])


def orders() -> Iterator[dict[str, Any]]:
    """Vary the order of the cases, where draws are not of single cases."""
    for d in samples(N):
        weighted = bool(d.binary)
        drawn = {*calls.DRAWS_OF_CASES, *(calls.DRAWS_OF_WEIGHTED_CASES if weighted else ())}
        names = [name for name in QUICK if name not in calls.OF_CASES_IN_ORDER and name not in drawn]
        known = calls.answers(d, names)
        pairs = []
        for seed in range(5):
            order = np.random.default_rng(seed).permutation(N)
            shuffled = changed(d, whole=lambda a, order=order: a[order], real=lambda a, order=order: a[order])
            pairs.append((calls.answers(shuffled, names), known))
        yield compared("order of the cases", f"5 orders, {'weighted' if weighted else 'unweighted'}", pairs)


def shards() -> Iterator[dict[str, Any]]:
    """Vary in how many tables the cases come."""
    d = calls.cases(N)
    # The others read ledgers, whose sums of losses depend on the order in which they are added.
    of_cases = ("check_calibration", "estimate")
    every = {name: call for name, call in (calls.OF_AN_EVENT | calls.DRAWN).items() if not name.startswith(of_cases)}
    known = {name: calls.exact(call(calls.table(d))) for name, call in every.items()}
    for number in (2, 7, 100):
        parts = [ForecastTable.from_predictions(d.y[k::number], d.p[k::number]) for k in range(number)]
        merged = [ForecastTable.merge(parts), sum(parts[::-1])]
        pairs = [({name: calls.exact(call(one)) for name, call in every.items()}, known) for one in merged]
        yield compared("shards", f"{number} tables, merged and added", pairs)


def engines() -> Iterator[dict[str, Any]]:
    """Vary the engine that makes the table."""
    for d in samples(ROWS):
        weight = d.binary.get("sample_weight")
        frame = pl.DataFrame({"y": d.y, "p": d.q} | ({} if weight is None else {"w": weight}))
        options: dict[str, Any] = {"outcome": "y", "forecast": "p", "weight": None if weight is None else "w"}
        known = {"table": calls.exact(ForecastTable.from_frame(frame, **options))}
        made = {"Polars": frame.lazy()}
        made |= {f"DuckDB, {number} threads": relation(frame, number) for number in (1, 2, 8)}
        for name, lazy in made.items():
            found = {"table": calls.exact(ForecastTable.from_frame(lazy, **options))}
            cases = f"{ROWS:,} {'unweighted' if weight is None else 'weighted'} cases"
            yield compared("engine", f"{name}, {cases}", [(found, known)])


def relation(frame: pl.DataFrame, threads: int) -> Any:
    """Return the frame as DuckDB sees it."""
    connection = duckdb.connect(config={"threads": threads})
    connection.register("frame", frame.to_arrow())
    return connection.sql("select * from frame")


def workers() -> Iterator[dict[str, Any]]:
    """Vary the number of workers of the bootstrap."""
    d = calls.cases(N)
    measures = {"miscalibration": pr.measures.Miscalibration(), "number": lambda found: found.mean_forecast}

    def asked(number: int) -> dict[str, str]:
        return {
            name: calls.exact(pr.estimate(d.y, d.p, of, n_resamples=1000, seed=7, workers=number))
            for name, of in measures.items()
        }

    known = asked(1)
    for number in (2, 3, 8):
        yield compared("workers", f"{number} beside 1", [(asked(number), known)])


def processes() -> Iterator[dict[str, Any]]:
    """Vary the settings of the process: threads of the libraries and the seed of hashes."""
    known = process(1, 0)
    for threads, hashes in ((1, 1), (2, 2)):
        settings = f"{threads} threads of BLAS and Polars, hash seed {hashes}, {MANY:,} cases"
        yield compared("process", settings, [(process(threads, hashes), known)])


def process(threads: int, hashes: int) -> Answers:
    """Return the answers of a process of its own about many cases."""
    settings = dict.fromkeys(THREADS, str(threads)) | {"PYTHONHASHSEED": str(hashes)}
    command = [sys.executable, __file__, "answers"]
    done = subprocess.run(command, env=os.environ | settings, check=True, stdout=subprocess.PIPE)  # noqa: S603
    found: Answers = json.loads(done.stdout)
    return found


def answers_about_many() -> None:
    """Write the answers, for `process`."""
    found = {
        f"{name} {bool(d.binary)}": text for d in samples(MANY) for name, text in calls.answers(d, OF_CASES).items()
    }
    sys.stdout.write(json.dumps(found))


def threads() -> Iterator[dict[str, Any]]:
    """Ask from several threads at once, about the same and about other cases."""
    for number in (2, 8):
        data = [calls.cases(N, seed, weighted=seed % 2 == 0) for seed in range(number // 2)] * 2
        known = [calls.answers(d, OF_CASES) for d in data[: number // 2]] * 2
        with ThreadPoolExecutor(number) as pool:
            found = list(pool.map(lambda d: calls.answers(d, OF_CASES), data))
        yield compared("threads", f"{number} at once, in pairs on the same cases", list(zip(found, known, strict=True)))


def main() -> None:
    """Measure and write the record."""
    rows = [row for vary in (containers, orders, shards, engines, workers, processes, threads) for row in vary()]
    answers, same = (sum(row[name] for row in rows) for name in ("answers compared", "the same bytes"))
    off = [float(row["largest difference of the others"]) for row in rows if row["largest difference of the others"]]
    functions = len({name.split(" ")[0] for name in calls.CALLS})
    rest = f"; the others differ by at most {max(off):.1e}" if off else ""
    path = write(
        "stability",
        title="Reproducibility",
        summary=f"{functions} public functions and methods, called on the same cases in {len(rows)} different ways: "
        f"{same:,} of {answers:,} answers are the same to the last bit{rest}.",
        command="python quality/stability.py",
        tables=[table("Answers compared with those for the same cases in NumPy arrays, in one thread", rows)],
        libraries=("propriety", "numpy", "scipy", "narwhals", "pandas", "polars", "pyarrow", "duckdb"),
        notes=[SUMS, ORDERS],
        seed=IN_THE_SCRIPT,
    )
    sys.stdout.write(f"{path.read_text(encoding='utf-8')}\n")


if __name__ == "__main__":
    answers_about_many() if sys.argv[1:] == ["answers"] else main()
