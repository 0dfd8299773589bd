"""Computations that take turns in one run and are timed, because the machines are shared."""

from __future__ import annotations

import itertools
import resource
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

__all__ = ["Taken", "by_turns", "timed"]


class Taken(NamedTuple):
    """Seconds of a work, by the clock and of the processor; the latter of this process alone."""

    clock: float
    processor: float


def timed(work: Callable[[], Any]) -> tuple[Taken, Any]:
    """Return the seconds that a work takes, and what it makes."""
    begin, used = time.perf_counter(), _processor()
    made = work()
    return Taken(time.perf_counter() - begin, _processor() - used), made


def by_turns(works: Mapping[str, Callable[[], Any]], rounds: int, *, cold: bool = False) -> dict[str, Taken]:
    """Return the median seconds of works that are done by turns; unless it is cold, the first round warms up."""
    times: dict[str, list[Taken]] = {name: [] for name in works}
    for round_, (name, work) in itertools.product(range(cold, rounds + 1), works.items()):
        taken, _ = timed(work)
        if round_:
            times[name].append(taken)
    return {name: Taken(*map(statistics.median, zip(*taken, strict=True))) for name, taken in times.items()}


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
