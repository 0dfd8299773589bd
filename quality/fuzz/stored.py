"""Stored tables and ledgers, mutated: a refusal in the package's own words, or what was stored.

The first byte says what the others are: a file as it is, a change to a sound file, or a change to the plain data that
`from_dict` reads, or that stand in the `ledger.json` of a ledger.
"""

from __future__ import annotations

import functools
import json
import math
import tempfile
import warnings
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from drawing import Drawing
from pyarrow import parquet

import propriety as pr
from propriety.errors import ProprietyError
from propriety.tables.forecast_table import ForecastTable

__all__ = ["changed", "mutated", "one", "read_folder", "require"]

KINDS: tuple[Any, ...] = (ForecastTable, pr.Ledger)
TOKEN = 16 * "0"  # Instead of the random part of the names of files, so that an input means the same in every run.
FACTS, PARTS = "ledger.json", (f"tables/part-{TOKEN}.parquet", f"moments/part-{TOKEN}.parquet")
Y, P, Q = [0, 1, 1, 0, 1], [0.1, 0.4, 0.4, 0.8, 1.0], [0.3, 0.3, 0.6, 0.5, 0.9]
TYPES = (pa.string(), pa.binary(), pa.bool_(), pa.int8(), pa.float32(), pa.decimal128(9, 3), pa.list_(pa.float64()))


def one(data: bytes) -> None:
    """Read what the bytes say, and look at what comes of it."""
    drawing = Drawing(data)
    how, kind = drawing.number(7), drawing.choice(KINDS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if kind is pr.Ledger:
            read_folder(_changed_folder(drawing, how))
        elif how == 0:
            _read_file(drawing.rest())
        elif how == 1:
            _read_file(mutated(drawing, _file(drawing.number(3))))
        elif how == 2:
            _read_file(_written(drawing, _file(drawing.number(3))))
        else:
            _read_dict(changed(drawing, _sound(drawing.number(3))))


def _read_file(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stored.parquet"
        path.write_bytes(content)
        try:
            found = ForecastTable.from_parquet(path)
        except ProprietyError:
            return
        _look_at_table(found)
        found.to_parquet(path)
        _same(ForecastTable.from_parquet(path).to_dict(), found.to_dict())


def _read_dict(data: Any) -> None:
    try:
        found = ForecastTable.from_dict(data)
    except ProprietyError:
        return
    _look_at_table(found)
    _same(ForecastTable.from_dict(found.to_dict()).to_dict(), found.to_dict())
    _same(ForecastTable.from_dict(json.loads(json.dumps(found.to_dict()))).to_dict(), found.to_dict())


def _changed_folder(drawing: Drawing, how: int) -> dict[str, bytes]:
    """Return the files of a ledger, one of them changed."""
    files = dict(_folder(drawing.number(3)))
    part = drawing.choice(PARTS)
    if how < 2:
        name = drawing.choice([FACTS, part])
        files[name] = drawing.rest() if how == 0 else mutated(drawing, files[name])
    elif how < 5:
        files[part] = _written(drawing, files[part])
    else:
        files[FACTS] = json.dumps(changed(drawing, json.loads(files[FACTS])), default=str).encode()
    if how == 7 and not drawing.often():
        del files[part]
    return files


def read_folder(files: dict[str, bytes]) -> None:
    """Read the files of a ledger, and look at what comes of them."""
    with tempfile.TemporaryDirectory() as folder:
        root, again = Path(folder) / "stored", Path(folder) / "again"
        for name, content in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(content)
        try:
            found = pr.Ledger.from_parquet(root)
            tables = list(_tables_of(found))
        except ProprietyError:  # The sums of a table are checked when it is made of them.
            return
        for table in tables:
            _look_at_table(table)
        _look_at_ledger(found)
        found.to_parquet(again)
        _same(_plain(pr.Ledger.from_parquet(again)), _plain(found))


def _plain(ledger: pr.Ledger) -> dict[str, Any]:
    """Return all that a ledger holds as plain data."""
    moments = [(repr(rule), ledger.moments(rule).to_frame(backend="pyarrow").to_pydict()) for rule in ledger.rules]
    return {"tables": ledger.to_frame(backend="pyarrow").to_pydict(), "moments": moments, "facts": repr(ledger)}


def _tables_of(ledger: pr.Ledger) -> Iterator[ForecastTable]:
    labels = [None] if ledger.labels is None else ledger.labels[:-1] if ledger.kind == "ordinal" else ledger.labels
    return (ledger.table(model, label) for model in ledger.models for label in labels)


def _look_at_ledger(ledger: pr.Ledger) -> None:
    """Look whether a ledger that was read is sound, and whether it adds."""
    repr(ledger)
    for rule in ledger.rules:
        _look_at_moments(ledger.moments(rule))
    require((ledger + ledger).n == 2 * ledger.n, "the number of cases of a sum")


def _look_at_table(table: ForecastTable) -> None:
    """Look whether a table that was read is sound, and whether it adds."""
    repr(table)
    forecast, events, others = (
        list(map(Fraction, column)) for column in (table.forecast, table.events, table.non_events)
    )
    require(forecast == sorted(set(forecast)) and forecast[0] >= 0 and forecast[-1] <= 1, "forecasts")
    require(min(events) >= 0 and min(others) >= 0, "weights")
    require(type(table.n) is int and table.n >= 1 and type(table.dropped) is int and table.dropped >= 0, "counts")
    total = sum(events) + sum(others)
    require(total > 0 and math.isfinite(table.weight) and 0 < table.effective_n < math.inf, "total weight")
    losses = sum(((p - 1) ** 2 * e + p**2 * o for p, e, o in zip(forecast, events, others, strict=True)), Fraction(0))
    _near(pr.brier_score(table), float(losses / total), "the Brier score")
    _near(table.event_rate, float(sum(events) / total), "the event rate")
    if not table.refined:
        try:
            twice = table + table
        except ProprietyError:  # Twice the weight may be more than a float holds.
            return
        require(twice.n == 2 * table.n and twice.dropped == 2 * table.dropped, "the counts of a sum")
        _near(twice.weight, 2.0 * table.weight, "the weight of a sum")
    coarse = table.grid(1)
    _near(coarse.weight, table.weight, "the weight of a grid")


def _look_at_moments(moments: pr.results.Moments) -> None:
    """Look whether moments that were read are sound, and whether they add."""
    cells, series = len(moments.n), len(moments.models) * (len(moments.models) + 1) // 2
    require(moments.mean.shape == moments.lean.shape == moments.spread.shape == (cells, series), "shapes")
    require(bool((moments.n >= 1).all() and (moments.weight > 0).all()), "counts")
    require(np.isfinite(moments.weight).all() and np.isfinite(moments.weight_squares).all(), "weights")
    require(moments.cases == sum(moments.n.tolist()), "the number of cases")
    weights = list(map(Fraction, moments.weight))
    for place, mean in enumerate(moments.means):
        column = moments.mean[:, place]
        if np.isfinite(column).all():
            exact = sum((w * Fraction(m) for w, m in zip(weights, column, strict=True)), Fraction(0)) / sum(weights)
            _near(float(mean), float(exact), "a mean", slack=1e-12 * float(np.abs(column).max()))
    require(not (moments.standard_errors() < 0).any(), "standard errors")
    require((moments + moments).cases == 2 * moments.cases, "the number of cases of a sum")


def _same(found: Any, expected: Any) -> None:
    one, other = (json.dumps(value, default=repr) for value in (found, expected))
    require(one == other, "stored and read again it differs")


def require(holds: object, what: str) -> None:
    """Raise an error that no harness catches if something does not hold."""
    if not holds:
        message = f"unsound: {what}"
        raise AssertionError(message)


def _near(found: float, expected: float, what: str, *, slack: float = 1e-140) -> None:
    if not (found == expected or math.isclose(found, expected, rel_tol=1e-11, abs_tol=slack)):
        message = f"{what}: {found!r} where {expected!r} is right"
        raise AssertionError(message)


@functools.cache
def _table(which: int) -> ForecastTable:
    """Return a sound table to begin with."""
    table = ForecastTable.from_predictions(Y, P, sample_weight=[1, 2, 0, 0.5, 3] if which % 2 else None)
    return table.grid(8) if which > 1 else table


def _sound(which: int) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(json.dumps(_table(which).to_dict()))
    return data


@functools.cache
def _file(which: int) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sound.parquet"
        _table(which).to_parquet(path)
        return path.read_bytes()


@functools.cache
def _folder(which: int) -> dict[str, bytes]:
    """Return the files of a sound ledger."""
    options: dict[str, Any] = {
        "by": {"site": list("abaab")} if which % 2 else None,
        "cluster": [1, 1, 2, 3, 3] if which > 1 else None,
        "sample_weight": [1, 2, 0.25, 0.5, 3] if which == 3 else None,
    }
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "sound"
        pr.condense(Y, {"p": P, "q": Q}, **options).to_parquet(root)
        facts = json.loads((root / FACTS).read_bytes())
        token, facts["partitions"][""]["file"] = facts["partitions"][""]["file"], TOKEN
        parts = {name: (root / name.replace(TOKEN, token)).read_bytes() for name in PARTS}
        return {FACTS: json.dumps(facts).encode(), **parts}


def mutated(drawing: Drawing, content: bytes) -> bytes:
    """Overwrite, cut or insert bytes at a few places."""
    held = bytearray(content)
    for _ in range(1 + drawing.number(5)):
        place = int.from_bytes(drawing.take(2).ljust(2, b"\0"), "little") % (len(held) + 1)
        piece, how = drawing.take(drawing.number(8)), drawing.number(3)
        if how == 0:
            del held[place:]
        elif how == 1:
            held[place:place] = piece
        else:
            held[place : place + len(piece)] = piece
    return bytes(held)


def _written(drawing: Drawing, content: bytes) -> bytes:
    """Write a sound Parquet file whose columns or mark are not what they should be."""
    source = parquet.read_table(pa.BufferReader(content))
    facts = json.loads((source.schema.metadata or {}).get(b"propriety", b"{}"))
    if drawing.number(1):
        facts = changed(drawing, facts)
    mark = (
        json.dumps(facts, default=str).encode()
        if drawing.often()
        else drawing.choice([b"", b"[" * 2000, b"7", b"\xff", b"null"])
    )
    columns = {name: source.column(name) for name in source.column_names if drawing.often()}
    if columns and drawing.number(1):
        name = drawing.choice(list(columns))
        columns[name] = _other_column(drawing, columns[name])
    table = pa.table(columns).replace_schema_metadata({b"propriety": mark} if drawing.often() else None)
    if columns and not drawing.often():
        table = table.append_column(drawing.choice(table.column_names), table.column(0))
    sink = pa.BufferOutputStream()
    parquet.write_table(table, sink)
    return bytes(sink.getvalue())


def _other_column(drawing: Drawing, column: Any) -> Any:
    """Return a column of another type, or with a value missing or strange."""
    values = column.to_pylist()
    if drawing.number(1):
        values[drawing.number(len(values) - 1)] = drawing.choice([None, drawing.real()])
    try:
        return pa.array(values, type=drawing.choice([column.type, column.type, *TYPES]))
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return pa.nulls(len(values))


def changed(drawing: Drawing, data: dict[str, Any]) -> Any:
    """Change some entries of plain data."""
    for _ in range(1 + drawing.number(2)):
        name = drawing.choice([*data, drawing.text()] if drawing.number(7) == 7 else [*data] or [""])
        how, value = drawing.number(7), data.get(name)
        if how == 7:
            data.pop(name, None)
        elif isinstance(value, list) and value and how < 5:
            place = drawing.number(len(value) - 1)
            if how == 4:
                del value[place]
            elif isinstance(value[place], list) and value[place] and how < 3:
                value[place][drawing.number(len(value[place]) - 1)] = _value(drawing)
            else:
                value[place] = _value(drawing)
        else:
            data[name] = _value(drawing)
    return data if drawing.often() else drawing.choice([data, None, [], list(data), "a", 7])


def _value(drawing: Drawing) -> Any:
    if drawing.number(1):
        return drawing.real()
    return drawing.choice(
        [
            *(None, True, False, 0, 1, 2, -1, 3, 2**70, -(2**70), 2**53, 2**52, 8, 10**400, "", "1", "p", b"p", [], {}),
            *([[]], [1], [0.5, None], ["a", "b"], {"a": 1}, [True], [[1, 2], [3]], 1.5, math.nan, drawing.text()),
            *(np.float64(1.0), np.int64(2), np.array([1.0, 2.0]), np.array(3), np.array(["x"]), 1j, object, range(3)),
        ]
    )
