"""The calls and the containers; tests are not a package, so that modules they share are found by their folder."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
