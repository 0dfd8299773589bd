"""The sites of several versions are published side by side."""

import json
import runpy
from pathlib import Path

publish = runpy.run_path(Path(__file__).parents[2] / "docs" / "publish.py")["publish"]


def test_versions_are_listed_from_the_newest_release(tmp_path):
    built, site = tmp_path / "built", tmp_path / "site"
    built.mkdir()
    site.mkdir()
    (built / "index.html").write_text("page")
    for name in ("v0.9.0", "main", "v0.10.0", "v0.9.0"):
        publish(built, site, name, "https://example.org")
    rows = json.loads((site / "versions.json").read_text())
    assert [row["version"] for row in rows] == ["0.10.0", "0.9.0", "dev"]
    assert rows[0]["url"] == "https://example.org/0.10.0/"
    assert "url=0.10.0/" in (site / "index.html").read_text()
    assert (site / "dev" / "index.html").read_text() == "page"
