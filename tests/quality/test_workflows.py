"""The hosted workflows can be read, pin what they use, and run sessions of nox that exist; so do the pages."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PAGES = [*ROOT.glob("*.md"), *(ROOT / ".github").glob("*.md"), *(ROOT / "docs").rglob("*.md")]
PAGES += [ROOT / folder / "README.md" for folder in ("benchmarks", "quality", "studies")]
SESSIONS = set(
    re.findall(r"^@nox\.session.*\ndef (\w+)", (ROOT / "noxfile.py").read_text(encoding="utf-8"), re.MULTILINE)
)


def steps(path):
    yaml = pytest.importorskip("yaml")
    jobs = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]
    return [step for job in jobs.values() for step in job["steps"]]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_every_action_is_pinned_to_a_commit(path):
    used = [step["uses"] for step in steps(path) if "uses" in step]
    assert used
    assert [action for action in used if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", action)] == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_the_sessions_of_a_workflow_exist(path):
    commands = [step["run"] for step in steps(path) if step.get("run", "").startswith("nox ")]
    named = {word for command in commands for word in command.split()[2:]}
    assert named <= SESSIONS


def test_the_tests_marked_nightly_are_run_by_a_workflow_that_has_every_library():
    commands = [step.get("run", "") for step in steps(ROOT / ".github" / "workflows" / "nightly.yml")]
    first = commands.index("nox --session nightly")
    assert {"python -m pip install --editable . --group dev", "npm ci --prefix tests/report"} <= set(commands[:first])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_sessions_that_a_page_names_exist(page):
    assert set(re.findall(r"nox -s ([a-z]+)", page.read_text(encoding="utf-8"))) <= SESSIONS
