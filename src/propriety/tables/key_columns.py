"""Key columns of a lazy frame: how an engine stores labels, and how they are restored."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np

from propriety.errors import InputTypeError
from propriety.tables.keys import check_exact
from propriety.tables.labels import plain_labels
from propriety.tables.queries import Column, engine_of, is_missing

TEXT = "turn it into text first."
LABELS = (nw.String, nw.Boolean, nw.Date, nw.Datetime, nw.Time, nw.Decimal, nw.Binary)


class KeyColumn(NamedTuple):
    """A column of labels in a lazy frame.

    Parameters
    ----------
    argument : str
        Name of the argument in errors.
    held : narwhals.Expr
        The labels in the form by which the engine groups.
    restore : callable, optional
        Converts a value that the engine returns to a label, if they differ.
    order : tuple, optional
        The labels in the order of their categories, if these are ordered.
    """

    argument: str
    held: nw.Expr
    restore: Callable[[Any], Any] | None = None
    order: tuple[Any, ...] | None = None

    def labels(self, found: Sequence[Any]) -> list[Any]:
        """Convert the values that an engine returned to labels; a missing one is None."""
        restore = self.restore
        labels = plain_labels([one if one is None or restore is None else restore(one) for one in found])
        check_exact(tuple(labels), self.argument)
        return labels


def key_column(column: Column, argument: str) -> KeyColumn:
    """Return how an engine groups by the labels of a column, or raise an error if it cannot."""
    kind, held = column.kind, column.values
    found: KeyColumn | None = None
    if kind in (nw.Categorical, nw.Enum):
        order = tuple(kind.categories) if isinstance(kind, nw.Enum) else None
        found = KeyColumn(argument, _of_categories(column), order=order)
    elif kind in (nw.Int128, nw.UInt128):
        # Arrow has no integers of this width, and engines would return decimals, floats or nothing.
        found = KeyColumn(argument, held.cast(nw.String), int)
    elif kind.is_float():  # NaN becomes null, the missing label of every engine.
        found = KeyColumn(argument, nw.when(~is_missing(held, engine_of(column.frame))).then(held))
    elif kind == nw.Duration and not column.frame.implementation.is_ibis():  # Results of Ibis have no durations.
        found = KeyColumn(argument, held, lambda label: _duration(label, column.name, argument))
    elif kind.is_integer() or kind in LABELS:
        found = KeyColumn(argument, held)
    elif column.native_kind == "uuid":
        found = KeyColumn(argument, held.cast(nw.String), uuid.UUID)
    if found is None:
        told = column.native_kind if kind in (nw.Unknown, nw.Object) else kind
        law = f"must hold labels; {engine_of(column.frame)} holds values of dtype {told} in {column.name!r}"
        raise InputTypeError(law, argument=argument, hint=TEXT)
    return found


def _of_categories(column: Column) -> nw.Expr:
    """Convert text categories to text; categories of Dask, which may be numbers, are left as they are."""
    if column.frame.implementation.is_dask():
        categories = getattr(column.frame.to_native().dtypes[column.name], "categories", None)
        if categories is not None and not all(isinstance(label, str) for label in categories):
            return column.values
    return column.values.cast(nw.String)


def _duration(label: Any, column: str, argument: str) -> Any:
    """Convert a duration, which DuckDB returns as months, days and nanoseconds."""
    if isinstance(label, dt.timedelta | np.timedelta64):
        return label
    if label.months or label.nanoseconds % 1000:
        law = f"must hold durations in days and microseconds; one in {column!r} is {tuple(label)!r}"
        raise InputTypeError(law, argument=argument, hint=TEXT)
    return dt.timedelta(days=label.days, microseconds=label.nanoseconds // 1000)
