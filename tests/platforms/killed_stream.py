"""Run the streaming recipe, and stop at a point of one batch, where the test kills the job.

Usage: killed_stream.py RECIPE CASES LEDGER CHECKPOINT MARK [BATCH before|after]
"""

import importlib.util
import sys
import time
from pathlib import Path

spec = importlib.util.spec_from_file_location("fill_ledger", sys.argv[1])
recipe = importlib.util.module_from_spec(spec)
spec.loader.exec_module(recipe)
mark, (stop, point) = Path(sys.argv[5]), sys.argv[6:] or ("-1", "")


def add(batch, number, ledger):
    """Add a batch, and wait before the ledger is written or before Spark commits the batch."""
    if number == int(stop) and point == "before":
        wait()
    recipe.add_batch(batch, number, ledger)
    if number == int(stop):
        wait()


def wait():
    """Tell the test that the point is reached."""
    mark.touch()
    time.sleep(600)


recipe.main(*sys.argv[2:5], add=add)
