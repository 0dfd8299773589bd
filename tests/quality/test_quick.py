"""`nox -s quick` runs the tests near what changed, and plain pytest leaves out only what the sessions of nox run."""

import importlib.util
import tomllib
from pathlib import Path

import pytest

pytest.importorskip("nox")
ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def root(monkeypatch):
    monkeypatch.chdir(ROOT)


@pytest.fixture(scope="module")
def noxfile():
    spec = importlib.util.spec_from_file_location("noxfile", ROOT / "noxfile.py")
    module = importlib.util.module_from_spec(spec)
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
    found = noxfile.near(["src/propriety/rules/search.py"])
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
    assert options[options.index("-m") + 1] == "not slow and not engine and not nightly"
