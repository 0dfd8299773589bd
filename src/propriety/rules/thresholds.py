"""Checks of thresholds: `thresholds` are those of a decision maker, `grid` is where a curve is evaluated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from propriety.checks import check_inside, is_number
from propriety.errors import InputTypeError, InputValueError
from propriety.result import Floats

Thresholds: TypeAlias = float | tuple[float, float]  # The probability at which somebody acts, or a range of it.


def read_thresholds(thresholds: object) -> Thresholds | None:
    """Check the thresholds of a decision maker: a number strictly between 0 and 1, two in order, or None.

    Examples
    --------
    >>> read_thresholds(0.1), read_thresholds([0, 0.2])
    (0.1, (0.0, 0.2))
    """
    if thresholds is None:
        return None
    if is_number(thresholds):
        check_inside("thresholds", thresholds)
        return float(thresholds)  # type: ignore[arg-type]  # a number
    if _is_pair(thresholds):
        return read_range(thresholds)
    law = "must be None, a number, or a pair (low, high)"
    raise InputTypeError(law, argument="thresholds", offender=f"got {thresholds!r}")


def read_range(thresholds: object, argument: str = "thresholds") -> tuple[float, float]:
    """Check a range of thresholds; a single threshold is rejected.

    Examples
    --------
    >>> read_range((0.05, 0.2))
    (0.05, 0.2)
    """
    if not _is_pair(thresholds):
        raise InputTypeError("must be a pair (low, high)", argument=argument, offender=f"got {thresholds!r}")
    low, high = thresholds
    if not (is_number(low) and is_number(high) and 0.0 <= low < high <= 1.0):
        law, hint = "must satisfy 0 <= low < high <= 1", "pass probabilities, not odds or percentages."
        raise InputValueError(law, argument=argument, offender=f"got ({low!r}, {high!r})", hint=hint)
    return float(low), float(high)


def read_grid(grid: ArrayLike, argument: str = "grid") -> Floats:
    """Check the thresholds at which a curve is evaluated: numbers in [0, 1], one or more, in any order.

    Examples
    --------
    >>> read_grid(0.2), read_grid([0.1, 0.3])
    (array([0.2]), array([0.1, 0.3]))
    """
    if np.ma.is_masked(grid):
        raise InputValueError("must have no missing values", argument=argument, offender="some are masked")
    try:
        # A copy, because curves keep their thresholds; `numpy.array` makes none of PyArrow's arrays.
        values = np.atleast_1d(np.asarray(grid, dtype=np.float64).copy())
    except (TypeError, ValueError) as error:
        raise InputTypeError("must be numbers", argument=argument, offender=str(error)) from error
    if values.ndim != 1 or len(values) == 0:
        law = "must be a number or a 1-D array"
        raise InputValueError(law, argument=argument, offender=f"got shape {values.shape}")
    bad = ~((values >= 0.0) & (values <= 1.0))
    if bad.any():
        offender = f"entry {int(bad.argmax())} is {values[bad][0].item()!r}"
        raise InputValueError("must lie in [0, 1]", argument=argument, offender=offender)
    return values


def _is_pair(thresholds: object) -> TypeGuard[Sequence[Any]]:
    return isinstance(thresholds, tuple | list | np.ndarray) and np.ndim(thresholds) > 0 and len(thresholds) == 2
