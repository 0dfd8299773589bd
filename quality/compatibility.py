"""Runs the tests on the oldest versions of the libraries that the package declares.

Run as `python quality/compatibility.py FOLDER`, which makes environments in FOLDER and takes some minutes: one with the
versions of `.ci/oldest.txt`, and beside it each library that trains or computes elsewhere, in its oldest version.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from record import table, write

ROOT = Path(__file__).resolve().parent.parent
OLDEST = ROOT / ".ci" / "oldest.txt"
# What `nox -s oldest` runs: every layer that computes, every container, every stored form.
PARTS = (
    "tables/test_forecast_table.py",
    "tables/test_validation.py",
    "rules/test_golden.py",
    "rules/test_scoring.py",
    "calibration/test_reliability.py",
    "calibration/test_summary.py",
    "decisions/test_net_benefit.py",
    "decisions/test_roc.py",
    "diagnostics",
    "inference",
    "integrations/test_sklearn.py",
    "schemas",
    "stability",
)
# What is installed beside the oldest versions, without what it needs where that is named too, and what tests it.
HEAVY = {
    "xarray": (["xarray==2024.9.0"], "integrations/test_xarray.py"),
    "xgboost": (["xgboost-cpu==2.1.1"], "integrations/test_xgboost.py"),
    "lightgbm": (["lightgbm==4.6.0"], "integrations/test_lightgbm.py"),
    "catboost": (["catboost==1.2.5", "six"], "integrations/test_catboost.py"),
}
WORDS = ("passed", "failed", "skipped")


def environment(folder: Path) -> Path:
    """Make the environment of the oldest versions, if it is not there, and return its interpreter."""
    python = folder / "oldest" / "bin" / "python"
    if not python.exists():
        run(sys.executable, "-m", "venv", folder / "oldest")
        run(python, "-m", "pip", "install", "--quiet", "--requirement", OLDEST)
        run(python, "-m", "pip", "install", "--quiet", "--no-deps", "--editable", ROOT)
    return python


def run(*command: Any, **settings: str) -> int:
    """Run a command, quietly, without the pins of other environments."""
    free = {"PIP_CONSTRAINT": "", "PIP_BUILD_CONSTRAINT": ""}
    words = [os.fspath(word) for word in command]
    return subprocess.run(words, cwd=ROOT, env=os.environ | free | settings, check=False, stdout=sys.stderr).returncode  # noqa: S603


def tested(python: Path, tests: Sequence[str], beside: Path | None) -> Path:
    """Run tests and return what pytest wrote of them."""
    found = python.parents[1] / "tests.xml"
    found.unlink(missing_ok=True)
    path = {} if beside is None else {"PYTHONPATH": os.fspath(beside)}
    places = [ROOT / "tests" / one for one in tests]
    options = ("-q", "-p", "no:cacheprovider", "-n", "2", "-m", "not slow and not engine")
    run(python, "-m", "pytest", *options, f"--junitxml={found}", *places, **path)
    return found


def outcomes(found: Path) -> Iterator[tuple[str, str]]:
    """Yield the folder of each test and what became of it, from what pytest wrote."""
    for case in ET.parse(found).iter("testcase"):  # noqa: S314  (pytest wrote it)
        kinds = {child.tag for child in case}
        outcome = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
        yield case.attrib["classname"].split(".")[1], outcome


def light(python: Path) -> Iterator[dict[str, Any]]:
    """Test the oldest versions together, and count by layer."""
    counts = Counter(outcomes(tested(python, PARTS, None)))
    for part in dict.fromkeys(part for part, _ in counts):
        yield {"what": "all of the versions below", "tests": part} | {word: counts[part, word] for word in WORDS}


def heavy(python: Path, name: str, requirements: Sequence[str], tests: str) -> dict[str, Any]:
    """Test a library that is put beside the environment, so that each is tried alone."""
    folder = python.parents[2] / "heavy" / name
    if not folder.exists():
        run(python, "-m", "pip", "install", "--quiet", "--no-deps", "--target", folder, *requirements)
    counts = Counter(outcome for _, outcome in outcomes(tested(python, [tests], folder)))
    return {"what": requirements[0], "tests": tests} | {word: counts[word] for word in WORDS}


def summary(rows: Sequence[Mapping[str, Any]]) -> str:
    """Say what became of all tests."""
    passed, failed, skipped = (sum(row[word] for row in rows) for word in WORDS)
    return (
        f"On the oldest versions that the package declares, {passed:,} tests pass, {failed:,} fail and {skipped:,} are "
        f"skipped; {len(HEAVY)} libraries are tried beside the others, each alone."
    )


def main() -> None:
    """Test and write the record."""
    python = environment(Path(sys.argv[1]).resolve())
    rows = list(light(python))
    rows += [heavy(python, name, *what) for name, what in HEAVY.items()]
    lines = OLDEST.read_text(encoding="utf-8").splitlines()
    pins = [line.split("==") for line in lines if "==" in line and line.split("==")[0] not in HEAVY]
    write(
        "compatibility",
        title="The oldest versions",
        summary=summary(rows),
        command="python quality/compatibility.py FOLDER",
        tables=[
            table("Tests on the oldest versions", rows),
            table("The oldest versions", [{"library": name, "version": version} for name, version in pins]),
        ],
        notes=[
            "The tests ran on the versions in the tables, not on those with which this record was made.",
            "With LightGBM 4.6 a test fails that passes `eval_X` to its `fit`, which LightGBM has from 4.7 on.",
        ],
    )


if __name__ == "__main__":
    main()
