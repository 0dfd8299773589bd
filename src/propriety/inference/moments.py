"""Weight, mean and spread of the losses of models and of their differences, which add over shards, groups and days."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety.errors import InputValueError, sentence
from propriety.results import Floats, Result
from propriety.rules.families import Brier
from propriety.rules.rule import Rule, check_rule
from propriety.rules.scoring import losses_by_chunk
from propriety.tables.cases import Cases, Keys
from propriety.tables.keys import check_one_key
from propriety.tables.validation import TOLERANCE, Labels, Missing, check_names, read_cases

if TYPE_CHECKING:
    from os import PathLike

__all__ = ["LossMoments", "loss_moments", "moments_of"]

BRIER = Brier()
KEPT = 2**20  # Rows kept before those of one cell are put together: bounds the memory where clusters are many.


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class LossMoments(Result):
    r"""Moments of the losses of models, and of the differences between each two; see `loss_moments`.

    A row is a cell of cases: all of them, a group, a cluster, or a cluster of a group. A column is a series: the loss
    of each model, then the difference of each pair, first minus second. Moments add: ``a + b`` are those of the cases
    of both.

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
    models, rule
        The names of the models, and the rule.
    group, cluster : ndarray of shape (cells,), optional
        Labels of the cells.
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
    rule: str
    group: NDArray[np.object_] | None = None
    cluster: NDArray[np.object_] | None = None
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
    def units(self) -> int:
        """Number of independent units: the clusters, or the cases where there are none."""
        return self.cases if self.cluster is None else len(self.pooled("cluster").n)

    @property
    def means(self) -> Floats:
        """Mean of each series over all cells."""
        means: Floats = self.pooled().mean[0]
        return means

    def standard_errors(self) -> Floats:
        r"""Return the standard error of the mean of each series, NaN for a single unit.

        .. math::

           \frac{1}{W} \sqrt{\frac{n}{n - 1} \sum_i w_i^2 (x_i - m)^2} \quad\text{or, for clusters,}\quad
           \frac{1}{W} \sqrt{\frac{G}{G - 1} \sum_g W_g^2 (m_g - m)^2}

        with the weights :math:`W_g` and the means :math:`m_g` of the :math:`G` clusters.
        """
        units = self.units
        if units == 1:
            return np.full(self.mean.shape[1], np.nan)
        total = self.pooled()
        if self.cluster is None:
            squares = total.spread[0]
        else:
            by_cluster = self.pooled("cluster")
            with np.errstate(invalid="ignore"):
                squares = np.sum((by_cluster.weight[:, None] * (by_cluster.mean - total.mean)) ** 2, axis=0)
        errors: Floats = np.sqrt(squares * (units / (units - 1))) / total.weight[0]
        return errors

    def groups(self) -> dict[Any, LossMoments]:
        """Return the moments of each group, in the order of the labels."""
        if self.group is None:
            raise InputValueError(sentence("these moments are of one group", hint="make them with by=."))
        places: dict[Any, list[int]] = {}
        for place, label in enumerate(self.group.tolist()):
            places.setdefault(label, []).append(place)
        return {label: replace(self._rows(np.array(rows)), group=None) for label, rows in places.items()}

    def pooled(self, *keys: str) -> LossMoments:
        """Return the moments of the cells that share these labels, "group" or "cluster"; of all cases without any."""
        if keys == _keys_of(self) and (keys or len(self.n) == 1):
            return self  # Of each of these there is one cell already.
        return _put_together(self, keys)

    @classmethod
    def merge(cls, parts: Iterable[LossMoments]) -> LossMoments:
        """Return the moments of the cases of all parts, which must be of the same models, rule and kinds of cells."""
        pieces = list(parts)
        if not pieces:
            raise InputValueError(sentence("at least one part is needed to merge; there is none"))
        first = pieces[0]
        keys = _keys_of(first)
        for one in pieces[1:]:
            for what in ("models", "rule"):
                if getattr(one, what) != getattr(first, what):
                    law = f"moments must be of the same {what} to be added"
                    raise InputValueError(
                        sentence(law, offender=f"they are {getattr(first, what)!r} and {getattr(one, what)!r}")
                    )
            if _keys_of(one) != keys:
                raise InputValueError(sentence("moments must all be by group, or by cluster, or neither, to be added"))
        names = (*_Sums._fields, *keys)
        columns: dict[str, Any] = {name: np.concatenate([getattr(one, name) for one in pieces]) for name in names}
        together = replace(first, **columns, dropped=sum(one.dropped for one in pieces))
        return _put_together(together, keys)

    def to_dict(self) -> dict[str, Any]:
        """Return the moments as plain data, with a schema and its version."""
        from propriety.inference.moment_files import stored

        return stored(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> LossMoments:
        """Make moments from what `to_dict` returned."""
        from propriety.inference.moment_files import unstored

        return unstored(data)

    def to_parquet(self, path: str | PathLike[str]) -> None:
        """Write the moments to a Parquet file, one row per cell; needs PyArrow."""
        from propriety.inference.moment_files import write_moments

        write_moments(self, path)

    @classmethod
    def from_parquet(cls, path: str | PathLike[str]) -> LossMoments:
        """Read what `to_parquet` wrote."""
        from propriety.inference.moment_files import read_moments

        return read_moments(path)

    def __add__(self, other: object) -> LossMoments:
        return LossMoments.merge([self, other]) if isinstance(other, LossMoments) else NotImplemented

    def __radd__(self, other: object) -> LossMoments:
        """Let `sum(parts)` begin with its 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def rows(self) -> Mapping[str, Any]:
        """Return one row per cell and series: model and reference, which is empty for the loss of a model alone."""
        names = [(model, None) for model in self.models] + [*self.pairs]
        cells, series = len(self.n), len(names)
        columns: dict[str, Any] = {
            key: [str(label) for label in np.repeat(getattr(self, key), series)] for key in _keys_of(self)
        }
        columns["model"] = [model for model, _ in names] * cells
        columns["reference"] = [reference for _, reference in names] * cells
        columns |= {name: np.repeat(getattr(self, name), series) for name in ("n", "weight", "weight_squares")}
        return columns | {name: getattr(self, name).ravel() for name in ("mean", "lean", "spread")}

    def _rows(self, places: NDArray[np.intp]) -> LossMoments:
        columns = {name: getattr(self, name)[places] for name in (*_Sums._fields, *_keys_of(self))}
        return replace(self, **columns)

    def _facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = {"models": list(self.models), "rule": self.rule, "n": self.cases}
        facts |= {f"{key}s": len(self.pooled(key).n) for key in _keys_of(self)}
        return facts | ({"dropped": self.dropped} if self.dropped else {})


def loss_moments(
    y_true: object,
    forecasts: Mapping[str, object],
    *,
    rule: Rule = BRIER,
    by: object = None,
    cluster: object = None,
    sample_weight: object = None,
    pos_label: object = None,
    labels: Labels | None = None,
    missing: Missing = "raise",
    tolerance: float = TOLERANCE,
) -> LossMoments:
    """Sum up the losses of models, and their differences case by case, in one pass over the cases.

    Everything that `compare` says with a formula is read from these few numbers, however many cases there are.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Outcomes.
    forecasts : mapping of str to array-like of shape (n,) or (n, K)
        Forecasts of the same cases by each model.
    rule : Rule
        The scoring rule.
    by, cluster : array-like of shape (n,), optional
        The group to report on, and the cluster (patient, site, day) within which cases may depend on each other.
    sample_weight, pos_label, labels, missing, tolerance
        As in `propriety.mean_score`; ``missing="drop"`` drops a case that any model misses.

    Notes
    -----
    Of each model's losses, and of the differences of each two models, what is kept is their weight, their mean and the
    sums that its standard error needs, by group and by cluster. Those of several shards add with ``+``.

    Examples
    --------
    >>> import propriety as pr
    >>> moments = loss_moments([0, 1], {"a": [0.1, 0.7], "b": [0.5, 0.5]}, rule=pr.Brier())
    >>> moments
    LossMoments(models=['a', 'b'], rule=Brier(), n=2)
    >>> moments.means.round(3), moments.standard_errors().round(3)
    (array([ 0.05,  0.25, -0.2 ]), array([0.04, 0.  , 0.04]))
    >>> (moments + moments).cases
    4
    """
    check_names(forecasts)
    if by is not None:
        check_one_key(by)
    cases = read_cases(
        y_true,
        forecasts,
        by=by,
        cluster=cluster,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
        missing=missing,
        tolerance=tolerance,
    )
    return moments_of(cases, rule, group=cases.keys.get("group"), cluster=cases.cluster)


def moments_of(cases: Cases, rule: Rule, *, group: Keys | None = None, cluster: Keys | None = None) -> LossMoments:
    """Return the moments of the losses of all models; see `loss_moments`."""
    check_rule(rule)
    keys = {name: one for name, one in (("group", group), ("cluster", cluster)) if one is not None}
    codes, firsts = _cells([one.codes for one in keys.values()]) if keys else (None, np.zeros(1, dtype=np.intp))
    sums = _gathered(cases, rule, codes, len(firsts))
    labels = {name: _objects(one.labels)[one.codes[firsts]] for name, one in keys.items()}
    occupied = sums.weight > 0.0  # A cell whose cases have no weight is not there.
    return LossMoments(
        **{name: values[occupied] for name, values in (sums._asdict() | labels).items()},
        models=cases.models,
        rule=repr(rule),
        dropped=cases.dropped,
    )


class _Sums(NamedTuple):
    """The numbers of some cells; see `LossMoments`."""

    n: NDArray[np.int64]
    weight: Floats
    weight_squares: Floats
    mean: Floats
    lean: Floats
    spread: Floats


def _gathered(cases: Cases, rule: Rule, codes: NDArray[np.intp] | None, cells: int) -> _Sums:
    """Sum the cases of each cell, a chunk at a time."""
    parts: list[_Sums] = []
    places: list[NDArray[np.intp]] = []
    start, kept = 0, 0
    for losses, weight in _chunks(cases, rule):
        if codes is None:
            present = np.zeros(1, dtype=np.intp)
            parts.append(_sums_of_one(losses, weight))
        else:
            present, cell = np.unique(codes[start : start + losses.shape[1]], return_inverse=True)
            parts.append(_sums(losses, weight, cell, len(present)))
            start += losses.shape[1]
        places.append(present)
        kept += len(present)
        if kept > KEPT + cells:
            parts = [_pool(np.concatenate(places), cells, _joined(parts))]
            places, kept = [np.arange(cells)], cells
    return _pool(np.concatenate(places), cells, _joined(parts))


def _chunks(cases: Cases, rule: Rule) -> Iterator[tuple[Floats, Floats | None]]:
    """Yield the series of some thousand cases, shape (series, cases), with their weights."""
    pairs = list(itertools.combinations(range(len(cases.models)), 2))
    for chunk in zip(*(losses_by_chunk(cases, rule, model) for model in cases.models), strict=True):
        losses, weight = [loss for loss, _ in chunk], chunk[0][1]
        with np.errstate(invalid="ignore"):
            series = np.stack([*losses, *(losses[one] - losses[other] for one, other in pairs)])
        if weight is not None:
            # A case without weight does not count, even where its loss is infinite.
            series = np.where(weight > 0.0, series, 0.0)
        yield series, weight


def _sums(series: Floats, weight: Floats | None, cell: NDArray[np.intp], cells: int) -> _Sums:
    w = np.ones(len(cell)) if weight is None else weight

    def total(values: Floats) -> Floats:
        return np.stack([np.bincount(cell, one, minlength=cells) for one in values], axis=-1)

    weights, squares, n = total(np.stack([w, w * w, w > 0.0])).T
    with np.errstate(invalid="ignore"):  # Of a cell without weight, and of infinite losses.
        mean = total(series * w) / weights[:, None]
        deviation = series - mean[cell].T
        lean = w * w * deviation
        return _Sums(n.astype(np.int64), weights, squares, mean, total(lean), total(lean * deviation))


def _sums_of_one(series: Floats, weight: Floats | None) -> _Sums:
    """Sum the cases of a single cell, several times as fast."""
    cases = series.shape[1]
    with np.errstate(invalid="ignore"):
        if weight is None:
            total, squares, n = float(cases), float(cases), cases
            deviation = series - (mean := series.mean(axis=1))[:, None]
            lean, spread = np.zeros(len(series)), np.einsum("sc,sc->s", deviation, deviation)
        else:
            total, squares, n = float(weight.sum()), float((weight * weight).sum()), int(np.count_nonzero(weight))
            deviation = (series - (mean := (series * weight).sum(axis=1) / total)[:, None]) * weight
            lean, spread = (deviation * weight).sum(axis=1), np.einsum("sc,sc->s", deviation, deviation)
    return _Sums(np.array([n]), np.array([total]), np.array([squares]), mean[None], lean[None], spread[None])


def _pool(codes: NDArray[np.intp], cells: int, parts: _Sums) -> _Sums:
    """Put the parts with the same code together."""

    def total(values: NDArray[Any]) -> NDArray[Any]:
        return np.stack([np.bincount(codes, one, minlength=cells) for one in values.T.reshape(-1, len(codes))], axis=-1)

    n, weight, squares = (total(one)[:, 0] for one in (parts.n, parts.weight, parts.weight_squares))
    with np.errstate(invalid="ignore"):
        share = np.where(parts.weight > 0.0, parts.weight, 0.0)[:, None]
        mean = total(np.where(share > 0.0, parts.mean * share, 0.0)) / weight[:, None]
        # Deviations are taken from the mean of the whole, which differs from that of the part.
        shift = np.where(share > 0.0, parts.mean - mean[codes], 0.0)
        lean = np.where(share > 0.0, parts.lean, 0.0)
        spread = np.where(share > 0.0, parts.spread, 0.0)
        square = parts.weight_squares[:, None]
        spread = total(spread + shift * (2.0 * lean + shift * square))
        return _Sums(n.astype(np.int64), weight, squares, mean, total(lean + shift * square), spread)


def _joined(parts: list[_Sums]) -> _Sums:
    return _Sums(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _cells(labels: list[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the cell of each entry, cells being numbered as they first appear in order, and an entry of each cell."""
    codes = np.zeros(len(labels[0]), dtype=np.int64)
    for one in labels:
        places, size = _codes(one)
        codes = codes * size + places
    _, firsts, cells = np.unique(codes, return_index=True, return_inverse=True)
    return cells.reshape(-1), firsts


def _codes(labels: NDArray[Any]) -> tuple[NDArray[np.intp], int]:
    """Return the place of each label in their order; those of several kinds, which have none, as they come."""
    if labels.dtype != object:
        found, codes = np.unique(labels, return_inverse=True)
        return codes.reshape(-1), len(found)
    distinct = dict.fromkeys(labels.tolist())
    try:
        ordered = sorted(distinct)
    except TypeError:
        ordered = list(distinct)
    place = {label: code for code, label in enumerate(ordered)}
    return np.array([place[label] for label in labels.tolist()], dtype=np.intp), len(place)


def _objects(labels: tuple[Any, ...]) -> NDArray[np.object_]:
    held = np.empty(len(labels), dtype=object)
    held[:] = labels
    return held


def _put_together(moments: LossMoments, keys: tuple[str, ...]) -> LossMoments:
    """Pool the cells that share these labels, in the order of the labels."""
    cells = len(moments.n)
    codes, firsts = _cells([getattr(moments, key) for key in keys] or [np.zeros(cells)])
    pooled = _pool(codes, len(firsts), _Sums(*(getattr(moments, name) for name in _Sums._fields)))
    labels: dict[str, Any] = {
        key: getattr(moments, key)[firsts] if key in keys else None for key in ("group", "cluster")
    }
    return replace(moments, **pooled._asdict(), **labels)


def _keys_of(moments: LossMoments) -> tuple[str, ...]:
    return tuple(key for key in ("group", "cluster") if getattr(moments, key) is not None)
