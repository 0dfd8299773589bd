"""A ledger as a folder of plain Parquet files, partitioned by chosen keys, which any engine can read.

`ledger.json` describes the ledger and names its files. Below `tables/`, a row is a row of a forecast table, with its
model, event and keys; `n` and `n_events` are stored once per table, in its first row. Below `moments/`, a row is a cell
of the moments of one function. Subfolders such as `day=2026-01-01` hold the rows of one label; more can be added.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np

from propriety.errors import InputTypeError, InputValueError
from propriety.ledger.key_index import merged_labels
from propriety.ledger.moments import OUTCOME
from propriety.ledger.stored_rows import (
    RESERVED,
    RESTORE,
    SCHEMA,
    check_facts,
    check_moments,
    check_tables,
    indexed,
    is_same,
    keyed_tables,
    moments_of_rows,
    stored_moments,
    stored_tables,
)
from propriety.rules.catalogue import rule_to_dict
from propriety.storage.places import Location, place_of
from propriety.storage.store import Facts, Store, Written
from propriety.tables.events import Event
from propriety.tables.labels import ordered_labels

if TYPE_CHECKING:
    from propriety.ledger.ledger import Ledger

VERSION = 1
SAME = ("models", "labels", "events", "dependence", "is_weighted", "rules", "partition")
MAX_NAME = 255  # Letters in the name of a folder, on most file systems.


def store_of(folder: Location) -> Store:
    """Return the store of a ledger in a folder."""
    return Store(
        place=place_of(folder),
        schema=SCHEMA,
        version=VERSION,
        fields=[*SAME, "keys", "types"],
        kinds={"tables": _labels_of_tables, "moments": _labels_of_moments},
        alike=is_same,
        restore=RESTORE,
    )


def is_ledger(folder: Path, *, unfinished: bool = False) -> bool:
    """Whether a folder holds a ledger; with `unfinished`, also if it was interrupted before its first commit."""
    manifest = store_of(folder).manifest
    if (folder / manifest).is_file() or not (unfinished and folder.is_dir()):
        return (folder / manifest).is_file()
    names = {path.name for path in folder.iterdir()}
    return bool(names) and names <= {"tables", "moments", f".{manifest}.part"}


def _labels_of_tables(facts: Facts) -> list[str]:
    check_facts(facts)
    return ["model", "event", *facts["keys"]]


def _labels_of_moments(facts: Facts) -> list[str] | None:
    dependence = [] if facts["dependence"] is None else [facts["dependence"]]
    return [OUTCOME, *facts["keys"], *dependence] if facts["rules"] else None


def write_ledger(
    ledger: Ledger, folder: Location, *, partition: str | Sequence[str] = (), replace: bool = False
) -> Written:
    """Write a ledger, or add its partitions to a stored one."""
    partition = [partition] if isinstance(partition, str) else partition
    if not isinstance(partition, Sequence):
        raise InputTypeError("must be a list of keys", argument="partition", got_type=partition)
    reserved = [name for name in ledger.index.names if name in RESERVED]
    if reserved:
        law = f"a stored ledger cannot have a key called {reserved[0]!r}, which is a column of its own"
        raise InputValueError(law, hint="give the key another name.")
    for name in partition:
        ledger.index.place(name)  # Raises an error if it is not a key.
    facts = _facts(ledger, partition)
    rows = {"tables": stored_tables(ledger)}
    if ledger.rules:
        rows["moments"] = stored_moments(ledger)
    facts["types"] = {
        name: str(table.schema.field(name).type)
        for table in rows.values()
        for name in (*ledger.index.names, ledger.dependence)
        if name in table.column_names
    }
    split = {kind: _split(table, partition) for kind, table in rows.items()}
    partitions = {name: {kind: split[kind][name] for kind in split} for name in split["tables"]}
    store = store_of(folder)

    def join(there: Facts, own: Facts) -> Facts:
        check_facts(there)
        return _joined(there, own, str(store.place))

    return store.write(facts, partitions, join=join, dropped=ledger.dropped, replace=replace)


def _facts(ledger: Ledger, partition: Sequence[str]) -> Facts:
    facts = {
        "models": list(ledger.models),
        "labels": None if ledger.labels is None else list(ledger.labels),
        "events": [list(event) for event in ledger.events],
        "keys": {name: _order(labels) for name, labels in ledger.keys.items()},
        "dependence": ledger.dependence,
        "is_weighted": ledger.is_weighted,
        "rules": [rule_to_dict(rule) for rule in ledger.rules],
        "partition": list(partition),
    }
    law = "the labels of classes must be numbers or texts to be stored"
    try:
        stored: Facts = json.loads(json.dumps(facts))
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


def _joined(there: Facts, own: Facts, place: str) -> Facts:
    """Return the facts of a stored ledger with added partitions; raise an error if they do not fit."""
    differs = next((name for name in SAME if there[name] != own[name]), None)
    values = (there[differs], own[differs]) if differs else (list(there["keys"]), list(own["keys"]))
    if values[0] != values[1]:
        law = f"a ledger can only be added to {place} if both have the same {differs or 'keys'}"
        raise InputValueError(law, offender=f"they have {values[0]!r} and {values[1]!r}")
    for name, kind in own["types"].items():
        if there["types"].get(name, kind) != kind:
            law = f"the labels of {name} must be of the type of those in {place}, to be added"
            offender = f"they are {kind}, those are {there['types'][name]}"
            raise InputTypeError(law, offender=offender, hint="convert the labels first.")
    orders = ((name, there["keys"][name], order) for name, order in own["keys"].items())
    return own | {"keys": {name: _joined_order(stored, order) for name, stored, order in orders}}


def _joined_order(there: list[Any] | None, own: list[Any] | None) -> list[Any] | None:
    """Return the order of the stored labels and those that are added."""
    return there if own is None else own if there is None else list(merged_labels([there, own]))


def _split(rows: Any, partition: Sequence[str]) -> dict[str, Any]:
    """Return the rows of each combination of labels, by the subfolder in which they are stored."""
    index, entry = indexed(rows, partition, {})
    ordered = rows.take(np.argsort(entry, kind="stable")) if partition else rows
    bounds = np.searchsorted(np.sort(entry), np.arange(len(index) + 1)).tolist()
    columns = [index.column(name) for name in index.names]
    split = {}
    for place, (low, high) in enumerate(itertools.pairwise(bounds)):
        labels = zip(index.names, (column[place] for column in columns), strict=True)
        parts = [f"{_quoted(name)}={_quoted(label)}" for name, label in labels]
        longest = max(parts, key=len, default="")
        if len(longest) > MAX_NAME:
            law = f"labels must be short enough to name a folder, at most {MAX_NAME} letters with their key"
            offender = f"{longest[:40]}... has {len(longest)}, as encoded"
            raise InputValueError(law, argument="partition", offender=offender)
        split["/".join(parts)] = ordered.slice(low, high - low)
    return split


def _quoted(name: object) -> str:
    """Return a key or a label as written in the name of a folder."""
    return quote(str(name), safe=" :.,+-")


def read_ledger(folder: Location) -> Ledger:
    """Read a ledger that `write_ledger` wrote."""
    facts, entries, rows = store_of(folder).read()
    dropped = sum(entry["dropped"] for entry in entries.values())
    try:
        with np.errstate(over="raise"):
            return _ledger(facts, rows, dropped)
    except FloatingPointError as error:
        law = f"the numbers of a {SCHEMA} must be small enough to be added"
        raise InputValueError(law, offender=str(error), hint=RESTORE) from error


def _ledger(facts: Facts, rows: Mapping[str, Any], dropped: int) -> Ledger:
    from propriety.ledger.ledger import Ledger

    models, events = tuple(facts["models"]), tuple(Event(kind, place) for kind, place in facts["events"])
    index, tables = keyed_tables(rows["tables"], facts, models, events)
    check_tables(tables, is_weighted=facts["is_weighted"])
    moments = moments_of_rows(rows["moments"], facts, dropped) if facts["rules"] else []
    for one in moments:
        check_moments(one, index, tables, None if facts["labels"] is None else len(facts["labels"]))
    return Ledger(
        models=models,
        events=events,
        labels=None if facts["labels"] is None else tuple(facts["labels"]),
        index=index,
        dependence=facts["dependence"],
        is_weighted=facts["is_weighted"],
        dropped=dropped,
        _tables=tables,
        _moments={one.rule: one for one in moments},
    )
