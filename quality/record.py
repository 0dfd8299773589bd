"""A record of a long-running check, from which the quality page of the docs is generated.

Every check that takes too long for CI writes one as JSON in `quality/results`, with the command that reproduces it.
"""

from __future__ import annotations

import datetime as dt
import importlib.metadata
import json
import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ["RESULTS", "earlier", "table", "write"]

RESULTS = Path(__file__).resolve().parent / "results"


def earlier(name: str) -> list[dict[str, Any]]:
    """Return the rows of the first table of a record by the names of their columns: none if there is no record yet."""
    path = RESULTS / f"{name}.json"
    if not path.exists():
        return []
    last = json.loads(path.read_text(encoding="utf-8"))["tables"][0]
    return [dict(zip(last["columns"], row, strict=True)) for row in last["rows"]]


def table(caption: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Make a table of a record: rows by the names of their columns, which are those of the first."""
    columns = list(rows[0]) if rows else []
    return {"caption": caption, "columns": columns, "rows": [[row[name] for name in columns] for row in rows]}


def write(
    name: str,
    *,
    title: str,
    summary: str,
    command: str,
    tables: Sequence[Mapping[str, Any]],
    libraries: Sequence[str] = ("propriety", "numpy", "scipy", "narwhals"),
    notes: Sequence[str] = (),
) -> Path:
    """Write a record: `summary` is its finding in a sentence or two, `command` what was run to make it."""
    record = {
        "title": title,
        "summary": summary,
        "tables": list(tables),
        "notes": list(notes),
        "made": {
            "date": dt.datetime.now(tz=dt.UTC).date().isoformat(),
            "command": command,
            "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
            "python": platform.python_version(),
            "versions": {library: importlib.metadata.version(library) for library in libraries},
        },
    }
    path = RESULTS / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path
