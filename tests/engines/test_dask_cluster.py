"""Dask for real: two worker processes, one of them killed in mid-query."""

import os
import signal
import threading
import time

import numpy as np
import pandas as pd
import pytest

from propriety import Brier, condense
from propriety.errors import InputValueError
from propriety.tables.forecast_table import ForecastTable

PARTS, ROWS = 24, 100_000


def part(number, *, bad=False):
    """Make the cases of one partition, the same ones whenever it is made again."""
    rng = np.random.default_rng(number)
    p = rng.random(ROWS)
    y = (rng.random(ROWS) < p).astype(int)
    if bad and number == PARTS - 1:
        p[17] = -0.5
    return pd.DataFrame({"y": y, "p": p})


@pytest.fixture(scope="module")
def cluster():
    """Return a cluster of two worker processes."""
    distributed = pytest.importorskip("distributed", reason="Dask's distributed scheduler is not installed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None
        ) as workers,
        distributed.Client(workers),
    ):
        yield workers


def frame(**options):
    dask = pytest.importorskip("dask.dataframe", reason="Dask is not installed")
    meta = pd.DataFrame({"y": pd.Series(dtype=int), "p": pd.Series(dtype=float)})
    return dask.from_map(part, range(PARTS), meta=meta, **options)


def test_a_worker_that_dies_in_mid_query_changes_nothing(cluster):
    query = {"outcome": "y", "forecast": "p", "exact": False, "cells": 2**12}
    ForecastTable.from_frame(frame(), **query)  # The first takes longer: workers import what they need.
    begin = time.monotonic()
    expected = ForecastTable.from_frame(frame(), **query)
    duration = time.monotonic() - begin
    assert expected.n == PARTS * ROWS
    victim = next(iter(cluster.workers.values())).pid
    killed = []
    killer = threading.Timer(0.4 * duration, lambda: killed.append(os.kill(victim, signal.SIGKILL)))
    killer.start()
    table = ForecastTable.from_frame(frame(), **query)
    assert killed, "the query ended before the worker was killed"
    assert victim not in [worker.pid for worker in cluster.workers.values()]
    for name in ("forecast", "events", "non_events"):
        assert getattr(table, name).tolist() == getattr(expected, name).tolist()


@pytest.mark.nightly
def test_a_worker_that_dies_while_a_ledger_is_filled_changes_nothing(cluster):
    """Tables, keys and the moments of two models: what the dead worker held is computed again."""

    def fill():
        lazy = frame().assign(q=lambda rows: rows["p"] ** 2, site=lambda rows: (rows["p"] * 1000).astype(int) % 3)
        return condense(lazy, ["p", "q"], outcome="y", by=["site"], rules=[Brier()], cells=2**10)

    fill()
    begin = time.monotonic()
    expected = fill()
    duration = time.monotonic() - begin
    victim, killed = next(iter(cluster.workers.values())).pid, []
    killer = threading.Timer(0.4 * duration, lambda: killed.append(os.kill(victim, signal.SIGKILL)))
    killer.start()
    ledger = fill()
    assert killed, "the ledger was filled before the worker was killed"
    assert victim not in [worker.pid for worker in cluster.workers.values()]
    assert ledger.n == expected.n == PARTS * ROWS
    for model in ("p", "q"):
        for name in ("events", "non_events"):
            assert getattr(ledger.table(model), name).tolist() == getattr(expected.table(model), name).tolist()
    mine, theirs = ledger.moments(Brier()), expected.moments(Brier())
    for name in ("mean", "spread"):
        np.testing.assert_allclose(getattr(mine, name), getattr(theirs, name), rtol=1e-10)


def test_a_bad_row_hidden_in_one_partition_is_told(cluster):
    with pytest.raises(InputValueError, match=rf"one is -0\.5 \(1 of {PARTS * ROWS:,} rows\)"):
        ForecastTable.from_frame(frame(bad=True), outcome="y", forecast="p", exact=False)
