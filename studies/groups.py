"""Groups that share clusters or times: how often `slices` finds a difference at 5% between two that do not differ.

50 or 200 clusters or times of six cases. Forecasts are standard normal in their log-odds. The log-odds of the event are
those of the forecast plus a state of the cluster or time with standard deviation 1, and a state of its own for each
group with standard deviation 0.7. States of clusters are independent; those of times are AR(1) with coefficient 0, 0.5
or 0.8. Either half of the cases of each cluster or time are in either group ("shared"), or whole clusters are in one
group by turns ("apart"; times are always shared).
Writes `results/groups.csv`: for each measure the share of samples with a p-value of at most 0.05, and the coverage of
the 95% interval of calibration in the large in the first group, whose true value is 0 by symmetry.
Takes about ten minutes on one core.

Run: python studies/groups.py [--replicates 500]
"""

from __future__ import annotations

import argparse
import math
import sys
from itertools import product

import numpy as np
from scipy.special import expit, logit
from study_tables import write_rows

import propriety as pr

UNITS, CASES, LEVEL = (50, 200), 6, 0.95
DESIGNS = (
    ("cluster", "shared", 0.0),
    ("cluster", "apart", 0.0),
    ("period", "shared", 0.0),
    ("period", "shared", 0.5),
    ("period", "shared", 0.8),
)
MEASURES = (
    pr.measures.MeanScore(),
    pr.measures.Skill(),
    pr.measures.AreaUnderRoc(),
    pr.measures.ObservedExpected(),
    pr.measures.CalibrationSlope(),
)


def draw(
    units: int, kind: str, correlation: float, generator: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return outcomes, forecasts, groups and clusters or times of a sample."""
    state = generator.normal(size=(3, units))
    for step in range(1, units if correlation else 0):
        state[:, step] = correlation * state[:, step - 1] + np.sqrt(1.0 - correlation**2) * state[:, step]
    unit = np.repeat(np.arange(units), CASES)
    group = np.tile(np.arange(CASES) % 2, units) if kind == "shared" else unit % 2
    p = expit(generator.normal(size=len(unit)))
    y = generator.random(len(unit)) < expit(logit(p) + state[0, unit] + 0.7 * state[1 + group, unit])
    return y, p, group, unit


def count(units: int, design: tuple[str, str, float], replicates: int) -> list[dict[str, object]]:
    """Return how often the tests of one design reject, and how often the interval holds."""
    unit, kind, correlation = design
    generator = np.random.default_rng([units, len(unit), len(kind), int(10 * correlation)])
    rejected, tested, held = dict.fromkeys(MEASURES, 0), dict.fromkeys(MEASURES, 0), 0
    for _ in range(replicates):
        y, p, group, code = draw(units, kind, correlation, generator)
        for measure in MEASURES:
            found = pr.slices(y, p, measure, by=group, **{unit: code})
            difference, excess = found.where(against="rest")[0], found.where(measure="excess")[0]
            tested[measure] += math.isfinite(difference.p)
            rejected[measure] += difference.p <= 1.0 - LEVEL
        held += excess.low <= 0.0 <= excess.high
    shared = {"units": units, "unit": unit, "groups": kind, "correlation": correlation}
    rows: list[dict[str, object]] = [
        {**shared, "of": measure.label, "share": round(rejected[measure] / tested[measure], 4), "samples": replicates}
        for measure in MEASURES
    ]
    return [
        *rows,
        {**shared, "of": "coverage of calibration in the large", "share": round(held / replicates, 4)}
        | {"samples": replicates},
    ]


def main() -> None:
    """Run every design and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=500)
    options = parser.parse_args()
    rows = []
    for units, design in product(UNITS, DESIGNS):
        found = count(units, design, options.replicates)
        rows += found
        for one in found:
            print(*one.values(), file=sys.stderr, flush=True)
    write_rows("groups", rows)


if __name__ == "__main__":
    main()
