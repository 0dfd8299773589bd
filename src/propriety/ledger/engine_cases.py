"""The cases of a lazy frame brought into memory, for what cannot be had without them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from propriety.errors import InputValueError
from propriety.ledger.key_index import ordered_labels
from propriety.tables.cases import TOLERANCE, Cases, Keys
from propriety.tables.lazy_cases import LazyCases

__all__ = ["BUDGET", "cases_of_engine"]

BUDGET = 2**22  # Values, rows times columns, that may be brought into memory.


def cases_of_engine(lazy: LazyCases, dropped: int) -> Cases | None:
    """Return the cases of a frame whose rows were judged; None where they are too many for memory."""
    try:
        columns = lazy.collected(BUDGET)
    except InputValueError:
        return None
    orders = {
        name: lazy.orders.get(column) for name, column in zip(lazy.keys, lazy.key_columns(lazy.keys), strict=True)
    }
    cases = Cases(
        outcome=columns.outcome == 1 if lazy.labels is None else columns.outcome,
        forecasts=columns.forecasts,
        labels=lazy.labels,
        weight=columns.weight,
        keys={name: _keys(labels, orders.get(name)) for name, labels in columns.keys.items()},
        cluster=None if columns.cluster is None else _keys(columns.cluster, lazy.orders.get("cluster")),
        time=None if columns.time is None else _keys(columns.time, lazy.orders.get("time")),
        tolerance=TOLERANCE if lazy.tolerance is None else lazy.tolerance,
        dropped=dropped,
    )
    return cases if columns.weight is None or columns.weight.all() else cases.where(columns.weight > 0.0)


def _keys(labels: Sequence[Any], categories: Sequence[Any] | None) -> Keys:
    order = ordered_labels(labels, categories)
    code = {label: place for place, label in enumerate(order)}
    return Keys(order, np.array([code[label] for label in labels], dtype=np.intp))
