"""Folds computed from a hash of an identifier, the same in memory and on engines."""

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

HALF = 2**31
MULTIPLIERS = (0.5118216247002567, 0.9504636963259353, 0.14415961271963373)  # Random, and the same always.
STRETCH = 2.0**20  # Large enough that the fractional part of a stretched square is uniform.
Numbers = TypeVar("Numbers", Floats, nw.Expr)


def hashed_folds(labels: Iterable[object], folds: int) -> NDArray[np.intp]:
    r"""Return the fold of each label: in which of `folds` equal parts of [0, 1) its hash is.

    A label stays in its fold when others are added. With few labels, a fold may be empty. Then the folds are equal
    shares of the labels in the order of their hashes, or single labels if there are fewer of them than folds.

    Examples
    --------
    >>> hashed_folds(range(8), 4).tolist()
    [2, 1, 3, 1, 0, 2, 3, 0]
    """
    hashes = hash_of_labels(labels)
    limits = _limits(hashes, folds)
    found = np.floor(hashes * folds) if limits is None else np.searchsorted(limits, hashes, side="right")
    return found.astype(np.intp)


def hash_of_labels(labels: Iterable[object]) -> Floats:
    r"""Return the hash of each label, the fractional part of :math:`2^{20} \{a l + b h + c\}^2`.

    Here :math:`\{\}` is the fractional part, and :math:`2^{31} h + l` is a whole-number label of 64 bits, or the CRC-32
    of the text of any other label. The numbers a, b and c are fixed. Labels are split into h and l before they become
    floats, which could not tell large ones apart.

    References
    ----------
    Knuth (1998), The Art of Computer Programming 3, section 6.4, on multiplicative hashing.
    """
    halves = np.array([divmod(_whole(label), HALF) for label in labels], dtype=np.float64).reshape(-1, 2)
    return _hash(halves[:, 1], halves[:, 0], np.floor)


def _whole(label: object) -> int:
    """Return the whole number that a label is hashed by."""
    whole = isinstance(label, int | np.integer) and not isinstance(label, bool)
    if whole and -(2**63) <= label < 2**64:  # type: ignore[operator]  # a whole number
        return int(label)  # type: ignore[call-overload]  # as above
    return zlib.crc32(str(label).encode("utf-8", "surrogatepass"))


def with_hashed_folds(frame: Lazy, unit: str, folds: int, name: str) -> Lazy:
    """Add a column of the folds of whole numbers, computed by the engine; some folds may be empty."""
    return frame.with_columns((_hash_of_column(frame, unit) * float(folds)).floor().cast(nw.Int64).alias(name))


def with_ranked_folds(frame: Lazy, unit: str, folds: int, name: str) -> Lazy | None:
    """Add a column of the folds of few whole numbers if some would be empty otherwise; None if none would be.

    Their hashes are fetched from the engine; see `hashed_folds`.
    """
    hashes = frame.with_columns(_hash_of_column(frame, unit).alias(name))
    distinct = fetched(hashes.select(nw.col(name)).drop_nulls().unique()).column(name)
    limits = _limits(distinct.to_numpy(), folds)
    if limits is None:
        return None
    above = [nw.when(nw.col(name) >= limit).then(1).otherwise(0) for limit in limits.tolist()]
    return hashes.with_columns(reduce(add, above).alias(name))


def _hash_of_column(frame: Lazy, unit: str) -> nw.Expr:
    whole = nw.col(unit) if frame.collect_schema()[unit] == nw.UInt64 else nw.col(unit).cast(nw.Int64)
    low = (whole % HALF).cast(nw.Float64)
    # The difference may be rounded to a float, but by less than half of what separates two values of h.
    high = ((whole.cast(nw.Float64) - low) / float(HALF) + 0.5).floor()
    return _hash(low, high, nw.Expr.floor)


def _hash(low: Numbers, high: Numbers, floor: Callable[[Numbers], Numbers]) -> Numbers:
    a, b, c = MULTIPLIERS
    turned = low * a + high * b + c
    part = turned - floor(turned)
    stretched = part * part * STRETCH
    return stretched - floor(stretched)


def _limits(hashes: Floats, folds: int) -> Floats | None:
    """Return the lowest hash of each fold but the first if folds are shares of labels; None if they are of [0, 1)."""
    distinct = np.unique(hashes)
    filled = min(folds, len(distinct))
    if len(np.unique(np.floor(distinct * folds))) == filled:
        return None
    return distinct[-(-np.arange(1, filled) * len(distinct) // filled)]
