"""Text files before their rows are read: how they are compressed, their separators and the names of their columns."""

from __future__ import annotations

import csv
import io
import string
from codecs import getincrementaldecoder
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from propriety.cli.inputs import check_columns, shown
from propriety.errors import InputValueError
from propriety.storage.files import pyarrow
from propriety.tables.frames import first_repeated

Compression: TypeAlias = Literal["none", "gzip", "zstd"]
DecimalSign: TypeAlias = Literal[".", ","]

LONGEST_LINE = 2**21  # Bytes.
FREE_TEXT = 2**30  # Bytes of text that any compressed file may contain.
MOST_EXPANSION = 500  # Largest ratio of the text to the file; for forecasts it is about ten.
BLOCK = 2**22
SEPARATORS = (",", ";", "\t", "|")
NAMED_SIGNS = {"tab": "\t", "\\t": "\t", "space": " "}
OPTIONS = {"nulls": "--null", "delimiter": "--delimiter", "decimal": "--decimal", "sheet": "--sheet"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How text or Excel files are written, as far as the user says so; the fields are named like the options."""

    nulls: Sequence[str] = ()
    delimiter: str | None = None
    decimal: DecimalSign | None = None
    sheet: str | None = None

    def given(self) -> list[str]:
        """Return the given options."""
        return [option for name, option in OPTIONS.items() if getattr(self, name)]

    def check_used(self, form: str, used: Sequence[str]) -> None:
        """Raise an error for an option that files of this form do not use."""
        for option in self.given():
            if option not in used:
                raise InputValueError(f"does not apply to {form} files", argument=option, hint="leave it out.")

    @property
    def separators(self) -> tuple[str, ...]:
        """The separators of fields that a header may have."""
        if self.delimiter is None:
            return SEPARATORS
        sign = NAMED_SIGNS.get(self.delimiter, self.delimiter)
        if len(sign) != 1 or sign.isalnum() or sign in '"+-\n\r':
            hint = "write one character, or tab or space."
            raise InputValueError("must be one sign", argument="--delimiter", got=self.delimiter, hint=hint)
        return (sign,)


class Head(NamedTuple):
    """The separator of a file, and the names of its columns; some may be empty."""

    separator: str
    names: tuple[str, ...]


def read_heads(files: Sequence[Path], form: Compression, separators: Sequence[str]) -> dict[Path, Head]:
    """Read the header of each file, whose separator is the one that it has most often, and check them."""
    heads: dict[Path, Head] = {}
    for path in files:
        _check_text(path, form)
        record = _beginning(path, form)
        found = [Head(sign, tuple(_first_record(record, sign))) for sign in separators]
        heads[path] = head = max(found, key=lambda each: len(each.names))
        check_columns(len(head.names))
        # pandas writes its index as a column without a name.
        twice = first_repeated(name for name in head.names if name)
        if twice is not None:
            law = f"columns must have distinct names; line 1 of {shown(path)} has {twice!r} twice"
            raise InputValueError(law, hint="rename one of them.")
        if head.separator != heads[files[0]].separator:
            law = f"files must have the same separator; {shown(files[0])} has {heads[files[0]].separator!r}"
            raise InputValueError(law, offender=f"{shown(path)} has {head.separator!r}")
    return heads


def names_in_queries(names: Sequence[str], used: Sequence[str] | None, where: str) -> list[str]:
    """Return names that differ not only in the case of letters, which DuckDB does not tell apart.

    Those that are used, or all if that is None, are kept; others get a sign more.

    Examples
    --------
    >>> names_in_queries(["y", "P", "p", ""], ["y", "p"], "line 1")
    ['y', 'P_', 'p', 'column3']
    """
    kept: dict[str, str] = {}
    for name in names:
        if name and (used is None or name in used) and (other := kept.setdefault(name.lower(), name)) != name:
            law = f"columns must have names that differ not only in the case of letters; {where} has"
            raise InputValueError(f"{law} {other!r} and {name!r}", hint="rename one of them.")
    found = []
    taken = {*kept, *(name.lower() for name in used or ())}  # No column stands in for one that is not there.
    for place, name in enumerate(names):
        own = name or f"column{place}"
        if kept.get(name.lower()) != name:
            while own.lower() in taken:
                own += "_"
        taken.add(own.lower())
        found.append(own)
    return found


def lines_before(path: Path, form: Compression, position: int) -> int:
    """Return the number of ends of lines before a byte of the text, in quotes or not."""
    feeds = returns = 0
    with _opened(path, form) as text:
        while position > 0 and (block := text.read(min(position, BLOCK))):
            position -= len(block)
            feeds += block.count(b"\n")
            returns += block.count(b"\r")
    return feeds or returns


def line_too_long() -> InputValueError:
    """Return the error for a line that is too long to be read."""
    law = f"lines of text must have at most {LONGEST_LINE // 2**20} MB; one is longer"
    return InputValueError(law, hint="look for a quote that is not closed, and for too many columns.")


def not_utf8(path: Path) -> InputValueError:
    """Return the error for text in another encoding."""
    law = f"text must be UTF-8; {shown(path)} is not"
    return InputValueError(law, hint="convert it, for example with iconv -t utf-8.")


def _check_text(path: Path, form: Compression) -> None:
    """Read a text without storing it; raise an error if it is not complete, too long, or has a line that is too long.

    Otherwise a small file could keep the program busy for hours. DuckDB would read what there is of a file that was
    cut, and leave out a line that is longer than its buffer.
    """
    length = without_end = 0
    try:
        with path.open("rb") as file, _decompressed(file, form) as text:
            while block := text.read(LONGEST_LINE):
                length += len(block)
                without_end = 0 if b"\n" in block or b"\r" in block else without_end + len(block)
                if without_end >= LONGEST_LINE:
                    raise line_too_long()
                if form != "none" and length > FREE_TEXT and length > MOST_EXPANSION * file.tell():
                    law = f"compressed text must be at most {MOST_EXPANSION} times as long as its file"
                    offender = f"that of {shown(path)} is longer"
                    raise InputValueError(law, offender=offender, hint="if you trust it, decompress it first.")
    except (pyarrow()[0].ArrowException, OSError) as error:
        if getattr(error, "errno", None) is not None:  # The file cannot be opened.
            raise
        law = f"{shown(path)} is not a complete {form} file"
        raise InputValueError(law, hint="compress or copy it again.") from error


def _beginning(path: Path, form: Compression) -> str:
    """Return as much of the text as the longest line has."""
    with _opened(path, form) as text:
        beginning = text.read(LONGEST_LINE + 1)
    try:
        # The last character may be cut.
        decoded = getincrementaldecoder("utf-8-sig")().decode(beginning, final=len(beginning) <= LONGEST_LINE)
    except UnicodeError as error:
        raise not_utf8(path) from error
    if len(beginning) > LONGEST_LINE and not {"\n", "\r"} & set(decoded):
        raise line_too_long()
    return decoded


def _first_record(text: str, separator: str) -> list[str]:
    try:
        record = next(csv.reader(io.StringIO(text, newline=""), delimiter=separator), [])
    except csv.Error:  # A field is longer than Python accepts.
        raise line_too_long() from None
    return [name.strip(string.whitespace) for name in record]


@contextmanager
def _opened(path: Path, form: Compression) -> Iterator[Any]:
    with path.open("rb") as file, _decompressed(file, form) as text:
        yield text


def _decompressed(file: Any, form: Compression) -> AbstractContextManager[Any]:
    pa, _ = pyarrow()
    return nullcontext(file) if form == "none" else pa.CompressedInputStream(pa.PythonFile(file), form)
