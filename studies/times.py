"""Correlated times: whether 95% intervals of a mean over time hold, and how often a note says that they may not.

The mean of each time is normal, with a correlation between neighbouring times that falls off geometrically. The
interval is that of `estimate(..., period=)` for many cases at each time: Student's t with a long-run variance. The note
counts how many independent times would have the same error. Writes `results/times.csv` in about ten seconds.

Run: python studies/times.py [--replicates 4000]
"""

from __future__ import annotations

import argparse
import sys
from itertools import product

import numpy as np
from study_tables import write_rows

from propriety.inference.dependence import hac, independent_periods, student
from propriety.inference.estimates import note_on_few

TIMES = (10, 20, 60, 120, 365)
CORRELATIONS = (0.0, 0.3, 0.6, 0.8, 0.9)


def cover(times: int, correlation: float, replicates: int, generator: np.random.Generator) -> dict[str, object]:
    """Return how often intervals of one setting hold the truth, which is 0."""
    series = generator.normal(size=(times, replicates))
    for now in range(1, times):
        series[now] = correlation * series[now - 1] + np.sqrt(1.0 - correlation**2) * series[now]
    mean = series.mean(axis=0)
    parts = (series - mean) / times
    error, df = hac(parts)
    found = student(mean, error, df, 0.95)
    worth = independent_periods(parts, error)
    noted = [bool(note_on_few(None, None, periods=(times, one))) for one in worth.tolist()]
    return {
        "times": times,
        "correlation": correlation,
        "coverage": round(float(np.mean((found.low <= 0.0) & (found.high >= 0.0))), 4),
        "noted": round(float(np.mean(noted)), 4),
        "worth": round(float(np.median(worth)), 1),
        "samples": replicates,
    }


def main() -> None:
    """Run every setting and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=4000)
    options = parser.parse_args()
    generator = np.random.default_rng(1)
    rows = [cover(*setting, options.replicates, generator) for setting in product(TIMES, CORRELATIONS)]
    for one in rows:
        print(*one.values(), file=sys.stderr)
    write_rows("times", rows)


if __name__ == "__main__":
    main()
