"""The predictions of models as an evaluation asks them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from propriety.calibration.decomposition import Decomposition, decompose, decompose_table
from propriety.decisions.ranking_map import RankingMap, ranking_map
from propriety.diagnostics.probability_means import ProbabilityMeans, probability_means
from propriety.evaluation.calls import Calls
from propriety.evaluation.problem import Kind, Question
from propriety.evaluation.times import as_if_independent, interval_in_time
from propriety.inference.comparison import Comparison, compare
from propriety.inference.evidence import Evidence
from propriety.inference.intervals import Interval, interval
from propriety.inference.measures import read_measure, rule_of
from propriety.inference.moments import moments_of
from propriety.inference.slices import Slices, group_names, slices
from propriety.rules.families import Brier
from propriety.rules.ordinal import RankedProbability
from propriety.rules.rule import Rule
from propriety.rules.scoring import observed_rates
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.models import Keys
from propriety.tables.predictions import ClassPredictions, Predictions

__all__ = ["PredictedCases"]


@dataclass(frozen=True, kw_only=True, eq=False)
class PredictedCases:
    """Cases with the forecasts of every model, as the door let them through."""

    kind: Kind
    models: tuple[str, ...]
    predictions: tuple[Predictions, ...]
    group: Keys | None = None
    cluster: Keys | None = None
    time: Keys | None = None
    calls: Calls = field(default_factory=Calls)

    @property
    def is_weighted(self) -> bool:
        """Whether the cases have weights."""
        return self.predictions[0].weight is not None

    @property
    def dependence(self) -> str | None:
        """Within what cases may depend on each other: clusters, times, or nothing."""
        return "clusters" if self.cluster is not None else "times" if self.time is not None else None

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
        shares = observed_rates(self.predictions[0]).tolist()
        return dict(zip(self._labels or ("event",), shares, strict=True))

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

    def stands_alone(self, model: str, question: Question) -> bool:
        """Return whether `interval` gives this answer alone; it knows no times."""
        del model
        return self.time is None or rule_of(read_measure(question.of)) is None

    def interval(self, model: str, question: Question, *, level: float, **options: Any) -> Interval:
        """Answer a question about a model."""
        if not self.stands_alone(model, question):
            return self._in_time(model, question, level)
        y, p, weight = self._arguments(model)
        found = interval(
            y,
            p,
            of=question.of,
            sample_weight=weight,
            cluster=self._codes(self.cluster),
            level=level,
            tolerance=self._tolerance,
            **options,
        )
        return found if self.time is None else as_if_independent(found)

    def _in_time(self, model: str, question: Question, level: float) -> Interval:
        measure, one = read_measure(question.of), self.predictions[self.models.index(model)]
        rule = rule_of(measure)
        assert rule is not None  # noqa: S101  (for the type checker; what is no mean is not asked here)
        classes = None if self._labels is None else len(self._labels)
        moments = moments_of((one,), (model,), rule, cluster=self.time)
        return interval_in_time(moments, 0, measure, level=level, classes=classes, note=Evidence(one, None, None).few())

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
        """Rank the models on every interval of thresholds, if there are several.

        The standard errors of the map are those of independent cases; where cases depend on each other they are
        unknown, and no lead is told from noise.
        """
        if len(self.models) < 2 or self._labels is not None:
            return None
        found = ranking_map(self._outcome, self._forecasts, sample_weight=self.predictions[0].weight, **options)
        if self.dependence is None:
            return found
        marked = None if found.marked is None else replace(found.marked, standard_error=math.nan, is_noise=True)
        unknown, noise = np.full_like(found.margin, np.nan), np.ones_like(found.is_noise)
        return replace(found, standard_error=unknown, is_noise=noise, marked=marked)

    def slices(self, rule: Rule, **options: Any) -> Slices | None:
        """Judge the models in each group, if there are groups."""
        if self.group is None or self._labels is not None:
            return None
        found = slices(
            self._outcome,
            self._forecasts,
            by=self.group.codes,
            rule=rule,
            sample_weight=self.predictions[0].weight,
            # Cases of one time may depend on each other like those of a cluster; its neighbours count as independent.
            cluster=self._codes(self.cluster if self.time is None else self.time),
            **options,
        )
        # By their codes groups stay apart and in their order, whatever their labels are.
        names = group_names(self.group.labels)
        return replace(found, group=np.array([names[int(code)] for code in found.group]))

    def means(self, model: str) -> ProbabilityMeans:
        """Average the probabilities of what happened."""
        if self._labels is None:
            return probability_means(self._tables[model]["event"])
        y, p, weight = self._arguments(model)
        names = np.empty(len(self._labels), dtype=object)
        names[:] = self._labels
        given = {"sample_weight": weight, "labels": self._labels, "tolerance": self._tolerance}
        return probability_means(names[y.astype(np.intp)], p, **given)

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
