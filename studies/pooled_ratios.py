"""Observed/expected pooled over small sites: coverage of its mean over sites, and of the range for a further site.

Forecasts are drawn from a beta distribution whose first parameter is 1, with a mean of 2.5 to 10%. The events of site i
have the probability of the forecast, times a lognormal variable with mean 1, whose logarithm has the standard deviation
tau. At 2.5 to 5% the sites have 30, 60 and 100 cases, hence about two events each; some have none.

Writes `results/pooled_ratios.csv`: for each design the mean of the estimated means, the coverage of their limits and of
the range for a further site. Takes three minutes on one core.

Run: python studies/pooled_ratios.py [--samples 500]
"""

from __future__ import annotations

import argparse
from itertools import product

import numpy as np
from study_tables import write_rows

import propriety as pr
from propriety.inference.events_by_group import EventsByGroup, mean_ratio

DESIGNS = ((30, 30, 0.05), (20, 60, 0.033), (25, 100, 0.025), (10, 200, 0.05), (5, 500, 0.05), (12, 1000, 0.1))
SPREADS = (0.0, 0.2, 0.4)


def study(sites: int, cases: int, rate: float, tau: float, samples: int) -> dict[str, object]:
    """Return the mean and the coverage of a design."""
    means, covered, predicted, width = [], 0, 0, []
    for sample in range(samples):
        generator = np.random.default_rng([sites, cases, int(10 * tau), sample])
        p = generator.beta(1.0, 1.0 / rate - 1.0, (sites, cases))
        true = np.exp(tau * generator.normal(size=sites + 1) - tau**2 / 2.0)
        y = generator.random(p.shape) < np.clip(p * true[:sites, None], 0.0, 1.0)
        site = np.repeat(np.arange(sites), cases)
        ledger = pr.condense(y.ravel(), {"m": p.ravel()}, by={"site": site})
        found = mean_ratio(EventsByGroup.of(ledger, "m"), level=0.95)
        means.append(found.mean)
        width.append(found.high - found.low)
        covered += found.low <= 1.0 <= found.high
        predicted += found.prediction_low <= true[sites] <= found.prediction_high
    row: dict[str, object] = {"sites": sites, "cases": cases, "rate": rate, "tau": tau, "samples": samples}
    row |= {"mean": round(float(np.mean(means)), 4), "coverage_of_mean": round(covered / samples, 4)}
    return row | {"coverage_of_range": round(predicted / samples, 4), "width": round(float(np.mean(width)), 4)}


def main() -> None:
    """Run all designs and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=500)
    samples = parser.parse_args().samples
    write_rows("pooled_ratios", [study(*design, tau, samples) for design, tau in product(DESIGNS, SPREADS)])


if __name__ == "__main__":
    main()
