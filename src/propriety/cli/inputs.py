"""The files that a command reads: found by name or glob or piped in, and known by their first bytes."""

from __future__ import annotations

import glob
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, TypeAlias

from propriety.cli.footers import checked_footer
from propriety.cli.places import Identity, identity
from propriety.errors import InputValueError
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.frames import METADATA_KEY

__all__ = ["STDIN", "Format", "are_tables", "format_of", "found_files", "shown"]

Format: TypeAlias = Literal["parquet", "arrow", "arrow stream", "csv", "gzip", "zstd"]

STDIN = "-"
BEGINNINGS: dict[bytes, Format] = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"\xff\xff\xff\xff": "arrow stream",
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
}
LOOK = 4096
READABLE = "files must be Parquet, CSV or Arrow"


@contextmanager
def found_files(names: Sequence[str]) -> Iterator[list[Path]]:
    """Hand out the files of names, globs and "-", the standard input, which is kept in a file meanwhile."""
    with tempfile.TemporaryDirectory(prefix="propriety-") as folder:
        files: list[Path] = []
        seen: set[Identity] = set()
        for name in names:
            found = iter([_piped(Path(folder))]) if name == STDIN else _matches(name)
            files += _in_order(name, _once(found, seen))
        yield files


def format_of(path: Path) -> Format:
    """Tell the format of a file by its first bytes, whatever its name."""
    with path.open("rb") as file:
        beginning = file.read(LOOK)
    for mark, form in BEGINNINGS.items():
        if beginning.startswith(mark):
            return form
    if not beginning:
        raise InputValueError(READABLE, offender=f"{shown(path)} is empty")
    # UTF-16 is text with zero bytes; its mark at the beginning says so.
    if b"\0" in beginning and not beginning.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputValueError(READABLE, offender=f"{shown(path)} is none of them")
    return "csv"


def are_tables(files: Sequence[Path]) -> bool:
    """Whether the files are forecast tables; some may not be that while others are not."""
    marks = [_is_table(path) for path in files]
    if any(marks) and not all(marks):
        one, other = files[marks.index(True)], files[marks.index(False)]
        law = f"files must all be forecast tables, or none; {shown(one)} is one and {shown(other)} is not"
        raise InputValueError(law)
    return all(marks)


def _is_table(path: Path) -> bool:
    """Whether `ForecastTable.to_parquet` wrote the file."""
    if format_of(path) != "parquet":
        return False
    facts = (checked_footer(path, shown(path)).metadata or {}).get(METADATA_KEY)
    try:
        return facts is not None and json.loads(facts).get("schema") == ForecastTable.schema
    except (ValueError, AttributeError):  # Somebody else's mark of the same name.
        return False


def _once(files: Iterator[Path], seen: set[Identity]) -> Iterator[Path]:
    """Refuse a file that is named twice, by whatever names, because its cases would count twice.

    Each is judged as it is found, so that a glob through links in a circle ends.
    """
    for path in files:
        try:
            os.fspath(path).encode()
        except UnicodeEncodeError as error:
            raise InputValueError(f"names of files must be UTF-8; got {os.fspath(path)!r}") from error
        if identity(path) in seen:
            raise InputValueError(f"each file must be named once; {shown(path)} is named again")
        seen.add(identity(path))
        yield path


def _matches(name: str) -> Iterator[Path]:
    """Yield the file of a name, or the files of a glob; a file whose name looks like a glob comes first."""
    if not name:
        raise InputValueError("names of files must not be empty")
    path = Path(name)
    if path.is_dir():
        law = f"{name} is a folder, not a file"
        raise InputValueError(law, hint=f"name its files, such as '{path}/*.parquet'.")
    if path.exists() and not path.is_file():
        law = f"{name} must be a regular file"
        raise InputValueError(law, hint="pipe it in and name it - instead.")
    is_glob = glob.has_magic(name) and not path.is_file()
    found = glob.iglob(name, recursive=True) if is_glob else [name]  # noqa: PTH207  (absolute globs too)
    yield from (Path(one) for one in found if Path(one).is_file())


def _in_order(name: str, found: Iterator[Path]) -> list[Path]:
    files = sorted(found, key=os.fspath)
    if not files:
        hint = "only files on this machine are read; fetch it first, or call propriety from Python with your engine."
        raise InputValueError(f"there is no file {name!r}", hint=hint if "://" in name else "")
    return files


def _piped(folder: Path) -> Path:
    """Keep what is piped in, because it is read more than once."""
    if sys.stdin is None or sys.stdin.isatty():
        raise InputValueError("- reads what is piped in, and nothing is", hint="propriety ... - < file.csv")
    path = folder / "standard input"
    with path.open("wb") as kept:
        kept.write(sys.stdin.buffer.read(LOOK))
        kept.flush()
        format_of(path)  # What cannot be read is not kept to its end, which it may not have.
        shutil.copyfileobj(sys.stdin.buffer, kept, 2**20)
    return path


def shown(path: Path) -> str:
    """Return the name of a file as the user knows it."""
    return path.name if path.name == "standard input" else str(path)
