"""The files that a command reads: found by name or glob or piped in, and known by their first bytes."""

from __future__ import annotations

import glob
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, TypeAlias

from propriety.errors import InputValueError, sentence
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.frames import METADATA_KEY, pyarrow

__all__ = ["STDIN", "Format", "are_tables", "format_of", "found_files"]

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
        for name in names:
            files += [_piped(Path(folder))] if name == STDIN else _matches(name)
        _check_once(files)
        yield files


def format_of(path: Path) -> Format:
    """Tell the format of a file by its first bytes, whatever its name."""
    with path.open("rb") as file:
        beginning = file.read(LOOK)
    for mark, form in BEGINNINGS.items():
        if beginning.startswith(mark):
            return form
    if not beginning:
        raise InputValueError(sentence(READABLE, offender=f"{_named(path)} is empty"))
    # UTF-16 is text with zero bytes; its mark at the beginning says so.
    if b"\0" in beginning and not beginning.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputValueError(sentence(READABLE, offender=f"{_named(path)} is none of them"))
    return "csv"


def are_tables(files: Sequence[Path]) -> bool:
    """Whether the files are forecast tables; some may not be that while others are not."""
    marks = [_is_table(path) for path in files]
    if any(marks) and not all(marks):
        one, other = files[marks.index(True)], files[marks.index(False)]
        law = f"files must all be forecast tables, or none; {_named(one)} is one and {_named(other)} is not"
        raise InputValueError(sentence(law))
    return all(marks)


def _is_table(path: Path) -> bool:
    """Whether `ForecastTable.to_parquet` wrote the file."""
    if format_of(path) != "parquet":
        return False
    pa, parquet = pyarrow()
    try:
        facts = (parquet.read_metadata(path).metadata or {}).get(METADATA_KEY)
    except (pa.ArrowException, OSError) as error:
        raise InputValueError(
            sentence(f"{_named(path)} must be a whole Parquet file", offender=str(error).rstrip("."))
        ) from error
    try:
        return facts is not None and json.loads(facts).get("schema") == ForecastTable.schema
    except (ValueError, AttributeError):  # Somebody else's mark of the same name.
        return False


def _check_once(files: Sequence[Path]) -> None:
    """Refuse a file that is named twice, by whatever names, because its cases would count twice."""
    seen: set[Path] = set()
    for path in files:
        if path.resolve() in seen:
            raise InputValueError(sentence(f"each file must be named once; {_named(path)} is named again"))
        seen.add(path.resolve())


def _matches(name: str) -> list[Path]:
    """Return the file of a name, or the files of a glob in order; a file whose name looks like a glob comes first."""
    path = Path(name)
    if path.is_dir():
        law = f"{name} is a folder, not a file"
        raise InputValueError(sentence(law, hint=f"name its files, such as '{path}/*.parquet'."))
    if path.is_file():
        return [path]
    if path.exists():
        law = f"{name} must be a regular file"
        raise InputValueError(sentence(law, hint="pipe it in and name it - instead."))
    found = sorted(glob.glob(name, recursive=True)) if glob.has_magic(name) else []  # noqa: PTH207  (absolute globs too)
    files = [Path(one) for one in found if Path(one).is_file()]
    if not files:
        hint = "only files on this machine are read; fetch it first, or call propriety from Python with your engine."
        raise InputValueError(sentence(f"there is no file {name!r}", hint=hint if "://" in name else ""))
    return files


def _piped(folder: Path) -> Path:
    """Keep what is piped in, because it is read more than once."""
    if sys.stdin is None or sys.stdin.isatty():
        raise InputValueError(sentence("- reads what is piped in, and nothing is", hint="propriety ... - < file.csv"))
    path = folder / "standard input"
    with path.open("wb") as kept:
        shutil.copyfileobj(sys.stdin.buffer, kept, 2**20)
    return path


def _named(path: Path) -> str:
    return path.name if path.name == "standard input" else str(path)
