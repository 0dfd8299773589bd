"""Cases counted where they lie: one query that checks every row and adds up equal forecasts, on any engine.

The engine is the user's, reached through narwhals. A query first makes plain columns, then groups by one key and adds
them up, the form that means the same on every engine. The key is the forecast or its cell; for a row that breaks a law
it is a negative number that says which laws, so that the same GROUP BY counts the violations. What comes back is small.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from propriety.results import Floats
from propriety.tables import frames
from propriety.tables.engine_source import Group, Lazy, Source, collected, flag, unsupported

__all__ = ["Counts", "Within", "aggregate", "count_groups"]

SMALL = 1e-150
WEIGHTED = ("non_events", "event_squares", "non_event_squares", "positive", "positive_events")


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """What one query counted for a model and a group: a row per key.

    `cases` counts rows of the frame, `positive` those with a positive weight, `positive_events` those among them in
    which the event happened. The squares of the weights are None where there are no weights. Of cells, `forecasts` is
    the weighted sum of the forecasts, and `lowest` and `highest` are their ends, where they were asked for.
    """

    position: int
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
    def squares(self) -> Floats:
        """Squared weights of each key."""
        if self.event_squares is None or self.non_event_squares is None:
            return self.cases
        return self.event_squares + self.non_event_squares

    def where(self, rows: NDArray[np.bool_]) -> Counts:
        """Return some of the rows."""
        columns = {name: getattr(self, name) for name in self.__slots__[2:]}
        kept = {name: None if column is None else column[rows] for name, column in columns.items()}
        return Counts(self.position, self.group, **kept)  # type: ignore[arg-type]  # by name


@dataclass(frozen=True, slots=True, eq=False)
class Within:
    """Cells of a grid of `2**level` to which a query is confined: for each model and group, their numbers."""

    level: int
    cells: Mapping[tuple[int, Group], Floats]


def aggregate(source: Source, level: int | None, *, ends: bool = False, within: Within | None = None) -> list[Counts]:
    """Count the rows by forecast, or by cell of a grid of `2**level`, for every model and group in one query.

    `ends` asks for the smallest and largest forecast of each cell; a query confined `within` cells returns lawful rows.

    Counts are exact up to 2**53. A sum of m weights is as accurate as the engine's own, off by m / 10**16 of itself
    at the most and by the root of that as a rule; cells keep m small, and their sums are added pairwise.
    """
    try:
        parts = [_keyed(source, position, level, within) for position in range(len(source.names))]
        rows = parts[0] if len(parts) == 1 else nw.concat(parts)
        keys = [*(["model"] if len(parts) > 1 else []), *source.by, "key"]
        names = _summed(source, level)
        query = rows.group_by(*keys).agg(*_sums(names, ends=ends))
    except NotImplementedError as error:
        raise unsupported(source.engine, "the GROUP BY of a forecast table", error) from error
    found = list(_counts(source, collected(query), [*names, *(["lowest", "highest"] if ends else [])]))
    return found if within is None else [counts.where(counts.key >= 0.0) for counts in found]


def count_groups(source: Source) -> dict[Group, int]:
    """Return the number of rows of each group; without groups, of the frame."""
    cases, frame = nw.len().alias("cases"), source.frame
    table = collected(frame.group_by(*source.by).agg(cases) if source.by else frame.select(cases))
    counted: dict[Group, int] = {}
    for group, rows in _split(table, source.by):
        counted[group] = counted.get(group, 0) + int(np.sum(table.column("cases").to_numpy()[rows]))
    return counted


def _keyed(source: Source, position: int, level: int | None, within: Within | None) -> Lazy:
    """Return the plain columns that are to be added up, with their key, confined to the wanted cells."""
    forecast, event, weight = source.forecast(position), source.event(position), nw.col("weight")
    columns: dict[str, nw.Expr] = {name: nw.col(name) for name in source.by}
    if len(source.names) > 1:
        columns["model"] = nw.lit(position)
    columns |= {"key": _key(source, position, level), "forecast": forecast}
    if source.weighted:
        other, positive = 1.0 - event, flag(weight > 0.0)
        columns |= {
            "events": weight * event,
            "non_events": weight * other,
            "event_squares": weight * weight * event,
            "non_event_squares": weight * weight * other,
            "positive": positive,
            "positive_events": positive * event,
        }
    else:
        columns["events"] = event
    if level is not None:
        columns["forecasts"] = _weighted(source, position) if source.weighted else _safe(source, position)
    rows = source.frame if within is None else _confined(source, position, within)
    return rows.select(**columns)


def _key(source: Source, position: int, level: int | None) -> nw.Expr:
    """Return the forecast of each row, or its cell; of a row that breaks laws which ones, and -1 for 0 beside cells."""
    laws, forecast = source.laws(position).values(), source.forecast(position)
    lawful = [law for _, law, _, _ in source.laws(position, zero=level is None).values()]
    if source.drop and len(source.names) > 1:
        lawful += [~missing for missing, _, _, _ in laws]
    faults = [
        nw.when(missing)
        .then(nw.lit(-float(absent)))
        .otherwise(nw.when(law).then(nw.lit(0.0)).otherwise(nw.lit(-float(bad))))
        for missing, law, absent, bad in laws
    ]
    # Engines choose the first branch for nearly every row, and evaluate the other only where they need it. A null
    # condition, of a missing value, takes the other one everywhere.
    chosen = nw.when(_all(lawful))
    if level is None:
        return chosen.then(forecast).otherwise(_total(faults) - 1.0)
    return chosen.then(_cell(source, position, level)).otherwise(_total(faults) - 1.0).cast(nw.Int64)


def _cell(source: Source, position: int, level: int) -> nw.Expr:
    """Return the cell that a lawful forecast lies in; of 0 that of the smallest ones."""
    return (_safe(source, position) * 2.0**level).floor()


def _safe(source: Source, position: int) -> nw.Expr:
    """Return the forecast, within its law where an engine would fail at others."""
    forecast = source.forecast(position)
    # Ibis makes a whole number of a floor, and fails at a NaN or a huge number even where the other branch is taken.
    return forecast.clip(0.0, 1.0) if source.engine.startswith("ibis") else forecast


def _weighted(source: Source, position: int) -> nw.Expr:
    """Return the forecast times the weight."""
    weight, forecast = nw.col("weight"), _safe(source, position)
    if source.engine != "ibis on postgres":
        return weight * forecast
    # PostgreSQL fails where a product of numbers other than 0 rounds to 0.
    lost = (forecast < SMALL) | (weight < SMALL) | (weight > sys.float_info.max)
    return nw.when(lost).then(nw.lit(0).cast(nw.Float64)).otherwise(weight * forecast)


def _confined(source: Source, position: int, within: Within) -> Lazy:
    """Keep the rows of the wanted cells by a semi-join with a small frame; a null joins nothing, so it is filtered.

    The cell alone is asked for here: rows that break a law may pass, and their keys say so afterwards.
    """
    pa, _ = frames.pyarrow()
    cell = _cell(source, position, within.level).cast(nw.Float64)
    rows = source.frame.filter(source.forecast(position) > 0.0).with_columns(cell=cell)  # A 0 was kept as it is.
    patterns: dict[tuple[bool, ...], list[tuple[Group, Floats]]] = {}
    for (model, group), cells in within.cells.items():
        if model == position:
            patterns.setdefault(tuple(label is None for label in group), []).append((group, cells))
    parts = []
    for pattern, wanted in patterns.items():
        known = [name for name, absent in zip(source.by, pattern, strict=True) if not absent]
        part = rows
        for name, absent in zip(source.by, pattern, strict=True):
            part = part.filter(nw.col(name).is_null()) if absent else part
        columns = {"cell": np.concatenate([cells for _, cells in wanted])}
        for place, name in enumerate(source.by):
            if name in known:
                columns[name] = [group[place] for group, cells in wanted for _ in range(len(cells))]  # type: ignore[assignment]  # labels
        parts.append(part.join(_beside(part, pa.table(columns)), on=["cell", *known], how="semi"))
    if not parts:
        return rows.filter(nw.col("cell") < -1000)
    return parts[0] if len(parts) == 1 else nw.concat(parts)


def _beside(frame: Lazy, wanted: Any) -> Lazy:
    """Hand a small PyArrow table to the engine of a frame."""
    native, engine = frame.to_native(), frame.implementation
    if engine.is_duckdb():
        # Relations join only within one connection; a query of the frame's own finds `wanted` by its name here.
        joined: Lazy = nw.from_native(native.query("propriety_rows", "SELECT * FROM wanted"))
        return joined
    session = native.sparkSession if engine.is_spark_like() else None
    small: Lazy = nw.from_native(wanted, eager_only=True).lazy(engine, session=session)
    return small


def _summed(source: Source, level: int | None) -> list[str]:
    """Return the names of the columns that are added up."""
    names = ["events", *(WEIGHTED if source.weighted else [])]
    return names if level is None else [*names, "forecasts"]


def _sums(names: Sequence[str], *, ends: bool) -> list[nw.Expr]:
    sums = [nw.len().alias("cases"), *(nw.col(name).sum() for name in names)]
    forecast = nw.col("forecast")
    return [*sums, forecast.min().alias("lowest"), forecast.max().alias("highest")] if ends else sums


def _counts(source: Source, table: Any, names: Sequence[str]) -> Iterator[Counts]:
    several = len(source.names) > 1
    for label, rows in _split(table, [*(["model"] if several else []), *source.by]):
        columns = {name: table.column(name).to_numpy().astype(np.float64)[rows] for name in ("key", "cases", *names)}
        if not source.weighted:
            columns["non_events"] = columns["cases"] - columns["events"]
            columns |= {"positive": columns["cases"], "positive_events": columns["events"]}
        yield Counts(int(label[0]) if several else 0, label[1:] if several else label, **columns)


def _split(table: Any, keys: Sequence[str]) -> Iterator[tuple[Group, Any]]:
    """Yield the labels of each group of rows and where the rows are."""
    if not keys:
        yield (), slice(None)
        return
    codes = np.zeros(table.num_rows, dtype=np.int64)
    for key in keys:
        encoded = table.column(key).combine_chunks().dictionary_encode(null_encoding="encode")
        _, codes = np.unique(codes * len(encoded.dictionary) + encoded.indices.to_numpy(), return_inverse=True)
    order = np.argsort(codes, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(codes[order])) + 1):
        if len(rows):
            yield tuple(table.column(key)[int(rows[0])].as_py() for key in keys), rows


def _all(conditions: Sequence[nw.Expr]) -> nw.Expr:
    return reduce(lambda one, other: one & other, conditions)


def _total(terms: Sequence[nw.Expr]) -> nw.Expr:
    return reduce(lambda one, other: one + other, terms)
