"""The README is short, and its links lead to files."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
RECORDS = sorted(path.stem for path in (ROOT / "quality" / "results").glob("*.json"))
TOP = sorted(ROOT.glob("*.md"))


def test_it_can_be_read_in_a_few_minutes():
    assert len(README.split()) <= 900


@pytest.mark.parametrize("page", TOP, ids=lambda page: page.name)
def test_the_links_lead_to_files(page):
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)|src=\"([^\"]+)", page.read_text(encoding="utf-8"))
    files = [target for pair in targets for target in pair if target and not target.startswith("https://")]
    assert [file for file in files if not (page.parent / file).exists()] == []


@pytest.mark.parametrize("name", RECORDS)
def test_every_record_is_on_a_page(name):
    pages = [page.read_text(encoding="utf-8") for page in (ROOT / "docs").rglob("*.md")]
    assert any(re.search(rf"^```{{record}} {name}$", page, re.MULTILINE) for page in pages)
