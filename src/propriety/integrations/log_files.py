"""Files of logs, read with limits: lines of JSON, plain or compressed with gzip, and fields of a given type."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from propriety.errors import InputTypeError, InputValueError

LONGEST = 2**28  # Bytes of one record.
FREE = 2**30  # Bytes of text that any file may contain.
FOLD = 500  # Largest ratio of the text to its compressed file.


def file_at(path: object, argument: str) -> Path:
    """Return the path of a file; an absent one is reported when it is opened."""
    if not isinstance(path, str | PathLike):
        law = "must be the path of a file"
        raise InputTypeError(law, argument=argument, offender=f"got {type(path).__name__}")
    found = Path(path)
    if found.is_dir():
        raise InputValueError("must be the path of a file", argument=argument, offender=f"{found} is a directory")
    return found


class Budget:
    """A limit on the text in a compressed file, so that a small file cannot fill the memory."""

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self.left = max(FREE, FOLD * path.stat().st_size)

    def spend(self, size: int) -> None:
        """Count the bytes of a record, and raise an error if there are too many."""
        self.left -= size
        if size > LONGEST or self.left < 0:
            law = f"a record may have {LONGEST} bytes, and compressed text may be {FOLD} times as long as its file"
            raise InputValueError(law, offender=f"{self.name} exceeds this limit")


def object_lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the JSON object of each line with a description of its place; empty lines are skipped."""
    budget = Budget(path)
    with path.open("rb") as plain:
        zipped = plain.read(2) == b"\x1f\x8b"
        plain.seek(0)
        source: Any = gzip.GzipFile(fileobj=plain) if zipped else plain
        number = 0
        while True:
            try:
                line = source.readline(LONGEST + 1)
            except (EOFError, OSError, zlib.error) as error:
                raise InputValueError(
                    "must be a complete gzip file", argument=path.name, offender=str(error)
                ) from error
            if not line:
                return
            number += 1
            budget.spend(len(line))
            if line.strip():
                where = f"line {number} of {path.name}"
                yield where, object_of(line, where)


def object_of(text: bytes, where: str) -> dict[str, Any]:
    """Return the JSON object that a text contains."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        hint = "the file may be truncated, or another kind of file."
        raise InputValueError("must be JSON", argument=where, offender=str(error), hint=hint) from error
    if not isinstance(found, dict):
        raise InputValueError("must be a JSON object", argument=where, offender=f"got {type(found).__name__}")
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
        law = f"must have a field {name!r} of type {' or '.join(one.__name__ for one in kinds)}"
        offender = f"got {type(value).__name__}" if name in record else "it is absent"
        raise InputValueError(law, argument=where, offender=offender)
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise InputValueError(f"must have a field {name!r} of 64 bits", argument=where, offender="it is larger")
    return value
