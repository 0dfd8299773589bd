"""Records of long-running checks, benchmarks and studies: their tables, and how and where they were made.

Every check that takes too long for CI writes one as JSON in `quality/results`, from which pages of the documentation
are generated. A study writes its table as CSV, and how it was made beside it.
"""

from __future__ import annotations

import csv
import datetime as dt
import importlib.metadata
import json
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "quality" / "results"
LIBRARIES = ("propriety", "numpy", "scipy", "narwhals")
IN_THE_SCRIPT = "fixed in the script"  # The seed of a simulation that takes none as an argument.


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
    libraries: Sequence[str] = LIBRARIES,
    notes: Sequence[str] = (),
    seed: int | str | None = None,
    keeps_rows: bool = False,
) -> Path:
    """Write a record.

    `summary` is its finding in a sentence or two, and `command` what was run to make it. Where `keeps_rows`, rows of
    the earlier record may be among those of the tables, and if so, how they were made is kept too.
    """
    path = RESULTS / f"{name}.json"
    last = json.loads(path.read_text(encoding="utf-8")) if keeps_rows and path.exists() else {"tables": []}
    rows = [row for one in last["tables"] for row in one["rows"]]
    before = last["made"] if any(row in rows for one in tables for row in one["rows"]) else None
    record = {
        "title": title,
        "summary": summary,
        "tables": list(tables),
        "notes": list(notes),
        "made": provenance(command, seed=seed, libraries=libraries, before=before),
    }
    path.parent.mkdir(exist_ok=True)
    _write_json(path, record)
    return path


def write_rows(
    path: Path,
    rows: Sequence[Mapping[str, Any]],
    *,
    command: str,
    columns: Sequence[str] | None = None,
    libraries: Sequence[str] = LIBRARIES,
    seed: int | str | None = IN_THE_SCRIPT,
    keeps_rows: bool = False,
) -> None:
    """Write a table as CSV, and beside it, as JSON of the same name, how it was made."""
    beside = path.with_suffix(".json")
    before: dict[str, Any] | None = {} if keeps_rows and path.exists() else None
    if before is not None and beside.exists():
        before = json.loads(beside.read_text(encoding="utf-8"))
    path.parent.mkdir(exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0] if columns is None else columns), restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    _write_json(beside, provenance(command, seed=seed, libraries=libraries, before=before))


def provenance(
    command: str,
    *,
    seed: int | str | None = None,
    libraries: Sequence[str] = LIBRARIES,
    before: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return how a record is made: when, by which command, from which commit, on which machine and with which versions.

    `before` is how the rows were made that the record keeps from an earlier run.
    """
    made: dict[str, Any] = {
        "date": dt.datetime.now(tz=dt.UTC).date().isoformat(),
        "command": command,
        **_commit(),
        "machine": _machine(),
        "python": platform.python_version(),
        "versions": {library: importlib.metadata.version(library) for library in libraries},
        "seed": seed,
    }
    if before is not None:
        last = {name: what for name, what in before.items() if name != "earlier"}
        # A run that writes its record more than once keeps no rows but those from before it began.
        kept = [*before.get("earlier", ()), *([] if last == made else [last])]
        made |= {"earlier": kept} if kept else {}
    return made


def _commit() -> dict[str, Any]:
    """Return the commit that is checked out, and whether files differ from it, but for records; None without Git."""
    others = (
        "--",
        ".",
        ":!quality/results",
        ":!studies/results",
        ":!benchmarks/arena/*.csv",
        ":!benchmarks/arena/*.json",
    )
    commit = _git("rev-parse", "HEAD")
    changed = _git("status", "--porcelain", *others)
    return {
        "commit": commit.strip() if commit else None,
        "uncommitted_changes": None if changed is None else bool(changed),
    }


def _git(*words: str) -> str | None:
    """Return what a command of Git prints: None where it fails or there is no Git."""
    try:
        done = subprocess.run(("git", *words), capture_output=True, text=True, check=True, cwd=ROOT)  # noqa: S603, S607
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout


def _machine() -> dict[str, Any]:
    """Return the system, the processor, its cores, and the memory in GB where the system tells it."""
    try:
        system = platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        system = f"{platform.system()} {platform.release()}"
    is_told = "SC_PHYS_PAGES" in getattr(os, "sysconf_names", {})
    size = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if is_told else None
    return {
        "system": system,
        "processor": f"{_processor()} ({platform.machine()})",
        "cores": os.cpu_count(),
        "memory": None if size is None else round(size / 1e9, 1),
    }


def _processor() -> str:
    """Return the name of the processor, which Python itself does not know on Linux."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor()


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
