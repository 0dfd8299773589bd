"""The exact arithmetic beside these tests is found by its name; a script of `quality` uses it too."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
