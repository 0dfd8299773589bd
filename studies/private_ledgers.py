"""Private ledgers: how often the bounds of measures hold, and how wide they are.

Two hospitals with 600 or 3,000 cases each send private ledgers of a calibrated model, p = expit(-1.5 + x) with a
standard normal x, on 32 cells, with counts below 5 suppressed. The ledgers are added, and measures of the sum are
compared with those of all rows.

Writes `results/private_ledgers.csv`: the share of draws in which the value of all rows is within the bounds, the
mean width of the bounds, and the mean width of the 95% interval of sampling error for comparison. Takes a minute on one
core.

Run: python studies/private_ledgers.py [--replicates 1000]
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
from scipy.special import expit
from study_tables import write_rows

import propriety as pr
from propriety.inference.measures.measure import Measure
from propriety.inference.measures.of_means import MeanScore

MEASURES: tuple[Measure, ...] = (
    MeanScore(pr.Brier()),
    pr.measures.NetBenefit(0.2),
    pr.measures.ObservedExpected(),
    pr.measures.CalibrationIntercept(),
    pr.measures.AreaUnderRoc(),
)
MINIMUM = 5


def study(n: int, replicates: int) -> list[dict[str, object]]:
    """Return how often the bounds of each measure hold, and their width."""
    found: dict[str, list[tuple[float, float, float]]] = {one.key: [] for one in MEASURES}
    for replicate in range(replicates):
        generator = np.random.default_rng([13, n, replicate])
        sent, rows = [], []
        for site in "ab":
            p = expit(-1.5 + generator.normal(size=n))
            ledger = pr.condense(generator.random(n) < p, p, by={"site": np.full(n, site)})
            sent.append(pr.coarsen(ledger, smallest=MINIMUM))
            rows.append(ledger)
        whole, private = sum(rows), sum(sent)
        for measure in MEASURES:
            truth = pr.estimate(whole, None, measure)
            bounds = pr.measure_bounds(private, measure)
            inside = bounds.low - 1e-9 <= truth.value <= bounds.high + 1e-9
            found[measure.key].append((float(inside), bounds.high - bounds.low, truth.high - truth.low))
    results = []
    for key, own in found.items():
        inside, width, sampling = np.mean(own, axis=0)
        row: dict[str, object] = {"cases": 2 * n, "measure": key, "samples": replicates}
        row |= {"inside": round(inside, 4), "width": round(width, 4), "width_of_interval": round(sampling, 4)}
        results.append(row)
    return results


def main() -> None:
    """Run both sizes and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=1000)
    replicates = parser.parse_args().replicates
    rows = []
    for n, share in ((600, 1), (3000, 10)):
        rows += study(n, max(replicates // share, 1))
        sys.stdout.write(f"{n} cases\n")
        sys.stdout.flush()
        write_rows("private_ledgers", rows)


if __name__ == "__main__":
    main()
