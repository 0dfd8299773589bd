"""The page on scale extrapolates the last record of many segments, whatever it says."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


def test_the_totals_follow_from_the_record(monkeypatch):
    pytest.importorskip("pandas")
    pytest.importorskip("jinja2", reason="pandas styles tables with Jinja")
    monkeypatch.chdir(DOCS)
    (cell,) = re.findall(
        r"```\{code-cell\} python\n(?::[^\n]*\n)*\n(.*?)```", (DOCS / "scale.md").read_text("utf-8"), re.DOTALL
    )
    page = {}
    exec(cell, page)  # noqa: S102  (our own page)
    found = page["found"]
    assert list(found) == ["64 cells", "1,024 cells", "8,192 cells"]
    assert found.notna().all(axis=None)
    # By hand: 100,000 segments of 8,192 cells of 40 bytes.
    assert found.loc["partial counts of one node, 40 bytes per cell", "8,192 cells"] == "33 GB"
