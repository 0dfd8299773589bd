"""Gates in a pipeline, run by a shell: exit codes, messages and JUnit are those of docs/how-to/ci_gate.md."""

import os
import subprocess
import sys
from xml.etree import ElementTree as ET

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name == "nt", reason="the shell is that of POSIX")]

SCRIPT = """
propriety() { "$PYTHON" -m propriety "$@"; }
cases="--outcome y --forecast bold --forecast honest --resamples 50 --seed 1"
"""


def shell(folder, line):
    """Run a line in a shell, and return its exit code, its errors and the results in JUnit."""
    done = subprocess.run(  # noqa: S603
        ["/bin/sh", "-c", f"{SCRIPT}\n{line}"],
        check=False,
        capture_output=True,
        text=True,
        cwd=folder,
        env=os.environ | {"PYTHON": sys.executable},
    )
    found = ET.parse(folder / "gates.xml").getroot()[0]  # noqa: S314
    results = [[child.tag for child in case] for case in found]
    return done.returncode, done.stderr.splitlines(), results


def test_gates_pass_fail_or_cannot_be_checked(folder):
    given = "--junit gates.xml >summary.txt"
    code, errors, results = shell(folder, f'propriety evaluate p.csv $cases --fail-if "brier>0.9" {given}')
    assert (code, results) == (0, [["system-out"], ["system-out"]])
    assert [line.split(" is ")[0] for line in errors if "Gate" in line] == [
        *("Gate passed: bold/brier", "Gate passed: honest/brier")
    ]

    line = (
        f'propriety evaluate p.csv $cases --fail-if "bold/brier>honest/brier" --fail-if "n<10" {given} && echo released'
    )
    code, errors, results = shell(folder, line)
    assert (code, results) == (1, [["failure"], ["system-out"]])
    assert "released" not in (folder / "summary.txt").read_text()
    assert any(line.startswith("Gate failed: bold/brier is 0.") for line in errors)

    code, errors, results = shell(folder, f'propriety evaluate p.csv $cases --fail-if "bold/briar>0.1" {given}')
    assert (code, results) == (2, [["error"]])
    assert "Hint: did you mean bold/brier" in errors[-1]

    (folder / "broken.parquet").write_bytes(b"PAR1 cut")
    code, errors, results = shell(folder, f'propriety evaluate broken.parquet $cases --fail-if "brier>0.1" {given}')
    assert (code, results) == (2, [["error"]])
    assert "broken.parquet" in errors[-1]

    code, errors, results = shell(folder, f'propriety evaluate nowhere.csv $cases --fail-if "brier>0.1" {given}')
    assert (code, results, errors[-1]) == (2, [["error"]], "Error: there is no file 'nowhere.csv'.")


def test_a_pipe_with_a_baseline(folder):
    line = (
        "propriety evaluate p.csv $cases --json old.json >/dev/null && cat p.csv | "
        'propriety evaluate - $cases --baseline old.json --fail-if "brier>baseline/brier" --junit gates.xml >/dev/null'
    )
    code, _, results = shell(folder, line)
    assert (code, results) == (0, [["system-out"], ["system-out"]])
