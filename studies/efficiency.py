"""How close is the curve to the truth? The study of figure 5 of Dimitriadis, Gneiting & Jordan (2021).

Mean squared error of the estimated event rates at the forecasts of the sample, for the CORP curve and for bins: 5, 10
or 50 of equal width, or n^(1/6), n^(1/3) or n^(1/2) of equal count. Writes `results/efficiency.csv` and
`results/efficiency.png`.

Run: python studies/efficiency.py [--replicates 500]
"""

from __future__ import annotations

import argparse
from itertools import product
from pathlib import Path

import numpy as np
from settings import SHAPES, draw_forecasts, draw_outcomes
from study_tables import RESULTS, write_rows

import propriety as pr
from propriety.calibration.blocks import bin_starts

SIZES = (64, 128, 256, 512, 1024, 2048, 4096, 8192)
ESTIMATES = {
    "CORP": None,
    "5 bins": ("uniform", lambda _: 5),
    "10 bins": ("uniform", lambda _: 10),
    "50 bins": ("uniform", lambda _: 50),
    "n^(1/6) quantile bins": ("quantile", lambda n: int(np.ceil(n ** (1 / 6)))),
    "n^(1/3) quantile bins": ("quantile", lambda n: int(np.ceil(n ** (1 / 3)))),
    "n^(1/2) quantile bins": ("quantile", lambda n: int(np.ceil(n ** (1 / 2)))),
}


def errors(curve: pr.results.ReliabilityCurve, n: int) -> dict[str, float]:
    """Return the mean squared error of each estimate on one sample; the true rate is the forecast."""
    table = curve.table
    found = {}
    for name, way in ESTIMATES.items():
        if way is None:
            rate = curve.blocks.per_row()
        else:
            strategy, bins = way
            start = bin_starts(table, bins=bins(n), strategy=strategy)
            events, weight = np.add.reduceat(table.events, start), np.add.reduceat(table.weights, start)
            rate = np.repeat(events / weight, np.diff(np.append(start, len(table))))
        found[name] = float(table.weights @ (rate - table.forecast) ** 2 / table.weight)
    return found


def draw(rows: list[dict[str, object]], path: Path) -> None:
    """Draw the error against the sample size, both on logarithmic scales."""
    from matplotlib import pyplot as plt

    from propriety.plots.drawing import COLORS, DASHES

    kinds = (10, 50, "continuous")
    figure, panels = plt.subplots(3, 3, figsize=(9, 7.6), sharex=True, sharey=True, layout="constrained")
    for (i, distinct), (j, shape) in product(enumerate(kinds), enumerate(SHAPES)):
        for index, name in enumerate(ESTIMATES):
            chosen = [r for r in rows if (r["shape"], r["distinct"], r["estimate"]) == (shape, distinct, name)]
            panels[i, j].plot(
                [r["n"] for r in chosen],
                [r["mse"] for r in chosen],
                color="black" if name == "CORP" else COLORS[(index - 1) % 6],
                linestyle="-" if name == "CORP" else DASHES[1 + index % 4],
                linewidth=2.2 if name == "CORP" else 1.1,
                label=name,
            )
        panels[i, j].set(xscale="log", yscale="log")
        panels[i, j].spines[["top", "right"]].set_visible(False)
        panels[i, j].set_title(
            f"{shape}, {distinct}{' values' if distinct != 'continuous' else ''}", fontsize=9, loc="left"
        )
    for panel in panels[-1]:
        panel.set_xlabel("Cases")
    for panel in panels[:, 0]:
        panel.set_ylabel("Mean squared error")
    panels[0, 0].legend(fontsize=7, frameon=False, loc="lower left")
    figure.savefig(path, dpi=150)


def main() -> None:
    """Run every setting and write the table and the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=500)
    replicates = parser.parse_args().replicates
    rows: list[dict[str, object]] = []
    for shape, distinct, n in product(SHAPES, (10, 50, None), SIZES):
        generator = np.random.default_rng([SHAPES.index(shape), distinct or 0, n])
        found = []
        for _ in range(replicates):
            p = draw_forecasts(shape, distinct, n, generator)
            found.append(errors(pr.reliability_curve(draw_outcomes(p, generator), p), n))
        rows += [
            {
                "shape": shape,
                "distinct": distinct or "continuous",
                "n": n,
                "estimate": name,
                "mse": float(f"{np.mean([one[name] for one in found]):.4g}"),
            }
            for name in ESTIMATES
        ]
    write_rows("efficiency", rows)
    draw(rows, RESULTS / "efficiency.png")
    for shape, distinct in product(SHAPES, (10, 50, "continuous")):
        here = {
            (r["n"], r["estimate"]): float(str(r["mse"]))
            for r in rows
            if (r["shape"], r["distinct"]) == (shape, distinct)
        }
        better = [
            (n, name, round(here[n, name] / here[n, "CORP"], 2))
            for n, name in product(SIZES, ESTIMATES)
            if here[n, name] < 0.999 * here[n, "CORP"]
        ]
        print(f"{shape}, {distinct}: {better or 'CORP is nowhere beaten'}")


if __name__ == "__main__":
    main()
