"""Checks of the names of models and keys."""

from __future__ import annotations

import unicodedata
from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

from propriety.errors import InputTypeError, InputValueError

Name = TypeVar("Name", bound=Hashable)

UNPRINTABLE = ("Cc", "Cs")  # Control characters, and lone surrogates, which no file can hold.


def is_name(name: object) -> bool:
    """Whether a value is a text that can be printed as the name of a model or a key.

    Examples
    --------
    >>> is_name("a"), is_name(""), is_name(1)
    (True, False, False)
    """
    if not isinstance(name, str) or not name.strip():
        return False
    return not any(unicodedata.category(character) in UNPRINTABLE for character in name)


def are_names(names: object) -> bool:
    """Whether a value is a list of different names."""
    return isinstance(names, list) and all(map(is_name, names)) and len(names) == len(set(names))


def first_repeated(names: Iterable[Name]) -> Name | None:
    """Return the first name that occurred before, or None if all differ.

    Examples
    --------
    >>> first_repeated(["a", "b", "c", "b", "a"])
    'b'
    """
    seen = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def check_names(forecasts: object, fewest: int = 1, *, argument: str = "forecasts") -> None:
    """Raise an error unless `forecasts` maps valid model names to forecasts of at least `fewest` models.

    Examples
    --------
    >>> check_names({"a": [0.2, 0.7]})
    """
    wrong = [name for name in forecasts if not isinstance(name, str)] if isinstance(forecasts, Mapping) else []
    if wrong or not isinstance(forecasts, Mapping):
        law, hint = "must map the names of models to their forecasts", 'pass {"a": p, "b": q}.'
        offender = f"the name {wrong[0]!r} is of type {type(wrong[0]).__name__}" if wrong else ""
        raise InputTypeError(law, argument=argument, offender=offender, hint=hint)
    for name in forecasts:
        if not name.strip():
            raise InputValueError(f"names of models must not be empty; got {name!r}")
        if not is_name(name):
            law = f"names of models must be free of control characters such as line ends; got {name!r}"
            raise InputValueError(law)
    if len(forecasts) < fewest:
        number = "two models" if fewest == 2 else "one model"
        raise InputValueError(f"must hold {number} or more", argument=argument, offender=f"got {len(forecasts)}")


def check_key_names(names: Iterable[object]) -> None:
    """Raise an error unless the names of keys are valid."""
    for name in names:
        if not isinstance(name, str) or not name.strip():
            law = "must name its keys by texts that are not empty"
            raise InputValueError(law, argument="by", offender=f"got {name!r}")
