"""Sums of outcomes and forecasts over all segments of cases: all combinations of the labels of a few columns."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from propriety.errors import InputValueError
from propriety.ledger.ledger import Ledger
from propriety.result import Floats
from propriety.tables import laws
from propriety.tables.cases import Cases
from propriety.tables.events import Event
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.lazy_cases import LazyCases
from propriety.tables.queries import Lazy, count_rows, encoded, fetched
from propriety.tables.sampling import sampled_rows

__all__ = ["Lattice", "SegmentCases", "SegmentSums", "cases_of_arrays", "cases_of_engine"]

MOST_SEGMENTS = 2**24
MOST_FETCHED = 2**21  # Cases of a segment that are loaded into memory.
SUMS = ("n", "observed", "expected", "variance", "third")
Place = tuple[int, int]  # A column and a label, by their indices.


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


@dataclass(frozen=True)
class Lattice:
    """All segments: every label of every column, and every combination of them over up to `depth` columns.

    Examples
    --------
    >>> lattice = Lattice((2, 3), 2)
    >>> len(lattice), lattice.segment(1), lattice.segment(2 + 3 + 5)
    (11, ((0, 1),), ((0, 1), (1, 2)))
    """

    sizes: tuple[int, ...]
    depth: int

    @cached_property
    def largest(self) -> tuple[tuple[int, ...], ...]:
        """The combinations of columns whose sums contain those of all others."""
        return tuple(itertools.combinations(range(len(self.sizes)), min(self.depth, len(self.sizes))))

    @cached_property
    def subsets(self) -> tuple[tuple[int, ...], ...]:
        """All combinations of columns, the small ones first."""
        columns, depth = range(len(self.sizes)), min(self.depth, len(self.sizes))
        return tuple(itertools.chain(*(itertools.combinations(columns, size) for size in range(1, depth + 1))))

    def shape(self, columns: Sequence[int]) -> tuple[int, ...]:
        """Return the numbers of labels of some columns."""
        return tuple(self.sizes[column] for column in columns)

    @cached_property
    def starts(self) -> NDArray[np.intp]:
        """Index of the first segment of each combination of columns, and the number of all segments."""
        counts = [int(np.prod(self.shape(columns))) for columns in self.subsets]
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.intp)

    def __len__(self) -> int:
        return int(self.starts[-1])

    def segment(self, index: int) -> tuple[Place, ...]:
        """Return the columns and labels of a segment."""
        at = int(np.searchsorted(self.starts, index, side="right")) - 1
        columns = self.subsets[at]
        codes = np.unravel_index(index - self.starts[at], self.shape(columns))
        return tuple((column, int(code)) for column, code in zip(columns, codes, strict=True))

    def index(self, segment: Sequence[Place]) -> int:
        """Return the index of a segment."""
        columns = tuple(column for column, _ in segment)
        inside = np.ravel_multi_index([code for _, code in segment], self.shape(columns))
        return int(self.starts[self.subsets.index(columns)] + inside)

    def spread(self, sums: Mapping[tuple[int, ...], Floats]) -> Floats:
        """Return the sums of all segments from those of the largest combinations of columns."""
        parts = [sums[whole].reshape(self.shape(whole)).sum(axis=others).reshape(-1) for whole, others in self._sources]
        return np.concatenate(parts)

    @cached_property
    def _sources(self) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        """For each combination of columns, a largest one that contains it, and the axes to sum over."""
        wholes = [next(one for one in self.largest if set(columns) <= set(one)) for columns in self.subsets]
        return [
            (whole, tuple(axis for axis, column in enumerate(whole) if column not in columns))
            for columns, whole in zip(self.subsets, wholes, strict=True)
        ]


class SegmentCases:
    """Cases of one model in memory, divided by some columns."""

    def __init__(
        self, forecast: Floats, happened: NDArray[np.bool_], codes: list[NDArray[np.intp]], lattice: Lattice
    ) -> None:
        self.forecast, self.happened, self.codes, self.lattice = forecast, happened, codes, lattice

    def cells(self, rows: NDArray[Any] | None = None) -> dict[tuple[int, ...], NDArray[np.intp]]:
        """Return the index of the segment of each case, for every largest combination of columns."""
        codes = [own if rows is None else own[rows] for own in self.codes]
        return {
            columns: np.ravel_multi_index([codes[column] for column in columns], self.lattice.shape(columns))
            for columns in self.lattice.largest
        }

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
        cells = self.cells(rows)
        return SegmentSums(*(self.lattice.spread(self._counted(cells, weight)) for weight in weights))

    def _counted(
        self, cells: Mapping[tuple[int, ...], NDArray[np.intp]], weight: Floats | None
    ) -> dict[tuple[int, ...], Floats]:
        return {
            columns: np.bincount(own, weight, minlength=int(np.prod(self.lattice.shape(columns)))).astype(np.float64)
            for columns, own in cells.items()
        }

    def _members(self, segment: Sequence[Place]) -> NDArray[np.bool_]:
        kept = np.ones(len(self.forecast), dtype=np.bool_)
        for column, code in segment:
            kept &= self.codes[column] == code
        return kept

    def table(self, segment: Sequence[Place]) -> ForecastTable:
        """Return the forecast table of a segment."""
        kept = self._members(segment)
        return ForecastTable.from_predictions(self.happened[kept], self.forecast[kept])

    def sample(self, most: int, seed: int) -> SegmentCases:
        """Return at most so many of the cases, with the same lattice."""
        if len(self.forecast) <= most:
            return self
        rows = np.sort(np.random.default_rng(seed).choice(len(self.forecast), most, replace=False))
        return SegmentCases(self.forecast[rows], self.happened[rows], [own[rows] for own in self.codes], self.lattice)


class EngineSegments:
    """Cases of one model in a lazy frame: one query for every largest combination of columns."""

    def __init__(self, cases: LazyCases, depth: int) -> None:
        self.cases, self.depth = cases, depth
        self.labels: list[tuple[Any, ...]] = []
        self._held: list[list[Any]] = []
        columns = range(len(cases.keys))
        tables = {own: self._query(own) for own in itertools.combinations(columns, min(depth, len(columns)))}
        for column in columns:
            own = next(own for own in tables if column in own)
            held, _ = encoded(tables[own].column(f"key_{column}"))
            if None in held:
                raise laws.unknown_key(f"by[{cases.keys[column]!r}]", "some rows")
            self._held.append(held)
            self.labels.append(tuple(cases.key_kinds[f"key_{column}"].labels(held)))
        self.lattice = Lattice(tuple(map(len, self.labels)), depth)
        check_size(self.lattice)
        self._all = self._summed(tables)

    def sums(self, within: Sequence[Place] = (), outside: Sequence[Sequence[Place]] = ()) -> SegmentSums:
        """Return the sums of all segments, of the cases within one segment and outside of others.

        Those of a segment are fetched if they are few, which is faster than as many queries as for all cases.
        """
        if not within:
            return self._all
        if self._all.n[self.lattice.index(within)] <= MOST_FETCHED:
            return self._fetched(self._rows(within, outside)).sums()
        return self._summed({own: self._query(own, within, outside) for own in self.lattice.largest})

    def _summed(self, tables: Mapping[tuple[int, ...], Any]) -> SegmentSums:
        found = []
        for name in SUMS:
            dense = {own: self._dense(table, own, name) for own, table in tables.items()}
            found.append(self.lattice.spread(dense))
        return SegmentSums(*found)

    def table(self, segment: Sequence[Place]) -> ForecastTable:
        """Return the forecast table of a segment."""
        cases = replace(self.cases, frame=self.cases.frame.filter(self._members(segment)), keys=())
        return Ledger.of_source(cases, cases.events).table(cases.models[0])

    def sample(self, most: int, seed: int) -> SegmentCases:
        """Return at most about so many of the cases, as arrays."""
        rows = count_rows(self.cases.frame)
        return self._fetched(sampled_rows(self.cases.lawful_rows(), most / max(rows, 1), seed))

    def _fetched(self, rows: Lazy) -> SegmentCases:
        """Load rows into memory."""
        keys = self.cases.key_columns(self.cases.keys)
        own = {"p": nw.col("forecast_0"), "y": self.cases.happened(Event("event"))}
        table = fetched(rows.select(**own, **{key: nw.col(key) for key in keys}))
        codes = [self._codes(table, column) for column in range(len(keys))]
        p, y = (table.column(name).to_numpy().astype(np.float64) for name in own)
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
        tests = [nw.col(f"key_{column}") == self._held[column][code] for column, code in segment]
        return nw.all_horizontal(*tests, ignore_nulls=False)

    def _codes(self, table: Any, column: int) -> NDArray[np.intp]:
        held, places = encoded(table.column(f"key_{column}"))
        order = {label: code for code, label in enumerate(self._held[column])}
        return np.array([order[one] for one in held], dtype=np.intp)[places]

    def _dense(self, table: Any, columns: Sequence[int], name: str) -> Floats:
        shape = self.lattice.shape(columns)
        values = table.column(name).to_numpy().astype(np.float64)
        found = np.zeros(int(np.prod(shape)))
        if len(values):
            found[np.ravel_multi_index([self._codes(table, column) for column in columns], shape)] = values
        return found


def cases_of_arrays(cases: Cases, depth: int) -> tuple[SegmentCases, list[tuple[Any, ...]]]:
    """Return the cases of the only model, and the labels of each column."""
    forecast, happened, _ = cases.gathered()
    keys = list(cases.keys.values())
    lattice = Lattice(tuple(len(key.labels) for key in keys), depth)
    check_size(lattice)
    found = SegmentCases(forecast, happened.astype(np.bool_), [key.codes for key in keys], lattice)
    return found, [key.labels for key in keys]


def cases_of_engine(cases: LazyCases, depth: int) -> tuple[EngineSegments, list[tuple[Any, ...]]]:
    """Return the cases of the only model in a lazy frame, and the labels of each column."""
    found = EngineSegments(cases, depth)
    return found, found.labels


def check_size(lattice: Lattice) -> None:
    """Reject columns with so many labels that their segments do not fit into memory."""
    if len(lattice) > MOST_SEGMENTS:
        law = f"there are {len(lattice):,} segments; at most {MOST_SEGMENTS:,} can be searched"
        raise InputValueError(law, hint="leave out columns with many labels, such as identifiers, or lower the depth.")
