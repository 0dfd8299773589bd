"""Compressed text that is far longer than its file."""

import gzip
import io

import numpy as np
import pyarrow as pa
import pytest

from propriety.cli import text_heads
from propriety.errors import InputValueError

FREE = 2**20


def zstd(text):
    kept = pa.BufferOutputStream()
    with pa.CompressedOutputStream(kept, "zstd") as file:
        file.write(text)
    return kept.getvalue().to_pybytes()


@pytest.fixture(autouse=True)
def little(monkeypatch):
    """Let the limit begin with small files."""
    monkeypatch.setattr(text_heads, "FREE_TEXT", FREE)


COMPRESS = {"gzip": gzip.compress, "zstd": zstd}
BOMB = b"y,p\n" + b"1,0.5\n" * 1_000_000


@pytest.mark.parametrize("form", COMPRESS)
def test_a_bomb_is_refused(tmp_path, form):
    (tmp_path / "x").write_bytes(COMPRESS[form](BOMB))
    with pytest.raises(InputValueError, match=r"at most 500 times as long as its file; that of .*x is longer"):
        text_heads._check_text(tmp_path / "x", form)


@pytest.mark.slow
@pytest.mark.parametrize("form", COMPRESS)
def test_forecasts_are_not(tmp_path, form):
    forecasts = io.StringIO("y,p\n")
    np.savetxt(forecasts, np.random.default_rng(1).random((100_000, 2)), fmt="%.3f", delimiter=",")
    (tmp_path / "x").write_bytes(COMPRESS[form](forecasts.getvalue().encode()))
    text_heads._check_text(tmp_path / "x", form)


def test_a_bomb_behind_honest_text_and_in_several_parts_is_refused(tmp_path):
    honest = np.random.default_rng(1).bytes(1000)
    (tmp_path / "x").write_bytes(b"".join(gzip.compress(part) for part in (honest, BOMB, BOMB)))
    with pytest.raises(InputValueError, match=r"that of .*x is longer"):
        text_heads._check_text(tmp_path / "x", "gzip")


def test_short_text_may_be_as_regular_as_it_likes(tmp_path, monkeypatch):
    monkeypatch.setattr(text_heads, "FREE_TEXT", len(BOMB))
    (tmp_path / "x").write_bytes(gzip.compress(BOMB))
    text_heads._check_text(tmp_path / "x", "gzip")


def test_the_command_line_refuses_a_bomb(folder, refusal):
    (folder / "x.csv.gz").write_bytes(gzip.compress(BOMB))
    told = refusal("evaluate", "x.csv.gz", "--outcome", "y", "--forecast", "p")
    assert "Hint: if you trust it, decompress it first" in told


LINES = b"y,p\n" + b"".join(b"%d,%.6f\n" % (p > 0.5, p) for p in np.random.default_rng(1).random(50_000))


@pytest.mark.parametrize("form", COMPRESS)
def test_a_cut_or_changed_file_is_refused(folder, refusal, form):
    """DuckDB would read the first part, and not look at the checksum."""
    complete = COMPRESS[form](LINES)
    changed = complete[:-8] + bytes([complete[-8] ^ 1]) + complete[-7:]  # The checksum of gzip.
    for content in (complete[: len(complete) // 2], complete[:-9], *([changed] if form == "gzip" else [])):
        (folder / "x.csv").write_bytes(content)
        told = refusal("evaluate", "x.csv", "--outcome", "y", "--forecast", "p")
        assert f"x.csv is not a complete {form} file" in told
