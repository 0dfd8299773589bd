"""By which score should a checkpoint be chosen? Macro F1 of the epoch chosen by Brier, log, PBS, PLL and accuracy.

A small network (one hidden layer of 64 units, Adam with steps of 0.005, batches of 32) learns scikit-learn's digits for
40 epochs and is scored on validation data after each; the epoch with the lowest mean score is chosen, the first one if
there are ties, and its macro F1 and Brier score on test data are recorded. Four settings: all training cases (about
900) or 200 of them, with clean labels or with 30% of the training labels replaced by a wrong one; the other labels are
clean.

Splits follow algorithm 4 of Ahmadian et al. (2024), arXiv:2407.17697, with the bound that keeps within the data: of
h = 10 blocks in the order of the file, which is that of the writers, 2 validate from block i on, the 3 after them test,
the other 5 train, for i = 1 to h - 2 - 3 + 1 = 6. A repeat turns the file by a random number of cases and runs the six
with new starting weights; its result is their mean. Differences to the choice by Brier are paired, and their 95%
intervals are Student's over the repeats. They cover new training runs and new splits, but not another data set.
Writes `results/checkpoints.csv` and `results/checkpoints.png`; takes about eight minutes on one core.

Run: python studies/checkpoints.py [--repeats 40] [--workers 1]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from scipy import stats
from study_tables import RESULTS, write_rows

import propriety as pr

CLASSES = 10
BLOCKS, VALIDATING, TESTING = 10, 2, 3
EPOCHS, HIDDEN, STEP, BATCH = 40, 64, 0.005, 32
CHOOSERS: dict[str, pr.Rule] = {
    "Brier": pr.Brier(),
    "log": pr.Log(),
    "PBS": pr.PenalizedBrier(),
    "PLL": pr.PenalizedLog(),
    "accuracy": pr.Misclassification(),
}
SETTINGS = {  # Number of training cases, or all of them, and share of wrong labels among them.
    "all cases, clean labels": (None, 0.0),
    "200 cases, clean labels": (200, 0.0),
    "all cases, 30% wrong labels": (None, 0.3),
    "200 cases, 30% wrong labels": (200, 0.3),
}
LEVEL = 0.95


def h_block_splits(n: int, *, blocks: int, validating: int, testing: int) -> Iterator[tuple[np.ndarray, ...]]:
    """Yield the indices that train, validate and test, for each place where both runs of blocks fit."""
    parts = np.array_split(np.arange(n), blocks)
    for start in range(blocks - validating - testing + 1):
        between = start + validating
        validate, test = np.concatenate(parts[start:between]), np.concatenate(parts[between : between + testing])
        yield np.setdiff1d(np.arange(n), np.concatenate([validate, test])), validate, test


def spoil(labels: np.ndarray, share: float, generator: np.random.Generator) -> np.ndarray:
    """Replace this share of the labels by one of the other classes, drawn at random."""
    wrong = generator.choice(len(labels), round(share * len(labels)), replace=False)
    spoiled = labels.copy()
    spoiled[wrong] = (spoiled[wrong] + generator.integers(1, CLASSES, len(wrong))) % CLASSES
    return spoiled


def choose(
    x: np.ndarray, y: np.ndarray, split: tuple[np.ndarray, ...], setting: str, generator: np.random.Generator
) -> np.ndarray:
    """Train once; return epoch, test F1 and test Brier score of every chooser's checkpoint, one row each."""
    from sklearn.metrics import f1_score
    from sklearn.neural_network import MLPClassifier

    train, validate, test = split
    cases, noise = SETTINGS[setting]
    if cases is not None:
        train = generator.choice(train, cases, replace=False)
    labels = spoil(y[train], noise, generator)
    seed = int(generator.integers(2**31))
    network = MLPClassifier((HIDDEN,), learning_rate_init=STEP, batch_size=BATCH, random_state=seed)
    scores, forecasts = [], []
    for _ in range(EPOCHS):
        network.partial_fit(x[train], labels, classes=np.arange(CLASSES))
        on_validation = network.predict_proba(x[validate])
        scores.append([pr.mean_score(y[validate], on_validation, rule=rule) for rule in CHOOSERS.values()])
        forecasts.append(network.predict_proba(x[test]))
    kept = np.argmin(scores, axis=0)
    return np.array(
        [
            [
                epoch + 1,
                f1_score(y[test], forecasts[epoch].argmax(axis=1), average="macro"),
                pr.brier_score(y[test], forecasts[epoch]),
            ]
            for epoch in kept
        ]
    )


def repeat(task: tuple[str, int]) -> np.ndarray:
    """Return what `choose` returns, averaged over the six splits of the turned file."""
    from sklearn.datasets import load_digits

    setting, number = task
    generator = np.random.default_rng([list(SETTINGS).index(setting), number])
    x, y = load_digits(return_X_y=True)
    turn = int(generator.integers(len(y)))
    x, y = np.roll(x / 16.0, turn, axis=0), np.roll(y, turn)
    splits = h_block_splits(len(y), blocks=BLOCKS, validating=VALIDATING, testing=TESTING)
    return np.mean([choose(x, y, split, setting, generator) for split in splits], axis=0)


def with_interval(values: np.ndarray) -> tuple[float, float, float]:
    """Return the mean and its Student interval."""
    mean = float(values.mean())
    half = float(stats.t.ppf((1.0 + LEVEL) / 2.0, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values)))
    return mean, mean - half, mean + half


def summarise(setting: str, found: np.ndarray) -> list[dict[str, object]]:
    """Return one row per chooser from an array of shape (repeats, choosers, measures)."""
    rows: list[dict[str, object]] = []
    for index, chooser in enumerate(CHOOSERS):
        epoch, f1, brier = found[:, index].mean(axis=0)
        row: dict[str, object] = {"setting": setting, "chosen_by": chooser, "repeats": len(found)}
        row |= {"epoch": f"{epoch:.1f}", "f1": f"{f1:.4f}", "brier": f"{brier:.4f}"}
        for name, measure in (("f1", 1), ("brier", 2)):
            difference, low, high = with_interval(found[:, index, measure] - found[:, 0, measure])
            row |= {f"{name}_less_that_of_brier": f"{difference:.5f}", f"{name}_low": f"{low:.5f}"}
            row[f"{name}_high"] = f"{high:.5f}"
        rows.append(row)
    return rows


def draw(rows: list[dict[str, object]], path: Path) -> None:
    """Draw what each choice gains in F1 on the choice by Brier, and what it pays in the Brier score."""
    from matplotlib import pyplot as plt

    from propriety.plots.drawing import SMALL

    figure, panels = plt.subplots(2, 4, figsize=(10.5, 5.2), sharey=True, sharex="row", layout="constrained")
    for column, setting in zip(panels.T, SETTINGS, strict=True):
        own = {str(row["chosen_by"]): row for row in rows if row["setting"] == setting}
        brier = own.pop("Brier")
        for panel, measure in zip(column, ("f1", "brier"), strict=True):
            draw_differences(panel, own, measure)
        note = f"by Brier: F1 {100 * float(str(brier['f1'])):.1f}, epoch {float(str(brier['epoch'])):.0f}"
        column[0].set_title(f"{setting}\n{note}", fontsize=SMALL + 0.5, loc="left")
        column[0].set_xlabel("F1, points gained", fontsize=SMALL + 0.5)
        column[1].set_xlabel("Brier score, hundredths lost", fontsize=SMALL + 0.5)
    figure.supylabel("Checkpoint chosen by", fontsize=SMALL + 1)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def draw_differences(ax: Axes, rows: dict[str, dict[str, object]], measure: str) -> None:
    """Draw one measure's differences to the choice by Brier with their intervals, in hundredths."""
    from propriety.plots.drawing import COLORS, GREY, SMALL, on_white

    ax.axvline(0, color=GREY["line"], linewidth=0.9)
    for place, (name, row) in enumerate(rows.items()):
        middle, low, high = (100 * float(str(row[f"{measure}_{end}"])) for end in ("less_that_of_brier", "low", "high"))
        color = COLORS[0] if name in ("PBS", "PLL") else "0.35"
        ax.plot([low, high], [place, place], color=color, linewidth=1.6, solid_capstyle="butt")
        ax.plot(middle, place, "o", color=color, markersize=4.5)
        text = f"{middle:+.2f}".replace("-", "\N{MINUS SIGN}")
        text += f", epoch {float(str(row['epoch'])):.0f}" if measure == "f1" else ""
        ax.annotate(text, (middle, place), (0, 7), textcoords="offset points", ha="center", fontsize=SMALL - 1,
                    bbox=on_white(), zorder=2)  # fmt: skip
    ax.set_yticks(range(len(rows)), list(rows), fontsize=SMALL + 0.5)
    ax.set_ylim(len(rows) - 0.5, -0.8)
    ax.tick_params(axis="x", labelsize=SMALL)
    ax.margins(x=0.27)
    ax.spines[["top", "right"]].set_visible(False)


def main() -> None:
    """Run every setting and write the table and the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=40)
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    tasks = list(product(SETTINGS, range(options.repeats)))
    begin = time.perf_counter()
    found: dict[str, list[np.ndarray]] = {setting: [] for setting in SETTINGS}
    with ProcessPoolExecutor(options.workers) as pool:
        for done, ((setting, _), result) in enumerate(zip(tasks, pool.map(repeat, tasks), strict=True), start=1):
            found[setting].append(result)
            if not done % 10:
                print(f"{done} of {len(tasks)} repeats, {time.perf_counter() - begin:.0f} s", file=sys.stderr)
    rows = [row for setting, results in found.items() for row in summarise(setting, np.array(results))]
    write_rows("checkpoints", rows)
    draw(rows, RESULTS / "checkpoints.png")
    for row in rows:
        print("  ".join(f"{value}" for value in row.values()))


if __name__ == "__main__":
    main()
