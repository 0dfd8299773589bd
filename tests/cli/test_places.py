"""Names that lead astray: links in a circle, one file under many names, names that are none."""

import gzip
import os
import shutil
import sys

import pytest

from propriety.cli.inputs import found_files
from propriety.errors import InputValueError

CASES = ("--outcome", "y", "--forecast", "honest", "--resamples", "20")
ROOT = getattr(os, "geteuid", lambda: 0)() == 0


@pytest.fixture
def odd(folder):
    """Return a function that gives a file a name that is not UTF-8."""

    def rename(name, new):
        try:
            os.rename(os.fsencode(folder / name), os.fsencode(folder) + b"/" + new)  # noqa: PTH104  (names as bytes)
        except OSError:
            pytest.skip("there are no such names here")
        return os.fsdecode(new)

    return rename


@pytest.mark.parametrize("name", ["p.csv", "p.parquet", "t"])
def test_names_that_are_not_utf8_are_refused(run, refusal, odd, name):
    assert run("condense", "p.csv", *CASES[:4], "-o", "t").exit_code == 0
    told = refusal("evaluate", odd(name, b"x\xff"), *CASES)
    assert told == "Error: file names must be UTF-8; got 'x\\udcff'.\n"
    assert "must be UTF-8" in refusal("evaluate", "*", *CASES)


def test_what_is_written_may_have_any_name(folder, run, odd):
    name = odd("p.parquet", b"x\xff.json")
    result = run("evaluate", "p.csv", *CASES, "--json", name)
    assert (result.exit_code, result.stderr) == (0, "Written: x\\udcff.json\n")
    assert (folder / name).read_text().startswith("{")


def test_links_in_a_circle(folder, refusal):
    (folder / "loop").symlink_to("loop")
    told = refusal("evaluate", "p.csv", *CASES, "--json", "loop")
    assert told == "Error: loop cannot be resolved; its links are circular.\n"
    assert (folder / "loop").is_symlink()


def test_a_glob_through_links_in_a_circle_ends(folder, refusal):
    (folder / "a").mkdir()
    shutil.copy(folder / "p.csv", folder / "a")
    for name in ("one", "two"):  # Together they have more paths than anybody can walk.
        (folder / "a" / name).symlink_to(".", target_is_directory=True)
    assert "p.csv is named again" in refusal("evaluate", "a/**/*.csv", *CASES)


def test_a_file_of_two_names_is_one_file(folder, refusal):
    os.link(folder / "p.csv", folder / "other.csv")
    assert "each file must be named once" in refusal("evaluate", "p.csv", "other.csv", *CASES)
    assert "it is one of the files that are read" in refusal("evaluate", "p.csv", *CASES, "--json", "other.csv")
    assert "it is named twice" in refusal("evaluate", "p.parquet", *CASES, "--json", "p.csv", "--html", "other.csv")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["evaluate", "", *CASES], "file names must not be empty."),
        (["evaluate", "p.csv", *CASES, "--json", ""], "a file to write must have a name; got an empty one."),
        (["evaluate", "p.csv", *CASES, "--json", "new/"], "new/ cannot be written; it is a folder."),
        (["evaluate", "p.csv/x", *CASES], "there is no file 'p.csv/x'."),
        (["evaluate", "p.csv", *CASES, "--html", "p.csv/x"], "p.csv/x cannot be written; there is no folder"),
        (
            ["evaluate", "x" * 300, *CASES],
            "there is no file 'xxx" if sys.version_info >= (3, 14) else "File name too long.",
        ),
        (["evaluate", "p.csv", *CASES, "--json", "x" * 300], "File name too long."),
        (["condense", "p.csv", *CASES[:4], "-o", "../nowhere/x"], "there is no folder"),
        (["evaluate", "p.csv", *CASES, "--baseline", "a\nb"], "Error: a\\nb: No such file or directory."),
        (["merge", "../*/nothing.parquet", "-o", "x.parquet"], "there is no file '../*/nothing.parquet'."),
    ],
    ids=[
        "no input",
        "no output",
        "slash",
        "in a file",
        "out of a file",
        "long input",
        "long output",
        "condense",
        "newline",
        "merge",
    ],
)
@pytest.mark.skipif(os.name == "nt", reason="Windows has other words")
def test_names_that_are_none(folder, refusal, arguments, told):
    before = sorted(folder.iterdir())
    assert told in refusal(*arguments)
    assert sorted(folder.iterdir()) == before


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no such pipes")
def test_pipes_and_devices_are_neither_read_nor_written(folder, refusal):
    os.mkfifo(folder / "fifo")
    (folder / "null").symlink_to(os.devnull)
    for name in ("fifo", "null"):
        assert f"{name} must be a regular file" in refusal("evaluate", name, *CASES)
        assert f"{name} cannot be written; it is not a regular file" in refusal(
            "evaluate", "p.csv", *CASES, "--json", name
        )


@pytest.mark.skipif(ROOT, reason="root may write anything")
def test_a_file_that_is_marked_as_read_only_stays(folder, refusal):
    (folder / "kept.json").write_text("kept")
    (folder / "kept.json").chmod(0o444)
    told = refusal("evaluate", "p.csv", *CASES, "--json", "kept.json")
    assert "kept.json cannot be written; it is read-only" in told
    assert (folder / "kept.json").read_text() == "kept"


class Endless:
    """A pipe of zeros that has no end; reading on is a failure."""

    def __init__(self):
        self.reads = 0
        self.buffer = self

    def isatty(self):
        return False

    def read(self, size):
        self.reads += 1
        assert self.reads < 10
        return bytes(size)


def test_a_pipe_that_holds_no_cases_is_not_kept_to_its_end(monkeypatch):
    monkeypatch.setattr(sys, "stdin", Endless())
    with pytest.raises(InputValueError, match="standard input is in another format"), found_files(["-"]):
        pass


def test_compressed_and_plain_text_do_not_mix(folder, refusal):
    (folder / "q.csv.gz").write_bytes(gzip.compress((folder / "p.csv").read_bytes()))
    assert "files must be of one format; they are csv, gzip" in refusal("evaluate", "p.csv", "q.csv.gz", *CASES)
