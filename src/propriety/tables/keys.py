"""The groups, clusters or times that cases belong to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import narwhals as nw
import numpy as np
from narwhals.dependencies import is_into_series
from numpy.typing import NDArray

from propriety.errors import InputTypeError, InputValueError, MissingValuesError, sentence
from propriety.tables.arguments import Arguments
from propriety.tables.arrays import missing_cases, read_array
from propriety.tables.cases import Keys

__all__ = ["check_one_key", "read_keys"]


def read_keys(values: object, argument: str, *, beside: Arguments, rows: NDArray[np.intp] | None) -> Keys:
    """Read the group, cluster or time of each case: of the rows kept, None for all, of the arguments beside it.

    The labels are in their own order, or in that of the categories if these are ordered.
    """
    reading, cases = read_array(values, argument), len(beside)
    if reading.values.shape != (cases,):
        law = f"{argument} must have one entry per case, {cases:,} in all; got shape {reading.values.shape}"
        raise InputValueError(sentence(law))
    beside.check_key(reading)
    rows = np.arange(cases) if rows is None else rows
    kept = reading.values if len(rows) == cases else reading.values[rows]
    absent = rows[missing_cases(reading, kinds="fmM")[rows]]
    if len(absent):
        law = f"{argument} must be known of every case"
        count = f"{len(absent):,} of {len(rows):,} rows"
        hint = f"leave these rows out of every argument, or give each of them a label of its own in {argument}."
        raise MissingValuesError(sentence(law, offender=f"row {absent[0]:,} is missing", count=count, hint=hint))
    categories = _ordered_categories(values)
    if categories is not None:
        held = set(kept.tolist())
        return _coded(kept, [label for label in categories if label in held])
    try:
        labels, codes = np.unique(kept, return_inverse=True)
    except TypeError:  # Labels of several kinds have no order of their own.
        return _coded(kept, sorted(set(kept.tolist()), key=repr))
    return Keys(tuple(_plain(labels)), codes.reshape(-1))


def check_one_key(by: object) -> None:
    """Refuse none, or several that have names, where one key is needed."""
    if by is None or isinstance(by, Mapping):
        law = f"by must be an array with one entry per case; got a single {type(by).__name__}"
        raise InputTypeError(sentence(law))


def _ordered_categories(values: object) -> list[Any] | None:
    """Return the categories in their order, of a series that has such."""
    if not is_into_series(values):
        return None
    series = nw.from_native(values, series_only=True)
    if series.dtype != nw.Enum:  # As which ordered categories of pandas count too.
        return None
    return list(series.dtype.categories)


def _coded(kept: NDArray[Any], ordered: list[Any]) -> Keys:
    place = {label: code for code, label in enumerate(ordered)}
    return Keys(tuple(ordered), np.array([place[label] for label in kept.tolist()], dtype=np.intp))


def _plain(labels: NDArray[Any]) -> list[Any]:
    """Return labels as Python has them; of times finer than it has, which would be bare numbers, to a microsecond."""
    found: list[Any] = labels.tolist()
    if labels.dtype.kind not in "mM" or not isinstance(found[0], int):
        return found
    coarse = labels.astype(f"{labels.dtype.kind}8[us]")
    exact = np.datetime_data(labels.dtype)[0] == "ns" and bool((coarse == labels).all())
    return coarse.tolist() if exact else list(labels)
