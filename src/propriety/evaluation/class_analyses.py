"""The analyses of class probabilities in an evaluation, each computed once, on first use."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from propriety.calibration.decomposition import Decomposition
from propriety.calibration.reliability import ReliabilityCurve, reliability_curve
from propriety.evaluation.class_table import EvaluatedClasses, class_decomposition, class_table, tables_of_classes
from propriety.evaluation.confusion import Confusion, confusion_of
from propriety.inference.bootstrap import Drawing
from propriety.inference.calibration_summary import CalibrationSummary
from propriety.inference.class_calibration import ClassCalibration, class_calibration_of
from propriety.inference.risk_coverage import RiskCoverageCurve, risk_coverage_of
from propriety.ledger.ledger import Kind, Ledger
from propriety.tables.events import TOP
from propriety.tables.forecast_table import ForecastTable

MOST_DRAWN, WORST_DRAWN = 10, 9  # Of more classes than the first number, the second number is drawn.


class ClassAnalyses(ABC):
    """What an evaluation computes from the tables of its events, above all for classes; see `Evaluation`."""

    models: tuple[str, ...]
    kind: Kind
    level: float
    n_resamples: int
    seed: int
    ledger: Ledger

    @property
    @abstractmethod
    def best(self) -> str:
        """The model with the best main score."""

    @cached_property
    def tables(self) -> dict[str, Mapping[Any, ForecastTable]]:
        """The forecast tables of each model: that of the event, or one per class or cut point."""
        if self.kind == "binary":
            return {model: {"event": self.ledger.table(model)} for model in self.models}
        return {model: tables_of_classes(self.ledger, model) for model in self.models}

    @cached_property
    def classes(self) -> EvaluatedClasses | None:
        """Each class, or cut point, of each model as an event of its own, the worst first; None for binary outcomes."""
        if self.kind == "binary":
            return None
        return class_table(self._ledger_of_cases, self.tables, self.class_calibration, level=self.level)

    @cached_property
    def class_calibration(self) -> dict[str, ClassCalibration]:
        """The verdict on the calibration of each model, for classes that are not ordered."""
        models = self.models if self.kind == "multiclass" else ()
        ledger, options = self._ledger_of_cases, {"level": self.level, "drawing": self._drawing}
        return {model: class_calibration_of(ledger, model, **options) for model in models}  # type: ignore[arg-type]

    @property
    def class_decompositions(self) -> dict[str, Decomposition]:
        """Parts of the Brier score of each model, the miscalibration corrected for noise; empty without classes."""
        if (classes := self.classes) is None:
            return {}
        verdicts = self.class_calibration.items()
        return {model: class_decomposition(classes, model, verdict) for model, verdict in verdicts}

    @cached_property
    def confusion(self) -> dict[str, Confusion]:
        """Counts of the class that happened by the most likely class, of each model, for classes with their cases."""
        found = {model: confusion_of(self.ledger, model) for model in self.models}
        return {model: one for model, one in found.items() if one is not None}

    @property
    def drawn_classes(self) -> list[Any]:
        """The classes, or cut points, of the best model to draw: all if there are at most 10, else the 9 worst."""
        labels = list(self.tables[self.best])
        if self.classes is None or len(labels) <= MOST_DRAWN:
            return labels
        worst = self.classes.of(self.best)[:WORST_DRAWN]
        return [labels[place] for place in self.classes.place[worst].tolist()]

    @cached_property
    def top_reliability(self) -> dict[str, ReliabilityCurve]:
        """Reliability curve of the most likely class of each model, with its consistency band, for classes."""
        return {model: self._banded(self.ledger.table(model, TOP)) for model in self._with_top}

    @cached_property
    def risk_coverage(self) -> dict[str, RiskCoverageCurve]:
        """Risk of the most likely class of each model if the least confident answers are withheld, for classes."""
        return {model: risk_coverage_of(self.ledger, model, self.level) for model in self._with_top}

    @property
    def top_calibration(self) -> dict[str, CalibrationSummary]:
        """Calibration of the probability of the most likely class of each model, for classes."""
        return {model: one.top for model, one in self.class_calibration.items() if one.top is not None}

    def _banded(self, table: ForecastTable) -> ReliabilityCurve:
        curve = reliability_curve(table)
        return curve.with_consistency_band(level=self.level, n_resamples=self.n_resamples, seed=self.seed)

    @property
    def _with_top(self) -> tuple[str, ...]:
        """The models, if there are tables of their most likely class, which older stored ledgers do not have."""
        return self.models if self.kind == "multiclass" and TOP in self.ledger.events else ()

    @cached_property
    def _ledger_of_cases(self) -> Ledger:
        """The ledger with its cases in memory if cases are correlated and can be loaded; else the ledger itself."""
        cases = None if self.ledger.dependence is None else self.ledger.cases
        if cases is None or cases is self.ledger.source:
            return self.ledger
        return Ledger.of_source(cases, self.ledger.events)

    @property
    def _drawing(self) -> Drawing:
        return Drawing(self.n_resamples, self.seed)
