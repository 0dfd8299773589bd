"""The forecast tables of one model and event for every combination of keys, stored one after another in columns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.checks import check_cells
from propriety.result import Floats
from propriety.tables.cases import Cases
from propriety.tables.events import Event
from propriety.tables.forecast_table import ForecastTable

SMALLEST = math.nextafter(0.0, 1.0)
SPARSE = 4  # With up to this many grid cells per row, counting is faster than sorting.
COLUMNS = ("forecast", "events", "non_events", "event_squares", "non_event_squares")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class KeyedTables:
    """Rows of forecast tables, each with its entry in the key index.

    Parameters
    ----------
    entry : ndarray of shape (rows,)
        Entry of the index, in increasing order; within an entry, forecasts increase.
    forecast, events, non_events, event_squares, non_event_squares : ndarray of shape (rows,)
        As in `ForecastTable`; without weights the squares equal the weights.
    n, n_events : ndarray of shape (entries,)
        Number of cases with a positive weight, and of events among them.
    cells : int, optional
        Cells of the grid; None for exact forecasts.
    """

    entry: NDArray[np.intp]
    forecast: Floats
    events: Floats
    non_events: Floats
    event_squares: Floats
    non_event_squares: Floats
    n: NDArray[np.int64]
    n_events: NDArray[np.int64]
    cells: int | None = None

    @classmethod
    def of_tables(cls, tables: Sequence[ForecastTable], cells: int | None = None) -> KeyedTables:
        """Stack the tables of the entries of an index."""
        sizes = [len(table) for table in tables]
        return cls(
            entry=np.repeat(np.arange(len(tables)), sizes),
            **{name: np.concatenate([getattr(table, name) for table in tables]) for name in COLUMNS},
            n=np.array([table.n for table in tables], dtype=np.int64),
            n_events=np.array([table.n_events for table in tables], dtype=np.int64),
            cells=cells,
        )

    @classmethod
    def of_cases(cls, cases: Cases, model: str, event: Event, entry: NDArray[np.intp], entries: int) -> KeyedTables:
        """Count the cases of every entry by their forecast."""
        forecast, happened, weight = cases.event(event, model).gathered()
        w = np.ones(len(forecast)) if weight is None else weight
        if weight is not None and not w.all():
            kept = w > 0.0
            forecast, happened, w, entry = forecast[kept], happened[kept], w[kept], entry[kept]
        order = np.lexsort((forecast, entry))
        sorted_entry, sorted_forecast = entry[order], forecast[order] + 0.0  # Adding 0.0 turns -0.0 into 0.0.
        new = np.ones(len(order), dtype=bool)
        new[1:] = (sorted_entry[1:] != sorted_entry[:-1]) | (sorted_forecast[1:] != sorted_forecast[:-1])
        first = np.flatnonzero(new)
        summed: dict[str, Any] = {
            name: np.add.reduceat((w * outcome)[order], first)
            for name, outcome in (("events", happened), ("non_events", ~happened))
        }
        for name, outcome in (("event", happened), ("non_event", ~happened)):
            squares = summed[f"{name}s"] if weight is None else np.add.reduceat((w * w * outcome)[order], first)
            summed[f"{name}_squares"] = squares
        return cls(
            entry=sorted_entry[first],
            forecast=sorted_forecast[first],
            **summed,
            n=np.bincount(entry, minlength=entries),
            n_events=np.bincount(entry, happened, minlength=entries).astype(np.int64),
        )

    @property
    def bounds(self) -> NDArray[np.intp]:
        """First row of each entry, and the number of rows at the end."""
        return np.searchsorted(self.entry, np.arange(len(self.n) + 1))

    def at(self, entry: int, *, dropped: int = 0) -> ForecastTable:
        """Return the table of one entry."""
        rows = slice(*self.bounds[entry : entry + 2].tolist())
        columns = {name: getattr(self, name)[rows] for name in COLUMNS}
        facts: dict[str, Any] = {"n": int(self.n[entry]), "n_events": int(self.n_events[entry]), "dropped": dropped}
        return ForecastTable(**columns, **facts, cells=self.cells)

    def whole(self, *, dropped: int = 0) -> ForecastTable:
        """Return the table of the cases of all entries."""
        return self.pooled(np.zeros(len(self.n), dtype=np.intp), 1).at(0, dropped=dropped)

    def where(self, entries: NDArray[np.bool_]) -> KeyedTables:
        """Return the tables of some entries."""
        places = np.cumsum(entries) - 1
        rows = entries[self.entry]
        columns = {name: getattr(self, name)[rows] for name in COLUMNS}
        return replace(
            self, entry=places[self.entry[rows]], **columns, n=self.n[entries], n_events=self.n_events[entries]
        )

    def pooled(self, codes: NDArray[np.intp], entries: int) -> KeyedTables:
        """Add up the tables of entries with the same code."""
        columns = {name: getattr(self, name) for name in COLUMNS}
        pooled = _pool(codes[self.entry], columns, self.cells)
        counts: dict[str, Any] = {
            name: np.bincount(codes, getattr(self, name), minlength=entries).astype(np.int64)
            for name in ("n", "n_events")
        }
        return replace(self, **pooled, **counts)

    def grid(self, cells: int) -> KeyedTables:
        """Return the tables on a grid no finer than their own."""
        if self.cells == cells:
            return self
        check_cells(cells, held=self.cells)
        columns = {name: getattr(self, name) for name in COLUMNS}
        return replace(self, **_pool(self.entry, columns, cells), cells=cells)

    @classmethod
    def merge(cls, parts: Sequence[KeyedTables], codes: Sequence[NDArray[np.intp]], entries: int) -> KeyedTables:
        """Add up the tables of several ledgers; `codes` gives the common entries of each part.

        Tables on different grids are converted to the coarsest of them first.
        """
        grids = [one.cells for one in parts if one.cells is not None]
        cells = min(grids) if grids else None
        same = [one if cells is None else one.grid(cells) for one in parts]
        is_weighted = any(one.event_squares is not one.events for one in same)
        columns = {
            name: np.concatenate([getattr(one, name) for one in same])
            for name in (COLUMNS if is_weighted else COLUMNS[:3])
        }
        for name, weight in zip(COLUMNS[3:], COLUMNS[1:3], strict=True):
            columns.setdefault(name, columns[weight])
        entry = np.concatenate([own[one.entry] for one, own in zip(same, codes, strict=True)])
        every = np.concatenate(list(codes))
        counts: dict[str, Any] = {
            name: np.bincount(every, np.concatenate([getattr(one, name) for one in same]), minlength=entries)
            for name in ("n", "n_events")
        }
        counts = {name: count.astype(np.int64) for name, count in counts.items()}
        # New entries after old ones, as when a day is added, are in order already.
        in_order = bool((np.diff(every) > 0).all())
        rows = {"entry": entry, **columns} if in_order else _pool(entry, columns, cells)
        return cls(**rows, **counts, cells=cells)


def _pool(entry: NDArray[np.intp], columns: Mapping[str, Floats], cells: int | None) -> dict[str, Any]:
    """Sort rows by entry and forecast, and add up those with the same forecast or in the same cell of the grid."""
    forecast = columns["forecast"]
    key = forecast if cells is None else _cell(forecast, cells)
    steps = np.diff(entry)
    rising = (steps > 0) | ((steps == 0) & (np.diff(key) > 0.0))
    if rising.all():
        return {"entry": entry, **columns}
    weights = {name: columns[name] for name in COLUMNS[1:]}
    if cells is not None:
        weights["forecasts"] = (columns["events"] + columns["non_events"]) * forecast
    return add_up(entry, key, weights, cells)


def add_up(entry: NDArray[np.intp], key: Floats, columns: Mapping[str, Floats], cells: int | None) -> dict[str, Any]:
    """Return the rows of tables in order, adding up those with the same entry and key.

    The key is the forecast, or the cell of a grid, with -1 for a forecast of 0; then the columns hold the weighted sums
    of `forecasts`.
    """
    entries = int(entry.max(initial=0)) + 1
    if cells is not None and entries * (cells + 2) <= SPARSE * len(entry):
        # The cells are numbered and added up without sorting.
        place = entry * (cells + 2) + key.astype(np.intp) + 1
        occupied = np.flatnonzero(np.bincount(place))

        def add(column: Floats) -> Floats:
            return np.bincount(place, column).astype(np.float64, copy=False)[occupied]

        new_entry, new_key = occupied // (cells + 2), (occupied % (cells + 2) - 1).astype(np.float64)
    else:
        order = np.lexsort((key, entry))
        sorted_entry, sorted_key = entry[order], key[order]
        new = np.ones(len(order), dtype=bool)
        new[1:] = (sorted_entry[1:] != sorted_entry[:-1]) | (sorted_key[1:] != sorted_key[:-1])
        first = np.flatnonzero(new)

        def add(column: Floats) -> Floats:
            return np.add.reduceat(column[order], first)

        new_entry, new_key = sorted_entry[first], sorted_key[first]
    # Columns that share an array, as the squares of unweighted cases do, are added up once.
    distinct = {id(column): column for column in columns.values()}
    sums = {number: add(column) for number, column in distinct.items()}
    summed = {name: sums[id(column)] for name, column in columns.items()}
    if cells is None:
        return {"entry": new_entry, "forecast": new_key, **summed}
    mean = summed.pop("forecasts") / (summed["events"] + summed["non_events"])
    return {"entry": new_entry, "forecast": _inside_cells(mean, new_key, cells), **summed}


def _cell(forecast: Floats, cells: int) -> Floats:
    """Return the cell of each forecast; 0 and 1 have their own cells."""
    return np.where(forecast == 0.0, -1.0, np.floor(forecast * cells))


def _inside_cells(mean: Floats, cell: Floats, cells: int) -> Floats:
    """Clip mean forecasts, which may be off by rounding, to their cells; -1 is the cell of 0."""
    low, high = np.maximum(cell / cells, SMALLEST), np.nextafter((cell + 1.0) / cells, 0.0)
    certain = (cell < 0.0) | (cell == cells)
    return np.where(certain, np.clip(cell, 0.0, 1.0), np.clip(mean, low, high))
