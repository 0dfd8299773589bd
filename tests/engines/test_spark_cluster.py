"""Spark for real: two executor processes, one of them killed in mid-query, and bad data hidden in one partition."""

import os
import signal
import threading
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from propriety import Brier, condense
from propriety.errors import InputValueError
from propriety.tables.forecast_table import ForecastTable

COUNT = 20_000_000
QUERY = {"outcome": "y", "forecast": "p", "exact": False, "cells": 2**12}


def generated(spark, count=COUNT):
    """Return cases that the cluster makes itself, the same ones whenever a task is run again."""
    draws = spark.range(count, numPartitions=16).selectExpr("xxhash64(id) AS h", "xxhash64(id, 7) AS u")
    unit = "(CAST({} AS DOUBLE) / 18446744073709551616.0 + 0.5)"
    return draws.selectExpr(f"{unit.format('h')} AS p", f"CAST({unit.format('u')} < {unit.format('h')} AS INT) AS y")


def executors():
    """Return the process ids of the executors of this process's cluster, by their command lines."""
    entries = [entry for entry in Path("/proc").iterdir() if entry.name.isdigit() and _is_executor(entry)]
    return [int(entry.name) for entry in entries if os.getpid() in _ancestors(int(entry.name))]


def _is_executor(entry):
    try:
        return b"CoarseGrainedExecutorBackend" in (entry / "cmdline").read_bytes()
    except OSError:
        return False


def _ancestors(pid):
    while pid > 1:
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            return
        yield pid


def wait_for_mid_query(spark):
    """Wait until some tasks of a query are done and others are still to come."""
    tracker = spark.sparkContext.statusTracker()
    while True:
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        if any(stage is not None and 0 < stage.numCompletedTasks < stage.numTasks - 2 for stage in stages):
            return
        time.sleep(0.01)


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="the executors are found in /proc")
def test_an_executor_that_dies_in_mid_query_changes_nothing(spark):
    frame = generated(spark)
    expected = ForecastTable.from_frame(frame, **QUERY)
    assert expected.n == COUNT
    wait_for_executors(2)
    before = executors()
    killed = []

    def kill():
        wait_for_mid_query(spark)
        killed.append(os.kill(before[0], signal.SIGKILL))

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    table = ForecastTable.from_frame(frame, **QUERY)
    assert killed, "the query ended before the executor was killed"
    assert before[0] not in executors()
    for name in ("events", "non_events"):
        assert getattr(table, name).tolist() == getattr(expected, name).tolist()
    # The mean forecast of a cell is added up in the order in which partitions arrive.
    np.testing.assert_allclose(table.forecast, expected.forecast, rtol=1e-13)
    assert table.n == COUNT


@pytest.mark.nightly
@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="the executors are found in /proc")
def test_an_executor_that_dies_while_a_ledger_is_filled_changes_nothing(spark):
    """Tables, keys and the moments of two models: every query that the dead executor took part in is repeated."""
    frame = generated(spark, COUNT // 4).selectExpr("p", "p * p AS q", "y", "CAST(p * 1000 AS INT) % 3 AS site")

    def fill():
        return condense(frame, ["p", "q"], outcome="y", by=["site"], rules=[Brier()], cells=2**10)

    expected = fill()
    wait_for_executors(2)
    victim, killed = executors()[0], []

    def kill():
        wait_for_mid_query(spark)
        killed.append(os.kill(victim, signal.SIGKILL))

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    ledger = fill()
    assert killed, "the ledger was filled before the executor was killed"
    assert victim not in executors()
    assert ledger.n == expected.n == COUNT // 4
    for model in ("p", "q"):
        for name in ("events", "non_events"):
            assert getattr(ledger.table(model), name).tolist() == getattr(expected.table(model), name).tolist()
    mine, theirs = ledger.moments(Brier()), expected.moments(Brier())
    assert mine.n.tolist() == theirs.n.tolist()
    for name in ("mean", "spread"):
        np.testing.assert_allclose(getattr(mine, name), getattr(theirs, name), rtol=1e-10)


def wait_for_executors(number):
    """Wait until the cluster has replaced an executor that died."""
    until = time.monotonic() + 60.0
    while len(executors()) < number:
        assert time.monotonic() < until
        time.sleep(0.1)


def test_a_bad_row_hidden_in_one_partition_is_told(spark):
    frame = generated(spark, 100_000)
    hidden = spark.createDataFrame([(1.75, 0)], "p double, y int")
    with pytest.raises(InputValueError, match=r"y_proba must lie in \[0, 1\]; one is 1\.75 \(1 of 100,001 rows\)"):
        ForecastTable.from_frame(frame.union(hidden), **QUERY)


def test_partitions_do_not_matter(spark, tmp_path):
    rng = np.random.default_rng(4)
    p = rng.random(5000)
    frame = pl.DataFrame({"y": (rng.random(5000) < p).astype(int), "p": p, "w": rng.random(5000)})
    frame.write_parquet(tmp_path / "cases.parquet")
    expected = ForecastTable.from_predictions(frame["y"], frame["p"], sample_weight=frame["w"]).grid(256)
    for parts in (1, 7):
        lazy = spark.read.parquet(str(tmp_path / "cases.parquet")).repartition(parts)
        table = ForecastTable.from_frame(lazy, outcome="y", forecast="p", weight="w", exact=False, cells=256)
        np.testing.assert_allclose(table.forecast, expected.forecast, rtol=1e-13)
        np.testing.assert_allclose(table.events, expected.events, rtol=1e-12)
        np.testing.assert_allclose(table.non_events, expected.non_events, rtol=1e-12)
