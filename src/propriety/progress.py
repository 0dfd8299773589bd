"""A progress bar for long computations, shown on request."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from propriety.errors import MissingDependencyError

__all__ = ["track"]

Item = TypeVar("Item")


def track(items: Iterable[Item], *, total: int, label: str, enabled: bool) -> Iterable[Item]:
    """Yield the items, with a progress bar on the terminal or in the notebook if `enabled`.

    Examples
    --------
    >>> list(track(range(3), total=3, label="counting", enabled=False))
    [0, 1, 2]
    """
    if not enabled:
        return items
    try:
        from rich import progress
    except ImportError as error:
        hint = 'pip install "propriety[cli]", or leave progress=False.'
        raise MissingDependencyError("A progress bar needs rich", hint=hint) from error
    return progress.track(items, total=total, description=label)
