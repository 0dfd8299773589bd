"""Checks of parameters: levels, seeds, numbers of draws, choices. Data are checked in `tables`."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import TypeGuard

import numpy as np

from propriety.errors import InputValueError, Wording


def is_number(value: object) -> bool:
    """Whether a parameter is a single real number."""
    return isinstance(value, Real) and not isinstance(value, bool)


def check_choice(argument: str, value: object, choices: Sequence[str]) -> None:
    """Raise an error if a value is not one of the choices.

    Examples
    --------
    >>> check_choice("method", "corp", ("corp", "binned"))
    """
    if not isinstance(value, str) or value not in choices:
        named = ", ".join(f'"{choice}"' for choice in choices)
        raise InputValueError(f"must be one of {named}", argument=argument, got=value)


def check_positive(argument: str, value: object) -> None:
    """Raise an error if a value is not a positive whole number."""
    if not _is_whole(value) or value < 1:
        raise InputValueError("must be a positive whole number", argument=argument, got=value)


def check_not_negative(argument: str, value: object) -> None:
    """Raise an error if a value is not a whole number of at least 0."""
    if not _is_whole(value) or value < 0:
        raise InputValueError("must be a non-negative whole number", argument=argument, got=value)


def check_inside(argument: str, value: object) -> None:
    """Raise an error if a value is not strictly between 0 and 1."""
    if not is_number(value) or not 0.0 < value < 1.0:  # type: ignore[operator]  # a number
        raise InputValueError("must lie strictly between 0 and 1", argument=argument, got=value)


def check_level(level: object) -> None:
    """Raise an error if a level is not strictly between 0 and 1."""
    check_inside("level", level)


def check_resamples(n_resamples: object) -> None:
    """Raise an error if the number of draws is not a positive whole number."""
    check_positive("n_resamples", n_resamples)


def check_budget(budget: object) -> None:
    """Raise an error if a memory budget is not a positive whole number."""
    check_positive("budget", budget)


def check_cells(cells: object, *, held: int | None = None) -> None:
    """Raise an error if the number of cells is not a power of two, or exceeds that of the table's grid."""
    if not _is_whole(cells) or not 1 <= cells <= 2**52 or int(cells) & (int(cells) - 1):
        raise InputValueError("must be a power of two up to 2**52", argument="cells", got=cells)
    if held is not None and cells > held:
        raise InputValueError(f"a grid can only be made coarser; the table has {held} cells and {cells} were requested")


def check_missing_option(missing: object) -> None:
    """Raise an error for an unknown treatment of missing values."""
    check_choice("missing", missing, ("raise", "drop"))


def fresh_seed(seed: int | None) -> int:
    """Return the seed, or a new one; it is kept with the result, so that the result can be reproduced."""
    if seed is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if not _is_whole(seed) or seed < 0:
        raise InputValueError(
            "must be a non-negative whole number, or None for a new one",
            argument="seed",
            got=seed,
            hint=Wording("a Generator cannot be stored with the result; pass {seed}=1."),
        )
    return int(seed)


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
