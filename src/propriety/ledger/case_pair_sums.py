"""Sums over the cases of two models, computed from cases in memory, chunk by chunk."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from propriety.ledger.key_index import KeyIndex
from propriety.ledger.pair_sums import LARGEST_LOSS, POWERS, UNITS, PairSums
from propriety.result import Floats
from propriety.rules.operations import NUMPY
from propriety.rules.rule import FAILED, HAPPENED, Rule, binary_rule
from propriety.tables.cases import Cases

# The first three powers of the weights, or one entry if all three are equal, as those of counts; None stands for 1.
Powers: TypeAlias = list[Floats | None]
ROUNDING = 1e-12  # Relative differences below it are taken as none.
Total: TypeAlias = Callable[[Floats], Floats]  # Adds up a column in each cell.


def pair_sums_of_cases(
    cases: Cases, rule: Rule, index: KeyIndex, codes: NDArray[np.intp], counts: NDArray[np.int64] | None = None
) -> PairSums:
    """Return the sums over the cases of each pair, by the labels of an index, given the entry of each case.

    With `counts`, each case without a weight stands for that many equal ones.
    """
    own, place = index.only([name for name in index.names if name not in UNITS])
    entries = codes if own.names == index.names else place[codes]
    pairs = list(itertools.combinations(range(len(cases.models)), 2))
    imagined = np.zeros((len(own), len(pairs), 2, len(POWERS)))
    cubes, differ = np.zeros((len(own), len(pairs), 4)), np.zeros((len(own), len(pairs)))
    at_mean = binary_rule(rule).is_even_at_mean
    start = 0
    for (forecasts, happens, fails), event, weight in _chunks(cases, rule):
        rows = slice(start, start + len(event))
        start = rows.stop
        powers = _powers(weight, None if counts is None else counts[rows])
        present, cell = compressed(entries[rows], len(own))

        def total(column: Floats, cell: NDArray[np.intp] = cell, cells: int = len(present)) -> Floats:
            return np.bincount(cell, column, minlength=cells).astype(np.float64, copy=False)

        for pair, (one, other) in enumerate(pairs):
            with np.errstate(all="ignore"):  # Infinite losses, and models that do not differ.
                sides = fails[one] - fails[other], happens[one] - happens[other]
                both = forecasts[one], forecasts[other]
                found = sums_of_pair(both, sides, event, powers, total, at_mean=at_mean)
            for column, sums in zip((imagined, cubes, differ), found, strict=True):
                with np.errstate(invalid="ignore"):  # Infinite losses.
                    column[present, pair] += sums
    return PairSums(imagined=imagined, cubes=cubes, differ=differ.astype(np.int64), index=own)


def compressed(codes: NDArray[np.intp], cells: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the distinct codes below `cells`, sorted, and the position of each code among them.

    Examples
    --------
    >>> compressed(np.array([3, 1, 3]), 5)
    (array([1, 3]), array([1, 0, 1]))
    """
    if cells > len(codes):
        present, cell = np.unique(codes, return_inverse=True)
        return present.astype(np.intp, copy=False), cell.reshape(-1)
    occurs = np.bincount(codes, minlength=cells) > 0  # No sort needed.
    return np.flatnonzero(occurs), codes if occurs.all() else (np.cumsum(occurs) - 1)[codes]


def _chunks(cases: Cases, rule: Rule) -> Iterator[tuple[Floats, NDArray[np.bool_], Floats | None]]:
    """Yield the forecasts and the losses with and without the event, shape (3, models, cases), outcomes and weights."""
    loss = binary_rule(rule).loss
    for chunk in zip(*(cases.chunks(model) for model in cases.models), strict=True):
        columns: Floats = np.empty((3, len(chunk), len(chunk[0].outcome)))
        for place, (forecast, *_) in enumerate(chunk):
            columns[0, place] = forecast
            columns[1, place] = loss(forecast, event=HAPPENED)
            columns[2, place] = loss(forecast, event=FAILED)
        weight = chunk[0].weight
        if weight is not None and not weight.all():
            columns[1:, :, weight == 0.0] = 0.0  # A case of weight zero does not count, even if its loss is infinite.
        yield columns, chunk[0].outcome, weight


def _powers(weight: Floats | None, counts: NDArray[np.int64] | None) -> Powers:
    if counts is not None:
        return [counts.astype(np.float64)]
    return [None] if weight is None else [weight, weight * weight, weight * weight * weight]


def sums_of_pair(
    forecasts: tuple[Floats, Floats],
    sides: tuple[Floats, Floats],
    event: NDArray[np.bool_],
    powers: Powers,
    total: Total,
    *,
    at_mean: bool = False,
) -> tuple[Floats, Floats, Floats]:
    """Return the imagined sums, the cubes and the number of cases that differ, in each cell.

    With `at_mean`, the even chance is known to be the mean of the forecasts; solving for it would amplify rounding.
    """
    fails, happens = sides
    chance = 0.5 * (forecasts[0] + forecasts[1]) if at_mean else even_chance(forecasts, sides)
    chances = 1.0 - chance, chance
    draws = [*zip(sides, chances, strict=True)]
    if not all(own.min() > -LARGEST_LOSS and own.max() < LARGEST_LOSS for own in sides):
        counts = (np.abs(fails) < LARGEST_LOSS) & (np.abs(happens) < LARGEST_LOSS)
        draws = [(np.where(counts, loss, 0.0), np.where(counts, chance, 0.0)) for loss, chance in draws]
    imagined = [sums_of_powers(loss, chance, powers, total) for loss, chance in draws]
    differ = np.logical_or(happens, fails).astype(np.float64)
    if len(powers) == 1 and powers[0] is not None:
        differ *= powers[0]
    observed, cube = NUMPY.where(event, happens, fails), powers[-1]
    columns = [np.ones(len(event)) if cube is None else cube]
    for _ in range(3):
        columns.append(columns[-1] * observed)
    return np.stack(imagined, axis=1), np.stack([total(one) for one in columns], axis=1), total(differ)


def even_chance(forecasts: tuple[Floats, Floats], sides: tuple[Floats, Floats]) -> Floats:
    """Return the probability of the event at which a case favours neither forecast, and no farther than either.

    Examples
    --------
    The Brier scores of 10% and 30% are equal if the event has 20%:

    >>> one, other = np.array([0.1]), np.array([0.3])
    >>> even_chance((one, other), (one**2 - other**2, (1 - one) ** 2 - (1 - other) ** 2)).round(6)
    array([0.2])
    """
    fails, happens = sides
    gap = happens - fails
    with np.errstate(all="ignore"):  # Infinite losses, and models that do not differ.
        chance = -fails / gap
    # Influences of cases that models treat alike differ by rounding, which must not decide.
    undecided = np.abs(gap) <= ROUNDING * np.abs(happens)
    if undecided.any():
        np.copyto(chance, 0.5 * (forecasts[0] + forecasts[1]), where=undecided)
    found: Floats = np.minimum(np.maximum(chance, np.minimum(*forecasts)), np.maximum(*forecasts))
    return found


def sums_of_powers(loss: Floats, chance: Floats, powers: Powers, total: Total) -> Floats:
    """Return the sums of the chance times the powers of weight and loss in `POWERS`, shape (cells, 9)."""
    sums = []
    for place, weight in enumerate(powers, start=1):
        column = chance if weight is None else chance * weight
        own = [total(column)]
        for _ in range(3 if len(powers) == 1 else place):
            column = column * loss
            own.append(total(column))
        sums.append(own)
    return np.stack([sums[min(weight, len(powers)) - 1][power] for weight, power in POWERS], axis=1)
