"""What was computed of an object, kept as long as the object is."""

from __future__ import annotations

import weakref
from typing import Any, Generic, TypeVar

__all__ = ["IdentityCache"]

Value = TypeVar("Value")


class IdentityCache(Generic[Value]):
    """A value for each object, forgotten with it. Objects that are equal have each their own.

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
        """Return the value of an object, None if there is none."""
        held = self._held.get(id(key))
        return None if held is None else held[1]

    def setdefault(self, key: object, default: Value) -> Value:
        """Return the value of an object, which is the default from now on if there is none."""
        place, held = id(key), self._held
        # An object is forgotten before another can have its id.
        return held.setdefault(place, (weakref.ref(key, lambda _: held.pop(place, None)), default))[1]

    def __len__(self) -> int:
        return len(self._held)
