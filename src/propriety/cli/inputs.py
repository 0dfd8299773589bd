"""The files that a command reads, found by name or glob or from the standard input, and their formats and footers."""

from __future__ import annotations

import glob
import os
import shutil
import struct
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TypeAlias

from propriety import demands
from propriety.cli.outputs import Identity, identity
from propriety.errors import InputValueError
from propriety.ledger.ledger_files import is_ledger
from propriety.storage.files import pyarrow

Format: TypeAlias = Literal["parquet", "arrow", "arrow stream", "csv", "gzip", "zstd", "excel"]

LARGEST = 2**26  # Bytes of a footer, of which there are several copies in memory.
MOST_ROWS = 10**6  # Per byte of a file, more than forecasts can have; DuckDB before 2.0 would try to read them all.
MOST_COLUMNS = 20_000  # The time to open a file is quadratic in their number.

STDIN = "-"
BEGINNINGS: dict[bytes, Format] = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"\xff\xff\xff\xff": "arrow stream",
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\x03\x04": "excel",
}
NAMED = {".parquet": "Parquet", ".pq": "Parquet", ".arrow": "Arrow", ".feather": "Arrow", ".xlsx": "Excel"}
LOOK = 4096
READABLE = "files must be Parquet, CSV, Arrow or Excel (.xlsx)"


@contextmanager
def found_files(names: Sequence[str]) -> Iterator[list[Path]]:
    """Yield the files of names, globs and "-", the standard input, which is copied to a temporary file."""
    with tempfile.TemporaryDirectory(prefix="propriety-") as folder:
        files: list[Path] = []
        seen: set[Identity] = set()
        for name in names:
            found = iter([_piped(Path(folder))]) if name == STDIN else _matches(name)
            files += _in_order(name, _once(found, seen))
        yield files


def format_of(path: Path) -> Format:
    """Return the format of a file by its first bytes; text must not have the name of another format."""
    with path.open("rb") as file:
        beginning = file.read(LOOK)
    for mark, form in BEGINNINGS.items():
        if beginning.startswith(mark):
            return form
    if not beginning:
        raise InputValueError(READABLE, offender=f"{shown(path)} is empty")
    # UTF-16 is text with zero bytes; its byte order mark identifies it.
    if b"\0" in beginning and not beginning.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputValueError(READABLE, offender=f"{shown(path)} is in another format")
    if (named := NAMED.get(path.suffix.lower())) is not None:
        # The first bytes of the other formats are unmistakable, but any text could be CSV.
        law = f"{shown(path)} must be {named}, as its name says; it is text"
        raise InputValueError(law, hint="write the file again, or name it .csv if it is CSV.")
    return "csv"


def are_ledgers(files: Sequence[Path]) -> bool:
    """Return whether the files are ledgers, which are folders, or cases; a mixture is an error."""
    ledgers = [path.is_dir() for path in files]
    if any(ledgers) and not all(ledgers):
        one, two = files[ledgers.index(True)], files[ledgers.index(False)]
        raise InputValueError(f"files must be of one kind; {shown(one)} is a ledger and {shown(two)} is not")
    return any(ledgers)


def _once(files: Iterator[Path], seen: set[Identity]) -> Iterator[Path]:
    """Raise an error if a file is named twice, even by different names, because its cases would count twice.

    Each file is checked as it is found, so that a glob through circular links ends.
    """
    for path in files:
        try:
            os.fspath(path).encode()
        except UnicodeEncodeError as error:
            raise InputValueError(f"file names must be UTF-8; got {os.fspath(path)!r}") from error
        if identity(path) in seen:
            raise InputValueError(f"each file must be named once; {shown(path)} is named again")
        seen.add(identity(path))
        yield path


def _matches(name: str) -> Iterator[Path]:
    """Yield the file of a name, or the files of a glob; an existing file is not read as a glob."""
    if not name:
        raise InputValueError("file names must not be empty")
    path = Path(name)
    if is_ledger(path):
        yield path
        return
    if path.is_dir():
        raise InputValueError(f"{name} is a folder, not a file", hint=f"name its files, such as '{path}/*.parquet'.")
    if path.exists() and not path.is_file():
        law = f"{name} must be a regular file"
        raise InputValueError(law, hint="pipe it to the standard input and write - for its name.")
    is_glob = glob.has_magic(name) and not path.is_file()
    found = glob.iglob(name, recursive=True) if is_glob else [name]  # noqa: PTH207  (absolute globs too)
    yield from (Path(one) for one in found if Path(one).is_file() or is_ledger(Path(one)))


def _in_order(name: str, found: Iterator[Path]) -> list[Path]:
    files = sorted(found, key=os.fspath)
    if not files:
        hint = "only local files are read; download it first, or use propriety from Python with your engine."
        raise InputValueError(f"there is no file {name!r}", hint=hint if "://" in name else "")
    return files


def _piped(folder: Path) -> Path:
    """Copy the standard input to a file, because it is read more than once."""
    if sys.stdin is None or sys.stdin.isatty():
        raise InputValueError("- reads the standard input, but nothing is piped in", hint="propriety ... - < file.csv")
    path = folder / "standard input"
    with path.open("wb") as kept:
        kept.write(sys.stdin.buffer.read(LOOK))
        kept.flush()
        format_of(path)  # An unreadable stream is not copied to its end, which it may not have.
        shutil.copyfileobj(sys.stdin.buffer, kept, 2**20)
    return path


def shown(path: Path) -> str:
    """Return the name of a file as the user knows it."""
    return path.name if path.name == "standard input" else str(path)


def checked_footer(path: Path, name: str) -> Any:
    """Return the metadata of a Parquet file that is complete and consistent."""
    _check_size(path, name)
    pa, parquet = pyarrow()
    try:
        found = parquet.read_metadata(path)
    except (pa.ArrowException, OSError) as error:
        raise InputValueError(demands.PARQUET, argument=name, offender=str(error).rstrip(". ")) from error
    check_columns(found.num_columns)
    rows = sum(found.row_group(place).num_rows for place in range(found.num_row_groups))
    size, problem = path.stat().st_size, ""
    if rows != found.num_rows:
        problem = f"its footer gives {found.num_rows:,} rows, but its parts have {rows:,}"
    elif rows > MOST_ROWS * size:
        problem = f"its footer gives {rows:,} rows in {size:,} bytes"
    if problem:
        raise InputValueError(demands.PARQUET, argument=name, offender=problem)
    return found


def check_columns(number: int) -> None:
    """Raise an error if there are more columns than can be opened in a reasonable time."""
    if number > MOST_COLUMNS:
        law = f"files must have at most {MOST_COLUMNS:,} columns; got {number:,}"
        raise InputValueError(law, hint="keep only the columns of outcomes and forecasts.")


def _check_size(path: Path, name: str) -> None:
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - 8, 0))
        end = file.read(8)
    # A file without this end is incomplete, which its reader reports.
    size = struct.unpack("<I4s", end)[0] if len(end) == 8 else 0
    if LARGEST < size <= path.stat().st_size:
        law = f"the footer of {name} must have at most {LARGEST // 2**20} MB; it has {size // 2**20:,} MB"
        raise InputValueError(law, hint="keep fewer columns and less metadata.")
