"""The README is short, its links lead to files, and what it says about other packages is what the records say."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
RECORDS = sorted(path.stem for path in (ROOT / "quality" / "results").glob("*.json"))
TOP = sorted(ROOT.glob("*.md"))


def features():
    """Return the packages that have each feature, by the record."""
    record = json.loads((ROOT / "quality" / "results" / "peers_abilities.json").read_text(encoding="utf-8"))
    (features,) = record["tables"]
    return {name: {"propriety", *re.findall(r"(\S+) `", others)} for name, _, others in features["rows"]}


def compared():
    """Return the rows of the README's comparison, by feature: a mark or none for each package."""
    header, _, *rows = re.findall(r"^\|.*\|$", README.partition("## How it differs")[2], re.MULTILINE)
    packages = [cell.strip() for cell in header.strip("|").split("|")][1:]
    for row in rows:
        feature, *marks = (cell.strip() for cell in row.strip("|").split("|"))
        yield feature, dict(zip(packages, marks, strict=True))


def test_it_can_be_read_in_a_few_minutes():
    assert len(README.split()) <= 900


def test_the_features_of_other_packages_are_those_of_the_record():
    rows = dict(compared())
    recorded = features()
    assert rows
    for feature, marks in rows.items():
        assert {package for package, mark in marks.items() if mark} == recorded[feature] & set(marks), feature


@pytest.mark.parametrize("page", TOP, ids=lambda page: page.name)
def test_the_links_lead_to_files(page):
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)|src=\"([^\"]+)", page.read_text(encoding="utf-8"))
    files = [target for pair in targets for target in pair if target and not target.startswith("https://")]
    assert [file for file in files if not (page.parent / file).exists()] == []


@pytest.mark.parametrize("name", RECORDS)
def test_every_record_is_on_a_page(name):
    pages = [page.read_text(encoding="utf-8") for page in (ROOT / "docs").rglob("*.md")]
    assert any(re.search(rf"^```{{record}} {name}$", page, re.MULTILINE) for page in pages)
