"""Moments computed from cases in memory, chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.errors import InputValueError
from propriety.ledger.case_pair_sums import compressed, pair_sums_of_cases
from propriety.ledger.key_index import KeyIndex
from propriety.ledger.moments import OUTCOME, Moments, Sums, blocks_of_series, joined_sums, pooled_sums
from propriety.result import Floats
from propriety.rules.rule import Rule, check_rule
from propriety.rules.scoring import losses_by_chunk
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
    sums = _gathered(cases, rule, codes, len(index), counts)
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


def _gathered(cases: Cases, rule: Rule, codes: NDArray[np.intp], cells: int, counts: NDArray[np.int64] | None) -> Sums:
    """Sum the cases of each cell, chunk by chunk."""
    parts: list[Sums] = []
    places: list[NDArray[np.intp]] = []
    start, kept = 0, 0
    for losses, weight in _chunks(cases, rule):
        count = losses.shape[1]
        present, cell = compressed(codes[start : start + count], cells)
        if counts is None:
            parts.append(_sums(losses, weight, cell, len(present)))
        else:
            repeated = _repeated(losses, counts[start : start + count])
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


def _sums(losses: Floats, weight: Floats | None, cell: NDArray[np.intp], cells: int) -> Sums:
    w = np.ones(len(cell)) if weight is None else weight
    weights, squares, n = (np.bincount(cell, column, minlength=cells) for column in (w, w * w, w > 0.0))
    with np.errstate(invalid="ignore"):  # Cells without weight, or infinite losses.
        if len(cell) < MANY * cells:
            columns = _counted(losses, weight, cell, weights)
        else:
            order, ends = np.argsort(cell, kind="stable"), np.cumsum(np.bincount(cell, minlength=cells))
            parts = [order] if cells == 1 else np.split(order, ends[:-1])
            found = [sums_of_cell(losses[:, part], None if weight is None else weight[part]) for part in parts]
            columns = tuple(np.stack(rows) for rows in zip(*found, strict=True))
    return Sums(n.astype(np.int64), weights.astype(np.float64), squares.astype(np.float64), *columns)


def _repeated(losses: Floats, counts: NDArray[np.int64]) -> Sums:
    """Return the sums of each case, repeated by its count."""
    one = _sums(losses, None, np.arange(len(counts)), len(counts))
    whole = {name: getattr(one, name) * counts for name in Sums._fields[:3]}
    series = {name: getattr(one, name) * counts[:, None] for name in Sums._fields[4:]}
    return one._replace(**whole, **series)


def sums_of_cell(losses: Floats, weight: Floats | None = None, squares: Floats | None = None) -> tuple[Floats, ...]:
    """Return mean, lean and spread of every series for cases that share a cell.

    A column may stand for several cases, with the sums of their weights and of their squares.
    """
    means, leans, spreads = [], [], []
    with np.errstate(invalid="ignore", over="ignore"):  # Losses may be infinite.
        for series in blocks_of_series(losses):
            if weight is None:
                mean = series.sum(axis=1) / series.shape[1]
                lean = deviation = series - mean[:, None]
            else:
                mean = (series * weight).sum(axis=1) / weight.sum()
                deviation = series - mean[:, None]
                lean = (weight * weight if squares is None else squares) * deviation
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
