"""Speed of the table and of a score with all checks, as ratios within one run, because the machine is shared.

Run with `nox -s benchmarks`; in each test both sides take turns, and the ratio of the best times is printed.
"""

import time

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss

import propriety as pr
from propriety.tables.forecast_table import ForecastTable

N = 10_000_000
ROUNDS = 5


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(0)
    p = rng.random(N)
    return rng.random(N) < p, p


def ratio(benchmark, ours, theirs):
    """Return our best time over theirs, taken by turns; pytest-benchmark records ours."""
    best_ours = best_theirs = float("inf")
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        theirs()
        middle = time.perf_counter()
        ours()
        best_theirs, best_ours = min(best_theirs, middle - begin), min(best_ours, time.perf_counter() - middle)
    benchmark.pedantic(ours, rounds=1)
    benchmark.extra_info["ratio"] = best_ours / best_theirs
    print(f"\nours {best_ours:.3f} s, theirs {best_theirs:.3f} s, ratio {best_ours / best_theirs:.3f}")
    return best_ours / best_theirs


@pytest.mark.parametrize("decimals", [17, 3], ids=["continuous", "thousandths"])
def test_a_table_costs_little_more_than_a_sort(benchmark, sample, decimals):
    y, p = sample[0], np.round(sample[1], decimals)
    assert ratio(benchmark, lambda: ForecastTable.from_predictions(y, p), lambda: np.sort(p)) <= 2.5


@pytest.mark.parametrize("dtype", [bool, np.int64], ids=["boolean", "integer"])
def test_a_checked_brier_score_costs_a_fifteenth_of_scikit_learns(benchmark, sample, dtype):
    y, p = sample[0].astype(dtype), sample[1]
    assert ratio(benchmark, lambda: pr.brier_score(y, p), lambda: brier_score_loss(y, p)) <= 1 / 15


def test_a_checked_log_score_against_the_bare_formula(benchmark, sample):
    y, p = sample
    assert ratio(benchmark, lambda: pr.log_score(y, p), lambda: -np.mean(np.log(np.where(y, p, 1 - p)))) <= 2.0
