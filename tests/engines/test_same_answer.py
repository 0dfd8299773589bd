"""The same cases give the same answer: in any order, in any parts, in any container, draws included."""

import itertools
import math

import duckdb
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import propriety as pr

CLOSE = 1e-12
CONNECTION = duckdb.connect()


LABELS = ["low", "mid", "high"]
ROWS = {model: [f"{model}_{label}" for label in LABELS] for model in ("a", "b")}
CLASSES = {"forecasts": ROWS, "outcome": "class", "labels": LABELS}
TASKS = {
    "event": {"forecasts": ["p", "q"], "outcome": "y"},
    "classes": CLASSES,
    "grades": CLASSES | {"ordered": True},
}


def frame_of(seed, n):
    rng = np.random.default_rng(seed)
    places = rng.permutation(np.arange(n) % 3)
    rows = {model: dict(zip(own, rng.dirichlet([1.0, 2.0, 1.5], n).T, strict=True)) for model, own in ROWS.items()}
    return pl.DataFrame(
        {
            "y": (places == 0).astype(int),
            "p": rng.uniform(0.02, 0.98, n).round(2),
            "q": rng.uniform(0.02, 0.98, n),
            "w": rng.gamma(2.0, size=n),
            "c": rng.integers(0, max(n // 5, 2), n) + 2**60,
            "t": rng.integers(0, 40, n),
            "g": [("b", "a", "é")[place] for place in rng.integers(0, 3, n)],
            "class": [LABELS[place] for place in places],
            **rows["a"],
            **rows["b"],
        }
    )


def union(parts):
    tables = [part.to_arrow() for part in parts]
    found = CONNECTION.from_arrow(tables[0])
    for table in tables[1:]:
        found = found.union(CONNECTION.from_arrow(table))
    return found


CONTAINERS = {
    "polars": pl.concat,
    "pandas": lambda parts: pl.concat(parts).to_pandas(),
    "pyarrow": lambda parts: pl.concat(parts).to_arrow(),
    "lazy polars": lambda parts: pl.concat([part.lazy() for part in parts]),
    "duckdb": union,
}


def answer(frame, options):
    found = pr.evaluate(frame, by="g", n_resamples=30, seed=7, **options)
    return {
        "scores": found.to_dict(),
        "groups": found.slices.to_dict(),
        "comparison": found.comparison.to_dict(),
        "card": str(found),
    }


def entries(value, path=""):
    held = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list | tuple) else None
    if held is None:
        yield path, value
    else:
        for name, entry in held:
            yield from entries(entry, f"{path}/{name}")


def assert_same(found, expected):
    found, expected = dict(entries(found)), dict(entries(expected))
    assert found.keys() == expected.keys()
    for path, number in expected.items():
        if isinstance(number, float):
            same = math.isclose(found[path], number, rel_tol=CLOSE, abs_tol=CLOSE)
            assert same or (math.isnan(number) and math.isnan(found[path])), (path, found[path], number)
        else:
            assert found[path] == number, path


OPTIONS = [
    {},
    {"sample_weight": "w"},
    {"cluster": "c"},
    {"sample_weight": "w", "cluster": "c"},
    {"sample_weight": "w", "period": "t"},
]


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("options", OPTIONS, ids=" and ".join)
@settings(max_examples=3)
@given(seed=st.integers(0, 10**6), cuts=st.lists(st.integers(1, 119), max_size=3))
def test_order_partitions_and_containers_do_not_matter(task, options, seed, cuts):
    frame, options = frame_of(seed, 120), TASKS[task] | options
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=seed)
    ends = [0, *sorted(set(cuts)), len(frame)]
    parts = [shuffled[low:high] for low, high in itertools.pairwise(ends)]
    expected = answer(frame, options)
    for container in CONTAINERS.values():
        assert_same(answer(container(parts), options), expected)
