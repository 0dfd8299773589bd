"""What is written is whole or not there."""

import os
import stat

import pytest

from propriety.cli.outputs import replaced

CASES = ("evaluate", "p.csv", "--outcome", "y", "--forecast", "honest")


def test_a_file_is_replaced_when_it_is_whole(tmp_path):
    target = tmp_path / "t.txt"
    target.write_text("old")
    target.chmod(0o640)
    with replaced(str(target)) as path:
        path.write_text("new")
        assert target.read_text() == "old"
    assert target.read_text() == "new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert list(tmp_path.iterdir()) == [target]


def test_a_new_file_has_the_usual_permissions(tmp_path):
    with replaced(str(tmp_path / "new")):
        pass
    (tmp_path / "usual").touch()
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "usual").stat().st_mode


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, ValueError])
def test_whatever_happens_nothing_is_left(tmp_path, error):
    target = tmp_path / "t.txt"
    target.write_text("old")

    def fail():
        with replaced(str(target)) as path:
            path.write_text("half")
            raise error

    with pytest.raises(error):
        fail()
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "link").symlink_to("real")
    with replaced(str(tmp_path / "link")) as path:
        path.write_text("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


@pytest.mark.parametrize(
    ("target", "told"),
    [
        ("nowhere/r.json", "there is no folder"),
        (".", "it is a folder"),
        ("p.csv", "it is one of the files that are read"),
        ("../{name}/p.csv", "it is one of the files that are read"),
        ("/dev/null", "it is not a regular file"),
    ],
)
def test_places_that_cannot_be_written(folder, refusal, target, told):
    before = (folder / "p.csv").read_bytes()
    assert told in refusal(*CASES, "--json", target.format(name=folder.name))
    assert (folder / "p.csv").read_bytes() == before


@pytest.mark.skipif(getattr(os, "geteuid", lambda: 0)() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_to(folder, refusal):
    (folder / "closed").mkdir(mode=0o500)
    assert "does not allow it" in refusal(*CASES, "--json", "closed/r.json")


def test_it_is_refused_before_anything_is_read(refusal):
    assert "there is no folder" in refusal("evaluate", "nowhere.csv", "--html", "nowhere/r.html")


def test_a_full_disk_is_one_line(folder, refusal, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device", "/somewhere/.hidden")

    monkeypatch.setattr("pathlib.Path.write_text", full)
    told = refusal(*CASES, "--json", "a.json")
    assert told == "Error: a.json: No space left on device.\n"
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]
