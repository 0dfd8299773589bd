"""Time and memory of computations with many models, many groups, many classes or many partitions.

Each computation runs in a separate process, whose wall-clock and processor time and peak memory are measured by the
operating system; importing the package is included. The limits are 60 seconds and 2 GB, on a machine without other
load; the load at the start of each computation is recorded.

Run: python benchmarks/cliffs.py [--works NAME ...] [--limit 180] [--no-record]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "quality"))
from record import IN_THE_SCRIPT, earlier, table, write

SECONDS, MEGABYTES = 60.0, 2048.0


def binary(n: int, models: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Draw outcomes, and forecasts of many models that differ by their noise."""
    rng = np.random.default_rng(1)
    truth = rng.random(n)
    y = (rng.random(n) < truth).astype(int)
    noise = np.linspace(0.05, 0.4, models)
    names = [f"m{place:03d}" for place in range(models)]
    return y, {name: np.clip(truth + s * rng.standard_normal(n), 0, 1) for name, s in zip(names, noise, strict=True)}


def rows(n: int, classes: int, models: int = 2) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Draw classes, and rows of probabilities."""
    rng = np.random.default_rng(1)
    forecasts = {f"m{place}": rng.dirichlet(np.ones(classes), n) for place in range(models)}
    return rng.integers(0, classes, n), forecasts


def compare_brier() -> None:
    import propriety as pr

    print(str(pr.compare(*binary(10_000, 500), pr.Brier()))[:200])


def compare_area() -> None:
    import propriety as pr

    print(str(pr.compare(*binary(10_000, 500), pr.measures.AreaUnderRoc()))[:200])


def slices() -> None:
    import propriety as pr

    y, forecasts = binary(1_000_000, 1)
    group = np.random.default_rng(2).integers(0, 100_000, len(y))
    print(str(pr.slices(y, forecasts, by=group, smallest=1, thresholds=0.3))[:200])


def classes_to_html() -> None:
    import propriety as pr

    print(len(pr.evaluate(*rows(10_000, 1000), seed=1).to_html()))


def ranking_map() -> None:
    import propriety as pr

    print(str(pr.ranking_map(*binary(500, 100)))[:200])


def million_to_html() -> None:
    import propriety as pr

    print(len(pr.evaluate(*binary(1_000_000, 2), seed=1).to_html()))


def ordinal_frame(n: int, classes: int) -> tuple[dict[str, np.ndarray], dict[str, object]]:
    """Return the columns of a frame with grades, weights and clusters, and what is asked of it."""
    y, forecasts = rows(n, classes, 1)
    rng = np.random.default_rng(3)
    columns = {f"p{place}": column for place, column in enumerate(forecasts["m0"].T)}
    columns |= {"y": y, "w": rng.gamma(2.0, 1.0, n), "ward": rng.integers(0, 40, n)}
    named = {"m": [f"p{place}" for place in range(classes)]}
    return columns, {"forecasts": named, "outcome": "y", "ordered": True, "seed": 1, "n_resamples": 100}


def dask() -> None:
    import dask.dataframe as dd
    import pandas as pd

    import propriety as pr

    columns, asked = ordinal_frame(3000, 4)
    frame = dd.from_pandas(pd.DataFrame(columns), npartitions=64)
    print(len(str(pr.evaluate(frame, sample_weight="w", cluster="ward", **asked))))


def spark() -> None:
    import pandas as pd
    from pyspark.sql import SparkSession

    import propriety as pr

    columns, asked = ordinal_frame(500, 10)
    options = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2", "spark.log.level": "ERROR"}
    session = SparkSession.builder.master("local[2]").config(map=options).getOrCreate()
    frame = session.createDataFrame(pd.DataFrame(columns))
    frame.count()
    begin = time.perf_counter()
    print(len(str(pr.evaluate(frame, **asked))), f"{time.perf_counter() - begin:.1f} s without starting Spark")
    session.stop()


WORKS: dict[str, tuple[str, Callable[[], None]]] = {
    "compare_brier": ("compare, Brier score, 500 models, 10,000 cases", compare_brier),
    "compare_area": ("compare, area under the ROC curve, 500 models, 10,000 cases", compare_area),
    "slices": ("slices, 100,000 groups, 1,000,000 cases", slices),
    "classes_to_html": ("evaluate and to_html, 1,000 classes, 2 models, 10,000 cases", classes_to_html),
    "ranking_map": ("ranking_map, 100 models, 500 cases", ranking_map),
    "million_to_html": ("evaluate and to_html, 2 models, 1,000,000 cases", million_to_html),
    "dask": ("evaluate on Dask, 4 grades, weights and clusters, 64 partitions", dask),
    "spark": ("evaluate on Spark, 10 grades, 500 cases", spark),
}


def measured(name: str, limit: float) -> dict[str, object]:
    """Run one work in a process of its own."""
    load = os.getloadavg()[0]
    command = [sys.executable, __file__, "--work", name]
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603  (this file)
    told, ended = "", "done"
    try:
        told, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        ended = f"stopped after {limit:g} s"
    else:
        ended = "done" if process.returncode == 0 else f"failed, exit code {process.returncode}"
    wall = time.perf_counter() - begin
    used = json.loads(told.splitlines()[-1]) if ended == "done" else {"processor": None, "peak": None}
    row = {"work": WORKS[name][0], "seconds": round(wall, 1), "processor seconds": used["processor"]}
    return row | {"peak, MB": used["peak"], "load before": round(load, 1), "ended": ended}


def work(name: str) -> None:
    """Do one work in this process, and say what it took."""
    import resource

    WORKS[name][1]()
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(json.dumps({"processor": round(used.ru_utime + used.ru_stime, 1), "peak": round(used.ru_maxrss / 1024)}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--works", nargs="+", choices=WORKS, default=list(WORKS))
    parser.add_argument("--limit", type=float, default=180.0)
    parser.add_argument("--no-record", action="store_true")
    parser.add_argument("--work", choices=WORKS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(options.work)
        return
    found = []
    for name in options.works:
        found.append(measured(name, options.limit))
        print(found[-1], flush=True)
    if not options.no_record:
        record(found)


def record(found: list[dict[str, object]]) -> None:
    """Write the record; works that were left out keep the figures of the last run."""
    done = {one["work"] for one in found}
    found += [row for row in earlier("cliffs") if row["work"] not in done]
    order = [title for title, _ in WORKS.values()]
    found.sort(key=lambda row: order.index(str(row["work"])))
    within = [
        row for row in found if row["ended"] == "done" and row["seconds"] < SECONDS and row["peak, MB"] < MEGABYTES
    ]
    write(
        "cliffs",
        title="Many models, groups, classes or partitions",
        summary=f"{len(within)} of {len(found)} computations with very many models, groups, classes or partitions need "
        f"less than {SECONDS:g} seconds and {MEGABYTES / 1024:g} GB.",
        command="python benchmarks/cliffs.py",
        tables=[table("Seconds and peak memory, each in a separate process that also imports the package.", found)],
        seed=IN_THE_SCRIPT,
        keeps_rows=True,
        notes=[
            "The machine is shared; the load is the average over the minute before.",
            "The memory of Spark is that of the Python process, without the Java virtual machine.",
        ],
    )


if __name__ == "__main__":
    main()
