"""The command line; `propriety --help` says what it does."""

from __future__ import annotations

import sys
from importlib.util import find_spec

__all__ = ["main"]

NEEDED = ("click", "duckdb", "pyarrow", "rich")


def main() -> None:
    """Run the command line; what it needs beyond the package is the extra `cli`."""
    lacking = [name for name in NEEDED if find_spec(name) is None]
    if lacking:
        sys.stderr.write(f'Error: The command line needs {", ".join(lacking)}. Hint: pip install "propriety[cli]".\n')
        sys.exit(3)
    try:
        from propriety.cli.program import run

        run()
    except KeyboardInterrupt:  # Before the program has begun, or after it has ended.
        sys.exit(130)
