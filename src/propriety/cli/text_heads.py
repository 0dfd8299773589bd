"""CSV files: their separators and headers, and the line that cannot be read."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from propriety.cli.inputs import shown
from propriety.errors import InputValueError
from propriety.storage.parquet_files import pyarrow
from propriety.tables.frames import first_repeated

Compression: TypeAlias = Literal["none", "gzip", "zstd"]

LINE = 2**21  # Bytes of the longest line.
SEPARATORS = (",", ";", "\t", "|")
LETTERS = 60  # Of a line in an error message.
MARK = "\ufeff"  # The byte order mark.


@dataclass(frozen=True, slots=True)
class Head:
    """The separator of a file, the names of its columns, and how its text begins and its lines end."""

    separator: str
    names: tuple[str, ...]
    mark: str = ""
    newline: str = "\n"


def read_heads(files: Sequence[Path], form: Compression, separator: str | None = None) -> dict[Path, Head]:
    """Read the header of each file, whose names must be distinct; return nothing if a file cannot be read."""
    separators = SEPARATORS if separator is None else (separator,)
    heads = {path: _read_head(path, form, separators) for path in files}
    known = {path: head for path, head in heads.items() if head is not None}
    first = next(iter(known), files[0])
    for path, head in known.items():
        # pandas writes its index as a column without a name.
        twice = first_repeated(name for name in head.names if name)
        if twice is not None:
            law = f"columns must have distinct names; line 1 of {shown(path)} has {twice!r} twice"
            raise InputValueError(law, hint="rename one of them.")
        if head.separator != known[first].separator:
            law = f"files must have the same separator; {shown(first)} has {known[first].separator!r}"
            raise InputValueError(law, offender=f"{shown(path)} has {head.separator!r}")
    return known if len(known) == len(heads) else {}


def line_too_long() -> InputValueError:
    """Return the error for a line that is too long to be read."""
    law = f"lines of text must have at most {LINE // 2**20} MB; one is longer"
    return InputValueError(law, hint="look for a quote that is not closed, and for too many columns.")


def ragged_line(path: Path, form: Compression, head: Head) -> InputValueError | None:
    """Return the error for the first line with more or fewer fields than the header, or None."""
    width = len(head.names)
    for line, fields in _records(path, form, head):
        if not fields or len(fields) == width:  # An empty line is skipped.
            continue
        law = "every line must have a field for each column"
        where = f"line {line:,} of {shown(path)} has {_count(len(fields))} and the header {width:,}"
        if len(fields) < width:
            return InputValueError(law, offender=f"{where}: it ends before {head.names[len(fields)]!r}")
        hint = f"put a field that contains {head.separator!r} in double quotes."
        return InputValueError(law, offender=f"{where}: it is {_cut(fields)!r}", hint=hint)
    return None


def first_offender(
    path: Path, form: Compression, head: Head, column: str, is_valid: Callable[[str], bool]
) -> tuple[int, str] | None:
    """Return the line and the text of the first invalid field of a column."""
    if column not in head.names:
        return None
    place = head.names.index(column)
    for line, fields in _records(path, form, head):
        if len(fields) > place and not is_valid(fields[place]):
            return line, fields[place]
    return None


def _read_head(path: Path, form: Compression, separators: Sequence[str]) -> Head | None:
    pa, _ = pyarrow()
    try:
        with _opened(path, form, "utf-8") as text:
            beginning = text.read(LINE + 1)
    except UnicodeError as error:
        law = f"text must be UTF-8; {shown(path)} is not"
        raise InputValueError(law, hint="convert it, for example with iconv -t utf-8.") from error
    except (pa.ArrowException, OSError):
        return None  # The reader of the cases reports a broken file.
    if len(beginning) > LINE and "\n" not in beginning and "\r" not in beginning:
        raise line_too_long()
    mark = MARK if beginning.startswith(MARK) else ""
    beginning = beginning.removeprefix(MARK)
    newline = "\r\n" if beginning[: beginning.find("\n") + 1].endswith("\r\n") else "\n"
    candidates = [Head(sign, tuple(_first_record(beginning, sign)), mark, newline) for sign in separators]
    return max(candidates, key=lambda head: len(head.names))


def _first_record(text: str, separator: str) -> list[str]:
    try:
        return next(csv.reader(io.StringIO(text, newline=""), delimiter=separator), [])
    except csv.Error:  # A field is longer than Python accepts.
        raise line_too_long() from None


def _records(path: Path, form: Compression, head: Head) -> Iterator[tuple[int, list[str]]]:
    """Yield the fields of each record after the header, with the number of its last line."""
    before, start = csv.field_size_limit(LINE), 1
    try:
        with _opened(path, form) as text:
            reader = csv.reader(text, delimiter=head.separator, strict=True)
            next(reader, None)
            start = reader.line_num + 1
            for fields in reader:
                yield reader.line_num, fields
                start = reader.line_num + 1
    except csv.Error as error:
        if "limit" in str(error):
            raise line_too_long() from None
        law = (
            f"quotes must be closed, and doubled within a field; one at or after line {start:,} of {shown(path)} is not"
        )
        raise InputValueError(law) from error
    finally:
        csv.field_size_limit(before)


@contextmanager
def _opened(path: Path, form: Compression, encoding: str = "utf-8-sig") -> Iterator[io.TextIOWrapper]:
    pa, _ = pyarrow()
    with path.open("rb") as file:
        stream: Any = file if form == "none" else pa.CompressedInputStream(pa.PythonFile(file), form)
        yield io.TextIOWrapper(stream, encoding=encoding, newline="")


def _count(fields: int) -> str:
    return "1 field" if fields == 1 else f"{fields:,} fields"


def _cut(fields: Sequence[str]) -> str:
    line = ",".join(fields)
    return line if len(line) <= LETTERS else f"{line[:LETTERS]}..."
