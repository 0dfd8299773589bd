"""A monitor as a folder of Parquet files.

`monitor.json` has the options and the number of days. `state-N.parquet` is the state after N days, one row per stream.
`days/` has a file for each day. A new day adds its file and a new state; `monitor.json` is replaced last, so that an
interrupted write leaves the earlier state.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from propriety.errors import InputValueError
from propriety.inference.daily_numbers import Stream
from propriety.inference.ledger_monitor import LedgerMonitor
from propriety.inference.monitor_history import NUMBERS, History
from propriety.inference.stream_evidence import Evidence
from propriety.inference.stream_states import DayRows, StreamStates
from propriety.rules.registry import rule_from_dict, rule_to_dict
from propriety.tables import frames
from propriety.tables.label_codes import plain_labels

if TYPE_CHECKING:
    from os import PathLike

__all__ = ["FACTS", "read_day", "read_monitor", "write_monitor"]

SCHEMA, VERSION = "propriety.monitor_state", 1
FACTS = "monitor.json"
FIELDS = ("time", "keys", "models", "level", "reference_days", "rule", "days")
STATES = tuple(name for name in StreamStates.__slots__ if name not in ("streams", "evidence"))
EVIDENCE = tuple(Evidence.__slots__)


def write_monitor(watch: LedgerMonitor, folder: str | PathLike[str]) -> None:
    """Write a monitor; days that the folder has already are not written again."""
    _, parquet = frames.pyarrow()
    root, days = Path(folder), len(watch.times)
    there = _facts(root) if (root / FACTS).exists() else None
    facts = _facts_of(watch)
    if there is not None:
        _check_continues(root, there, facts)
    (root / "days").mkdir(parents=True, exist_ok=True)
    for place in range(0 if there is None else there["days"], days):
        parquet.write_table(_day_rows(watch.history.day(place)), _day_file(root, place), compression="zstd")
    parquet.write_table(_state_rows(watch), _state_file(root, days), compression="zstd")
    parquet.write_table(_times(watch.times), root / f"times-{days}.parquet")
    beside = root / f".{FACTS}"
    beside.write_text(json.dumps(facts, indent=1), encoding="utf-8")
    beside.replace(root / FACTS)
    if there is not None and there["days"] != days:
        _state_file(root, there["days"]).unlink(missing_ok=True)
        (root / f"times-{there['days']}.parquet").unlink(missing_ok=True)


def read_monitor(folder: str | PathLike[str]) -> LedgerMonitor:
    """Read a monitor that `write_monitor` wrote."""
    _, parquet = frames.pyarrow()
    root = Path(folder)
    facts = _facts(root)
    days = facts["days"]
    return LedgerMonitor(
        **{name: facts[name] for name in ("time", "level", "reference_days")},
        keys=tuple(facts["keys"]),
        models=tuple(facts["models"]),
        rule=rule_from_dict(facts["rule"]),
        times=tuple(_labels(parquet.read_table(root / f"times-{days}.parquet"), "time")),
        states=_states(parquet.read_table(_state_file(root, days)), facts["keys"]),
        history=History(tuple(_day_file(root, place) for place in range(days))),
    )


def read_day(path: Path) -> DayRows:
    """Read the rows of one day."""
    _, parquet = frames.pyarrow()
    rows = parquet.ParquetFile(path).read()
    label = _labels(rows.slice(0, 1), "time")[0]
    return DayRows(time=label, **{name: rows.column(name).to_numpy() for name in NUMBERS})


def _day_file(root: Path, place: int) -> Path:
    return root / "days" / f"day-{place + 1}.parquet"


def _state_file(root: Path, days: int) -> Path:
    return root / f"state-{days}.parquet"


def _day_rows(block: DayRows) -> Any:
    pa, _ = frames.pyarrow()
    rows = len(block.stream)
    label = pa.array([block.time]).take(pa.array(np.zeros(rows, dtype=np.int64)))
    return pa.table({"time": label, **{name: getattr(block, name) for name in NUMBERS}})


def _times(times: tuple[Any, ...]) -> Any:
    pa, _ = frames.pyarrow()
    return pa.table({"time": pa.array(list(times))})


def _state_rows(watch: LedgerMonitor) -> Any:
    pa, _ = frames.pyarrow()
    states = watch.states
    labels = {name: pa.array(column) for name, column in watch.labels_of(states.streams).items()}
    named = {f"label_{name}": column for name, column in labels.items()}
    numbers = {name: getattr(states, name) for name in STATES}
    numbers |= {name: getattr(states.evidence, name) for name in EVIDENCE}
    return pa.table(named | {name: _column(values) for name, values in numbers.items()})


def _column(values: Any) -> Any:
    pa, _ = frames.pyarrow()
    if values.ndim == 1:
        return pa.array(values)
    return pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), values.shape[1])


def _states(rows: Any, keys: list[str]) -> StreamStates:
    names = [_labels(rows, f"label_{name}") for name in ("model", "reference", *keys)]
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
        "days": len(watch.times),
    }


def _facts(root: Path) -> dict[str, Any]:
    try:
        facts = json.loads((root / FACTS).read_text(encoding="utf-8"))
    except OSError:
        raise InputValueError(f"{root} must be a folder that holds a monitor; it has no {FACTS}") from None
    except (ValueError, RecursionError) as error:
        raise InputValueError(f"{root / FACTS} must be JSON", offender=str(error)) from error
    frames.checked_version(facts, SCHEMA, VERSION)
    return dict(frames.checked_fields(facts, SCHEMA, list(FIELDS)))


def _check_continues(root: Path, there: dict[str, Any], facts: dict[str, Any]) -> None:
    """Raise an error unless a monitor continues the stored one."""
    differs = next((name for name in FIELDS[:-1] if there[name] != facts[name]), None)
    if differs is not None:
        law = f"{root} holds a monitor with another {differs}"
        offender = f"it has {there[differs]!r}, and this one {facts[differs]!r}"
        raise InputValueError(law, offender=offender, hint="write to another folder.")
    if there["days"] > facts["days"]:
        law = f"{root} holds a monitor of more days"
        raise InputValueError(law, offender=f"it has {there['days']}, and this one {facts['days']}")
