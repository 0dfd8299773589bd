"""Forecast tables and moments, made on shards or in an engine, as an evaluation asks them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from propriety.calibration.decomposition import Decomposition, decompose_table
from propriety.diagnostics.probability_means import ProbabilityMeans, probability_means
from propriety.errors import InputValueError, MissingValuesError, sentence
from propriety.evaluation.calls import Calls
from propriety.evaluation.problem import Kind, Problem, Question
from propriety.evaluation.times import as_if_independent, interval_in_time
from propriety.inference.comparison import Comparison, Method, compare_moments
from propriety.inference.dependence import check_times
from propriety.inference.engine_moments import moments_of_source
from propriety.inference.evidence import Evidence, few_in_words
from propriety.inference.intervals import Interval, interval, interval_of_mean
from propriety.inference.measures import Measure, read_measure, rule_of
from propriety.inference.moments import LossMoments
from propriety.inference.slices import Slices, rules_of_slices, slices_of_tables
from propriety.rules.families import Brier
from propriety.rules.rule import Rule
from propriety.tables.engine_source import Source
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.models import check_tables

__all__ = ["TabledCases", "check_keys"]


@dataclass(frozen=True, kw_only=True, eq=False)
class TabledCases:
    """Forecast tables of an event by each model, and the moments of their losses.

    `group_tables` are those of each group by model; `clusters` says what the clusters of the moments are, if there are
    any: clusters, or times. A `source` is asked for the moments once it is known of which rules they are needed.
    """

    event_tables: Mapping[str, ForecastTable]
    moments: tuple[LossMoments, ...] = ()
    group_tables: Mapping[str, Mapping[Any, ForecastTable]] | None = None
    clusters: str | None = None
    source: Source | None = None
    calls: Calls = field(default_factory=lambda: Calls(tabled=True))
    kind: Kind = "binary"
    models: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "models", tuple(self.event_tables) if isinstance(self.event_tables, Mapping) else ())
        check_tables(self.event_tables)
        for one in self.moments:
            if one.models != self.models:
                law = f"moments must be of the models of the tables, {list(self.models)}; got {list(one.models)}"
                raise InputValueError(sentence(law))

    def prepared(self, problem: Problem) -> TabledCases:
        """Return the cases with the moments that the problem asks for, by one query of the source if there is one."""
        if self.source is None:
            return self
        measures = [read_measure(question.of) for question in problem.questions]
        rules = [rule for rule in map(rule_of, measures) if rule is not None]
        if self.group_tables is not None:
            threshold = problem.thresholds if isinstance(problem.thresholds, float) else None
            rules += rules_of_slices(problem.rule, threshold)
        distinct = list({repr(rule): rule for rule in rules}.values())
        moments = moments_of_source(
            self.source,
            distinct,
            group=self.group_tables is not None,
            cluster=self.clusters is not None,
            dropped=self.dropped,
        )
        check_keys(moments[0], self.clusters)
        return replace(self, moments=moments, source=None)

    @property
    def is_weighted(self) -> bool:
        """Whether the cases have weights."""
        return self._first.is_weighted

    @property
    def dependence(self) -> str | None:
        """Within what cases may depend on each other: clusters, times, or nothing."""
        known = any(one.cluster is not None for one in self.moments)
        return self.clusters or ("clusters" if known else None)

    @property
    def _first(self) -> ForecastTable:
        return next(iter(self.event_tables.values()))

    @property
    def n(self) -> int:
        """Number of cases with weight."""
        return self._first.n

    @property
    def dropped(self) -> int:
        """Rows left out because of missing values."""
        return self._first.dropped

    @property
    def rates(self) -> Mapping[Any, float]:
        """Observed share of the event."""
        return {"event": self._first.event_rate}

    def tables(self, model: str) -> Mapping[Any, ForecastTable]:
        """Return the table of the event by a model."""
        return {"event": self.event_tables[model]}

    def decomposition(self, model: str) -> Decomposition:
        """Return the decomposition of the Brier score of a model."""
        return decompose_table(self.event_tables[model], Brier())

    def stands_alone(self, model: str, question: Question) -> bool:
        """Return whether `interval` gives this answer alone, of the cases or of a table that lacks nothing."""
        if self.calls.tabled:
            return self.dependence is None and not self.event_tables[model].is_weighted
        return self.clusters != "times" or rule_of(read_measure(question.of)) is None

    def interval(self, model: str, question: Question, *, level: float, **options: Any) -> Interval:
        """Answer a question about a model: from the moments where it is a mean, else from the table."""
        table, measure = self.event_tables[model], read_measure(question.of)
        rule = rule_of(measure)
        moments = None if rule is None else self._moments(rule)
        outcomes = Evidence(None, table, None).outcomes()
        if moments is not None and self.clusters == "times":
            few = few_in_words(outcomes)
            return interval_in_time(moments, self.models.index(model), measure, level=level, note=few)
        if moments is not None:
            found = interval_of_mean(moments, self.models.index(model), measure, level=level)
            return found if found.note else replace(found, note=few_in_words({"cluster": found.clusters} | outcomes))
        if table.is_weighted or self.dependence == "clusters":
            return _without_limits(table, measure, level, "weights" if table.is_weighted else "clusters")
        found = interval(table, of=question.of, level=level, **options)
        return found if self.clusters is None else as_if_independent(found)

    def comparison(self, rule: Rule, **options: Any) -> Comparison | None:
        """Compare the models by the moments of this rule's losses, if there are any."""
        moments = self._moments(rule)
        if moments is None or len(self.models) < 2:
            return None
        method: Method = "diebold-mariano" if self.clusters == "times" else "auto"
        return compare_moments(moments, method=method, proper=rule.properties().proper, **options)

    def ranking(self, **_: Any) -> None:
        """Return nothing: whose lead is noise cannot be told without the cases."""

    def slices(self, rule: Rule, *, threshold: float | None = None, **options: Any) -> Slices | None:
        """Judge the models in each group, if there are groups and their moments."""
        if self.group_tables is None:
            return None
        by_rule = {one.rule: one for one in self.moments}
        moments = [by_rule[repr(one)] for one in rules_of_slices(rule, threshold)]
        return slices_of_tables(self.group_tables, moments, rule, threshold=threshold, **options)

    def means(self, model: str) -> ProbabilityMeans:
        """Average the probabilities of what happened."""
        return probability_means(self.event_tables[model])

    def _moments(self, rule: Rule) -> LossMoments | None:
        """Return the moments of all cases under a rule, by cluster where there are clusters."""
        found = next((one for one in self.moments if one.rule == repr(rule)), None)
        if found is None:
            return None
        return found.pooled() if found.cluster is None else found.pooled("cluster")


def check_keys(moments: LossMoments, clusters: str | None) -> None:
    """Refuse groups, clusters or times that are not known of every case, and times that are none, as the door does."""
    for argument, labels in (("by", moments.group), (str(clusters).removesuffix("s"), moments.cluster)):
        absent = [] if labels is None else [place for place, label in enumerate(labels.tolist()) if label is None]
        if absent:
            count = f"{moments.n[absent].sum():,} of {moments.cases:,} rows"
            hint = f"leave these rows out, or give each of them a label of its own in {argument}."
            raise MissingValuesError(sentence(f"{argument} must be known of every case", count=count, hint=hint))
    if clusters == "times" and moments.cluster is not None:
        check_times(moments.pooled("cluster").cluster.tolist(), None)  # type: ignore[union-attr]  # the labels are kept


def _without_limits(table: ForecastTable, measure: Measure, level: float, what: str) -> Interval:
    return Interval(
        estimate=measure.of(table),
        low=math.nan,
        high=math.nan,
        standard_error=math.nan,
        level=level,
        method="of the table, without an interval",
        measure=measure.name,
        higher_is_better=measure.higher_is_better,
        n=table.n,
        note=f"a table with {what} does not know its cases: there is no interval",
        dropped=table.dropped,
    )
