"""Footers of Parquet files that lie, or that are more than a reader should hold."""

import io
import struct

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

ROWS = 12_345  # A number whose bytes stand nowhere else in the footer.
COLUMNS = ("--outcome", "y", "--forecast", "p")


def varint(number):
    """Write a number as Thrift does: sign last, seven bits to a byte."""
    rest, written = number << 1, []
    while rest > 127:
        written.append(rest & 127 | 128)
        rest >>= 7
    return bytes([*written, rest])


@pytest.fixture(scope="module")
def parts():
    """Return the pages and the footer of an honest file."""
    rng = np.random.default_rng(1)
    kept = io.BytesIO()
    parquet.write_table(pa.table({"y": rng.integers(0, 2, ROWS), "p": rng.random(ROWS)}), kept)
    content = kept.getvalue()
    size = struct.unpack("<I", content[-8:-4])[0]
    return content[: -8 - size], content[-8 - size : -8]


def joined(pages, footer, size=None):
    return pages + footer + struct.pack("<I", len(footer) if size is None else size) + b"PAR1"


def every(footer, number):
    return footer.replace(varint(ROWS), varint(number))


def first(footer, number):
    return footer.replace(varint(ROWS), varint(number), 1)


def last(footer, number):
    return varint(number).join(footer.rsplit(varint(ROWS), 1))


LIES = {
    "all say 2^40 rows": lambda pages, footer: joined(pages, every(footer, 2**40)),
    "all say 2^62 rows": lambda pages, footer: joined(pages, every(footer, 2**62)),
    "one row too many": lambda pages, footer: joined(pages, every(footer, ROWS + 1)),
    "the part says 2^40 rows": lambda pages, footer: joined(pages, last(footer, 2**40)),
    "the part says a row less": lambda pages, footer: joined(pages, last(footer, ROWS - 1)),
    "the file says 2^40 rows": lambda pages, footer: joined(pages, first(footer, 2**40)),
    "the file says a row less": lambda pages, footer: joined(pages, first(footer, ROWS - 1)),
    "a footer longer than the file": lambda pages, footer: joined(pages, footer, 2**32 - 1),
    "no footer": lambda pages, footer: joined(pages, footer, 0),
    "a list of 2^31 columns": lambda pages, footer: joined(pages, b"\x15\x04\x19\xfc\xff\xff\xff\xff\x0f" + footer),
    "half of the file": lambda pages, footer: pages,
    "pages of zeros": lambda pages, footer: joined(b"PAR1" + bytes(len(pages) - 4), footer),
    "pages of noise": lambda pages, footer: joined(b"PAR1" + np.random.default_rng(1).bytes(len(pages) - 4), footer),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_footer_that_lies_is_one_clear_error(folder, refusal, parts, lie):
    (folder / "x.parquet").write_bytes(LIES[lie](*parts))
    assert len(refusal("evaluate", "x.parquet", *COLUMNS)) < 300


def test_the_honest_file_is_read(folder, run, parts):
    (folder / "x.parquet").write_bytes(joined(*parts))
    assert ", 12,345 cases" in run("evaluate", "x.parquet", *COLUMNS, "--resamples", "20").stdout


def test_the_contradiction_is_told(folder, refusal, parts):
    (folder / "x.parquet").write_bytes(joined(parts[0], first(parts[1], 2**40)))
    told = refusal("condense", "x.parquet", *COLUMNS, "-o", "t")
    assert (
        "x.parquet must be a whole Parquet file; its footer gives 1,099,511,627,776 rows, but its parts have 12,345"
        in told
    )


def test_more_rows_than_fit_into_the_bytes_are_not_looked_for(folder, refusal, parts):
    (folder / "x.parquet").write_bytes(joined(parts[0], every(parts[1], 2**40)))
    told = refusal("condense", "x.parquet", *COLUMNS, "-o", "t")
    assert "x.parquet must be a whole Parquet file; its footer gives 1,099,511,627,776 rows in " in told


def test_a_footer_that_fills_the_memory_is_refused_unread(folder, refusal, monkeypatch):
    cases = pa.table({"y": [0, 1], "p": [0.2, 0.8]}).replace_schema_metadata({"a": "x" * 2**20})
    parquet.write_table(cases, folder / "x.parquet")
    monkeypatch.setattr("propriety.cli.inputs.LARGEST", 2**20)
    monkeypatch.setattr("pyarrow.parquet.read_metadata", lambda path: pytest.fail("it was read"))
    assert "the footer of x.parquet must have at most 1 MB; it has 2 MB" in refusal("evaluate", "x.parquet", *COLUMNS)


def stream(table, path):
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)


@pytest.mark.parametrize("write", [parquet.write_table, feather.write_feather, stream])
def test_so_many_columns_are_refused(folder, refusal, monkeypatch, write):
    write(pa.table({"y": [0, 1], "p": [0.2, 0.8], **{f"c{place}": [1, 1] for place in range(9)}}), folder / "x")
    monkeypatch.setattr("propriety.cli.inputs.MOST_COLUMNS", 10)
    told = refusal("evaluate", "x", *COLUMNS)
    assert "files must have at most 10 columns; got 11. Hint: keep only the columns" in told
