"""What the comparisons share: a sample, and times taken by turns."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from matplotlib import pyplot as plt

LONG = 20.0  # Seconds after which once is enough.
Work = Callable[[], object]


def sample(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw calibrated continuous forecasts."""
    generator = np.random.default_rng(0)
    p = generator.random(n)
    return (generator.random(n) < p).astype(float), p


def best_times(works: dict[str, Work], rounds: int) -> dict[str, float]:
    """Return the best time of each, taken by turns."""
    best = dict.fromkeys(works, float("inf"))
    for round_ in range(rounds):
        for name, work in works.items():
            if round_ and best[name] > LONG:
                continue
            begin = time.perf_counter()
            work()
            best[name] = min(best[name], time.perf_counter() - begin)
            plt.close("all")
    return best
