"""The import time of each package in a new interpreter.

Run: PYTHONPATH=quality python benchmarks/peers/imports.py, about a minute. Writes `peers_imports`.
"""

from __future__ import annotations

import subprocess
import sys
from statistics import median

from packages import LIBRARIES
from record import table, write

TURNS = 7
WORKING = "propriety, with a score"
IMPORTS = {
    "propriety": "import propriety",
    WORKING: "import propriety; propriety.brier_score",
    "scikit-learn, its metrics": "import sklearn.metrics",
    "model-diagnostics, its scores": "import model_diagnostics.scoring",
    "scoringrules": "import scoringrules",
    "scores, for probabilities": "import scores.probability",
    "dcurves": "import dcurves",
    "briertools": "import briertools",
    "torchmetrics, for classification": "import torchmetrics.classification",
}
PROBE = "import sys, time; begin = time.perf_counter(); {}; print(time.perf_counter() - begin, len(sys.modules))"


def one(statement: str) -> tuple[float, int]:
    """Return the seconds of an import, and the number of modules in memory after it."""
    command = [sys.executable, "-c", PROBE.format(statement)]
    seconds, modules = subprocess.run(command, capture_output=True, check=True, text=True).stdout.split()  # noqa: S603
    return float(seconds), int(modules)


def main() -> None:
    """Import everything by turns, once to warm the disk's cache, and write the record."""
    taken: dict[str, list[float]] = {name: [] for name in IMPORTS}
    modules = {name: one(statement)[1] for name, statement in IMPORTS.items()}
    for _ in range(TURNS):
        for name, statement in IMPORTS.items():
            taken[name].append(one(statement)[0])
    found = {name: median(times) for name, times in taken.items()}
    ours = found[WORKING]  # The package itself imports nothing until it is used, which would flatter it.
    rows = [
        {"package": name, "ms": round(1000 * time), "times ours": round(time / ours, 2), "modules": modules[name]}
        for name, time in found.items()
    ]
    print(rows)
    others = [row["times ours"] for row in rows if not row["package"].startswith("propriety")]
    write(
        "peers_imports",
        title="Import time",
        summary=f"`import propriety` takes {1000 * found['propriety']:.0f} ms, and {1000 * ours:.0f} ms with all "
        f"that a score needs; {len(others)} other packages take {min(others):.1f} to {max(others):.1f} times as long.",
        command="PYTHONPATH=quality python benchmarks/peers/imports.py",
        tables=[table(f"Medians of {TURNS} new interpreters; the packages take turns", rows)],
        notes=["propriety imports everything on first use; the multiples are of the import with a score."],
        libraries=LIBRARIES,
    )


if __name__ == "__main__":
    main()
