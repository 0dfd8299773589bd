"""The predictions of models as an evaluation asks them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from propriety.calibration.decomposition import Decomposition, decompose, decompose_table
from propriety.decisions.ranking_map import RankingMap, ranking_map
from propriety.diagnostics.probability_means import ProbabilityMeans, probability_means
from propriety.evaluation.problem import Kind, Question
from propriety.inference.comparison import Comparison, compare
from propriety.inference.intervals import Interval, interval
from propriety.inference.measures import Discrimination, Miscalibration
from propriety.inference.slices import Slices, slices
from propriety.rules.families import Brier
from propriety.rules.ordinal import RankedProbability
from propriety.rules.rule import Rule
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.models import Keys
from propriety.tables.predictions import ClassPredictions, Predictions

__all__ = ["PredictedCases", "draws_for"]

WORK = 2_000_000  # Table rows that are recalibrated, over all draws, for one interval of a part of a decomposition.
FEWEST_DRAWS = 20  # They estimate a mean, whose own error is small beside that of the interval.


def draws_for(n_resamples: int, rows: int) -> int:
    """Return the number of draws for a part of a decomposition: fewer where a table is so large that each is slow."""
    return min(n_resamples, max(FEWEST_DRAWS, WORK // rows))


@dataclass(frozen=True, kw_only=True, eq=False)
class PredictedCases:
    """Cases with the forecasts of every model, as the door let them through."""

    kind: Kind
    models: tuple[str, ...]
    predictions: tuple[Predictions, ...]
    group: Keys | None = None
    cluster: Keys | None = None
    time: Keys | None = None

    @property
    def n(self) -> int:
        """Number of cases with weight."""
        first = self.predictions[0]
        return len(first) if first.weight is None else int(np.count_nonzero(first.weight))

    @property
    def dropped(self) -> int:
        """Rows left out because of missing values."""
        return self.predictions[0].dropped

    @cached_property
    def rates(self) -> Mapping[Any, float]:
        """Observed share of each class, or of the event."""
        first = self.predictions[0]
        labels = self._labels or (False, True)
        weight = None if first.weight is None else first.weight.astype(np.float64)
        counts = np.bincount(self._outcome.astype(np.intp), weight, minlength=len(labels))
        shares = dict(zip(labels, (counts / counts.sum()).tolist(), strict=True))
        return shares if self._labels else {"event": shares[True]}

    def tables(self, model: str) -> Mapping[Any, ForecastTable]:
        """Return the table of the event, or one per class or cut point, of a model."""
        return self._tables[model]

    @cached_property
    def _tables(self) -> dict[str, dict[Any, ForecastTable]]:
        return {model: self._tables_of(model) for model in self.models}

    def _tables_of(self, model: str) -> dict[Any, ForecastTable]:
        y, p, weight = self._arguments(model)
        if self._labels is None:
            return {"event": ForecastTable.from_predictions(y, p, sample_weight=weight)}
        make = ForecastTable.per_cut_point if self.kind == "ordinal" else ForecastTable.per_class
        tables = make(y, p, sample_weight=weight, tolerance=self._tolerance)
        return {self._labels[place]: table for place, table in tables.items()}

    def decomposition(self, model: str) -> Decomposition:
        """Return the decomposition of the score of a model."""
        if self._labels is None:
            return decompose_table(self._tables[model]["event"], Brier())
        y, p, weight = self._arguments(model)
        rule = RankedProbability() if self.kind == "ordinal" else Brier()
        found = decompose(y, p, rule=rule, sample_weight=weight, tolerance=self._tolerance)
        return _relabelled(found, self._labels)

    def given(self, model: str) -> str:
        """Return how a call names the predictions of a model, with what its cases share."""
        shared = {"sample_weight": self.predictions[0].weight, "cluster": self.cluster}
        options = "".join(f", {name}={name}" for name, used in shared.items() if used is not None)
        return f"y, forecasts[{model!r}]{options}"

    def interval(self, model: str, question: Question, *, n_resamples: int, **options: Any) -> Interval:
        """Answer a question about a model."""
        y, p, weight = self._arguments(model)
        if isinstance(question.of, Miscalibration | Discrimination):
            n_resamples = draws_for(n_resamples, len(self._tables[model]["event"]))
        return interval(
            y,
            p,
            of=question.of,
            sample_weight=weight,
            cluster=self._codes(self.cluster),
            n_resamples=n_resamples,
            tolerance=self._tolerance,
            **options,
        )

    def comparison(self, rule: Rule, **options: Any) -> Comparison | None:
        """Compare the models, if there are several."""
        if len(self.models) < 2:
            return None
        return compare(
            self._outcome,
            self._forecasts,
            rule=rule,
            sample_weight=self.predictions[0].weight,
            cluster=self._codes(self.cluster),
            time=None if self.time is None else np.array(self.time.labels)[self.time.codes],
            tolerance=self._tolerance,
            **options,
        )

    def ranking(self, **options: Any) -> RankingMap | None:
        """Rank the models on every interval of thresholds, if there are several."""
        if len(self.models) < 2 or self._labels is not None:
            return None
        return ranking_map(self._outcome, self._forecasts, sample_weight=self.predictions[0].weight, **options)

    def slices(self, rule: Rule, **options: Any) -> Slices | None:
        """Judge the models in each group, if there are groups."""
        if self.group is None or self._labels is not None:
            return None
        labels = np.empty(len(self.group), dtype=object)
        labels[:] = [str(label) for label in self.group.labels]
        return slices(
            self._outcome,
            self._forecasts,
            by=labels[self.group.codes],
            rule=rule,
            sample_weight=self.predictions[0].weight,
            cluster=self._codes(self.cluster),
            **options,
        )

    def means(self, model: str) -> ProbabilityMeans:
        """Average the probabilities of what happened."""
        if self._labels is None:
            return probability_means(self._tables[model]["event"])
        y, p, weight = self._arguments(model)
        return probability_means(y, p, sample_weight=weight, tolerance=self._tolerance)

    @property
    def _labels(self) -> tuple[Any, ...] | None:
        first = self.predictions[0]
        return first.labels if isinstance(first, ClassPredictions) else None

    @property
    def _tolerance(self) -> float:
        first = self.predictions[0]
        return first.tolerance if isinstance(first, ClassPredictions) else 0.0

    @property
    def _outcome(self) -> Any:
        return self.predictions[0].outcome

    @property
    def _forecasts(self) -> dict[str, Any]:
        return {model: one.forecast for model, one in zip(self.models, self.predictions, strict=True)}

    def _arguments(self, model: str) -> tuple[Any, Any, Any]:
        one = self.predictions[self.models.index(model)]
        return one.outcome, one.forecast, one.weight

    @staticmethod
    def _codes(keys: Keys | None) -> Any:
        return None if keys is None else keys.codes


def _relabelled(found: Decomposition, labels: tuple[Any, ...]) -> Decomposition:
    """Name the parts, which are numbered, by their labels."""
    return replace(found, parts={labels[place]: part for place, part in (found.parts or {}).items()})
