"""Sums of outcomes and forecasts over all segments of cases: all combinations of the labels of a few columns."""

from __future__ import annotations

import itertools
import math
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
MOST_CELLS = 2**12  # Combinations of labels counted by one query: with more, it takes longer than two queries.
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

    def blocks(self, most: int) -> tuple[tuple[int, ...], ...]:
        """Return combinations of columns that contain all largest ones, each with at most so many labels combined.

        One query of a block replaces those of all combinations of columns in it.

        Examples
        --------
        >>> Lattice((2, 3, 4, 50), 2).blocks(100)
        ((2, 3), (1, 3), (0, 3), (0, 1, 2))
        """
        left, found = set(self.largest), []
        while left:
            block = max(sorted(left), key=lambda columns: math.prod(self.shape(columns)))
            while len(block) < len(self.sizes):
                wider = [tuple(sorted((*block, one))) for one in range(len(self.sizes)) if one not in block]
                fitting = [one for one in wider if math.prod(self.shape(one)) <= most]
                best = max(fitting, key=lambda columns: self._new(columns, left), default=block)
                if self._new(best, left) == self._new(block, left):
                    break
                block = best
            found.append(block)
            left -= set(itertools.combinations(block, len(self.largest[0])))
        return tuple(found)

    def _new(self, columns: Sequence[int], left: set[tuple[int, ...]]) -> int:
        """Return how many of some largest combinations of columns are in a block."""
        return sum(one in left for one in itertools.combinations(columns, len(self.largest[0])))

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
        parts = [
            sums[whole].reshape(self.shape(whole)).sum(axis=others).reshape(-1) if others else sums[whole]
            for whole, others in self._sources
        ]
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
        # Labels that are not in the sample make a block larger than planned, which only costs time.
        seen = tuple(max(len(encoded(self._sampled.column(f"key_{column}"))[0]), 1) for column in columns)
        self.blocks = Lattice(seen, depth).blocks(MOST_CELLS)
        tables = [self._query(block) for block in self.blocks]
        self._held = [_labels_of(tables, self.blocks, column) for column in columns]
        for column, held in enumerate(self._held):
            if None in held:
                raise laws.unknown_key(f"by[{cases.keys[column]!r}]", "some rows")
        self.labels = [tuple(cases.key_kinds[f"key_{column}"].labels(self._held[column])) for column in columns]
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
            return self._coded(self._fetch(self._rows(within, outside))).sums()
        return self._summed([self._query(block, within, outside) for block in self.blocks])

    def _summed(self, tables: Sequence[Any]) -> SegmentSums:
        """Return the sums of all segments from the tables of the blocks."""
        codes = [
            {column: self._codes(table, column) for column in block}
            for block, table in zip(self.blocks, tables, strict=True)
        ]
        place = {
            own: next(at for at, block in enumerate(self.blocks) if set(own) <= set(block)) for own in self.largest
        }
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
        tests = [nw.col(f"key_{column}") == self._held[column][code] for column, code in segment]
        return nw.all_horizontal(*tests, ignore_nulls=False)

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


def check_size(lattice: Lattice) -> None:
    """Reject columns with so many labels that their segments do not fit into memory."""
    if len(lattice) > MOST_SEGMENTS:
        law = f"there are {len(lattice):,} segments; at most {MOST_SEGMENTS:,} can be searched"
        raise InputValueError(law, hint="leave out columns with many labels, such as identifiers, or lower the depth.")
