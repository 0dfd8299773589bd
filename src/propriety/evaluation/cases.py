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
from propriety.tables.cases import Cases, Keys
from propriety.tables.forecast_table import ForecastTable

__all__ = ["PredictedCases"]


@dataclass(frozen=True, kw_only=True, eq=False)
class PredictedCases:
    """Cases with the forecasts of every model, read and checked."""

    kind: Kind
    cases: Cases
    calls: Calls = field(default_factory=Calls)

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models."""
        return self.cases.models

    @property
    def is_weighted(self) -> bool:
        """Whether the cases have weights."""
        return self.cases.weight is not None

    @property
    def dependence(self) -> str | None:
        """Within what cases may depend on each other: clusters, times, or nothing."""
        return "clusters" if self.cases.cluster is not None else "times" if self.cases.time is not None else None

    @property
    def n(self) -> int:
        """Number of cases with weight."""
        return self.cases.n

    @property
    def dropped(self) -> int:
        """Rows left out because of missing values."""
        return self.cases.dropped

    @cached_property
    def rates(self) -> Mapping[Any, float]:
        """Observed share of each class, or of the event."""
        shares = observed_rates(self.cases).tolist()
        return dict(zip(self._labels or ("event",), shares, strict=True))

    def tables(self, model: str) -> Mapping[Any, ForecastTable]:
        """Return the table of the event, or one per class or cut point, of a model."""
        return self._tables[model]

    @cached_property
    def _tables(self) -> dict[str, dict[Any, ForecastTable]]:
        return {model: self._tables_of(model) for model in self.models}

    def _tables_of(self, model: str) -> dict[Any, ForecastTable]:
        if self._labels is None:
            return {"event": ForecastTable.from_cases(self.cases, model)}
        events = self.cases.events("cut" if self.kind == "ordinal" else "class", model)
        # There is no cut point above the last class.
        return dict(zip(self._labels, map(ForecastTable.from_cases, events), strict=False))

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
        return self.cases.time is None or rule_of(read_measure(question.of)) is None

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
            cluster=self._codes(self.cases.cluster),
            level=level,
            tolerance=self._tolerance,
            **options,
        )
        return found if self.cases.time is None else as_if_independent(found)

    def _in_time(self, model: str, question: Question, level: float) -> Interval:
        measure, one = read_measure(question.of), self.cases.of(model)
        rule = rule_of(measure)
        assert rule is not None  # noqa: S101  (for the type checker; what is no mean is not asked here)
        moments = moments_of(one, rule, cluster=one.time)
        return interval_in_time(moments, 0, measure, level=level, classes=one.classes, note=Evidence(one).few())

    def comparison(self, rule: Rule, **options: Any) -> Comparison | None:
        """Compare the models, if there are several."""
        if len(self.models) < 2:
            return None
        time = self.cases.time
        return compare(
            self.cases.outcome,
            self.cases.forecasts,
            rule=rule,
            sample_weight=self.cases.weight,
            cluster=self._codes(self.cases.cluster),
            time=None if time is None else np.array(time.labels)[time.codes],
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
        found = ranking_map(self.cases.outcome, self.cases.forecasts, sample_weight=self.cases.weight, **options)
        if self.dependence is None:
            return found
        marked = None if found.marked is None else replace(found.marked, standard_error=math.nan, is_noise=True)
        unknown, noise = np.full_like(found.margin, np.nan), np.ones_like(found.is_noise)
        return replace(found, standard_error=unknown, is_noise=noise, marked=marked)

    def slices(self, rule: Rule, **options: Any) -> Slices | None:
        """Judge the models in each group, if there are groups."""
        group = self.cases.keys.get("group")
        if group is None or self._labels is not None:
            return None
        found = slices(
            self.cases.outcome,
            self.cases.forecasts,
            by=group.codes,
            rule=rule,
            sample_weight=self.cases.weight,
            # Cases of one time may depend on each other like those of a cluster; its neighbours count as independent.
            cluster=self._codes(self.cases.cluster if self.cases.time is None else self.cases.time),
            **options,
        )
        # By their codes groups stay apart and in their order, whatever their labels are.
        names = group_names(group.labels)
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
        return self.cases.labels

    @property
    def _tolerance(self) -> float:
        return self.cases.tolerance

    def _arguments(self, model: str) -> tuple[Any, Any, Any]:
        return self.cases.outcome, self.cases.forecasts[model], self.cases.weight

    @staticmethod
    def _codes(keys: Keys | None) -> Any:
        return None if keys is None else keys.codes


def _relabelled(found: Decomposition, labels: tuple[Any, ...]) -> Decomposition:
    """Name the parts, which are numbered, by their labels."""
    return replace(found, parts={labels[place]: part for place, part in (found.parts or {}).items()})
