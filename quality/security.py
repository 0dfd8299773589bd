"""Is the package safe to use? Scanners of the source, its workflows and its libraries, and hostile files.

Run as `python quality/security.py`, with what quality/security-requirements.txt lists on the path, or in the folder
that `--tools` names; takes some minutes. Each hostile file is given to the command line in a separate process, whose
time and memory are measured.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import csv, feather, parquet
from record import IN_THE_SCRIPT, table, write

HOME = Path(__file__).resolve().parent.parent
COLUMNS = ("--outcome", "y", "--forecast", "p", "--seed", "1", "--resamples", "20")
REFUSED = 2
SECONDS, MEGABYTES = 300, 1000  # What none may need.
ROWS = 12_345  # A number whose bytes stand nowhere else in a footer.
MILLION = 1_000_000


class Ended(NamedTuple):
    """How a process ended, and what it took."""

    code: int
    seconds: float
    megabytes: float
    errors: str


# The scanners.


def scans(tools: Path | None) -> Iterator[dict[str, Any]]:
    """Yield what each scanner found; a finding that is not justified beside its line stops the record."""
    # Ruff checks asserts; each that remains has a reason in a comment.
    found = json.loads(output(tools, "bandit", "--quiet", "--recursive", "--skip", "B101", "--format", "json", "src"))
    lines, justified = (found["metrics"]["_totals"][name] for name in ("loc", "skipped_tests"))
    yield row("bandit", tools, f"src, {lines:,} lines", len(found["results"]), justified)
    workflows = sorted(path.name for path in (HOME / ".github").rglob("*.yml"))
    found = json.loads(output(tools, "zizmor", "--offline", "--format", "json", ".github"))
    yield row("zizmor", tools, ", ".join(workflows), len(found), 0)
    yield audited(tools)


def row(tool: str, tools: Path | None, what: str, findings: int | str, justified: int) -> dict[str, Any]:
    """Return a row of the record."""
    if findings and not isinstance(findings, str):
        raise SystemExit(f"{tool}: {findings} findings")
    version = output(tools, tool, "--version").split("\n")[0].split()[-1]
    return {
        "scanner": f"{tool} {version}",
        "over": what,
        "findings": findings,
        "justified beside their line": justified,
    }


def audited(tools: Path | None) -> dict[str, Any]:
    """Ask which pinned libraries have known weaknesses."""
    pins = ("--requirement", ".ci/constraints.txt", "--no-deps", "--disable-pip")
    told = output(tools, "pip-audit", *pins, "--format", "json", "--progress-spinner", "off")
    libraries = json.loads(told)["dependencies"] if told.startswith("{") else []
    known = [one for one in libraries if "skip_reason" not in one]
    found = sum(len(one["vulns"]) for one in known)
    answer: int | str = found if known else "not known: its service cannot be reached from here"
    return row("pip-audit", tools, f"{len(libraries)} pinned libraries, {len(known)} of them looked up", answer, 0)


def output(tools: Path | None, tool: str, *arguments: str) -> str:
    """Return what a tool says; its exit code tells only whether it found something."""
    path = shutil.which(tool, path=None if tools is None else os.fspath(tools))
    if path is None:
        raise SystemExit(f"{tool} is not installed; see quality/security-requirements.txt")
    given = subprocess.run([path, *arguments], cwd=HOME, capture_output=True, text=True, check=False)  # noqa: S603
    return given.stdout


def parts(tools: Path | None, folder: Path) -> list[dict[str, Any]]:
    """Build the wheel, install it alone and list what came with it, as the release does."""
    output(tools, "pyproject-build", "--outdir", os.fspath(folder))
    (wheel,) = folder.glob("*.whl")
    python = (sys.executable, "-m")
    alone = os.fspath(folder / "alone")
    for step in (("venv", "--without-pip", alone), ("pip", "--python", alone, "install", "--quiet", os.fspath(wheel))):
        subprocess.run([*python, *step], check=True, capture_output=True)  # noqa: S603
    listed = folder / "propriety.cdx.json"
    output(tools, "cyclonedx-py", "environment", alone, "--pyproject", "pyproject.toml", "-o", os.fspath(listed))
    sbom = json.loads(listed.read_text(encoding="utf-8"))
    form = f"{sbom['bomFormat']} {sbom['specVersion']}"
    return [{"part": one["name"], "version": one["version"], "listed as": form} for one in sbom["components"]]


# Files made to harm.


def repeated(compress: Callable[[bytes], bytes], times: int) -> bytes:
    """Return so many compressed parts of 96 MB of cases each; readers take them for one text."""
    return compress(b"y,p\n") + compress(b"1,0.5\n" * 16_000_000) * times


def zstd(text: bytes) -> bytes:
    """Compress as zstd does."""
    kept = pa.BufferOutputStream()
    with pa.CompressedOutputStream(kept, "zstd") as file:
        file.write(text)
    return bytes(kept.getvalue())


def wide(columns: int) -> pa.Table:
    """Return two cases among so many columns."""
    names = ["y", "p", *(f"c{place}" for place in range(columns - 2))]
    return pa.Table.from_arrays([pa.array([0, 1]), pa.array([0.2, 0.8]), *[pa.array([1, 1])] * (columns - 2)], names)


def write_wide_text(path: Path) -> None:
    """Write two cases among a million columns as text."""
    names = ",".join(["y", "p", *(f"c{place}" for place in range(MILLION - 2))])
    rows = [f"{place},0.5," + ",".join(["1"] * (MILLION - 2)) for place in (0, 1)]
    path.write_text("\n".join([names, *rows, ""]), encoding="ascii")


def varint(number: int) -> bytes:
    """Write a number as Thrift does: sign last, seven bits to a byte."""
    rest, written = number << 1, []
    while rest > 127:
        written.append(rest & 127 | 128)
        rest >>= 7
    return bytes([*written, rest])


def write_lie(path: Path, *, places: int) -> None:
    """Write a Parquet file whose footer claims 2^40 rows, in its first places or in all of them (-1)."""
    rng = np.random.default_rng(1)
    parquet.write_table(pa.table({"y": rng.integers(0, 2, ROWS), "p": rng.random(ROWS)}), path)
    content = path.read_bytes()
    size = struct.unpack("<I", content[-8:-4])[0]
    footer = content[-8 - size : -8].replace(varint(ROWS), varint(2**40), places)
    path.write_bytes(content[: -8 - size] + footer + struct.pack("<I", len(footer)) + b"PAR1")


def write_metadata(path: Path) -> None:
    """Write two cases with 50 MB of somebody's metadata."""
    parquet.write_table(pa.table({"y": [0, 1], "p": [0.2, 0.8]}).replace_schema_metadata({"a": "x" * 50_000_000}), path)


def write_circles(path: Path) -> None:
    """Write cases among links in a circle, which give them more paths than can be walked."""
    path.mkdir()
    (path / "p.csv").write_text("y,p\n1,0.5\n", encoding="ascii")
    for name in ("one", "two"):
        (path / name).symlink_to(".", target_is_directory=True)


HARM: Mapping[str, Callable[[Path], object]] = {
    "gzip of 3.8 GB of cases": lambda path: path.write_bytes(repeated(gzip.compress, 40)),
    "zstd of 3.8 GB of cases": lambda path: path.write_bytes(repeated(zstd, 40)),
    "gzip of one line of 2 GB": lambda path: path.write_bytes(
        gzip.compress(b"y,p\n1,") + gzip.compress(b"0" * 10**8) * 20
    ),
    "one line of 100 MB": lambda path: path.write_bytes(b"y,p\n1," + b"9" * 10**8),
    "a quote that never ends, 96 MB": lambda path: path.write_bytes(b'y,p\n0,"' + b"1,0.5\n" * 16_000_000),
    "text of a million columns": write_wide_text,
    "text of 20,000 columns": lambda path: csv.write_csv(wide(20_000), path),
    "Arrow of a million columns": lambda path: feather.write_feather(wide(MILLION), path, compression="uncompressed"),
    "Parquet of 50,000 columns": lambda path: parquet.write_table(wide(50_000), path),
    "Parquet with 50 MB of metadata": write_metadata,
    "Parquet: the file claims 2^40 rows": lambda path: write_lie(path, places=1),
    "Parquet: all claim 2^40 rows": lambda path: write_lie(path, places=-1),
    "links in a circle, named by a glob": write_circles,
}


def attacks(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield how the command line ended on each hostile file, after an honest one for comparison."""
    rng = np.random.default_rng(1)
    path = folder / "x"
    np.savetxt(path, np.c_[np.arange(1000) % 2, rng.random(1000)], delimiter=",", header="y,p", comments="")
    yield attack("1000 honest cases", path, code=0)
    for name, make in HARM.items():
        path.unlink()
        make(path)
        yield attack(name, path)
        if path.is_dir():
            shutil.rmtree(path)
            path.touch()
    with Path("/dev/zero").open("rb") as zeros:
        yield attack("zeros without end, piped in", None, stdin=zeros)


def attack(name: str, path: Path | None, *, code: int = REFUSED, **options: Any) -> dict[str, Any]:
    """Give a file to the command line; anything but one line of error in bounded time and memory stops the record."""
    where = "-" if path is None else f"{path}/**/*.csv" if path.is_dir() else os.fspath(path)
    size = 0 if path is None or path.is_dir() else path.stat().st_size
    ended = measured("evaluate", where, *COLUMNS, **options)
    one_line = ended.errors.startswith("Error: ") and ended.errors.count("\n") == 1
    if ended.code != code or (code and not one_line) or ended.megabytes > MEGABYTES:
        raise SystemExit(f"{name}: {ended}")
    told = ended.errors.removeprefix("Error: ").strip().replace(where.removesuffix("/**/*.csv"), "x" if path else where)
    return {
        "what": name,
        "size": f"{size / 1e6:,.1f} MB" if size else "",
        "exit code": ended.code,
        "seconds": round(ended.seconds, 1),
        "peak memory": f"{ended.megabytes:.0f} MB",
        "what it said": "the answer" if not code else told if len(told) < 160 else f"{told[:70]} ... {told[-70:]}",
    }


def measured(*arguments: str, **options: Any) -> Ended:
    """Run the command line in a process of its own."""
    begin, megabytes = time.monotonic(), 0.0
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", "propriety", *arguments], stdout=subprocess.DEVNULL, stderr=errors, **options
        )
        while process.poll() is None:
            megabytes = max(megabytes, peak(process.pid))
            if time.monotonic() - begin > SECONDS:
                process.kill()
            time.sleep(0.01)
        errors.seek(0)
        return Ended(process.returncode, time.monotonic() - begin, megabytes, errors.read())


def peak(process: int) -> float:
    """Return the most memory that a process has had, in MB; `resource` would include the memory of its parent."""
    try:
        facts = Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0.0
    return sum(float(line.split()[1]) / 1000 for line in facts if line.startswith("VmHWM"))


def summary(scanned: list[dict[str, Any]], attacked: list[dict[str, Any]]) -> str:
    """Return what was found."""
    known = [one["scanner"].split()[0] for one in scanned if one["findings"] == 0]
    unknown = [one["scanner"].split()[0] for one in scanned if one["findings"] != 0]
    asked = f" {' and '.join(unknown)} could not be run without network access." if unknown else ""
    hostile = [one for one in attacked if one["exit code"] == REFUSED]
    longest, largest = (
        max(one["seconds"] for one in hostile),
        max(int(one["peak memory"].split()[0]) for one in hostile),
    )
    return (
        f"{' and '.join(known)} have no findings except those justified in a comment.{asked} Each of {len(hostile)} "
        f"hostile files leads to an error message of one line and exit code {REFUSED}, in at most {longest:g} s and "
        f"with at most {largest} MB of memory."
    )


def main() -> None:
    """Scan, list, attack, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", type=Path, help="folder of the scanners")
    tools = parser.parse_args().tools
    scanned = list(scans(tools))
    with tempfile.TemporaryDirectory() as name:
        listed = parts(tools, Path(name))
    with tempfile.TemporaryDirectory() as name:
        attacked = list(attacks(Path(name)))
    write(
        "security",
        title="Security",
        summary=summary(scanned, attacked),
        command="python quality/security.py",
        tables=[
            table("What the scanners found.", scanned),
            table("Packages that the wheel installs without extras, from its SBOM.", listed),
            table("Hostile files given to `propriety evaluate`, each in a separate process.", attacked),
        ],
        libraries=("propriety", "numpy", "pyarrow", "duckdb", "click"),
        seed=IN_THE_SCRIPT,
        notes=[
            "The source uses no pickle, `eval`, `exec`, shell or network: see `tests/quality/test_source.py`.",
            "Hostile names in the report are tested in a browser: `tests/report/test_browser.py`.",
            "Times include the start of Python, and depend on the load of the machine.",
            "The hosted checks also look up known vulnerabilities of the libraries every week.",
        ],
    )


if __name__ == "__main__":
    main()
