"""Loading the cases of a lazy frame into memory, for analyses that need them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from propriety.errors import InputValueError
from propriety.tables.cases import Cases, Keys
from propriety.tables.label_codes import code_labels
from propriety.tables.lazy_cases import LazyCases

BUDGET = 2**22  # Most values (rows times columns) loaded into memory.


def cases_of_engine(lazy: LazyCases, dropped: int) -> Cases | None:
    """Return the cases of a frame whose rows have been checked; None if there are too many for memory."""
    try:
        columns = lazy.collected(BUDGET)
    except InputValueError:
        return None

    def keys(column: str, labels: Sequence[Any]) -> Keys:
        return Keys(*code_labels(labels, lazy.key_kinds[column].order))

    censoring = lazy.censoring
    if censoring is not None and columns.step is not None:
        censoring = replace(censoring, slot=columns.step) if censoring.has_steps else None
    cases = Cases(
        outcome=columns.outcome == 1 if lazy.labels is None else columns.outcome,
        forecasts=columns.forecasts,
        labels=lazy.labels,
        weight=columns.weight,
        keys={
            name: keys(column, columns.keys[name])
            for name, column in zip(lazy.keys, lazy.key_columns(lazy.keys), strict=True)
        },
        cluster=None if columns.cluster is None else keys("cluster", columns.cluster),
        time=None if columns.time is None else keys("time", columns.time),
        tolerance=lazy.tolerance,
        dropped=dropped,
        event_note=lazy.event_note,
        censoring=censoring,
    )
    return cases if columns.weight is None or columns.weight.all() else cases.where(columns.weight > 0.0)
