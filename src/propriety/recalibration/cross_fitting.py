"""Cross-fitting: the cases of each fold are recalibrated by maps fitted to the other folds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeAlias

import numpy as np

from propriety.errors import InputValueError
from propriety.inference.measures.of_means import MeanScore
from propriety.ledger.key_index import KeyIndex
from propriety.ledger.ledger import Ledger
from propriety.ledger.moments import OUTCOME, Moments, Sums, blocks_of_series
from propriety.recalibration.class_maps import ClassMap
from propriety.recalibration.folds import FOLD, ClassFolds, Folds
from propriety.recalibration.maps import RecalibrationMap
from propriety.result import Floats
from propriety.rules.rule import BinaryRule, ClassRule
from propriety.tables.events import Event, events_of
from propriety.tables.forecast_table import ForecastTable

Fits: TypeAlias = Mapping[str, Callable[[Any], Any]]  # Functions of a table or of rows.


class AnyCrossFit(Protocol):
    """The maps of each method, one per fold and fitted to all other folds."""

    @property
    def folds(self) -> Any:
        """The folds."""

    @property
    def maps(self) -> Mapping[str, Any]:
        """The maps of each method."""

    def table(self, method: str) -> ForecastTable:
        """Return the table of all cases recalibrated by a method, each by a map that was fitted without it."""

    def ledger(self, rule: Any) -> Ledger:
        """Return the ledger of the methods as models on the same cases."""

    def scores(self, ledger: Ledger, rule: Any) -> Floats:
        """Return the mean score of each method."""

    def noise(self, rule: Any, method: str, reference: str) -> float:
        """Return the variance that the estimation noise of a method's maps adds."""

    def moves_nothing(self, own: Any, rounding: float) -> bool:
        """Whether a map leaves the forecasts of all cases as they are, but for rounding."""


@dataclass(frozen=True, slots=True, eq=False)
class CrossFit:
    """The maps of each method, one per fold and fitted to all other folds."""

    folds: Folds
    maps: dict[str, tuple[RecalibrationMap, ...]]
    _tables: dict[str, ForecastTable] = field(default_factory=dict)

    def table(self, method: str) -> ForecastTable:
        """Return the table of all cases recalibrated by a method, each by a map that was fitted without it."""
        if method == "none":
            return self.folds.whole
        if method not in self._tables:
            pairs = zip(self.folds.tables, self.maps[method], strict=True)
            parts = (table.moved(own.recalibrated(table.forecast)) for table, own in pairs)
            self._tables[method] = replace(ForecastTable.merge(parts), dropped=self.folds.dropped)
        return self._tables[method]

    def ledger(self, rule: BinaryRule) -> Ledger:
        """Return the ledger of the methods as models on the same cases, with the moments of a rule.

        For independent cases, the tables of the folds give the moments. Correlated cases must be available themselves.
        """
        folds = self.folds
        if folds.dependence is not None and folds.cases is not None and folds.codes is not None:
            forecast = folds.cases.gathered().forecast
            recalibrated = {}
            for method, maps in self.maps.items():
                recalibrated[method] = found = np.empty(len(forecast))
                for place, own in enumerate(maps):
                    found[folds.codes == place] = own.recalibrated(forecast[folds.codes == place])
            return Ledger.of_source(replace(folds.cases, forecasts=recalibrated), (Event("event"),))
        tables = Ledger.of_tables({method: self.table(method) for method in self.maps})
        if folds.dependence is not None:
            return replace(tables, dependence=folds.dependence)
        return replace(tables, _moments={rule: self._moments(rule)})

    def scores(self, ledger: Ledger, rule: BinaryRule) -> Floats:
        """Return the mean score of each method, from its table."""
        return np.array([MeanScore(rule).value(ledger.table(method)) for method in self.maps])

    def noise(self, rule: BinaryRule, method: str, reference: str) -> float:
        """Return the variance that the estimation noise of a method's maps adds; see `map_noise`."""
        return map_noise(self.folds, rule, self.maps[method], self.maps[reference])

    def moves_nothing(self, own: RecalibrationMap, rounding: float) -> bool:
        """Whether a map leaves the forecasts of all cases as they are, but for rounding."""
        return is_same(own.recalibrated(self.folds.original.forecast), self.folds.original.forecast, rounding)

    def _moments(self, rule: BinaryRule) -> Moments:
        """Return the moments of the losses of all methods, by outcome and fold."""
        cells, index = [], []
        for fold, table in enumerate(self.folds.tables):
            forecasts = [maps[fold].recalibrated(table.forecast) for maps in self.maps.values()]
            losses = [
                np.stack([np.broadcast_to(rule.loss(one, event=event), len(table)) for one in forecasts])
                for event in (False, True)
            ]
            sides = (
                (table.non_events, table.non_event_squares, table.n - table.n_events),
                (table.events, table.event_squares, table.n_events),
            )
            for outcome, (weight, squares, n) in enumerate(sides):
                met = weight > 0.0
                if met.any():
                    cells.append(_cell(n, weight[met], squares[met], losses[outcome][:, met]))
                    index.append((outcome, fold))
        outcomes, places = zip(*index, strict=True)
        return Moments(
            **Sums(*(np.array(column) for column in zip(*cells, strict=True)))._asdict(),
            models=tuple(self.maps),
            rule=rule,
            index=KeyIndex.of_columns({OUTCOME: outcomes, FOLD: places}),
        )


def is_same(moved: Floats, forecast: Floats, rounding: float) -> bool:
    """Whether probabilities and their distances to 1 are equal but for a relative rounding error."""
    distance = np.minimum(forecast, 1.0 - forecast)
    return bool((np.abs(moved - forecast) <= rounding * distance).all())


def fitted_maps(cases: Any, fits: Fits) -> tuple[dict[str, Any], dict[str, InputValueError]]:
    """Return the maps of the methods that can be fitted, and the errors of the others."""
    maps, failed = {}, {}
    for method, fit in fits.items():
        try:
            maps[method] = fit(cases)
        except InputValueError as error:
            failed[method] = error
    return maps, failed


def maps_by_fold(folds: Any, fits: Fits) -> tuple[dict[str, tuple[Any, ...]], dict[str, InputValueError]]:
    """Fit each method once per fold, to all other folds; also return the errors of methods that cannot be fitted."""
    maps: dict[str, tuple[Any, ...]] = dict.fromkeys(fits, ())
    failed: dict[str, InputValueError] = {}
    for fold in range(len(folds)):
        found, reasons = fitted_maps(folds.without(fold), {name: fits[name] for name in maps})
        failed |= reasons
        maps = {name: (*maps[name], own) for name, own in found.items()}
    return maps, failed


def _cell(n: int, weight: Floats, squares: Floats, losses: Floats) -> tuple[object, ...]:
    """Return the moments of the rows of one fold and outcome, given the losses of each model."""
    total = float(weight.sum())
    means, leans, spreads = [], [], []
    for series in blocks_of_series(losses):
        with np.errstate(invalid="ignore", over="ignore"):  # Losses may be infinite.
            mean = (weight * series).sum(axis=1) / total
            deviation = series - mean[:, None]
            means.append(mean)
            leans.append((squares * deviation).sum(axis=1))
            spreads.append((squares * deviation**2).sum(axis=1))
    columns = (np.concatenate(blocks) for blocks in (means, leans, spreads))
    return n, total, float(squares.sum()), *columns


def map_noise(
    folds: Folds,
    rule: BinaryRule,
    own: Sequence[RecalibrationMap],
    others: Sequence[RecalibrationMap],
) -> float:
    r"""Return how much the noise of a method's maps adds to the variance of its mean loss, relative to other maps.

    Each case is scored by a map fitted to the cases of the other folds, and contributes to the maps that score those.
    So the errors of two folds are correlated through the maps, and the spread of the losses shows only half of this.
    The other half is the jackknife variance over the :math:`K` maps. With the loss :math:`d_i^k` of case :math:`i`
    under map :math:`k` minus that under the other map of the fold, and the clusters, periods or single cases :math:`g`,
    it is

    .. math:: \frac{K - 1}{K} \sum_g \sum_k \Big(\sum_{i \in g} w_i (d_i^k - \bar d_i) \Big)^2
              \Big/ \Big(\sum_i w_i\Big)^2 .

    The fold of a case does not matter here, so the table of all cases is enough.
    """
    share, whole = (len(own) - 1) / len(own), folds.whole
    if folds.dependence is not None and folds.cases is not None:
        forecast, happened, weight = folds.cases.gathered()
        parts = np.where(happened, *_deviations(rule, own, others, forecast)) * (1.0 if weight is None else weight)
        units = folds.cases.units
        assert units is not None  # noqa: S101  (for the type checker; cases are correlated within them)
        total = sum(float((np.bincount(units.codes, part) ** 2).sum()) for part in parts)
    else:
        total = 0.0
        sides = _deviations(rule, own, others, whole.forecast)
        for squares, deviations in zip((whole.event_squares, whole.non_event_squares), sides, strict=True):
            total += float((squares * np.einsum("kr,kr->r", deviations, deviations)).sum())
    return share * total / whole.weight**2


def _deviations(
    rule: BinaryRule, own: Sequence[RecalibrationMap], others: Sequence[RecalibrationMap], forecast: Floats
) -> tuple[Floats, ...]:
    """Return the losses of each map minus their mean over all maps, of shape (folds, forecasts), by outcome."""
    happens, fails = np.empty((2, len(own), len(forecast)))
    with np.errstate(invalid="ignore"):  # The difference of infinite losses is undefined.
        for place, (one, other) in enumerate(zip(own, others, strict=True)):
            after, before = one.recalibrated(forecast), other.recalibrated(forecast)
            for losses, event in ((happens, True), (fails, False)):
                losses[place] = rule.loss(after, event=event)
                losses[place] -= rule.loss(before, event=event)
        happens, fails = (losses - losses.mean(axis=0) for losses in (happens, fails))
    return tuple(np.where(np.isfinite(losses), losses, 0.0) for losses in (happens, fails))


@dataclass(frozen=True, slots=True, eq=False)
class ClassCrossFit:
    """The maps of each method: one per fold, fitted to all other folds."""

    folds: ClassFolds
    maps: dict[str, tuple[ClassMap, ...]]

    def recalibrated(self, method: str) -> Floats:
        """Return the rows of all cases, each recalibrated by a method's map that was fitted without it."""
        rows, codes = self.folds.whole.forecast, self.folds.codes
        found = np.empty_like(rows)
        for place, own in enumerate(self.maps[method]):
            found[codes == place] = own.recalibrated(rows[codes == place])
        return found

    def table(self, method: str) -> ForecastTable:
        """Return one table of the probabilities of all classes, recalibrated by maps fitted without their cases."""
        rows, whole = self.recalibrated(method), self.folds.whole
        weight = None if self.folds.cases.weight is None else whole.weight
        tables = (
            ForecastTable.from_predictions(whole.outcome == place, np.clip(column, 0.0, 1.0), sample_weight=weight)
            for place, column in enumerate(rows.T)
        )
        return replace(ForecastTable.merge(tables), dropped=self.folds.dropped)

    def ledger(self, rule: ClassRule) -> Ledger:  # noqa: ARG002  (the binary version needs it for its moments)
        """Return the ledger of the methods as models on the same cases."""
        forecasts = {method: self.recalibrated(method) for method in self.maps}
        cases = replace(self.folds.cases, forecasts=forecasts)
        return Ledger.of_source(cases, events_of(cases.classes, ordered=False))

    def scores(self, ledger: Ledger, rule: ClassRule) -> Floats:
        """Return the mean score of each method."""
        return ledger.moments(rule).means[: len(self.maps)]

    def noise(self, rule: ClassRule, method: str, reference: str) -> float:
        """Return the variance that the estimation noise of a method's maps adds; see `map_noise`."""
        whole = self.folds.whole
        own, others = (np.stack([self._losses(rule, one) for one in self.maps[name]]) for name in (method, reference))
        with np.errstate(invalid="ignore"):  # The difference of infinite losses is undefined.
            losses = own - others
            parts = losses - losses.mean(axis=0)
        parts = np.where(np.isfinite(parts), parts, 0.0) * whole.weight
        units = self.folds.cases.units
        if units is not None:
            parts = np.stack([np.bincount(units.codes, part) for part in parts])
        return (len(own) - 1) / len(own) * float((parts**2).sum()) / float(whole.weight.sum()) ** 2

    def moves_nothing(self, own: ClassMap, rounding: float) -> bool:
        """Whether a map leaves the rows of all cases as they are, but for rounding."""
        return is_same(own.recalibrated(self.folds.whole.forecast), self.folds.whole.forecast, rounding)

    def _losses(self, rule: ClassRule, own: ClassMap) -> Floats:
        whole = self.folds.whole
        found: Floats = rule.class_case_loss(list(own.recalibrated(whole.forecast).T), whole.outcome)
        return np.broadcast_to(found, len(whole))
