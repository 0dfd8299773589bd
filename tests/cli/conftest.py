"""Cases in files, and a program to run on them; the module beside the tests is found by its name."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from shell import columns, folder, refusal, run  # noqa: F401
