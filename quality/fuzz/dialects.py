"""Sound cases written in some dialect of CSV: the table that they make, or one line of error, never other numbers."""

from __future__ import annotations

import csv
import gzip
import io
import warnings
from typing import Any

from command_line import check_table, folder_of_its_own, run_command
from drawing import Drawing

__all__ = ["one"]

NAMES = ("p", "p q", 'a"b', "ä", "p,q", "=1+1", "P", "forecast", "\ufeffp", "p;q", "p\tq", "1", "y2")


def one(data: bytes) -> None:
    """Write cases in a dialect, and compare the table made of them."""
    drawing = Drawing(data)
    n = 1 + drawing.number(20)
    y = [drawing.number(1) for _ in range(n)]
    p = [drawing.probability() for _ in range(n)]
    name = drawing.choice(NAMES)
    columns: dict[str, list[Any]] = {"y": y, name: p}
    for place in range(drawing.number(2)):
        columns[f"x{place}"] = [_cell(drawing) for _ in range(n)]
    content = _written(drawing, columns)
    with folder_of_its_own() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (folder / "in.csv").write_bytes(content)
        result = run_command("condense", "in.csv", "--outcome", "y", "--forecast", f"m={_quoted(name)}", "-o", "out")
        if result.exit_code == 0:
            check_table("out", y, p, [1.0] * n)


def _quoted(name: str) -> str:
    """Return a name as an option takes it: with a comma in quotes."""
    return '"' + name.replace('"', '""') + '"' if "," in name or '"' in name else name


def _cell(drawing: Drawing) -> str:
    kind = drawing.number(3)
    return drawing.text() if kind else drawing.choice(["", '"', "a\nb", "a,b", ";", "#", "\\", "NULL", "0,5", " x "])


def _written(drawing: Drawing, columns: dict[str, list[Any]]) -> bytes:
    text = io.StringIO(newline="")
    escape = drawing.choice([None, None, None, "\\"])
    delimiter, quote = drawing.choice([",", ",", ";", "\t", "|", ":", " "]), drawing.choice(['"', '"', '"', "'"])
    if quote == "'":  # Two cells that are each a double quote would be a sound file of other cases.
        columns = {
            name: [cell.replace('"', "") if isinstance(cell, str) else cell for cell in own]
            for name, own in columns.items()
        }
    writer = csv.writer(
        text,
        delimiter=delimiter,
        quotechar=quote,
        quoting=drawing.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
        lineterminator=drawing.choice(["\n", "\n", "\r\n", "\r"]),
        doublequote=escape is None,
        escapechar=escape,
    )
    for _ in range(drawing.number(1) and drawing.number(2)):
        text.write(drawing.choice(["\n", "# a comment\n", "sep=,\n", " \n"]))
    digits = drawing.choice([repr, repr, lambda value: f"{value:.17g}", lambda value: f" {value!r}"])
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow([digits(value) if isinstance(value, float) else value for value in row])
    coded = text.getvalue()
    if drawing.number(3) == 3:
        coded = coded.rstrip("\r\n")
    found = coded.encode(
        drawing.choice(["utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16", "latin-1"]), errors="replace"
    )
    return gzip.compress(found, mtime=0) if drawing.number(7) == 7 else found
