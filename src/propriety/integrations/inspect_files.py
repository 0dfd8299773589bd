"""Log files of Inspect: the header and the samples of `.eval` archives and of `.json` files."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from propriety.errors import InputValueError
from propriety.integrations.libraries import load_library
from propriety.integrations.log_files import FREE, LONGEST, Budget, field_of, object_of

ZSTANDARD = 93  # The method of compression, which `zipfile` reads from Python 3.14 on.
BROKEN = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError),
    *(NotImplementedError, RuntimeError, ValueError, OverflowError),
)


def header_and_samples(path: Path) -> tuple[dict[str, Any], Iterator[tuple[str, dict[str, Any]]]]:
    """Return the header of a log, and its samples with a description of the place of each."""
    if zipfile.is_zipfile(path):
        return _of_archive(path)
    size = path.stat().st_size  # An absent file is reported as such.
    if path.suffix == ".eval":
        hint = "the file may be truncated."
        raise InputValueError("must be a zip archive", argument=path.name, hint=hint)
    if size > FREE:
        hint = "convert it to the .eval format: inspect log convert --to eval."
        raise InputValueError(f"a JSON log may have {FREE} bytes; {path.name} has more", hint=hint)
    log = object_of(path.read_bytes(), path.name)
    samples = field_of(log, "samples", list, path.name)
    return log, _of_list(samples, path.name)


def _of_list(samples: list[Any], name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, sample in enumerate(samples):
        where = f"sample {number} of {name}"
        if not isinstance(sample, dict):
            raise InputValueError("must be a JSON object", argument=where, offender=f"got {type(sample).__name__}")
        yield where, sample


def _of_archive(path: Path) -> tuple[dict[str, Any], Iterator[tuple[str, dict[str, Any]]]]:
    budget = Budget(path)
    try:
        with zipfile.ZipFile(path) as archive:
            entries = {entry.filename: entry for entry in archive.infolist()}
    except BROKEN as error:
        raise InputValueError("must be a zip archive", argument=path.name, offender=str(error)) from error
    if "header.json" not in entries:
        hint = "its evaluation may be running or may have been interrupted; see inspect eval-retry."
        raise InputValueError("must contain header.json", argument=path.name, hint=hint)
    header = object_of(_text(path, entries["header.json"], budget), f"header.json of {path.name}")
    return header, _of_entries(path, entries, budget)


def _of_entries(
    path: Path, entries: Mapping[str, zipfile.ZipInfo], budget: Budget
) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, entry in entries.items():
        if name.startswith("samples/") and name.endswith(".json"):
            where = f"{name} of {path.name}"
            yield where, object_of(_text(path, entry, budget), where)


def _text(path: Path, entry: zipfile.ZipInfo, budget: Budget) -> bytes:
    """Return the text of an entry of an archive."""
    budget.spend(max(entry.file_size, entry.compress_size))
    try:
        if entry.compress_type == ZSTANDARD:
            with path.open("rb") as file:
                text = _decompressed(_stored(file, entry), budget)
            intact = zlib.crc32(text) == entry.CRC
        else:
            with zipfile.ZipFile(path) as archive, archive.open(entry) as source:
                text, intact = source.read(LONGEST + 1), True  # It checks the sum itself.
    except InputValueError:
        raise
    except BROKEN as error:
        law = "must be a readable entry"
        raise InputValueError(law, argument=f"{entry.filename} of {path.name}", offender=str(error)) from error
    if not intact:
        hint = "the file is damaged."
        raise InputValueError("must have its checksum", argument=f"{entry.filename} of {path.name}", hint=hint)
    return text


def _stored(file: BinaryIO, entry: zipfile.ZipInfo) -> bytes:
    """Return the compressed bytes of an entry, which follow a header of 30 bytes, its name and an extra field."""
    file.seek(entry.header_offset)
    header = file.read(30)
    if header[:4] != b"PK\x03\x04" or len(header) < 30:
        message = "it has no local header"
        raise zipfile.BadZipFile(message)
    name, extra = struct.unpack("<HH", header[26:30])
    file.seek(name + extra, 1)
    return file.read(entry.compress_size)


def _decompressed(stored: bytes, budget: Budget) -> bytes:
    pa = load_library("pyarrow", extra="inspect")
    with pa.CompressedInputStream(pa.BufferReader(stored), "zstd") as source:
        text: bytes = source.read(LONGEST + 1)
    budget.spend(len(text))
    return text
