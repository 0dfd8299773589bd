"""The pooled calibration curve: coverage of its band and of the range for a further site, at ten points.

A model forecasts p = expit(m + x) with a standard normal x. In site i, the log-odds of the event are
a_i + m + b_i x + c (x^2 - 1), with a_i and b_i normal with means 0.1 and 0.9. There are 12 or 30 sites; their numbers
of cases are log-normal, with a median of 400 and a standard deviation of the logarithm of 0.6, from 100 to 4,000. The
points are ten equally spaced values of x from -1.645 to 1.645. The true curve has the log-odds of the mean site.

Writes `results/pooled_curves.csv`: for each design the mean and the lowest coverage of the band and of the range over
the ten points, the mean width of the band in log-odds, and the mean of the estimated standard deviation of a_i. Takes
ten minutes on one core.

Run: python studies/pooled_curves.py [--samples 500] [--designs slight bent rare] [--workers 1]
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit
from study_tables import write_rows

import propriety as pr


class Design(NamedTuple):
    """Standard deviations of levels and slopes between sites, the middle of the log-odds, and the bend."""

    level: float
    slope: float
    middle: float
    bend: float

    def log_odds(self, x: np.ndarray, a: float, b: float) -> np.ndarray:
        """Return the log-odds of the event."""
        return a + self.middle + b * x + self.bend * (x**2 - 1.0)


DESIGNS = {
    "equal": Design(0.0, 0.0, -1.5, 0.0),
    "slight": Design(0.1, 0.05, -1.5, 0.0),
    "bent": Design(0.3, 0.15, -1.5, 0.1),
    "rare": Design(0.3, 0.15, -3.0, 0.0),
    "wide": Design(0.5, 0.25, -1.0, 0.1),
}
SITES = (12, 30)
POINTS = np.linspace(-1.645, 1.645, 10)


def study(name: str, sites: int, samples: int) -> dict[str, object]:
    """Return the coverage of a design."""
    design = DESIGNS[name]
    truth = design.log_odds(POINTS, 0.1, 0.9)
    in_band, in_range = np.zeros((2, len(POINTS)))
    width, tau = [], []
    for sample in range(samples):
        generator = np.random.default_rng([sites, list(DESIGNS).index(name), sample])
        parts = []
        for site in range(sites):
            n = int(np.clip(generator.lognormal(np.log(400.0), 0.6), 100, 4000))
            a, b = generator.normal([0.1, 0.9], [design.level, design.slope])
            x = generator.normal(size=n)
            y = generator.random(n) < expit(design.log_odds(x, a, b))
            parts.append((y, expit(design.middle + x), np.full(n, site)))
        y, p, site = map(np.concatenate, zip(*parts, strict=True))
        new = design.log_odds(POINTS, *generator.normal([0.1, 0.9], [design.level, design.slope]))
        curve = pr.pooled_curve(pr.condense(y, {"m": p}, by={"site": site}))
        low, high, further_low, further_high = (
            np.interp(POINTS + design.middle, logit(curve.forecast), logit(column))
            for column in (curve.low, curve.high, curve.further_low, curve.further_high)
        )
        in_band += (low <= truth) & (truth <= high)
        in_range += (further_low <= new) & (new <= further_high)
        width.append((high - low).mean())
        tau.append(curve.tau_level)
    row: dict[str, object] = {"design": name, "sites": sites, "samples": samples}
    for what, hits in (("band", in_band / samples), ("range", in_range / samples)):
        row |= {f"coverage_of_{what}": round(hits.mean(), 4), f"lowest_of_{what}": round(hits.min(), 4)}
    return row | {"width": round(np.mean(width), 4), "mean_tau": round(np.mean(tau), 4), "true_tau": design.level}


def main() -> None:
    """Run all designs and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=500)
    parser.add_argument("--designs", nargs="*", default=list(DESIGNS), choices=list(DESIGNS))
    parser.add_argument("--workers", type=int, default=1)
    given = parser.parse_args()
    samples = given.samples
    tasks = [(name, sites, samples) for name in given.designs for sites in SITES]
    with ProcessPoolExecutor(given.workers) as pool:
        rows = [dict(row) for row in pool.map(study, *zip(*tasks, strict=True))]
    write_rows("pooled_curves", rows)


if __name__ == "__main__":
    main()
