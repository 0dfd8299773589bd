"""Cross-fitting of class maps: each case is recalibrated by maps fitted to the other folds."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from propriety.ledger.ledger import Ledger
from propriety.recalibration.class_folds import ClassFolds
from propriety.recalibration.class_maps import ClassMap
from propriety.result import Floats
from propriety.rules.rule import ClassRule
from propriety.tables.events import events_of
from propriety.tables.forecast_table import ForecastTable


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

    def _losses(self, rule: ClassRule, own: ClassMap) -> Floats:
        whole = self.folds.whole
        found: Floats = rule.class_case_loss(list(own.recalibrated(whole.forecast).T), whole.outcome)
        return np.broadcast_to(found, len(whole))
