"""Meta-analysis over sites: coverage of the interval of the mean and of the prediction interval for a new site.

A model forecasts p = expit(-1.5 + x) with a standard normal x. In site i, the log-odds of the event are
a_i - 1.5 + b_i x, with a_i and b_i normal with means 0 and 1 and standard deviations (0, 0), (0.1, 0.05) or (0.3, 0.15)
("homogeneous", "slight", "heterogeneous"). There are 5, 12 or 30 sites; their numbers of cases are log-normal, with a
median of 400 and a standard deviation of the logarithm of 0.6. The true values of a site are computed by numerical
integration over x; the true mean is that of 1,000 sites, on the scale of the analysis. Three more designs have few
events per site and equal sites: 30 sites of 100 cases, 8 of 400 and 12 of 200, with log-odds around those of 0.5, 0.3
and 1%, the threshold of their net benefit. They have three times as many samples.

Writes `results/sites.csv`: for each design, measure and estimator of the variance between sites, the share of intervals
of the mean that contain it, the share of prediction intervals ("profile", and "higgins" with k - 2 degrees of freedom)
that contain the true value of a new site, the mean width of both on the scale of the analysis, the mean of tau beside
the true one, and the coverage of the mean if the errors of mean scores are not shrunk (`site_errors`). Takes three
minutes on one core.

Run: python studies/sites.py [--replicates 100]
"""

from __future__ import annotations

import argparse
import sys
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit, ndtri
from study_tables import write_rows

import propriety as pr
from propriety.inference.bootstrap import Drawing
from propriety.inference.estimation import estimate_or_note
from propriety.inference.measures.measure import Measure
from propriety.inference.measures.of_means import MeanScore
from propriety.inference.random_effects import HeterogeneityMethod, random_effects
from propriety.ledger.sources import open_ledger
from propriety.products.sites.site_errors import SiteCounts, site_errors
from propriety.tables.forecast_table import ForecastTable

NUMBERS = (5, 12, 30)
MEASURES: tuple[Measure, ...] = (
    pr.measures.ObservedExpected(),
    pr.measures.CalibrationSlope(),
    pr.measures.AreaUnderRoc(),
    MeanScore(pr.Brier()),
    pr.measures.NetBenefit(0.2),
)


class Design(NamedTuple):
    """Spread of intercepts and slopes, log-odds of the mean forecast, measures, and numbers of sites and cases."""

    spread: tuple[float, float] = (0.0, 0.0)
    middle: float = -1.5
    measures: tuple[Measure, ...] = MEASURES
    numbers: tuple[int, ...] = NUMBERS
    cases: tuple[float, float] = (400.0, 0.6)
    times: int = 1


def few_events(rate: float, sites: int, cases: int) -> Design:
    """Return a design of equal sites with few events."""
    measures = (MeanScore(pr.Brier()), MeanScore(pr.Log()), pr.measures.NetBenefit(rate))
    return Design(middle=float(logit(rate)), measures=measures, numbers=(sites,), cases=(cases, 0.0), times=3)


DESIGNS = {
    "homogeneous": Design(),
    "slight": Design((0.1, 0.05)),
    "heterogeneous": Design((0.3, 0.15)),
    "100 cases, 0.5%": few_events(0.005, 30, 100),
    "400 cases, 0.3%": few_events(0.003, 8, 400),
    "200 cases, 1%": few_events(0.01, 12, 200),
}
METHODS: tuple[HeterogeneityMethod, ...] = ("paule-mandel", "dersimonian-laird")
GRID = ndtri((np.arange(500) + 0.5) / 500)
HAPPENED = np.repeat([True, False], len(GRID))
DRAWING = Drawing(1, 0)


def on_scale(measure: Measure, value: np.ndarray) -> np.ndarray:
    """Return values on the scale of the analysis."""
    return {"log": np.log, "logit": logit}.get(measure.scale, np.asarray)(value)


def true_values(design: Design, sites: int, generator: np.random.Generator) -> np.ndarray:
    """Draw sites and return the true values of all measures, on the scale of the analysis."""
    found = np.empty((sites, len(design.measures)))
    for place in range(sites):
        a, b = generator.normal([0.0, 1.0], design.spread)
        rate = expit(a + design.middle + b * GRID)
        weight = np.concatenate([rate, 1.0 - rate])
        p = np.tile(expit(design.middle + GRID), 2)
        table = ForecastTable.from_predictions(HAPPENED, p, sample_weight=weight)
        found[place] = [on_scale(one, np.array(one.value(table))) for one in design.measures]
    return found


@cache
def truth(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean and the standard deviation of the true values of sites."""
    sites = 1000 if any(DESIGNS[name].spread) else 1
    found = true_values(DESIGNS[name], sites, np.random.default_rng(1))
    return found.mean(axis=0), found.std(axis=0)


def estimates(design: Design, sites: int, generator: np.random.Generator) -> np.ndarray:
    """Draw the cases of sites; return estimates, their errors, and those of the sites, on the scale of the analysis."""
    ledgers = []
    for _ in range(sites):
        n = int(np.clip(generator.lognormal(np.log(design.cases[0]), design.cases[1]) + 1e-9, 100, 4000))
        a, b = generator.normal([0.0, 1.0], design.spread)
        x = generator.normal(size=n)
        y = generator.random(n) < expit(a + design.middle + b * x)
        ledgers.append(open_ledger(y, expit(design.middle + x)))
    counts = SiteCounts.of(ledgers, "forecast")
    columns = []
    for measure in design.measures:
        found = [estimate_or_note(one, "forecast", measure, drawing=DRAWING) for one in ledgers]
        value, own = np.array([[one.value, one.standard_error] for one in found]).T
        scale = measure.scale
        slope = {"log": value, "logit": value * (1.0 - value)}.get(scale, 1.0)
        columns.append([on_scale(measure, value), site_errors(measure, found, counts) / slope, own / slope])
    return np.array(columns)


def study(name: str, sites: int, replicates: int) -> list[dict[str, object]]:
    """Return the coverage for every measure and estimator."""
    design = DESIGNS[name]
    mean, spread = truth(name)
    hits: dict[tuple[int, HeterogeneityMethod], list[tuple[float, ...]]] = {}
    for replicate in range(replicates):
        generator = np.random.default_rng([sites, list(DESIGNS).index(name), replicate])
        drawn = estimates(design, sites, generator)
        new = true_values(design, 1, generator)[0]
        for column, (value, error, own) in enumerate(drawn):
            for method in METHODS:
                found = random_effects(value, error, method=method, level=0.95)
                usual, before = (
                    random_effects(value, one, method=method, level=0.95, prediction="higgins") for one in (error, own)
                )
                hits.setdefault((column, method), []).append(
                    (
                        float(found.low <= mean[column] <= found.high),
                        float(found.prediction_low <= new[column] <= found.prediction_high),
                        float(usual.prediction_low <= new[column] <= usual.prediction_high),
                        found.high - found.low,
                        found.prediction_high - found.prediction_low,
                        found.tau,
                        float(before.low <= mean[column] <= before.high),
                    )
                )
    rows = []
    for (column, method), rows_of_draws in hits.items():
        covered, predicted, by_higgins, width, width_of_prediction, tau, before = np.mean(rows_of_draws, axis=0)
        row: dict[str, object] = {"design": name, "sites": sites, "measure": design.measures[column].key}
        row |= {"method": method, "samples": replicates, "coverage_of_mean": round(covered, 4)}
        row |= {"coverage_of_prediction": round(predicted, 4), "higgins": round(by_higgins, 4)}
        row |= {"width_of_mean": round(width, 4), "width_of_prediction": round(width_of_prediction, 4)}
        row |= {"mean_tau": round(tau, 4), "true_tau": round(float(spread[column]), 4)}
        rows.append(row | {"coverage_with_own_errors": round(before, 4)})
    return rows


def main() -> None:
    """Run all designs and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=100)
    replicates = parser.parse_args().replicates
    rows = []
    for name, design in DESIGNS.items():
        for sites in design.numbers:
            rows += study(name, sites, design.times * replicates)
            sys.stdout.write(f"{name}, {sites} sites\n")
            sys.stdout.flush()
    write_rows("sites", rows)


if __name__ == "__main__":
    main()
