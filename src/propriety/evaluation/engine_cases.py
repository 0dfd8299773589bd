"""Cases that stay where they lie: tables and moments made by the engine of a lazy frame, for an evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from propriety.evaluation.calls import Calls
from propriety.evaluation.problem import Kind, Problem
from propriety.evaluation.tabled_cases import TabledCases, check_keys, dependence_of
from propriety.evaluation.tabled_classes import TabledClasses
from propriety.inference.engine_moments import moments_of_lazy
from propriety.inference.measures import read_measure, rule_of
from propriety.tables.engines import TableKey
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.lazy_cases import LazyCases
from propriety.tables.lazy_reading import read_lazy_cases
from propriety.tables.queries import Lazy
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
    cases = read_lazy_cases(
        frame, forecasts, outcome=outcome, weight=weight, by=by, cluster=cluster, time=time, **options
    )
    whole = {cases.models[table.model]: ForecastTable(**given) for table, given in table_fields(cases).items()}
    groups: Tables = {model: {} for model in cases.models}
    for table, given in table_fields(cases, keys=cases.keys).items() if by is not None else ():
        groups[cases.models[table.model]][table.group[0]] = ForecastTable(**given)
    return TabledCases(
        event_tables=whole,
        group_tables=None if by is None else groups,
        clusters=_clusters(cases),
        lazy=cases,
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
    cases = read_lazy_cases(
        frame,
        forecasts,
        outcome=outcome,
        weight=weight,
        cluster=cluster,
        time=time,
        ordered=kind == "ordinal",
        **options,
    )
    tables = {table: ForecastTable(**given) for table, given in table_fields(cases).items()}
    dropped = next(iter(tables.values())).dropped
    asked = (rule_of(read_measure(question.of)) for question in Problem(kind=kind).questions)
    rules = [rule for rule in asked if rule is not None]
    moments = moments_of_lazy(cases, rules, dependent=dependence_of(cases), by_class=True, dropped=dropped)
    check_keys(moments[0], _clusters(cases))
    return TabledClasses(
        kind=kind,
        labels=cases.labels or (),
        class_tables=_tables_of(cases, tables, "class"),
        cut_tables=_tables_of(cases, tables, "cut") if kind == "ordinal" else None,
        moments={one.rule: one for one in moments},
        is_weighted=cases.weighted,
        clusters=_clusters(cases),
        calls=calls,
    )


def _tables_of(cases: LazyCases, tables: Mapping[TableKey, ForecastTable], kind: Literal["class", "cut"]) -> Tables:
    """Return the tables of the classes, or of the cut points, by model and label."""
    labels = cases.labels or ()
    found: Tables = {model: {} for model in cases.models}
    for (model, event, _), table in tables.items():
        if event.kind == kind:
            found[cases.models[model]][labels[event.place]] = table
    return found


def _clusters(cases: LazyCases) -> str | None:
    """Return what the clusters of the moments are."""
    dependent = dependence_of(cases)
    return None if dependent is None else f"{dependent}s"
