"""Forecast tables of every key, counted by the engine of a lazy frame: one query for sizes, one for the tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.checks import check_cells
from propriety.errors import InputValueError
from propriety.ledger.key_index import KeyIndex
from propriety.ledger.keyed_tables import COLUMNS, KeyedTables, add_up
from propriety.tables import laws
from propriety.tables.engine_laws import checked_counts
from propriety.tables.engines import Counted, Counts, count, count_groups
from propriety.tables.events import Event
from propriety.tables.lazy_cases import LazyCases

BUDGET = 2**22  # Most rows of all tables of an engine together.
MOST_CELLS = 2**20
FEWEST_CELLS = 2**4
CASES_OF_A_CELL = 2**4


@dataclass(frozen=True, slots=True)
class Filled:
    """The tables of every model and event by combination of keys, and the number of rows dropped."""

    index: KeyIndex
    tables: dict[tuple[str, Event], KeyedTables]
    dropped: int


def tables_of_engine(cases: LazyCases, *, cells: int | None = None) -> Filled:
    """Count the cases of every key by forecast, or by cell of a grid; the number of cells takes a query of its own."""
    if cells is None:
        cells = _cells_of(cases)
    else:
        check_cells(cells)
    counted = count(cases, None if cells is None else cells.bit_length() - 1, keys=cases.keys)
    assert counted is not None  # noqa: S101  (for the type checker; there is a table of each model and event)
    if not len(counted.columns["key"]):
        raise InputValueError(laws.NO_CASE)
    lawful, dropped = _lawful(cases, counted)
    if not lawful.all():
        rows_kept = np.flatnonzero(lawful)
        columns = {name: column[rows_kept] for name, column in counted.columns.items()}
        counted = Counted(counted.tables, counted.labels.take(rows_kept), columns)
    index, entry = _index(cases, counted)
    belongs = _tables_of(counted)
    found = {
        (cases.models[model], event): _keyed(counted, belongs == place, entry, len(index), cells)
        for place, (model, event) in enumerate(counted.tables)
    }
    return _occupied(index, found, dropped)


def _cells_of(cases: LazyCases) -> int | None:
    """Return the number of cells that suits the number of rows and of keys; None to count every forecast."""
    rows = 0 if cases.censoring is None else cases.censoring.n  # Counted when the weights were estimated.
    sizes: dict[Any, int] = {}
    if not rows or (cases.keys and rows * len(cases.tables) > BUDGET):
        sizes = count_groups(cases, cases.keys)
        rows = sum(sizes.values())
    if rows * len(cases.tables) <= BUDGET:
        return None
    return cells_for(rows, max(len(sizes), 1), len(cases.tables))


def cells_for(rows: int, keys: int, tables: int) -> int:
    """Return the number of cells of each table: at most one for 16 cases of a key, at most 2**20, at most 2**22 in all.

    A table has never fewer than 16 cells.

    Examples
    --------
    >>> cells_for(36_500_000, 18_250, 2), cells_for(10_000_000, 1, 1), cells_for(10**9, 10, 1)
    (64, 524288, 262144)
    >>> cells_for(10_000_000, 1_000_000, 1)
    16
    """
    most = min(MOST_CELLS, BUDGET // (keys * tables), rows // keys // CASES_OF_A_CELL)
    return max(1 << max(int(most).bit_length() - 1, 0), FEWEST_CELLS)


def _lawful(cases: LazyCases, counted: Counted) -> tuple[NDArray[np.bool_], int]:
    """Return a mask of the valid rows and the number of dropped cases; raise an error for invalid rows."""
    key, dropped = counted.columns["key"], 0
    lawful = key >= -1.0
    if lawful.all() and not cases.weighted:
        return lawful, dropped
    belongs = _tables_of(counted)
    for place, (model, event) in enumerate(counted.tables):
        own = belongs == place
        columns = {name: column[own] for name, column in counted.columns.items()}
        # All groups are checked together, so that a group of zero weight is left out instead of rejected.
        _, dropped = checked_counts(cases, Counts(model, event, (), **columns), ())
    return lawful, dropped


def _tables_of(counted: Counted) -> NDArray[np.intp]:
    if len(counted.tables) == 1:
        return np.zeros(counted.labels.num_rows if counted.labels.num_columns else len(counted.columns["key"]), np.intp)
    return np.asarray(counted.labels.column("table").to_numpy()).astype(np.intp)


def _index(cases: LazyCases, lawful: Counted) -> tuple[KeyIndex, NDArray[np.intp]]:
    """Return the combinations of labels that occur, and the entry of each valid row."""
    if not cases.keys:
        return KeyIndex.keyless(), np.zeros(len(lawful.columns["key"]), dtype=np.intp)
    labels, codes = [], []
    for name, column in zip(cases.keys, cases.key_columns(cases.keys), strict=True):
        own, code = cases.coded(column, lawful.labels.column(column))
        if None in own:
            _refuse_missing(laws.named_key(name), lawful, code == own.index(None))
        labels.append(own)
        codes.append(code)
    return KeyIndex(cases.keys, tuple(labels), np.stack(codes, axis=1)).distinct()


def _refuse_missing(key: str, lawful: Counted, missing: NDArray[np.bool_]) -> None:
    many, rows = len(lawful.tables), lawful.columns["cases"]
    absent, all_cases = int(rows[missing].sum()) // many, int(rows.sum()) // many
    raise laws.unknown_key(key, f"{absent:,} of {all_cases:,} rows")


def _keyed(
    lawful: Counted, own: NDArray[np.bool_], entry: NDArray[np.intp], entries: int, cells: int | None
) -> KeyedTables:
    """Make the tables of one model and event from the rows that an engine counted; it may return a row in parts."""
    rows = np.flatnonzero(own)
    columns, at = {name: column[rows] for name, column in lawful.columns.items()}, entry[rows]
    counts: dict[str, Any] = {
        name: np.bincount(at, columns[number], minlength=entries).astype(np.int64)
        for name, number in (("n", "positive"), ("n_events", "positive_events"))
    }
    weighty = columns["events"] + columns["non_events"] > 0.0
    if not weighty.all():
        columns, at = {name: column[weighty] for name, column in columns.items()}, at[weighty]
    sums = {name: columns[name] for name in ("events", "non_events")}
    sums |= {name: columns.get(name, columns[name.replace("_squares", "s")]) for name in COLUMNS[3:]}
    if cells is not None:
        sums["forecasts"] = columns["forecasts"]
    return KeyedTables(**add_up(at, columns["key"] + 0.0, sums, cells), **counts, cells=cells)


def _occupied(index: KeyIndex, tables: dict[tuple[str, Event], KeyedTables], dropped: int) -> Filled:
    """Leave out combinations whose cases have zero weight."""
    occupied = next(iter(tables.values())).n > 0
    if occupied.all():
        return Filled(index, tables, dropped)
    return Filled(index.where(occupied), {place: one.where(occupied) for place, one in tables.items()}, dropped)
