"""Sections of pages that are generated at every build from the records of long-running checks and of studies.

The directive `record` takes the name of a record in `quality/results` and makes a section: the content of the
directive, then the summary, the tables and the command of the record. If there is no record, the section says so.
The directive `study-tables` makes a table of the tables in `studies/results`, with how each of them was made.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from docutils import nodes
from record_words import made, study_tables
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "quality" / "results"
STUDIES = ROOT / "studies" / "results"
NUMBER = re.compile(r"[<>]? ?-?[\d,.]+(e[-+]?\d+)?( ?(%|ms|s|MB|GB|\N{MULTIPLICATION SIGN}))?")
LONG = 30  # Rows from which on a table is collapsed.
WIDE = 8  # Columns from which on a table is set smaller.
TO_RIGHT, UNBROKEN, SMALL = "text-end", "text-nowrap", ("table-sm", "small")  # Classes of the theme.


class Record(SphinxDirective):
    """The directive: a section with what one record says."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the section, which is read again when the record changes."""
        (name,) = self.arguments
        path = RESULTS / f"{name}.json"
        self.env.note_dependency(str(path))
        found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
        section = section_of(name, found, about=self.parse_content_to_nodes())
        self.state.document.note_explicit_target(section, section)
        return [section]


def section_of(name: str, found: Mapping[str, Any] | None, about: Sequence[nodes.Node] = ()) -> nodes.section:
    """Return the section of a record, or one that says that there is none."""
    title = found["title"] if found else name.replace("_", " ").capitalize()
    section = nodes.section(ids=[f"record-{nodes.make_id(name)}"], names=[f"record-{name}"])
    section += [nodes.title(title, "", *inline(title)), *about]
    if found is None:
        section += nodes.paragraph("", "This check has not been run yet.")
        return section
    section += paragraph(found["summary"])
    for each in found["tables"]:
        section += folded(each) if len(each["rows"]) > LONG else [table_of(each)] if each["rows"] else []
    if found["notes"]:
        items = [nodes.list_item("", paragraph(note)) for note in found["notes"]]
        section += nodes.bullet_list("", *items)
    section += paragraph(made(found["made"]), classes=["small"])
    return section


class StudyTables(SphinxDirective):
    """The directive: which commit each table of the studies comes from."""

    def run(self) -> list[nodes.Node]:
        """Return the table, which is made again when the tables change."""
        for path in (STUDIES, *STUDIES.glob("*.json")):
            self.env.note_dependency(str(path))
        return [table_of(study_tables(STUDIES))]


def table_of(given: Mapping[str, Any]) -> nodes.table:
    """Return a table with its caption, numbers to the right."""
    columns, rows = given["columns"], given["rows"]
    right = [is_number([row[place] for row in rows]) for place in range(len(columns))]
    group = nodes.tgroup("", *(nodes.colspec(colwidth=1) for _ in columns), cols=len(columns))
    group += nodes.thead("", row_of(columns, [[TO_RIGHT] if each else [] for each in right]))
    group += nodes.tbody("", *(row_of(row, [[TO_RIGHT, UNBROKEN] if each else [] for each in right]) for row in rows))
    caption = nodes.title("", "", *inline(given["caption"]), classes=["text-start"])
    return nodes.table("", caption, group, classes=list(SMALL) if len(columns) >= WIDE else [])


def folded(given: Mapping[str, Any]) -> list[nodes.Node]:
    """Return a table that opens when its caption is clicked."""
    caption = f"{html.escape(given['caption'].replace('`', ''))} ({len(given['rows'])} rows)"
    before = f'<details class="sd-mb-3"><summary>{caption}</summary>'
    bare = table_of(given)
    del bare[0]
    return [nodes.raw("", before, format="html"), bare, nodes.raw("", "</details>", format="html")]


def row_of(cells: Sequence[Any], classes: Sequence[list[str]]) -> nodes.row:
    """Return a row of a table, its cells with their classes."""
    entries = [
        nodes.entry("", paragraph(text_of(cell)), classes=each) for cell, each in zip(cells, classes, strict=True)
    ]
    return nodes.row("", *entries)


def is_number(cells: Sequence[Any]) -> bool:
    """Return whether nearly all of a column's cells are numbers, with or without a unit."""
    texts = [text for text in map(text_of, cells) if text]
    return sum(bool(NUMBER.fullmatch(text)) for text in texts) > 0.8 * len(texts)


def text_of(cell: Any) -> str:
    """Return the text of a cell: numbers with four digits, and thousands apart."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, int):
        return f"{cell:,}"
    return f"{cell:,.4g}" if isinstance(cell, float) else str(cell)


def paragraph(text: str, **attributes: Any) -> nodes.paragraph:
    """Return a paragraph in which quotes stay as they are, because much of it is code."""
    return nodes.paragraph("", "", *inline(text), support_smartquotes=False, **attributes)


def inline(text: str) -> list[nodes.Node]:
    """Return text with what stands between backticks as code."""
    parts = text.split("`")
    return [nodes.literal(part, part) if place % 2 else nodes.Text(part) for place, part in enumerate(parts) if part]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("record", Record)
    app.add_directive("study-tables", StudyTables)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
