"""What is published with a release says the same everywhere."""

import json
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = SETTINGS["project"]
RECIPE = (ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8")


def test_every_file_has_the_version_of_the_project():
    citation = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    recipe = re.search(r"^  version: ([\w.]+)$", RECIPE, re.MULTILINE)
    zenodo = json.loads((ROOT / ".zenodo.json").read_text(encoding="utf-8"))
    assert [citation[1], recipe[1], zenodo["version"]] == [PROJECT["version"]] * 3


def test_the_changelog_begins_with_the_version_of_the_project_or_what_is_not_released():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## (\S+)", text, re.MULTILINE)[1]
    assert newest == ("Unreleased" if "dev" in PROJECT["version"] else PROJECT["version"])


def test_the_conda_recipe_has_the_requirements_of_the_project():
    run = re.search(r"^  run:\n((?:    - .+\n)+)", RECIPE, re.MULTILINE)[1]
    listed = {line.strip("- ").replace(" ", "") for line in run.splitlines()}
    assert listed - {"python>=${{python_min}}"} == set(PROJECT["dependencies"])


def test_the_conda_recipe_builds_with_what_the_project_builds_with():
    host = re.search(r"^  host:\n((?:    - .+\n)+)", RECIPE, re.MULTILINE)[1]
    listed = {line.strip("- ").replace(" ", "") for line in host.splitlines()}
    assert listed >= set(SETTINGS["build-system"]["requires"])
