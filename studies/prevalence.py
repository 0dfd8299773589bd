"""Prevalence: coverage of intervals of case-control samples, and of estimated event rates of cases without labels.

Events and non-events have normal log-odds that differ by 1.2 standard deviations. "case-control": 100, 200 or 1,000
events and as many non-events, weighted to a prevalence of 2%; 300 events and 600 non-events with forecasts that are too
extreme (slope 1.6); and 100 events and 200 non-events whose rate does not exceed 25%, however high the forecasts of up
to 97%, so that no logistic regression fits. The intervals are those of two samples (`at_prevalence`) or those of
weighted cases. "estimate_prevalence": labelled and unlabelled cases with different event
rates, also almost 0 or 1, and forecasts that are calibrated on the labelled ones or too extreme (slope 1.6); events and
non-events are 1.2, 2 or 3 standard deviations apart. Writes
`results/prevalence.csv`: the question, the design, the measure or method, the coverage of 95% limits, that with plain
weights, and the mean width relative to that of plain weights.
Takes about ten minutes on one core.

Run: python studies/prevalence.py [--replicates 1000] [--asked case-control estimate_prevalence]
"""

from __future__ import annotations

import argparse
import csv
import sys
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit
from study_tables import RESULTS, write_rows

import propriety as pr
from propriety.tables.forecast_table import ForecastTable

RATE, APART = 0.02, 1.2
ASKED = ("case-control", "estimate_prevalence")
MEASURES = {
    "Brier score": pr.Brier(),
    "log score": pr.Log(),
    "net benefit at 3%": pr.measures.NetBenefit(0.03),
    "observed/expected": pr.measures.ObservedExpected(),
    "AUC": pr.measures.AreaUnderRoc(),
    "calibration slope": pr.measures.CalibrationSlope(),
}
# Event rates of labelled and unlabelled cases, their numbers, and how far events and non-events are apart.
SHIFTS = (
    *((0.2, 0.35, 1000, 1000, APART), (0.2, 0.05, 1000, 1000, APART), (0.02, 0.05, 10_000, 3000, APART)),
    *((0.05, 0.01, 5000, 2000, APART), (0.5, 0.001, 2000, 100, APART), (0.5, 0.98, 2000, 1000, 2.0)),
    *((0.5, 0.005, 2000, 100, 3.0), (0.5, 0.0001, 2000, 1000, 3.0), (0.5, 0.98, 2000, 300, 3.0)),
)


def forecasts(x: np.ndarray, rate: float, slope: float = 1.0, apart: float = APART) -> np.ndarray:
    """Return forecasts from the log-odds of a signal, calibrated at an event rate if the slope is 1."""
    return expit(slope * (apart * x - apart**2 / 2.0) + logit(rate))


class Design(NamedTuple):
    """Numbers of events and non-events, the slope of the forecasts, and whether their rate is limited."""

    events: int
    others: int
    slope: float = 1.0
    is_limited: bool = False

    def __str__(self) -> str:
        kind = ", too extreme" if self.slope != 1.0 else ", limited rate" if self.is_limited else ""
        return f"{self.events} events and {self.others} non-events{kind}"


DESIGNS = (
    Design(100, 100),
    Design(200, 200),
    Design(1000, 1000),
    Design(300, 600, slope=1.6),
    Design(100, 200, is_limited=True),
)
LIMIT = 0.25


def signals(design: Design, events: int, others: int, generator: np.random.Generator) -> np.ndarray:
    """Draw the signals of events, then of non-events."""
    if not design.is_limited:
        return generator.normal(size=events + others) + APART * np.repeat([1.0, 0.0], [events, others])
    drawn: list[np.ndarray] = []
    for side, number in ((True, events), (False, others)):
        found = np.empty(0)
        while len(found) < number:
            x = 1.5 * generator.normal(size=20 * number if side else 2 * number)
            happens = generator.random(len(x)) < np.minimum(forecasts(x, RATE), LIMIT)
            found = np.append(found, x[happens == side])
        drawn.append(found[:number])
    return np.concatenate(drawn)


def models(design: Design, x: np.ndarray, noise: np.ndarray) -> dict[str, np.ndarray]:
    """Return the forecasts of two models, one of which sees less."""
    full, dim = (forecasts(one, RATE, design.slope) for one in (x, 0.6 * x + 0.4 * noise))
    return {"full": full, "dim": dim}


def case_control(design: Design, replicates: int) -> list[dict[str, object]]:
    """Return the coverage of intervals of measures and of a difference."""
    generator = np.random.default_rng([3, *design[:2], int(10 * design.slope), int(design.is_limited)])
    many = 10**6
    outcome = np.repeat([1, 0], many)
    drawn = models(design, signals(design, many, many, generator), generator.normal(size=2 * many))
    weight = np.where(outcome == 1, RATE, 1.0 - RATE)
    tables = {name: ForecastTable.from_predictions(outcome, p, sample_weight=weight) for name, p in drawn.items()}
    tables = {name: table.grid(2**16) for name, table in tables.items()}
    truth = {
        name: pr.estimate(pr.Ledger.of_tables({"full": tables["full"]}), measure=one).value
        for name, one in MEASURES.items()
    }
    apart = float(pr.brier_score(tables["full"]) - pr.brier_score(tables["dim"]))
    y = np.repeat([1, 0], design[:2])
    plain_weight = np.where(y == 1, RATE / design.events, (1.0 - RATE) / design.others)
    sums: dict[str, np.ndarray] = {}
    for _ in range(replicates):
        p = models(design, signals(design, *design[:2], generator), generator.normal(size=len(y)))
        ledger = pr.at_prevalence(pr.condense(y, p), RATE)
        plain = pr.condense(y, p, sample_weight=plain_weight)
        for name, measure in MEASURES.items():
            limits = [(one.low, one.high) for one in (pr.estimate(each, "full", measure) for each in (ledger, plain))]
            sums[name] = sums.get(name, 0.0) + _held(limits, truth[name])
        limits = [(one.low[0], one.high[0]) for one in (pr.compare(each) for each in (ledger, plain))]
        sums["difference of Brier scores"] = sums.get("difference of Brier scores", 0.0) + _held(limits, apart)
    return [
        {
            "asked": "case-control",
            "design": str(design),
            "of": name,
            "coverage": round(float(one[0]) / replicates, 4),
            "plain_weights": round(float(one[1]) / replicates, 4),
            "relative_width": round(float(one[2]) / replicates, 3),
        }
        for name, one in sums.items()
    ]


def _held(limits: list[tuple[float, float]], truth: float) -> np.ndarray:
    (low, high), (plain_low, plain_high) = limits
    return np.array([low <= truth <= high, plain_low <= truth <= plain_high, (high - low) / (plain_high - plain_low)])


def shifted(slope: float, replicates: int) -> list[dict[str, object]]:
    """Return the coverage of the limits of event rates without labels."""
    rows: list[dict[str, object]] = []
    for labelled, unlabelled, n, m, apart in SHIFTS:
        generator = np.random.default_rng([4, n, m, int(100 * slope), int(1000 * unlabelled)])
        held = {"black-box": 0, "em": 0}
        for _ in range(replicates):
            y, other = generator.random(n) < labelled, generator.random(m) < unlabelled
            p = forecasts(generator.normal(size=n) + apart * y, labelled, slope, apart)
            new = forecasts(generator.normal(size=m) + apart * other, labelled, slope, apart)
            table = ForecastTable.from_predictions(y, p)
            for method in held:
                found = pr.estimate_prevalence(table, unlabelled=new, method=method)  # type: ignore[arg-type]
                held[method] += found.low <= unlabelled <= found.high
        kind = "calibrated" if slope == 1.0 else "too extreme"
        rows += [
            {
                "asked": "estimate_prevalence",
                "design": f"{labelled:g} to {unlabelled:g}, n = {n} and {m}, {apart:g} apart, {kind}",
                "of": method,
                "coverage": round(count / replicates, 4),
                "plain_weights": "",
                "relative_width": "",
            }
            for method, count in held.items()
        ]
    return rows


def main() -> None:
    """Run every design and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=1000)
    parser.add_argument("--asked", nargs="+", choices=ASKED, default=list(ASKED))
    options = parser.parse_args()
    path = RESULTS / "prevalence.csv"
    rows: list[dict[str, object]] = []
    if path.exists():
        with path.open(encoding="utf-8") as file:
            rows = [row for row in csv.DictReader(file) if row["asked"] not in options.asked]  # type: ignore[misc]
    works = [partial(shifted, slope) for slope in (1.0, 1.6)] if "estimate_prevalence" in options.asked else []
    works += [partial(case_control, design) for design in DESIGNS] if "case-control" in options.asked else []
    for work in works:
        found = work(replicates=options.replicates)
        for row in found:
            print(*row.values(), file=sys.stderr)
        rows += found
    write_rows("prevalence", rows, keeps_rows=set(options.asked) < set(ASKED))


if __name__ == "__main__":
    main()
