"""A progress bar for long computations, shown on request."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from propriety.errors import MissingDependencyError

Item = TypeVar("Item")
Made = TypeVar("Made")


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


def mapped(
    work: Callable[[Item], Made], items: Iterable[Item], *, total: int, workers: int, label: str, progress: bool
) -> Iterator[Made]:
    """Yield the results of some work in order, done one by one or by threads, with a progress bar if `progress`.

    Examples
    --------
    >>> list(mapped(abs, [-1, 2], total=2, workers=2, label="working", progress=False))
    [1, 2]
    """
    if workers == 1:
        yield from track(map(work, items), total=total, label=label, enabled=progress)
        return
    with ThreadPoolExecutor(workers) as pool:
        yield from track(pool.map(work, items), total=total, label=label, enabled=progress)
