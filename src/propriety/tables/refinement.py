r"""Forecast tables from engines: exact if there are few distinct forecasts, refined cells if there are many.

Isotonic regression is the lower convex hull of the cumulative-sum diagram: the points (weight, weight of events) of the
cases in the order of the forecasts. A hull needs only its vertices, and almost no case is near one:

1. A first query counts the cells of a grid. The diagram passes through both ends of every cell. Inside, it never
   runs below the corner that it reaches when all non-events of the cell come first.
2. A cell can hide a vertex only if it holds both outcomes and its corner is not above the hull of the cell ends. Such
   cells are counted again by the exact forecast, as are those next to a vertex, so that the ends of the blocks are
   known. If they hold too many cases, they are counted on a finer grid first, and the argument repeats.

A case in any other cell is above the hull of the cell ends, hence above the final hull, and is no vertex of it. So the
blocks of the refined table are those of the cases, and its other cells are rows at the means of their forecasts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety import checks, demands
from propriety.checks import check_cells
from propriety.errors import InputValueError, Wording
from propriety.result import Floats
from propriety.tables import frames, pooling
from propriety.tables.engine_laws import checked_counts
from propriety.tables.engines import Counts, TableKey, Within, aggregate, count_groups
from propriety.tables.labels import ordered_groups
from propriety.tables.lazy_cases import LazyCases
from propriety.tables.table_laws import COLUMNS, COUNTS

BUDGET = 2**22
CELLS = 2**20
MANY_ROWS = 2**28
MANY_CELLS = 2**22
EXACT = -1  # The level of a row that is a single forecast, not a cell.
FINEST = 52  # Cells of this level contain only a few floats.
COARSEST = 8
TINIEST = float(np.finfo(np.float64).smallest_subnormal)
SLACK = 1e-12  # A corner above the hull by up to this share of the total weight is still examined.

Fields = dict[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class TableRows:
    """The forecasts and cells of one table, in order.

    `level` is EXACT for a single forecast and k for a cell of a grid of 2**k, whose `forecast` is the weighted mean of
    its forecasts. `cases` counts rows of the frame. The squares of the weights are `None` if there are no weights.
    """

    forecast: Floats
    events: Floats
    non_events: Floats
    cases: Floats
    level: NDArray[np.int8]
    event_squares: Floats | None = None
    non_event_squares: Floats | None = None

    @classmethod
    def of(cls, counts: Counts, level: int | None) -> TableRows:
        """Make rows from the counts of a query; a cell with one distinct forecast becomes that forecast."""
        weighty = counts.events + counts.non_events > 0.0
        counts = counts if weighty.all() else counts.where(weighty)
        if level is None:
            forecast, exact = counts.key, np.full(len(counts.key), fill_value=True)
        else:
            certain = (counts.key < 0.0) | (counts.key == 2.0**level)
            forecast = np.where(certain, np.clip(counts.key, 0.0, 1.0), _means(counts, level))
            exact = certain
            if counts.lowest is not None and counts.highest is not None:
                exact = exact | (counts.lowest == counts.highest)
                forecast = np.where(exact, counts.lowest, forecast)
        levels = np.where(exact, EXACT, 0 if level is None else level).astype(np.int8)
        squares = (counts.event_squares, counts.non_event_squares)
        rows = cls(forecast, counts.events, counts.non_events, counts.cases, levels, *squares)
        return rows.where(np.argsort(forecast, kind="stable"))

    @property
    def coarse(self) -> NDArray[np.bool_]:
        """Mask of the rows that are cells."""
        cells: NDArray[np.bool_] = self.level != EXACT
        return cells

    def cells(self, level: int, chosen: NDArray[np.bool_]) -> Floats:
        """Return the numbers of the chosen cells, all of one level. The mean of a cell is always inside it."""
        numbers: Floats = np.floor(self.forecast[chosen] * 2.0**level)
        return numbers

    def where(self, chosen: NDArray[Any]) -> TableRows:
        """Return some of the rows, or all in another order."""
        columns = (getattr(self, name) for name in self.__slots__)
        return TableRows(*(None if column is None else column[chosen] for column in columns))  # type: ignore[arg-type]  # in order

    def replaced(self, old: NDArray[np.bool_], new: TableRows) -> TableRows:
        """Replace cells by the rows counted within them; column by column, because there are millions of rows."""

        def both(name: str) -> NDArray[Any]:
            return np.concatenate([getattr(self, name)[~old], getattr(new, name)])

        order = np.argsort(both("forecast"), kind="stable")
        columns = (None if getattr(self, name) is None else both(name)[order] for name in self.__slots__)
        return TableRows(*columns)  # type: ignore[arg-type]  # in order


def table_fields(
    cases: LazyCases,
    *,
    keys: Sequence[str] = (),
    exact: bool = True,
    budget: int = BUDGET,
    cells: int | None = None,
) -> dict[TableKey, Fields]:
    """Return the fields of a forecast table for every model, event and group.

    Parameters
    ----------
    cases : LazyCases
        The cases.
    keys : sequence of str
        The keys whose labels define the groups; empty for tables of all cases.
    exact : bool
        Whether to refine the grid until the blocks are those of the cases.
    budget : int
        How many rows a query may return beyond the cells of the first.
    cells : int, optional
        Cells of the first grid, a power of two. The default is 2**20, fewer if there are many exact tables, and four
        times as many for more than 2**28 rows, because too many of the larger cells could hide a vertex.
    """
    if cells is not None:
        check_cells(cells)
    checks.whole(budget, "budget", least=1)
    level = _first_level(cases, keys, budget, cells) if exact else _level(cells or CELLS)
    first = {}
    facts: dict[TableKey, Fields] = {}
    counted = aggregate(cases, level, keys=keys, ends=exact and level is not None)
    if not counted:
        raise InputValueError(demands.NO_CASE)
    for counts in _in_order(cases, counted, keys):
        kept, dropped = _checked(cases, counts, keys)
        table = counts.table
        if kept.positive.sum() == 0:
            continue
        first[table] = TableRows.of(kept, level)
        facts[table] = {
            "n": int(kept.positive.sum()),
            "n_events": int(kept.positive_events.sum()),
            "dropped": dropped,
            "cells": None if level is None else 2**level,
        }
    if not first:
        raise InputValueError(demands.NO_WEIGHT, argument="sample_weight")
    if exact and level is not None:
        first = _refined(cases, keys, first, budget)
    return {table: _fields(rows, facts[table], exact=exact) for table, rows in first.items()}


def _first_level(cases: LazyCases, keys: Sequence[str], budget: int, cells: int | None) -> int | None:
    """Return the level of the first grid; None to fetch all forecasts if there are few rows."""
    groups = count_groups(cases, keys)
    rows, tables = sum(groups.values()), max(len(groups), 1) * len(cases.tables)
    if rows * len(cases.tables) <= budget:
        return None
    level = _level(cells or (MANY_CELLS if rows > MANY_ROWS else CELLS))
    if cells is not None and not keys:
        return level
    # The cells of all tables are returned at once, so many tables start with fewer cells each.
    return min(level, max(_level(budget // tables), COARSEST))


def _level(cells: int) -> int:
    return int(cells).bit_length() - 1


def _refined(
    cases: LazyCases, keys: Sequence[str], tables: dict[TableKey, TableRows], budget: int
) -> dict[TableKey, TableRows]:
    """Count again the cells that may hide a vertex of a hull, until no cell does; all cells if they hold few cases."""
    tables = dict(tables)
    if sum(float(rows.cases[rows.coarse].sum()) for rows in tables.values()) <= budget:
        coarse = {table: rows for table, rows in tables.items() if rows.coarse.any()}
        for counts in aggregate(cases, None, keys=keys) if coarse else ():
            tables[counts.table] = TableRows.of(counts.where(counts.key >= 0.0), None)
        return tables
    while True:
        wanted = {table: wanted_rows(rows) for table, rows in tables.items()}
        levels = [int(tables[table].level[chosen].min()) for table, chosen in wanted.items() if chosen.any()]
        if not levels:
            return tables
        level = min(levels)
        wanted = {table: chosen & (tables[table].level == level) for table, chosen in wanted.items()}
        cells = {table: tables[table].cells(level, chosen) for table, chosen in wanted.items() if chosen.any()}
        rows = sum(float(tables[table].cases[chosen].sum()) for table, chosen in wanted.items())
        finer = _finer(level, sum(map(len, cells.values())), rows, budget)
        found = aggregate(cases, finer, keys=keys, ends=finer is not None, within=Within(level, cells))
        if sum(float(counts.cases.sum()) for counts in found) != rows:
            hint = Wording("store it first, or pass {exact=False}, which needs one query.")
            raise InputValueError(demands.SAME_ROWS, argument="frame", hint=hint)
        for counts in found:
            tables[counts.table] = tables[counts.table].replaced(wanted[counts.table], TableRows.of(counts, finer))


def wanted_rows(rows: TableRows) -> NDArray[np.bool_]:
    """Return a mask of the cells that may hide a vertex of the hull, or are next to one."""
    start = pooling.isotonic_starts(rows.events, rows.non_events)
    total = np.concatenate([[0.0], np.cumsum(rows.events + rows.non_events)])
    events = np.concatenate([[0.0], np.cumsum(rows.events)])
    hull = np.interp(total[:-1] + rows.non_events, total[start], events[start])
    hides = (events[:-1] - hull <= SLACK * total[-1]) & (rows.events > 0.0) & (rows.non_events > 0.0)
    hides[start[:-1]] = True
    hides[start[1:] - 1] = True
    hidden: NDArray[np.bool_] = hides & rows.coarse
    return hidden


def _finer(level: int, cells: int, rows: float, budget: int) -> int | None:
    """Return the level of the next grid, or None to fetch the forecasts themselves."""
    if rows <= budget or level >= FINEST:
        return None
    return min(level + max(_level(budget // cells), 1), FINEST)


def _in_order(cases: LazyCases, counted: list[Counts], keys: Sequence[str]) -> list[Counts]:
    """Sort the counts by model, event and group labels."""
    tables = {table: place for place, table in enumerate(cases.tables)}
    found = {counts.group: cases.group(keys, counts.group) for counts in counted}
    ordered = ordered_groups(list(dict.fromkeys(found.values())), cases.orders(cases.key_columns(keys)))
    groups = {group: place for place, group in enumerate(ordered)}
    return sorted(counted, key=lambda counts: (tables[counts.model, counts.event], groups[found[counts.group]]))


def _means(counts: Counts, level: int) -> Floats:
    """Return the weighted mean of the forecasts of each cell, clipped to the cell."""
    assert counts.forecasts is not None  # noqa: S101  (for the type checker; these are cells)
    low, high = counts.key / 2.0**level, np.nextafter((counts.key + 1.0) / 2.0**level, 0.0)
    # A forecast above 0 does not claim certainty, however small it is.
    mean: Floats = np.clip(counts.forecasts / (counts.events + counts.non_events), np.maximum(low, TINIEST), high)
    return mean if counts.lowest is None else np.clip(mean, counts.lowest, counts.highest)


def _checked(cases: LazyCases, counts: Counts, keys: Sequence[str]) -> tuple[Counts, int]:
    if not counts.group:
        return checked_counts(cases, counts, keys)
    group = cases.group(keys, counts.group)
    label = group[0] if len(group) == 1 else group
    return frames.in_group(label, checked_counts, cases, counts, keys, weightless=True)


def _fields(rows: TableRows, facts: Mapping[str, Any], *, exact: bool) -> Fields:
    names = COUNTS if rows.event_squares is None else COLUMNS
    columns = pooling.pool(*(getattr(rows, name) for name in names))
    for column in columns:
        column.flags.writeable = False  # So that a table need not copy them.
    whole = not rows.coarse.any()
    cells = None if exact and whole else facts["cells"]
    return {**dict(zip(names, columns, strict=True)), **facts, "cells": cells, "refined": exact and not whole}
