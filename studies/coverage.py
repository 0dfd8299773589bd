"""What is the coverage of 90% bands? The study of figure 4 and appendix A of Dimitriadis, Gneiting & Jordan (2021).

Calibrated forecasts of three shapes, with 10, 20 or 50 distinct values or continuous, in samples of 128 to 8192
cases; pointwise consistency bands with the default choice of method, and pointwise confidence bands. Coverage is
averaged over the distinct forecasts of each sample. Writes `results/coverage.csv` and `results/coverage.png`.

Run: python studies/coverage.py [--replicates 400] [--resamples 200] [--workers 2]
"""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path

import numpy as np
from settings import DISTINCT, SHAPES, draw_forecasts, draw_outcomes
from study_tables import RESULTS, write_rows

import propriety as pr

SIZES = (128, 256, 512, 1024, 2048, 4096, 8192)
LEVEL = 0.9
MARKERS = {"o": "resampling", "s": "discrete", "^": "continuous", "D": "pooled blocks"}


def cover(setting: tuple[str, int | None, int, int, int]) -> list[dict[str, object]]:
    """Return the mean coverage of both bands in one setting."""
    shape, distinct, n, replicates, resamples = setting
    generator = np.random.default_rng([SHAPES.index(shape), distinct or 0, n])
    held: dict[str, list[float]] = {"consistency": [], "confidence": []}
    methods: dict[str, str] = {}
    for replicate in range(replicates):
        p = draw_forecasts(shape, distinct, n, generator)
        curve = pr.reliability_curve(draw_outcomes(p, generator), p)
        consistent = curve.with_consistency_band(level=LEVEL, n_resamples=resamples, seed=replicate)
        for band in consistent.with_confidence_band(level=LEVEL).bands:
            x = curve.table.forecast
            value = curve.blocks.per_row() if band.kind == "consistency" else x
            low, high = (np.interp(x, band.forecast, limit) for limit in (band.low, band.high))
            held[band.kind].append(float(np.mean((low - 1e-12 <= value) & (value <= high + 1e-12))))
            methods[band.kind] = band.method
    return [
        {
            "kind": kind,
            "shape": shape,
            "distinct": distinct or "continuous",
            "n": n,
            "method": methods[kind],
            "coverage": round(float(np.mean(values)), 4),
            "standard_error": round(float(np.std(values) / np.sqrt(len(values))), 4),
        }
        for kind, values in held.items()
    ]


def draw(rows: list[dict[str, object]], path: Path) -> None:
    """Draw the coverage against the sample size, one panel per kind of band and shape."""
    from matplotlib import pyplot as plt

    from propriety.plots.drawing import COLORS, DASHES

    figure, panels = plt.subplots(2, 3, figsize=(9, 5), sharex=True, sharey=True, layout="constrained")
    for (i, kind), (j, shape) in product(enumerate(("consistency", "confidence")), enumerate(SHAPES)):
        panel = panels[i, j]
        panel.axhspan(0.88, 0.94, color="0.93", zorder=0)
        panel.axhline(LEVEL, color="0.55", linewidth=0.9, zorder=1)
        for index, distinct in enumerate(DISTINCT):
            chosen = [
                r for r in rows if (r["kind"], r["shape"], r["distinct"]) == (kind, shape, distinct or "continuous")
            ]
            name = f"{distinct} values" if distinct else "continuous"
            panel.plot(
                [r["n"] for r in chosen],
                [r["coverage"] for r in chosen],
                color=COLORS[index],
                linestyle=DASHES[index],
                label=name,
            )
            for marker, method in MARKERS.items():
                points = [(r["n"], r["coverage"]) for r in chosen if r["method"] == method]
                panel.plot(*zip(*points, strict=True), marker, color=COLORS[index], markersize=4) if points else None
        panel.set_xscale("log", base=2)
        panel.set_ylim(0.8, 1.0)
        panel.spines[["top", "right"]].set_visible(False)
        panel.set_title(f"{kind} bands, {shape}", fontsize=10, loc="left")
        if i:
            panel.set_xlabel("Cases")
        if not j:
            panel.set_ylabel("Coverage of 90% bands")
    panels[0, 2].legend(fontsize=8, frameon=False, loc="lower left")
    panels[1, 2].text(
        0.98, 0.04, "circles: resampling\nsquares: discrete\ntriangles: continuous\ndiamonds: pooled blocks",
        transform=panels[1, 2].transAxes, ha="right", fontsize=7.5,
    )  # fmt: skip
    figure.savefig(path, dpi=150)


def main() -> None:
    """Run every setting and write the table and the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=400)
    parser.add_argument("--resamples", type=int, default=200)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    settings = [
        (shape, distinct, n, options.replicates, options.resamples)
        for n, shape, distinct in product(SIZES, SHAPES, DISTINCT)
    ]
    begin = time.perf_counter()
    rows: list[dict[str, object]] = []
    with ProcessPoolExecutor(options.workers) as pool:
        for done, found in enumerate(pool.map(cover, settings), start=1):
            rows += found
            print(f"{done} of {len(settings)} settings, {time.perf_counter() - begin:.0f} s", file=sys.stderr)
    write_rows("coverage", rows)
    draw(rows, RESULTS / "coverage.png")
    large = [float(str(r["coverage"])) for r in rows if int(str(r["n"])) >= 512]
    outside = [r for r in rows if int(str(r["n"])) >= 512 and not 0.88 <= float(str(r["coverage"])) <= 0.94]
    print(
        f"n >= 512: coverage {min(large):.3f} to {max(large):.3f}; {len(outside)} of {len(large)} outside 0.88 to 0.94"
    )
    for row in outside:
        print(row)


if __name__ == "__main__":
    main()
