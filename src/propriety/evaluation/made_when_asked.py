"""Results for many events, each computed on first use: of a thousand classes a page shows a few."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

Answer = TypeVar("Answer")


class MadeWhenAsked(Mapping[Any, Answer]):
    """A mapping with a result for each label, computed on first use.

    Parameters
    ----------
    labels : iterable
        The labels, in order.
    make : callable
        Computes the result for a label.
    keep : bool
        Whether results are kept; otherwise each is computed whenever it is used.

    Examples
    --------
    >>> squares = MadeWhenAsked([2, 3], lambda number: number**2)
    >>> list(squares), squares[3]
    ([2, 3], 9)
    """

    def __init__(self, labels: Iterable[Any], make: Callable[[Any], Answer], *, keep: bool = True) -> None:
        self._made: dict[Any, Answer | None] = dict.fromkeys(labels)
        self._make, self._keep = make, keep

    def __getitem__(self, label: Any) -> Answer:
        found = self._made[label]
        if found is None:
            found = self._make(label)
            self._made[label] = found if self._keep else None
        return found

    def __contains__(self, label: object) -> bool:
        return label in self._made

    def __iter__(self) -> Iterator[Any]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)

    def __repr__(self) -> str:
        return f"MadeWhenAsked({list(self)})"
