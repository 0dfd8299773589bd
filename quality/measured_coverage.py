"""Coverage of the package: the share of its lines and branches that the tests execute.

Run with `pip install coverage`, then `python quality/measured_coverage.py`; it takes as long as the tests. Hypothesis
draws few examples, because more of them reach the same lines. Engines that need a server or a cluster are not run.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tomllib
from collections import defaultdict
from pathlib import Path
from typing import Any

from record import table, write

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = 10  # Of Hypothesis, for each law.
QUICK = f"""
from hypothesis import settings


def pytest_sessionstart():
    profile = settings(settings.default, max_examples={EXAMPLES}, derandomize=True, database=None)
    settings.register_profile("coverage", profile)
    settings.load_profile("coverage")
"""
SERVERLESS = "not spark and not postgres and not cluster"


def configure(folder: Path) -> Path:
    """Write the project's own settings of coverage with what is needed to follow processes that the tests start."""
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["coverage"]
    # The workers of pytest-xdist leave by os._exit, at which coverage would not write what it has.
    run = {**tool["run"], "parallel": True, "patch": ["subprocess", "_exit"], "data_file": str(folder / "data")}
    parts = {"run": run, "report": tool["report"], "json": {"output": str(folder / "coverage.json")}}
    lines = []
    for name, part in parts.items():
        # The values are booleans, strings and lists of strings, which JSON and TOML write alike.
        lines += [f"[tool.coverage.{name}]", *(f"{key} = {json.dumps(value)}" for key, value in part.items())]
    path = folder / "coverage.toml"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def measure(folder: Path, jobs: int) -> dict[str, Any]:
    """Run the tests under coverage and return what coverage says in its own words."""
    for old in folder.glob("data*"):
        old.unlink()
    rules = f"--rcfile={configure(folder)}"
    (folder / "few_examples.py").write_text(QUICK, encoding="utf-8")
    paths = [str(folder), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    pytest = (*("-m", "pytest", "-q", "-p", "no:cacheprovider"), *("-p", "few_examples"))
    runs = (
        ("run", rules, *pytest, "-n", str(jobs), "-m", "not engine"),
        ("run", rules, *pytest, "-m", "", "tests/engines", "-k", SERVERLESS),
        ("combine", rules),
        ("json", rules),
    )
    for arguments in runs:
        # A failing test is not the matter here: what it ran through counts all the same.
        command = [sys.executable, "-m", "coverage", *arguments]
        subprocess.run(command, check=arguments[0] != "run", cwd=ROOT, env=environment)  # noqa: S603  (made here)
    return json.loads((folder / "coverage.json").read_text(encoding="utf-8"))


def layers(files: dict[str, Any]) -> dict[str, dict[str, int]]:
    """Add up the files of each layer of the package."""
    sums: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for name, file in files.items():
        inside = Path(name).parts[Path(name).parts.index("propriety") + 1 :]
        for key in ("num_statements", "covered_lines", "num_branches", "covered_branches"):
            sums[Path(inside[0]).stem.removeprefix("__init__") or "the package itself"][key] += file["summary"][key]
    return dict(sorted(sums.items()))


def row(name: str, counts: dict[str, int]) -> dict[str, Any]:
    """Make a row of the table, with lines and branches together as coverage itself counts them."""
    covered = counts["covered_lines"] + counts["covered_branches"]
    every = counts["num_statements"] + counts["num_branches"]
    return {
        "layer": name,
        "lines": counts["num_statements"],
        "lines covered": counts["covered_lines"],
        "branches": counts["num_branches"],
        "branches covered": counts["covered_branches"],
        "share": percent(covered, every),
    }


def percent(part: int, whole: int) -> str:
    """Write a share with one decimal; what has no lines is covered."""
    return f"{100.0 * part / whole if whole else 100.0:.1f} %"


def gaps(files: dict[str, Any]) -> list[dict[str, str]]:
    """Name what no test executes, by file: lines, and jumps from one line to another."""
    found = []
    for name, file in files.items():
        jumps = [
            f"{a}->{'exit' if b < 0 else b}" for a, b in file["missing_branches"] if a not in file["missing_lines"]
        ]
        if file["missing_lines"] or jumps:
            inside = Path(*Path(name).parts[Path(name).parts.index("propriety") + 1 :]).as_posix()
            found.append({"file": inside, "not executed": ", ".join([*map(str, file["missing_lines"]), *jumps])})
    return found


def main() -> None:
    """Measure and write the record."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "coverage", help="where the data are kept")
    parser.add_argument("--jobs", type=int, default=2, help="how many processes to use")
    options = parser.parse_args()
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    found = measure(folder, options.jobs)
    totals = found["totals"]
    lines = percent(totals["covered_lines"], totals["num_statements"])
    branches = percent(totals["covered_branches"], totals["num_branches"])
    rows = [row(name, counts) for name, counts in layers(found["files"]).items()]
    write(
        "coverage",
        title="Coverage",
        summary=f"The tests execute {lines} of the lines and {branches} of the branches of the package, "
        f"{totals['percent_covered']:.1f} % of both together.",
        command="python quality/measured_coverage.py",
        tables=[
            table("Lines and branches by layer", [*rows, row("all", totals)]),
            table("Lines, and jumps from one line to another, that no test executes", gaps(found["files"])),
        ],
        libraries=("propriety", "coverage", "pytest", "hypothesis"),
        notes=[
            f"Hypothesis draws {EXAMPLES} examples for each property test, unless the test sets another number.",
            (
                "Tests that need a server or a cluster are not run; code that only Spark or PostgreSQL would reach "
                "counts as not covered."
            ),
        ],
    )


if __name__ == "__main__":
    main()
