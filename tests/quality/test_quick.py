"""`nox -s quick` runs the tests near what changed, and plain pytest leaves out only what the sessions of nox run."""

import importlib.util
import shutil
import subprocess
import sys
import tomllib
import warnings
from pathlib import Path

import pytest

pytest.importorskip("nox")
ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def root(monkeypatch):
    monkeypatch.chdir(ROOT)


@pytest.fixture(scope="session")
def noxfile():
    spec = importlib.util.spec_from_file_location("noxfile", ROOT / "noxfile.py")
    module = importlib.util.module_from_spec(spec)
    with warnings.catch_warnings():  # Another test may have registered the sessions, too.
        warnings.simplefilter("ignore", FutureWarning)
        spec.loader.exec_module(module)
    return module


class Session:
    """Keep the commands that a session would run."""

    posargs = ()

    def __init__(self):
        self.commands = []

    def install(self, *words, **options):
        pass

    def run(self, *words, **options):
        self.commands.append(words)


def test_a_module_is_tested_by_the_tests_of_its_name_and_by_its_examples(noxfile):
    found = noxfile.near(["src/propriety/calibration/bands.py"])
    assert {"tests/calibration/test_bands.py", "src/propriety/calibration/bands.py"} <= set(found)


def test_a_module_is_tested_by_the_tests_of_its_package_that_import_it(noxfile):
    found = noxfile.near(["src/propriety/rules/audit.py"])
    assert "tests/rules/test_search.py" not in found
    assert any(path.startswith("tests/rules/") for path in found)


@pytest.mark.parametrize("path", ["tests/rules/test_golden.py", "README.md", "docs/index.md"])
def test_tests_and_pages_are_run_themselves(noxfile, path):
    assert noxfile.near([path]) == [path]


@pytest.mark.parametrize("path", ["LICENSE", "pyproject.toml", "src/propriety/absent.py", "tests/conftest.py"])
def test_other_files_and_deleted_ones_have_no_tests(noxfile, path):
    assert noxfile.near([path]) == []


def test_quick_leaves_out_what_needs_an_absent_library(noxfile, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(noxfile, "changed", lambda: ["src/propriety/integrations/torch.py", "docs/index.md"])
    doing = Session()
    noxfile.quick(doing)
    (command,) = (words for words in doing.commands if "pytest" in words)
    assert "docs/index.md" in command
    assert not [word for word in command if "torch" in word]


@pytest.mark.parametrize("stub", ["__init__.pyi", "results.pyi"])
def test_a_stub_is_tested_by_the_tests_of_public_names(noxfile, stub):
    found = noxfile.near([f"src/propriety/{stub}"])
    assert set(noxfile.OF_PUBLIC_NAMES) < set(found)
    assert f"src/propriety/{stub.removesuffix('i')}" in found
    assert all((ROOT / path).exists() for path in found)


@pytest.fixture
def repository(monkeypatch, tmp_path):
    """A repository whose branch `main` has two commits; the function commits a file."""
    if shutil.which("git") is None:
        pytest.skip("Git is not installed")
    monkeypatch.chdir(tmp_path)
    git("init", "--quiet", "--initial-branch", "main")
    commit("first.py")
    commit("second.py")


def git(*words):
    options = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    subprocess.run(("git", *options, *words), check=True, capture_output=True)  # noqa: S603, S607


def commit(name):
    Path(name).write_text("1\n")
    git("add", name)
    git("commit", "--quiet", "--message", name)


def test_a_branch_is_compared_with_where_it_left_main(noxfile, repository):
    git("switch", "--quiet", "--create", "work")
    commit("third.py")
    commit("fourth.py")
    Path("new.py").touch()
    assert sorted(noxfile.changed()) == ["fourth.py", "new.py", "third.py"]
    git("switch", "--quiet", "main")
    commit("elsewhere.py")
    git("switch", "--quiet", "work")
    assert sorted(noxfile.changed()) == ["fourth.py", "new.py", "third.py"]


def test_on_main_it_is_the_last_commit_or_what_is_not_committed_yet(noxfile, repository):
    assert noxfile.changed() == ["second.py"]
    Path("first.py").write_text("2\n")
    assert noxfile.changed() == ["first.py"]


def test_of_a_merge_on_main_it_is_all_that_was_merged(noxfile, repository):
    git("switch", "--quiet", "--create", "work", "HEAD~1")
    commit("third.py")
    commit("fourth.py")
    git("switch", "--quiet", "main")
    git("merge", "--quiet", "--no-ff", "--message", "merge", "work")
    assert sorted(noxfile.changed()) == ["fourth.py", "third.py"]


def test_commits_on_main_that_are_not_pushed_are_compared_with_origin(noxfile, repository):
    git("update-ref", "refs/remotes/origin/main", "HEAD")
    assert noxfile.changed() == ["second.py"]
    commit("third.py")
    commit("fourth.py")
    assert sorted(noxfile.changed()) == ["fourth.py", "third.py"]


def test_a_first_commit_and_a_folder_without_a_repository_have_no_changes(noxfile, repository, monkeypatch, tmp_path):
    git("checkout", "--quiet", "-B", "main", "HEAD~1")
    assert noxfile.changed() == []
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    (tmp_path / ".git").rename(tmp_path / "other")
    assert noxfile.changed() == []


def test_quick_starts_no_test_after_its_time(tmp_path):
    shutil.copy(ROOT / "conftest.py", tmp_path)
    (tmp_path / "test_time.py").write_text(
        "import time\n\ndef test_first():\n    time.sleep(0.3)\n\ndef test_second():\n    assert False\n"
    )
    run = (sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "--rootdir", ".", "--start-for=0.1")
    done = subprocess.run(run, cwd=tmp_path, check=False, capture_output=True, text=True)  # noqa: S603
    assert done.returncode == 0, done.stdout
    assert "1 passed, 1 skipped" in done.stdout
    assert "0.1 seconds are over: `nox -s tests` runs it" in done.stdout


def test_the_fast_tests_are_there(noxfile):
    assert all((ROOT / path).exists() for path in (*noxfile.FAST, *noxfile.OLDEST))


@pytest.mark.parametrize(("session", "mark"), [("tests", "not engine and not nightly"), ("engines", "not nightly")])
def test_the_sessions_run_the_slow_tests(noxfile, session, mark):
    """The last `-m` counts, so that of a session replaces the one that plain pytest has."""
    doing = Session()
    getattr(noxfile, session)(doing)
    (command,) = (words for words in doing.commands if "pytest" in words)
    assert command[command.index("-m", command.index("pytest")) + 1] == mark


def test_plain_pytest_leaves_out_what_is_slow_and_engines():
    options = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]["addopts"]
    assert options[options.index("-m") + 1] == "not slow and not simulation and not engine and not nightly"


class Item:
    """A case of a parametrized test, as pytest hands it to the hook that chooses."""

    callspec, path, originalname = object(), ROOT, "test"

    def __init__(self, place, mark):
        self.nodeid, self.marks = f"test[{place}]", [mark]

    def get_closest_marker(self, name):
        return name if name in self.marks else None

    def add_marker(self, mark):
        self.marks.append(mark.name)


@pytest.mark.parametrize(("mark", "left"), [("simulation", 3), ("slow", 20), ("engine", 20)])
def test_only_simulations_are_thinned(mark, left):
    spec = importlib.util.spec_from_file_location("tests_conftest", ROOT / "tests" / "conftest.py")
    choosing = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(choosing)
    chosen = []
    for _ in range(2):
        items = [Item(place, mark) for place in range(20)]
        choosing.pytest_collection_modifyitems(items)
        chosen.append([item.nodeid for item in items if "nightly" not in item.marks])
    assert len(chosen[0]) == left
    assert chosen[0] == chosen[1]
