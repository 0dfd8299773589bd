"""How table cells are written: the numbers of a column with the same decimal places, missing values as a dash."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from propriety.number_words import fixed
from propriety.result import Floats

MISSING = "\N{EN DASH}"
DIGITS = 4
MOST_PLACES = 9
SMALLEST = 0.0001  # Smaller p-values are written as below it.


class Estimate(NamedTuple):
    """A number with its interval; a table shows the three together."""

    value: float
    low: float
    high: float


class PValue(float):
    """A p-value, which is never written as zero."""


def estimates_of(value: Floats, low: Floats, high: Floats) -> list[Any]:
    """Return values with their limits, or without where there are none."""
    limits = zip(value.tolist(), low.tolist(), high.tolist(), strict=True)
    return [Estimate(*one) if np.isfinite(one[1]) else one[0] for one in limits]


class Cell(NamedTuple):
    """The text of a cell, and its interval in smaller type."""

    text: str
    aside: str = ""


def cells_of(column: Sequence[Any]) -> tuple[bool, list[Cell]]:
    """Return whether a column holds numbers, and its cells.

    Examples
    --------
    >>> cells_of([0.25, 0.0125])
    (True, [Cell(text='0.2500', aside=''), Cell(text='0.0125', aside='')])
    >>> cells_of([Estimate(0.1, 0.05, 0.2)])[1]
    [Cell(text='0.1000', aside='0.0500 to 0.2000')]
    >>> cells_of([Estimate(0.1, math.nan, math.nan)])[1]
    [Cell(text='0.1000', aside='')]
    >>> cells_of([PValue(3e-11), PValue(0.25)])[1]
    [Cell(text='< 0.0001', aside=''), Cell(text='0.2500', aside='')]
    """
    values = [value.item() if isinstance(value, np.generic) else value for value in column]
    numeric = all(_is_fixed(value) or isinstance(value, Estimate) or value is None for value in values)
    if not numeric or all(value is None for value in values):
        return False, [Cell(_text(value)) for value in values]
    floats = [
        part
        for value in values
        for part in (value if isinstance(value, Estimate) else (value,))
        if isinstance(part, float) and not isinstance(part, PValue)
    ]
    places = places_for(floats)
    return True, [_cell(value, places) for value in values]


def places_for(values: Sequence[float], *, digits: int = DIGITS) -> int:
    """Return the decimal places that show the largest value with this number of digits.

    Examples
    --------
    >>> places_for([0.114, 0.002]), places_for([0.00069]), places_for([1234.5])
    (4, 7, 0)
    """
    largest = max((abs(value) for value in values if math.isfinite(value) and value), default=1.0)
    return int(min(max(digits - 1 - math.floor(math.log10(largest)), 0), MOST_PLACES))


def _cell(value: Any, places: int) -> Cell:
    if isinstance(value, Estimate):
        if math.isnan(value.low) and math.isnan(value.high):
            return Cell(fixed(value.value, places))
        return Cell(fixed(value.value, places), f"{fixed(value.low, places)} to {fixed(value.high, places)}")
    if value is None:
        return Cell(MISSING)
    if isinstance(value, PValue):
        return Cell(f"< {SMALLEST}" if value < SMALLEST else fixed(value, DIGITS))
    return Cell(fixed(value, places if isinstance(value, float) else 0))


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and math.isnan(value):
        return MISSING
    return MISSING if value is None else str(value)


def _is_fixed(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
