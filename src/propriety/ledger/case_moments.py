"""Moments computed from cases in memory, chunk by chunk."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.errors import InputValueError
from propriety.ledger.case_pair_sums import compressed, pair_sums_of_cases
from propriety.ledger.key_index import KeyIndex
from propriety.ledger.moments import MANY_EVENTS, OUTCOME, Moments, Sums, blocks_of_series, joined_sums, pooled_sums
from propriety.result import Floats
from propriety.rules.rule import Rule, check_rule
from propriety.rules.scoring import losses_by_chunk, losses_by_outcome
from propriety.tables.cases import Cases
from propriety.tables.keys import Keys

KEPT = 2**20  # Cells kept before equal ones are merged, which bounds the memory if there are many clusters.
MANY = 64  # With more cases per cell, one pass per cell is faster than counting.
MAX_VALUES = 2**27  # Largest number of values in the moments.


def moments_of_cases(cases: Cases, rule: Rule, *, counts: NDArray[np.int64] | None = None) -> Moments:
    """Return the moments of a per-case function, by outcome, key, and cluster or period.

    With `counts`, each case without a weight stands for that many equal ones.

    Examples
    --------
    >>> import propriety as pr
    >>> moments = pr.condense([0, 1], {"a": [0.1, 0.7], "b": [0.5, 0.5]}).moments(pr.Brier())
    >>> moments.means.round(3), moments.standard_errors().round(3)
    (array([ 0.05,  0.25, -0.2 ]), array([0.04, 0.  , 0.04]))
    """
    check_rule(rule)
    series = len(cases.models) * (len(cases.models) + 1) // 2
    index, codes = KeyIndex.of_cases({OUTCOME: _outcomes(cases), **_keys(cases)}, len(cases))
    if len(index) * series > MAX_VALUES:
        law = f"{len(cases.models):,} models in {len(index):,} cells have too many differences to keep in memory"
        raise InputValueError(law, hint="compare fewer models at a time, or omit the clusters.")
    number = np.ones(len(cases), dtype=np.int64) if counts is None else counts
    events = int(number[cases.outcomes()].sum()) if cases.classes is None else 0
    even = cases.classes is None and len(cases.models) > 1 and min(events, int(number.sum()) - events) < MANY_EVENTS
    # The losses are then computed twice, but the numbers are checked once.
    sums = _gathered(cases.checked() if even else cases, rule, codes, len(index), even=even, counts=counts)
    pairs = None
    if cases.classes is None and len(cases.models) > 1:
        pairs = pair_sums_of_cases(cases, rule, index, codes, counts)
    occupied = sums.weight > 0.0  # Cells without weight are left out.
    if not occupied.all():
        kept: Any = [column[occupied] for column in sums]
        if pairs is not None:
            pairs = pairs.where(np.unique(pairs.index.entry_of(index)[occupied]))
        sums, index = Sums(*kept), index.where(occupied)
    own: dict[str, Any] = {"models": cases.models, "rule": rule, "dropped": cases.dropped, "pair_sums": pairs}
    return Moments(**sums._asdict(), **own, index=index)


def _outcomes(cases: Cases) -> Keys:
    """Return the outcome of each case as a key: 0 and 1, or the class index."""
    codes = np.concatenate([np.asarray(chunk.outcome, dtype=np.intp) for chunk in cases.chunks(cases.models[0])])
    return Keys(tuple(range(cases.classes or 2)), codes)


def _keys(cases: Cases) -> dict[str, Keys]:
    dependent = {name: one for name, one in (("cluster", cases.cluster), ("period", cases.period)) if one is not None}
    return dict(cases.keys) | dependent


def _gathered(
    cases: Cases, rule: Rule, codes: NDArray[np.intp], cells: int, *, even: bool, counts: NDArray[np.int64] | None
) -> Sums:
    """Sum the cases of each cell, chunk by chunk."""
    parts: list[Sums] = []
    places: list[NDArray[np.intp]] = []
    start, kept = 0, 0
    for (losses, weight), by_outcome in zip(
        _chunks(cases, rule), _chunks_by_outcome(cases, rule, even=even), strict=False
    ):
        count = losses.shape[1]
        present, cell = compressed(codes[start : start + count], cells)
        if counts is None:
            parts.append(_sums(losses, by_outcome, weight, cell, len(present)))
        else:
            repeated = _repeated(losses, by_outcome, counts[start : start + count])
            parts.append(pooled_sums(cell, len(present), repeated))
        start += count
        places.append(present)
        kept += len(present)
        if kept > KEPT + cells:
            seen, own = np.unique(np.concatenate(places), return_inverse=True)  # More cells may still follow.
            parts = [pooled_sums(own.reshape(-1), len(seen), joined_sums(parts))]
            places, kept = [seen], len(seen)
    return pooled_sums(np.concatenate(places), cells, joined_sums(parts))


def _chunks(cases: Cases, rule: Rule) -> Iterator[tuple[Floats, Floats | None]]:
    """Yield the losses of some thousand cases, of shape (models, cases), with their weights."""
    for chunk in zip(*(losses_by_chunk(cases, rule, model) for model in cases.models), strict=True):
        losses, weight = np.stack([loss for loss, _ in chunk]), chunk[0][1]
        if weight is not None:
            # A case of zero weight does not count, even if its loss is infinite.
            losses = np.where(weight > 0.0, losses, 0.0)
        yield losses, weight


def _chunks_by_outcome(cases: Cases, rule: Rule, *, even: bool) -> Iterator[Floats | None]:
    """Yield the losses with and without the event, of shape (2, models, cases); None if not needed."""
    if not even:
        yield from itertools.repeat(None)
    for chunk in zip(*(losses_by_outcome(cases, rule, model) for model in cases.models), strict=True):
        yield np.stack(chunk, axis=1)


def _sums(losses: Floats, by_outcome: Floats | None, weight: Floats | None, cell: NDArray[np.intp], cells: int) -> Sums:
    w = np.ones(len(cell)) if weight is None else weight
    weights, squares, n = (np.bincount(cell, column, minlength=cells) for column in (w, w * w, w > 0.0))
    with np.errstate(invalid="ignore"):  # Cells without weight, or infinite losses.
        if len(cell) < MANY * cells:
            columns = _counted(losses, weight, cell, weights)
        else:
            order, ends = np.argsort(cell, kind="stable"), np.cumsum(np.bincount(cell, minlength=cells))
            parts = [order] if cells == 1 else np.split(order, ends[:-1])
            found = [_of_one_cell(losses[:, part], None if weight is None else weight[part]) for part in parts]
            columns = tuple(np.stack(rows) for rows in zip(*found, strict=True))
    even = _even(by_outcome, w, cell, columns[0].shape, len(losses))
    mean, lean, spread = columns
    return Sums(n.astype(np.int64), weights.astype(np.float64), squares.astype(np.float64), mean, lean, spread, *even)


def _repeated(losses: Floats, by_outcome: Floats | None, counts: NDArray[np.int64]) -> Sums:
    """Return the sums of each case, repeated by its count."""
    one = _sums(losses, by_outcome, None, np.arange(len(counts)), len(counts))
    whole = {name: getattr(one, name) * counts for name in Sums._fields[:3]}
    series = {name: getattr(one, name) * counts[:, None] for name in Sums._fields[4:]}
    return one._replace(**whole, **series)


def _even(
    by_outcome: Floats | None, weight: Floats, cell: NDArray[np.intp], shape: tuple[int, ...], models: int
) -> tuple[Floats, Floats]:
    """Return the moments of the differences if the models of each pair were equally good, shape (cells, series)."""
    if by_outcome is None:
        unknown = 0.0 if models == 1 else np.nan
        return np.full(shape, unknown), np.full(shape, unknown)
    squares, cubes = np.zeros(shape), np.zeros(shape)
    pairs = zip(*(itertools.islice(blocks_of_series(side), 1, None) for side in by_outcome), strict=True)
    place = models
    for happens, fails in pairs:
        with np.errstate(invalid="ignore", over="ignore"):  # Infinite losses are skipped.
            square = -happens * fails
            cube = square * (happens + fails)
        counts = (square > 0.0) & np.isfinite(cube)
        # Products instead of powers, whose last digit depends on the memory layout of an array.
        square, cube = weight * weight * square, weight * weight * weight * cube
        square, cube = (np.where(counts, column, 0.0) for column in (square, cube))
        for one, third in zip(square, cube, strict=True):
            squares[:, place] = np.bincount(cell, one, minlength=shape[0])
            cubes[:, place] = np.bincount(cell, third, minlength=shape[0])
            place += 1
    return squares, cubes


def _of_one_cell(losses: Floats, weight: Floats | None) -> tuple[Floats, ...]:
    """Return mean, lean and spread of every series for cases that share a cell."""
    means, leans, spreads = [], [], []
    for series in blocks_of_series(losses):
        if weight is None:
            mean = series.sum(axis=1) / series.shape[1]
            lean = deviation = series - mean[:, None]
        else:
            mean = (series * weight).sum(axis=1) / weight.sum()
            deviation = series - mean[:, None]
            lean = weight * weight * deviation
        means.append(mean)
        leans.append(lean.sum(axis=1))
        spreads.append(np.einsum("sc,sc->s", lean, deviation))
    return tuple(np.concatenate(blocks) for blocks in (means, leans, spreads))


def _counted(
    losses: Floats, weight: Floats | None, cell: NDArray[np.intp], weights: NDArray[Any]
) -> tuple[Floats, ...]:
    """Return mean, lean and spread of every series in each of many cells, shape (cells, series)."""
    w = np.ones(len(cell)) if weight is None else weight

    def total(values: Floats) -> Floats:
        return np.stack([np.bincount(cell, one, minlength=len(weights)) for one in values], axis=-1)

    means, leans, spreads = [], [], []
    for series in blocks_of_series(losses):
        mean = total(series if weight is None else series * w) / weights[:, None]
        deviation = series - mean[cell].T
        lean = deviation if weight is None else w * w * deviation
        means.append(mean)
        leans.append(total(lean))
        spreads.append(total(lean * deviation))
    return tuple(np.concatenate(blocks, axis=1) for blocks in (means, leans, spreads))
