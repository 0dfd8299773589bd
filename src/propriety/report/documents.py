"""The tables of a report with their captions, for LaTeX and Word."""

from __future__ import annotations

import io
from collections.abc import Iterator
from importlib.util import find_spec
from os import PathLike
from typing import Any

from propriety.errors import MissingDependencyError
from propriety.evaluation.evaluation import Evaluation
from propriety.report.cells import cells_of
from propriety.report.evaluation import page_of
from propriety.report.figures import without_pictures
from propriety.report.labels import steady
from propriety.report.page import Table
from propriety.storage.files import write_whole

# Characters with a meaning in LaTeX, and those that old engines do not have.
ESCAPED = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        "$": r"\$",
        "&": r"\&",
        "#": r"\#",
        "%": r"\%",
        "_": r"\_",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "|": r"\textbar{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "\N{MINUS SIGN}": "$-$",
        "\N{EN DASH}": "--",
        "\N{INFINITY}": r"$\infty$",
        "\N{RIGHTWARDS ARROW}": r"$\to$",
        "\N{NO-BREAK SPACE}": "~",
    }
)


def tables_of(evaluation: Evaluation) -> Iterator[Table]:
    """Yield the tables of the report in order."""
    with without_pictures():
        sections = page_of(evaluation).sections
    for section in sections:
        yield from (item for item in section.items if isinstance(item, Table))


def latex_of(evaluation: Evaluation) -> str:
    """Return the tables of the report as LaTeX."""
    return "\n".join(latex_table(table) for table in tables_of(evaluation))


def latex_table(table: Table) -> str:
    r"""Return a table with its caption and note; text is escaped.

    Examples
    --------
    >>> print(latex_table(Table(title="100% of A_1", columns={"model": ["a&b"], "score": [0.25]}, note="n < 10")))
    \begin{table}
    \caption{100\% of A\_1}
    \begin{tabular}{lr}
    \toprule
    model & score \\
    \midrule
    a\&b & 0.2500 \\
    \bottomrule
    \end{tabular}
    \par\smallskip\footnotesize n \textless{} 10
    \end{table}
    <BLANKLINE>
    """
    head, rows, numeric = _texts(table)
    lines = [
        r"\begin{table}",
        rf"\caption{{{_escaped(table.title)}}}",
        rf"\begin{{tabular}}{{{''.join('r' if one else 'l' for one in numeric)}}}",
        r"\toprule",
        _row(head),
        r"\midrule",
        *map(_row, rows),
        r"\bottomrule",
        r"\end{tabular}",
        *([rf"\par\smallskip\footnotesize {_escaped(table.note)}"] if table.note else []),
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def write_word(evaluation: Evaluation, path: str | PathLike[str]) -> None:
    """Write the tables of the report to a Word file; needs python-docx."""
    if find_spec("docx") is None:
        raise MissingDependencyError("A Word file needs python-docx", hint='pip install "propriety[word]".')
    from docx import Document

    document: Any = Document()
    for number, table in enumerate(tables_of(evaluation), start=1):
        head, rows, _ = _texts(table)
        document.add_paragraph(f"Table {number}. {_writable(table.title)}", style="Caption")
        grid = document.add_table(rows=1, cols=len(head), style="Light List")
        for cell, text in zip(grid.rows[0].cells, head, strict=True):
            cell.text = _writable(text)
        for row in rows:
            for cell, text in zip(grid.add_row().cells, row, strict=True):
                cell.text = _writable(text)
        document.add_paragraph(_writable(table.note))
    made = io.BytesIO()
    document.save(made)
    write_whole(path, made.getvalue())


def _texts(table: Table) -> tuple[list[str], list[list[str]], list[bool]]:
    """Return the head and the rows of a table as texts, with intervals in brackets, and which columns are numbers."""
    written = {name: cells_of(column) for name, column in table.columns.items()}
    columns = [
        [f"{cell.text} ({cell.aside})" if cell.aside else cell.text for cell in cells] for _, cells in written.values()
    ]
    return (
        list(written),
        [list(row) for row in zip(*columns, strict=True)],
        [numeric for numeric, _ in written.values()],
    )


def _row(texts: list[str]) -> str:
    """Return a row; one that starts with [ or * would be read as an argument of the command before it."""
    row = " & ".join(map(_escaped, texts)) + r" \\"
    return f"{{}}{row}" if row.startswith(("[", "*")) else row


def _escaped(text: str) -> str:
    return " ".join(_writable(text).split()).translate(ESCAPED)


def _writable(text: str) -> str:
    """Return text without the control characters that XML does not allow."""
    return "".join(letter for letter in steady(text) if letter.isprintable() or letter in "\n\t")
