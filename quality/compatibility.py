"""Run the tests on the oldest supported versions of the libraries.

Run as `python quality/compatibility.py FOLDER`, which makes environments in FOLDER and takes some minutes: one with the
versions of `.ci/oldest.txt`, and in addition each training library or engine, in its oldest version. `--part stability`
or `--part xgboost` runs only this part again, and may be repeated; the record keeps the rows of the others.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from record import RESULTS, table, write

ROOT = Path(__file__).resolve().parent.parent
OLDEST = ROOT / ".ci" / "oldest.txt"
# Every layer that computes, every container, every stored form; `nox -s oldest` runs most of it.
PARTS = (
    "tables/test_forecast_table.py",
    "tables/test_validation.py",
    "rules/test_golden.py",
    "rules/test_scoring.py",
    "calibration/test_reliability.py",
    "calibration/test_calibration_test.py",
    "decisions/test_net_benefit.py",
    "decisions/test_roc.py",
    "diagnostics",
    "ledger",
    "inference",
    "products",
    "integrations/test_sklearn.py",
    "schemas",
    "stability",
)
# How the tests are chosen: many at a time without engines, or those on Spark, of which one runs at a time.
PLAIN = ("-n", "2", "-m", "not engine")
SPARK = ("-n", "0", "-m", "", "-k", "spark")
# Not the oldest version that is declared, and what it needs.
TORCH = ("torch==2.13.0", "filelock", "fsspec", "mpmath", "networkx", "sympy", "typing-extensions")
# What is put beside the oldest versions, with what it needs, and what tests it: by the extra or the library.
HEAVY: dict[str, tuple[Any, ...]] = {
    "xarray": (["xarray==2024.9.0"], "integrations/test_xarray.py"),
    "xgboost": (["xgboost-cpu==2.1.1"], "integrations/test_xgboost.py"),
    "lightgbm": (["lightgbm==4.7.0"], "integrations/test_lightgbm.py"),
    "catboost": (["catboost==1.2.5", "six"], "integrations/test_catboost.py"),
    "torchmetrics": (["torchmetrics==1.4.0", "lightning-utilities", *TORCH], "integrations/test_torchmetrics.py"),
    "mlflow": (["mlflow-skinny==3.0.0", "alembic==1.13.0", "sqlalchemy==2.0.0"], "integrations/test_mlflow.py"),
    "lightning": (
        ["lightning==2.4.0", "torchmetrics==1.4.0", "lightning-utilities", "pyyaml", "tqdm", *TORCH],
        "integrations/test_lightning.py",
    ),
    "wandb": (["wandb==0.21.0", "pydantic<2.12"], "integrations/test_wandb.py"),
    "cli": (["duckdb==1.4.1"], "cli"),
    "spark": (["pyspark==3.5.0", "py4j==0.10.9.7"], "engines", SPARK),
}
# What needs so much that pip finds it, within the oldest versions.
NEEDY = {"mlflow", "wandb"}
WORDS = ("passed", "failed", "skipped")


def environment(folder: Path) -> Path:
    """Make the environment of the oldest versions, or bring it up to what is asked, and return its interpreter."""
    python = folder / "oldest" / "bin" / "python"
    if not python.exists():
        run(sys.executable, "-m", "venv", folder / "oldest")
    run(python, "-m", "pip", "install", "--quiet", "--no-deps", "--editable", ROOT)
    run(python, "-m", "pip", "install", "--quiet", "--requirement", OLDEST)
    return python


def run(*command: Any, **settings: str) -> int:
    """Run a command, quietly, without the pins of other environments."""
    free = {"PIP_CONSTRAINT": "", "PIP_BUILD_CONSTRAINT": ""}
    words = [os.fspath(word) for word in command]
    return subprocess.run(words, cwd=ROOT, env=os.environ | free | settings, check=False, stdout=sys.stderr).returncode  # noqa: S603


def tested(python: Path, tests: Sequence[str], beside: Path | None, choice: Sequence[str]) -> Path:
    """Run tests and return what pytest wrote of them."""
    found = python.parents[1] / "tests.xml"
    found.unlink(missing_ok=True)
    path = {} if beside is None else {"PYTHONPATH": os.fspath(beside)}
    places = [ROOT / "tests" / one for one in tests]
    options = ("-q", "-p", "no:cacheprovider", *choice)
    run(python, "-m", "pytest", *options, f"--junitxml={found}", *places, **path)
    return found


def outcomes(found: Path) -> Iterator[tuple[str, str]]:
    """Yield the folder of each test and what became of it, from what pytest wrote."""
    for case in ET.parse(found).iter("testcase"):  # noqa: S314  (pytest wrote it)
        kinds = {child.tag for child in case}
        outcome = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
        _, *parts = case.attrib["classname"].split(".")
        yield parts[0] if parts else case.attrib["name"], outcome  # A file that cannot be imported has no class.


def light(python: Path, parts: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Test the oldest versions together, and count by layer."""
    chosen = [one for one in PARTS if not parts or one.partition("/")[0] in parts]
    counts = Counter(outcomes(tested(python, chosen, None, PLAIN))) if chosen else Counter()
    for part in dict.fromkeys(part for part, _ in counts):
        yield {"what": "all of the versions below", "tests": part} | {word: counts[part, word] for word in WORDS}


def heavy(
    python: Path, name: str, requirements: Sequence[str], tests: str, choice: Sequence[str] = PLAIN
) -> dict[str, Any]:
    """Test a library that is installed outside the environment, so that each is tested separately."""
    folder = python.parents[2] / "heavy" / requirements[0]
    needs = ("--constraint", OLDEST) if name in NEEDY else ("--no-deps",)
    if not folder.exists():
        run(python, "-m", "pip", "install", "--quiet", *needs, "--target", folder, *requirements)
    counts = Counter(outcome for _, outcome in outcomes(tested(python, [tests], folder, choice)))
    return {"what": requirements[0], "tests": tests} | {word: counts[word] for word in WORDS}


def summary(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the number of tests that passed, failed and were skipped."""
    passed, failed, skipped = (sum(row[word] for row in rows) for word in WORDS)
    return (
        f"On the oldest versions that the package supports, {passed:,} tests pass, {failed:,} fail and {skipped:,} are "
        f"skipped; {len(HEAVY)} more libraries are each tested separately."
    )


def earlier() -> list[dict[str, Any]]:
    """Return the rows of the record."""
    stored = json.loads((RESULTS / "compatibility.json").read_text(encoding="utf-8"))["tables"][0]
    return [dict(zip(stored["columns"], row, strict=True)) for row in stored["rows"]]


def main() -> None:
    """Test and write the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--part", action="append", default=[], help="a folder of tests, or a library")
    given = parser.parse_args()
    python, parts = environment(given.folder.resolve()), given.part
    rows = list(light(python, parts))
    rows += [heavy(python, name, *what) for name, what in HEAVY.items() if not parts or name in parts]
    if parts:
        again = {(row["what"], row["tests"]): row for row in rows}
        rows = [again.get((row["what"], row["tests"]), row) for row in earlier()]
    lines = OLDEST.read_text(encoding="utf-8").splitlines()
    pins = [line.split("==") for line in lines if "==" in line and line.split("==")[0] not in HEAVY]
    write(
        "compatibility",
        title="Oldest supported versions",
        summary=summary(rows),
        command="python quality/compatibility.py FOLDER" + "".join(f" --part {part}" for part in parts),
        tables=[
            table("Tests on the oldest supported versions", rows),
            table("Oldest supported versions", [{"library": name, "version": version} for name, version in pins]),
        ],
        notes=[
            "The tests ran on the versions in the tables, not on those listed below.",
            "TorchMetrics and Lightning ran with PyTorch 2.13.0; the oldest supported one, 2.4, was not tried.",
            "Lightning and W&B are not dependencies of the package; the versions are the oldest that its tests allow.",
            "Of the tests of engines, only those on Spark were run.",
        ],
        keeps_rows=bool(parts),
    )


if __name__ == "__main__":
    main()
