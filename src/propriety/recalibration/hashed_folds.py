"""Folds by a hash of identifiers, the same in memory and on engines."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from functools import reduce
from operator import add
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from propriety.tables.queries import Lazy, fetched

__all__ = ["hash_of_labels", "hashed_folds", "with_hashed_folds", "with_ranked_folds"]

PRIME = 2**31 - 1


def hashed_folds(labels: Iterable[object], folds: int, seed: int) -> NDArray[np.intp]:
    r"""Return the fold of each label: its hash modulo the number of folds.

    A label stays in its fold when others are added. With few labels, a fold may be empty. Then the folds are equal
    shares of the labels in the order of their hashes, or single labels if there are fewer of them than folds.

    Examples
    --------
    >>> hashed_folds(range(8), 4, seed=1).tolist()
    [1, 0, 0, 3, 3, 2, 2, 1]
    """
    hashes = hash_of_labels(labels, seed)
    limits = _limits(hashes, folds)
    found = hashes % folds if limits is None else np.searchsorted(limits, hashes, side="right")
    return found.astype(np.intp)


def hash_of_labels(labels: Iterable[object], seed: int) -> NDArray[np.int64]:
    r"""Return the hash of each label, :math:`(a x + b) \bmod (2^{31} - 1)`.

    The seed determines a and b; x is the absolute value of a whole-number label, and the CRC-32 of the text of any
    other.

    References
    ----------
    Carter & Wegman (1979), doi:10.1016/0022-0000(79)90044-8.
    """
    numbers = [
        abs(int(label)) % PRIME
        if isinstance(label, int | np.integer) and not isinstance(label, bool)
        else zlib.crc32(str(label).encode()) % PRIME
        for label in labels
    ]
    factor, term = _factors(seed)
    return np.array([(factor * one + term) % PRIME for one in numbers], dtype=np.int64)


def with_hashed_folds(frame: Lazy, unit: str, folds: int, seed: int, name: str) -> Lazy:
    """Add a column of the folds of whole numbers, computed by the engine; some folds may be empty."""
    return _with_hashes(frame, unit, seed, name).with_columns((nw.col(name) % folds).alias(name))


def with_ranked_folds(frame: Lazy, unit: str, folds: int, seed: int, name: str) -> Lazy | None:
    """Add a column of the folds of few whole numbers if some would be empty otherwise; None if none would be.

    Their hashes are fetched from the engine; see `hashed_folds`.
    """
    hashes = _with_hashes(frame, unit, seed, name)
    distinct = fetched(hashes.select(nw.col(name)).drop_nulls().unique()).column(name)
    limits = _limits(distinct.to_numpy(), folds)
    if limits is None:
        return None
    above = [nw.when(nw.col(name) >= limit).then(1).otherwise(0) for limit in limits.tolist()]
    return hashes.with_columns(reduce(add, above).alias(name))


def _with_hashes(frame: Lazy, unit: str, seed: int, name: str) -> Lazy:
    factor, term = _factors(seed)
    kind = frame.collect_schema()[unit]
    return frame.with_columns(((_remainder(unit, kind) * factor + term) % PRIME).alias(name))


def _limits(hashes: NDArray[np.int64], folds: int) -> NDArray[np.int64] | None:
    """Return the lowest hash of each fold but the first if folds are shares of the hashes; None if remainders do."""
    distinct = np.unique(hashes)
    filled = min(folds, len(distinct))
    if len(np.unique(distinct % folds)) == filled:
        return None
    found: NDArray[np.int64] = distinct[-(-np.arange(1, filled) * len(distinct) // filled)]
    return found


def _factors(seed: int) -> tuple[int, int]:
    factor, term = np.random.default_rng(seed).integers(1, PRIME, 2).tolist()
    return int(factor), int(term)


def _remainder(column: str, kind: Any) -> nw.Expr:
    """Return the remainder of the absolute value of whole numbers; those that may exceed Int64 are cast afterwards."""
    if kind in (nw.UInt64, nw.UInt128, nw.Int128):
        return (nw.col(column).abs() % PRIME).cast(nw.Int64)
    return nw.col(column).cast(nw.Int64).abs() % PRIME
