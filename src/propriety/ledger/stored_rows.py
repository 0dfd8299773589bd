"""The rows of a stored ledger: tables and moments as Arrow tables, and back, with checks of what is read."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from propriety.checks import check_cells
from propriety.errors import InputTypeError, InputValueError
from propriety.ledger.key_index import KeyIndex
from propriety.ledger.keyed_tables import COLUMNS, KeyedTables
from propriety.ledger.moments import OUTCOME, Moments, Sums
from propriety.ledger.stored_pairs import WIDTHS, are_alike, check_pair_sums, pair_lists, pair_sums_of_lists
from propriety.result import Floats
from propriety.rules.catalogue import RULES, rule_from_dict
from propriety.storage.files import first_line, pyarrow
from propriety.tables.events import TOP, Event, events_of
from propriety.tables.frames import are_names
from propriety.tables.labels import code_labels, plain_labels
from propriety.tables.queries import encoded
from propriety.tables.table_laws import ROUNDING_OF_SUMS, weights_agree

if TYPE_CHECKING:
    from propriety.ledger.ledger import Ledger
PER_CELL, PER_SERIES = Sums._fields[:3], Sums._fields[3:]
MAX_CASES = 2**53  # Up to here, sums of floating-point numbers are exact.
SCHEMA = "propriety.ledger"
LARGEST = 1e140  # Bound on a weighted loss, so that sums of squares over all cases are finite.
SAME_WEIGHT = 1e-9  # Relative difference of sums of the same weights in another order.
RESTORE = "restore the folder from a copy, or condense the cases again."
Scalar = str | int | float
# Names of columns, which no key can have.
RESERVED = {
    "model",
    "event",
    "place",
    "rule",
    OUTCOME,
    "cluster",
    "period",
    "cells",
    "n_events",
    *COLUMNS,
    *Sums._fields,
    *WIDTHS,
}


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
        parts.append(pa.table(columns | pair_lists(one)))
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
        raise InputTypeError(law, offender=first_line(error)) from error
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


def number_column(rows: Any, name: str, *, whole: bool = False) -> NDArray[Any]:
    """Return a column of numbers without missing values."""
    from pyarrow import types

    column = _column(rows, name)
    if not (types.is_integer(column.type) or (types.is_floating(column.type) and not whole)) or column.null_count:
        refuse(f"its column {name} must hold {'whole ' if whole else ''}numbers; it is of {column.type}")
    return np.asarray(column.to_numpy()).astype(np.int64 if whole else np.float64, copy=False)


def label_column(rows: Any, name: str) -> Any:
    """Return a column of labels without missing values."""
    from pyarrow import types

    column = _column(rows, name)
    if types.is_nested(column.type) or types.is_null(column.type) or column.null_count:
        refuse(f"its column {name} must hold a label in every row; it is of {column.type}")
    return column.combine_chunks()


def series_column(rows: Any, name: str, series: int) -> Floats:
    """Return a column of lists with one number per series."""
    from pyarrow import types

    column = _column(rows, name).combine_chunks()
    kind = column.type
    listed = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    if not listed or column.null_count or not types.is_floating(kind.value_type):
        refuse(f"its column {name} must hold lists of numbers; it is of {kind}")
    values = column.flatten()
    lengths = np.asarray(column.value_lengths()) if not types.is_fixed_size_list(kind) else np.array([kind.list_size])
    if values.null_count or (lengths != series).any():
        refuse(f"its column {name} must hold a number for each of {series} series")
    return np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.float64).reshape(-1, series)


def _column(rows: Any, name: str) -> Any:
    if rows.column_names.count(name) != 1:
        refuse(f"its files must have the column {name} once; they have {rows.column_names}")
    return rows.column(name)


def keyed_tables(
    rows: Any, facts: Mapping[str, Any], models: tuple[str, ...], events: tuple[Event, ...]
) -> tuple[KeyIndex, dict[tuple[str, Event], KeyedTables]]:
    """Return the combinations of keys and the tables of every model and event."""
    if not rows.num_rows:
        refuse("its tables must have rows")
    index, entry = indexed(rows, list(facts["keys"]), facts["keys"])
    belongs = _belongs(rows, models, events)
    columns = {name: number_column(rows, name) for name in (COLUMNS if facts["is_weighted"] else COLUMNS[:3])}
    columns |= {name: number_column(rows, name, whole=True) for name in ("n", "n_events", "cells")}
    places = enumerate(itertools.product(models, events))
    return index, {
        place: _keyed(columns, np.flatnonzero(belongs == number), entry, len(index)) for number, place in places
    }


def moments_of_rows(rows: Any, facts: Mapping[str, Any], dropped: int) -> list[Moments]:
    """Return the moments of every function."""
    if not rows.num_rows:
        refuse("its moments must have rows")
    names = [OUTCOME, *facts["keys"], *([] if facts["dependence"] is None else [facts["dependence"]])]
    series = len(facts["models"]) * (len(facts["models"]) + 1) // 2
    moments = []
    for place, stored in enumerate(facts["rules"]):
        own = rows.filter(number_column(rows, "rule", whole=True) == place)
        index, entry = indexed(own, names, facts["keys"])
        pairs = None
        if facts["labels"] is None and series > 1:
            lists = {name: _column(own, name).combine_chunks() for name in WIDTHS}
            of_pairs = indexed(own, [OUTCOME, *facts["keys"]], facts["keys"])
            pairs = pair_sums_of_lists(lists, *of_pairs, series - len(facts["models"]), refuse)
        one = Moments(
            n=number_column(own, "n", whole=True),
            weight=number_column(own, "weight"),
            weight_squares=number_column(own, "weight_squares"),
            **{name: series_column(own, name, series) for name in PER_SERIES},
            models=tuple(facts["models"]),
            rule=rule_from_dict(stored),
            index=KeyIndex(index.names, index.labels, index.codes[entry]),
            dropped=dropped,
            pair_sums=pairs,
        )
        moments.append(Moments.merge([one]))
    return moments


def is_same(kind: str, one: Any, other: Any) -> bool:
    """Whether the rows of tables or moments are the same, but for the order in which an engine has added them up."""
    if one.num_rows != other.num_rows or one.schema.remove_metadata() != other.schema.remove_metadata():
        return False
    # Sums of deviations are about 0, so their rounding is measured by the sums of the squared weights.
    scale = np.maximum(1.0, number_column(other, "weight_squares")) if kind == "moments" else np.ones(other.num_rows)
    for name in one.column_names:
        mine, theirs = (rows.column(name) for rows in (one, other))
        if name in (*COLUMNS, "weight", "weight_squares"):
            is_close = np.allclose(mine.to_numpy(), theirs.to_numpy(), rtol=SAME_WEIGHT, atol=0.0)
        elif name in PER_SERIES:
            first, second = (series_column(rows, name, mine.type.list_size) for rows in (one, other))
            # `numpy.isclose` takes an array as `atol` only from NumPy 2 on.
            with np.errstate(invalid="ignore"):
                near = np.abs(first - second) <= SAME_WEIGHT * (scale[:, None] + np.abs(second))
            is_close = bool((near | (first == second) | (np.isnan(first) & np.isnan(second))).all())
        elif name in WIDTHS:
            is_close = are_alike(mine, theirs, SAME_WEIGHT)
        else:
            is_close = mine.equals(theirs)
        if not is_close:
            return False
    return True


def indexed(
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
    index, entry = indexed(rows, ["model", "event", "place"], {})
    number = {(model, *event): at for at, (model, event) in enumerate(itertools.product(models, events))}
    combinations = zip(*(index.column(name) for name in index.names), strict=True)
    places = [number.get(one, -1) for one in combinations]
    if min(places) < 0:
        refuse("its tables must be of its models and events")
    return np.array(places, dtype=np.intp)[entry]


def _keyed(
    all_columns: Mapping[str, NDArray[Any]], own: NDArray[np.intp], entry: NDArray[np.intp], entries: int
) -> KeyedTables:
    """Return the tables of one model and event; parts on different grids are converted to the coarsest."""
    if not len(own):
        refuse("it must have tables of all of its models and events")
    columns = {name: column[own] for name, column in all_columns.items()}
    at, grids = entry[own], columns.pop("cells")
    sums = {name: np.bincount(at, columns.pop(name), minlength=entries) for name in ("n", "n_events")}
    if max(np.abs(own).max() for own in sums.values()) > MAX_CASES:
        refuse("its numbers of cases must add up to at most 2**53")
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


def check_facts(facts: Mapping[str, Any]) -> None:
    """Raise an error if the facts are not those of a ledger."""
    models, labels, keys = facts["models"], facts["labels"], facts["keys"]
    sound = are_names(models) and len(models) > 0
    sound &= labels is None or (_are_labels(labels) and len(labels) > 1)
    sound = sound and isinstance(keys, dict) and all(name.strip() for name in keys)
    sound = sound and all(order is None or _are_labels(order) for order in keys.values())
    sound &= facts["dependence"] in (None, "cluster", "period") and isinstance(facts["is_weighted"], bool)
    sound &= isinstance(facts["rules"], list) and all(isinstance(rule, dict) for rule in facts["rules"])
    sound &= isinstance(facts["partition"], list) and all(isinstance(name, str) for name in facts["partition"])
    sound &= isinstance(facts["types"], dict) and all(isinstance(kind, str) for kind in facts["types"].values())
    if not sound or not set(facts["partition"]) <= set(keys) or set(keys) & RESERVED:
        refuse("its facts must name the models, labels, keys and rules that it is about")
    classes = None if labels is None else len(labels)
    wanted = [[list(event) for event in events_of(classes, ordered=ordered)] for ordered in (False, True)]
    if facts["events"] not in wanted:
        refuse("its events must be those of its labels")


def check_tables(tables: Mapping[tuple[str, Event], KeyedTables], *, is_weighted: bool) -> None:
    """Raise an error if no cases can have these tables, or if two models do not have the same cases."""
    first, *_ = tables.values()
    of_event: dict[Event, KeyedTables] = {}
    for (_, event), one in tables.items():
        weights = (one.events, one.non_events, one.event_squares, one.non_event_squares)
        if not all((column >= 0.0).all() and (column < np.inf).all() for column in weights):
            refuse("the weights of its tables must be finite and not negative")
        if not ((one.forecast >= 0.0).all() and (one.forecast <= 1.0).all()):
            refuse("the forecasts of its tables must lie in [0, 1]")
        if not (one.events + one.non_events > 0.0).all():
            refuse("every row of its tables must have a weight")
        if not ((one.n >= 1).all() and (one.n_events >= 0).all() and (one.n_events <= one.n).all()):
            refuse("every table must hold a case")
        if not np.array_equal(one.n, first.n) or one.cells != first.cells:
            refuse("its tables must all be of the same cases, on the same grid")
        if one.cells is not None:
            check_cells(one.cells)
        _check_sums(one, is_weighted=is_weighted)
        if event != TOP:  # Whether the class with the highest probability is right depends on the model.
            _check_same(one, of_event.setdefault(event, one))


def _check_sums(one: KeyedTables, *, is_weighted: bool) -> None:
    """Raise an error if the rows of a table do not add up to its numbers of events and non-events."""
    for weight, number in zip(_weights_of(one), (one.n_events, one.n - one.n_events), strict=True):
        if not np.array_equal(weight > 0.0, number > 0) if is_weighted else not np.array_equal(weight, number):
            refuse("the rows of every table must add up to its numbers of events and non-events")


def _check_same(one: KeyedTables, other: KeyedTables) -> None:
    """Raise an error if the tables of two models of one event are not of the same outcomes and weights."""
    if one is other:
        return
    agree = (_agree(*pair) for pair in zip(_weights_of(one), _weights_of(other), strict=True))
    if not np.array_equal(one.n_events, other.n_events) or not all(agree):
        refuse("the tables of all models must be of the same outcomes")


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
        refuse(f"its outcomes must be places of {outcomes} classes")
    entry, outcome, n = index.entry_of(moments.index), np.array(column, dtype=np.intp), next(iter(tables.values())).n
    counted = np.bincount(entry, moments.n, minlength=len(index))
    if not np.array_equal(counted, n):
        refuse("its moments must be of the cases of its tables")
    for (_, event), one in tables.items():
        if event.kind in ("event", "class"):
            own = outcome == (1 if event.kind == "event" else event.place)
            n_events, weight = (np.bincount(entry[own], v[own], minlength=len(n)) for v in (moments.n, moments.weight))
            if not np.array_equal(n_events, one.n_events) or not _agree(weight.astype(np.float64), _weights_of(one)[0]):
                refuse("its moments must be of the outcomes of its tables")
    _check_cells(*(getattr(moments, name).astype(np.float64) for name in ("n", "weight", "weight_squares")))
    _check_spread(moments.weight_squares[:, None], moments.mean, moments.lean, moments.spread)
    _check_range(moments, classes)
    if moments.pair_sums is not None:
        check_pair_sums(moments, moments.pair_sums, refuse)


def _check_range(moments: Moments, classes: int | None) -> None:
    """Raise an error if the mean loss of a model is no number, or outside the range of a rule of the catalogue."""
    mean = moments.mean[:, : len(moments.models)]
    if np.isnan(mean).any():
        refuse("the mean loss of every model must be a number")
    if isinstance(moments.rule, tuple({type(rule) for rule in RULES})):
        claimed = moments.rule.properties(classes)
        best = -np.inf if claimed.best is None else claimed.best
        worst = np.inf if claimed.worst is None else claimed.worst
        slack = ROUNDING_OF_SUMS * (1.0 + np.abs(mean))
        if ((mean < best - slack) | (mean > worst + slack)).any():
            refuse(f"the mean losses must lie in the range of {moments.rule!r}, {best:g} to {worst:g}")


def _check_cells(n: Floats, weight: Floats, squares: Floats) -> None:
    if not ((n >= 1.0) & (weight > 0.0)).all():
        refuse("every cell of its moments must hold a case with a positive weight")
    sound = (squares > 0.0) & (squares < np.inf)
    if not weights_agree(n, weight, np.where(sound, squares, np.nan)).all():
        refuse("the weights of every cell must be finite and agree with their squares and number")


def _check_spread(squares: Floats, mean: Floats, lean: Floats, spread: Floats) -> None:
    """Raise an error if the Cauchy-Schwarz inequality is violated: lean**2 is at most squares * spread."""
    bad = spread < 0.0  # NaN results from infinite losses.
    root = np.sqrt(squares)
    with np.errstate(over="ignore", invalid="ignore"):
        for moment, size in ((mean, root * (1.0 + np.abs(mean))), (lean, np.sqrt(np.abs(lean))), (spread, spread**0.5)):
            if ((size > LARGEST) & np.isfinite(moment)).any():
                refuse("mean, lean and spread must be small enough for sums of squares")
        limit = root * np.sqrt(np.where(bad, 0.0, spread)) * (1.0 + ROUNDING_OF_SUMS)
        bad |= np.abs(lean) > limit + ROUNDING_OF_SUMS * squares * (1.0 + np.abs(mean))
    if bad.any():
        refuse("mean, lean and spread must be those of some losses")


def _are_labels(labels: object) -> bool:
    if not isinstance(labels, list) or not all(isinstance(label, Scalar) for label in labels):
        return False
    return len(labels) == len(set(labels))


def refuse(law: str) -> NoReturn:
    """Raise the error that a stored ledger is not valid."""
    raise InputValueError(f"this is not a valid {SCHEMA}: {law}", hint=RESTORE)
