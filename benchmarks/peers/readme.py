"""Generate the comparison with other packages in the README from the records, so that no figure is typed by hand.

Run: python benchmarks/peers/readme.py, after the other scripts. It rewrites the section in README.md.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
HEADING = "## Comparison with other packages"
BEFORE = "## Where it runs"  # The section goes in front of this one.
YES, NO = "\N{CHECK MARK}", "\N{EN DASH}"
ABOUT = (
    "Other packages cover parts of this. The scripts in `benchmarks/peers` look up in the source of each package "
    "what it offers, and measure how it handles bad input, its speed and its memory. They also write this section:"
)
AFTER = (
    "All tables, with versions, machine and date, are on the page [Comparison with other packages](docs/peers.md) of "
    "the documentation."
)
FIGURES = ("peers_speed", "peers_memory", "peers_imports", "peers_installs")
RESULTS = ROOT / "quality" / "results"


def record(name: str) -> dict[str, Any]:
    """Return a record."""
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def rows(table: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of a record's table by the names of their columns."""
    return [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]


def line(*cells: str) -> str:
    """Return a line of a table."""
    return f"| {' | '.join(cells)} |"


def table() -> list[str]:
    """Return the table: the features of each package, and how often it answers bad input with a wrong number."""
    probed = {row["package"]: row for row in rows(record("peers_bad_inputs")["tables"][0])}
    lines = [line("", *probed, "others"), line("---", *("---" for _ in probed), "---")]
    for row in rows(record("peers_abilities")["tables"][0]):
        able = ["propriety", *re.findall(r"(\S+) `", row["others"])]
        others = ", ".join(package for package in able if package not in probed)
        lines.append(line(row["feature"], *(YES if package in able else NO for package in probed), others or NO))
    silent = [f"{row['silent']} of {row['probes']} ({row['functions']})" for row in probed.values()]
    what = "Wrong numbers without a warning, of all probes with bad or unusual input (functions probed)"
    return [*lines, line(what, *silent, "not probed")]


def section() -> str:
    """Return the section, with the findings of the records that there are."""
    found = [record(name) for name in FIGURES if (RESULTS / f"{name}.json").exists()]
    findings = [f"- {each['title']}: {each['summary']}" for each in found]
    return "\n".join([HEADING, "", ABOUT, "", *table(), "", *findings, "", AFTER, ""])


def main() -> None:
    """Put the section in its place, instead of the one that is there."""
    path = ROOT / "README.md"
    text = path.read_text(encoding="utf-8")
    front, _, back = text.partition(BEFORE)
    path.write_text(f"{front.partition(HEADING)[0]}{section()}\n{BEFORE}{back}", encoding="utf-8")


if __name__ == "__main__":
    main()
