"""Weight, mean and spread of per-case functions of models, and of their differences, by key. Moments add."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety import checks, demands
from propriety.errors import InputValueError
from propriety.ledger.key_index import KeyIndex
from propriety.ledger.pair_sums import PairSums
from propriety.result import Floats, Result
from propriety.rules.rule import Rule
from propriety.rules.scoring import losses_of_table, weighted_sum
from propriety.tables.forecast_table import ForecastTable

OUTCOME = "outcome"  # Key of the outcome: 0 and 1 for an event, or the class index.
TAKEN = (OUTCOME, "cluster", "period")  # Names that keys of cases cannot have, because cells of moments have them.
BLOCK = 2**17  # Values processed together, few enough for the processor's cache.


class Sums(NamedTuple):
    """The numeric fields of `Moments` for some cells."""

    n: NDArray[np.int64]
    weight: Floats
    weight_squares: Floats
    mean: Floats
    lean: Floats
    spread: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Moments(Result):
    r"""Moments of a per-case function, such as a loss, for each model and each pair of models.

    A row is a cell of cases that share their labels. A column is a series: the function for each model, then the
    difference of each pair of models, first minus second. Moments add: ``a + b`` are the moments of the cases of both.

    Parameters
    ----------
    n : ndarray of shape (cells,)
        Number of cases with a positive weight.
    weight, weight_squares : ndarray of shape (cells,)
        Sums of the weights :math:`w_i` and of their squares.
    mean : ndarray of shape (cells, series)
        Weighted mean :math:`m` of the series in the cell.
    lean, spread : ndarray of shape (cells, series)
        :math:`\sum w_i^2 (x_i - m)` and :math:`\sum w_i^2 (x_i - m)^2`, which give the standard errors of weighted
        means.
    models : tuple of str
        The names of the models.
    rule : Rule
        The function.
    index : KeyIndex
        Labels of the cells. The key ``"outcome"`` holds the outcome; ``"cluster"`` or ``"period"`` holds the unit
        within which cases may be correlated.
    dropped : int
        Rows left out because of missing values.
    pair_sums : PairSums or None
        What might have happened to each pair of models, by outcome and keys; None for classes and for one model.
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
    pair_sums: PairSums | None = None
    _pooled: dict[tuple[str, ...], Moments] = field(
        default_factory=dict, init=False, repr=False, metadata={"hidden": True}
    )

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
        """The key within which cases may be correlated, "cluster" or "period"; None if cases are independent."""
        return next((name for name in ("cluster", "period") if name in self.index.names), None)

    @property
    def means(self) -> Floats:
        """Mean of each series over all cells."""
        return self.over().mean[0]

    def over(self, *kept: str) -> Moments:
        """Return the moments of the cells that share these labels; of all cases if no key is named."""
        if kept == self.index.names and (kept or len(self.n) == 1):
            return self  # Each label has one cell already.
        if kept not in self._pooled:
            index, codes = self.index.only(kept)
            pairs = None if self.pair_sums is None else self.pair_sums.over(*kept)
            sums = pooled_sums(codes, len(index), self.sums())._asdict()
            self._pooled[kept] = replace(self, **sums, index=index, pair_sums=pairs)
        return self._pooled[kept]

    def where(self, entries: NDArray[Any]) -> Moments:
        """Return some of the cells, with all clusters or periods of the labels that they have.

        The sums of pairs are not split by cluster or period. If only some of those of a label are chosen, its sums are
        not known, and there are none.
        """
        columns = {name: getattr(self, name)[entries] for name in Sums._fields}
        pairs = None if self.pair_sums is None else self._pairs_where(self.pair_sums, entries)
        return replace(self, **columns, index=self.index.where(entries), pair_sums=pairs)

    def _pairs_where(self, pairs: PairSums, entries: NDArray[Any]) -> PairSums | None:
        cell, cells = pairs.index.entry_of(self.index), len(pairs.index)
        every, chosen = (np.bincount(one, minlength=cells) for one in (cell, cell[entries]))
        whole = chosen == every
        return pairs.where(whole) if (whole | (chosen == 0)).all() else None

    def sums(self) -> Sums:
        """Return the numeric fields only."""
        return Sums(*(getattr(self, name) for name in Sums._fields))

    def standard_errors(self) -> Floats:
        r"""Return the standard error of the mean of each series for independent cases; NaN for a single case.

        .. math:: \frac{1}{W} \sqrt{\frac{n}{n - 1} \sum_i w_i^2 (x_i - m)^2}
        """
        total, n = self.over(), self.cases
        if n == 1:
            return np.full(self.mean.shape[1], np.nan)
        return np.sqrt(total.spread[0] * (n / (n - 1))) / total.weight[0]

    @property
    def units(self) -> int:
        """Number of independent units: clusters or periods, or cases if there are neither."""
        return self.cases if self.dependence is None else len(self.index.only([self.dependence])[0])

    @classmethod
    def merge(cls, parts: Iterable[Moments]) -> Moments:
        """Return the moments of the cases of all parts, which must have the same models, function and keys."""
        pieces = list(parts)
        if not pieces:
            raise InputValueError(demands.something_to_merge("part"))
        first = pieces[0]
        for one in pieces[1:]:
            checks.alike(first, one, ("models", "rule"), "moments")
        index = KeyIndex.joined([one.index for one in pieces])
        sums = Sums(*(np.concatenate(columns) for columns in zip(*(one.sums() for one in pieces), strict=True)))
        dropped = sum(one.dropped for one in pieces)
        distinct, codes = index.distinct()
        whole: dict[str, Any] = {**pooled_sums(codes, len(distinct), sums)._asdict(), "index": distinct}
        return replace(first, **whole, dropped=dropped, pair_sums=PairSums.merge([one.pair_sums for one in pieces]))

    def __add__(self, other: object) -> Moments:
        return Moments.merge([self, other]) if isinstance(other, Moments) else NotImplemented

    def __radd__(self, other: object) -> Moments:
        """Let `sum(parts)` start from 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def columns(self) -> Mapping[str, Any]:
        """Return one row per cell and series: model and reference, which is empty for a single model."""
        names = [(model, None) for model in self.models] + [*self.pairs]
        cells, series = len(self.n), len(names)
        columns: dict[str, Any] = {
            key: [label for label in self.index.column(key) for _ in range(series)] for key in self.index.names
        }
        columns["model"] = [model for model, _ in names] * cells
        columns["reference"] = [reference for _, reference in names] * cells
        columns |= {name: np.repeat(getattr(self, name), series) for name in ("n", "weight", "weight_squares")}
        return columns | {name: getattr(self, name).ravel() for name in Sums._fields[3:]}

    def _facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = {"models": list(self.models), "rule": self.rule, "n": self.cases}
        facts |= {"keys": list(self.index.names)} if self.index.names else {}
        return facts | ({"dropped": self.dropped} if self.dropped else {})


def moments_of_table(table: ForecastTable, rule: Rule, model: str) -> Moments:
    """Return the moments of a per-case function of the cases of a table, by outcome; exact if the forecasts are.

    Examples
    --------
    >>> import propriety as pr
    >>> table = pr.condense([0, 1], [0.1, 0.7]).table()
    >>> moments_of_table(table, pr.Brier(), "a").means.round(3)
    array([0.05])
    """
    sides = (
        (table.non_events, table.non_event_squares, table.n - table.n_events),
        (table.events, table.event_squares, table.n_events),
    )
    cells, present = [], []
    for outcome, (loss, (weight, squares, n)) in enumerate(zip(losses_of_table(table, rule), sides, strict=True)):
        total = float(weight.sum())
        if not total > 0.0:
            continue
        mean = weighted_sum(loss, weight) / total
        with np.errstate(invalid="ignore"):  # Infinite losses.
            apart = loss - mean
        cell = (n, total, float(squares.sum()), [mean], [weighted_sum(apart, squares)])
        cells.append((*cell, [weighted_sum(apart * apart, squares)]))
        present.append(outcome)
    sums = Sums(*(np.array(column) for column in zip(*cells, strict=True)))
    index = KeyIndex.of_columns({OUTCOME: present})
    return Moments(**sums._asdict(), models=(model,), rule=rule, index=index, dropped=table.dropped)


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
            with np.errstate(invalid="ignore"):  # The difference of two infinite values is undefined.
                differences = values[first] - values[start : start + most]
            yield differences  # Outside, because the caller would otherwise run with this setting, and leave it behind.


def pooled_sums(codes: NDArray[np.intp], cells: int, parts: Sums) -> Sums:
    """Merge the parts with the same code; every code below `cells` must occur."""
    order = np.argsort(codes, kind="stable")
    if len(codes) == cells:  # Nothing is added, so nothing is rounded.
        alone: Any = [column[order] for column in parts]
        return Sums(*alone)
    starts = np.searchsorted(codes[order], np.arange(cells))
    ordered = codes[order]

    def total(values: NDArray[Any]) -> NDArray[Any]:
        return np.add.reduceat(values, starts, axis=0)

    n, weight, squares = (total(column[order]) for column in parts[:3])
    share = parts.weight[order][:, None]
    present = share > 0.0
    with np.errstate(invalid="ignore"):  # Infinite losses, or cells without weight.
        part_mean = np.where(present, parts.mean[order], 0.0)
        mean = total(np.where(present, part_mean * share, 0.0)) / weight[:, None]
        # Deviations are from the overall mean, which differs from that of the part.
        shift = np.where(present, part_mean - mean[ordered], 0.0)
        lean = np.where(present, parts.lean[order], 0.0)
        spread = np.where(present, parts.spread[order], 0.0)
        square = parts.weight_squares[order][:, None]
        spread = total(spread + shift * (2.0 * lean + shift * square))
        return Sums(n.astype(np.int64), weight, squares, mean, total(lean + shift * square), spread)


def joined_sums(parts: Sequence[Sums]) -> Sums:
    """Stack the cells of all parts."""
    return Sums(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
