"""Planning: the power, and the width of intervals, in studies of the planned size, beside what was promised.

`plan` reads 100,000 forecasts without outcomes. New studies of the planned size are drawn from the same population,
in which the first model is calibrated, or has the slope or ratio to detect, and are analysed with `compare`,
`calibration_test` or `estimate`. Designs differ in the share of events, the measure, and clusters, whose cases share
the forecasts and the outcome with probability 0.3. Writes `results/planning.csv`: the design, the planned number of
cases, the goal, and the power, or mean width, in the new studies. One design has 0.15% events, also with the
difference given as an argument. Takes about fifteen minutes on one core.

Run: python studies/planning.py [--replicates 6000] [--resume]
"""

from __future__ import annotations

import argparse
import csv
import itertools
import sys
from collections.abc import Callable, Iterator

import numpy as np
from scipy.special import expit, logit
from study_tables import RESULTS, write_rows

import propriety as pr
from propriety.calibration.calibration_test import calibration_test
from propriety.tables.forecast_table import ForecastTable

KNOWN = 100_000
CLUSTER, ICC = 10, 0.3

Draw = Callable[[int, np.random.Generator], tuple[np.ndarray, np.ndarray]]


def pairs(mean: float, noise: float) -> Draw:
    """Return a function that draws forecasts of a calibrated model and of a worse one."""

    def draw(n: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        x = generator.normal(mean, 1.0, n)
        return expit(x), expit(0.9 * x + 0.1 * mean + generator.normal(0.0, noise, n))

    return draw


COMPARISONS = {
    "Brier score, 30% events": (pairs(-1.0, 0.5), pr.Brier(), {}),
    "Brier score, 7% events": (pairs(-3.0, 0.5), pr.Brier(), {}),
    "Brier score, 1.7% events": (pairs(-4.5, 0.9), pr.Brier(), {}),
    "log score, 7% events": (pairs(-3.0, 0.5), pr.Log(), {}),
    "net benefit at 0.1, 7% events": (pairs(-3.0, 0.7), pr.measures.NetBenefit(0.1), {}),
    "area under the ROC curve, 7% events": (pairs(-3.0, 0.7), pr.measures.AreaUnderRoc(), {}),
    "Brier score, 30% events, clusters": (pairs(-1.0, 0.5), pr.Brier(), {"cluster_size": CLUSTER, "icc": ICC}),
    "Brier score, 0.15% events": (pairs(-7.0, 1.5), pr.Brier(), {}),
    "Brier score, 0.15% events, difference given": (pairs(-7.0, 1.5), pr.Brier(), {"difference": None}),
}
TESTS = {
    "calibration test, slope 0.8, 30% events": (-1.0, {"slope": 0.8}),
    "calibration test, slope 0.8, 7% events": (-3.0, {"slope": 0.8}),
    "calibration test, observed/expected 1.25, 7% events": (-3.0, {"observed_expected": 1.25}),
}
WIDTHS = {"30% events": -1.0, "7% events": -3.0}
MEASURES = (
    pr.measures.ObservedExpected(),
    pr.measures.CalibrationSlope(),
    pr.measures.AreaUnderRoc(),
    pr.measures.StandardizedNetBenefit(0.1),
)

Row = dict[str, object]


def compared(draw: Draw, measure: object, n: int, generator: np.random.Generator, *, clustered: bool) -> bool:
    """Return whether a new study finds a difference."""
    new, old = draw(n, generator)
    y = generator.random(n) < new
    cluster = None
    if clustered:
        # A case is a copy of that of its cluster with probability sqrt(ICC), so that two are the same with the ICC.
        cluster = np.arange(n) // CLUSTER
        copied = generator.random(n) < np.sqrt(ICC)
        extra_new, extra_old = draw(cluster[-1] + 1, generator)
        extra_y = generator.random(len(extra_new)) < extra_new
        new, old = np.where(copied, extra_new[cluster], new), np.where(copied, extra_old[cluster], old)
        y = np.where(copied, extra_y[cluster], y)
    found = pr.compare(y, {"new": new, "old": old}, measure, cluster=cluster, seed=1).differences[0]
    return bool(found.p <= 0.05)


def comparisons(replicates: int, done: set[object]) -> Iterator[Row]:
    """Yield the power of comparisons."""
    for place, (design, (draw, measure, options)) in enumerate(COMPARISONS.items()):
        if design not in done:
            generator = np.random.default_rng([26, place])
            new, old = draw(KNOWN, generator)
            given = {"difference": -float(np.mean((new - old) ** 2))} if "difference" in options else options
            planned = pr.plan({"new": new, "old": old}, measure=measure, seed=1, **given)
            n = int(planned.required)
            found = [compared(draw, measure, n, generator, clustered="icc" in options) for _ in range(replicates)]
            yield row_of(design, planned, 0, found)


def tests(replicates: int, done: set[object]) -> Iterator[Row]:
    """Yield the power of the calibration test."""
    for place, (design, (mean, wrong)) in enumerate(TESTS.items()):
        if design in done:
            continue
        generator = np.random.default_rng([27, place])
        known = expit(generator.normal(mean, 1.0, KNOWN))
        planned = pr.plan(known, seed=1, **wrong)
        slope = wrong.get("slope", 1.0)
        goal = wrong.get("observed_expected", 1.0) * known.mean()
        shifts = np.linspace(-3.0, 3.0, 2001)
        shift = shifts[np.argmin([abs(expit(slope * logit(known) + one).mean() - goal) for one in shifts])]
        found = []
        for _ in range(replicates):
            p = expit(generator.normal(mean, 1.0, int(planned.required)))
            y = generator.random(len(p)) < expit(slope * logit(p) + shift)
            table = ForecastTable.from_predictions(y, p)
            found.append(calibration_test(table, n_resamples=99, seed=1).p_value <= 0.05)
        yield row_of(design, planned, 0, found)


def widths(replicates: int, done: set[object]) -> Iterator[Row]:
    """Yield the mean widths of intervals."""
    for place, (events, mean) in enumerate(WIDTHS.items()):
        generator = np.random.default_rng([28, place])
        planned = pr.plan(expit(generator.normal(mean, 1.0, KNOWN)), thresholds=0.1)
        for row, measure in enumerate(MEASURES):
            design = f"mean width of {measure.label}, {events}"
            if design in done:
                continue
            found = []
            for _ in range(min(replicates, 400)):
                p = expit(generator.normal(mean, 1.0, int(planned.n[row])))
                limits = pr.estimate(generator.random(len(p)) < p, p, measure)
                found.append(limits.high - limits.low)
            yield row_of(design, planned, row, found)


def row_of(design: str, planned: pr.results.Plan, row: int, found: list[float]) -> Row:
    """Return what was planned and found for a design."""
    return {
        "design": design,
        "n": int(planned.n[row]),
        "events": int(planned.events[row]),
        "goal": float(planned.goal[row]),
        "found": round(float(np.mean(found)), 4),
        "replicates": len(found),
    }


def main() -> None:
    """Run every design and write the table after each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=6000)
    parser.add_argument("--resume", action="store_true", help="keep the designs that the table already has")
    given = parser.parse_args()
    path = RESULTS / "planning.csv"
    rows: list[Row] = []
    if given.resume and path.exists():
        with path.open(newline="") as file:
            rows = [dict(row) for row in csv.DictReader(file)]
    done = {row["design"] for row in rows}
    for row in itertools.chain(*(part(given.replicates, done) for part in (comparisons, tests, widths))):
        rows.append(row)
        print(*row.values(), file=sys.stderr, flush=True)
        write_rows("planning", rows, keeps_rows=given.resume)


if __name__ == "__main__":
    main()
