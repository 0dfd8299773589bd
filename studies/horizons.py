"""Censored outcomes: coverage of 95% intervals at a horizon, and the size of the calibration test.

The time to the event is log-logistic, with a covariate x that has a t distribution with 5 degrees of freedom, so
that the log-odds of the event by the horizon are linear in x. Model a knows x. Model b is too timid and sees noise. The
hazard of censoring is constant, or differs between two groups by a factor of 4, or is proportional to exp(0.8 x) or
exp(-0.8 x), with 20, 40 or 60% of the cases censored before the horizon. The weights come from one censoring curve for
all ("km"), from one for each group ("groups"), or from one for each fifth of the forecasts of a ("fifths"). True values
are those of two million cases without censoring.

Writes `results/horizons.csv`: the design and, for each measure, the share of intervals that contain the true value, the
mean deviation from it divided by the standard deviation, the mean standard error divided by the standard deviation, and
the share with a note; for the calibration test of a, the share of rejections at 5%. Takes twenty minutes on one core.

Run: python studies/horizons.py [--replicates 1000]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit
from study_tables import write_rows

import propriety as pr
from propriety.inference.bootstrap import Drawing
from propriety.inference.calibration_testing import calibration_test_of
from propriety.inference.comparison import compare_of
from propriety.inference.estimation import estimate_of
from propriety.inference.finding_words import notes_of
from propriety.inference.measures.of_means import MeanScore
from propriety.ledger.sources import open_ledger
from propriety.tables.forecast_table import ForecastTable

SHAPE, HORIZON = 1.4, 1.0
# How censoring depends on the case, and how the weights allow for it.
DESIGNS = (
    ("independent", "km"),
    ("independent", "fifths"),
    ("group", "groups"),
    ("exp(0.8 x)", "fifths"),
    ("exp(-0.8 x)", "fifths"),
    ("exp(0.8 x)", "km"),
)
SIZES = ((1000, 0.4), (300, 0.2), (300, 0.6), (1000, 0.6), (2000, 0.2))  # Cases, and the share censored.
DRAWING = Drawing(200, 1)
SINGLE = {
    "Brier a": ("a", MeanScore(pr.Brier())),
    "log a": ("a", MeanScore(pr.Log())),
    "AUC a": ("a", pr.measures.AreaUnderRoc()),
    "O/E a": ("a", pr.measures.ObservedExpected()),
    "slope a": ("a", pr.measures.CalibrationSlope()),
    "slope b": ("b", pr.measures.CalibrationSlope()),
    "net benefit a at 0.3": ("a", pr.measures.NetBenefit(0.3)),
}
PAIRED = {"Brier a - b": MeanScore(pr.Brier()), "AUC a - b": pr.measures.AreaUnderRoc()}


class Sample(NamedTuple):
    """Cases without censoring: the time of the event, the hazard of censoring up to a factor, groups and forecasts."""

    time: np.ndarray
    hazard: np.ndarray
    group: np.ndarray
    forecasts: dict[str, np.ndarray]


def draw(n: int, rate: float, kind: str, generator: np.random.Generator) -> Sample:
    """Draw cases with about this event rate by the horizon."""
    group = generator.random(n) < 0.4
    x = 0.8 * np.clip(generator.standard_t(5, n), -8.0, 8.0) + 0.5 * group
    u = generator.random(n)
    log_odds = SHAPE * x + logit(rate) - 0.4
    time = HORIZON * np.exp((logit(u) - log_odds) / SHAPE)
    hazard = {"independent": np.ones(n), "group": np.where(group, 4.0, 1.0)}.get(kind)
    if hazard is None:
        hazard = np.exp(float(kind[4:-3]) * x)
    dim = expit(0.7 * log_odds + 0.2 + generator.normal(0.0, 0.7, n))
    return Sample(time, hazard, group, {"a": expit(log_odds), "b": dim})


@cache
def factor(kind: str, rate: float, share: float) -> float:
    """Return the factor of the hazard at which this share is censored before the horizon."""
    generator = np.random.default_rng(7)
    cases = draw(200_000, rate, kind, generator)
    until, wait = np.minimum(cases.time, HORIZON), generator.exponential(1.0, 200_000) / cases.hazard
    low, high = 1e-4, 1e4
    for _ in range(60):
        middle = np.sqrt(low * high)
        low, high = (middle, high) if np.mean(wait / middle < until) < share else (low, middle)
    return float(np.sqrt(low * high))


@cache
def truths(rate: float) -> dict[str, float]:
    """Return the values of all measures in a large sample without censoring."""
    cases = draw(2_000_000, rate, "independent", np.random.default_rng(11))
    y = cases.time <= HORIZON
    tables = {model: ForecastTable.from_predictions(y, p) for model, p in cases.forecasts.items()}
    found = {name: measure.value(tables[model]) for name, (model, measure) in SINGLE.items()}
    # The forecasts of a are the true probabilities.
    found |= {"slope a": 1.0, "O/E a": 1.0}
    return found | {name: measure.value(tables["a"]) - measure.value(tables["b"]) for name, measure in PAIRED.items()}


def outcome_of(
    cases: Sample, weights: str, scale: float, generator: np.random.Generator
) -> pr.results.CensoredOutcomes:
    """Censor the cases and make their outcomes by the horizon."""
    wait = generator.exponential(1.0, len(cases.time)) / (cases.hazard * scale)
    options = {"km": {}, "groups": {"groups": cases.group}, "fifths": {"forecast": cases.forecasts["a"]}}[weights]
    time, event = np.minimum(cases.time, wait), cases.time <= wait
    return pr.censored(time, event, horizons=HORIZON, **options)


def study(design: tuple[str, str], n: int, share: float, rate: float, replicates: int) -> Iterator[dict[str, object]]:
    """Yield the coverage for each measure, and the size of the test."""
    kind, weights = design
    scale, seed = factor(kind, rate, share), [n, int(100 * share), int(1000 * rate), DESIGNS.index(design)]
    values: dict[str, list[tuple[float, float, float, float, bool]]] = {name: [] for name in (*SINGLE, *PAIRED)}
    rejected, failed = [], 0
    for replicate in range(replicates):
        generator = np.random.default_rng([*seed, replicate])
        cases = draw(n, rate, kind, generator)
        try:
            outcome = outcome_of(cases, weights, scale, generator)
        except pr.errors.InputValueError:  # Nobody is followed up until the horizon in some group.
            failed += 1
            continue
        ledger = open_ledger(outcome, cases.forecasts)
        for name, (model, measure) in SINGLE.items():
            one = estimate_of(ledger, measure, model=model, drawing=DRAWING)
            values[name].append((one.value, one.error, one.low, one.high, bool(one.notes)))
        for name, measure in PAIRED.items():
            two = compare_of(ledger, measure, drawing=DRAWING).differences[0]
            columns = (two.value, two.error, two.low, two.high)
            values[name].append((*columns, bool(notes_of(two))))  # type: ignore[arg-type]  # four
        test = calibration_test_of(ledger, "a", DRAWING)
        assert test is not None  # noqa: S101  (for the type checker; the cases are there)
        rejected.append(test.p_value <= 0.05)
    shared = {"censoring": kind, "weights": weights, "n": n, "censored": share, "event_rate": rate}
    for name, rows in values.items():
        value, error, low, high, noted = np.array(rows, dtype=np.float64).T
        truth, spread = truths(rate)[name], float(value.std())
        yield shared | {
            "measure": name,
            "samples": len(rows),
            "without follow-up": failed,
            "coverage": round(float(np.mean((low <= truth) & (truth <= high))), 4),
            "bias": round(float(value.mean() - truth) / spread, 3),
            "error_ratio": round(float(error.mean()) / spread, 3),
            "noted": round(float(noted.mean()), 3),
        }
    size = {"measure": "size of the test of a", "samples": len(rejected), "without follow-up": failed}
    yield shared | size | {"coverage": round(float(np.mean(rejected)), 4), "bias": "", "error_ratio": "", "noted": ""}


def main() -> None:
    """Run the study and write its table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replicates", type=int, default=1000)
    replicates = parser.parse_args().replicates
    settings = [(design, n, share, 0.3) for (n, share), design in product(SIZES, DESIGNS)]
    settings += [(design, 2000, 0.4, 0.08) for design in (DESIGNS[0], DESIGNS[3])]
    rows: list[dict[str, object]] = []
    for place, (design, n, share, rate) in enumerate(settings):
        rows += list(study(design, n, share, rate, replicates))
        sys.stderr.write(f"{place + 1} of {len(settings)}: {design}, {n}, {share}, {rate}\n")
        write_rows("horizons", rows)


if __name__ == "__main__":
    main()
