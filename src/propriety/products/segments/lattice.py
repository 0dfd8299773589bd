"""All segments of some columns: every label, and every combination of labels of up to a few columns."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from propriety.errors import InputValueError
from propriety.result import Floats

MOST_SEGMENTS = 2**24
MOST_CELLS = 2**12  # Combinations of labels counted together: with more, this takes longer than counting them apart.
Place = tuple[int, int]  # A column and a label, by their indices.


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

    @cached_property
    def parts(self) -> tuple[tuple[int, ...], ...]:
        """Blocks of columns by which cases are counted."""
        return self.blocks(MOST_CELLS)

    @cached_property
    def ends(self) -> NDArray[np.intp]:
        """Index after the last combination of labels of each of the `parts`, counted one part after another."""
        return np.cumsum([math.prod(self.shape(part)) for part in self.parts], dtype=np.intp)

    def cells(self, codes: Sequence[NDArray[np.intp]], part: tuple[int, ...]) -> NDArray[np.intp]:
        """Return the index of each case among the combinations of labels of some columns."""
        return np.ravel_multi_index([codes[column] for column in part], self.shape(part))

    def totals(self, counted: Floats) -> Floats:
        """Return the sums of all segments from those of the combinations of labels of all `parts`.

        Examples
        --------
        >>> Lattice((2, 2), 2).totals(np.array([1.0, 2.0, 3.0, 4.0]))
        array([3., 7., 4., 6., 1., 2., 3., 4.])
        """
        split = np.split(counted, self.ends[:-1])
        return self.spread(
            {
                own: split[part].reshape(shape).sum(axis=others).reshape(-1) if others else split[part]
                for own, (part, shape, others) in self._parts_of_largest.items()
            }
        )

    @cached_property
    def _parts_of_largest(self) -> dict[tuple[int, ...], tuple[int, tuple[int, ...], tuple[int, ...]]]:
        """For each largest combination of columns, a part that contains it, its shape, and the axes to sum over."""
        found = {}
        for own in self.largest:
            place = next(place for place, part in enumerate(self.parts) if set(own) <= set(part))
            part = self.parts[place]
            others = tuple(axis for axis, column in enumerate(part) if column not in own)
            found[own] = place, self.shape(part), others
        return found

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


def check_size(lattice: Lattice) -> None:
    """Reject columns with so many labels that their segments do not fit into memory."""
    if len(lattice) > MOST_SEGMENTS:
        law = f"there are {len(lattice):,} segments; at most {MOST_SEGMENTS:,} can be searched"
        raise InputValueError(law, hint="leave out columns with many labels, such as identifiers, or lower the depth.")
