"""Meta-analysis over sites: coverage of the interval of the mean and of the prediction interval for a new site.

A model forecasts p = expit(-1.5 + x) with a standard normal x. In site i, the log-odds of the event are
a_i - 1.5 + b_i x, with a_i and b_i normal with means 0 and 1 and standard deviations (0, 0), (0.1, 0.05) or (0.3, 0.15)
("homogeneous", "slight", "heterogeneous"). There are 5, 12 or 30 sites; their numbers of cases are log-normal, with a
median of 400 and a standard deviation of the logarithm of 0.6. The true values of a site are computed by numerical
integration over x; the true mean is that of 1,000 sites, on the scale of the analysis.

Writes `results/sites.csv`: for each design, measure and estimator of the variance between sites, the share of intervals
of the mean that contain it, the share of prediction intervals ("profile", and "higgins" with k - 2 degrees of freedom)
that contain the true value of a new site, the mean width
of both on the scale of the analysis, and the mean of tau beside the true one. Takes two minutes on one
core.

Run: python studies/sites.py [--replicates 100]
"""

from __future__ import annotations

import argparse
import csv
import sys
from functools import cache
from pathlib import Path

import numpy as np
from scipy.special import expit, logit, ndtri

import propriety as pr
from propriety.inference.bootstrap import Drawing
from propriety.inference.estimation import estimate_or_note
from propriety.inference.measures import MeanScore, Measure
from propriety.inference.random_effects import HeterogeneityMethod, random_effects
from propriety.ledger.sources import open_ledger

RESULTS = Path(__file__).parent / "results"
SPREADS = {"homogeneous": (0.0, 0.0), "slight": (0.1, 0.05), "heterogeneous": (0.3, 0.15)}
NUMBERS = (5, 12, 30)
MEASURES: tuple[Measure, ...] = (
    pr.measures.ObservedExpected(),
    pr.measures.CalibrationSlope(),
    pr.measures.AreaUnderRoc(),
    MeanScore(pr.Brier()),
    pr.measures.NetBenefit(0.2),
)
METHODS: tuple[HeterogeneityMethod, ...] = ("paule-mandel", "dersimonian-laird")
GRID = ndtri((np.arange(500) + 0.5) / 500)
HAPPENED = np.repeat([True, False], len(GRID))
DRAWING = Drawing(1, 0)


def on_scale(measure: Measure, value: np.ndarray) -> np.ndarray:
    """Return values on the scale of the analysis."""
    return {"log": np.log, "logit": logit}.get(getattr(measure, "scale", ""), np.asarray)(value)


def true_values(spread: tuple[float, float], sites: int, generator: np.random.Generator) -> np.ndarray:
    """Draw sites and return the true values of all measures, on the scale of the analysis."""
    found = np.empty((sites, len(MEASURES)))
    for place in range(sites):
        a, b = generator.normal([0.0, 1.0], spread)
        rate = expit(a - 1.5 + b * GRID)
        weight = np.concatenate([rate, 1.0 - rate])
        table = pr.ForecastTable.from_predictions(HAPPENED, np.tile(expit(-1.5 + GRID), 2), sample_weight=weight)
        found[place] = [on_scale(one, np.array(one.value(table))) for one in MEASURES]
    return found


@cache
def truth(design: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean and the standard deviation of the true values of sites."""
    sites = 1 if design == "homogeneous" else 1000
    found = true_values(SPREADS[design], sites, np.random.default_rng(1))
    return found.mean(axis=0), found.std(axis=0)


def estimates(spread: tuple[float, float], sites: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw the cases of sites; return the estimates and their standard errors, on the scale of the analysis."""
    value, error = np.empty((2, sites, len(MEASURES)))
    for place in range(sites):
        n = int(np.clip(generator.lognormal(np.log(400), 0.6), 100, 4000))
        a, b = generator.normal([0.0, 1.0], spread)
        x = generator.normal(size=n)
        ledger = open_ledger(generator.random(n) < expit(a - 1.5 + b * x), expit(-1.5 + x))
        for column, measure in enumerate(MEASURES):
            one = estimate_or_note(ledger, "forecast", measure, drawing=DRAWING)
            scale = getattr(measure, "scale", "")
            slope = {"log": one.value, "logit": one.value * (1.0 - one.value)}.get(scale, 1.0)
            value[place, column] = on_scale(measure, np.array(one.value))
            error[place, column] = one.standard_error / slope
    return value, error


def study(design: str, sites: int, replicates: int) -> list[dict[str, object]]:
    """Return the coverage for every measure and estimator."""
    mean, spread = truth(design)
    hits: dict[tuple[int, str], list[tuple[float, ...]]] = {}
    for replicate in range(replicates):
        generator = np.random.default_rng([sites, list(SPREADS).index(design), replicate])
        value, error = estimates(SPREADS[design], sites, generator)
        new = true_values(SPREADS[design], 1, generator)[0]
        for column in range(len(MEASURES)):
            for method in METHODS:
                own = value[:, column], error[:, column]
                found = random_effects(*own, method=method, level=0.95)
                usual = random_effects(*own, method=method, level=0.95, prediction="higgins")
                hits.setdefault((column, method), []).append(
                    (
                        float(found.low <= mean[column] <= found.high),
                        float(found.prediction_low <= new[column] <= found.prediction_high),
                        float(usual.prediction_low <= new[column] <= usual.prediction_high),
                        found.high - found.low,
                        found.prediction_high - found.prediction_low,
                        found.tau,
                    )
                )
    rows = []
    for (column, method), rows_of_draws in hits.items():
        covered, predicted, by_higgins, width, width_of_prediction, tau = np.mean(rows_of_draws, axis=0)
        row: dict[str, object] = {"design": design, "sites": sites, "measure": MEASURES[column].key, "method": method}
        row |= {"samples": replicates, "coverage_of_mean": round(covered, 4)}
        row |= {
            "coverage_of_prediction": round(predicted, 4),
            "higgins": round(by_higgins, 4),
            "width_of_mean": round(width, 4),
        }
        row |= {"width_of_prediction": round(width_of_prediction, 4)}
        row |= {"mean_tau": round(tau, 4), "true_tau": round(float(spread[column]), 4)}
        rows.append(row)
    return rows


def main() -> None:
    """Run all designs and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=100)
    replicates = parser.parse_args().replicates
    rows = []
    for sites in NUMBERS:
        for design in SPREADS:
            rows += study(design, sites, replicates)
            sys.stdout.write(f"{design}, {sites} sites\n")
            sys.stdout.flush()
    with (RESULTS / "sites.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
