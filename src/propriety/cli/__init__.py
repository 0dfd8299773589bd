"""The command line; see `propriety --help`."""

from __future__ import annotations

import gc
import sys
from importlib.util import find_spec

NEEDED = ("click", "duckdb", "pyarrow", "rich")
COLLECT_AFTER = 100_000  # New objects, 700 to 2,000 by default.


def main() -> None:
    """Run the command line; its dependencies are the extra `cli`."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        sys.stderr.write(f'Error: The command line needs {", ".join(missing)}. Hint: pip install "propriety[cli]".\n')
        sys.exit(3)
    # A command makes many objects that live until its end, such as modules. Searching them for cycles takes 7% of
    # the time of a small report.
    gc.set_threshold(COLLECT_AFTER)
    try:
        from propriety.cli.program import run

        run()
    except KeyboardInterrupt:  # Before the program starts, or after it ends.
        sys.exit(130)
