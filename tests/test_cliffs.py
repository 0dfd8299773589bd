"""What very many models, groups and classes cost: in processor seconds, with room for slow machines."""

import time
import tracemalloc

import numpy as np
import pytest

import propriety as pr

pytestmark = pytest.mark.nightly

GENEROUS = 60.0  # Processor seconds; on the machine of `benchmarks/cliffs.py` it is a tenth.
GIGABYTE = 2**30
RNG = np.random.default_rng(1)


def binary(n, models):
    truth = RNG.random(n)
    noise = np.linspace(0.05, 0.4, models)
    forecasts = {f"m{place}": np.clip(truth + s * RNG.standard_normal(n), 0, 1) for place, s in enumerate(noise)}
    return (RNG.random(n) < truth).astype(int), forecasts


def cost_of(work):
    """Return the processor seconds and the peak of what NumPy and Python allocate."""
    tracemalloc.start()
    begin = time.process_time()
    work()
    seconds, (_, peak) = time.process_time() - begin, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return seconds, peak


@pytest.mark.parametrize("measure", [pr.Brier(), pr.measures.AreaUnderRoc()], ids=["brier", "area"])
def test_three_hundred_models_are_compared(measure):
    y, forecasts = binary(2000, 300)
    seconds, peak = cost_of(lambda: str(pr.compare(y, forecasts, measure)))
    assert seconds < GENEROUS
    assert peak < GIGABYTE


def test_a_hundred_models_are_mapped():
    y, forecasts = binary(500, 100)
    seconds, peak = cost_of(lambda: pr.ranking_map(y, forecasts))
    assert seconds < GENEROUS
    assert peak < GIGABYTE / 2


def test_ten_thousand_groups_are_judged():
    y, forecasts = binary(100_000, 1)
    group = RNG.integers(0, 10_000, len(y))
    seconds, peak = cost_of(lambda: pr.slices(y, forecasts, by=group, smallest=1, thresholds=0.3))
    assert seconds < GENEROUS
    assert peak < GIGABYTE


def test_a_page_of_three_hundred_classes_is_written():
    forecasts = {name: RNG.dirichlet(np.ones(300), 2000) for name in "ab"}
    y = RNG.integers(0, 300, 2000)
    pages = []
    seconds, peak = cost_of(lambda: pages.append(pr.evaluate(y, forecasts, seed=1).to_html()))
    assert seconds < GENEROUS
    assert peak < GIGABYTE
    assert "the 9 classes with the strongest evidence of miscalibration, of 300" in pages[0]
