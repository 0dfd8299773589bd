"""Cases in a sheet of an Excel file, whose first row has the names of the columns."""

from __future__ import annotations

import datetime as dt
import re
import zipfile
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any
from xml.parsers import expat  # nosec B407  (documents that declare entities are refused)

from propriety.cli.inputs import check_columns, shown
from propriety.cli.texts import MOST_WORDS, PATTERNS
from propriety.errors import InputValueError, MissingDependencyError
from propriety.storage.files import pyarrow
from propriety.tables.frames import first_repeated
from propriety.tables.keys import MOST_LABELS

MOST_CONTENT = 2**30  # Bytes of the decompressed content of a file.
MOST_CELLS = 20_000_000  # Of the rectangle that holds all cells, empty ones too, which fill the memory alike.
LARGEST = 2.0**63  # Integers below it have 64 bits.
BLOCK = 2**20
SHEET_DATA = b"sheetData"  # The element with the cells.
CELL = re.compile(r"([A-Za-z]{1,7})([0-9]{1,9})")


def read_sheets(
    files: Sequence[Path], *, sheet: str | None, nulls: Sequence[str], numbers: Sequence[str], cut: Sequence[str]
) -> Any:
    """Return the rows of a sheet of each file as one Arrow table; the columns `numbers` must contain numbers.

    So must the columns `cut`, whose numbers are divided into parts, if only a few words in them are not numbers.
    """
    pa, _ = pyarrow()
    found = [_columns(path, sheet, nulls, numbers, cut) for path in files]
    columns: dict[str, list[Any]] = {name: [] for own in found for name in own}
    for own in found:
        height = max(map(len, own.values()), default=0)
        for name in columns:
            columns[name] += own.get(name, [None] * height)
    return pa.table({name: _plain(cells) for name, cells in columns.items()})


def _columns(
    path: Path, sheet: str | None, nulls: Sequence[str], numbers: Sequence[str], cut: Sequence[str]
) -> dict[str, list[Any]]:
    head, *rows = _rows(path, sheet)
    names = [str(_whole(cell)).strip() for cell in head]
    twice = first_repeated(name for name in names if name)
    if twice is not None:
        law = f"columns must have distinct names; row 1 of {shown(path)} has {twice!r} twice"
        raise InputValueError(law, hint="rename one of them.")
    check_columns(len(names))
    absent = {"", *nulls, *(float(text) for text in nulls if re.fullmatch(PATTERNS["."], text, re.ASCII))}
    columns = {}
    for place, name in enumerate(names):
        if name:
            # A truth value would equal 0 or 1.
            cells = [None if row[place] in absent and not isinstance(row[place], bool) else row[place] for row in rows]
            if name in numbers or (name in cut and _nearly_numbers(cells)):
                _check_numbers(cells, name, place, path)
            columns[name] = cells
    return columns


def _rows(path: Path, sheet: str | None) -> list[list[Any]]:
    try:
        import python_calamine as calamine
    except ImportError as error:
        law, hint = "Excel files need python-calamine", 'pip install "propriety[excel]", or save the sheet as CSV.'
        raise MissingDependencyError(law, hint=hint) from error
    _check_extents(path)
    try:
        # As a file without a name, whose format is told by its content.
        with path.open("rb") as file, calamine.load_workbook(file) as book:
            names = book.sheet_names
            if sheet is not None and sheet not in names:
                hint = f"its sheets are {', '.join(names)}."
                raise InputValueError(f"must name a sheet of {shown(path)}", argument="--sheet", got=sheet, hint=hint)
            rows = book.get_sheet_by_name(names[0] if sheet is None else sheet).to_python(skip_empty_area=False)
    except calamine.CalamineError as error:
        raise InputValueError(f"{shown(path)} cannot be read; {error}") from error
    while rows and all(cell == "" for cell in rows[-1]):
        rows.pop()
    if not rows:
        raise InputValueError(f"the sheet of {shown(path)} is empty", hint="--sheet names another one.")
    return list(rows)


def _check_extents(path: Path) -> None:
    """Raise an error for a small file that would fill the memory, before its cells are loaded."""
    problem = f"{shown(path)} is not a complete Excel file"
    try:
        with zipfile.ZipFile(path) as packed:
            members = packed.infolist()
            if sum(member.file_size for member in members) > MOST_CONTENT:
                law = f"Excel files must have at most {MOST_CONTENT // 2**20:,} MB of content; {shown(path)} has more"
                raise InputValueError(law, hint="save the sheet as CSV or Parquet.")
            for member in members:
                with packed.open(member) as document:
                    is_sheet = _holds(document, SHEET_DATA)
                if is_sheet:
                    with packed.open(member) as document:
                        _Extent(path).read(document)
    except (zipfile.BadZipFile, expat.ExpatError, NotImplementedError, RuntimeError, EOFError) as error:
        raise InputValueError(problem) from error


def _holds(document: Any, word: bytes) -> bool:
    """Return whether a word occurs in a document."""
    before = b""
    while block := document.read(BLOCK):
        if word in before + block:
            return True
        before = block[-len(word) :]
    return False


class _Extent:
    """The rectangle from the first cell of a sheet to the last one that is filled."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.row = self.column = self.rows = self.columns = 0

    def read(self, document: Any) -> None:
        """Read the places of the cells; raise an error if there are too many within."""
        parser = expat.ParserCreate()
        parser.StartElementHandler = self._start
        parser.StartDoctypeDeclHandler = self._refuse_entities
        parser.ParseFile(document)

    def _start(self, element: str, attributes: dict[str, str]) -> None:
        name = element if ":" not in element else element.rpartition(":")[2]
        if name == "c":
            place = CELL.fullmatch(attributes.get("r", ""))
            if place is None:
                self.column += 1
            else:
                self.column, self.row = column_number(place[1]), int(place[2])
        elif name == "row":
            given = attributes.get("r", "")
            self.row, self.column = int(given) if given.isdecimal() else self.row + 1, 0
        elif name in ("v", "is"):  # Cells that are only formatted are not loaded.
            if self.row <= self.rows and self.column <= self.columns:
                return
            self.rows, self.columns = max(self.rows, self.row), max(self.columns, self.column)
            if self.rows * self.columns > MOST_CELLS:
                cell = f"{letters(self.columns - 1)}{self.rows}"
                law = f"sheets must have at most {MOST_CELLS:,} cells; one of {shown(self.path)} reaches {cell}"
                raise InputValueError(law, hint="delete what is far from the cases, or save the sheet as CSV.")

    def _refuse_entities(self, *_: object) -> None:
        raise InputValueError(f"{shown(self.path)} is not an Excel file; it declares entities of XML")


def _check_numbers(cells: Sequence[Any], name: str, place: int, path: Path) -> None:
    for row, cell in enumerate(cells, 2):
        if cell is not None and (isinstance(cell, bool) or not isinstance(cell, int | float)):
            law = f"column {name!r} must contain numbers; cell {letters(place)}{row} of {shown(path)} has {str(cell)!r}"
            hint = "turn text into numbers in the sheet; --null names text that means a missing value."
            raise InputValueError(law, hint=hint)


def _nearly_numbers(cells: Sequence[Any]) -> bool:
    """Whether all cells but a few words are numbers, and too many different ones to be labels."""
    filled = [cell for cell in cells if cell is not None]
    found = [cell for cell in filled if isinstance(cell, int | float) and not isinstance(cell, bool)]
    words = {str(cell) for cell in filled if isinstance(cell, bool) or not isinstance(cell, int | float)}
    return 2 * len(found) > len(filled) and len(set(found)) > MOST_LABELS and len(words) <= MOST_WORDS


def _plain(cells: Sequence[Any]) -> list[Any]:
    """Return values of one type; whole numbers are integers, and a mixture is text."""
    whole = [_whole(cell) for cell in cells]
    kinds = {type(cell) for cell in whole if cell is not None}
    if kinds <= {int, float}:
        return whole if kinds == {int} else [None if cell is None else float(cell) for cell in whole]
    if kinds == {dt.date, dt.datetime}:
        return [cell if cell is None or isinstance(cell, dt.datetime) else _midnight(cell) for cell in cells]
    # DuckDB would show a duration as months, days and nanoseconds.
    is_plain = len(kinds) == 1 and kinds != {dt.timedelta}
    return whole if is_plain else [None if cell is None else str(cell) for cell in whole]


def _whole(cell: Any) -> Any:
    """Return a whole number as an integer, unless it is too large for one."""
    return int(cell) if isinstance(cell, float) and cell.is_integer() and abs(cell) < LARGEST else cell


def _midnight(day: dt.date) -> dt.datetime:
    return dt.datetime.combine(day, dt.time())


def letters(place: int) -> str:
    """Return the letters of a column, as a sheet shows them.

    Examples
    --------
    >>> letters(0), letters(25), letters(26), letters(702)
    ('A', 'Z', 'AA', 'AAA')
    """
    written = ""
    place += 1
    while place:
        place, rest = divmod(place - 1, 26)
        written = chr(ord("A") + rest) + written
    return written


@lru_cache(maxsize=16_384)
def column_number(written: str) -> int:
    """Return the number of a column from 1.

    Examples
    --------
    >>> column_number("A"), column_number("AA"), column_number("XFD")
    (1, 27, 16384)
    """
    number = 0
    for letter in written.upper():
        number = 26 * number + ord(letter) - ord("A") + 1
    return number
