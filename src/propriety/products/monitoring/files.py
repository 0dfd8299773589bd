"""A monitor as a folder of Parquet files.

`monitor.json` has the options, the number of days and the checksums of the files. `state-N.parquet` is the state after
N days, one row per stream. `days/` has a file for each day. A new day adds its file and a new state; `monitor.json` is
replaced last, so that an interrupted write leaves the earlier state.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from propriety import demands
from propriety.errors import InputValueError
from propriety.ledger.stored_rows import stored_labels
from propriety.products.monitoring.daily_numbers import Stream
from propriety.products.monitoring.evidence import Evidence
from propriety.products.monitoring.history import NUMBERS, SAME, History, StoredDay
from propriety.products.monitoring.ledger_monitor import LedgerMonitor
from propriety.products.monitoring.states import RESTART, DayRows, StreamStates, check_facts, check_states
from propriety.rules.catalogue import rule_from_dict, rule_to_dict
from propriety.storage.files import checked_fields, checked_version, locked, pyarrow, write_whole
from propriety.tables.labels import plain_labels

if TYPE_CHECKING:
    from os import PathLike

SCHEMA, VERSION = "propriety.monitor_state", 1
FACTS = "monitor.json"
OPTIONS = ("time", "keys", "models", "level", "reference_days", "rule", "mature_after")
FIELDS = (*OPTIONS, "waiting", "days", "files", "checksum")
STATES = tuple(name for name in StreamStates.__slots__ if name not in ("streams", "evidence"))
EVIDENCE = tuple(Evidence.__slots__)


def write_monitor(watch: LedgerMonitor, folder: str | PathLike[str]) -> None:
    """Write a monitor; days that the folder has already are not written again."""
    root = Path(folder)
    root.mkdir(parents=True, exist_ok=True)
    with locked(root):
        _write_days(watch, root)


def _write_days(watch: LedgerMonitor, root: Path) -> None:
    """Write the days that the folder lacks and the new state; if that fails, the folder stays as it was."""
    days = len(watch.times)
    there = _facts(root) if (root / FACTS).exists() else None
    if there is not None:
        _check_continues(root, there, watch)
        if _stored_times(root, there) == (watch.times, watch.waiting):
            return
    elif any(root.glob("days/*.parquet")):
        law = f"{root} has days of a monitor, but no {FACTS}"
        raise InputValueError(law, hint="write to another folder, or remove this one to start again.")
    (root / "days").mkdir(parents=True, exist_ok=True)
    before = 0 if there is None else there["days"]
    files = {} if there is None else {name: _known(there, name) for name in map(_day_name, range(before))}
    times = _times_name(days, len(watch.waiting))
    kept = {*files, *(() if there is None else _state_names(there))}
    try:
        for place in range(before, days):
            name = _day_name(place)
            files[name] = _write(_day_rows(watch.history.day(place)), root / name)
        files[_state_name(days)] = _write(_state_rows(watch), root / _state_name(days))
        files[times] = _write(_times(watch), root / times)
        facts = _facts_of(watch) | {"files": files}
        write_whole(root / FACTS, json.dumps(facts | {"checksum": _checksum_of(facts)}, indent=1).encode())
    except BaseException:
        for name in files.keys() - kept:
            (root / name).unlink(missing_ok=True)
        raise
    for name in kept - files.keys():
        (root / name).unlink(missing_ok=True)


def read_monitor(folder: str | PathLike[str]) -> LedgerMonitor:
    """Read a monitor that `write_monitor` wrote."""
    root = Path(folder)
    with locked(root, shared=True):
        return _read_whole(root)


def _read_whole(root: Path) -> LedgerMonitor:
    facts = _facts(root)
    days = facts["days"]
    state = StoredDay(root / _state_name(days), _known(facts, _state_name(days)))
    with _reading(state.path):
        states = _states(_rows(state), facts["keys"])
        check_states(states, facts["models"], days)
    names = [_day_name(place) for place in range(days)]
    times, waiting = _stored_times(root, facts)
    return LedgerMonitor(
        **{name: facts[name] for name in ("time", "level", "reference_days", "mature_after")},
        keys=tuple(facts["keys"]),
        models=tuple(facts["models"]),
        rule=rule_from_dict(facts["rule"]),
        times=times,
        waiting=waiting,
        states=states,
        history=History(tuple(StoredDay(root / name, _known(facts, name)) for name in names)),
    )


def read_day(day: StoredDay) -> DayRows:
    """Read the rows of one day."""
    with _reading(day.path):
        rows = _rows(day)
        if any(rows.column(name).null_count for name in NUMBERS) or _least(rows) < 0:
            raise InputValueError(f"{day.path} must hold numbers of streams", hint=RESTART)
        label = _labels(rows.slice(0, 1), "time")[0]
        return DayRows(time=label, **{name: rows.column(name).to_numpy() for name in NUMBERS})


def _least(rows: Any) -> int:
    """Return the smallest number of a stream, or of its cases."""
    return min(int(rows.column(name).to_numpy().min()) for name in ("stream", "n"))


def _stored_times(root: Path, facts: Mapping[str, Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return the times that have been monitored, and those that are not mature."""
    name, days = _times_name(facts["days"], facts["waiting"]), facts["days"]
    with _reading(root / name):
        rows = _rows(StoredDay(root / name, _known(facts, name)))
        times = tuple(_labels(rows, "time"))
        mature = rows.column("mature").to_pylist() if "mature" in rows.column_names else [True] * len(times)
    if mature != [True] * days + [False] * facts["waiting"]:
        raise InputValueError(f"{root / name} must have {days} mature times; it has {mature.count(True)}", hint=RESTART)
    return times[:days], times[days:]


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Raise one kind of error for a file that is missing, or not of a monitor."""
    pa, _ = pyarrow()
    try:
        yield
    except InputValueError:
        raise
    except (OSError, LookupError, TypeError, ValueError, pa.ArrowException) as error:
        law = f"{path} is missing, or is not a file of a stored monitor"
        raise InputValueError(law, offender=f"{type(error).__name__}: {error}", hint=RESTART) from error


def _rows(file: StoredDay) -> Any:
    pa, parquet = pyarrow()
    data = _bytes(file.path)
    if _checksum(data) != file.checksum:
        raise InputValueError(f"{file.path} has changed since the monitor was stored", hint=RESTART)
    return parquet.ParquetFile(pa.BufferReader(data)).read()


def _write(rows: Any, path: Path) -> str:
    """Write a file, completely or not at all, and return its checksum."""
    pa, parquet = pyarrow()
    sink = pa.BufferOutputStream()
    parquet.write_table(rows, sink, compression="zstd")
    data = sink.getvalue().to_pybytes()
    write_whole(path, data)
    return _checksum(data)


def _bytes(path: Path) -> bytes:
    with _reading(path):
        return path.read_bytes()


def _checksum(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=8).hexdigest()


def _checksum_of(facts: Mapping[str, Any]) -> str:
    return _checksum(json.dumps({name: one for name, one in facts.items() if name != "checksum"}).encode())


def _known(facts: Mapping[str, Any], name: str) -> str:
    """Return the stored checksum of a file."""
    checksum = facts["files"].get(name)
    if not isinstance(checksum, str):
        raise InputValueError(f"{FACTS} must have the checksum of {name}", hint=RESTART)
    return checksum


def _day_name(place: int) -> str:
    return f"days/day-{place + 1}.parquet"


def _state_name(days: int) -> str:
    return f"state-{days}.parquet"


def _times_name(days: int, waiting: int) -> str:
    return f"times-{days}-{waiting}.parquet" if waiting else f"times-{days}.parquet"


def _state_names(facts: Mapping[str, Any]) -> set[str]:
    """Return the names of the files that the next state replaces."""
    return {_state_name(facts["days"]), _times_name(facts["days"], facts["waiting"])}


def _day_rows(block: DayRows) -> Any:
    pa, _ = pyarrow()
    rows = len(block.stream)
    label = pa.array([block.time]).take(pa.array(np.zeros(rows, dtype=np.int64)))
    return pa.table({"time": label, **{name: getattr(block, name) for name in NUMBERS}})


def _times(watch: LedgerMonitor) -> Any:
    pa, _ = pyarrow()
    mature = [True] * len(watch.times) + [False] * len(watch.waiting)
    return pa.table({"time": pa.array([*watch.times, *watch.waiting]), "mature": mature})


def _state_rows(watch: LedgerMonitor) -> Any:
    pa, _ = pyarrow()
    states = watch.states
    labels = {name: stored_labels(name, column) for name, column in watch.labels_of(states.streams).items()}
    named = {f"label_{name}": column for name, column in labels.items()}
    numbers = {name: getattr(states, name) for name in STATES}
    numbers |= {name: getattr(states.evidence, name) for name in EVIDENCE}
    return pa.table(named | {name: _column(values) for name, values in numbers.items()})


def _column(values: Any) -> Any:
    pa, _ = pyarrow()
    if values.ndim == 1:
        return pa.array(values)
    return pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), values.shape[1])


def _states(rows: Any, keys: list[str]) -> StreamStates:
    names = [rows.column(f"label_{name}").to_pylist() for name in ("model", "reference")]
    names += [_labels(rows, f"label_{name}") for name in keys]
    streams = tuple(Stream(model, reference, tuple(own)) for model, reference, *own in zip(*names, strict=True))
    numbers = {name: _numbers(rows, name) for name in STATES}
    return StreamStates(
        streams=streams, evidence=Evidence(**{name: _numbers(rows, name) for name in EVIDENCE}), **numbers
    )


def _numbers(rows: Any, name: str) -> Any:
    column = rows.column(name).combine_chunks()
    if not hasattr(column.type, "list_size"):
        return column.to_numpy(zero_copy_only=False)
    return column.flatten().to_numpy(zero_copy_only=False).reshape(len(column), column.type.list_size)


def _labels(rows: Any, name: str) -> list[Any]:
    return plain_labels(rows.column(name).to_pylist())


def _facts_of(watch: LedgerMonitor) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "time": watch.time,
        "keys": list(watch.keys),
        "models": list(watch.models),
        "level": watch.level,
        "reference_days": watch.reference_days,
        "rule": rule_to_dict(watch.rule),
        "mature_after": watch.mature_after,
        "waiting": len(watch.waiting),
        "days": len(watch.times),
    }


def _facts(root: Path) -> dict[str, Any]:
    """Return the facts of a stored monitor."""
    try:
        facts = json.loads((root / FACTS).read_text(encoding="utf-8"))
    except OSError:
        raise InputValueError(f"{root} must be a folder that holds a monitor; it has no {FACTS}") from None
    except (ValueError, RecursionError) as error:
        raise InputValueError(demands.JSON, argument=str(root / FACTS), offender=str(error), hint=RESTART) from error
    checked_version(facts, SCHEMA, VERSION)
    if facts.get("checksum") != _checksum_of(facts) or not isinstance(facts.get("files"), dict):
        raise InputValueError(f"{root / FACTS} has changed since the monitor was stored", hint=RESTART)
    facts = checked_fields(facts, SCHEMA, FIELDS)
    check_facts(facts)
    return facts


def _check_continues(root: Path, there: Mapping[str, Any], watch: LedgerMonitor) -> None:
    """Raise an error unless a monitor continues the stored one."""
    facts, days = _facts_of(watch), there["days"]
    elsewhere = "write to another folder, or remove this one first."
    differs = next((name for name in OPTIONS if there[name] != facts[name]), None)
    if differs is not None:
        offender = f"it has {there[differs]!r}, and this one {facts[differs]!r}"
        raise InputValueError(f"{root} holds a monitor with another {differs}", offender=offender, hint=elsewhere)
    times, _ = _stored_times(root, there)
    both = next((pair for pair in zip(times, watch.times, strict=False) if pair[0] != pair[1]), None)
    if both is not None:
        law = f"{root} holds a monitor of other {watch.time}s"
        raise InputValueError(law, offender=f"it has {both[0]!r}, and this one {both[1]!r}", hint=elsewhere)
    if days > len(watch.times):
        law = f"{root} holds a monitor of more {watch.time}s"
        raise InputValueError(law, offender=f"it has {days}, and this one {len(watch.times)}", hint=elsewhere)
    name = _day_name(days - 1)
    stored = StoredDay(root / name, _known(there, name))
    if watch.history.blocks[days - 1] != stored and not _same(read_day(stored), watch.history.day(days - 1)):
        law = f"{root} holds a monitor of other cases"
        raise InputValueError(law, offender=f"the evidence after {times[-1]!r} differs", hint=elsewhere)


def _same(one: DayRows, other: DayRows) -> bool:
    """Return whether two days have the same streams, cases and evidence; the evidence is that of all days so far."""
    if not np.array_equal(one.stream, other.stream):
        return False
    numbers = ((getattr(one, name), getattr(other, name)) for name in ("n", "events", "expected", "log_e_value"))
    return all(np.allclose(*pair, rtol=SAME, atol=SAME, equal_nan=True) for pair in numbers)
