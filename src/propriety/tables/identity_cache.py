"""A cache of values by object, for results that are made once and needed by several functions."""

from __future__ import annotations

import weakref
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")


class IdentityCache(Generic[Value]):
    """A cache with one value per object, dropped when the object is deleted. Equal objects have separate values.

    Examples
    --------
    >>> class Thing:
    ...     pass
    >>> cache, thing = IdentityCache(), Thing()
    >>> cache.setdefault(thing, [1]), cache.setdefault(thing, [2]), len(cache)
    ([1], [1], 1)
    >>> del thing
    >>> len(cache)
    0
    """

    def __init__(self) -> None:
        self._held: dict[int, tuple[weakref.ref[Any], Value]] = {}

    def get(self, key: object) -> Value | None:
        """Return the value of an object, or None if it has no value."""
        held = self._held.get(id(key))
        return None if held is None else held[1]

    def setdefault(self, key: object, default: Value) -> Value:
        """Return the value of an object, storing the default first if it has no value."""
        place, held = id(key), self._held
        # An entry is removed before another object can reuse the id.
        return held.setdefault(place, (weakref.ref(key, lambda _: held.pop(place, None)), default))[1]

    def __len__(self) -> int:
        return len(self._held)
