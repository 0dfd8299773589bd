"""Bootstrap intervals of a Brier score and of a difference, compared with SciPy's, as ratios of times in one run.

Run: python benchmarks/bootstrap.py [--n 1000000] [--replicates 1000] [--theirs 100]

Both compute percentile intervals from arrays of outcomes and forecasts. For SciPy, the losses are computed once, the
mean is vectorized, and the batch size is the fastest of some that fit in memory. Its time is proportional to the number
of draws, so it is measured for `--theirs` draws and multiplied.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from scipy import stats

import propriety as pr
from propriety.inference.bootstrap import Drawing, Units

BATCHES = (1, 5, 20)
ROUNDS = 3


def best(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Return the shortest of some times."""
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)


def scipy_limits(values: np.ndarray, draws: int, batch: int) -> tuple[float, float]:
    found = stats.bootstrap(
        (values,), np.mean, n_resamples=draws, batch=batch, vectorized=True, method="percentile", random_state=1
    ).confidence_interval
    return float(found.low), float(found.high)


def our_difference(y: np.ndarray, p: np.ndarray, q: np.ndarray, draws: int) -> tuple[float, float]:
    losses = [pr.case_scores(y, one, rule=pr.Brier()) for one in (p, q)]
    means = Units.of(losses[0] - losses[1]).in_cells().resampled(Drawing(draws, 1))
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=1_000_000)
    parser.add_argument("--replicates", type=int, default=1000)
    parser.add_argument("--theirs", type=int, default=100)
    options = parser.parse_args()
    generator = np.random.default_rng(0)
    p = generator.random(options.n)
    y = generator.random(options.n) < p
    q = np.clip(p + 0.1 * generator.standard_normal(options.n), 0.0, 1.0)
    batch = min(BATCHES, key=lambda size: best(lambda: scipy_limits((p - y) ** 2, 20, size), 1))
    works = {
        "Brier score": (
            lambda: pr.estimate(y, p, method="bootstrap", n_resamples=options.replicates, seed=1),
            lambda draws: scipy_limits((p - y) ** 2, draws, batch),
        ),
        "Brier difference": (
            lambda: our_difference(y, p, q, options.replicates),
            lambda draws: scipy_limits((p - y) ** 2 - (q - y) ** 2, draws, batch),
        ),
    }
    print(
        f"n = {options.n:,}, {options.replicates:,} draws; SciPy: {options.theirs} draws in batches of {batch}, times"
    )
    print(f"{options.replicates / options.theirs:g}; best of {ROUNDS} and of 2 by turns")
    for name, (ours, theirs) in works.items():
        mine, other = float("inf"), float("inf")
        for _ in range(2):
            mine = min(mine, best(ours))
            other = min(other, best(lambda work=theirs: work(options.theirs), 1) * options.replicates / options.theirs)
        print(f"{name:18} ours {mine:.3f} s, SciPy {other:.1f} s: {other / mine:.0f} times as fast")
        print(f"{'':18} ours {ours()}\n{'':18} SciPy {theirs(options.theirs)}")


if __name__ == "__main__":
    main()
