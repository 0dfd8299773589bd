"""Pages say from which commit a record is, or that it does not hold it."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "docs" / "_extensions"))

from record_words import made, study_tables

OLD = {
    "date": "2026-11-17",
    "command": "python a.py",
    "machine": "Linux x86_64, 2 cores",
    "python": "3.11.7",
    "versions": {"numpy": "2.4.6"},
}
MACHINE = {"system": "Debian 12", "processor": "Xeon (x86_64)", "cores": 2, "memory": 16.4}
NEW = OLD | {"commit": "0123456789abcdef", "uncommitted_changes": False, "machine": MACHINE, "seed": 3}


def test_a_record_without_a_commit_says_so():
    assert made(OLD) == (
        "Generated on 2026-11-17 by `python a.py` (commit not recorded) on Linux x86_64, 2 cores, Python 3.11.7; "
        "numpy 2.4.6."
    )


def test_a_record_shows_its_commit_seed_and_machine():
    assert made(NEW) == (
        "Generated on 2026-11-17 by `python a.py` (commit `0123456789`; seed 3) on Debian 12, 2 cores of Xeon (x86_64), "
        "16.4 GB, Python 3.11.7; numpy 2.4.6."
    )
    assert "(commit `0123456789` with uncommitted changes; seed 3)" in made(NEW | {"uncommitted_changes": True})
    assert "Debian 12, 2 cores of Xeon (x86_64), Python" in made(NEW | {"machine": MACHINE | {"memory": None}})


def test_rows_of_earlier_runs_are_told_with_their_commits():
    found = made(NEW | {"earlier": [{}, OLD, NEW | {"commit": "f" * 40}]})
    assert found.endswith(
        " Some rows are of earlier runs: commit not recorded, 2026-11-17 (commit not recorded), "
        "2026-11-17 (commit `ffffffffff`)."
    )


def test_the_tables_of_studies_are_listed_with_their_commits(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_text("n\n1\n")
    (tmp_path / "b.json").write_text(json.dumps(NEW))
    rows = [dict(zip(study_tables(tmp_path)["columns"], row, strict=True)) for row in study_tables(tmp_path)["rows"]]
    assert [row["table"] for row in rows] == ["`a.csv`", "`b.csv`"]
    assert [row["commit"] for row in rows] == ["commit not recorded", "commit `0123456789`"]
    assert (rows[1]["seed"], rows[1]["command"], rows[0]["command"]) == (3, "`python a.py`", "")
