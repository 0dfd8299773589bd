"""Decisions side by side with dcurves, model-diagnostics and scikit-learn, as ratios in one run.

Run: nox -s peers, which makes an environment of its own. Writes `decisions.md` beside this file.
"""

from __future__ import annotations

import importlib.metadata
import platform
import warnings
from datetime import UTC, datetime
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd

import propriety as pr

mpl.use("agg")
from dcurves import dca
from model_diagnostics.scoring import plot_murphy_diagram
from sklearn import metrics
from timing import LONG, Work, best_times, sample

PEERS = ("dcurves", "model-diagnostics", "scikit-learn", "numpy", "scipy", "pandas")


def tasks() -> dict[str, tuple[dict[str, Work], int]]:
    """Return the works of each task, ours first, and the number of rounds."""
    y, p = sample(1_000_000)
    grid = np.arange(1, 1001) / 1001
    frame = pd.DataFrame({"y": y, "p": p})

    def scikit_learn(*, drop_intermediate: bool) -> float:
        false_positive_rate, true_positive_rate, _ = metrics.roc_curve(y, p, drop_intermediate=drop_intermediate)
        return metrics.auc(false_positive_rate, true_positive_rate)

    def murphy_peer() -> object:
        return plot_murphy_diagram(y, p, etas=grid)

    return {
        "decision curve, 1,000 thresholds": (
            {
                "propriety": lambda: pr.decision_curve(y, p, thresholds=grid),
                "dcurves": lambda: dca(data=frame, outcome="y", modelnames=["p"], thresholds=grid),
            },
            5,
        ),
        "Murphy curve, exact (the peer: 1,000 thresholds)": (
            {
                "propriety": lambda: pr.murphy_curve(y, p),
                "propriety, without parts": lambda: pr.murphy_curve(y, p, parts=False),
                "model-diagnostics, drawn": murphy_peer,
            },
            5,
        ),
        "Murphy curve, 1,000 thresholds": (
            {
                "propriety": lambda: pr.murphy_curve(y, p, thresholds=grid),
                "propriety, without parts": lambda: pr.murphy_curve(y, p, thresholds=grid, parts=False),
                "model-diagnostics, drawn": murphy_peer,
            },
            5,
        ),
        "ROC curve with AUC": (
            {
                "propriety": lambda: pr.roc_curve(y, p).auc,
                "scikit-learn": lambda: scikit_learn(drop_intermediate=True),
                "scikit-learn, all rows": lambda: scikit_learn(drop_intermediate=False),
            },
            7,
        ),
    }


def main() -> None:
    """Time every task and write the table."""
    warnings.simplefilter("ignore")
    lines = [
        "# Decisions beside their peers",
        "",
        f"Made by `benchmarks/peers/decisions.py` on {datetime.now(UTC):%Y-%m-%d}, {platform.machine()}, "
        f"Python {platform.python_version()}, "
        + ", ".join(f"{name} {importlib.metadata.version(name)}" for name in PEERS)
        + ". n = 1e6 continuous forecasts, from arrays, our table included. Best times of several rounds by turns in "
        f"one run, once only for what takes longer than {LONG:.0f} s; the machine is shared, so the ratios count.",
        "",
        "| task | package | seconds | times ours |",
        "|---|---|---|---|",
    ]
    for task, (works, rounds) in tasks().items():
        best = best_times(works, rounds)
        lines += [f"| {task} | {name} | {t:.3f} | {t / best['propriety']:.1f} |" for name, t in best.items()]
        print("\n".join(lines[-len(best) :]), flush=True)
    (Path(__file__).parent / "decisions.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
