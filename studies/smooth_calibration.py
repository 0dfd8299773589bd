"""Coverage of the intervals of ICI, E50 and E90.

Samples of 300 to 5,000 cases with normally distributed log-odds are calibrated, miscalibrated by a wrong intercept or
slope or by a wave, or miscalibrated in a part of their range: event rates that stop rising above a forecast of one half
("flat tail") or of 90% of the cases ("late flat tail"). The truth is that of the population. Writes
`results/smooth_calibration.csv`: truth, bias of the value, and coverage of 95% intervals.

Run: python studies/smooth_calibration.py [--samples 1000]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator

import numpy as np
from scipy.special import expit
from study_tables import write_rows

import propriety as pr

SIZES = (300, 500, 2000, 5000)
MEAN, SPREAD = -1.2, 1.1
TRUTHS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "calibrated": lambda x: x,
    "intercept 0.5": lambda x: x + 0.5,
    "slope 0.67": lambda x: x / 1.5,
    "slope 1.5": lambda x: 1.5 * x,
    "wave": lambda x: x + 0.5 * np.sin(2.0 * x),
    "flat tail": lambda x: np.minimum(x, 0.0),
    "late flat tail": lambda x: np.minimum(x, MEAN + 1.28 * SPREAD),
}
INDICES = ("ici", "e50", "e90")
DRAWS = 300


def rows(samples: int) -> Iterator[dict[str, object]]:
    """Simulate each truth and size."""
    population = MEAN + SPREAD * np.random.default_rng(0).standard_normal(1_000_000)
    for name, log_odds in TRUTHS.items():
        distance = np.abs(expit(log_odds(population)) - expit(population))
        truth = [distance.mean(), np.median(distance), np.quantile(distance, 0.9)]
        for n in SIZES:
            generator = np.random.default_rng(n)
            found = np.array([_sample(log_odds, n, generator) for _ in range(samples)])
            for place, index in enumerate(INDICES):
                value, low, high = found[:, place].T
                yield {
                    "truth": name,
                    "n": n,
                    "index": index,
                    "value": f"{truth[place]:.4f}",
                    "bias": f"{value.mean() - truth[place]:.4f}",
                    "coverage": f"{np.mean((low <= truth[place]) & (truth[place] <= high)):.3f}",
                    "samples": samples,
                }


def _sample(log_odds: Callable[[np.ndarray], np.ndarray], n: int, generator: np.random.Generator) -> list[object]:
    x = MEAN + SPREAD * generator.standard_normal(n)
    y = generator.random(n) < expit(log_odds(x))
    found = pr.reliability_curve(y, expit(x)).smooth(n_resamples=DRAWS, seed=int(generator.integers(2**31)))
    return [found.index(name) for name in INDICES]


def main() -> None:
    """Write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=1000)
    found = list(rows(parser.parse_args().samples))
    write_rows("smooth_calibration", found)


if __name__ == "__main__":
    main()
