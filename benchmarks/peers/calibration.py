"""Calibration side by side with model-diagnostics, scores and scoringrules, as ratios in one run.

Run: nox -s peers, which makes an environment of its own. Writes `calibration.md` beside this file.
"""

from __future__ import annotations

import importlib.metadata
import platform
import warnings
from datetime import UTC, datetime
from pathlib import Path

import matplotlib as mpl

import propriety as pr

mpl.use("agg")
from model_diagnostics.calibration import plot_reliability_diagram
from model_diagnostics.scoring import LogLoss, SquaredError
from model_diagnostics.scoring import decompose as decompose_by_model_diagnostics
from scores.probability import isotonic_fit
from scoringrules.visualization import reliability_diagram
from timing import Work, best_times, sample

PEERS = ("model-diagnostics", "scores", "scoringrules", "numpy", "scipy")


def tasks() -> dict[str, tuple[dict[str, Work], int]]:
    """Return the works of each task, ours first, and the number of rounds."""
    y, p = sample(1_000_000)

    def curves() -> dict[str, Work]:
        return {
            "propriety": lambda: pr.reliability_curve(y, p),
            "propriety, drawn": lambda: pr.reliability_curve(y, p).plot(),
            "model-diagnostics, drawn": lambda: plot_reliability_diagram(y, p),
            "scores": lambda: isotonic_fit(p, y),
            "scoringrules, drawn": lambda: reliability_diagram(y, p),
        }

    def decompositions() -> dict[str, Work]:
        def ours() -> None:
            table = pr.ForecastTable.from_predictions(y, p)
            pr.decompose(table)
            pr.decompose(table, rule=pr.Log())

        def theirs() -> None:
            for score in (SquaredError(), LogLoss()):
                decompose_by_model_diagnostics(y, p, scoring_function=score)

        return {"propriety": ours, "model-diagnostics": theirs}

    def bands(n: int) -> dict[str, Work]:
        y_n, p_n = sample(n)
        return {
            "propriety": lambda: pr.reliability_curve(y_n, p_n).with_confidence_band(n_resamples=1000, seed=1),
            "propriety, consistency": lambda: pr.reliability_curve(y_n, p_n).with_consistency_band(
                method="resampling", n_resamples=1000, seed=1
            ),
            "model-diagnostics, drawn": lambda: plot_reliability_diagram(y_n, p_n, n_bootstrap=1000),
            "scores": lambda: isotonic_fit(p_n, y_n, bootstraps=1000, report_bootstrap_results=True),
        }

    return {
        "reliability curve, n = 1e6": (curves(), 5),
        "Brier and log decomposition, n = 1e6": (decompositions(), 5),
        "band of 1,000 resamples, n = 1e4": (bands(10_000), 3),
        "band of 1,000 resamples, n = 1e5": (bands(100_000), 1),
    }


def main() -> None:
    """Time every task and write the table."""
    warnings.simplefilter("ignore")
    lines = [
        "# Calibration beside its peers",
        "",
        f"Made by `benchmarks/peers/calibration.py` on {datetime.now(UTC):%Y-%m-%d}, {platform.machine()}, "
        f"Python {platform.python_version()}, "
        + ", ".join(f"{name} {importlib.metadata.version(name)}" for name in PEERS)
        + ". Best times of several rounds by turns in one run; the machine is shared, so the ratios count.",
        "",
        "| task | package | seconds | times ours |",
        "|---|---|---|---|",
    ]
    for task, (works, rounds) in tasks().items():
        best = best_times(works, rounds)
        lines += [f"| {task} | {name} | {t:.3f} | {t / best['propriety']:.1f} |" for name, t in best.items()]
        print("\n".join(lines[-len(best) :]), flush=True)
    (Path(__file__).parent / "calibration.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
