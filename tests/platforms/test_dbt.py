"""An incremental dbt model of cells gives the ledger of all rows, and a dbt test fails if a gate does."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

import propriety as pr

pytest.importorskip("dbt.adapters.duckdb", reason="dbt-duckdb is not installed")
DBT = Path(sys.executable).parent / "dbt"


@pytest.fixture
def project(tmp_path, examples):
    folder = tmp_path / "project"
    shutil.copytree(examples / "dbt", folder)
    return folder


def build(project, cases, **variables):
    """Run all models and tests; return the status of each and what dbt printed."""
    variables = json.dumps({"cases": f"{cases}/*.parquet", **variables})
    command = [DBT, "build", "--project-dir", project, "--profiles-dir", project, "--vars", variables]
    run = subprocess.run([*map(str, command)], cwd=project, capture_output=True, text=True, check=False)  # noqa: S603  (our command)
    results = json.loads((project / "target" / "run_results.json").read_text())["results"]
    return {one["unique_id"].split(".")[2]: one["status"] for one in results}, run.stdout


def cells_of(project):
    with duckdb.connect(str(project / "forecasts.duckdb")) as connection:
        return connection.sql("SELECT * FROM cells").to_arrow_table()


def ledger_of(project):
    return pr.condense(cells_of(project), {"live": "p"}, outcome="y", by=["day", "country", "device"], counts="cases")


def test_a_second_run_adds_the_new_day_only(project, tmp_path, write_day, whole_ledger, assert_same):
    cases = tmp_path / "cases"
    write_day(cases, 1)
    write_day(cases, 2)
    found, printed = build(project, cases)
    assert found["cells"] == found["gates"] == "success", printed
    assert found["no_gate_fails"] == "pass", printed
    first = cells_of(project)
    assert_same(ledger_of(project), whole_ledger(cases))

    # Rows of an old day that arrive later are not read, which shows that only the new day is.
    write_day(cases, 1, cases=3_500)
    write_day(cases, 3)
    assert build(project, cases)[0]["no_gate_fails"] == "pass"
    found = ledger_of(project)
    assert found.n == 9_000
    assert found.where(day=list(found.keys["day"][:2])).n == first.column("cases").to_numpy().sum() == 6_000
    # Unless they are asked for: then the day is replaced.
    build(project, cases, since="2026-11-01")
    assert_same(ledger_of(project), whole_ledger(cases))


def test_a_failed_gate_fails_the_test(project, tmp_path, write_day):
    write_day(tmp_path / "cases", 1, shift=1.0)
    found, printed = build(project, tmp_path / "cases")
    assert found["no_gate_fails"] == "fail", printed
    with duckdb.connect(str(project / "forecasts.duckdb")) as connection:
        failed = connection.sql("SELECT gate FROM gates WHERE failed").fetchall()
    assert ("miscalibrated",) in failed
