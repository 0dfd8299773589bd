"""A ledger as a folder of plain Parquet files, partitioned by chosen keys, which any engine can read.

`ledger.json` describes the ledger. Below `tables/`, a row is a row of a forecast table, with its model, event and keys;
`n` and `n_events` are stored once per table, in its first row. Below `moments/`, a row is a cell of the moments of one
function. Subfolders such as `day=2026-01-01` hold the rows of one label; more can be added.
"""

from __future__ import annotations

import datetime as dt
import itertools
import json
import secrets
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from propriety.checks import check_cells
from propriety.errors import InputTypeError, InputValueError
from propriety.ledger.key_index import KeyIndex, merged_labels
from propriety.ledger.keyed_tables import COLUMNS, KeyedTables
from propriety.ledger.moments import OUTCOME, Moments, Sums
from propriety.result import Floats
from propriety.rules.catalogue import RULES, rule_from_dict, rule_to_dict
from propriety.storage.parquet_files import checked_fields, checked_version, pyarrow
from propriety.storage.whole_files import locked, write_whole
from propriety.tables.events import TOP, Event, events_of
from propriety.tables.frames import are_names
from propriety.tables.labels import code_labels, ordered_labels, plain_labels
from propriety.tables.queries import encoded
from propriety.tables.table_laws import ROUNDING_OF_SUMS, weights_agree, whole_number

if TYPE_CHECKING:
    from os import PathLike

    from propriety.ledger.ledger import Ledger


VERSION = 2
FACTS, PART = "ledger.json", "part-0.parquet"
SAME = ("models", "labels", "events", "dependence", "is_weighted", "rules", "partition")
ADDED = ("even_squares", "even_cubes")  # Not stored in version 1.
MOST_LETTERS = 255  # Of the name of a folder, on most file systems.
MOST_CASES = 2**53  # Up to here, sums of floating-point numbers are exact.
PER_CELL, PER_SERIES = Sums._fields[:3], Sums._fields[3:]


RESERVED = {
    "model",
    "event",
    "place",
    "rule",
    OUTCOME,
    "cluster",
    "time",
    "cells",
    "n_events",
    *COLUMNS,
    *PER_CELL,
    *PER_SERIES,
}


def write_ledger(ledger: Ledger, folder: str | PathLike[str], *, partition: str | Sequence[str] = ()) -> None:
    """Write a ledger, or add its partitions to a stored one; a new folder is written completely or not at all."""
    root, partition = Path(folder), [partition] if isinstance(partition, str) else partition
    if not isinstance(partition, Sequence):
        law = "must be a list of keys"
        raise InputTypeError(law, argument="partition", offender=f"got {type(partition).__name__}")
    if root.exists():
        _add(ledger, root, partition)
        return
    root.parent.mkdir(parents=True, exist_ok=True)
    beside = root.with_name(f".{root.name}.{secrets.token_hex(8)}")
    try:
        _write(ledger, beside, partition)
        try:
            beside.rename(root)
        except OSError:
            if not root.exists():
                raise
            _add(ledger, root, partition)  # Another process has made the folder in the meantime.
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _add(ledger: Ledger, root: Path, partition: Sequence[str]) -> None:
    """Write to a folder that exists, while no other process writes to it or reads it."""
    with locked(root):
        _write(ledger, root, partition)


def _write(ledger: Ledger, root: Path, partition: Sequence[str]) -> None:
    reserved = [name for name in ledger.index.names if name in RESERVED]
    if reserved:
        law = f"a stored ledger cannot have a key called {reserved[0]!r}, which is a column of its own"
        raise InputValueError(law, hint="give the key another name.")
    for name in partition:
        ledger.index.place(name)  # Raises an error if it is not a key.
    facts = _facts(ledger, partition)
    there = _facts_to_add_to(root, facts)
    if there is not None and there["events"] != facts["events"]:
        facts["events"] = there["events"]
        ledger = replace(ledger, events=ledger.events[:-1])
    targets = _partitions(stored_tables(ledger), partition, root / "tables")
    moments = stored_moments(ledger)
    if moments is not None:
        targets |= _partitions(moments, partition, root / "moments")
    if there is not None:
        labels = [*ledger.index.names, *([] if ledger.dependence is None else [ledger.dependence])]
        for folder in ("tables", "moments"):
            _check_types(root / folder, targets, labels)
    there_already = next((target for target in targets if target.joinpath(PART).exists()), None)
    if there_already is not None:
        law = f"{there_already} holds these cases already"
        raise InputValueError(law, hint="write to another folder, or delete that one first.")
    if there is not None:
        facts["dropped"] += there["dropped"]
        facts["keys"] = {name: _joined(there["keys"][name], own) for name, own in facts["keys"].items()}
    _write_parts(targets, root, json.dumps(facts, indent=1).encode())


def _check_types(folder: Path, targets: Mapping[Path, Any], labels: Sequence[str]) -> None:
    """Raise an error if labels are of another Arrow type than the stored ones, as which they would be read."""
    pa, parquet = pyarrow()
    stored = next(folder.rglob("*.parquet"), None)
    rows = next((rows for target, rows in targets.items() if target.is_relative_to(folder)), None)
    if stored is None or rows is None:
        return
    try:
        there = parquet.read_schema(stored)
    except (pa.ArrowException, OSError) as error:
        law = f"{stored} must be a whole Parquet file of a ledger"
        raise InputValueError(law, offender=str(error).split("\n", maxsplit=1)[0], hint=RESTORE) from error
    for name in labels:
        if name in rows.schema.names and name in there.names and rows.schema.field(name).type != there.field(name).type:
            law = f"the labels of {name} must be of the type of those in {folder}, to be added"
            told = f"they are {rows.schema.field(name).type}, those are {there.field(name).type}"
            raise InputTypeError(law, offender=told, hint="convert the labels first.")


def _write_parts(targets: Mapping[Path, Any], root: Path, facts: bytes) -> None:
    """Write all files beside the stored ones and then move them to their places; if that fails, remove them again."""
    _, parquet = pyarrow()
    beside = root / f".{secrets.token_hex(8)}"
    beside.mkdir(parents=True)
    moved: list[Path] = []
    try:
        for place, rows in enumerate(targets.values()):
            parquet.write_table(rows, beside / str(place), compression="zstd")
        for place, target in enumerate(targets):
            target.mkdir(parents=True, exist_ok=True)
            moved.append(target)
            (beside / str(place)).rename(target / PART)
        write_whole(root / FACTS, facts)
    except BaseException:
        for target in moved:
            target.joinpath(PART).unlink(missing_ok=True)
            with suppress(OSError):  # The folder has other files.
                target.rmdir()
        raise
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def read_ledger(folder: str | PathLike[str]) -> Ledger:
    """Read a ledger that `write_ledger` wrote."""
    root = Path(folder)
    try:
        with locked(root, shared=True), np.errstate(over="raise"):
            return _read_whole(root)
    except FloatingPointError as error:
        law = f"the numbers of a {SCHEMA} must be small enough to be added"
        raise InputValueError(law, offender=str(error), hint=RESTORE) from error


def _read_whole(root: Path) -> Ledger:
    from propriety.ledger.ledger import Ledger

    facts = _stored_facts(root)
    models, events = tuple(facts["models"]), tuple(Event(kind, place) for kind, place in facts["events"])
    rows = _read(root / "tables", ["model", "event", *facts["keys"]])
    index, entry = _index(rows, list(facts["keys"]), facts["keys"])
    belongs = _belongs(rows, models, events)
    columns = {name: number_column(rows, name) for name in (COLUMNS if facts["is_weighted"] else COLUMNS[:3])}
    columns |= {name: number_column(rows, name, whole=True) for name in ("n", "n_events", "cells")}
    tables = {
        place: _keyed(columns, np.flatnonzero(belongs == number), entry, len(index))
        for number, place in enumerate(itertools.product(models, events))
    }
    check_tables(tables, is_weighted=facts["is_weighted"])
    moments = _read_moments(root, facts)
    for one in moments:
        check_moments(one, index, tables, None if facts["labels"] is None else len(facts["labels"]))
    return Ledger(
        models=models,
        events=events,
        labels=None if facts["labels"] is None else tuple(facts["labels"]),
        index=index,
        dependence=facts["dependence"],
        is_weighted=facts["is_weighted"],
        dropped=facts["dropped"],
        _tables=tables,
        _moments={one.rule: one for one in moments},
    )


def _read_moments(root: Path, facts: Mapping[str, Any]) -> list[Moments]:
    if not facts["rules"]:
        return []
    names = [OUTCOME, *facts["keys"], *([] if facts["dependence"] is None else [facts["dependence"]])]
    cells = _read(root / "moments", names)
    series = len(facts["models"]) * (len(facts["models"]) + 1) // 2
    found = []
    for place, stored in enumerate(facts["rules"]):
        own = cells.filter(number_column(cells, "rule", whole=True) == place)
        index, entry = _index(own, names, facts["keys"])
        one = Moments(
            n=number_column(own, "n", whole=True),
            weight=number_column(own, "weight"),
            weight_squares=number_column(own, "weight_squares"),
            **{name: _series(own, name, series, facts["version"]) for name in PER_SERIES},
            models=tuple(facts["models"]),
            rule=rule_from_dict(stored),
            index=KeyIndex(index.names, index.labels, index.codes[entry]),
            dropped=facts["dropped"],
        )
        found.append(Moments.merge([one]))
    return found


def _series(rows: Any, name: str, series: int, version: int) -> Floats:
    if name in ADDED and version == 1:
        return np.full((rows.num_rows, series), np.nan)
    return series_column(rows, name, series)


def _facts(ledger: Ledger, partition: Sequence[str]) -> dict[str, Any]:
    facts = {
        "schema": SCHEMA,
        "version": VERSION,
        "models": list(ledger.models),
        "labels": None if ledger.labels is None else list(ledger.labels),
        "events": [list(event) for event in ledger.events],
        "keys": {name: _order(labels) for name, labels in ledger.keys.items()},
        "dependence": ledger.dependence,
        "is_weighted": ledger.is_weighted,
        "rules": [rule_to_dict(rule) for rule in ledger.rules],
        "partition": list(partition),
        "dropped": ledger.dropped,
    }
    law = "the labels of classes must be numbers or texts to be stored"
    try:
        stored = dict(json.loads(json.dumps(facts)))
    except TypeError as error:
        raise InputTypeError(law, offender=str(error)) from error
    if stored["labels"] != facts["labels"]:
        raise InputTypeError(law, offender=f"they are {facts['labels']!r}")
    return stored


def _order(labels: tuple[Any, ...]) -> list[Any] | None:
    """Return the order of the labels to store: always for text, for others if it is not their natural order, else None.

    The order of text is always stored, because some of the labels may be in alphabetical order by chance.
    """
    texts = all(isinstance(label, str) for label in labels)
    plain = all(isinstance(label, str | int | float) for label in labels)
    return list(labels) if texts or (plain and labels != ordered_labels(labels)) else None


def _joined(there: list[Any] | None, own: list[Any] | None) -> list[Any] | None:
    """Return the order of the stored labels and those that are added."""
    return there if own is None else own if there is None else list(merged_labels([there, own]))


def _part(name: object) -> str:
    """Return a key or a label as written in the name of a folder."""
    return quote(str(name), safe=" :.,+-")


def _facts_to_add_to(root: Path, facts: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the facts of the stored ledger after checking that it can be added to; None if there is no ledger."""
    if not (root / FACTS).exists():
        return None
    if not facts["partition"]:
        law = f"{root} holds a ledger already"
        raise InputValueError(law, hint="write to another folder, or by partition= of a key.")
    there = _stored_facts(root)
    if there["events"] == facts["events"][:-1]:  # Stored before ledgers of classes had the event of the top class.
        facts = {**facts, "events": there["events"]}
    differs = next((name for name in ("version", *SAME) if there[name] != facts[name]), None)
    told = (there[differs], facts[differs]) if differs else (list(there["keys"]), list(facts["keys"]))
    if differs or told[0] != told[1]:
        law = f"a ledger can only be added to {root} if both have the same {differs or 'keys'}"
        raise InputValueError(law, offender=f"they have {told[0]!r} and {told[1]!r}")
    return there


def _stored_facts(root: Path) -> dict[str, Any]:
    try:
        facts = json.loads((root / FACTS).read_text(encoding="utf-8"))
    except OSError:
        raise InputValueError(f"{root} must be a folder that holds a ledger; it has no {FACTS}") from None
    except (ValueError, RecursionError) as error:
        raise InputValueError(f"{root / FACTS} must be JSON", offender=str(error), hint=RESTORE) from error
    version = checked_version(facts, SCHEMA, *range(1, VERSION + 1))
    found = checked_fields(facts, SCHEMA, [*SAME, "keys", "dropped"])
    check_facts(found, RESERVED)
    return found | {"version": version}


def _read(folder: Path, labels: Sequence[str]) -> Any:
    """Return all files below a folder as one Arrow table, with text labels dictionary-encoded."""
    pa, _ = pyarrow()
    from pyarrow import dataset

    law = f"{folder} must hold whole Parquet files of a ledger"
    paths = sorted(map(str, folder.rglob("*.parquet")))
    if not paths:
        raise InputValueError(law, offender="there are none", hint=RESTORE)
    try:
        # The labels are columns of the files, so the names of the folders need not be parsed.
        kind = dataset.ParquetFileFormat(dictionary_columns=list(labels))
        rows = dataset.dataset(paths, format=kind).to_table()
        rows.column_names  # noqa: B018  (raises an error if a name is not valid UTF-8)
    except (pa.ArrowException, UnicodeError, OSError) as error:
        raise InputValueError(law, offender=str(error).split("\n", maxsplit=1)[0], hint=RESTORE) from error
    if not rows.num_rows:
        raise InputValueError(law, offender="they have no rows", hint=RESTORE)
    return rows


def _index(
    rows: Any, names: Sequence[str], orders: Mapping[str, list[str] | None]
) -> tuple[KeyIndex, NDArray[np.intp]]:
    """Return the combinations of labels that occur, and the entry of each row."""
    if not names:
        return KeyIndex.keyless(), np.zeros(rows.num_rows, dtype=np.intp)
    coded = [_coded(label_column(rows, name), orders.get(name)) for name in names]
    codes = np.stack([codes for _, codes in coded], axis=1)
    return KeyIndex(tuple(names), tuple(labels for labels, _ in coded), codes).distinct()


def _coded(column: Any, order: list[Any] | None) -> tuple[tuple[Any, ...], NDArray[np.intp]]:
    held, places = encoded(column)
    labels, codes = code_labels(plain_labels(held), order)
    return labels, codes[places]


def _belongs(rows: Any, models: tuple[str, ...], events: tuple[Event, ...]) -> NDArray[np.intp]:
    """Return the number of the model and event of each row, in the order of their product."""
    index, entry = _index(rows, ["model", "event", "place"], {})
    number = {(model, *event): at for at, (model, event) in enumerate(itertools.product(models, events))}
    combinations = zip(*(index.column(name) for name in index.names), strict=True)
    places = [number.get(one, -1) for one in combinations]
    if min(places) < 0:
        raise InputValueError(f"the tables of a {SCHEMA} must be of its models and events", hint=RESTORE)
    return np.array(places, dtype=np.intp)[entry]


def _keyed(
    all_columns: Mapping[str, NDArray[Any]], own: NDArray[np.intp], entry: NDArray[np.intp], entries: int
) -> KeyedTables:
    """Return the tables of one model and event; parts on different grids are converted to the coarsest."""
    if not len(own):
        raise InputValueError(f"a {SCHEMA} must have tables of all of its models and events", hint=RESTORE)
    columns = {name: column[own] for name, column in all_columns.items()}
    at, grids = entry[own], columns.pop("cells")
    sums = {name: np.bincount(at, columns.pop(name), minlength=entries) for name in ("n", "n_events")}
    if max(np.abs(own).max() for own in sums.values()) > MOST_CASES:
        raise InputValueError(f"the numbers of cases of a {SCHEMA} must add up to at most 2**53", hint=RESTORE)
    counts: dict[str, Any] = {name: own.astype(np.int64) for name, own in sums.items()}
    for name, weight in zip(COLUMNS[3:], COLUMNS[1:3], strict=True):
        columns.setdefault(name, columns[weight])
    every, none = np.arange(entries), np.zeros(entries, dtype=np.int64)
    parts = []
    for cells in np.unique(grids).tolist():
        rows = slice(None) if (grids == cells).all() else grids == cells
        picked = {name: column[rows] for name, column in columns.items()}
        part = KeyedTables(entry=at[rows], **picked, n=none, n_events=none, cells=cells or None)
        parts.append(part.pooled(every, entries))  # Sorted, whatever the order of the files.
    merged = parts[0] if len(parts) == 1 else KeyedTables.merge(parts, [every] * len(parts), entries)
    return replace(merged, **counts)


def _partitions(rows: Any, partition: Sequence[str], folder: Path) -> dict[Path, Any]:
    """Return the rows of each combination of labels, by the subfolder in which they are stored."""
    index, entry = _index(rows, partition, {})
    ordered = rows.take(np.argsort(entry, kind="stable")) if partition else rows
    bounds = np.searchsorted(np.sort(entry), np.arange(len(index) + 1)).tolist()
    columns = [index.column(name) for name in index.names]
    found = {}
    for place, (low, high) in enumerate(itertools.pairwise(bounds)):
        labels = zip(index.names, (column[place] for column in columns), strict=True)
        parts = [f"{_part(name)}={_part(label)}" for name, label in labels]
        longest = max(parts, key=len, default="")
        if len(longest) > MOST_LETTERS:
            law = f"labels must be short enough to name a folder, at most {MOST_LETTERS} letters with their key"
            offender = f"{longest[:40]}... has {len(longest)}, as encoded"
            raise InputValueError(law, argument="partition", offender=offender)
        inside = Path(*parts)
        found[folder / inside] = ordered.slice(low, high - low)
    return found


SCHEMA = "propriety.ledger"
LARGEST = 1e140  # Bound on a weighted loss, so that sums of squares over all cases are finite.
SAME_WEIGHT = 1e-9  # Relative difference of sums of the same weights in another order.
RESTORE = "restore the folder from a copy, or condense the cases again."
Scalar = str | int | float


def check_facts(facts: Mapping[str, Any], reserved: set[str]) -> None:
    """Raise an error if the facts are not those of a ledger."""
    models, labels, keys = facts["models"], facts["labels"], facts["keys"]
    sound = are_names(models) and len(models) > 0
    sound &= labels is None or (_are_labels(labels) and len(labels) > 1)
    sound = sound and isinstance(keys, dict) and all(name.strip() for name in keys)
    sound = sound and all(order is None or _are_labels(order) for order in keys.values())
    sound &= facts["dependence"] in (None, "cluster", "time") and isinstance(facts["is_weighted"], bool)
    sound &= isinstance(facts["rules"], list) and all(isinstance(rule, dict) for rule in facts["rules"])
    sound &= isinstance(facts["partition"], list) and all(isinstance(name, str) for name in facts["partition"])
    if not sound or not set(facts["partition"]) <= set(keys) or set(keys) & reserved:
        _refuse("its facts must name the models, labels, keys and rules that it is about")
    classes = None if labels is None else len(labels)
    wanted = [[list(event) for event in events_of(classes, ordered=ordered)] for ordered in (False, True)]
    # Ledgers of classes that were stored earlier lack the last event, that of the top class.
    if facts["events"] not in (wanted[:1] if classes is None else wanted + [one[:-1] for one in wanted]):
        _refuse("its events must be those of its labels")
    whole_number("dropped", facts["dropped"], 0)


def number_column(rows: Any, name: str, *, whole: bool = False) -> NDArray[Any]:
    """Return a column of numbers without missing values."""
    from pyarrow import types

    column = _column(rows, name)
    if not (types.is_integer(column.type) or (types.is_floating(column.type) and not whole)) or column.null_count:
        _refuse(f"its column {name} must hold {'whole ' if whole else ''}numbers; it is of {column.type}")
    return np.asarray(column.to_numpy()).astype(np.int64 if whole else np.float64, copy=False)


def label_column(rows: Any, name: str) -> Any:
    """Return a column of labels without missing values."""
    from pyarrow import types

    column = _column(rows, name)
    if types.is_nested(column.type) or types.is_null(column.type) or column.null_count:
        _refuse(f"its column {name} must hold a label in every row; it is of {column.type}")
    return column.combine_chunks()


def series_column(rows: Any, name: str, series: int) -> Floats:
    """Return a column of lists with one number per series."""
    from pyarrow import types

    column = _column(rows, name).combine_chunks()
    kind = column.type
    listed = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    if not listed or column.null_count or not types.is_floating(kind.value_type):
        _refuse(f"its column {name} must hold lists of numbers; it is of {kind}")
    values = column.flatten()
    lengths = np.asarray(column.value_lengths()) if not types.is_fixed_size_list(kind) else np.array([kind.list_size])
    if values.null_count or (lengths != series).any():
        _refuse(f"its column {name} must hold a number for each of {series} series")
    return np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.float64).reshape(-1, series)


def check_tables(tables: Mapping[tuple[str, Event], KeyedTables], *, is_weighted: bool) -> None:
    """Raise an error if no cases can have these tables, or if two models do not have the same cases."""
    first, *_ = tables.values()
    of_event: dict[Event, KeyedTables] = {}
    for (_, event), one in tables.items():
        weights = (one.events, one.non_events, one.event_squares, one.non_event_squares)
        if not all((column >= 0.0).all() and (column < np.inf).all() for column in weights):
            _refuse("the weights of its tables must be finite and not negative")
        if not ((one.forecast >= 0.0).all() and (one.forecast <= 1.0).all()):
            _refuse("the forecasts of its tables must lie in [0, 1]")
        if not (one.events + one.non_events > 0.0).all():
            _refuse("every row of its tables must have a weight")
        if not ((one.n >= 1).all() and (one.n_events >= 0).all() and (one.n_events <= one.n).all()):
            _refuse("every table must hold a case")
        if not np.array_equal(one.n, first.n) or one.cells != first.cells:
            _refuse("its tables must all be of the same cases, on the same grid")
        if one.cells is not None:
            check_cells(one.cells)
        _check_sums(one, is_weighted=is_weighted)
        if event != TOP:  # Whether the class with the highest probability is right depends on the model.
            _check_same(one, of_event.setdefault(event, one))


def _check_sums(one: KeyedTables, *, is_weighted: bool) -> None:
    """Raise an error if the rows of a table do not add up to its numbers of events and non-events."""
    for weight, number in zip(_weights_of(one), (one.n_events, one.n - one.n_events), strict=True):
        if not np.array_equal(weight > 0.0, number > 0) if is_weighted else not np.array_equal(weight, number):
            _refuse("the rows of every table must add up to its numbers of events and non-events")


def _check_same(one: KeyedTables, other: KeyedTables) -> None:
    """Raise an error if the tables of two models of one event are not of the same outcomes and weights."""
    if one is other:
        return
    agree = (_agree(*pair) for pair in zip(_weights_of(one), _weights_of(other), strict=True))
    if not np.array_equal(one.n_events, other.n_events) or not all(agree):
        _refuse("the tables of all models must be of the same outcomes")


def _weights_of(one: KeyedTables) -> tuple[Floats, Floats]:
    """Return the weight of the events and of the non-events of each entry."""
    events, others = (np.bincount(one.entry, column, minlength=len(one.n)) for column in (one.events, one.non_events))
    return events.astype(np.float64), others.astype(np.float64)


def _agree(one: Floats, other: Floats) -> bool:
    return bool(np.allclose(one, other, rtol=SAME_WEIGHT, atol=0.0))


def check_moments(
    moments: Moments, index: KeyIndex, tables: Mapping[tuple[str, Event], KeyedTables], classes: int | None
) -> None:
    """Raise an error if no losses can have these moments, or if they are not of the cases of the tables."""
    outcomes = 2 if classes is None else classes
    column = moments.index.column(OUTCOME)
    if not all(isinstance(place, int) and 0 <= place < outcomes for place in column):
        _refuse(f"its outcomes must be places of {outcomes} classes")
    entry, outcome, n = index.entry_of(moments.index), np.array(column, dtype=np.intp), next(iter(tables.values())).n
    counted = np.bincount(entry, moments.n, minlength=len(index))
    if not np.array_equal(counted, n):
        _refuse("its moments must be of the cases of its tables")
    for (_, event), one in tables.items():
        if event.kind in ("event", "class"):
            own = outcome == (1 if event.kind == "event" else event.place)
            n_events, weight = (np.bincount(entry[own], v[own], minlength=len(n)) for v in (moments.n, moments.weight))
            if not np.array_equal(n_events, one.n_events) or not _agree(weight.astype(np.float64), _weights_of(one)[0]):
                _refuse("its moments must be of the outcomes of its tables")
    _check_cells(*(getattr(moments, name).astype(np.float64) for name in ("n", "weight", "weight_squares")))
    _check_spread(moments.weight_squares[:, None], moments.mean, moments.lean, moments.spread)
    _check_range(moments, classes)
    too_large = np.abs([moments.even_squares, moments.even_cubes]) > LARGEST**2  # To be added.
    if (moments.even_squares < 0.0).any() or too_large.any():
        _refuse("even_squares and even_cubes must be those of some losses")


def _check_range(moments: Moments, classes: int | None) -> None:
    """Raise an error if the mean loss of a model is no number, or outside the range of a rule of the catalogue."""
    mean = moments.mean[:, : len(moments.models)]
    if np.isnan(mean).any():
        _refuse("the mean loss of every model must be a number")
    if isinstance(moments.rule, tuple({type(rule) for rule in RULES})):
        claimed = moments.rule.properties(classes)
        best = -np.inf if claimed.best is None else claimed.best
        worst = np.inf if claimed.worst is None else claimed.worst
        slack = ROUNDING_OF_SUMS * (1.0 + np.abs(mean))
        if ((mean < best - slack) | (mean > worst + slack)).any():
            _refuse(f"the mean losses must lie in the range of {moments.rule!r}, {best:g} to {worst:g}")


def _check_cells(n: Floats, weight: Floats, squares: Floats) -> None:
    if not ((n >= 1.0) & (weight > 0.0)).all():
        _refuse("every cell of its moments must hold a case with a positive weight")
    sound = (squares > 0.0) & (squares < np.inf)
    if not weights_agree(n, weight, np.where(sound, squares, np.nan)).all():
        _refuse("the weights of every cell must be finite and agree with their squares and number")


def _check_spread(squares: Floats, mean: Floats, lean: Floats, spread: Floats) -> None:
    """Raise an error if the Cauchy-Schwarz inequality is violated: lean**2 is at most squares * spread."""
    bad = spread < 0.0  # NaN results from infinite losses.
    root = np.sqrt(squares)
    with np.errstate(over="ignore", invalid="ignore"):
        for moment, size in ((mean, root * (1.0 + np.abs(mean))), (lean, np.sqrt(np.abs(lean))), (spread, spread**0.5)):
            if ((size > LARGEST) & np.isfinite(moment)).any():
                _refuse("mean, lean and spread must be small enough for sums of squares")
        limit = root * np.sqrt(np.where(bad, 0.0, spread)) * (1.0 + ROUNDING_OF_SUMS)
        bad |= np.abs(lean) > limit + ROUNDING_OF_SUMS * squares * (1.0 + np.abs(mean))
    if bad.any():
        _refuse("mean, lean and spread must be those of some losses")


def _column(rows: Any, name: str) -> Any:
    if rows.column_names.count(name) != 1:
        _refuse(f"its files must have the column {name} once; they have {rows.column_names}")
    return rows.column(name)


def _are_labels(labels: object) -> bool:
    if not isinstance(labels, list) or not all(isinstance(label, Scalar) for label in labels):
        return False
    return len(labels) == len(set(labels))


def _refuse(law: str) -> NoReturn:
    raise InputValueError(f"this is not a valid {SCHEMA}: {law}", hint=RESTORE)


def stored_tables(ledger: Ledger) -> Any:
    """Return the rows of all tables of a ledger as one Arrow table."""
    pa, _ = pyarrow()
    parts = [_table_rows(ledger, model, event) for model in ledger.models for event in ledger.events]
    return pa.concat_tables(parts)


def stored_moments(ledger: Ledger) -> Any:
    """Return the cells of all moments of a ledger as one Arrow table; None if there are none."""
    pa, _ = pyarrow()
    parts = []
    for place, rule in enumerate(ledger.rules):
        one = ledger.moments(rule)
        entries = np.arange(len(one.n))
        columns: dict[str, Any] = {"rule": np.full(len(one.n), place)}
        columns |= {name: _labels(one.index, name, entries) for name in one.index.names}
        columns |= {name: getattr(one, name) for name in PER_CELL}
        columns |= {name: _lists(getattr(one, name)) for name in PER_SERIES}
        parts.append(pa.table(columns))
    return pa.concat_tables(parts) if parts else None


def stored_labels(name: str, labels_of_key: Sequence[Any]) -> Any:
    """Return the labels of a key as an Arrow array; raise an error if they would come back as others."""
    pa, _ = pyarrow()
    law, own = f"the labels of {name} must be of one kind that Arrow knows to be stored", list(labels_of_key)
    try:
        # Arrow infers signed integers unless the type is given.
        large = all(type(label) is int and label >= 0 for label in own) and max(own, default=0) >= 2**63
        labels = pa.array(own, pa.uint64() if large else None)
        back = plain_labels(labels.to_pylist())
    except (pa.ArrowException, OverflowError, TypeError, UnicodeError) as error:
        raise InputTypeError(law, offender=str(error).split("\n", maxsplit=1)[0]) from error
    changed = next((pair for pair in zip(own, back, strict=True) if not _is_same(*pair)), None)
    if changed is not None:  # For example, Arrow turns a tuple into a list and several time zones into one.
        offender = f"{changed[0]!r} would come back as {changed[1]!r}"
        raise InputTypeError(law, offender=offender, hint="turn them into text first.")
    return labels


def _table_rows(ledger: Ledger, model: str, event: Event) -> Any:
    pa, _ = pyarrow()
    keyed = ledger.keyed_tables(model, event)
    rows, bounds = len(keyed.entry), keyed.bounds
    first = bounds[:-1][np.diff(bounds) > 0]
    columns: dict[str, Any] = {
        "model": _repeated(model, rows),
        "event": _repeated(event.kind, rows),
        "place": np.full(rows, event.place),
        **{name: _labels(ledger.index, name, keyed.entry) for name in ledger.index.names},
        **{name: getattr(keyed, name) for name in (COLUMNS if ledger.is_weighted else COLUMNS[:3])},
    }
    for name in ("n", "n_events"):
        column = np.zeros(rows, dtype=np.int64)
        column[first] = getattr(keyed, name)[keyed.entry[first]]
        columns[name] = column
    return pa.table(columns | {"cells": np.full(rows, keyed.cells or 0, dtype=np.int64)})


def _labels(index: KeyIndex, name: str, entry: NDArray[np.intp]) -> Any:
    """Return the labels of rows as an Arrow array."""
    pa, _ = pyarrow()
    place = index.place(name)
    return stored_labels(name, index.labels[place]).take(pa.array(index.codes[entry, place]))


def _is_same(one: Any, other: Any) -> bool:
    """Whether labels are equal; times in different zones are not."""
    return bool(one == other) and (not isinstance(one, dt.datetime) or one.utcoffset() == other.utcoffset())


def _repeated(text: str, rows: int) -> Any:
    pa, _ = pyarrow()
    return pa.array([text]).take(pa.array(np.zeros(rows, dtype=np.int64)))


def _lists(matrix: Floats) -> Any:
    pa, _ = pyarrow()
    return pa.FixedSizeListArray.from_arrays(pa.array(matrix.ravel()), matrix.shape[1])
