"""Pooled sites: coverage of the mean over sites, and of the range for a further site.

A model forecasts p = expit(-1.5 + x) with a standard normal x. In site i, the log-odds of the event are
a_i - 1.5 + b_i x, with a_i and b_i normal with means 0 and 1 and standard deviations (0, 0), (0.1, 0.05) or (0.3, 0.15)
("homogeneous", "slight", "heterogeneous"). There are 5, 12 or 30 sites; their numbers of cases are log-normal, with a
median of 400 and a standard deviation of the logarithm of 0.6. The true values of a site are computed by numerical
integration over x; the true mean is that of 1,000 sites, on the scale of the analysis. Three more designs have few
events per site and equal sites: 30 sites of 100 cases, 8 of 400 and 12 of 200, with log-odds around those of 0.5, 0.3
and 1%, the threshold of their net benefit, with three times as many samples.

Writes `results/sites.csv`: for each design and measure the mean of the estimated means, the share of intervals that
contain the true mean, the share of prediction intervals ("profile", and "higgins" with k - 2 degrees of freedom) that
contain the true value of a new site, and the mean widths of the interval and of the first of these. Takes half
an hour on one core.

Run: python studies/sites.py [--replicates 100] [--designs slight]
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
from propriety.inference.between_groups import RATIOS
from propriety.inference.measures.measure import Measure
from propriety.inference.measures.of_means import MeanScore
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
GRID = ndtri((np.arange(500) + 0.5) / 500)
HAPPENED = np.repeat([True, False], len(GRID))


def on_scale(measure: Measure, value: np.ndarray) -> np.ndarray:
    """Return values on the scale of the analysis."""
    scale = "identity" if measure.key in RATIOS else measure.scale
    return {"log": np.log, "logit": logit}.get(scale, np.asarray)(value)


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


def drawn(design: Design, sites: int, generator: np.random.Generator) -> pr.Ledger:
    """Draw the cases of sites."""
    parts = []
    for site in range(sites):
        n = int(np.clip(generator.lognormal(np.log(design.cases[0]), design.cases[1]) + 1e-9, 100, 4000))
        a, b = generator.normal([0.0, 1.0], design.spread)
        x = generator.normal(size=n)
        y = generator.random(n) < expit(a + design.middle + b * x)
        parts.append((y, expit(design.middle + x), np.full(n, site)))
    y, p, site = map(np.concatenate, zip(*parts, strict=True))
    return pr.condense(y, {"m": p}, by={"site": site})


def study(name: str, sites: int, replicates: int) -> list[dict[str, object]]:
    """Return the coverage for every measure."""
    design = DESIGNS[name]
    mean, _ = truth(name)
    hits: dict[str, list[tuple[float, ...]]] = {}
    for replicate in range(replicates):
        generator = np.random.default_rng([sites, list(DESIGNS).index(name), replicate])
        ledger = drawn(design, sites, generator)
        new = true_values(design, 1, generator)[0]
        profile, higgins = (
            pr.pool_sites(ledger, measures=design.measures, prediction=one, seed=1).where(keys={})
            for one in ("profile", "higgins")
        )
        for measure, true, of_new in zip(design.measures, mean, new, strict=True):
            (row,) = profile.where(measure=measure, statistic="mean of groups")
            (first,), (second,) = (
                found.where(measure=measure, statistic="further group") for found in (profile, higgins)
            )
            low, high, further_low, further_high, usual_low, usual_high = (
                float(on_scale(measure, np.array(end)))
                for end in (row.low, row.high, first.low, first.high, second.low, second.high)
            )
            hits.setdefault(measure.key, []).append(
                (
                    row.value,
                    float(low <= true <= high),
                    float(further_low <= of_new <= further_high),
                    float(usual_low <= of_new <= usual_high),
                    high - low,
                    further_high - further_low,
                )
            )
    rows = []
    for measure, of_draws in hits.items():
        value, covered, predicted, by_higgins, width, width_of_prediction = np.mean(of_draws, axis=0)
        row: dict[str, object] = {"design": name, "sites": sites, "measure": measure, "samples": replicates}
        row |= {"mean": round(value, 4), "coverage_of_mean": round(covered, 4)}
        row |= {"coverage_of_prediction": round(predicted, 4), "higgins": round(by_higgins, 4)}
        rows.append(row | {"width_of_mean": round(width, 4), "width_of_prediction": round(width_of_prediction, 4)})
    return rows


def main() -> None:
    """Run all designs and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=100)
    parser.add_argument("--designs", default="", help="only those whose name begins so")
    given = parser.parse_args()
    replicates = given.replicates
    rows = []
    for name in (name for name in DESIGNS if name.startswith(given.designs)):
        design = DESIGNS[name]
        for sites in design.numbers:
            rows += study(name, sites, design.times * replicates)
            sys.stdout.write(f"{name}, {sites} sites\n")
            sys.stdout.flush()
    write_rows("sites", rows)


if __name__ == "__main__":
    main()
