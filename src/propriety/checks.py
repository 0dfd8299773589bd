"""Checks of parameters, which return the checked value: numbers, choices, types. Data are checked in `tables`."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from numbers import Real
from typing import Any, TypeGuard, TypeVar

import numpy as np

from propriety.errors import InputTypeError, InputValueError, Wording

Choice = TypeVar("Choice")
Kind = TypeVar("Kind")


def is_number(value: object) -> bool:
    """Whether a parameter is a single real number."""
    return isinstance(value, Real) and not isinstance(value, bool)


def is_whole(value: object) -> TypeGuard[int]:
    """Whether a parameter is a single whole number, of Python or NumPy."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def number(
    value: Any,
    argument: str,
    *,
    above: float | None = None,
    least: float | None = None,
    below: float | None = None,
    most: float | None = None,
    hint: str = "",
) -> float:
    """Return a number within the limits, of which `above` and `below` are excluded.

    Examples
    --------
    >>> number(0.95, "level", above=0, below=1)
    0.95
    >>> number(0, "share", above=0, most=1)
    Traceback (most recent call last):
    propriety.errors.InputValueError: share must lie in (0, 1]; got 0.
    """
    if (
        not is_number(value)
        or not (above is None or value > above)
        or not (least is None or value >= least)
        or not (below is None or value < below)
        or not (most is None or value <= most)
    ):
        raise InputValueError(_range_in_words(above, least, below, most), argument=argument, got=value, hint=hint)
    return value


def _range_in_words(above: float | None, least: float | None, below: float | None, most: float | None) -> Wording:
    """Return the demand that a number lies between limits."""
    low, high = (least if above is None else above), (most if below is None else below)
    if low is None or high is None or math.isinf(high):
        if above == 0.0:
            return Wording("must be a positive number", "positive-number")
        limit = "above {low:.7g}" if least is None else "of at least {low:.7g}"
        return Wording("must be a number" + ("" if low is None else f" {limit}"), "number", low=low)
    if above is not None and below is not None:
        return Wording("must lie strictly between {low:.7g} and {high:.7g}", "between", low=low, high=high)
    ends = ("[" if above is None else "(") + "{low:.7g}, {high:.7g}" + ("]" if below is None else ")")
    return Wording(f"must lie in {ends}", "interval", low=low, high=high)


def whole(value: object, argument: str, *, least: int, most: int | None = None, hint: str = "") -> int:
    """Return a whole number from `least` to `most`.

    Examples
    --------
    >>> whole(1000, "n_resamples", least=1)
    1000
    >>> whole(1, "folds", least=2, most=100)
    Traceback (most recent call last):
    propriety.errors.InputValueError: folds must be a whole number from 2 to 100; got 1.
    """
    if not is_whole(value) or value < least or (most is not None and value > most):
        if most is None:
            sign = {0: "non-negative", 1: "positive"}[least]
            demand = Wording("must be a {sign} whole number", "whole", sign=sign)
        else:
            demand = Wording("must be a whole number from {least:,} to {most:,}", "whole-range", least=least, most=most)
        raise InputValueError(demand, argument=argument, got=value, hint=hint)
    return int(value)


def choice(value: Choice, argument: str, choices: Sequence[object], *, hint: str = "") -> Choice:
    """Return a value that is one of the choices.

    Examples
    --------
    >>> choice("corp", "method", ("corp", "binned"))
    'corp'
    """
    if not isinstance(value, Hashable) or value not in choices:
        listed = ", ".join(f'"{one}"' if isinstance(one, str) else repr(one) for one in choices)
        raise InputValueError(
            Wording("must be one of {choices}", "choice", choices=listed), argument=argument, got=value, hint=hint
        )
    return value


def instance(value: object, argument: str, kind: type[Kind], named: str, *, hint: str = "") -> Kind:
    """Return an object of a class, which an error calls by the name.

    Examples
    --------
    >>> instance(3, "ledger", str, "a Ledger")
    Traceback (most recent call last):
    propriety.errors.InputTypeError: ledger must be a Ledger; got int.
    """
    if not isinstance(value, kind):
        raise InputTypeError(
            Wording("must be {named}", "instance", named=named), argument=argument, got_type=value, hint=hint
        )
    return value


def alike(first: object, other: object, names: Sequence[str], argument: str) -> None:
    """Raise an error if two things to be added differ in one of the named attributes."""
    for what in names:
        if getattr(first, what) != getattr(other, what):
            demand = Wording("must have the same {what} to be added", "alike", what=what)
            offender = f"they have {getattr(first, what)!r} and {getattr(other, what)!r}"
            raise InputValueError(demand, argument=argument, offender=offender)


def check_level(level: object) -> None:
    """Raise an error if a level is not strictly between 0 and 1."""
    number(level, "level", above=0.0, below=1.0)


def check_resamples(n_resamples: object) -> None:
    """Raise an error if the number of draws is not a positive whole number."""
    whole(n_resamples, "n_resamples", least=1)


def check_cells(cells: object, *, held: int | None = None) -> None:
    """Raise an error if the number of cells is not a power of two, or exceeds that of the table's grid."""
    if not is_whole(cells) or not 1 <= cells <= 2**52 or int(cells) & (int(cells) - 1):
        raise InputValueError("must be a power of two up to 2**52", argument="cells", got=cells)
    if held is not None and cells > held:
        raise InputValueError(f"a grid can only be made coarser; the table has {held} cells and {cells} were requested")


def fresh_seed(seed: int | None) -> int:
    """Return the seed, or a new one; it is kept with the result, so that the result can be reproduced."""
    if seed is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    hint = Wording("a Generator cannot be stored with the result; pass {seed}=1, or None for a new one.")
    return whole(seed, "seed", least=0, hint=hint)
