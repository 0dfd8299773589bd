"""Counting cases on an engine: one query checks every row and adds up equal forecasts.

The engine is the user's, accessed through narwhals. A query first computes plain columns, then groups by one key and
sums, a form that means the same on every engine. The key is the forecast or its cell. For an invalid row it is a
negative number that encodes the broken laws, so that the same GROUP BY counts the violations. The result is small.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, NamedTuple, TypeAlias

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from propriety.result import Floats
from propriety.storage.files import pyarrow
from propriety.tables.events import Event
from propriety.tables.lazy_cases import LazyCases
from propriety.tables.queries import Lazy, encoded, fetched, flag, unsupported

Group: TypeAlias = tuple[Any, ...]

SMALL = 1e-150
MOST = 2**53  # Keys end up as floats, which are exact up to here.
VIOLATIONS = 2**8  # Larger than any code of broken laws.
WEIGHTED = ("non_events", "event_squares", "non_event_squares", "positive", "positive_events")


class TableKey(NamedTuple):
    """What identifies a table: the position of the model, the event, and one label per key for the group."""

    model: int
    event: Event
    group: Group = ()


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """Counts of one query for one model, event and group, with a row per key.

    `cases` counts rows of the frame, `positive` those with a positive weight, and `positive_events` those of them with
    the event. The squares of the weights are `None` if there are no weights. For cells, `forecasts` is the weighted sum
    of the forecasts, and `lowest` and `highest` are the extremes, if requested.
    """

    model: int
    event: Event
    group: Group
    key: Floats
    cases: Floats
    events: Floats
    non_events: Floats
    positive: Floats
    positive_events: Floats
    event_squares: Floats | None = None
    non_event_squares: Floats | None = None
    forecasts: Floats | None = None
    lowest: Floats | None = None
    highest: Floats | None = None

    @property
    def table(self) -> TableKey:
        """The table to which these counts belong."""
        return TableKey(self.model, self.event, self.group)

    @property
    def squares(self) -> Floats:
        """Sum of the squared weights of each key."""
        if self.event_squares is None or self.non_event_squares is None:
            return self.cases
        return self.event_squares + self.non_event_squares

    def where(self, rows: NDArray[np.bool_]) -> Counts:
        """Return some of the rows."""
        columns = {name: getattr(self, name) for name in self.__slots__[3:]}
        kept = {name: None if column is None else column[rows] for name, column in columns.items()}
        return Counts(self.model, self.event, self.group, **kept)  # type: ignore[arg-type]  # by name


@dataclass(frozen=True, slots=True, eq=False)
class Within:
    """The cells of a grid of `2**level` to which a query is restricted, by table."""

    level: int
    cells: Mapping[TableKey, Floats]

    def of(self, model: int, event: Event) -> dict[Group, Floats]:
        """Return the cells of each group for one model and event."""
        return {table.group: cells for table, cells in self.cells.items() if table[:2] == (model, event)}


def aggregate(
    cases: LazyCases,
    level: int | None,
    *,
    keys: Sequence[str] = (),
    ends: bool = False,
    within: Within | None = None,
) -> list[Counts]:
    """Count the rows by forecast, or by cell of a grid of `2**level`, for every model, event and group in one query.

    A group is a combination of the labels of `keys`; without keys, all rows form one group. `ends` also returns the
    smallest and largest forecast of each cell. A query restricted by `within` returns valid rows only.

    Counts are exact up to 2**53. A sum of m weights is as accurate as the engine's own sum: its relative error is at
    most m / 10**16 and usually about the square root of that. Cells keep m small, and their sums are added pairwise.
    """
    counted = count(cases, level, keys=keys, ends=ends, within=within)
    if counted is None:
        return []
    found = list(_counts(counted, cases.key_columns(keys)))
    return found if within is None else [one.where(one.key >= 0.0) for one in found]


class Counted(NamedTuple):
    """The columns that one query returned: a row per table, group and key.

    Parameters
    ----------
    tables : list
        Model and event of each table.
    labels : pyarrow.Table
        Number of the table, if there are several, and the key labels of each row.
    columns : dict
        Numbers of each row, named as the fields of `Counts`.
    """

    tables: list[tuple[int, Event]]
    labels: Any
    columns: dict[str, Floats]


def count(
    cases: LazyCases,
    level: int | None,
    *,
    keys: Sequence[str] = (),
    ends: bool = False,
    within: Within | None = None,
) -> Counted | None:
    """Run the query of `aggregate` and return its columns; None if there is nothing to query."""
    tables = [table for table in cases.tables if within is None or within.of(*table)]
    if not tables:
        return None
    by, names, bits = cases.key_columns(keys), _summed(cases, level), _key_bits(level, len(tables))
    several = ["table"] if len(tables) > 1 else []
    try:
        if within is None:
            rows = cases.rows(lambda own: _rows(own, tables, level, by, None))
        else:
            rows = _rows(cases, tables, level, by, within)
        query = rows.group_by(*(several if bits is None else []), *by, "key").agg(*_sums(names, ends=ends))
    except NotImplementedError as error:
        raise unsupported(cases.engine, "the GROUP BY of a forecast table", error) from error
    found = fetched(query)
    numbers = ["key", "cases", *names, *(["lowest", "highest"] if ends else [])]
    columns = {name: found.column(name).to_numpy().astype(np.float64) for name in numbers}
    if not cases.weighted:
        columns["non_events"] = columns["cases"] - columns["events"]
        columns |= {"positive": columns["cases"], "positive_events": columns["events"]}
    if several and bits is not None:
        key = columns["key"].astype(np.int64) + VIOLATIONS
        columns["key"] = ((key & (1 << bits) - 1) - VIOLATIONS).astype(np.float64)
        found = found.append_column("table", [key >> bits])
    return Counted(tables, found.select([*several, *by]), columns)


def _rows(
    cases: LazyCases, tables: Sequence[tuple[int, Event]], level: int | None, by: Sequence[str], within: Within | None
) -> Lazy:
    """Return the plain columns of all tables, stacked."""
    if cases.labels is not None:
        violations = {f"broken_{model}": _violations(cases, model) for model in range(len(cases.models))}
        cases = replace(cases, frame=cases.frame.with_columns(**violations))
    parts = [_keyed(cases, *table, level, by, within) for table in tables]
    if len(parts) == 1:
        return parts[0]
    bits = _key_bits(level, len(tables))
    if bits is None:
        return _stacked([part.with_columns(table=nw.lit(place)) for place, part in enumerate(parts)])
    return _stacked([part.with_columns(key=nw.col("key") + (place << bits)) for place, part in enumerate(parts)])


def _key_bits(level: int | None, tables: int) -> int | None:
    """Return how many bits of a key hold the cell or the broken laws; the bits above hold the number of the table.

    This saves engines one grouping column. None if the key is too short; the table is then a column.
    """
    bits = 53 if level is None else 1 + max(level, VIOLATIONS.bit_length())
    return bits if tables <= MOST >> bits else None


def _stacked(parts: list[Lazy]) -> Lazy:
    """Stack the rows of frames; on Spark pairwise, because it analyses again everything that it stacks."""
    if not parts[0].implementation.is_spark_like():
        return nw.concat(parts)
    while len(parts) > 1:
        parts = [nw.concat(parts[place : place + 2]) for place in range(0, len(parts), 2)]
    return parts[0]


def count_groups(cases: LazyCases, keys: Sequence[str] = ()) -> dict[Group, int]:
    """Return the number of rows of each group; without keys, of the frame."""
    rows, frame, by = nw.len().alias("rows"), cases.frame, cases.key_columns(keys)
    table = fetched(frame.group_by(*by).agg(rows) if by else frame.select(rows))
    sizes = table.column("rows").to_pylist()
    groups = zip(*(table.column(name).to_pylist() for name in by), strict=True) if by else iter([()] * len(sizes))
    counted: dict[Group, int] = {}
    for group, size in zip(groups, sizes, strict=True):  # An engine may return a group in several parts.
        counted[group] = counted.get(group, 0) + int(size)
    return counted


def _keyed(
    cases: LazyCases, model: int, event: Event, level: int | None, by: Sequence[str], within: Within | None
) -> Lazy:
    """Return the plain columns to be summed, with their key, restricted to the cells of `within`."""
    happened, weight = cases.happened(event, model), nw.col("weight")
    columns: dict[str, nw.Expr] = {name: nw.col(name) for name in by}
    columns |= {"key": _key(cases, model, event, level), "forecast": cases.forecast(model, event)}
    if cases.weighted:
        other, positive = 1.0 - happened, flag(weight > 0.0)
        columns |= {
            "events": weight * happened,
            "non_events": weight * other,
            "event_squares": weight * weight * happened,
            "non_event_squares": weight * weight * other,
            "positive": positive,
            "positive_events": positive * happened,
        }
    else:
        columns["events"] = happened
    if level is not None:
        columns["forecasts"] = (_weighted if cases.weighted else _safe)(cases, model, event)
    rows = cases.frame if within is None else _confined(cases, model, event, by, within)
    return rows.select(**columns)


def _key(cases: LazyCases, model: int, event: Event, level: int | None) -> nw.Expr:
    """Return the key of each row: the forecast or its cell, -1 for a forecast of 0 among cells, or the broken laws."""
    if cases.labels is not None:
        # The checks of a row are long and the same for all of its events, so they are computed once, as a column.
        broken, forecast = nw.col(f"broken_{model}"), cases.forecast(model, event)
        if level is None:
            return nw.when(broken >= 0.0).then(forecast).otherwise(broken - 1.0)
        celled = nw.when((broken >= 0.0) & (forecast > 0.0)).then(_cell(cases, model, event, level))
        return celled.otherwise(broken - 1.0).cast(nw.Int64)
    laws = cases.laws(model).values()
    lawful = [law.lawful for law in cases.laws(model, positive=None if level is None else event).values()]
    if cases.drop and len(cases.tables) > 1:
        lawful += [~law.missing for law in laws]
    # Engines take the first branch for nearly every row and evaluate the other only where needed. A null condition,
    # from a missing value, takes the other branch on every engine.
    chosen = nw.when(_all(lawful))
    if level is None:
        return chosen.then(cases.forecast(model, event)).otherwise(_violations(cases, model) - 1.0)
    return chosen.then(_cell(cases, model, event, level)).otherwise(_violations(cases, model) - 1.0).cast(nw.Int64)


def _violations(cases: LazyCases, model: int) -> nw.Expr:
    """Return 0 for a valid row, and otherwise a negative number with one bit per broken law."""
    return _total(
        [
            nw.when(law.missing)
            .then(nw.lit(-float(law.missing_bit)))
            .otherwise(nw.when(law.lawful).then(nw.lit(0.0)).otherwise(nw.lit(-float(law.broken_bit))))
            for law in cases.laws(model).values()
        ]
    )


def _cell(cases: LazyCases, model: int, event: Event, level: int) -> nw.Expr:
    """Return the cell of a valid forecast; 0 is in the first cell."""
    return (_safe(cases, model, event) * 2.0**level).floor()


def _safe(cases: LazyCases, model: int, event: Event) -> nw.Expr:
    """Return the forecast, clipped to [0, 1] on engines that fail for other values."""
    forecast = cases.forecast(model, event)
    # Ibis converts a floor to an integer, and fails for NaN or a huge number even where the other branch is taken.
    return forecast.clip(0.0, 1.0) if cases.engine.startswith("ibis") else forecast


def _weighted(cases: LazyCases, model: int, event: Event) -> nw.Expr:
    """Return the forecast times the weight."""
    weight, forecast = nw.col("weight"), _safe(cases, model, event)
    if cases.engine != "ibis on postgres":
        return weight * forecast
    # PostgreSQL raises an error where a product of nonzero numbers rounds to 0.
    lost = (forecast < SMALL) | (weight < SMALL) | (weight > sys.float_info.max)
    return nw.when(lost).then(nw.lit(0).cast(nw.Float64)).otherwise(weight * forecast)


def _confined(cases: LazyCases, model: int, event: Event, by: Sequence[str], within: Within) -> Lazy:
    """Keep the rows of the wanted cells by a semi-join with a small frame. Nulls never join, so they are filtered.

    Only the cell is compared here. Invalid rows may pass; their keys identify them afterwards.
    """
    pa, _ = pyarrow()
    cell = _cell(cases, model, event, within.level).cast(nw.Float64)
    rows = cases.frame.filter(cases.forecast(model, event) > 0.0).with_columns(cell=cell)  # 0 has its own key.
    patterns: dict[tuple[bool, ...], list[tuple[Group, Floats]]] = {}
    for group, cells in within.of(model, event).items():
        patterns.setdefault(tuple(label is None for label in group), []).append((group, cells))
    # Labels are sent back in the type in which they came, because it cannot always be inferred from them.
    kinds: Any = fetched(cases.frame.select(*by).head(0)).schema if by else None
    parts = []
    for pattern, wanted in patterns.items():
        known = [name for name, absent in zip(by, pattern, strict=True) if not absent]
        part = rows
        for name, absent in zip(by, pattern, strict=True):
            part = part.filter(nw.col(name).is_null()) if absent else part
        columns = {"cell": pa.array(np.concatenate([cells for _, cells in wanted]))}
        for place, name in enumerate(by):
            if name in known:
                labels = [group[place] for group, cells in wanted for _ in range(len(cells))]
                columns[name] = pa.array(labels, kinds.field(name).type)
        parts.append(part.join(_beside(part, pa.table(columns)), on=["cell", *known], how="semi"))
    return parts[0] if len(parts) == 1 else nw.concat(parts)


def _beside(frame: Lazy, wanted: Any) -> Lazy:
    """Pass a small PyArrow table to the engine of a frame."""
    native, engine = frame.to_native(), frame.implementation
    if engine.is_duckdb():
        # DuckDB joins relations of one connection only; a query on the frame's own relation finds `wanted` by name.
        joined: Lazy = nw.from_native(native.query("propriety_rows", "SELECT * FROM wanted"))
        return joined
    session = native.sparkSession if engine.is_spark_like() else None
    small: Lazy = nw.from_native(wanted, eager_only=True).lazy(engine, session=session)
    return small


def _summed(cases: LazyCases, level: int | None) -> list[str]:
    """Return the names of the columns to be summed."""
    names = ["events", *(WEIGHTED if cases.weighted else [])]
    return names if level is None else [*names, "forecasts"]


def _sums(names: Sequence[str], *, ends: bool) -> list[nw.Expr]:
    sums = [nw.len().alias("cases"), *(nw.col(name).sum() for name in names)]
    forecast = nw.col("forecast")
    return [*sums, forecast.min().alias("lowest"), forecast.max().alias("highest")] if ends else sums


def _counts(counted: Counted, by: Sequence[str]) -> Iterator[Counts]:
    """Yield the counts of each table."""
    several = len(counted.tables) > 1
    for label, rows in _split(counted.labels, [*(["table"] if several else []), *by]):
        columns = {name: column[rows] for name, column in counted.columns.items()}
        model, event = counted.tables[int(label[0])] if several else counted.tables[0]
        yield Counts(model, event, label[1:] if several else label, **columns)


def _split(table: Any, keys: Sequence[str]) -> Iterator[tuple[Group, Any]]:
    """Yield the labels of each group and the positions of its rows."""
    if not keys:
        yield (), slice(None)
        return
    codes = np.zeros(table.num_rows, dtype=np.int64)
    for key in keys:
        labels, places = encoded(table.column(key))
        _, codes = np.unique(codes * len(labels) + places, return_inverse=True)
    order = np.argsort(codes, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(codes[order])) + 1):
        if len(rows):
            yield tuple(table.column(key)[int(rows[0])].as_py() for key in keys), rows


def _all(conditions: Sequence[nw.Expr]) -> nw.Expr:
    return reduce(lambda one, other: one & other, conditions)


def _total(terms: Sequence[nw.Expr]) -> nw.Expr:
    return reduce(lambda one, other: one + other, terms)
