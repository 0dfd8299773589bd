"""How records were made, in words: when, by which command, from which commit and on which machine."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

NOT_RECORDED = "commit not recorded"


def study_tables(folder: Path) -> dict[str, Any]:
    """Return the table of the tables in a folder: when, by which command and from which commit each was made."""
    rows = []
    for path in sorted(folder.glob("*.csv")):
        beside = path.with_suffix(".json")
        how = json.loads(beside.read_text(encoding="utf-8")) if beside.exists() else {}
        seed = how.get("seed")
        rows.append(
            [f"`{path.name}`", f"`{how['command']}`" if how else "", how.get("date"), commit_of(how), seed, where(how)]
        )
    columns = ["table", "command", "date", "commit", "seed", "machine"]
    return {"caption": "How the tables were made", "columns": columns, "rows": rows}


def made(how: Mapping[str, Any]) -> str:
    """Return the sentences that say how a record was made, and from when its other rows are."""
    versions = ", ".join(f"{library} {version}" for library, version in how["versions"].items())
    seed = "" if how.get("seed") is None else f"; seed {how['seed']}"
    text = f"Generated on {how['date']} by `{how['command']}` ({commit_of(how)}{seed}) on {where(how)}; {versions}."
    runs = [f"{one['date']} ({commit_of(one)})" if one else NOT_RECORDED for one in how.get("earlier", ())]
    return f"{text} Some rows are of earlier runs: {', '.join(runs)}." if runs else text


def commit_of(how: Mapping[str, Any]) -> str:
    """Return the commit that a record was made from, as far as it holds it."""
    if not how.get("commit"):
        return NOT_RECORDED
    return f"commit `{how['commit'][:10]}`{' with uncommitted changes' if how['uncommitted_changes'] else ''}"


def where(how: Mapping[str, Any]) -> str:
    """Return the machine that a record was made on, and its version of Python."""
    machine = how.get("machine")
    if isinstance(machine, Mapping):
        parts = [machine["system"], f"{machine['cores']} cores of {machine['processor']}"]
        parts += [] if machine["memory"] is None else [f"{machine['memory']:g} GB"]
        machine = ", ".join(parts)
    return f"{machine}, Python {how['python']}" if machine else ""
