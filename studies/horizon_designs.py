"""Censored outcomes with competing events, in clusters, sampled with weights, and integrated over horizons.

The time to the event is log-logistic, with log-odds of the event by a horizon that are linear in a normal covariate.
Model a knows them, model b is too timid and sees noise. Competing events and censoring have constant hazards; the
censoring hazard is such that 20 or 40% of the cases are censored before the last horizon. In clusters of 1 to 9 cases,
the times to the event have a correlation of 0.3 on the normal scale, and so have those to censoring. Sampled cases are
kept with probability 0.9 if the covariate is positive and 0.3 otherwise, and weighted by its inverse. The integrated
Brier score is the mean over four horizons. True values are those of a million cases without censoring.

Writes `results/horizon_designs.csv`: the design, the number of cases, the share censored, the measure, the share of 95%
intervals that contain the true value, the mean standard error divided by the standard deviation; for the calibration
test of a, the share of rejections at 5%. Takes five minutes on one core.

Run: python studies/horizon_designs.py [--replicates 250] [--designs competing clusters sampled "sampled clusters"
                                       integrated]
"""

from __future__ import annotations

import argparse
import csv
import sys
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit, ndtr
from study_tables import RESULTS, write_rows

import propriety as pr
from propriety.inference.bootstrap import Drawing
from propriety.inference.calibration_testing import calibration_test_of
from propriety.inference.comparison import compare_of
from propriety.inference.estimation import estimate_of
from propriety.inference.measures.of_means import MeanScore
from propriety.ledger.sources import open_ledger
from propriety.tables.forecast_table import ForecastTable

SHAPE, RATE = 1.4, 0.3
HORIZONS = np.array([0.25, 0.5, 0.75, 1.0])
DESIGNS = ("competing", "clusters", "sampled", "sampled clusters", "integrated")
SIZES = ((300, 0.2), (300, 0.4), (1000, 0.4))
DRAWING = Drawing(200, 1)
MEASURES = {
    "Brier": MeanScore(pr.Brier()),
    "log": MeanScore(pr.Log()),
    "AUC": pr.measures.AreaUnderRoc(),
    "O/E": pr.measures.ObservedExpected(),
    "slope": pr.measures.CalibrationSlope(),
}
PAIRED = {"Brier a - b": MeanScore(pr.Brier()), "AUC a - b": pr.measures.AreaUnderRoc()}
INTEGRATED = "integrated Brier"


class Sample(NamedTuple):
    """Times to the event and to a competing one, units of censoring, forecasts by each horizon, and the design."""

    event: np.ndarray
    other: np.ndarray
    wait: np.ndarray
    forecasts: dict[str, np.ndarray]
    cluster: np.ndarray | None
    weight: np.ndarray | None


def draw(design: str, n: int, generator: np.random.Generator) -> Sample:
    """Draw about n cases."""
    sampled = "sampled" in design
    size = 2 * n if sampled else n
    cluster = np.repeat(np.arange(size), generator.integers(1, 10, size))[:size] if "clusters" in design else None
    x = generator.normal(0.0, 1.0, size)
    keep = np.where(x > 0.0, 0.9, 0.3)
    log_odds = x + logit(RATE) - 0.15
    event = np.exp((logit(_uniform(cluster, size, generator)) - log_odds) / SHAPE)
    wait = -np.log(_uniform(cluster, size, generator))
    other = generator.exponential(3.0, size) if design == "competing" else np.full(size, np.inf)
    noise = generator.normal(0.0, 0.5, size)
    by_time = SHAPE * np.log(HORIZONS)
    a, b = (expit(one[:, None] + by_time) for one in (log_odds, 0.6 * log_odds - 0.2 + noise))
    if design == "competing":
        a, b = 0.85 * a, 0.85 * b
    chosen = generator.random(size) < keep if sampled else np.ones(size, dtype=bool)
    return Sample(
        event[chosen],
        other[chosen],
        wait[chosen],
        {"a": a[chosen], "b": b[chosen]},
        None if cluster is None else cluster[chosen],
        1.0 / keep[chosen] if sampled else None,
    )


def _uniform(cluster: np.ndarray | None, n: int, generator: np.random.Generator) -> np.ndarray:
    """Draw uniform numbers that have normal scores with a correlation of 0.3 within clusters."""
    own = generator.normal(0.0, 1.0, n)
    if cluster is not None:
        own = np.sqrt(0.7) * own + np.sqrt(0.3) * generator.normal(0.0, 1.0, cluster.max() + 1)[cluster]
    return np.clip(ndtr(own), 1e-12, 1.0 - 1e-12)


@cache
def mean_wait(design: str, share: float) -> float:
    """Return the mean time to censoring at which this share is censored before the last horizon."""
    cases = draw(design, 200_000, np.random.default_rng(7))
    until = np.minimum(np.minimum(cases.event, cases.other), 1.0)
    low, high = 1e-3, 1e4
    for _ in range(50):
        middle = np.sqrt(low * high)
        censored = np.average(middle * cases.wait < until, weights=cases.weight)
        low, high = (low, middle) if censored < share else (middle, high)
    return float(np.sqrt(low * high))


@cache
def truths(design: str) -> dict[str, float]:
    """Return the values of all measures in a large sample without censoring or selection."""
    kind = "competing" if design == "competing" else "integrated"
    cases = draw(kind, 1_000_000, np.random.default_rng(11))
    happened = [(cases.event <= horizon) & (cases.event < cases.other) for horizon in HORIZONS]
    tables = {model: ForecastTable.from_predictions(happened[-1], p[:, -1]) for model, p in cases.forecasts.items()}
    found = {f"{name} a": measure.value(tables["a"]) for name, measure in MEASURES.items()}
    found |= {name: measure.value(tables["a"]) - measure.value(tables["b"]) for name, measure in PAIRED.items()}
    scores = [float(np.mean((y - p) ** 2)) for y, p in zip(happened, cases.forecasts["a"].T, strict=True)]
    return found | {INTEGRATED: float(np.trapezoid(scores, HORIZONS)) / float(HORIZONS[-1] - HORIZONS[0])}


def estimates(cases: Sample, scale: float, *, integrated: bool) -> tuple[dict[str, Any], bool | None]:
    """Return value, error and limits of each measure, and whether the calibration test rejects."""
    wait = scale * cases.wait
    ended = np.minimum(cases.event, cases.other)
    options: dict[str, Any] = {"competing": (cases.other < cases.event) & (cases.other <= wait)}
    options |= {"sample_weight": cases.weight, "horizons": HORIZONS.tolist() if integrated else 1.0}
    outcome = pr.censored(np.minimum(ended, wait), (cases.event < cases.other) & (cases.event <= wait), **options)
    if integrated:
        one = pr.horizon_curve(outcome, {"a": cases.forecasts["a"]}).where(statistic="mean over horizons")[0]
        return {INTEGRATED: (one.value, one.error, one.low, one.high)}, None
    ledger = open_ledger(outcome, {model: p[:, -1] for model, p in cases.forecasts.items()}, cluster=cases.cluster)
    found = {}
    for name, measure in MEASURES.items():
        one = estimate_of(ledger, measure, model="a", drawing=DRAWING)
        found[f"{name} a"] = (one.value, one.error, one.low, one.high)
    for name, measure in PAIRED.items():
        two = compare_of(ledger, measure, drawing=DRAWING).differences[0]
        found[name] = (two.value, two.error, two.low, two.high)
    test = calibration_test_of(ledger, "a", DRAWING)
    return found, None if test is None else bool(test.p_value <= 0.05)


def study(design: str, n: int, share: float, replicates: int) -> list[dict[str, object]]:
    """Return the coverage of each measure, and the size of the test."""
    values: dict[str, list[tuple[float, ...]]] = {}
    rejected = []
    scale, kind = mean_wait(design, share), DESIGNS.index(design)
    for replicate in range(replicates):
        cases = draw(design, n, np.random.default_rng([kind, n, int(100 * share), replicate]))
        found, decision = estimates(cases, scale, integrated=design == "integrated")
        for name, one in found.items():
            values.setdefault(name, []).append(one)
        rejected += [] if decision is None else [decision]
    shared = {"design": design, "n": n, "censored": share, "samples": replicates}
    rows: list[dict[str, object]] = []
    for name, own in values.items():
        value, error, low, high = np.array(own).T
        truth = truths(design)[name]
        coverage = float(np.mean((low <= truth) & (truth <= high)))
        row = {"measure": name, "coverage": round(coverage, 4)}
        rows.append(shared | row | {"error_ratio": round(float(error.mean() / value.std()), 3)})
    if rejected and design != "competing":  # Where a knows the probabilities.
        size = {"measure": "size of the test of a", "coverage": round(float(np.mean(rejected)), 4), "error_ratio": ""}
        rows.append(shared | size)
    return rows


def main() -> None:
    """Run the study and write its table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=250)
    parser.add_argument("--designs", nargs="+", choices=DESIGNS, default=list(DESIGNS))
    options = parser.parse_args()
    rows: list[dict[str, object]] = []
    path = RESULTS / "horizon_designs.csv"
    if path.exists():
        with path.open(encoding="utf-8") as file:
            rows = [row for row in csv.DictReader(file) if row["design"] not in options.designs]  # type: ignore[misc]
    for design in options.designs:
        for n, share in SIZES:
            rows += study(design, n, share, options.replicates)
            sys.stderr.write(f"{design}, {n}, {share}\n")
            write_rows("horizon_designs", rows, keeps_rows=set(options.designs) < set(DESIGNS))


if __name__ == "__main__":
    main()
