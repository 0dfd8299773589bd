"""A study that is run writes its table, and beside it the command, the commit, the machine and the seed."""

import csv
import json
import sys

import pytest
from loading import load

STUDIES = [
    ("assel", "--cells", "500", None),
    ("times", "--replicates", "2", "fixed in the script"),
]


@pytest.mark.parametrize(("name", "option", "value", "seed"), STUDIES, ids=[name for name, *_ in STUDIES])
def test_a_table_is_written_with_how_it_was_made(monkeypatch, tmp_path, name, option, value, seed):
    study = load(name)
    monkeypatch.setattr(sys.modules["study_tables"], "RESULTS", tmp_path)
    monkeypatch.setattr(sys, "argv", [f"studies/{name}.py", option, value])
    study.main()
    with (tmp_path / f"{name}.csv").open(newline="") as file:
        assert len(list(csv.DictReader(file))) > 3
    how = json.loads((tmp_path / f"{name}.json").read_text())
    assert how["command"] == f"python studies/{name}.py {option} {value}"
    assert how["seed"] == seed
    assert {"date", "commit", "uncommitted_changes", "machine", "python", "versions"} <= set(how)
