"""Checks of the columns and counts of a forecast table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from propriety import demands
from propriety.checks import check_cells
from propriety.errors import InputTypeError, InputValueError
from propriety.result import Floats
from propriety.storage import files
from propriety.tables import pooling
from propriety.tables.frames import check_names

if TYPE_CHECKING:
    from propriety.tables.forecast_table import ForecastTable


COUNTS = ("forecast", "events", "non_events")
COLUMNS = (*COUNTS, "event_squares", "non_event_squares")
# Smaller squares have lost digits; larger ones overflow.
SMALLEST, LARGEST = float(np.finfo(np.float64).tiny), float(np.finfo(np.float64).max)
LIGHTEST = math.sqrt(SMALLEST)  # The square of a smaller weight has lost digits.
ROUNDING_OF_SUMS = 1e-6  # Possible relative error of a sum of a billion weights in an engine.
MOST = 2**63  # Engines count with 64-bit integers.
EXACT = 2**53  # Sums of counts below this are exact.


def column(name: str, values: object, *, copy: bool = True) -> Floats:
    """Return a column of real numbers, by default in memory of its own."""
    try:
        found = np.asarray(values)
    except (TypeError, ValueError) as error:
        raise InputTypeError("must be a 1-D array of real numbers", argument=name, offender=str(error)) from error
    if found.dtype.kind not in "biuf" or found.ndim != 1:
        law = "must be a 1-D array of real numbers"
        raise InputTypeError(law, argument=name, offender=f"got shape {found.shape} of {found.dtype}")
    return found.astype(np.float64, copy=copy)


def checked_fields(
    *, n: object, n_events: object, dropped: object, cells: object, refined: object, copy: bool = True, **given: object
) -> dict[str, Any]:
    """Return the checked fields of a table, with read-only columns and plain numbers, or raise an error.

    Columns are copied unless nobody else holds them, because a caller can change even those that he sees as read-only.
    Without squares of the weights the cases are unweighted, and absent fields are computed from the counts. If the
    squares imply that all weights are 1, the squares are the same arrays as the counts.
    """
    is_weighted = given["event_squares"] is not None or given["non_event_squares"] is not None
    if is_weighted:
        _check_whole_given(given, n, n_events)
    columns = {name: column(name, given[name], copy=copy) for name in (COLUMNS if is_weighted else COUNTS)}
    columns = pooling.checked(columns)
    events, non_events = columns["events"], columns["non_events"]
    happened, others = float(events.sum()), float(non_events.sum())
    if is_weighted:
        facts = {"n": whole_number("n", n, 1), "n_events": whole_number("n_events", n_events, 0)}
        _check_squares(columns, **facts)
    else:
        facts = {"n": _counted("n", n, happened + others, 1), "n_events": _counted("n_events", n_events, happened, 0)}
    if not is_weighted or are_ones(columns, facts["n"]):
        columns |= {"event_squares": events, "non_event_squares": non_events}
    for values in columns.values():
        values.flags.writeable = False
    if cells is not None:
        check_cells(cells)
    if not isinstance(refined, bool) or (refined and cells is None):
        raise InputValueError("must be False unless cells is given", argument="refined", got=refined)
    return {**columns, **facts, "dropped": whole_number("dropped", dropped, 0), "cells": cells, "refined": refined}


def _check_whole_given(given: dict[str, object], n: object, n_events: object) -> None:
    """Raise an error if a table of weighted cases lacks fields that the weights do not determine."""
    needed = {name: given[name] for name in COLUMNS[3:]} | {"n": n, "n_events": n_events}
    absent = [name for name, value in needed.items() if value is None]
    if absent:
        law = f"a table of weighted cases needs {', '.join(needed)}; it lacks {', '.join(absent)}"
        raise InputValueError(law, hint="omit all four if the cases are unweighted.")


def whole_number(name: str, value: object, least: int) -> int:
    """Return a number of cases as a plain integer."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or not least <= value < MOST:
        raise InputValueError(f"must be a whole number of at least {least} and below 2**63", argument=name, got=value)
    return int(value)


def _counted(name: str, value: object, total: float, least: int) -> int:
    """Return the number of unweighted cases, which must be the sum of their counts."""
    if value is None:
        return whole_number(name, int(total), least)
    number = whole_number(name, value, least)
    if abs(number - total) > (0.0 if total < EXACT else ROUNDING_OF_SUMS * total):
        law = f"must be the sum of the counts, {total:.15g}, unless squares of weights are given"
        raise InputValueError(law, argument=name, offender=f"got {number}")
    return number


def are_ones(columns: Mapping[str, Floats], n: int) -> bool:
    """Whether all weights are 1: the sum of (weight - 1)^2 is zero."""
    pairs = (("events", "event_squares"), ("non_events", "non_event_squares"))
    weight = float(columns["events"].sum()) + float(columns["non_events"].sum())
    return weight == n and all(np.array_equal(columns[sums], columns[squares]) for sums, squares in pairs)


def _check_squares(columns: dict[str, Floats], n: int, n_events: int) -> None:
    """Raise an error if no weights can have these squares, in a row, for an outcome or in total."""
    with np.errstate(over="ignore"):
        total = {name: float(values.sum()) for name, values in columns.items()}
    _check_sum_of_squares(total["event_squares"] + total["non_event_squares"])
    if n_events > n:
        raise InputValueError("must not exceed n", argument="n_events", offender=f"got {n_events} of {n} cases")
    for name, cases in (("event", n_events), ("non_event", n - n_events)):
        weights, squares = columns[f"{name}s"], columns[f"{name}_squares"]
        rows = int(np.count_nonzero(weights))
        if cases < rows or (cases > 0 and rows == 0):
            told = f"{cases:,} cases cannot fill {rows:,} rows with a positive weight in {name}s"
            raise InputValueError(f"n = {n} and n_events = {n_events} must agree with the rows", offender=told)
        sound = _are_squares(n, weights, squares)
        if not sound.all():
            row = int(sound.argmin())
            law = f"must be sums of squared weights that add up to {name}s"
            offender = f"is {squares[row].item()!r} for a weight of {weights[row].item()!r}"
            raise InputValueError(law, argument=f"{name}_squares", row=row, offender=offender)
    check_totals(n, total["events"] + total["non_events"], total["event_squares"] + total["non_event_squares"])
    for name in ("event", "non_event"):
        weight, square = total[f"{name}s"], total[f"{name}_squares"]
        if not _are_squares(n, weight, square):
            law = f"{name}s cannot weigh {weight:g} with squared weights that sum to {square:g}, in n = {n} cases"
            raise InputValueError(law)


def _are_squares(n: int, weight: Any, squares: Any) -> Any:
    """Whether at most n weights can have this sum and sum of squares; as `weights_agree`, but also for tiny weights."""
    root = np.sqrt(np.maximum(squares, 0.0))
    least, most = (
        root <= weight * (1.0 + ROUNDING_OF_SUMS) + LIGHTEST,
        math.sqrt(n) * root * (1.0 + ROUNDING_OF_SUMS) + n * LIGHTEST,
    )
    return (squares >= 0.0) & least & (weight <= most) & ((weight > 0.0) | (squares == 0.0))


def check_totals(n: int, weight: float, squares: float) -> None:
    """Raise an error if n cases cannot have this sum of weights and of squares, or if a sum is not finite."""
    _check_sum_of_squares(squares)
    if weight > math.sqrt(LARGEST):
        law = f"the weights of a table must have a sum whose square is finite; the sum is {weight:g}"
        raise InputValueError(law, hint="divide the weights by their mean.")
    if not weights_agree(n, weight, squares):
        raise InputValueError(f"n = {n} cases whose squared weights sum to {squares:g} cannot weigh {weight:g}")


def _check_sum_of_squares(squares: float) -> None:
    if not SMALLEST <= squares <= LARGEST:
        law = f"the squared weights of a table must have a positive and finite sum; it is {squares:g}"
        raise InputValueError(law, hint="divide the weights by their mean.")


def weights_agree(n: Any, weight: Any, squares: Any) -> Any:
    """Whether n weights can have this sum and sum of squares; each is a number or an array.

    With r the square root of the sum of squares, r <= sum of the weights <= sqrt(n) r, by Cauchy and Schwarz.
    """
    root = np.sqrt(squares)  # Roots, because the product of n and the squares may overflow.
    return (weight >= root * (1.0 - ROUNDING_OF_SUMS)) & (weight <= np.sqrt(n) * root * (1.0 + ROUNDING_OF_SUMS))


def check_addends(tables: Sequence[ForecastTable]) -> None:
    """Raise an error if tables cannot be added: there are none, some are refined, or their grids differ."""
    if not tables:
        raise InputValueError(demands.something_to_merge("table"))
    if any(table.refined for table in tables):
        law = "refined tables are exact for their own cases only and cannot be added as they are"
        raise InputValueError(law, hint="convert all to one plain grid with .grid(cells).")
    grids = {table.cells for table in tables}
    if len(grids) > 1:
        law = f"must be on the same grid to be added; they have cells {sorted(map(str, grids))}"
        raise InputValueError(law, argument="tables", hint="convert all to the coarsest grid with .grid(cells).")


def check_same_cases(tables: Mapping[str, ForecastTable]) -> None:
    """Raise an error if the tables of several models cannot be of the same cases."""
    check_names(tables, argument="tables")
    first_name, first = next(iter(tables.items()))
    for name, table in tables.items():
        if table.n != first.n or not np.isclose(table.event_rate, first.event_rate, rtol=1e-9, atol=0.0):
            found = f"{first_name!r} has {first.n:,} with event rate {first.event_rate:.6g}"
            law = f"must be of the same cases; {found} and {name!r} {table.n:,} with {table.event_rate:.6g}"
            raise InputValueError(law, argument="tables")


FACTS = ("dropped", "cells", "refined")
FIELDS = (*COLUMNS, "n", "n_events", *FACTS)


def stored_fields(data: Mapping[str, Any], schema: str, version: int) -> dict[str, Any]:
    """Return the fields of a stored table. They are not checked yet."""
    files.checked_version(data, schema, version)
    stored = files.checked_fields(data, schema, FIELDS, optional=["refined", *COLUMNS[3:]])
    for name, least in (("n", 1), ("n_events", 0)):  # Optional when a table is constructed, but not when it is stored.
        whole_number(name, stored[name], least)
    return stored
