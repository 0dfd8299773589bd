"""Small files that would fill the memory, or keep the reader busy, are rejected early."""

import gzip
import json
import struct
import subprocess
import sys
import zipfile
import zlib

import pytest
import zstandard

from propriety.errors import InputValueError
from propriety.integrations.logged_answers import FOLD, ZSTANDARD, archived_objects, line_objects

MEGABYTE = 2**20
CHILD = """
import resource, sys, time
import zstandard
from propriety.errors import InputValueError
from propriety.integrations.logged_answers import archived_objects, line_objects
path = __import__("pathlib").Path(sys.argv[1])
before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
try:
    for _ in archived_objects(path, "header.json", "samples/") if path.suffix == ".eval" else line_objects(path):
        pass
except InputValueError as error:
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(time.process_time() - began, grown / 1024, error)
"""


def deflated(piece, megabytes):
    """Return a text of repeated pieces, compressed as in gzip and zip."""
    pack = zlib.compressobj(9, zlib.DEFLATED, -15)
    megabyte = pack.compress(piece * (MEGABYTE // len(piece))) + pack.flush(zlib.Z_FULL_FLUSH)
    return megabyte * megabytes + zlib.compressobj(9, zlib.DEFLATED, -15).flush()


def checksum(piece, megabytes):
    total = 0
    for _ in range(megabytes):
        total = zlib.crc32(piece * (MEGABYTE // len(piece)), total)
    return total


def as_gzip(piece, megabytes):
    size = megabytes * (MEGABYTE // len(piece) * len(piece))
    tail = struct.pack("<II", checksum(piece, megabytes), size % 2**32)
    return b"\x1f\x8b\x08" + bytes(7) + deflated(piece, megabytes) + tail


def as_zstd(piece, megabytes):
    pack = zstandard.ZstdCompressor(level=1).compressobj()
    chunk = piece * (MEGABYTE // len(piece))
    return b"".join(pack.compress(chunk) for _ in range(megabytes)) + pack.flush()


def archive(path, stored, method, size, crc=0, repeat=1):
    """Write an archive whose entries are these compressed bytes and declare this size and checksum."""
    with zipfile.ZipFile(path, "w") as made:
        for name in ["header.json", *(f"samples/{number}.json" for number in range(repeat - 1))]:
            made.writestr(name, stored)
            made.NameToInfo[name].file_size = size
            made.NameToInfo[name].CRC = crc
            made.NameToInfo[name].compress_type = method
    return path


BOMBS = {
    "one line.gz": lambda path: path.write_bytes(as_gzip(b" ", 1000)),
    "empty lines.gz": lambda path: path.write_bytes(as_gzip(b"\n", 1000)),
    "lists.gz": lambda path: path.write_bytes(as_gzip(b"[],", 60)),
    "nested.jsonl": lambda path: path.write_bytes(b"[" * 10**6),
    "deflate.eval": lambda path: archive(path, deflated(b" ", 1000), zipfile.ZIP_DEFLATED, 1000 * MEGABYTE),
    "zstd.eval": lambda path: archive(path, as_zstd(b" ", 1000), ZSTANDARD, 1000 * MEGABYTE),
    "declared short.eval": lambda path: archive(path, as_zstd(b" ", 1000), ZSTANDARD, 100),
    "deflate declared short.eval": lambda path: archive(path, deflated(b" ", 1000), zipfile.ZIP_DEFLATED, 100),
    "zstd of lists.eval": lambda path: archive(
        path, as_zstd(b"[],", 60), ZSTANDARD, 60 * (MEGABYTE // 3 * 3), checksum(b"[],", 60)
    ),
    "nested.eval": lambda path: archive(path, as_zstd(b"[", 60), ZSTANDARD, 60 * MEGABYTE, checksum(b"[", 60)),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_within_a_second_and_300_megabytes(tmp_path, name):
    BOMBS[name](tmp_path / name)
    command = [sys.executable, "-c", CHILD, str(tmp_path / name)]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603  (our own command)
    seconds, megabytes, message = output.split(maxsplit=2)  # Of the processor, which other tests may share.
    assert float(seconds) < 1.0
    assert float(megabytes) < 300.0
    assert name in message


def test_many_entries_together_may_not_exceed_the_size_that_the_file_explains(tmp_path):
    text = json.dumps({"text": " " * 10**7}).encode()
    packed = zstandard.ZstdCompressor().compress(text)
    path = archive(tmp_path / "many.eval", packed, ZSTANDARD, len(text), zlib.crc32(text), repeat=60)
    for entry in zipfile.ZipFile(path).infolist():
        assert len(text) > FOLD * entry.compress_size
    with pytest.raises(InputValueError, match="exceeds this limit"):
        list(archived_objects(path, "header.json", "samples/"))


def test_repetitive_text_of_an_ordinary_log_is_read(tmp_path):
    """The prompts of a task are mostly the same."""
    path = tmp_path / "samples.jsonl.gz"
    path.write_bytes(gzip.compress(b"\n".join(json.dumps({"prompt": "example " * 1000}).encode() for _ in range(3000))))
    assert sum(1 for _ in line_objects(path)) == 3000
