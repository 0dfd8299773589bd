"""Cases that stay where they lie: tables and moments made by the engine of a lazy frame, for an evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from propriety.errors import InputValueError, sentence
from propriety.evaluation.calls import Calls
from propriety.evaluation.problem import Kind, Problem
from propriety.evaluation.tabled_cases import TabledCases, check_keys
from propriety.evaluation.tabled_classes import TabledClasses
from propriety.inference.engine_moments import moments_of_source
from propriety.inference.measures import read_measure, rule_of
from propriety.tables.class_source import ClassSource, read_class_source
from propriety.tables.engine_source import Lazy, read_source
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.refinement import table_fields

__all__ = ["cases_of_lazy_frame", "classes_of_lazy_frame"]

Tables: TypeAlias = dict[str, dict[Any, ForecastTable]]


def cases_of_lazy_frame(
    frame: Lazy,
    forecasts: Mapping[str, str],
    *,
    outcome: str,
    by: str | None,
    cluster: str | None,
    time: str | None,
    weight: str | None,
    options: Mapping[str, Any],
    calls: Calls,
) -> TabledCases:
    """Make the tables of an event by every model and group by queries of the engine; the options are the door's."""
    dependent = cluster if cluster is not None else time

    def tables(group: str | None) -> Tables:
        source = read_source(frame, outcome=outcome, forecasts=forecasts, weight=weight, by=group, **options)
        found: Tables = {model: {} for model in forecasts}
        for (position, label), fields in table_fields(source).items():
            found[source.names[position]][label[0] if label else None] = ForecastTable(**fields)
        return found

    keys = [name for name in (by, dependent) if name is not None]
    return TabledCases(
        event_tables={model: own[None] for model, own in tables(None).items()},
        group_tables=None if by is None else tables(by),
        clusters=_dependence(cluster, time),
        source=read_source(frame, outcome=outcome, forecasts=forecasts, weight=weight, by=keys or None, **options),
        calls=calls,
    )


def classes_of_lazy_frame(
    frame: Lazy,
    forecasts: Mapping[str, tuple[str, ...]],
    *,
    outcome: str,
    kind: Kind,
    cluster: str | None,
    time: str | None,
    weight: str | None,
    options: Mapping[str, Any],
    calls: Calls,
) -> TabledClasses:
    """Make the tables of every class and cut point and the moments of every rule; the options are the door's."""
    _check_kinds(forecasts)
    clusters, dependent = _dependence(cluster, time), cluster if cluster is not None else time
    source = read_class_source(
        frame,
        outcome=outcome,
        forecasts=forecasts,
        weight=weight,
        by=dependent,
        cut_points=kind == "ordinal",
        **options,
    )
    class_tables, cut_tables = _tables_of_classes(source)
    dropped = next(iter(next(iter(class_tables.values())).values())).dropped
    asked = (rule_of(read_measure(question.of)) for question in Problem(kind=kind).questions)
    rules = [rule for rule in asked if rule is not None]
    by_class = replace(source, by=("class", *source.by))
    moments = moments_of_source(by_class, rules, group=True, cluster=dependent is not None, dropped=dropped)
    check_keys(moments[0], clusters)
    return TabledClasses(
        kind=kind,
        labels=source.named or tuple(range(source.classes)),
        class_tables=class_tables,
        cut_tables=cut_tables if kind == "ordinal" else None,
        moments={one.rule: one for one in moments},
        is_weighted=source.weighted,
        clusters=clusters,
        calls=calls,
    )


def _tables_of_classes(source: ClassSource) -> tuple[Tables, Tables]:
    """Return the tables of the classes and of the cut points, by model and label."""
    found: tuple[Tables, Tables] = {model: {} for model in source.models}, {model: {} for model in source.models}
    for (position, _), given in table_fields(replace(source, by=())).items():
        event = source.events[position]
        found[event.is_cut][source.models[event.model]][source.names[position]] = ForecastTable(**given)
    return found


def _dependence(cluster: str | None, time: str | None) -> str | None:
    return "clusters" if cluster is not None else None if time is None else "times"


def _check_kinds(forecasts: Mapping[str, tuple[str, ...]]) -> None:
    """Refuse models that forecast different things."""
    names = list(forecasts)
    told = ["one event" if len(own) == 1 else f"{len(own)} classes" for own in forecasts.values()]
    for name, what in zip(names, told, strict=True):
        if what != told[0]:
            law = f"forecasts must be of one kind; {names[0]!r} forecasts {told[0]} and {name!r} {what}"
            raise InputValueError(sentence(law))
