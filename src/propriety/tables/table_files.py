"""Stored forecast tables, including those that an earlier release wrote."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from propriety.errors import InputValueError
from propriety.result import Floats
from propriety.tables import frames, table_laws

FACTS = ("dropped", "cells", "refined")
FIRST = (*table_laws.COUNTS, "n", "weight_squares", *FACTS)
FIELDS = (*table_laws.COLUMNS, "n", "n_events", *FACTS)


def stored_fields(data: Mapping[str, Any], schema: str, version: int) -> dict[str, Any]:
    """Return the fields of a stored table of this or an earlier version. They are not checked yet."""
    if frames.checked_version(data, schema, *range(1, version + 1)) == 1:
        return _of_first_version(frames.checked_fields(data, schema, FIRST, optional=["refined"]))
    stored = frames.checked_fields(data, schema, FIELDS, optional=["refined", *table_laws.COLUMNS[3:]])
    for name, least in (("n", 1), ("n_events", 0)):  # Optional when a table is constructed, but not when it is stored.
        table_laws.whole_number(name, stored[name], least)
    return stored


def _of_first_version(stored: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a table of version 1, which stored the sum of the squared weights and no number of events.

    That sum is distributed over rows and outcomes in proportion to the weights, but to none more than its squared
    weight. `n_events` is `n` times the event rate, rounded. Rows on a grid keep the centres of their cells as
    forecasts.
    """
    squares = stored.pop("weight_squares")
    known = isinstance(squares, float | int) and not isinstance(squares, bool)
    if not known or not table_laws.SMALLEST <= squares <= table_laws.LARGEST:
        raise InputValueError(f"weight_squares must be positive and finite; got {squares!r}")
    events, non_events = (table_laws.column(name, stored[name]) for name in table_laws.COUNTS[1:])
    n = table_laws.whole_number("n", stored["n"], 1)
    weights = np.concatenate([events, non_events])
    if not (weights >= 0.0).all() or not weights.sum() < np.inf:
        return stored  # The checks of any table reject these events or non-events.
    weight = float(weights.sum())
    table_laws.check_totals(n, weight, float(squares))
    if squares - 2.0 * weight + n == 0.0 and np.array_equal(weights, np.rint(weights)):
        return stored
    spread = _spread(weights, float(squares))
    fewest, most = int(np.count_nonzero(events)), n - int(np.count_nonzero(non_events))
    return stored | {
        "event_squares": spread[: len(events)],
        "non_event_squares": spread[len(events) :],
        "n_events": min(max(round(n * float(events.sum()) / weight), fewest), most),
    }


def _spread(weights: Floats, squares: float) -> Floats:
    """Distribute a sum of squares in proportion to the weights, but to none more than the square of its weight.

    The share is min(c weight, weight^2); the sum of the shares is piecewise linear in c, with knots at the weights. No
    other shares with this sum imply fewer cases, so they are possible with the number of cases of the table.
    """
    knots = np.concatenate([[0.0], np.sort(weights)])
    below = np.cumsum(knots)
    sums = np.cumsum(knots * knots) + knots * (below[-1] - below)
    spread: Floats = weights * np.minimum(weights, np.interp(squares, sums, knots))
    return spread
