"""Partitioned ledgers and monitors whose files lie: rows repeated, left out, moved to another day, or changed.

Parquet files are sound as files, and the checksums of a monitor are made anew, so that only its laws can tell.
"""

from __future__ import annotations

import functools
import hashlib
import json
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from drawing import Drawing
from pyarrow import parquet
from stored import changed, read_folder, require

import propriety as pr
from propriety.errors import ProprietyError
from propriety.products.monitoring.monitor import Monitored

__all__ = ["one", "sound_files"]

Files = dict[str, bytes]


@functools.cache
def _ledger() -> pr.Ledger:
    rng = np.random.default_rng(5)
    p = np.round(rng.random(24), 1)
    by = {"day": np.repeat([1, 2, 3], 8), "site": np.tile(["a", "b"], 12)}
    return pr.condense(rng.random(24) < p, {"p": p, "q": p**2}, by=by, rules=[pr.Brier()])


@functools.cache
def sound_files(kind: str) -> Files:
    """Return the files of a ledger by day, or of a monitor."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "sound"
        if kind == "ledger":
            _ledger().to_parquet(root, partition=["day"])
        else:
            pr.monitor(_ledger(), period="day").to_parquet(root)
        return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def one(data: bytes) -> None:
    """Read the files that the bytes say, and look at what comes of them."""
    drawing = Drawing(data)
    kind = drawing.choice(["ledger", "monitor"])
    files = dict(sound_files(kind))
    for _ in range(1 + drawing.number(1)):
        _change(drawing, files)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if kind == "ledger":
            read_folder(files)
        else:
            _read_monitor(_signed(files))


def _change(drawing: Drawing, files: Files) -> None:
    """Change one of the files, or give it to another place."""
    name = drawing.choice(sorted(files))
    how = drawing.number(7)
    if not name.endswith(".parquet"):
        try:
            facts = json.loads(files[name])
        except ValueError:  # It has been replaced by another file.
            return
        files[name] = json.dumps(changed(drawing, facts) if isinstance(facts, dict) else facts, default=str).encode()
    elif how == 0:
        del files[name]
    elif how == 1:
        files[drawing.choice(sorted(files))] = files[name]
    elif how == 2:
        files[f"{name.removesuffix('.parquet')}-1.parquet"] = files[name]
    else:
        files[name] = _other_rows(drawing, files[name], how)


def _other_rows(drawing: Drawing, content: bytes, how: int) -> bytes:
    rows = parquet.read_table(pa.BufferReader(content))
    places = list(range(rows.num_rows))
    if how == 3:
        places.append(drawing.choice(places))
    elif how == 4 and len(places) > 1:
        places.pop(drawing.number(len(places) - 1))
    rows = rows.take(places)
    if how > 4:
        name = drawing.choice(rows.column_names)
        values = rows.column(name).to_pylist()
        place = drawing.number(len(values) - 1)
        values[place] = _other(drawing, values[place])
        try:
            column = pa.array(values, type=rows.column(name).type)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            column = pa.nulls(len(values))
        rows = rows.set_column(rows.column_names.index(name), name, column)
    sink = pa.BufferOutputStream()
    parquet.write_table(rows, sink)
    return bytes(sink.getvalue())


def _other(drawing: Drawing, value: Any) -> Any:
    if isinstance(value, list) and value:
        value[drawing.number(len(value) - 1)] = drawing.real()
        return value
    if isinstance(value, int):
        return drawing.choice([value + 1, -value, 0, 2**62, -1, value - 1])
    return drawing.choice([drawing.real(), None, drawing.text()]) if not isinstance(value, str) else drawing.text()


def _signed(files: Files) -> Files:
    """Return the files of a monitor with the checksums of what they now hold."""
    try:
        facts = json.loads(files["monitor.json"])
        facts["files"] = {name: _checksum(files[name]) for name in facts["files"] if name in files}
        facts["checksum"] = _checksum(json.dumps({k: v for k, v in facts.items() if k != "checksum"}).encode())
    except (KeyError, TypeError, ValueError, AttributeError):
        return files
    return files | {"monitor.json": json.dumps(facts).encode()}


def _checksum(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=8).hexdigest()


def _read_monitor(files: Files) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "stored"
        for name, content in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(content)
        try:
            found = Monitored.from_parquet(root)
            days = found.days()
            str(found)
        except ProprietyError:
            return
        repr(found)
        require(bool((np.asarray(days.n) >= 0).all()), "numbers of cases of days")
