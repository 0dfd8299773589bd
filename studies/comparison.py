"""Comparisons of two models: size of 5% tests and coverage of 95% intervals of the difference.

The event is that z1 + z2 + e exceeds a bar, for standard normal z1, z2 and e; the bar makes its prevalence 50% or 2%.
Model "one" knows z1 and model "two" knows z2, so they differ and are equally good: the size of the tests. Model "both"
knows z1 and z2, and is better than "two" by a difference that quadrature gives: the coverage of the intervals. Brier
and log scores; 50 to 10,000 cases that are

- independent: paired t;
- in 20 clusters, with a fifth of the variance of z1, z2 and e between clusters: cluster, and paired t, which ignores
  them;
- in time, with z1, z2 and e autoregressive of order one, 0.8 or 0.95 from one time to the next: diebold-mariano, block
  bootstrap (999 draws), and paired t, which ignores time.

Replicates are columns of the package's own estimators, before differences that depend on few events are widened (see
`few_events.py`). One of each setting is checked to agree with `compare`, or to be narrower.
Writes `results/comparison.csv` and `results/comparison.png`; takes about five minutes on one core.

Run: python studies/comparison.py [--replicates 4000] [--bootstraps 1000]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
from scipy.signal import lfilter
from scipy.special import ndtr, ndtri
from study_tables import RESULTS, write_rows

import propriety as pr
from propriety.inference.comparison import compare
from propriety.inference.dependence import Estimates, block_bootstrap, hac, student

SIZES = (50, 200, 1000, 10_000)
PREVALENCES = (0.5, 0.02)
DESIGNS = ("independent", "20 clusters", "AR(1) 0.8", "AR(1) 0.95")
METHODS = {
    "independent": ("paired t",),
    "20 clusters": ("paired t", "cluster"),
    "AR(1) 0.8": ("paired t", "diebold-mariano", "block bootstrap"),
    "AR(1) 0.95": ("paired t", "diebold-mariano", "block bootstrap"),
}
RULES = {"Brier": pr.Brier(), "log": pr.Log()}
PAIRS = {"equal": ("one", "two"), "different": ("both", "two")}
CLUSTERS, BETWEEN, LEVEL, DRAWS = 20, 0.2, 0.95, 999
CELLS = 2**21  # Cases drawn at a time, over all replicates.
TOGETHER = 25  # Replicates that share the draws of one bootstrap.


def bar(prevalence: float) -> float:
    """Return what the latent sum must exceed."""
    return float(-ndtri(prevalence) * np.sqrt(3.0))


def forecasts(z1: np.ndarray, z2: np.ndarray, prevalence: float) -> dict[str, np.ndarray]:
    """Return the calibrated forecasts of the models that know z1, z2, or both."""
    one, two = (ndtr((z - bar(prevalence)) / np.sqrt(2.0)) for z in (z1, z2))
    return {"one": one, "two": two, "both": ndtr(z1 + z2 - bar(prevalence))}


def true_difference(truth: str, rule: pr.BinaryRule, prevalence: float) -> float:
    """Return the expected difference of the scores of a pair, by quadrature."""
    if truth == "equal":
        return 0.0
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    z1, z2 = np.meshgrid(nodes, nodes)
    models = forecasts(z1, z2, prevalence)
    opposite = ndtr(bar(prevalence) - z1 - z2)  # More digits than one minus the chance of the event.
    expected = [
        np.where(chance > 1e-15, chance * rule.loss(models[name], event=event), 0.0)
        for name in PAIRS[truth]
        for event, chance in ((True, models["both"]), (False, opposite))
    ]
    difference = expected[0] + expected[1] - expected[2] - expected[3]
    return float(np.sum(np.outer(weights, weights) * difference) / (2.0 * np.pi))


def latent(design: str, shape: tuple[int, int], generator: np.random.Generator) -> np.ndarray:
    """Draw standard normal values, shape (cases, replicates), that depend on each other as the design has it."""
    n, replicates = shape
    own = generator.standard_normal(shape)
    if design == "20 clusters":
        shared = generator.standard_normal((CLUSTERS, replicates))[np.arange(n) % CLUSTERS]
        return np.sqrt(BETWEEN) * shared + np.sqrt(1.0 - BETWEEN) * own
    if design.startswith("AR(1)"):
        step = float(design.split()[1])
        own[1:] *= np.sqrt(1.0 - step**2)
        return lfilter([1.0], [1.0, -step], own, axis=0)
    return own


def samples(
    design: str, prevalence: float, n: int, replicates: int
) -> Iterator[tuple[np.ndarray, dict[str, np.ndarray]]]:
    """Yield outcomes and forecasts, shape (cases, replicates), some replicates at a time."""
    generator = np.random.default_rng([6, DESIGNS.index(design), round(1000 * prevalence), n])
    size = max(CELLS // n, 1)
    for start in range(0, replicates, size):
        shape = (n, min(size, replicates - start))
        z1, z2, rest = (latent(design, shape, generator) for _ in range(3))
        yield z1 + z2 + rest > bar(prevalence), forecasts(z1, z2, prevalence)


def estimate(method: str, differences: np.ndarray) -> Estimates:
    """Return the errors and intervals of the mean difference of each replicate."""
    mean = differences.mean(axis=0)
    parts = (differences - mean) / len(differences)
    if method == "diebold-mariano":
        return student(mean, *hac(parts), LEVEL)
    if method == "block bootstrap":
        several = [slice(start, start + TOGETHER) for start in range(0, len(mean), TOGETHER)]
        found = [
            block_bootstrap(mean[some], parts[:, some], level=LEVEL, n_resamples=DRAWS, seed=some.start)
            for some in several
        ]
        return Estimates(*(np.concatenate(columns) for columns in zip(*found, strict=True)))
    if method == "cluster":
        parts = np.stack([parts[place::CLUSTERS].sum(axis=0) for place in range(CLUSTERS)])
    units = len(parts)
    return student(mean, np.sqrt(np.sum(parts**2, axis=0) * units / (units - 1)), units - 1.0, LEVEL)


def check(method: str, rule: pr.Rule, y: np.ndarray, pair: dict[str, np.ndarray], found: Estimates) -> None:
    """Stop if `compare` says something else of the first replicate."""
    places = np.arange(len(y))
    shared = {"cluster": {"cluster": places % CLUSTERS}, "diebold-mariano": {"period": places}}.get(method, {})
    if method == "block bootstrap":
        return  # Other draws.
    models = {name: p[:, 0] for name, p in pair.items()}
    result = compare(y[:, 0], models, rule, level=LEVEL, method="student", **shared).differences[0]
    if not np.allclose([result.low, result.high], [found.low[0], found.high[0]], rtol=1e-6, atol=1e-9):
        message = f"{method}: {result.low}, {result.high} is not {found.low[0]}, {found.high[0]}"
        raise AssertionError(message)


def lag_one(differences: np.ndarray) -> float:
    """Return the mean correlation of neighbouring differences."""
    deviation = differences - differences.mean(axis=0)
    return float(np.mean(np.sum(deviation[1:] * deviation[:-1], axis=0) / np.sum(deviation**2, axis=0)))


def cover(design: str, prevalence: float, n: int, replicates: int, bootstraps: int) -> list[dict[str, object]]:
    """Return how often the intervals of one setting hold the true difference."""
    held: dict[tuple[str, str, str], list[np.ndarray]] = {}
    lags: dict[tuple[str, str], float] = {}
    for y, models in samples(design, prevalence, n, replicates):
        for (name, rule), (truth, pair) in product(RULES.items(), PAIRS.items()):
            one, other = (rule.case_loss(models[model], y) for model in pair)
            lags.setdefault((name, truth), lag_one(one - other))
            target = true_difference(truth, rule, prevalence)
            for method in METHODS[design]:
                parts = held.setdefault((name, truth, method), [])
                done = sum(map(len, parts))
                wanted = (bootstraps if method == "block bootstrap" else replicates) - done
                if wanted <= 0:
                    continue
                found = estimate(method, (one - other)[:, :wanted])
                if not done:
                    check(method, rule, y, {model: models[model] for model in pair}, found)
                parts.append((found.low <= target) & (target <= found.high))
    rows: list[dict[str, object]] = []
    for (name, truth, method), parts in held.items():
        inside = np.concatenate(parts)
        share = float(inside.mean())
        rows.append(
            {
                "design": design,
                "prevalence": prevalence,
                "n": n,
                "rule": name,
                "truth": truth,
                "method": method,
                "coverage": round(share, 4),
                "standard_error": round(float(np.sqrt(share * (1.0 - share) / len(inside))), 4),
                "replicates": len(inside),
                "lag_one": round(lags[name, truth], 3) if design.startswith("AR") else "",
            }
        )
    return rows


def draw(rows: list[dict[str, object]], path: Path) -> None:
    """Draw the coverage of the Brier difference against the sample size, one panel per design and prevalence."""
    from matplotlib import pyplot as plt

    from propriety.plots.drawing import COLORS

    looks = {
        "paired t": (COLORS[1], "-", "o"),
        "cluster": (COLORS[0], "-", "s"),
        "diebold-mariano": (COLORS[0], "-", "s"),
        "block bootstrap": (COLORS[2], "-", "^"),
    }
    figure, panels = plt.subplots(2, 4, figsize=(11, 5.4), sharex=True, sharey=True, layout="constrained")
    for (i, prevalence), (j, design) in product(enumerate(PREVALENCES), enumerate(DESIGNS)):
        panel = panels[i, j]
        panel.axhspan(0.93, 0.97, color="0.92", zorder=0)
        panel.axhline(LEVEL, color="0.55", linewidth=0.9, zorder=1)
        for method, truth in product(METHODS[design], PAIRS):
            wanted = {"design": design, "prevalence": prevalence, "method": method, "truth": truth, "rule": "Brier"}
            chosen = [row for row in rows if all(row[name] == value for name, value in wanted.items())]
            color, _, marker = looks[method]
            panel.plot(
                [row["n"] for row in chosen],
                [max(float(str(row["coverage"])), 0.502) for row in chosen],
                color=color,
                linestyle="-" if truth == "equal" else (0, (4, 2)),
                marker=marker,
                markerfacecolor=color if truth == "equal" else "white",
                markersize=4.5,
                linewidth=1.2,
                label=f"{method}, {truth}",
            )
        panel.set_xscale("log")
        panel.set_xticks(SIZES, [f"{n:,}" for n in SIZES])
        panel.minorticks_off()
        panel.set_ylim(0.5, 1.0)
        panel.spines[["top", "right"]].set_visible(False)
        panel.tick_params(labelsize=8, length=3)
        panel.set_title(f"{design}, prevalence {prevalence:.0%}", fontsize=9, loc="left")
        if i:
            panel.set_xlabel("Cases")
        if not j:
            panel.set_ylabel("Coverage of 95% intervals")
    for panel in panels[0, :3]:
        panel.legend(fontsize=7, frameon=False, loc="lower left")
    size = "Equal models: one minus the coverage is the size of the 5% test."
    note = f"Brier difference. {size} Below 0.5: drawn at the edge."
    figure.supxlabel(note, fontsize=8, color="0.3")
    figure.savefig(path, dpi=150)


def main() -> None:
    """Run every setting and write the table and the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=4000)
    parser.add_argument("--bootstraps", type=int, default=1000)
    options = parser.parse_args()
    begin = time.perf_counter()
    rows: list[dict[str, object]] = []
    for design, prevalence, n in product(DESIGNS, PREVALENCES, SIZES):
        # A sample of 10,000 cases takes as long as ten of 1,000.
        replicates = min(options.replicates, 2000) if n == max(SIZES) else options.replicates
        rows += cover(design, prevalence, n, replicates, options.bootstraps)
        print(f"{design}, {prevalence:.0%}, {n:,}: {time.perf_counter() - begin:.0f} s", file=sys.stderr, flush=True)
    write_rows("comparison", rows)
    draw(rows, RESULTS / "comparison.png")
    informed = [
        row for row in rows if row["method"] == METHODS[str(row["design"])][-1] or row["method"] == "diebold-mariano"
    ]
    outside = [row for row in informed if int(str(row["n"])) >= 200 and not 0.93 <= float(str(row["coverage"])) <= 0.97]
    large = sum(int(str(row["n"])) >= 200 for row in informed)
    print(f"{len(outside)} of {large} outside 0.93 to 0.97 from 200 cases on:")
    for row in outside:
        print(*row.values())


if __name__ == "__main__":
    main()
