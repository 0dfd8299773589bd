"""The same tasks in packages of R, timed inside R, and in propriety, by turns.

Run: PYTHONPATH=quality python benchmarks/peers/r_packages.py, some minutes. It needs Rscript with pROC, riskRegression
and rms (Debian: r-cran-proc, r-cran-riskregression, r-cran-rms). Writes `peers_r`.
"""

from __future__ import annotations

import math
import subprocess
import tempfile
import time
from pathlib import Path

import pandas as pd
from record import IN_THE_SCRIPT, table, write
from sample import HORIZON, Sample

import propriety as pr

SIZES = (1_000, 10_000, 100_000)
SCRIPT = Path(__file__).with_suffix(".R")
NOTES = (
    "Seconds of the fastest of three calls after a first one, in R without reading the file and loading the package.",
    "Answers are compared: the difference of the areas, and Brier scores.",
    "The p-values of the test differ slightly, because ours are of Student's t: 0.0856 and 0.0853 with 1,000 cases.",
    "val.prob of rms also computes a loess curve, slopes and tests; check_calibration and ICI are its counterpart.",
)


def test_areas(s: Sample) -> float:
    """Return the difference of the areas, after DeLong's test."""
    return abs(pr.compare(s.y, {"p": s.p, "q": s.other}, pr.measures.AreaUnderRoc()).differences[0].value)


def by_horizon(s: Sample) -> float:
    """Return the Brier score by a horizon."""
    when, event, risk = s.followed
    return pr.brier_score(pr.censored(when, event, horizons=HORIZON), risk)


def summary_of(s: Sample) -> float:
    """Return the Brier score after everything that val.prob reports."""
    pr.check_calibration(s.y, s.p, seed=1)
    pr.reliability_curve(s.y, s.p).smooth(method="loess", seed=1)
    pr.roc_curve(s.y, s.p)
    return pr.brier_score(s.y, s.p)


TASKS = {
    "Test of two areas under the ROC curve (DeLong)": ("pROC", test_areas),
    "Brier score by a horizon, censored": ("riskRegression", by_horizon),
    "Calibration summary with a loess curve": ("rms", summary_of),
}


def in_r(package: str, file: Path) -> tuple[float, float, str]:
    """Return the seconds, the answer and the version of a package of R."""
    command = ["Rscript", str(SCRIPT), package, str(file)]
    done = subprocess.run(command, capture_output=True, check=True, text=True, timeout=300)  # noqa: S603  (ours)
    seconds, answer, version = done.stdout.split()[-3:]
    return float(seconds), float(answer), version


def timed(work, s: Sample) -> tuple[float, float]:
    """Return the seconds of the fastest of three calls after a first one, and the answer."""
    answer, taken = float(work(s)), []
    for _ in range(3):
        begin = time.perf_counter()
        work(s)
        taken.append(time.perf_counter() - begin)
    return min(taken), answer


def main() -> None:
    """Time everything by turns, and write the record."""
    rows = []
    for size in SIZES:
        s = Sample(size)
        when, event, risk = s.followed
        frame = pd.DataFrame({"y": s.y, "p": s.p, "q": s.other, "time": when, "event": event.astype(int), "risk": risk})
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "cases.csv"
            frame.to_csv(file, index=False, float_format="%.17g")
            for task, (package, work) in TASKS.items():
                ours, answer = timed(work, s)
                theirs, other, version = in_r(package, file)
                if not math.isclose(answer, other, rel_tol=1e-6, abs_tol=1e-9):
                    message = f"{task}: {answer} here and {other} in {package}"
                    raise ValueError(message)
                rows.append(
                    {
                        "task": task,
                        "package": f"{package} {version}",
                        "cases": f"{size:,}",
                        "propriety, ms": round(1000 * ours, 1),
                        "R, ms": round(1000 * theirs, 1),
                        "ratio": float(f"{theirs / ours:.2g}"),
                    }
                )
                print(rows[-1], flush=True)
    slower = [row for row in rows if row["ratio"] < 1]
    write(
        "peers_r",
        title="Packages of R",
        summary=f"propriety is faster in {len(rows) - len(slower)} of {len(rows)} pairings with pROC, riskRegression "
        "and rms on the same task and number of cases.",
        command="PYTHONPATH=quality python benchmarks/peers/r_packages.py",
        tables=[table("The same task in R and in propriety", rows)],
        notes=NOTES,
        seed=IN_THE_SCRIPT,
    )


if __name__ == "__main__":
    main()
