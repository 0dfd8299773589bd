"""What the README says about other packages is what the records say, which the scripts in `benchmarks/peers` write."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
RECORDS = sorted(path.stem for path in (ROOT / "quality" / "results").glob("*.json"))


@pytest.fixture(scope="module")
def readme():
    spec = importlib.util.spec_from_file_location("readme", ROOT / "benchmarks" / "peers" / "readme.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_comparison_is_the_one_that_the_records_make(readme):
    assert readme.section() in README


def test_the_comparison_has_a_column_for_every_package_and_at_most_eighteen_rows(readme):
    header, _, *body = readme.table()
    assert len({line.count("|") for line in (header, *body)}) == 1
    assert 0 < len(body) <= 18


def test_what_is_alone_here_is_alone_in_the_records(readme):
    """Count the rows in which only the first package has a mark, and compare with the finding of the record."""
    alone = sum(line.count(readme.YES) == 1 and line.endswith(f"{readme.NO} |") for line in readme.table())
    (said,) = re.findall(r", (\d+) are in none", readme.record("peers_abilities")["summary"])
    assert alone == int(said)


@pytest.mark.parametrize("name", RECORDS)
def test_every_record_is_on_a_page(name):
    pages = [page.read_text(encoding="utf-8") for page in (ROOT / "docs").rglob("*.md")]
    assert any(re.search(rf"^```{{record}} {name}$", page, re.MULTILINE) for page in pages)
