"""Checks of curves that are drawn together: there is one or more, and the lines they are compared with fit them all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from propriety import demands
from propriety.errors import InputValueError

ROUNDING = 1e-6  # Sums of weights depend on the order of the cases.


def check_any(curves: Mapping[Any, Any], argument: str = "curves") -> None:
    """Raise an error if there is nothing to draw."""
    if not curves:
        raise InputValueError(demands.NOT_EMPTY, argument=argument)


def check_same(curves: Mapping[Any, Any], what: str, value_of: Callable[[Any], Any], argument: str = "curves") -> None:
    """Raise an error if a value on which a shared line or label depends is not the same for all curves.

    Examples
    --------
    >>> check_same({"a": 0.1, "b": 0.1 + 1e-15}, "prevalence", float)
    >>> check_same({"a": 0.1, "b": 0.2}, "prevalence", float)
    Traceback (most recent call last):
        ...
    propriety.errors.InputValueError: curves must have the same prevalence to be drawn together; 'a' has 0.1 and 'b' ...
    """
    (first_name, first), *others = [(name, value_of(curve)) for name, curve in curves.items()]
    for name, value in others:
        numbers = isinstance(first, float) and isinstance(value, float)
        if not (np.isclose(first, value, rtol=ROUNDING, atol=1e-15) if numbers else first == value):
            law, told = f"must have the same {what} to be drawn together", "{:.6g}" if numbers else "{}"
            offender = f"{first_name!r} has {told.format(first)} and {name!r} {told.format(value)}"
            raise InputValueError(law, argument=argument, offender=offender, hint="draw them on separate axes.")
