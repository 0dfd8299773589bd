"""Where the studies write their tables: rows as CSV in `results`, and how they were made beside them."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "quality"))
import record

RESULTS = Path(__file__).resolve().parent / "results"


def write_rows(name: str, rows: Sequence[Mapping[str, Any]], **how: Any) -> None:
    """Write a table with the command that runs, its commit, machine, versions and seed; see `record.write_rows`."""
    command = " ".join(["python", f"studies/{Path(sys.argv[0]).name}", *sys.argv[1:]])
    record.write_rows(RESULTS / f"{name}.csv", rows, command=command, **how)
