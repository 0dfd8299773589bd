"""The sums of pairs in a stored ledger: lists in the first row of each outcome and keys, and checks of what is read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from propriety.ledger.key_index import KeyIndex
from propriety.ledger.moments import Moments
from propriety.ledger.pair_sums import POWERS, PairSums
from propriety.result import Floats
from propriety.storage.files import pyarrow
from propriety.tables.table_laws import ROUNDING_OF_SUMS

WIDTHS = {"imagined": 2 * len(POWERS), "cubes": 4, "differ": 1}  # Numbers for each pair.
LARGEST = 1e280  # Sums over all cases are then finite.
Refuse: TypeAlias = Callable[[str], NoReturn]


def pair_lists(moments: Moments) -> dict[str, Any]:
    """Return the sums of pairs as columns of lists, empty but in the first row of each outcome and keys."""
    pa, _ = pyarrow()
    pairs = moments.pair_sums
    if pairs is None:
        return {}
    entry = pairs.index.entry_of(moments.index)
    first = np.sort(np.unique(entry, return_index=True)[1])
    columns = {}
    for name, width in WIDTHS.items():
        lengths = np.zeros(len(entry), dtype=np.int64)
        lengths[first] = width * len(moments.pairs)
        values = pa.array(getattr(pairs, name)[entry[first]].ravel())
        columns[name] = pa.LargeListArray.from_arrays(pa.array(np.append(0, np.cumsum(lengths))), values)
    return columns


def pair_sums_of_lists(
    lists: dict[str, Any], index: KeyIndex, entry: NDArray[np.intp], pairs: int, refuse: Refuse
) -> PairSums:
    """Return the sums of pairs from columns of lists, given the outcome and keys of each row."""
    from pyarrow import types

    found, given = {}, None
    for name, width in WIDTHS.items():
        column = lists[name]
        kind = column.type
        is_number = types.is_integer if name == "differ" else types.is_floating
        if (
            not (types.is_list(kind) or types.is_large_list(kind))
            or column.null_count
            or not is_number(kind.value_type)
        ):
            refuse(f"its column {name} must hold lists of numbers; it is of {kind}")
        lengths, values = np.asarray(column.value_lengths()), column.flatten()
        rows = np.flatnonzero(lengths)
        given = rows if given is None else given
        if values.null_count or not np.array_equal(rows, given) or (lengths[rows] != width * pairs).any():
            refuse(f"its column {name} must hold {width} numbers for each of {pairs} pairs, or none")
        found[name] = np.asarray(values.to_numpy(zero_copy_only=False)).reshape(-1, pairs, width)
    if given is None or len(np.unique(entry[given])) < len(index):
        refuse("the sums of its pairs must be there for every outcome and key")
    whole = PairSums(
        imagined=found["imagined"].astype(np.float64).reshape(-1, pairs, 2, len(POWERS)),
        cubes=found["cubes"].astype(np.float64),
        differ=found["differ"].astype(np.int64)[..., 0],
        index=KeyIndex(index.names, index.labels, index.codes[entry[given]]),
    )
    return whole.over(*index.names)


def are_alike(one: Any, other: Any, tolerance: float) -> bool:
    """Whether two columns of lists are the same but for rounding, relative to the largest number of either."""
    first, second = one.combine_chunks(), other.combine_chunks()
    if not first.value_lengths().equals(second.value_lengths()):
        return False
    mine, theirs = (np.asarray(column.flatten().to_numpy(zero_copy_only=False)) for column in (first, second))
    finite = np.abs(theirs[np.isfinite(theirs)])
    return bool(np.allclose(mine, theirs, rtol=tolerance, atol=tolerance * finite.max(initial=1.0), equal_nan=True))


def check_pair_sums(moments: Moments, pairs: PairSums, refuse: Refuse) -> None:
    """Raise an error if no losses can have these sums, or if they are not of the cases of the moments."""
    total = moments.over(*pairs.index.names)
    if not np.array_equal(total.index.codes, pairs.index.codes):
        refuse("the sums of its pairs must be of the outcomes and keys of its moments")
    n, weights = total.n[:, None], np.stack([total.weight, total.weight_squares], axis=-1)[:, None, None, :]
    if not ((pairs.differ >= 0) & (pairs.differ <= n)).all():
        refuse("the number of cases in which the models of a pair differ must be that of some of its cases")
    imagined = pairs.imagined
    if not (np.abs(imagined) <= LARGEST).all():
        refuse("the imagined sums of its pairs must be finite, and small enough to be added")
    at = {powers: imagined[..., place] for place, powers in enumerate(POWERS)}
    is_sound = all((at[powers] >= 0.0).all() for powers in POWERS if powers[1] % 2 == 0)
    chances = np.stack([at[1, 0], at[2, 0]], axis=-1).sum(axis=2, keepdims=True)
    is_sound &= bool((chances <= weights * (1.0 + ROUNDING_OF_SUMS)).all())
    if not is_sound or any(_exceeds(at[j, 1], at[j, 0], at[j, 2]) for j in (2, 3)):
        refuse("the imagined sums of its pairs must be those of some losses")
    weight, mean, square = (pairs.cubes[..., k] for k in range(3))
    is_infinite = ~np.isfinite(square)
    if not ((weight >= 0.0) & (weight <= LARGEST) & (is_infinite | (square >= 0.0))).all():
        refuse("the cubes of its pairs must be those of some losses")
    if _exceeds(*(np.where(is_infinite, 0.0, one) for one in (mean, weight, square))) or _is_large(pairs.cubes):
        refuse("the cubes of its pairs must be those of some losses, and small enough to be added")


def _exceeds(mean: Floats, weight: Floats, square: Floats) -> bool:
    """Whether the Cauchy-Schwarz inequality is violated: mean**2 is at most weight * square."""
    limit = np.sqrt(weight) * np.sqrt(square) * (1.0 + ROUNDING_OF_SUMS)
    return bool((np.abs(mean) > limit + ROUNDING_OF_SUMS * weight).any())


def _is_large(values: Floats) -> bool:
    return bool((np.isfinite(values) & (np.abs(values) > LARGEST)).any())
