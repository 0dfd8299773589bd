"""The function that loads a study is found by its name."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
