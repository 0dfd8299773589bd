"""Folds by a hash of identifiers, the same in memory and on engines."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from functools import reduce
from operator import add
from typing import TypeVar

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from propriety.result import Floats
from propriety.tables.queries import Lazy, fetched

__all__ = ["hash_of_labels", "hashed_folds", "with_hashed_folds", "with_ranked_folds"]

HALF = 2.0**31
STRETCH = 2.0**20  # Large enough that the fractional part of a stretched square is uniform.
Numbers = TypeVar("Numbers", Floats, nw.Expr)


def hashed_folds(labels: Iterable[object], folds: int, seed: int) -> NDArray[np.intp]:
    r"""Return the fold of each label: in which of `folds` equal parts of [0, 1) its hash is.

    A label stays in its fold when others are added. With few labels, a fold may be empty. Then the folds are equal
    shares of the labels in the order of their hashes, or single labels if there are fewer of them than folds.

    Examples
    --------
    >>> hashed_folds(range(8), 4, seed=1).tolist()
    [2, 1, 3, 1, 0, 2, 3, 0]
    """
    hashes = hash_of_labels(labels, seed)
    limits = _limits(hashes, folds)
    found = np.floor(hashes * folds) if limits is None else np.searchsorted(limits, hashes, side="right")
    return found.astype(np.intp)


def hash_of_labels(labels: Iterable[object], seed: int) -> Floats:
    r"""Return the hash of each label, the fractional part of :math:`2^{20} \{a l + b h + c\}^2`.

    Here :math:`\{\}` is the fractional part, and :math:`2^{31} h + l` is a whole-number label, or the CRC-32 of the
    text of any other label. The seed determines a, b and c. Engines do these few operations on floats
    faster than remainders of whole numbers, and with the same results.

    References
    ----------
    Knuth (1998), The Art of Computer Programming 3, section 6.4, on multiplicative hashing.
    """
    numbers = [
        float(label)
        if isinstance(label, int | np.integer) and not isinstance(label, bool)
        else float(zlib.crc32(str(label).encode()))
        for label in labels
    ]
    column = np.array(numbers)
    return _hash(column, np.floor(column / HALF), np.floor, seed)


def with_hashed_folds(frame: Lazy, unit: str, folds: int, seed: int, name: str) -> Lazy:
    """Add a column of the folds of whole numbers, computed by the engine; some folds may be empty."""
    return frame.with_columns((_hash_of_column(unit, seed) * float(folds)).floor().cast(nw.Int64).alias(name))


def with_ranked_folds(frame: Lazy, unit: str, folds: int, seed: int, name: str) -> Lazy | None:
    """Add a column of the folds of few whole numbers if some would be empty otherwise; None if none would be.

    Their hashes are fetched from the engine; see `hashed_folds`.
    """
    hashes = frame.with_columns(_hash_of_column(unit, seed).alias(name))
    distinct = fetched(hashes.select(nw.col(name)).drop_nulls().unique()).column(name)
    limits = _limits(distinct.to_numpy(), folds)
    if limits is None:
        return None
    above = [nw.when(nw.col(name) >= limit).then(1).otherwise(0) for limit in limits.tolist()]
    return hashes.with_columns(reduce(add, above).alias(name))


def _hash_of_column(unit: str, seed: int) -> nw.Expr:
    column = nw.col(unit).cast(nw.Float64)
    return _hash(column, (column / HALF).floor(), nw.Expr.floor, seed)


def _hash(whole: Numbers, high: Numbers, floor: Callable[[Numbers], Numbers], seed: int) -> Numbers:
    a, b, c = map(float, np.random.default_rng(seed).random(3))
    turned = (whole - high * HALF) * a + high * b + c
    part = turned - floor(turned)
    stretched = part * part * STRETCH
    return stretched - floor(stretched)


def _limits(hashes: Floats, folds: int) -> Floats | None:
    """Return the lowest hash of each fold but the first if folds are shares of labels; None if they are of [0, 1)."""
    distinct = np.unique(hashes)
    filled = min(folds, len(distinct))
    if len(np.unique(np.floor(distinct * folds))) == filled:
        return None
    found: Floats = distinct[-(-np.arange(1, filled) * len(distinct) // filled)]
    return found
