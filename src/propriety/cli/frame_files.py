"""Rows with new columns, written to Parquet or CSV; CSV has the dialect of the files that were read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals as nw

from propriety.cli.texts import Layout
from propriety.cli.written_numbers import quoted, sql_text

if TYPE_CHECKING:
    import duckdb


def write_frame(frame: nw.LazyFrame[Any], added: Sequence[str], path: Path, layout: Layout | None) -> None:
    """Write a frame of DuckDB with some `added` columns of numbers; `layout` is that of CSV files, if these were read.

    Then columns that were read are written as the text that they had, and the added ones with its decimal sign.
    """
    relation: duckdb.DuckDBPyRelation = frame.to_native()
    if path.suffix.lower() == ".parquet":
        relation.write_parquet(str(path))
        return
    if layout is None:
        relation.write_csv(str(path))
        return
    head, decimal = layout.head, sql_text(layout.decimal)
    columns = {name: quoted(text) for name, text in layout.texts.items()}
    columns |= {name: f"replace(CAST({quoted(name)} AS VARCHAR), '.', {decimal})" for name in added}
    names = list(columns)
    if not any(sign in names[0] for sign in (head.separator, '"', "\n", "\r")):  # A mark within quotes is no mark.
        names[0] = head.mark + names[0]
    named = ", ".join(f"{sql} AS {quoted(name)}" for sql, name in zip(columns.values(), names, strict=True))
    form = f"FORMAT csv, HEADER, DELIMITER {sql_text(head.separator)}, NEW_LINE {sql_text(_escaped(head.newline))}"
    relation.project(named).query("cases", f"COPY cases TO {sql_text(str(path))} ({form})")


def _escaped(newline: str) -> str:
    r"""Return the end of a line as DuckDB takes it.

    Examples
    --------
    >>> print(_escaped("\r\n"))
    \r\n
    """
    return newline.replace("\r", "\\r").replace("\n", "\\n")
