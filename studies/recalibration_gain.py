"""Gains of recalibration: the coverage of their intervals, and the cost of the default map for calibrated forecasts.

The log-odds x of the forecasts are normal with mean -0.5 and standard deviation 1.6. The true log-odds are x
("calibrated"), 0.8 x and 0.6 x (too extreme), 1.5 x (too timid), x - 0.5 (too high), or 0.4 x above 0 and 1.2 x below,
minus 0.3 ("bent"). In each sample the default map and the logistic one are cross-fitted by ten folds. The interval of
the gain is compared with two truths: the expected gain of the maps of the folds, which it is an interval of, and that
of the map fitted to all cases, which is the one that is used.
Writes `results/recalibration_gain.csv`: the rule, the design, the method, the number of cases, the mean of the
estimated gains, that of the true gains of the map fitted to all cases, the gain of the true rates, the share of
samples in which that map is worse than none, the share with an interval (there is none if no fold is changed), and
the coverage of those intervals for the gain of the folds' maps and of the map fitted to all cases. Takes about
forty minutes on one core.

Run: python studies/recalibration_gain.py [--replicates 200]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator

import numpy as np
from recalibration_truth import RULES, drawn, expected_score, points
from scipy.special import expit
from study_tables import write_rows

from propriety.recalibration.folds import folds_of
from propriety.recalibration.gains import tried
from propriety.recalibration.methods import METHODS

SIZES, FOLDS, LEVEL = (200, 600, 2000), 10, 0.95
DESIGNS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "calibrated": lambda x: x,
    "0.8 x": lambda x: 0.8 * x,
    "0.6 x": lambda x: 0.6 * x,
    "1.5 x": lambda x: 1.5 * x,
    "x - 0.5": lambda x: x - 0.5,
    "bent": lambda x: np.where(x > 0.0, 0.4 * x, 1.2 * x) - 0.3,
}
TRIED = ("auto", "logistic")
POINTS = points(4000)
WORSE = 1e-6  # A map that costs less than this is not called worse.


def samples(design: str, n: int, replicates: int) -> Iterator[dict[tuple[str, str], tuple[float, ...]]]:
    """Yield, for each rule and method: the gain, its limits, and the true gains of the folds' maps and of all cases."""
    generator = np.random.default_rng([list(DESIGNS).index(design), n])
    forecast, rate = expit(POINTS), expit(DESIGNS[design](POINTS))
    for _ in range(replicates):
        y, x = drawn(generator, n, DESIGNS[design])
        parts = folds_of(y, expit(x), folds=FOLDS, id=None, model=None)
        found = {}
        for name, rule in RULES.items():
            trial = tried(parts, METHODS, ("none", *TRIED), rule, LEVEL)
            before = expected_score(rule, forecast, rate)
            for method in trial.names:
                verdict = trial.verdict(method)
                maps = [own for one in trial.splits for own in one.fitted.maps[method]]
                each = [before - expected_score(rule, own.recalibrated(forecast), rate) for own in maps]
                after = expected_score(rule, METHODS[method](parts.whole).recalibrated(forecast), rate)
                found[name, method] = (verdict.gain, verdict.low, verdict.high, float(np.mean(each)), before - after)
        yield found


def rows(design: str, n: int, replicates: int) -> Iterator[dict[str, object]]:
    """Yield a row for each rule and method."""
    each = list(samples(design, n, replicates))
    rate = expit(DESIGNS[design](POINTS))
    for name, rule in RULES.items():
        best = expected_score(rule, expit(POINTS), rate) - expected_score(rule, rate, rate)
        for method in TRIED:
            gain, low, high, of_folds, of_all = np.array([one[name, method] for one in each]).T
            told = high > low
            yield {
                "rule": name,
                "design": design,
                "method": method,
                "n": n,
                "mean_estimate": f"{gain.mean():.6f}",
                "mean_gain": f"{of_all.mean():.6f}",
                "best_gain": f"{best:.6f}",
                "share_worse": f"{(of_all < -WORSE).mean():.3f}",
                "share_with_interval": f"{told.mean():.3f}",
                "holds_folds": f"{((low <= of_folds) & (of_folds <= high))[told].mean():.3f}",
                "holds_all": f"{((low <= of_all) & (of_all <= high))[told].mean():.3f}",
            }


def main(arguments: list[str]) -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=200)
    replicates = parser.parse_args(arguments).replicates
    found = []
    for design in DESIGNS:
        for n in SIZES:
            found += list(rows(design, n, replicates))
            print(design, n, *(list(row.values())[4:] for row in found[-4:]), sep="\n  ", flush=True)
    write_rows("recalibration_gain", found)


if __name__ == "__main__":
    main(sys.argv[1:])
