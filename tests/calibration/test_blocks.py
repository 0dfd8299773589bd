"""Pooling adjacent violators: a table is pooled once, and its blocks are kept no longer than the table."""

import gc
import weakref

import numpy as np
import pytest

from propriety.calibration.blocks import POOLED, Blocks, pool_adjacent_violators
from propriety.tables.forecast_table import ForecastTable


def table():
    return ForecastTable.from_predictions([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8])


def test_a_table_is_pooled_once(monkeypatch):
    pooled = []
    monkeypatch.setattr(
        "propriety.calibration.blocks.isotonic_starts", lambda *given: pooled.append(given) or np.array([0, 1, 3, 4])
    )
    one, other = table(), table()
    assert pool_adjacent_violators(one) is pool_adjacent_violators(one)
    assert len(pooled) == 1
    assert pool_adjacent_violators(other) is not pool_adjacent_violators(one)
    assert len(pooled) == 2


def test_blocks_go_with_their_table():
    one = table()
    blocks = weakref.ref(one), len(POOLED)
    pool_adjacent_violators(one)
    assert len(POOLED) == blocks[1] + 1
    del one
    gc.collect()
    assert blocks[0]() is None
    assert len(POOLED) <= blocks[1]


def test_blocks_cannot_be_changed():
    blocks = pool_adjacent_violators(table())
    for column in (blocks.start, blocks.events, blocks.non_events):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 7
    assert blocks.event_rate.tolist() == [0.0, 0.5, 1.0]
    assert Blocks.of(np.array([1.0, 0.0]), np.array([0.0, 1.0])).event_rate.tolist() == [0.5]
