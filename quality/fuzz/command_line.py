"""Hostile files given to the commands: the answer, or one line of error with its exit code; never a traceback.

Sound cases, however they are written, must come back as the table that is summed up here case by case.
"""

from __future__ import annotations

import functools
import gzip
import math
import os
import re
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
from click.testing import CliRunner, Result
from drawing import Drawing
from pyarrow import parquet
from stored import mutated

import propriety as pr
from propriety.cli.program import program

__all__ = ["check_table", "folder_of_its_own", "one", "run_command", "sound_file"]

NAMES = ("y", "p", "q", "w", "g")
CELLS = (
    "",
    "0",
    "1",
    "0.5",
    "nan",
    "NA",
    "inf",
    "1e400",
    "-1",
    "2",
    "a",
    '"',
    '"a,b"',
    "'",
    "true",
    "0x1",
    "1,5",
    "\0",
    "ä",
)
READ = ("--outcome", "y", "--forecast", "p")
SEEDED = ("--seed", "1", "--resamples", "9")
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("condense", *READ, "-o", "out"),
    ("condense", *READ, "--weight", "w", "--missing", "drop", "-o", "out"),
    ("condense", *READ, "--cells", "8", "--null", "NA", "--by", "g", "-o", "out"),
    ("condense", "--outcome", "g", "--forecast", "q", "--pos-label", "a", "-o", "out"),
    ("evaluate", *READ, *SEEDED),
    ("evaluate", *READ, "--forecast", "q", "--by", "g", "--json", "-", *SEEDED),
    ("evaluate", "--outcome", "g", "--forecast", "m=p,q", "--classes", "a,b", "--missing", "drop", *SEEDED),
    ("evaluate", *SEEDED),
    ("compare", *READ, "--forecast", "q", "--cluster", "g", "--weight", "w", *SEEDED),
    ("merge", "-o", "out.parquet"),
    ("merge", "--cells", "4", "-o", "out.parquet"),
)


def one(data: bytes) -> None:
    """Run a command on the file that the bytes say."""
    drawing = Drawing(data)
    how = drawing.number(7)
    with folder_of_its_own() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # As at a terminal, where Python shows none of a library's.
        if how == 0:
            _sound_cases(drawing, folder)
            return
        command = drawing.choice(COMMANDS)
        content = {1: _text, 2: _rest, 3: _rest}.get(how, _mutated_file)(drawing)
        (folder / "in").write_bytes(content)
        run_command(command[0], "in", *command[1:])


def run_command(*arguments: str) -> Result:
    """Run a command, which must end as it says that it ends."""
    result = CliRunner().invoke(program, list(arguments))
    errors = result.stderr
    if result.exit_code not in (0, 1, 2) or "Traceback" in errors:
        message = f"exit code {result.exit_code}: {errors}"
        raise AssertionError(message)
    # With --junit, the error is written to that file too.
    errors = re.sub(r"\AWritten: .*\n(?=Error: )", "", errors)
    refused = errors.startswith("Error: ") and errors.count("\n") == 1 and result.stdout == "" and len(errors) > 12
    if result.exit_code == 2 and not refused:
        message = f"a refusal that is not one line: {errors!r} {result.stdout!r}"
        raise AssertionError(message)
    return result


def _sound_cases(drawing: Drawing, folder: Path) -> None:
    """Write sound cases in some format, and compare the table made of them."""
    n = 1 + drawing.number(30)
    y = [drawing.number(1) for _ in range(n)]
    p = [drawing.probability() for _ in range(n)]
    w = [float(drawing.number(3)) for _ in range(n)] if drawing.number(1) else None
    columns: dict[str, list[Any]] = {"y": y, "p": p} | ({} if w is None else {"w": w})
    (folder / "in").write_bytes(drawing.choice(list(WRITERS.values()))(columns))
    result = run_command("condense", "in", *READ, *([] if w is None else ["--weight", "w"]), "-o", "out")
    weights = [1.0] * n if w is None else w
    if not any(weights):
        _require(result.exit_code == 2, "cases without weight are counted")
        return
    _require(result.exit_code == 0, f"sound cases are refused: {result.stderr}")
    check_table("out", y, p, weights)


def check_table(folder: str, y: list[int], p: list[float], weights: list[float]) -> None:
    """Compare the table of a ledger with one that is summed up case by case."""
    table = pr.Ledger.from_parquet(folder).table()
    expected: dict[float, list[float]] = {}
    for event, forecast, weight in zip(y, p, weights, strict=True):
        if weight > 0.0:
            expected.setdefault(forecast, [0.0, 0.0])[1 - event] += weight
    found = dict(
        zip(table.forecast.tolist(), zip(table.events.tolist(), table.non_events.tolist(), strict=True), strict=True)
    )
    _require(found == {forecast: tuple(held) for forecast, held in expected.items()}, f"the table is {found}")
    _require(table.n == sum(weight > 0.0 for weight in weights) and table.dropped == 0, "the counts of the table")
    losses = [weight * (forecast - event) ** 2 for event, forecast, weight in zip(y, p, weights, strict=True)]
    _require(math.isclose(pr.brier_score(table), math.fsum(losses) / math.fsum(weights), rel_tol=1e-11), "the score")


def _require(holds: object, what: str) -> None:
    if not holds:
        raise AssertionError(what)


def _csv(columns: dict[str, list[Any]], *, comma: str = ",", end: str = "\n") -> bytes:
    rows = [columns, *zip(*columns.values(), strict=True)]
    return "".join(comma.join(map(str, row)) + end for row in rows).encode()


def _arrow(columns: dict[str, list[Any]], *, stream: bool = False) -> bytes:
    table = pa.table(columns)
    sink = pa.BufferOutputStream()
    with (pa.ipc.new_stream if stream else pa.ipc.new_file)(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _parquet(columns: dict[str, list[Any]]) -> bytes:
    sink = pa.BufferOutputStream()
    parquet.write_table(pa.table(columns), sink)
    return bytes(sink.getvalue())


WRITERS: dict[str, Callable[[dict[str, list[Any]]], bytes]] = {
    "csv": _csv,
    "semicolons": functools.partial(_csv, comma=";"),
    "tabs": functools.partial(_csv, comma="\t", end="\r\n"),
    "gzip": lambda columns: gzip.compress(_csv(columns), mtime=0),
    "parquet": _parquet,
    "arrow": _arrow,
    "stream": functools.partial(_arrow, stream=True),
}


@functools.cache
def sound_file(which: int) -> bytes:
    """Return a sound file to begin with."""
    columns: dict[str, list[Any]] = {
        "y": [0, 1, 1, 0, 1, 0],
        "p": [0.1, 0.4, 0.4, 0.8, 1.0, 0.0],
        "q": [0.9, 0.6, 0.6, 0.2, 0.0, 1.0],
        "w": [1.0, 2.0, 0.0, 0.5, 3.0, 1.0],
        "g": list("abaabb"),
    }
    return list(WRITERS.values())[which](columns)


def _mutated_file(drawing: Drawing) -> bytes:
    return mutated(drawing, sound_file(drawing.number(len(WRITERS) - 1)))


def _text(drawing: Drawing) -> bytes:
    """Return text that is nearly CSV."""
    comma, end = drawing.choice([",", ",", ";", "\t", "|", " "]), drawing.choice(["\n", "\n", "\r\n", "\r", ""])
    rows = [[drawing.choice([*NAMES, drawing.text()]) for _ in NAMES] if drawing.number(3) == 3 else list(NAMES)]
    for _ in range(drawing.number(12)):
        cells = [drawing.choice(["0", "1"]), str(drawing.probability()), str(drawing.probability()), "1", "a"]
        if not drawing.often():
            cells[drawing.number(4)] = drawing.choice([*CELLS, drawing.text(), str(drawing.real())])
        rows.append(cells if drawing.often() else cells[: drawing.number(4)])
    coding = drawing.choice(["utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16", "latin-1"])
    return end.join(comma.join(row) for row in rows).encode(coding, errors="replace")


def _rest(drawing: Drawing) -> bytes:
    return drawing.rest()


@contextmanager
def folder_of_its_own() -> Iterator[Path]:
    """Work in a folder of its own."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield Path(folder)
        finally:
            os.chdir(before)
