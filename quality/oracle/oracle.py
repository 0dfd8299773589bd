"""The oracle, which says where the package answers otherwise than the reference version did.

It makes the same random calls with the wheel of the reference commit, in an environment of its own, and with the code
of this checkout. Numbers must agree to 1e-9, errors in their class. A difference is accepted only if `differences.py`
gives a reason for it; every reason is printed with the number of calls it explains.

usage: python quality/oracle/oracle.py [--calls 2000] [--first 0] [--only QUESTION] [--show N]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from importlib.metadata import version
from pathlib import Path
from typing import Any

from differences import REASONS

REFERENCE = "a7f3cb59"
HERE = Path(__file__).parent
ROOT = HERE.parent.parent
HOME = ROOT / "build" / "oracle"
CLOSE = 1e-9


def environment() -> Path:
    """Return the interpreter of an environment that holds the wheel of the reference, made if it is not there."""
    interpreter, complete = HOME / REFERENCE / "bin" / "python", HOME / REFERENCE / "complete"
    if complete.exists():
        return interpreter
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "source"
        source.mkdir()
        archive = subprocess.run(["git", "-C", str(ROOT), "archive", REFERENCE], check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", str(source)], input=archive, check=True)
        _run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, str(source))
        (wheel,) = Path(folder).glob("propriety-*.whl")
        shutil.rmtree(HOME / REFERENCE, ignore_errors=True)
        _run(sys.executable, "-m", "venv", "--without-pip", str(HOME / REFERENCE))
        pip = (sys.executable, "-m", "pip", "--python", str(interpreter), "install", "--quiet")
        # The same versions as here, so that only our own code can differ.
        _run(*pip, *_installed("numpy", "scipy", "narwhals", "pandas", "polars", "duckdb", "pyarrow", "matplotlib"))
        _run(*pip, "--no-deps", str(wheel))
        complete.touch()
    return interpreter


def _installed(*libraries: str) -> list[str]:
    return [f"{library}=={version(library)}" for library in libraries]


def _run(*words: str) -> None:
    subprocess.run(words, check=True)


def answers(interpreter: str, version: str, numbers: range, *, path: str = "") -> dict[int, dict[str, Any]]:
    """Return the answers of a version, made by two processes."""
    with tempfile.TemporaryDirectory() as folder:
        surroundings = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        middle = (numbers.start + numbers.stop) // 2
        parts = [(numbers.start, middle), (middle, numbers.stop)]
        files = [Path(folder) / f"{first}.jsonl" for first, _ in parts]
        runs = [
            subprocess.Popen(
                [interpreter, str(HERE / "answers.py"), version, str(first), str(last), str(file)], env=surroundings
            )
            for (first, last), file in zip(parts, files, strict=True)
        ]
        if max(run.wait() for run in runs):
            sys.exit(f"The answers of the {version} version could not be made.")
        lines = [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    return {line["number"]: line for line in lines}


def unlike(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Return the paths at which two answers differ."""
    if "error" in before or "error" in after:
        return [] if before.get("error") == after.get("error") else ["error"]
    paths = [*before, *(path for path in after if path not in before)]
    return [path for path in paths if not _agree(before.get(path), after.get(path))]


def _agree(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=CLOSE, abs_tol=CLOSE)
    return bool(one == other)


def main() -> int:
    """Compare the answers, and print what differs and why."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", default="", help="show only differences of this question")
    parser.add_argument("--show", type=int, default=20, help="how many unexplained differences to show")
    given = parser.parse_args()
    numbers = range(given.first, given.first + given.calls)
    # The reference never changes, so its answers are kept until the calls do.
    texts = b"".join(
        path.read_bytes() for name in ("calls", "questions", "inputs", "answers") if (path := HERE / f"{name}.py")
    )
    kept = HOME / f"{hashlib.sha256(texts).hexdigest()[:16]}-{numbers.start}-{numbers.stop}.json"
    if kept.exists():
        before = {int(number): line for number, line in json.loads(kept.read_text(encoding="utf-8")).items()}
    else:
        before = answers(str(environment()), "reference", numbers)
        kept.write_text(json.dumps(before), encoding="utf-8")
    after = answers(sys.executable, "current", numbers, path=str(ROOT / "src"))
    explained: Counter[str] = Counter()
    left: list[tuple[int, list[str]]] = []
    for number in numbers:
        old, new = before[number], after[number]
        paths = unlike(old["entries"], new["entries"])
        reason = next((reason for reason in REASONS if paths and reason.explains(old, new, paths)), None)
        if reason is not None:
            explained[reason.why] += 1
        elif paths:
            left.append((number, paths))
    failed = sum("error" in line["entries"] for line in before.values())
    unexpected = [line for line in after.values() if line["entries"].get("error", "").startswith("unexpected")]
    seconds = [sum(line["seconds"] for line in lines.values()) for lines in (before, after)]
    print(f"{len(numbers):,} calls, of which the reference refuses {failed}")
    print(f"  {seconds[0]:.0f} s then, {seconds[1]:.0f} s now")
    for why, count in explained.most_common():
        print(f"  {count:5d} differ: {why}")
    print(f"  {len(left):5d} differ without a reason; {len(unexpected)} unexpected errors now")
    shown = [(number, paths) for number, paths in left if given.only in before[number]["call"]]
    for number, paths in shown[: given.show]:
        print(f"\n{number}: {before[number]['call']}")
        for path in paths[:6]:
            print(f"    {path}: {before[number]['entries'].get(path)!r} -> {after[number]['entries'].get(path)!r}")
        if paths == ["error"]:
            then, now = (answer[number]["entries"].get("message", "")[:300] for answer in (before, after))
            print(f"    {then!r} -> {now!r}")
        print(f"    {len(paths)} of {len(before[number]['entries'])} entries")
    for line in unexpected[:5]:
        print(f"\nunexpected: {line['number']}: {line['call']}: {line['entries']}")
    return 1 if left or unexpected else 0


if __name__ == "__main__":
    sys.exit(main())
