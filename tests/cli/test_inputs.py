"""Which files are read, and as what."""

import os

import duckdb
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from propriety.cli.files import open_relation
from propriety.cli.inputs import format_of, found_files
from propriety.errors import InputValueError

COLUMNS = ("--outcome", "y", "--forecast", "p")
HONEST = ("--outcome", "y", "--forecast", "honest", "--resamples", "50")


def cases(path, first):
    parquet.write_table(pa.table({"y": [0, 1], "p": [first, 0.9]}), path)


def names(*given):
    with found_files(given) as files:
        return [str(path) for path in files]


def test_globs_are_in_order_and_names_come_first(folder):
    for name in ("b1.parquet", "b[1].parquet", "a/c/d.parquet"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        cases(folder / name, 0.1)
    assert names("b*.parquet") == ["b1.parquet", "b[1].parquet"]
    assert names("b[1].parquet") == ["b[1].parquet"]
    assert names("a/**/*.parquet") == ["a/c/d.parquet"]
    assert names("a/../b1.parquet") == ["a/../b1.parquet"]


@pytest.mark.parametrize(
    "name", ["b[1]*.parquet", "b?{x}.parquet", "-b.parquet", "b'; --.parquet", "~b", "é ü.parquet"]
)
def test_only_the_named_file_is_opened(folder, name):
    cases(folder / "b1x.parquet", 0.5)
    cases(folder / name, 0.1)
    with found_files([f"./{name}"]) as files, open_relation(files) as opened:
        assert opened.collect().get_column("p").to_list() == [0.1, 0.9]


def test_links_are_followed_and_count_as_their_file(folder, refusal, run):
    (folder / "link").symlink_to("p.csv")
    given = HONEST
    assert run("evaluate", "link", *given).exit_code == 0
    assert "link is named again" in refusal("evaluate", "p.csv", "link", *given)
    (folder / "loop").symlink_to("loop")
    (folder / "dead").symlink_to("nowhere")
    for name in ("loop", "dead"):
        refusal("evaluate", name, *given)


@pytest.mark.parametrize(
    ("content", "form"),
    [
        (b"PAR1...", "parquet"),
        (b"ARROW1..", "arrow"),
        (b"\xff\xff\xff\xff.", "arrow stream"),
        (b"\x1f\x8b.", "gzip"),
        (b"\x28\xb5\x2f\xfd.", "zstd"),
        (b"y,p\n", "csv"),
        (b"\xef\xbb\xbfy,p\n", "csv"),
    ],
)
def test_formats_are_known_by_content(tmp_path, content, form):
    (tmp_path / "x").write_bytes(content)
    assert format_of(tmp_path / "x") == form


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "x is empty"),
        (b"\x89PNG\0\0", "x is in another format"),
        (b"PAR1 and no more", "x must be a whole Parquet file"),
        (b"ARROW1 and no more", "files must be complete Arrow files"),
        (b"\xff\xff\xff\xff and no more", "files must be complete Arrow files"),
        (b"\x1f\x8b and no more", "x is not a complete gzip file"),
        (b"y,p\n", "y_true"),
        (b"y,p\n1,0.5,3\n0\n1,,,\n", ""),
        (b"y,p\n1,abc\n", ""),
    ],
    ids=["empty", "png", "parquet", "arrow", "stream", "gzip", "no cases", "ragged", "words"],
)
def test_files_that_cannot_be_read(folder, refusal, content, told):
    (folder / "x").write_bytes(content)
    assert told.replace("y_true", "the outcome") in refusal("evaluate", "x", *COLUMNS)


@pytest.mark.parametrize(
    ("name", "form"), [("x.parquet", "Parquet"), ("x.PQ", "Parquet"), ("x.feather", "Arrow"), ("x.xlsx", "Excel")]
)
def test_text_must_not_have_the_name_of_another_format(folder, refusal, name, form):
    (folder / name).write_bytes((folder / "p.csv").read_bytes())
    told = refusal("evaluate", name, *COLUMNS)
    assert told.startswith(f"Error: {name} must be {form}, as its name says; it is text. Hint: ")


def test_a_number_that_turns_up_late_is_refused_in_one_line(folder, refusal):
    (folder / "x.csv").write_text("y,p\n" + "1,0.5\n" * 30_000 + "1,abc\n")
    refusal("evaluate", "x.csv", *COLUMNS)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("nowhere.csv", "there is no file 'nowhere.csv'."),
        ("*.nothing", "there is no file '*.nothing'."),
        ("s3://bucket/p.parquet", "only local files are read"),
        ("https://example.org/p.csv", "only local files are read"),
        (".", ". is a folder, not a file."),
        ("p.csv'; DROP TABLE x; --", "there is no file"),
    ],
)
def test_files_that_are_not_there(refusal, name, told):
    assert told in refusal("evaluate", name, *COLUMNS)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no such pipes")
def test_a_pipe_with_a_name_is_refused(folder, refusal):
    os.mkfifo(folder / "fifo")
    assert "fifo must be a regular file" in refusal("evaluate", "fifo", *COLUMNS)


def test_files_are_of_one_format(refusal):
    assert "csv, parquet" in refusal("evaluate", "p.csv", "p.parquet", "--outcome", "y", "--forecast", "honest")


@pytest.mark.parametrize("column", ['"; DROP TABLE x; --', "a'b", 'a"b', "select", "a b", "p)", "é"])
def test_columns_may_have_any_name(folder, run, column):
    if '"' in column and duckdb.__version__ < "2":
        pytest.skip("DuckDB before 2.0 takes a quote in the name of a column for the beginning of one")
    feather.write_feather(pa.table({"y": [0, 1], column: [0.1, 0.9]}), folder / "x")
    assert run("evaluate", "x", "--outcome", "y", "--forecast", column, "--resamples", "50").exit_code == 0


def test_nothing_is_left_in_the_temporary_folder(folder, run, monkeypatch):
    (folder / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder / "tmp"))
    content = (folder / "p.csv").read_bytes()
    assert run("evaluate", "-", *HONEST, input=content).exit_code == 0
    assert not list((folder / "tmp").iterdir())


def test_a_file_that_vanishes_is_an_error_of_input(folder):
    def read():
        with found_files(["p.parquet"]) as files, open_relation(files) as opened:
            (folder / "p.parquet").unlink()
            opened.collect()

    with pytest.raises(InputValueError, match="the files cannot be read"):
        read()
