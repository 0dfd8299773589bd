"""Cases that stay where they lie: tables made by the engine of a lazy frame, for an evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from propriety.errors import UnsupportedOperationError, sentence
from propriety.evaluation.calls import Calls
from propriety.evaluation.tabled_cases import TabledCases
from propriety.tables.engine_source import Lazy, read_source
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.refinement import BUDGET, CELLS, table_fields

__all__ = ["cases_of_lazy_frame"]


def cases_of_lazy_frame(
    frame: Lazy,
    forecasts: Mapping[str, tuple[str, ...]],
    *,
    outcome: str,
    by: str | None,
    cluster: str | None,
    time: str | None,
    weight: str | None,
    options: Mapping[str, Any],
    calls: Calls,
) -> TabledCases:
    """Make the tables of every model and group by queries of the engine; the options are those of the door."""
    if any(len(columns) > 1 for columns in forecasts.values()):
        law = "a lazy frame is evaluated for the probability of one event; the forecasts are rows of classes"
        raise UnsupportedOperationError(sentence(law, hint="collect the columns first, or evaluate one class."))
    columns = {model: own[0] for model, own in forecasts.items()}
    dependent = cluster if cluster is not None else time

    def tables(group: str | None) -> dict[str, dict[Any, ForecastTable]]:
        source = read_source(frame, outcome=outcome, forecasts=columns, weight=weight, by=group, **options)
        found: dict[str, dict[Any, ForecastTable]] = {model: {} for model in columns}
        for (position, label), fields in table_fields(source, exact=True, budget=BUDGET, cells=CELLS).items():
            found[source.names[position]][label[0] if label else None] = ForecastTable(**fields)
        return found

    keys = [name for name in (by, dependent) if name is not None]
    return TabledCases(
        event_tables={model: own[None] for model, own in tables(None).items()},
        group_tables=None if by is None else tables(by),
        clusters=None if dependent is None else "clusters" if cluster is not None else "times",
        source=read_source(frame, outcome=outcome, forecasts=columns, weight=weight, by=keys or None, **options),
        calls=calls,
    )
