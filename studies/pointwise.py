"""Critical values of pointwise confidence limits of the event rate, and the coverage of the limits.

First the distribution of the largest error of the pooled blocks (`propriety.calibration.bands`), simulated with
normal noise: where the curve rises, and where it is flat, at places with 2 to 50% of the cases to one side. The rows
that are used for the critical values are marked. Then the coverage of 90% and 95% limits at the 2, 10, 50, 90 and 98%
quantiles of the forecasts: for the truths used to choose the method, for two that were added later (stairs, late), for
ten distinct forecasts, and for weighted and clustered cases, for which the limits are approximations. Writes
`results/pointwise_critical.csv`, `results/pointwise.csv` and `results/pointwise.png`.

Run: python studies/pointwise.py [--samples 2000] [--draws 40000]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.special import expit, ndtr
from study_tables import RESULTS, write_rows

import propriety as pr
from propriety.calibration.bands import CRITICAL
from propriety.tables.forecast_table import ForecastTable

SIZES = (200, 500, 5000)
POINTS = (0.02, 0.1, 0.5, 0.9, 0.98)
LEVELS = (0.9, 0.95)
CHOSEN: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "flat 0.3": lambda u: np.full_like(u, 0.3),
    "flat 0.02": lambda u: np.full_like(u, 0.02),
    "linear": lambda u: 0.1 + 0.8 * u,
    "steep": lambda u: expit(20.0 * (u - 0.5)),
    "cubic": lambda u: 0.5 + 4.0 * (u - 0.5) ** 3,
}
FRESH: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "stairs": lambda u: 0.1 + 0.8 * (u + np.sin(8.0 * np.pi * u) / (8.0 * np.pi)),
    "late": lambda u: 0.01 + 0.6 * u**6,
}
TRUTHS = CHOSEN | FRESH
CLUSTER = 20  # Cases of a cluster.
SLOPE, FLAT_CASES = 2e-4, 4000


def critical(draws: int) -> Iterator[dict[str, object]]:
    """Simulate quantiles of the law, with noise of variance 1 around a curve that rises and around a flat one."""
    generator = np.random.default_rng(1)
    rising = SLOPE * np.arange(-1500.0, 1501.0)
    shares = (0.02, 0.05, 0.1, 0.5)
    designs = [("rising", rising, {"0.5": 1500})]
    designs += [("flat", np.zeros(FLAT_CASES), {str(share): int(share * FLAT_CASES) for share in shares})]
    for curve, truth, places in designs:
        errors = np.array([largest_errors(truth, list(places.values()), generator) for _ in range(draws)])
        for column, place in enumerate(places):
            used = curve == "rising" or place == "0.05"
            for level in CRITICAL:
                yield {
                    "curve": curve,
                    "cases_to_one_side": place,
                    "level": level,
                    "quantile": round(float(np.quantile(errors[:, column], level)), 3),
                    "used": "yes" if used else "no",
                    "draws": draws,
                }


def largest_errors(truth: np.ndarray, places: list[int], generator: np.random.Generator) -> list[float]:
    """Return the largest standardised error of the blocks up to each place that are too high, after it too low."""
    fit = isotonic_regression(truth + generator.standard_normal(len(truth)))
    start = fit.blocks[:-1]
    size = np.sqrt(np.diff(fit.blocks))
    found = []
    for place in places:
        own = int(np.searchsorted(start, place, side="right")) - 1
        error = size * (fit.x[start] - truth[place])
        found.append(float(max(error[: own + 1].max(), -error[own:].min())))
    return found


def draw(design: str, truth: str, n: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw outcomes, forecasts (as quantiles of their law) and weights."""
    rate, weight = TRUTHS[truth], np.ones(n)
    u = (generator.permutation(n) + generator.random(n)) / n
    if design == "ten values":
        u = (np.floor(10.0 * u) + 0.5) / 10.0
    if design == "case-control":
        population = generator.random(40 * n if truth == "flat 0.02" else 5 * n)
        event = generator.random(len(population)) < rate(population)
        picked = [np.flatnonzero(event == side)[: n // 2] for side in (True, False)]
        shares = [
            np.full(len(own), (event == side).sum() / len(own)) for side, own in zip((True, False), picked, strict=True)
        ]
        weight = np.concatenate(shares)
        rows = np.concatenate(picked)
        return event[rows], population[rows], weight
    if design == "lognormal weights":
        weight = np.exp(generator.standard_normal(n))
    if design == "weights by forecast":
        weight = np.where(generator.random(n) < 0.2, 5.0, 0.5) * np.where(u < 0.5, 1.0, 3.0)
    if design == "clusters":
        shared = np.repeat(generator.standard_normal(n // CLUSTER), CLUSTER)
        noise = np.sqrt(0.2) * shared + np.sqrt(0.8) * generator.standard_normal(n)
        return ndtr(noise) < rate(u), u, weight
    return generator.random(n) < rate(u), u, weight


def cover(design: str, truth: str, n: int, samples: int) -> Iterator[dict[str, object]]:
    """Count how often the limits hold the truth at each point."""
    generator = np.random.default_rng([list(DESIGNS).index(design), list(TRUTHS).index(truth), n])
    points = np.array([0.05, 0.15, 0.55, 0.85, 0.95] if design == "ten values" else POINTS)
    true = TRUTHS[truth](points)
    held, width = np.zeros((len(LEVELS), len(points))), np.zeros((len(LEVELS), len(points)))
    for _ in range(samples):
        y, p, weight = draw(design, truth, n, generator)
        table = ForecastTable.from_predictions(y, p, sample_weight=None if (weight == 1.0).all() else weight)
        curve = pr.reliability_curve(table)
        for row, level in enumerate(LEVELS):
            (band,) = curve.with_confidence_band(level=level).bands
            lower, upper = (np.interp(points, band.forecast, limit) for limit in (band.low, band.high))
            held[row] += (lower <= true) & (true <= upper)
            width[row] += upper - lower
    for row, level in enumerate(LEVELS):
        for column, point in enumerate(points):
            yield {
                "design": design,
                "truth": truth,
                "chosen_on": "yes" if truth in CHOSEN and design == "plain" else "no",
                "n": n,
                "point": float(point),
                "level": level,
                "coverage": round(held[row, column] / samples, 4),
                "width": round(width[row, column] / samples, 4),
                "samples": samples,
            }


DESIGNS = {
    "plain": tuple(TRUTHS),
    "ten values": ("flat 0.3", "linear", "cubic"),
    "lognormal weights": ("flat 0.3", "flat 0.02", "linear"),
    "weights by forecast": ("flat 0.3", "flat 0.02", "linear"),
    "case-control": ("flat 0.3", "flat 0.02", "linear"),
    "clusters": ("flat 0.3", "linear"),
}


def picture(rows: list[dict[str, object]], path: Path) -> None:
    """Draw the coverage of 90% limits of plain cases, one panel per size."""
    from matplotlib import pyplot as plt

    from propriety.plots.drawing import COLORS, DASHES

    figure, panels = plt.subplots(1, len(SIZES), figsize=(9, 3.2), sharey=True, layout="constrained")
    places = np.arange(len(POINTS))
    for panel, n in zip(panels, SIZES, strict=True):
        panel.axhspan(0.88, 0.97, color="0.93", zorder=0)
        panel.axhline(0.9, color="0.55", linewidth=0.9, zorder=1)
        for index, truth in enumerate(TRUTHS):
            chosen = [r for r in rows if (r["design"], r["truth"], r["n"], r["level"]) == ("plain", truth, n, 0.9)]
            style = {"color": COLORS[index % len(COLORS)], "linestyle": DASHES[index % len(DASHES)]}
            panel.plot(places, [r["coverage"] for r in chosen], marker="o", markersize=3, label=truth, **style)
        panel.set_xticks(places, [f"{point:.0%}" for point in POINTS])
        panel.set_title(f"{n:,} cases", loc="left", fontsize=10)
        panel.set_xlabel("Quantile of the forecasts")
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("Coverage of 90% limits")
    panels[0].set_ylim(0.8, 1.005)
    panels[-1].legend(fontsize=7.5, frameon=False, ncols=2, loc="lower center")
    figure.savefig(path, dpi=150)


def main() -> None:
    """Simulate the law and every design, and write the tables and the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--draws", type=int, default=40_000)
    options = parser.parse_args()
    begin = time.perf_counter()
    write_rows("pointwise_critical", list(critical(options.draws)))
    rows: list[dict[str, object]] = []
    for design, truths in DESIGNS.items():
        for truth in truths:
            for n in SIZES:
                rows += cover(design, truth, n, options.samples)
            print(f"{design}, {truth}: {time.perf_counter() - begin:.0f} s", file=sys.stderr)
    write_rows("pointwise", rows)
    picture(rows, RESULTS / "pointwise.png")
    for design in DESIGNS:
        for level in LEVELS:
            found = [float(str(r["coverage"])) for r in rows if (r["design"], r["level"]) == (design, level)]
            print(f"{design}, {level:.0%}: coverage {min(found):.3f} to {max(found):.3f}, mean {np.mean(found):.3f}")


if __name__ == "__main__":
    main()
