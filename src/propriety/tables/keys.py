"""Reading the groups, clusters or times of cases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from propriety.errors import InputTypeError, InputValueError
from propriety.tables import laws
from propriety.tables.arguments import Arguments
from propriety.tables.arrays import Reading, missing_cases, read_array, series_of
from propriety.tables.cases import Keys
from propriety.tables.label_codes import WHOLE, code_labels, plain_labels


def read_keys(keys: Mapping[str, object], *, beside: Arguments, rows: NDArray[np.intp] | None) -> dict[str, Keys]:
    """Read groups, clusters or times of each case, by argument, for the rows kept (None for all) of other arguments.

    The labels are sorted, or in the order of their categories if these are ordered.
    """
    readings = {argument: read_array(values, argument, role="keys") for argument, values in keys.items()}
    beside.check_keys(readings.values())
    return {argument: _coded(reading, keys[argument], rows) for argument, reading in readings.items()}


def _coded(reading: Reading, values: object, rows: NDArray[np.intp] | None) -> Keys:
    rows = np.arange(len(reading.values)) if rows is None else rows
    kept = reading.values if len(rows) == len(reading.values) else reading.values[rows]
    absent = rows[missing_cases(reading)[rows]]
    if len(absent):
        raise laws.unknown_key(reading.argument, f"{len(absent):,} of {len(rows):,} rows", int(absent[0]))
    return code_keys(kept, reading.argument, ordered_categories(values))


def code_keys(kept: NDArray[Any], argument: str, categories: list[Any] | None = None) -> Keys:
    """Return the codes of labels, none of which is missing."""
    if categories is None and kept.dtype != object:
        # Sorting the array finds equal labels, because labels of every dtype except object have a total order.
        labels, codes = np.unique(kept, return_inverse=True)
        found = Keys(tuple(plain_labels(labels)), codes.reshape(-1))
    else:
        try:
            found = Keys(*code_labels(plain_labels(kept), categories))
        except TypeError as error:
            law = "must hold hashable labels"
            hint = "pass texts, numbers, times or tuples of them."
            raise InputTypeError(law, argument=argument, offender=str(error), hint=hint) from error
    check_exact(found.labels, argument)
    return found


def check_exact(labels: tuple[Any, ...], argument: str) -> None:
    """Reject floats too large to be exact, such as identifiers that were read as floats."""
    rounded = next((label for label in labels if isinstance(label, float) and abs(label) >= WHOLE), None)
    if rounded is not None:
        law = f"must hold exact labels; {rounded!r} is a float that may stand for several whole numbers"
        hint = 'keep large identifiers as integers (in pandas of dtype "Int64" if values are missing) or as text.'
        raise InputValueError(law, argument=argument, hint=hint)


def check_one_key(by: object) -> None:
    """Raise an error if `by` is missing or names several keys where one is needed."""
    if by is None or isinstance(by, Mapping):
        law = "must be an array with one entry per case"
        raise InputTypeError(law, argument="by", offender=f"got a single {type(by).__name__}")


def ordered_categories(values: object) -> list[Any] | None:
    """Return the categories of a series in their order, or None if it has no ordered categories."""
    series = None if isinstance(values, np.ndarray | list | tuple) else series_of(values)
    if series is None:
        return None
    kind: Any = series.dtype
    if kind == nw.Enum:  # Ordered categories of pandas are also read as Enum.
        return list(kind.categories)
    if kind == nw.Categorical and series.implementation.is_pyarrow():
        native = series.to_native()
        if native.type.ordered and native.num_chunks:
            return list(native.unify_dictionaries().chunk(0).dictionary.to_pylist())
    return None
