"""Files of logs, read with limits: JSON lines, plain or compressed with gzip, and zip archives of JSON.

Logs are shared, so a small file must not fill the memory. No record is decompressed beyond a fixed size, and a
compressed file may not hold much more text than its size explains.
"""

from __future__ import annotations

import gzip
import json
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from os import PathLike
from pathlib import Path
from typing import Any

from propriety.errors import InputTypeError, InputValueError
from propriety.integrations import load_library

LONGEST = 2**26  # Bytes of one record.
FOLD = 500  # Largest ratio of the text to its compressed file; logs that repeat their prompts reach about 50.
NESTED = 2**20  # Lists and objects in one compressed record: "[]," is 3 bytes of text and 64 of memory.
SHORTEST = 2**13  # What a shorter line counts as, so that empty lines do not keep the reader busy.
ZSTANDARD = 93  # The method of compression, which `zipfile` reads from Python 3.14 on.
# What the readers of gzip, zip and zstd raise for damaged files.
DAMAGED = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, RuntimeError, ValueError, OverflowError)


def file_at(path: object, argument: str) -> Path:
    """Return the path of a file; an absent one is reported when it is opened."""
    if not isinstance(path, str | PathLike):
        raise InputTypeError("must be the path of a file", argument=argument, got_type=path)
    file = Path(path)
    if file.is_dir():
        raise InputValueError("must be the path of a file", argument=argument, offender=f"{file} is a directory")
    return file


class Budget:
    """A limit on the text of a compressed file."""

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self.left = max(LONGEST, FOLD * path.stat().st_size)

    def spend(self, size: int) -> None:
        """Count the bytes of a record, and raise an error if there are too many."""
        self.left -= size
        if size > LONGEST or self.left < 0:
            law = f"a record may have {LONGEST} bytes, and compressed text may be {FOLD} times as long as its file"
            raise InputValueError(law, offender=f"{self.name} exceeds this limit")


@contextmanager
def _readable(where: str, what: str) -> Iterator[None]:
    try:
        yield
    except InputValueError:
        raise
    except DAMAGED as error:
        raise InputValueError(f"must be {what}", argument=where, offender=str(error)) from error


def line_objects(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the JSON object of each line with a description of its place; empty lines are skipped."""
    budget = Budget(path)
    with path.open("rb") as plain:
        zipped = plain.read(2) == b"\x1f\x8b"
        plain.seek(0)
        source: Any = gzip.GzipFile(fileobj=plain) if zipped else plain
        number = 0
        while True:
            with _readable(path.name, "a complete gzip file"):
                line = source.readline(LONGEST + 1)
            if not line:
                return
            number += 1
            budget.spend(max(len(line), SHORTEST))
            if line.strip():
                where = f"line {number} of {path.name}"
                yield where, object_of(line, where, compressed=zipped)


def archived_objects(path: Path, first: str, folder: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the JSON objects of a zip archive with a description of their place: `first`, then those in a folder."""
    budget = Budget(path)
    with _readable(path.name, "a zip archive"):
        archive = zipfile.ZipFile(path)
    with archive:
        names = archive.NameToInfo
        inside = [name for name in names if name.startswith(folder) and name.endswith(".json")]
        for name in [first, *inside] if first in names else []:
            where = f"{name} of {path.name}"
            with _readable(where, "a readable entry"):
                text = _entry_text(archive, names[name], budget)
            yield where, object_of(text, where, compressed=True)


def _entry_text(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, budget: Budget) -> bytes:
    """Return the text of an entry, after checking the size that it declares."""
    budget.spend(max(entry.file_size, entry.compress_size))
    if entry.compress_type != ZSTANDARD:
        with archive.open(entry) as source:
            return source.read(entry.file_size)  # It checks the sum itself, and reads no more than is declared.
    zstandard = load_library("zstandard", extra="inspect")
    stored = copy(entry)  # The compressed bytes, whose sum is not known.
    stored.compress_type, stored.file_size, stored.CRC = zipfile.ZIP_STORED, entry.compress_size, None  # type: ignore[assignment]  # not checked
    with archive.open(stored) as source:
        try:
            text: bytes = zstandard.ZstdDecompressor().stream_reader(source).read(entry.file_size + 1)
        except zstandard.ZstdError as error:
            raise zipfile.BadZipFile(str(error)) from error
    if len(text) != entry.file_size or zlib.crc32(text) != entry.CRC:
        message = "its length or its checksum is not the declared one"
        raise zipfile.BadZipFile(message)
    return text


def object_of(text: bytes, where: str, *, compressed: bool = False) -> dict[str, Any]:
    """Return the JSON object that a text contains."""
    if compressed and text.count(b"[") + text.count(b"{") > NESTED:
        raise InputValueError(f"must have at most {NESTED} lists and objects", argument=where)
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        hint = "the file may be truncated, or another kind of file."
        raise InputValueError("must be JSON", argument=where, offender=str(error), hint=hint) from error
    if not isinstance(found, dict):
        raise InputValueError("must be a JSON object", argument=where, got_type=found)
    return found


def field_of(record: Mapping[str, Any], name: str, kind: type | tuple[type, ...], where: str) -> Any:
    """Return a field of a record, or raise an error if it is absent or of another type.

    Examples
    --------
    >>> field_of({"doc_id": "x"}, "doc_id", int, "line 1 of a.jsonl")
    Traceback (most recent call last):
    propriety.errors.InputValueError: line 1 of a.jsonl must have a field 'doc_id' of type int; got str.
    """
    value = record.get(name)
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        law = f"must have a field {name!r} of type {' or '.join(allowed.__name__ for allowed in kinds)}"
        offender = f"got {type(value).__name__}" if name in record else "it is absent"
        raise InputValueError(law, argument=where, offender=offender)
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise InputValueError(f"must have a field {name!r} of 64 bits", argument=where, offender="it is larger")
    return value


def inside(value: Any, *path: str | int) -> Any:
    """Return what nested objects and lists hold at a path of names and positions, or None.

    Examples
    --------
    >>> inside({"a": [{"b": 1}]}, "a", 0, "b"), inside({"a": []}, "a", 0, "b")
    (1, None)
    """
    for step in path:
        try:
            value = value[step]
        except (LookupError, TypeError):
            return None
    return value
