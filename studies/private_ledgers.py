"""Private ledgers: how often the bounds of measures hold, and how wide they are.

Two hospitals with 600 or 3,000 cases each send private ledgers of a calibrated model, p = expit(-1.5 + x) with a
standard normal x, on 32 cells: both with counts below 5 suppressed ("suppressed"), both with noise of epsilon 1
("noise"), or one of each ("both"). The ledgers are added, and measures of the sum are compared with those of all rows.

Writes `results/private_ledgers.csv`: the share of draws in which the value of all rows is within the bounds of level
99%, the mean width of the bounds, and the mean width of the 95% interval of sampling error for comparison. Takes four
minutes on one core.

Run: python studies/private_ledgers.py [--replicates 1000]
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np
from scipy.special import expit
from study_tables import write_rows

import propriety as pr
from propriety.inference.measures import MeanScore, Measure

MEASURES: tuple[Measure, ...] = (
    MeanScore(pr.Brier()),
    pr.measures.NetBenefit(0.2),
    pr.measures.ObservedExpected(),
    pr.measures.CalibrationIntercept(),
    pr.measures.AreaUnderRoc(),
)
DESIGNS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "suppressed": ({"minimum": 5}, {"minimum": 5}),
    "noise": ({"epsilon": 1.0}, {"epsilon": 1.0}),
    "both": ({"minimum": 5}, {"epsilon": 1.0}),
}


def study(design: str, n: int, replicates: int) -> list[dict[str, object]]:
    """Return how often the bounds of each measure hold, and their width."""
    found: dict[str, list[tuple[float, float, float]]] = {one.key: [] for one in MEASURES}
    for replicate in range(replicates):
        generator = np.random.default_rng([13, n, replicate])
        sent, rows = [], []
        for place, options in enumerate(DESIGNS[design]):
            p = expit(-1.5 + generator.normal(size=n))
            ledger = pr.condense(generator.random(n) < p, p, by={"site": np.full(n, "ab"[place])})
            seed = {"seed": 2 * replicate + place} if "epsilon" in options else {}
            sent.append(pr.coarsen(ledger, **options, **seed))
            rows.append(ledger)
        whole, private = sum(rows), sum(sent)
        for measure in MEASURES:
            truth = pr.estimate(whole, None, measure)
            bounds = pr.measure_bounds(private, measure, level=0.99)
            inside = bounds.low - 1e-9 <= truth.value <= bounds.high + 1e-9
            found[measure.key].append((float(inside), bounds.high - bounds.low, truth.high - truth.low))
    results = []
    for key, own in found.items():
        inside, width, sampling = np.mean(own, axis=0)
        row: dict[str, object] = {"design": design, "cases": 2 * n, "measure": key, "samples": replicates}
        row |= {"inside": round(inside, 4), "width": round(width, 4), "width_of_interval": round(sampling, 4)}
        results.append(row)
    return results


def main() -> None:
    """Run all designs and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=1000)
    replicates = parser.parse_args().replicates
    rows = []
    for n, share in ((600, 1), (3000, 10)):
        for design in DESIGNS:
            rows += study(design, n, max(replicates // share, 1))
            sys.stdout.write(f"{design}, {n} cases\n")
            sys.stdout.flush()
            write_rows("private_ledgers", rows)


if __name__ == "__main__":
    main()
