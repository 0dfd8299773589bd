"""Reading the groups, clusters or periods of cases."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from propriety.errors import InputTypeError, InputValueError
from propriety.tables import laws
from propriety.tables.arguments import Arguments
from propriety.tables.arrays import Reading, missing_cases, read_array, series_of
from propriety.tables.labels import WHOLE, code_labels, plain_labels

MOST_LABELS = 50  # Whole numbers with more values than this may be cut into parts; those with fewer are labels.


@dataclass(frozen=True, slots=True, eq=False)
class Keys:
    """The label of each case: `labels[codes[i]]` is that of case i. The labels are in order."""

    labels: tuple[Any, ...]
    codes: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.labels)

    def column(self) -> NDArray[np.object_]:
        """Return the label of each case."""
        labels = np.empty(len(self.labels), dtype=object)  # Labels may be tuples, of which NumPy would make rows.
        labels[:] = self.labels
        found: NDArray[np.object_] = labels[self.codes]
        return found

    def where(self, kept: NDArray[Any]) -> Keys:
        """Return the keys of some of the cases, without labels that no longer occur.

        Examples
        --------
        >>> Keys(("a", "b", "c"), np.array([2, 0, 1])).where(np.array([True, True, False]))
        Keys(labels=('a', 'c'), codes=array([1, 0]))
        """
        codes = self.codes[kept]
        occurs = np.bincount(codes, minlength=len(self)) > 0
        labels = tuple(label for label, present in zip(self.labels, occurs.tolist(), strict=True) if present)
        return Keys(labels, (np.cumsum(occurs) - 1)[codes])


def read_keys(keys: Mapping[str, object], *, beside: Arguments, rows: NDArray[np.intp] | None) -> dict[str, Keys]:
    """Read groups, clusters or periods of each case, by argument, for the rows kept (None for all) of other arguments.

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
            hint = "pass texts, numbers, dates or tuples of them."
            raise InputTypeError(law, argument=argument, offender=str(error), hint=hint) from error
    check_exact(found.labels, argument)
    return found


def check_exact(labels: tuple[Any, ...], argument: str) -> None:
    """Reject floats too large to be exact, such as identifiers that were read as floats."""
    rounded = next((label for label in labels if isinstance(label, float) and WHOLE <= abs(label) < math.inf), None)
    if rounded is not None:
        law = f"must hold exact labels; {rounded!r} is a float that may stand for several whole numbers"
        hint = 'keep large identifiers as integers (in pandas of dtype "Int64" if values are missing) or as text.'
        raise InputValueError(law, argument=argument, hint=hint)


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


FLAGS_HINT = (
    "pass the day or period of each case; whether follow-up ended with the event belongs to "
    "propriety.censored(time, event, horizons=...)."
)
HINT = "write all dates as 2026-01-31, or all moments as 2026-01-31T12:00:00."
# Without an offset from UTC, or with "Z", texts of one form sort in the order of time.
ISO = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)?Z?")


def check_period_labels(periods: Sequence[Any]) -> None:
    """Raise an error unless different periods, in the order in which they are kept, are numbers or dates in order.

    ISO dates may be texts, if they are all written in the same way; other texts sort differently.

    Examples
    --------
    >>> check_period_labels(["2026-01-31", "2026-02-01"])
    >>> check_period_labels(["01/02/2026", "31/01/2026"])
    Traceback (most recent call last):
    propriety.errors.InputTypeError: period must hold numbers or dates; '01/02/2026' is text. Hint: ...
    """
    if any(isinstance(period, bool) for period in periods):
        raise InputTypeError("must hold numbers or dates", argument="period", offender="got booleans", hint=FLAGS_HINT)
    text = next((period for period in periods if isinstance(period, str) and not _is_like(period, periods[0])), None)
    if text is not None:
        raise InputTypeError("must hold numbers or dates", argument="period", offender=f"{text!r} is text", hint=HINT)
    try:
        in_order = all(one < other for one, other in itertools.pairwise(periods))
    except TypeError:
        in_order = False
    if not in_order:
        kinds = " and ".join(dict.fromkeys(type(period).__name__ for period in periods))
        law, told = "must hold numbers or dates", f"got {kinds} without an order"
        raise InputTypeError(law, argument="period", offender=told, hint=HINT)


def _is_like(text: str, first: Any) -> bool:
    """Whether a text is an ISO date, written in the same way as the first one."""
    if not isinstance(first, str) or ISO.fullmatch(text) is None:
        return False
    return len(text) == len(first) and text[10:11] == first[10:11] and text.endswith("Z") == first.endswith("Z")
