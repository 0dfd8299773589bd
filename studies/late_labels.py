"""Labels that arrive late: the bias of scores with the labels as they are, and the coverage of corrected ones.

A stream of 60 days with log-normal delays whose median is 10 days, evaluated on the last day. About 3% of the cases are
events. The true observed/expected is 1 or 1.4. Delays are the same on all days, or 20% longer or shorter in the last 30
days. Writes `results/late_labels.csv`: the design, the number of cases, the window in days, the mean number of reported
events, the share of samples that can be corrected, observed/expected with the labels as they are and corrected, the
coverage of its 95% limits, the true score, the score with the labels as they are and corrected, the share of samples in
which it has limits and their coverage, and the share of p-values below 5%; means and coverage are those of samples with
an estimate, or with limits. Calibrated forecasts are also evaluated with few reports: fewer cases, and 0.1% events.
Takes about six minutes on one core.

Run: python studies/late_labels.py [--replicates 400]
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
from scipy.special import expit
from study_tables import write_rows

import propriety as pr
from propriety.results import LateLabels

DAYS, MEDIAN = 60, 10.0
COMMON, RARE = (-3.8, 1.0), (-8.0, 1.5)  # Mean and standard deviation of the log-odds of the forecasts.
CASES = (5_000, 20_000, 40_000)
# True observed/expected, spread of the delays, factor of the delays of the last 30 days, log-odds, numbers of cases.
DESIGNS = {
    "calibrated": (1.0, 0.6, 1.0, COMMON, CASES),
    "calibrated, wide delays": (1.0, 1.0, 1.0, COMMON, CASES),
    "too low by 1.4": (1.4, 0.6, 1.0, COMMON, CASES),
    "delays now 20% longer": (1.0, 0.6, 1.2, COMMON, CASES[1:2]),
    "delays now 20% shorter": (1.0, 0.6, 0.8, COMMON, CASES[1:2]),
    "calibrated, few cases": (1.0, 0.6, 1.0, COMMON, (600, 2_000, 12_000)),
    "too low by 2, few cases": (2.0, 0.6, 1.0, COMMON, (600,)),
    "calibrated, rare events": (1.0, 0.6, 1.0, RARE, (6_000,)),
}


Stream = tuple[np.ndarray, np.ndarray, np.ndarray]


def stream(
    generator: np.random.Generator, n: int, ratio: float, spread: float, factor: float, log_odds: tuple[float, float]
) -> Stream:
    """Return forecasts, their days and the days of the reports; delays are below 60 days."""
    made, p = generator.integers(0, DAYS, n), expit(generator.normal(*log_odds, n))
    delay = generator.lognormal(np.log(MEDIAN), spread, n)
    delay = np.where(delay < DAYS, delay, DAYS * generator.random(n))
    delay = np.floor(delay * np.where(made >= DAYS // 2, factor, 1.0))
    return p, made, np.where(generator.random(n) < ratio * p, made + delay, np.nan)


def true_score(ratio: float, log_odds: tuple[float, float]) -> float:
    """Return the expected Brier score."""
    p = expit(np.random.default_rng(0).normal(*log_odds, 10**7))
    return float(np.mean(p**2 + ratio * p * (1.0 - 2.0 * p)))


def evaluated(p: np.ndarray, made: np.ndarray, reported: np.ndarray) -> LateLabels | None:
    """Return the estimates on the last day; none if nothing is reported yet, or no case is as old as a window."""
    if not (reported < DAYS).any():
        return None
    return pr.late_labels(p, made=made, reported=reported, now=DAYS - 1, windows=(7, 14, 28))


def main() -> None:
    """Run every design and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=400)
    replicates = parser.parse_args().replicates
    rows = []
    for place, (design, (ratio, spread, factor, log_odds, cases)) in enumerate(DESIGNS.items()):
        score = true_score(ratio, log_odds)
        for n in cases:
            generator = np.random.default_rng([7, place, n])
            streams = (stream(generator, n, ratio, spread, factor, log_odds) for _ in range(replicates))
            found = [one for one in (evaluated(*given) for given in streams) if one is not None]
            for window in range(4):

                def column(name: str, found: list = found, window: int = window) -> np.ndarray:
                    return np.array([getattr(one, name)[window] for one in found])

                def coverage(low: np.ndarray, high: np.ndarray, true: float) -> float:
                    known = ~np.isnan(low)
                    return float(np.mean((low[known] <= true) & (true <= high[known]))) if known.any() else np.nan

                row = {
                    "design": design,
                    "n": n,
                    "window": int(found[0].oldest[window]) + 1,
                    "reported": column("reported").mean(),
                    "estimable": float(np.mean(~np.isnan(column("observed_expected")))),
                    "ratio_as_labelled": column("as_labelled").mean(),
                    "ratio": np.nanmean(column("observed_expected")),
                    "ratio_coverage": coverage(column("low"), column("high"), ratio),
                    "true_score": score,
                    "score_as_labelled": column("score_as_labelled").mean(),
                    "score": np.nanmean(column("score")),
                    "score_limits": float(np.mean(~np.isnan(column("score_low")))),
                    "score_coverage": coverage(column("score_low"), column("score_high"), score),
                    "rejected": np.mean(column("p_value") < 0.05),
                }
                rows.append({name: f"{one:.4g}" if isinstance(one, float) else one for name, one in row.items()})
                print(*rows[-1].values(), file=sys.stderr, flush=True)
    write_rows("late_labels", rows)


if __name__ == "__main__":
    main()
