"""A stream that is killed in the middle of a batch and restarted counts every case exactly once."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed")
SCRIPT = Path(__file__).with_name("killed_stream.py")


@pytest.fixture
def stream(tmp_path, examples):
    """Return a function that runs the stream, and kills it with all of its processes at a point of a batch."""
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    recipe = examples / "spark_streaming" / "fill_ledger.py"
    places = [tmp_path / name for name in ("cases", "ledger", "checkpoint", "mark")]
    options = {
        "PYSPARK_SUBMIT_ARGS": "--master local[2] --conf spark.ui.enabled=false --conf spark.sql.shuffle.partitions=2 pyspark-shell"
    }

    def run(*stop):
        mark = places[-1]
        mark.unlink(missing_ok=True)
        command = [sys.executable, SCRIPT, recipe, *places, *stop]
        with (tmp_path / "log").open("w") as log:
            job = subprocess.Popen(  # noqa: S603  (our script)
                [*map(str, command)], start_new_session=True, env=os.environ | options, stdout=log, stderr=log
            )
        if not stop:
            assert job.wait(timeout=300) == 0, (tmp_path / "log").read_text()
            return
        while not mark.exists():
            assert job.poll() is None, (tmp_path / "log").read_text()
            time.sleep(0.1)
        os.killpg(job.pid, signal.SIGKILL)
        job.wait()

    return run


@pytest.mark.parametrize("point", ["before", "after"])
def test_no_case_is_lost_or_counted_twice(
    point, tmp_path, examples, recipe, stream, write_day, whole_ledger, assert_same
):
    cases, ledger, commits = tmp_path / "cases", tmp_path / "ledger", tmp_path / "checkpoint" / "commits"
    for day in range(1, 6):
        write_day(cases, day)
    stream("2", point)
    written = sorted(path.name for path in ledger.glob("batch-*"))
    assert len(written) == (2 if point == "before" else 3)
    assert not (commits / "2").exists()  # Spark must repeat the batch.
    stream()
    stream()  # Nothing is left to read.
    assert len(list(ledger.iterdir())) == 5
    found = recipe(examples / "spark_streaming" / "fill_ledger.py").read_ledger(ledger)
    assert found.n == 15_000
    assert_same(found, whole_ledger(cases, cells=256))
