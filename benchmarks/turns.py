"""Computations that take turns in one run and are timed, because the machines are shared."""

from __future__ import annotations

import itertools
import resource
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

__all__ = ["Taken", "by_turns"]


class Taken(NamedTuple):
    """Median seconds of a work, by the clock and of the processor; the latter of this process alone."""

    clock: float
    processor: float


def by_turns(works: Mapping[str, Callable[[], Any]], rounds: int) -> dict[str, Taken]:
    """Return what works take that are done by turns; the first round warms up."""
    times: dict[str, list[Taken]] = {name: [] for name in works}
    for round_, (name, work) in itertools.product(range(rounds + 1), works.items()):
        begin, used = time.perf_counter(), _processor()
        work()
        if round_:
            times[name].append(Taken(time.perf_counter() - begin, _processor() - used))
    return {name: Taken(*map(statistics.median, zip(*taken, strict=True))) for name, taken in times.items()}


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
