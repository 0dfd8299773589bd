"""The content of a ledger as rows of Arrow tables, as which it is stored: tables, moments and labels of keys."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from propriety.errors import InputTypeError
from propriety.ledger.key_index import KeyIndex
from propriety.ledger.keyed_tables import COLUMNS
from propriety.ledger.moments import Sums
from propriety.result import Floats
from propriety.tables import frames
from propriety.tables.events import Event
from propriety.tables.label_codes import plain_labels

if TYPE_CHECKING:
    from propriety.ledger.ledger import Ledger

PER_CELL, PER_SERIES = Sums._fields[:3], Sums._fields[3:]


def stored_tables(ledger: Ledger) -> Any:
    """Return the rows of all tables of a ledger as one Arrow table."""
    pa, _ = frames.pyarrow()
    parts = [_table_rows(ledger, model, event) for model in ledger.models for event in ledger.events]
    return pa.concat_tables(parts)


def stored_moments(ledger: Ledger) -> Any:
    """Return the cells of all moments of a ledger as one Arrow table; None if there are none."""
    pa, _ = frames.pyarrow()
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
    pa, _ = frames.pyarrow()
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
    pa, _ = frames.pyarrow()
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
    pa, _ = frames.pyarrow()
    place = index.place(name)
    return stored_labels(name, index.labels[place]).take(pa.array(index.codes[entry, place]))


def _is_same(one: Any, other: Any) -> bool:
    """Whether labels are equal; times in different zones are not."""
    return bool(one == other) and (not isinstance(one, dt.datetime) or one.utcoffset() == other.utcoffset())


def _repeated(text: str, rows: int) -> Any:
    pa, _ = frames.pyarrow()
    return pa.array([text]).take(pa.array(np.zeros(rows, dtype=np.int64)))


def _lists(matrix: Floats) -> Any:
    pa, _ = frames.pyarrow()
    return pa.FixedSizeListArray.from_arrays(pa.array(matrix.ravel()), matrix.shape[1])
