"""Isotonic regression by merging neighbours, against an exact implementation."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from propriety.tables import pooling
from propriety.tables.pooling import isotonic_starts

COUNTS = st.integers(0, 3)
WEIGHTS = st.sampled_from([0.0, 2.0**-1000, 2.0**-30, 0.1, 1 / 3, 1.0, 7.0, 2.0**40, 2.0**900])


def exact_starts(events, non_events):
    """Merge each row with the blocks before it, one at a time, in fractions."""
    blocks = []
    for row, (event, other) in enumerate(zip(map(Fraction, events), map(Fraction, non_events), strict=True)):
        blocks.append((row, event, event + other))
        while len(blocks) > 1 and blocks[-1][1] * blocks[-2][2] <= blocks[-2][1] * blocks[-1][2]:
            (first, *left), (_, *right) = blocks[-2:]
            blocks[-2:] = [(first, left[0] + right[0], left[1] + right[1])]
    return [first for first, _, _ in blocks] + [len(events)]


def rows_of(weights):
    return st.lists(st.tuples(weights, weights).filter(any), min_size=1, max_size=40)


@pytest.fixture(params=[pooling.MANY_ROWS, 1], ids=["merging", "scipy"], autouse=True)
def limit(request, monkeypatch):
    monkeypatch.setattr(pooling, "MANY_ROWS", request.param)


@given(rows_of(COUNTS))
def test_blocks_of_counts_are_exact(rows):
    events, non_events = np.array(rows, dtype=float).T
    assert isotonic_starts(events, non_events).tolist() == exact_starts(events, non_events)


@given(rows_of(WEIGHTS))
def test_rates_of_weighted_rows_are_those_of_the_exact_blocks(rows):
    events, non_events = np.array(rows).T
    found, expected = isotonic_starts(events, non_events), exact_starts(events, non_events)
    np.testing.assert_allclose(rates(events, non_events, found), rates(events, non_events, expected), rtol=1e-12)
    assert (np.diff(rates(events, non_events, found)[found[:-1]]) > 0).all()


@given(st.lists(rows_of(COUNTS), min_size=1, max_size=5))
def test_draws_have_blocks_of_their_own(draws):
    events, non_events = np.array([row for rows in draws for row in rows], dtype=float).T
    draw = np.repeat(np.arange(len(draws)), [len(rows) for rows in draws])
    ends = np.cumsum([0, *map(len, draws)])
    expected = [
        start + ends[place] for place, rows in enumerate(draws) for start in exact_starts(*zip(*rows, strict=True))[:-1]
    ]
    assert isotonic_starts(events, non_events, draw).tolist() == [*expected, len(events)]


@pytest.mark.parametrize("heavy", [0, -1], ids=["first", "last"])
def test_a_heavy_row_that_takes_in_the_others_one_by_one(heavy):
    rate, weight = np.linspace(0.1, 0.9, 20_000), np.ones(20_000)
    rate[heavy], weight[heavy] = (0.95, 1e9) if heavy == 0 else (0.05, 1e9)
    assert isotonic_starts(rate * weight, (1 - rate) * weight).tolist() == [0, 20_000]


def rates(events, non_events, start):
    """Return the rate of the block of each row."""
    happened = np.add.reduceat(events, start[:-1])
    block = happened / (happened + np.add.reduceat(non_events, start[:-1]))
    return np.repeat(block, np.diff(start))
