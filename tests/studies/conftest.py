"""The function that loads a study is found by its name, and so is what studies share."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2] / "studies")]
