"""Records name the commit, the machine, the versions and the seed that they were made with, whatever writes them."""

import ast
import csv
import importlib.util
import inspect
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from functools import cache
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted(path for folder in ("quality", "benchmarks", "studies") for path in (ROOT / folder).rglob("*.py"))
ROW = {"n": 100, "coverage": 0.95}


@pytest.fixture
def record(monkeypatch, tmp_path):
    spec = importlib.util.spec_from_file_location("record", ROOT / "quality" / "record.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "RESULTS", tmp_path / "results")
    return module


@pytest.fixture
def repository(record, monkeypatch, tmp_path):
    """A repository of its own with one commit, which the records are then of."""
    if shutil.which("git") is None:
        pytest.skip("Git is not installed")
    root = tmp_path / "repository"
    root.mkdir()
    monkeypatch.setattr(record, "ROOT", root)

    def git(*words):
        options = ("-c", "user.name=a", "-c", "user.email=a@b.c")
        return subprocess.run(["git", *options, *words], cwd=root, check=True, capture_output=True, text=True).stdout  # noqa: S603, S607

    git("init", "--quiet")
    (root / "code.py").write_text("1\n")
    git("add", ".")
    git("commit", "--quiet", "--message", "first")
    return root, git("rev-parse", "HEAD").strip()


def written(record, **options):
    shared = {"title": "A", "summary": "b.", "command": "python a.py"}
    return json.loads(record.write("a", **shared, tables=[record.table("c", [ROW])], **options).read_text())["made"]


def assert_holds_how_it_was_made(how, commit):
    assert how["commit"] == commit
    assert (how["python"], how["versions"]["numpy"]) == (platform.python_version(), version("numpy"))
    machine = how["machine"]
    assert machine["cores"] == os.cpu_count()
    assert machine["system"]
    assert platform.machine() in machine["processor"]
    if sys.platform == "linux":
        kilobytes = int(Path("/proc/meminfo").read_text().partition("MemTotal:")[2].split()[0])
        assert machine["memory"] == pytest.approx(kilobytes * 1024 / 1e9, rel=0.02)


def test_a_record_holds_its_commit_machine_versions_and_seed(record, repository):
    how = written(record, seed=3)
    assert_holds_how_it_was_made(how, repository[1])
    assert (how["seed"], how["command"]) == (3, "python a.py")


def test_a_table_of_a_study_holds_them_beside_it(record, repository, tmp_path):
    path = tmp_path / "rows.csv"
    record.write_rows(path, [ROW], command="python studies/a.py --replicates 10")
    with path.open(newline="") as file:
        assert list(csv.DictReader(file)) == [{"n": "100", "coverage": "0.95"}]
    how = json.loads(path.with_suffix(".json").read_text())
    assert_holds_how_it_was_made(how, repository[1])
    assert how["seed"] == "fixed in the script"
    record.write_rows(path, [ROW], command="python studies/a.py", seed=4)
    assert json.loads(path.with_suffix(".json").read_text())["seed"] == 4


def test_changes_that_are_not_committed_are_told_but_for_those_of_records(record, repository):
    root, _ = repository
    assert not written(record)["uncommitted_changes"]
    (root / "studies" / "results").mkdir(parents=True)
    (root / "studies" / "results" / "a.csv").write_text("1\n")
    assert not written(record)["uncommitted_changes"]
    (root / "new.py").write_text("2\n")
    assert written(record)["uncommitted_changes"]
    (root / "new.py").unlink()
    (root / "code.py").write_text("2\n")
    assert written(record)["uncommitted_changes"]


def test_without_git_the_commit_is_unknown(record, monkeypatch):
    monkeypatch.setenv("PATH", "")
    how = written(record)
    assert (how["commit"], how["uncommitted_changes"]) == (None, None)


def test_rows_of_an_earlier_run_keep_how_they_were_made(record, repository, monkeypatch):
    first = written(record, keeps_rows=True)
    assert "earlier" not in first
    assert "earlier" not in written(record, keeps_rows=True)  # The same run, which writes after each of its parts.
    monkeypatch.setattr(record, "_commit", lambda: {"commit": "f" * 40, "uncommitted_changes": False})
    assert "earlier" not in written(record)
    written(record, keeps_rows=True)
    monkeypatch.setattr(record, "_commit", lambda: {"commit": "e" * 40, "uncommitted_changes": False})
    assert [how["commit"] for how in written(record, keeps_rows=True)["earlier"]] == ["f" * 40]
    monkeypatch.setitem(ROW, "coverage", 0.9)
    assert "earlier" not in written(record, keeps_rows=True)


def test_a_table_that_keeps_rows_from_before_this_was_recorded_says_so(record, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("n,coverage\n1,2\n")
    record.write_rows(path, [ROW], command="python a.py", keeps_rows=True)
    assert json.loads(path.with_suffix(".json").read_text())["earlier"] == [{}]


def name_of(path):
    return path.relative_to(ROOT).as_posix()


@cache
def calls_of(path):
    """Return the calls in a script by what they call, as it is written: `write`, `record.write`, `file.write`."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [(ast.unparse(node.func), node) for node in ast.walk(tree) if isinstance(node, ast.Call)]


# What else writes rows: input of fuzzers, of R and of other tools, their logs, and what a long run has done so far.
OTHERS = {"quality/fuzz/corpus.py", "quality/fuzz/dialects.py", "quality/make_logs.py", "quality/mutation.py"}
OTHERS |= {"benchmarks/peers/r_packages.py", "benchmarks/arena/score.py"}
SHARED = ("settings", "recalibration_truth")  # What several studies use, and which writes nothing.


def test_every_table_is_written_by_the_one_module():
    writers = ("csv.DictWriter", "csv.writer", ".to_csv", "json.dump")
    found = {name_of(path) for path in SCRIPTS for call, _ in calls_of(path) if call.endswith(writers)}
    assert found - OTHERS == {"quality/record.py"}


def test_every_writer_gives_what_a_record_holds(record):
    found = set()
    for path in SCRIPTS:
        of_study = path.parent.name == "studies" and path.stem != "study_tables"
        source = path.read_text(encoding="utf-8")
        imports = re.search(r"^(import record|from (record|study_tables) import .*write)", source, re.MULTILINE)
        for name, call in calls_of(path) if imports else ():
            function = name.removeprefix("record.")
            if function in (("write_rows",) if of_study else ("write", "write_rows")):
                given = dict.fromkeys(keyword.arg for keyword in call.keywords if keyword.arg)
                given |= {"command": None} if of_study else {}
                inspect.signature(getattr(record, function)).bind(*call.args, **given)
                found.add(name_of(path))
    assert found >= {name_of(path) for path in (ROOT / "studies").glob("*.py") if path.stem not in SHARED}
    assert len(found) > 60
