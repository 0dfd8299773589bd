"""Run the recipes of `docs/examples` on the platforms themselves.

`nox -s platforms` runs this in an environment of its own, in which `platforms-requirements.txt` is installed; Spark
needs Java. The tests are those of `tests/platforms`.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

from record import table, write

ROOT = Path(__file__).resolve().parent.parent
# What each test shows, by the name of its file and the beginning of its own.
SHOWN = {
    (
        "test_dbt",
        "test_a_second_run",
    ): "dbt: a second run adds the new day only, and an old day is replaced on request; "
    "the ledger of the cells equals that of all rows",
    ("test_dbt", "test_a_failed_gate"): "dbt: a dbt test fails if a gate does",
    ("test_dagster", "test_days"): "Dagster: daily partitions add up to the ledger of all rows, also if a day is "
    "materialized twice; the asset check fails with the gate",
    (
        "test_delta",
        "test_days",
    ): "Delta: the ledger of the table equals that of all rows, also after a day is replaced; "
    "an earlier version is read",
    ("test_spark_streaming", "test_no_case"): "Spark stream: killed (SIGKILL) in the middle of a batch and restarted, "
    "no case is lost or counted twice",
}
POINTS = {"[before]": "; killed before the ledger is written", "[after]": "; killed after that, before Spark commits"}
PLATFORMS = ("dbt-core", "dbt-duckdb", "dagster", "deltalake", "pyspark", "duckdb", "pyarrow")


def results(found: Path) -> Iterator[dict[str, str]]:
    """Yield a row for each test from what pytest wrote."""
    for case in ET.parse(found).iter("testcase"):  # noqa: S314  (pytest wrote it)
        kinds = {child.tag for child in case}
        outcome = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
        file, name = case.attrib["classname"].rsplit(".", 1)[-1], case.attrib["name"]
        what = next(text for (own, start), text in SHOWN.items() if own == file and name.startswith(start))
        what += next((text for end, text in POINTS.items() if name.endswith(end)), "")
        yield {"what": what, "result": outcome, "seconds": f"{float(case.attrib['time']):.0f}"}


def main() -> None:
    """Run the tests and write the record."""
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder) / "tests.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-m", "", "-p", "no:cacheprovider", f"--junitxml={found}"]
        done = subprocess.run([*command, "tests/platforms", *sys.argv[1:]], cwd=ROOT, check=False)  # noqa: S603  (our tests)
        rows = list(results(found))
    passed = sum(row["result"] == "passed" for row in rows)
    write(
        "platforms",
        title="Recipes on the platforms",
        summary=f"{passed} of {len(rows)} tests of the recipes for dbt, Dagster, Delta and Spark streams pass.",
        command="python quality/platforms.py",
        tables=[table("Tests on the real platforms", rows)],
        libraries=("propriety", *PLATFORMS),
    )
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
