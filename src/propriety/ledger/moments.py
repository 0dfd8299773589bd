"""Weight, mean and spread of per-case functions of models, and of their differences, by key; they add."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety.errors import InputValueError, sentence
from propriety.ledger.key_index import KeyIndex
from propriety.results import Floats, Result
from propriety.rules.rule import Rule, check_rule
from propriety.rules.scoring import losses_by_chunk, losses_of_table
from propriety.tables.cases import Cases, Keys
from propriety.tables.forecast_table import ForecastTable

__all__ = ["OUTCOME", "Moments", "Sums", "blocks_of_series", "moments_of_cases", "moments_of_table"]

OUTCOME = "outcome"  # The key that tells the outcomes apart: 0 and 1 for an event, the place of a class.
KEPT = 2**20  # Cells kept before equal ones are put together: bounds the memory where clusters are many.
BLOCK = 2**17  # Values of series that are looked at together: they stay in the processor's cache.
MANY = 64  # Cases of a cell from which on a pass for each cell is faster than counting.
MOST = 2**27  # Numbers that moments may hold.


class Sums(NamedTuple):
    """The numbers of some cells; see `Moments`."""

    n: NDArray[np.int64]
    weight: Floats
    weight_squares: Floats
    mean: Floats
    lean: Floats
    spread: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Moments(Result):
    r"""Moments of a function of single cases, such as a loss, for each model and each pair of models.

    A row is a cell of cases that share their labels. A column is a series: the function for each model, then the
    difference of each pair of models, first minus second. Moments add: ``a + b`` are those of the cases of both.

    Parameters
    ----------
    n : ndarray of shape (cells,)
        Number of cases with a positive weight.
    weight, weight_squares : ndarray of shape (cells,)
        Sums of the weights :math:`w_i` and of their squares.
    mean : ndarray of shape (cells, series)
        Weighted mean :math:`m` of the series in the cell.
    lean, spread : ndarray of shape (cells, series)
        :math:`\sum w_i^2 (x_i - m)` and :math:`\sum w_i^2 (x_i - m)^2`, from which errors of weighted means are made.
    models : tuple of str
        The names of the models.
    rule : Rule
        The function.
    index : KeyIndex
        Labels of the cells. Its key ``"outcome"`` tells outcomes apart; ``"cluster"`` or ``"time"`` units that may
        depend on each other within.
    dropped : int
        Rows left out because of missing values.
    """

    n: NDArray[np.int64]
    weight: Floats
    weight_squares: Floats
    mean: Floats
    lean: Floats
    spread: Floats
    models: tuple[str, ...]
    rule: Rule
    index: KeyIndex
    dropped: int = 0

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The two models of each difference, first minus second."""
        return tuple(itertools.combinations(self.models, 2))

    @property
    def cases(self) -> int:
        """Number of cases with a positive weight in all cells."""
        return int(self.n.sum())

    @property
    def dependence(self) -> str | None:
        """The key within which cases may depend on each other, "cluster" or "time"; None where they do not."""
        return next((name for name in ("cluster", "time") if name in self.index.names), None)

    @property
    def means(self) -> Floats:
        """Mean of each series over all cells."""
        means: Floats = self.over().mean[0]
        return means

    def over(self, *kept: str) -> Moments:
        """Return the moments of the cells that share these labels; of all cases where none are named."""
        if kept == self.index.names and (kept or len(self.n) == 1):
            return self  # There is one cell for each already.
        index, codes = self.index.only(kept)
        return replace(self, **_pool(codes, len(index), self.sums())._asdict(), index=index)

    def where(self, entries: NDArray[Any]) -> Moments:
        """Return some of the cells."""
        columns = {name: getattr(self, name)[entries] for name in Sums._fields}
        return replace(self, **columns, index=self.index.where(entries))

    def sums(self) -> Sums:
        """Return the numbers without what they are about."""
        return Sums(*(getattr(self, name) for name in Sums._fields))

    def standard_errors(self) -> Floats:
        r"""Return the standard error of the mean of each series over all cells, NaN for a single unit.

        .. math::

           \frac{1}{W} \sqrt{\frac{n}{n - 1} \sum_i w_i^2 (x_i - m)^2} \quad\text{or, for clusters,}\quad
           \frac{1}{W} \sqrt{\frac{G}{G - 1} \sum_g W_g^2 (m_g - m)^2}

        with the weights :math:`W_g` and the means :math:`m_g` of the :math:`G` clusters or times.
        """
        total, units = self.over(), self.units
        if units == 1:
            return np.full(self.mean.shape[1], np.nan)
        if self.dependence is None:
            squares = total.spread[0]
        else:
            by_unit = self.over(self.dependence)
            with np.errstate(invalid="ignore"):  # Of infinite losses.
                squares = np.sum((by_unit.weight[:, None] * (by_unit.mean - total.mean)) ** 2, axis=0)
        errors: Floats = np.sqrt(squares * (units / (units - 1))) / total.weight[0]
        return errors

    @property
    def units(self) -> int:
        """Number of independent units: the clusters or times, or the cases where there are none."""
        return self.cases if self.dependence is None else len(self.index.only([self.dependence])[0])

    @classmethod
    def merge(cls, parts: Iterable[Moments]) -> Moments:
        """Return the moments of the cases of all parts, which must be of the same models, function and keys."""
        pieces = list(parts)
        if not pieces:
            raise InputValueError(sentence("at least one part is needed to merge; there is none"))
        first = pieces[0]
        for one in pieces[1:]:
            for what in ("models", "rule"):
                if getattr(one, what) != getattr(first, what):
                    law = f"moments must have the same {what} to be added"
                    told = f"they have {getattr(first, what)!r} and {getattr(one, what)!r}"
                    raise InputValueError(sentence(law, offender=told))
        index = KeyIndex.joined([one.index for one in pieces])
        sums = Sums(*(np.concatenate(columns) for columns in zip(*(one.sums() for one in pieces), strict=True)))
        dropped = sum(one.dropped for one in pieces)
        distinct, codes = index.distinct()
        return replace(first, **_pool(codes, len(distinct), sums)._asdict(), index=distinct, dropped=dropped)

    def __add__(self, other: object) -> Moments:
        return Moments.merge([self, other]) if isinstance(other, Moments) else NotImplemented

    def __radd__(self, other: object) -> Moments:
        """Let `sum(parts)` begin with its 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def rows(self) -> Mapping[str, Any]:
        """Return one row per cell and series: model and reference, which is empty for the function of a model alone."""
        names = [(model, None) for model in self.models] + [*self.pairs]
        cells, series = len(self.n), len(names)
        columns: dict[str, Any] = {
            key: [label for label in self.index.column(key) for _ in range(series)] for key in self.index.names
        }
        columns["model"] = [model for model, _ in names] * cells
        columns["reference"] = [reference for _, reference in names] * cells
        columns |= {name: np.repeat(getattr(self, name), series) for name in ("n", "weight", "weight_squares")}
        return columns | {name: getattr(self, name).ravel() for name in ("mean", "lean", "spread")}

    def _facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = {"models": list(self.models), "rule": self.rule, "n": self.cases}
        facts |= {"keys": list(self.index.names)} if self.index.names else {}
        return facts | ({"dropped": self.dropped} if self.dropped else {})


def moments_of_cases(cases: Cases, rule: Rule) -> Moments:
    """Return the moments of a function of cases, by outcome, key, and cluster or time.

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
    if len(index) * series > MOST:
        law = f"{len(cases.models):,} models in {len(index):,} cells have more differences than memory is kept for"
        raise InputValueError(sentence(law, hint="compare fewer models at a time, or without clusters."))
    sums = _gathered(cases, rule, codes, len(index))
    occupied = sums.weight > 0.0  # A cell whose cases have no weight is not there.
    if not occupied.all():
        kept: Any = [column[occupied] for column in sums]
        sums, index = Sums(*kept), index.where(occupied)
    return Moments(**sums._asdict(), models=cases.models, rule=rule, index=index, dropped=cases.dropped)


def moments_of_table(table: ForecastTable, rule: Rule, model: str) -> Moments:
    """Return the moments of a function of the cases of a table, by outcome: exact where the forecasts are.

    Examples
    --------
    >>> import propriety as pr
    >>> table = pr.ForecastTable.from_predictions([0, 1], [0.1, 0.7])
    >>> moments_of_table(table, pr.Brier(), "a").means.round(3)
    array([0.05])
    """
    sides = (
        (table.non_events, table.non_event_squares, table.n - table.n_events),
        (table.events, table.event_squares, table.n_events),
    )
    cells, present = [], []
    for outcome, (loss, (weight, squares, n)) in enumerate(zip(losses_of_table(table, rule), sides, strict=True)):
        met = weight > 0.0
        if not met.any():
            continue
        with np.errstate(invalid="ignore"):  # Of infinite losses.
            mean = float((weight[met] * loss[met]).sum()) / float(weight.sum())
            lean = squares[met] * (loss[met] - mean)
            spread = float((lean * (loss[met] - mean)).sum())
        cells.append((n, float(weight.sum()), float(squares.sum()), [mean], [float(lean.sum())], [spread]))
        present.append(outcome)
    sums = Sums(*(np.array(column) for column in zip(*cells, strict=True)))
    index = KeyIndex.of_columns({OUTCOME: present})
    return Moments(**sums._asdict(), models=(model,), rule=rule, index=index, dropped=table.dropped)


def _outcomes(cases: Cases) -> Keys:
    """Return the outcome of each case as a key: 0 and 1, or the place of the class."""
    codes = np.concatenate([np.asarray(chunk.outcome, dtype=np.intp) for chunk in cases.chunks(cases.models[0])])
    return Keys(tuple(range(cases.classes or 2)), codes)


def _keys(cases: Cases) -> dict[str, Keys]:
    dependent = {name: one for name, one in (("cluster", cases.cluster), ("time", cases.time)) if one is not None}
    return dict(cases.keys) | dependent


def _gathered(cases: Cases, rule: Rule, codes: NDArray[np.intp], cells: int) -> Sums:
    """Sum the cases of each cell, a chunk at a time."""
    parts: list[Sums] = []
    places: list[NDArray[np.intp]] = []
    start, kept = 0, 0
    for losses, weight in _chunks(cases, rule):
        count = losses.shape[1]
        present, cell = np.unique(codes[start : start + count], return_inverse=True)
        parts.append(_sums(losses, weight, cell.reshape(-1), len(present)))
        start += count
        places.append(present.astype(np.intp, copy=False))
        kept += len(present)
        if kept > KEPT + cells:
            seen, own = np.unique(np.concatenate(places), return_inverse=True)  # Some cells may still be to come.
            parts = [_pool(own.reshape(-1), len(seen), _joined(parts))]
            places, kept = [seen], len(seen)
    return _pool(np.concatenate(places), cells, _joined(parts))


def _chunks(cases: Cases, rule: Rule) -> Iterator[tuple[Floats, Floats | None]]:
    """Yield the losses of some thousand cases, shape (models, cases), with their weights."""
    for chunk in zip(*(losses_by_chunk(cases, rule, model) for model in cases.models), strict=True):
        losses, weight = np.stack([loss for loss, _ in chunk]), chunk[0][1]
        if weight is not None:
            # A case without weight does not count, even where its loss is infinite.
            losses = np.where(weight > 0.0, losses, 0.0)
        yield losses, weight


def blocks_of_series(values: Floats) -> Iterator[Floats]:
    """Yield the values of models, shape (models, cases), then the differences of each pair, in blocks of bounded size.

    Examples
    --------
    >>> [block.tolist() for block in blocks_of_series(np.array([[1.0], [2.0], [4.0]]))]
    [[[1.0], [2.0], [4.0]], [[-1.0], [-3.0]], [[-2.0]]]
    """
    yield values
    most = max(BLOCK // values.shape[1], 1)
    for first in range(len(values)):
        for start in range(first + 1, len(values), most):
            with np.errstate(invalid="ignore"):  # Two infinite values have no difference.
                yield values[first] - values[start : start + most]


def _sums(losses: Floats, weight: Floats | None, cell: NDArray[np.intp], cells: int) -> Sums:
    w = np.ones(len(cell)) if weight is None else weight
    weights, squares, n = (np.bincount(cell, column, minlength=cells) for column in (w, w * w, w > 0.0))
    with np.errstate(invalid="ignore"):  # Of a cell without weight, and of infinite losses.
        if len(cell) < MANY * cells:
            columns = _counted(losses, weight, cell, weights)
        else:
            order, ends = np.argsort(cell, kind="stable"), np.cumsum(np.bincount(cell, minlength=cells))
            parts = [order] if cells == 1 else np.split(order, ends[:-1])
            found = [_of_one_cell(losses[:, part], None if weight is None else weight[part]) for part in parts]
            columns = tuple(np.stack(rows) for rows in zip(*found, strict=True))
    return Sums(n.astype(np.int64), weights.astype(np.float64), squares.astype(np.float64), *columns)


def _of_one_cell(losses: Floats, weight: Floats | None) -> tuple[Floats, ...]:
    """Return mean, lean and spread of every series of cases that share a cell."""
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


def _pool(codes: NDArray[np.intp], cells: int, parts: Sums) -> Sums:
    """Put the parts with the same code together; every code below `cells` must occur."""
    order = np.argsort(codes, kind="stable")
    if len(codes) == cells:  # Each by itself: nothing is added, so that nothing is rounded.
        alone: Any = [column[order] for column in parts]
        return Sums(*alone)
    starts = np.searchsorted(codes[order], np.arange(cells))
    ordered = codes[order]

    def total(values: NDArray[Any]) -> NDArray[Any]:
        return np.add.reduceat(values, starts, axis=0)

    n, weight, squares = (total(column[order]) for column in parts[:3])
    share = parts.weight[order][:, None]
    present = share > 0.0
    with np.errstate(invalid="ignore"):  # Of infinite losses, and of cells without weight.
        part_mean = np.where(present, parts.mean[order], 0.0)
        mean = total(np.where(present, part_mean * share, 0.0)) / weight[:, None]
        # Deviations are taken from the mean of the whole, which differs from that of the part.
        shift = np.where(present, part_mean - mean[ordered], 0.0)
        lean = np.where(present, parts.lean[order], 0.0)
        spread = np.where(present, parts.spread[order], 0.0)
        square = parts.weight_squares[order][:, None]
        spread = total(spread + shift * (2.0 * lean + shift * square))
        return Sums(n.astype(np.int64), weight, squares, mean, total(lean + shift * square), spread)


def _joined(parts: Sequence[Sums]) -> Sums:
    return Sums(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
