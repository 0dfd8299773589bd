"""Checks of the forecast tables of several models."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from propriety.errors import InputTypeError, InputValueError
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.frames import check_names


def check_tables(tables: Mapping[str, ForecastTable]) -> None:
    """Raise an error if the tables of several models cannot be of the same cases."""
    named = isinstance(tables, Mapping) and all(isinstance(name, str) for name in tables)
    if not named or not all(isinstance(one, ForecastTable) for one in tables.values()):
        raise InputTypeError("must map the names of models to their ForecastTable", argument="tables")
    check_names(tables, argument="tables")
    first_name, first = next(iter(tables.items()))
    for name, table in tables.items():
        if table.n != first.n or not np.isclose(table.event_rate, first.event_rate, rtol=1e-9, atol=0.0):
            told = f"{first_name!r} has {first.n:,} with event rate {first.event_rate:.6g}"
            law = f"must be of the same cases; {told} and {name!r} {table.n:,} with {table.event_rate:.6g}"
            raise InputValueError(law, argument="tables")
