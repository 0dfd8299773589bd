"""Spark compiles the plans that it is handed, and warns of nothing while it runs them."""

import shutil
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed")

# Spark warns of plans in the log of its Java process, which is what the errors of a process of its own show.
PROGRAM = """
import sys
from pyspark.sql import SparkSession
import propriety as pr

options = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "WARN"}
options |= {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
session = SparkSession.builder.master("local[2]").config(map=options).getOrCreate()
frame = session.read.parquet(sys.argv[1]).repartition(2)
frame.count()
print("started", file=sys.stderr, flush=True)
asked = {"outcome": "y", "ordered": True, "sample_weight": "w", "cluster": "ward", "seed": 1, "n_resamples": 20}
found = pr.evaluate(frame, {"m": ["p0", "p1", "p2", "p3"]}, **asked)
print(found.n, flush=True)
session.stop()
"""


@pytest.mark.nightly
def test_weighted_grades_with_clusters_compile_without_a_warning(tmp_path):
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    rng = np.random.default_rng(3)
    forecasts = {f"p{place}": column for place, column in enumerate(rng.dirichlet(np.ones(4), 200).T)}
    columns = {"y": rng.integers(0, 4, 200), "w": rng.gamma(2.0, size=200), "ward": rng.integers(0, 9, 200)}
    pl.DataFrame(forecasts | columns).write_parquet(tmp_path / "cases.parquet")
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, str(tmp_path / "cases.parquet")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  (made here)
    _, started, log = done.stderr.partition("started\n")
    assert (done.returncode, done.stdout.split(), started) == (0, ["200"], "started\n"), done.stderr
    assert [line for line in log.splitlines() if " WARN " in line or " ERROR " in line] == []
