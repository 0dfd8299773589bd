"""Sums of outcomes and forecasts over all segments of cases: all combinations of the labels of a few columns."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from propriety.ledger.ledger import Ledger
from propriety.products.segments.lattice import Lattice, Place, check_size
from propriety.result import Floats
from propriety.tables import laws
from propriety.tables.cases import Cases
from propriety.tables.events import Event
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.labels import code_labels
from propriety.tables.lazy_cases import LazyCases
from propriety.tables.queries import Lazy, count_rows, encoded, fetched, sampled_rows

MOST_FETCHED = 2**21  # Cases of a segment that are loaded into memory.
SUMS = ("n", "observed", "expected", "variance", "third")


class SegmentSums(NamedTuple):
    """Sums of every segment: cases, events, forecasts p, p (1 - p) and p (1 - p) (1 - 2p)."""

    n: Floats
    observed: Floats
    expected: Floats
    variance: Floats
    third: Floats

    def less(self, other: SegmentSums) -> SegmentSums:
        """Return the sums without those of some cases."""
        return SegmentSums(*(mine - theirs for mine, theirs in zip(self, other, strict=True)))


class SegmentCases:
    """Cases of one model in memory, divided by some columns."""

    def __init__(
        self, forecast: Floats, happened: NDArray[np.bool_], codes: list[NDArray[np.intp]], lattice: Lattice
    ) -> None:
        self.forecast, self.happened, self.codes, self.lattice = forecast, happened, codes, lattice

    def sums(self, within: Sequence[Place] = (), outside: Sequence[Sequence[Place]] = ()) -> SegmentSums:
        """Return the sums of all segments, of the cases within one segment and outside of others."""
        rows = None
        if within or outside:
            kept = self._members(within)
            for segment in outside:
                kept &= ~self._members(segment)
            rows = np.flatnonzero(kept)
        p = self.forecast if rows is None else self.forecast[rows]
        y = self.happened if rows is None else self.happened[rows]
        spread = p * (1.0 - p)
        weights = (None, y.astype(np.float64), p, spread, spread * (1.0 - 2.0 * p))
        codes = [own if rows is None else own[rows] for own in self.codes]
        counted: list[list[Floats]] = [[] for _ in weights]
        for part in self.lattice.parts:
            cells, size = self.lattice.cells(codes, part), math.prod(self.lattice.shape(part))
            for own, weight in zip(counted, weights, strict=True):
                own.append(np.bincount(cells, weight, minlength=size).astype(np.float64))
        return SegmentSums(*(self.lattice.totals(np.concatenate(own)) for own in counted))

    def _members(self, segment: Sequence[Place]) -> NDArray[np.bool_]:
        kept = np.ones(len(self.forecast), dtype=np.bool_)
        for column, code in segment:
            kept &= self.codes[column] == code
        return kept

    def table(self, segment: Sequence[Place]) -> ForecastTable:
        """Return the forecast table of a segment."""
        kept = self._members(segment)
        return ForecastTable.from_predictions(self.happened[kept], self.forecast[kept])

    def sampled(self, most: int, seed: int) -> SegmentCases:
        """Return at most so many of the cases, with the same lattice."""
        if len(self.forecast) <= most:
            return self
        rows = np.sort(np.random.default_rng(seed).choice(len(self.forecast), most, replace=False))
        return SegmentCases(self.forecast[rows], self.happened[rows], [own[rows] for own in self.codes], self.lattice)


class EngineSegments:
    """Cases of one model in a lazy frame: one query for each block of columns, and a sample of the rows."""

    def __init__(self, cases: LazyCases, depth: int, most: int, seed: int) -> None:
        self.cases = cases
        share = most / max(count_rows(cases.frame), 1)
        self._sampled = self._fetch(sampled_rows(cases.lawful_rows(), share, seed))
        columns = range(len(cases.keys))
        # Labels that are not in the sample make a block larger than planned, which only costs period.
        seen = tuple(max(len(encoded(self._sampled.column(f"key_{column}"))[0]), 1) for column in columns)
        blocks = Lattice(seen, depth).parts
        tables = [self._query(block) for block in blocks]
        self._held = [_labels_of(tables, blocks, column) for column in columns]
        for column, held in enumerate(self._held):
            if None in held:
                raise laws.unknown_key(laws.named_key(cases.keys[column]), "some rows")
        self.labels = []
        for column, held in enumerate(self._held):
            kind = cases.key_kinds[f"key_{column}"]
            labels, codes = code_labels(kind.labels(held), kind.order)
            # In the order of arrays, on which the drawn outcomes depend.
            self._held[column] = [held[place] for place in np.argsort(codes, kind="stable").tolist()]
            self.labels.append(labels)
        self.lattice = Lattice(tuple(map(len, self.labels)), depth)
        check_size(self.lattice)
        self._all = self._summed(tables, blocks)

    def sums(self, within: Sequence[Place] = (), outside: Sequence[Sequence[Place]] = ()) -> SegmentSums:
        """Return the sums of all segments, of the cases within one segment and outside of others.

        Those of a segment are fetched if they are few, which is faster than as many queries as for all cases.
        """
        if not within:
            return self._all
        if self._all.n[self.lattice.index(within)] <= MOST_FETCHED:
            return self._coded(self._fetch(self._rows(within, outside))).sums()
        fixed = dict(within)  # Columns with one label left; the blocks can have more of the others.
        sizes = tuple(1 if column in fixed else size for column, size in enumerate(self.lattice.sizes))
        blocks = Lattice(sizes, self.lattice.depth).parts
        return self._summed([self._query(block, within, outside) for block in blocks], blocks)

    def _summed(self, tables: Sequence[Any], blocks: Sequence[tuple[int, ...]]) -> SegmentSums:
        """Return the sums of all segments from the tables of the blocks."""
        codes = [
            {column: self._codes(table, column) for column in block}
            for block, table in zip(blocks, tables, strict=True)
        ]
        place = {own: next(at for at, block in enumerate(blocks) if set(own) <= set(block)) for own in self.largest}
        cells = {
            own: np.ravel_multi_index([codes[at][column] for column in own], self.lattice.shape(own))
            for own, at in place.items()
        }
        found = []
        for name in SUMS:
            values = [table.column(name).to_numpy().astype(np.float64) for table in tables]
            dense = {
                own: np.bincount(index, values[place[own]], minlength=math.prod(self.lattice.shape(own))).astype(float)
                for own, index in cells.items()
            }
            found.append(self.lattice.spread(dense))
        return SegmentSums(*found)

    @property
    def largest(self) -> tuple[tuple[int, ...], ...]:
        """The combinations of columns whose sums contain those of all others."""
        return self.lattice.largest

    def table(self, segment: Sequence[Place]) -> ForecastTable:
        """Return the forecast table of a segment."""
        cases = replace(self.cases, frame=self.cases.frame.filter(self._members(segment)), keys=())
        return Ledger.of_source(cases, cases.events).table(cases.models[0])

    def sample(self) -> SegmentCases:
        """Return the sample of the cases, as arrays."""
        return self._coded(self._sampled)

    def _fetch(self, rows: Lazy) -> Any:
        """Load rows into memory."""
        keys = self.cases.key_columns(self.cases.keys)
        own = {"p": nw.col("forecast_0"), "y": self.cases.happened(Event("event"))}
        return fetched(rows.select(**own, **{key: nw.col(key) for key in keys}))

    def _coded(self, table: Any) -> SegmentCases:
        """Return rows as arrays, with the indices of their labels."""
        codes = [self._codes(table, column) for column in range(len(self.labels))]
        p, y = (table.column(name).to_numpy().astype(np.float64) for name in ("p", "y"))
        return SegmentCases(p, y > 0.5, codes, self.lattice)

    def _query(
        self, columns: Sequence[int], within: Sequence[Place] = (), outside: Sequence[Sequence[Place]] = ()
    ) -> Any:
        rows = self._rows(within, outside)
        keys = [f"key_{column}" for column in columns]
        p, y = nw.col("forecast_0"), self.cases.happened(Event("event"))
        spread = p * (1.0 - p)
        terms = {"observed": y, "expected": p, "variance": spread, "third": spread * (1.0 - 2.0 * p)}
        rows = rows.select(**{key: nw.col(key) for key in keys}, **terms)
        return fetched(rows.group_by(*keys).agg(nw.len().alias("n"), *(nw.col(name).sum() for name in terms)))

    def _rows(self, within: Sequence[Place], outside: Sequence[Sequence[Place]]) -> Lazy:
        rows = self.cases.lawful_rows()
        if within:
            rows = rows.filter(self._members(within))
        for segment in outside:
            rows = rows.filter(~self._members(segment))
        return rows

    def _members(self, segment: Sequence[Place]) -> nw.Expr:
        tests = [nw.col(f"key_{column}") == self._comparable(column, code) for column, code in segment]
        return nw.all_horizontal(*tests, ignore_nulls=False)

    def _comparable(self, column: int, code: int) -> Any:
        """Return a label for a comparison; durations that DuckDB returns cannot be compared with its own."""
        label = self.labels[column][code]
        return label if isinstance(label, dt.timedelta) else self._held[column][code]

    def _codes(self, table: Any, column: int) -> NDArray[np.intp]:
        held, places = encoded(table.column(f"key_{column}"))
        order = {label: code for code, label in enumerate(self._held[column])}
        return np.array([order[one] for one in held], dtype=np.intp)[places]


def _labels_of(tables: Sequence[Any], blocks: Sequence[tuple[int, ...]], column: int) -> list[Any]:
    """Return the labels of a column, as the engine holds them."""
    table = next(table for table, block in zip(tables, blocks, strict=True) if column in block)
    held, _ = encoded(table.column(f"key_{column}"))
    return list(held)


def cases_of_arrays(
    cases: Cases, depth: int, most: int, seed: int
) -> tuple[SegmentCases, SegmentCases, list[tuple[Any, ...]]]:
    """Return the cases of the only model, at most so many of them drawn at random, and the labels of each column."""
    forecast, happened, _ = cases.gathered()
    keys = list(cases.keys.values())
    lattice = Lattice(tuple(len(key.labels) for key in keys), depth)
    check_size(lattice)
    found = SegmentCases(forecast, happened.astype(np.bool_), [key.codes for key in keys], lattice)
    return found, found.sampled(most, seed), [key.labels for key in keys]


def cases_of_engine(
    cases: LazyCases, depth: int, most: int, seed: int
) -> tuple[EngineSegments, SegmentCases, list[tuple[Any, ...]]]:
    """Return the same for a lazy frame; about so many of its cases are drawn."""
    found = EngineSegments(cases, depth, most, seed)
    return found, found.sample(), found.labels
