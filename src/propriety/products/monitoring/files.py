"""A monitor as a folder of Parquet files.

`monitor.json` has the options, the number of periods and the checksums of the files. `state-N-W.parquet` is the state
after N periods, one row per stream, and `times-N-W.parquet` has their labels and those of W periods that are not
mature. `periods/` has a file for the periods of each write. A write adds its files, and `monitor.json` is replaced
last, so that an interrupted write leaves the earlier state.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from propriety import checks, demands
from propriety.checks import check_level
from propriety.errors import InputValueError
from propriety.inference.measures.keys import measure_of
from propriety.inference.measures.measure import Measure
from propriety.ledger.stored_rows import stored_labels
from propriety.products.monitoring.e_process import CalibrationBets, MeanBets, StreamBets
from propriety.products.monitoring.monitor import RESTART, SAME, Monitored, Options
from propriety.products.monitoring.period_evidence import Evidence
from propriety.products.monitoring.period_sums import Stream
from propriety.products.monitoring.streams import COLUMNS, DIRECTIONS, NEVER, Chunk, Streams
from propriety.rules.catalogue import rule_from_dict, rule_to_dict
from propriety.storage.files import checked_fields, checked_version, locked, pyarrow, write_whole
from propriety.tables.frames import are_names
from propriety.tables.labels import plain_labels

if TYPE_CHECKING:
    from os import PathLike

SCHEMA, VERSION = "propriety.monitor_state", 1
FACTS = "monitor.json"
OPTIONS = tuple(one.name for one in fields(Options))
FIELDS = (*OPTIONS, "waiting", "periods", "bounds", "files", "checksum")
EVIDENCE = tuple(one.name for one in fields(Evidence))
SIDES = ("higher", "lower", "above", "below")
BETS = ("lines", "bins", "product", *SIDES, "cases")
ROUNDING = 1e-9


class StoredChunk(NamedTuple):
    """The file of the periods of one write, and its checksum."""

    path: Path
    checksum: str


def write_monitor(watch: Monitored, folder: str | PathLike[str]) -> None:
    """Write a monitor; periods that the folder has already are not written again."""
    root = Path(folder)
    root.mkdir(parents=True, exist_ok=True)
    with locked(root):
        _write_new(watch, root)


def _write_new(watch: Monitored, root: Path) -> None:
    """Write the periods that the folder lacks and the new state; if that fails, the folder stays as it was."""
    there = _facts(root) if (root / FACTS).exists() else None
    if there is not None:
        _check_continues(root, there, watch)
        if _stored_times(root, there) == (watch.times, watch.waiting):
            return
    elif any(root.glob("periods/*.parquet")):
        law = f"{root} has periods of a monitor, but no {FACTS}"
        raise InputValueError(law, hint="write to another folder, or remove this one to start again.")
    (root / "periods").mkdir(parents=True, exist_ok=True)
    bounds = [0] if there is None else list(there["bounds"])
    files = {} if there is None else {name: _known(there, name) for name in _chunk_names(bounds)}
    kept = {*files, *(() if there is None else _replaced(there))}
    periods = len(watch.times)
    state, times = _replaced({"periods": periods, "waiting": len(watch.waiting)})
    try:
        if periods > bounds[-1]:
            bounds.append(periods)
            name = _chunk_names(bounds)[-1]
            files[name] = _write(_chunk_rows(watch.numbers(), bounds[-2]), root / name)
        files[state], files[times] = _write(_state_rows(watch), root / state), _write(_times(watch), root / times)
        facts = _facts_of(watch) | {"bounds": bounds, "files": files}
        write_whole(root / FACTS, json.dumps(facts | {"checksum": _checksum_of(facts)}, indent=1).encode())
    except BaseException:
        for name in files.keys() - kept:
            (root / name).unlink(missing_ok=True)
        raise
    for name in kept - files.keys():
        (root / name).unlink(missing_ok=True)


def read_monitor(folder: str | PathLike[str], measures: Sequence[Measure] = ()) -> Monitored:
    """Read a monitor that `write_monitor` wrote; `measures` are those of the user's own."""
    root = Path(folder)
    with locked(root, shared=True):
        return _read_whole(root, {one.key: one for one in measures})


def _read_whole(root: Path, own: Mapping[str, Measure]) -> Monitored:
    facts = _facts(root)
    options = _options(facts, own)
    state, _ = _replaced(facts)
    with _reading(root / state):
        streams = _streams(_rows(StoredChunk(root / state, _known(facts, state))), options.by)
        check_streams(streams, options, facts["periods"])
    times, waiting = _stored_times(root, facts)
    history = tuple(StoredChunk(root / name, _known(facts, name)) for name in _chunk_names(facts["bounds"]))
    return Monitored.after(options, times, streams, history, waiting=waiting)


def read_chunk(chunk: StoredChunk) -> Chunk:
    """Read the numbers of the periods of one write."""
    with _reading(chunk.path):
        rows = _rows(chunk)
        found = Chunk(*(rows.column(name).to_numpy() for name in Chunk._fields))
        if any(rows.column(name).null_count for name in Chunk._fields) or min(found.stream.min(), found.n.min()) < 0:
            raise InputValueError(f"{chunk.path} must hold numbers of streams", hint=RESTART)
        return found


def _options(facts: Mapping[str, Any], own: Mapping[str, Measure]) -> Options:
    named = {name: facts[name] for name in OPTIONS}
    for key in facts["measures"]:
        if key not in own:
            try:
                measure_of(key)
            except InputValueError as error:
                law = "must hold your own measures that are monitored"
                raise InputValueError(law, argument="measures", offender=f"{key!r} is missing") from error
    named["measures"] = tuple(own.get(key) or measure_of(key) for key in facts["measures"])
    named["rule"] = None if facts["rule"] is None else rule_from_dict(facts["rule"])
    return Options(**named | {name: tuple(facts[name]) for name in ("by", "models")})


def _stored_times(root: Path, facts: Mapping[str, Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return the periods that have been monitored, and those that are not mature."""
    (_, name), periods = _replaced(facts), facts["periods"]
    with _reading(root / name):
        rows = _rows(StoredChunk(root / name, _known(facts, name)))
        times, mature = tuple(_labels(rows, "time")), rows.column("mature").to_pylist()
    if mature != [True] * periods + [False] * facts["waiting"]:
        law = f"{root / name} must have {periods} mature times; it has {mature.count(True)}"
        raise InputValueError(law, hint=RESTART)
    return times[:periods], times[periods:]


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


def _rows(file: StoredChunk) -> Any:
    pa, parquet = pyarrow()
    with _reading(file.path):
        data = file.path.read_bytes()
    if _checksum(data) != file.checksum:
        raise InputValueError(f"{file.path} has changed since the monitor was stored", hint=RESTART)
    return parquet.ParquetFile(pa.BufferReader(data)).read()


def _write(rows: Any, path: Path) -> str:
    """Write a file, completely or not at all, and return its checksum."""
    pa, parquet = pyarrow()
    sink = pa.BufferOutputStream()
    parquet.write_table(rows, sink, compression="zstd", use_dictionary=False)
    data = sink.getvalue().to_pybytes()
    write_whole(path, data)
    return _checksum(data)


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


def _chunk_names(bounds: Sequence[int]) -> list[str]:
    return [f"periods/periods-{first + 1}-{last}.parquet" for first, last in itertools.pairwise(bounds)]


def _replaced(facts: Mapping[str, Any]) -> tuple[str, str]:
    """Return the names of the files that the next write replaces: the state and the times."""
    number = f"{facts['periods']}-{facts['waiting']}"
    return f"state-{number}.parquet", f"times-{number}.parquet"


def _chunk_rows(chunk: Chunk, first: int) -> Any:
    pa, _ = pyarrow()
    rows = chunk.period >= first
    return pa.table({name: column[rows] for name, column in chunk._asdict().items()})


def _times(watch: Monitored) -> Any:
    pa, _ = pyarrow()
    mature = [True] * len(watch.times) + [False] * len(watch.waiting)
    return pa.table({"time": stored_labels("time", [*watch.times, *watch.waiting]), "mature": mature})


def _state_rows(watch: Monitored) -> Any:
    pa, _ = pyarrow()
    streams, by = watch.streams, watch.options.by
    named: dict[str, Any] = {name: [getattr(one, name) for one in streams.names] for name in Stream._fields[:3]}
    labels = {key: [one.labels[at] for one in streams.names] for at, key in enumerate(by)}
    named |= {f"label_{key}": stored_labels(key, column) for key, column in labels.items()}
    numbers: dict[str, Any] = dict(streams.columns)
    if streams.bets is None:
        numbers |= {f"evidence_{name}": getattr(streams.evidence, name) for name in EVIDENCE}
    else:
        numbers |= {f"bets_{name}": [_of_bets(one)[name] for one in streams.bets] for name in BETS}
    return pa.table(named | {name: _column(values) for name, values in numbers.items()})


def _of_bets(bets: StreamBets) -> dict[str, list[float]]:
    both = [] if bets.lines is None or bets.bins is None else [bets.lines, bets.bins]
    capital = [one.log_capital.ravel().tolist() for one in both] or [[], []]
    return {
        "lines": capital[0],
        "bins": capital[1],
        "product": [one.log_product for one in both],
        **{name: getattr(bets, name).log_capital.tolist() for name in SIDES},
        "cases": [float(bets.higher.cases)],
    }


def _bets_of(found: Mapping[str, list[float]]) -> StreamBets:
    cases = int(found["cases"][0])
    sides = (MeanBets(np.array(found[name]), cases) for name in SIDES)
    if not found["lines"]:
        return StreamBets(None, None, *sides)
    start = StreamBets.start(of_calibration=True)
    assert start.lines is not None and start.bins is not None  # noqa: S101, PT018  (for the type checker)
    shapes = start.lines.log_capital.shape, start.bins.log_capital.shape
    lines, bins = (
        CalibrationBets(np.array(found[name]).reshape(shape), product)
        for name, shape, product in zip(("lines", "bins"), shapes, found["product"], strict=True)
    )
    return StreamBets(lines, bins, *sides)


def _column(values: Any) -> Any:
    pa, _ = pyarrow()
    if not isinstance(values, np.ndarray) or values.ndim == 1:
        return pa.array(values)
    if not values.shape[1]:
        return pa.array([[] for _ in values], pa.list_(pa.from_numpy_dtype(values.dtype)))
    return pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(values).ravel()), values.shape[1])


def _streams(rows: Any, keys: Sequence[str]) -> Streams:
    names = [rows.column(name).to_pylist() for name in Stream._fields[:3]]
    names += [_labels(rows, f"label_{name}") for name in keys]
    streams = tuple(
        Stream(measure, model, against, tuple(labels)) for measure, model, against, *labels in zip(*names, strict=True)
    )
    columns = {name: _numbers(rows, name) for name in COLUMNS}
    if "bets_lines" in rows.column_names:
        found = {name: rows.column(f"bets_{name}").to_pylist() for name in BETS}
        bets = tuple(_bets_of({name: found[name][at] for name in BETS}) for at in range(len(streams)))
        return Streams(streams, columns, Evidence.none(len(streams)), bets)
    return Streams(streams, columns, Evidence(**{name: _numbers(rows, f"evidence_{name}") for name in EVIDENCE}))


def _numbers(rows: Any, name: str) -> Any:
    column = rows.column(name).combine_chunks()
    if not hasattr(column.type, "list_size"):
        return column.to_numpy(zero_copy_only=False).copy()
    flat = column.flatten().to_numpy(zero_copy_only=False).copy()
    return flat.reshape(len(column), column.type.list_size)


def _labels(rows: Any, name: str) -> list[Any]:
    return plain_labels(rows.column(name).to_pylist())


def _facts_of(watch: Monitored) -> dict[str, Any]:
    options: dict[str, Any] = {name: getattr(watch.options, name) for name in OPTIONS}
    options |= {
        "by": list(watch.options.by),
        "models": list(watch.options.models),
        "stated": dict(watch.options.stated),
    }
    options |= {"measures": [one.key for one in watch.options.measures]}
    options |= {"rule": None if watch.options.rule is None else rule_to_dict(watch.options.rule)}
    return {
        "schema": SCHEMA,
        "version": VERSION,
        **options,
        "waiting": len(watch.waiting),
        "periods": len(watch.times),
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
    _check_facts(facts)
    return facts


def _check_facts(facts: Mapping[str, Any]) -> None:
    """Raise an error if the facts are not those of a monitor."""
    check_level(facts["level"])
    for name, least in (("reference_days", 1), ("periods", 1), ("mature_after", 0), ("waiting", 0)):
        checks.whole(facts[name], name, least=least)
    named = isinstance(facts["by"], list) and all(isinstance(one, str) for one in [*facts["by"], facts["period"]])
    if not named or not are_names(facts["models"]) or not facts["models"] or not are_names(facts["measures"]):
        _refuse("its period, keys, models and measures must be names")
    bounds = facts["bounds"]
    whole = isinstance(bounds, list) and bounds[:1] == [0] and bounds[-1:] == [facts["periods"]]
    if not whole or bounds != sorted(set(bounds)):
        _refuse("its files must hold all of its periods")


def check_streams(streams: Streams, options: Options, periods: int) -> None:
    """Raise an error if no monitor can have these streams after some periods."""
    if not len(streams) or len(set(streams.names)) < len(streams):
        _refuse("its streams must be distinct, and at least one")
    if not {name for one in streams.names for name in (one.model, one.against)} <= {None, *options.models}:
        _refuse("its streams must be of its models")
    if not ((streams["share"] > 0.0).all() and streams["share"].sum() <= 1.0 + ROUNDING):
        _refuse("the shares of the error budget must be positive, and add up to at most 1")
    whole = [streams[name] for name in ("asked", "alarm", "since", "better", "direction", "n")]
    whole += [] if streams.bets is not None else [streams.evidence.periods, streams.evidence.place]
    if not all(np.issubdtype(column.dtype, np.integer) for column in whole):
        _refuse("its times and counts must be whole numbers")
    places = np.concatenate([streams[name] for name in ("alarm", "since", "better")])
    alarmed = streams["alarm"] == NEVER
    if not ((places >= NEVER) & (places < periods)).all() or (alarmed != (streams["since"] == NEVER)).any():
        _refuse(f"its alarms must be on one of {periods} periods")
    if not ((streams["direction"] >= 0) & (streams["direction"] < len(DIRECTIONS))).all():
        _refuse("its directions must be known")
    if not ((streams["asked"] >= 0) & (streams["asked"] < len(options.rules.questions))).all():
        _refuse("its streams must be of its measures")
    if not (streams["n"] >= 1).all():
        _refuse("every stream must have a case")
    numbers = [streams[name] for name in ("highest", "total", "exposure", "reference")]
    numbers += [] if streams.bets is not None else [getattr(streams.evidence, name) for name in EVIDENCE]
    if any(np.isnan(column).any() for column in numbers):
        _refuse("its numbers must not be missing")


def _refuse(law: str) -> NoReturn:
    raise InputValueError(f"this is not a valid stored monitor: {law}", hint=RESTART)


def _check_continues(root: Path, there: Mapping[str, Any], watch: Monitored) -> None:
    """Raise an error unless a monitor continues the stored one."""
    facts, periods = _facts_of(watch), there["periods"]
    noun, elsewhere = watch.options.noun, "write to another folder, or remove this one first."
    differs = next((name for name in OPTIONS if there[name] != facts[name]), None)
    if differs is not None:
        offender = f"it has {there[differs]!r}, and this one {facts[differs]!r}"
        raise InputValueError(f"{root} holds a monitor with another {differs}", offender=offender, hint=elsewhere)
    times, _ = _stored_times(root, there)
    both = next((pair for pair in zip(times, watch.times, strict=False) if pair[0] != pair[1]), None)
    if both is not None:
        law = f"{root} holds a monitor of other {noun}s"
        raise InputValueError(law, offender=f"it has {both[0]!r}, and this one {both[1]!r}", hint=elsewhere)
    if periods > len(watch.times):
        law = f"{root} holds a monitor of more {noun}s"
        raise InputValueError(law, offender=f"it has {periods}, and this one {len(watch.times)}", hint=elsewhere)
    name = _chunk_names(there["bounds"])[-1]
    stored = StoredChunk(root / name, _known(there, name))
    held = any(isinstance(one, StoredChunk) and one == stored for one in watch.history)
    if not held and not _same(read_chunk(stored), watch.numbers(), periods - 1):
        law = f"{root} holds a monitor of other cases"
        raise InputValueError(law, offender=f"the numbers of {times[-1]!r} differ", hint=elsewhere)


def _same(one: Chunk, other: Chunk, period: int) -> bool:
    """Return whether two monitors have the same streams, cases and evidence in a period; that is of all before."""
    both = [Chunk(*(column[chunk.period == period] for column in chunk)) for chunk in (one, other)]
    if not np.array_equal(both[0].stream, both[1].stream):
        return False
    numbers = ((getattr(both[0], name), getattr(both[1], name)) for name in ("n", "total", "exposure", "log_e_value"))
    return all(np.allclose(*pair, rtol=SAME, atol=SAME, equal_nan=True) for pair in numbers)
