"""The functions that read figures, beside these tests are found by their name."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
