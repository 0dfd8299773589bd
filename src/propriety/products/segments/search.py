"""The search for segments: the largest deviation, and then the largest of the cases that remain."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from scipy.special import ndtr, ndtri

from propriety.products.segments.lattice import Lattice
from propriety.products.segments.null_distribution import SMALLEST, evidence
from propriety.products.segments.sums import SegmentSums
from propriety.result import Floats

Control: TypeAlias = Literal["family", "discovery"]
SHARE_OF_BOUNDS = 0.1  # Of the error rate, for segments that are too small for their deviation.
PREFERENCE = 10.0  # For a segment of fewer columns, as a likelihood ratio.


class Found(NamedTuple):
    """A segment that stands out: its place, its deviation, and whether that is the normal score of a bound."""

    place: int
    deviation: float
    by_bound: bool


class Critical(NamedTuple):
    """The deviation that counts as evidence, and that of segments too small for it; infinite if nothing does."""

    normal: float
    bound: float


def critical_deviation(
    sums: SegmentSums, own: Floats, *, law: Floats, control: Control, level: float, number: int
) -> Critical:
    """Return the critical deviations; segments that are too small for the law have a share of the error rate.

    Their bounds are adjusted by Bonferroni's method for the `number` of all segments, because those that become small
    as cases are left out are also tested by them.
    """
    normal = sums.variance >= SMALLEST
    few = ~normal & (sums.n > 0.5)
    spared = SHARE_OF_BOUNDS * (1.0 - level) if few.any() else 0.0
    if control == "discovery":
        return Critical(_discovered(own[normal], 1.0 - level - spared), _discovered(own[few], spared))
    quantile = _exceeded(law, 1.0 - level - spared) if normal.any() else math.inf
    return Critical(quantile, float(-ndtri(spared / 2.0 / number)) if spared else math.inf)


def _exceeded(law: Floats, error: float) -> float:
    """Return the deviation beyond which `adjusted_p` is at most the error rate; infinite with too few draws.

    Examples
    --------
    >>> _exceeded(np.arange(99.0), 0.05), _exceeded(np.arange(9.0), 0.05)
    (94.0, inf)
    """
    allowed = math.floor(error * (1 + len(law)) + 1e-9)
    return float(np.sort(law)[-allowed]) if allowed else math.inf


def _discovered(own: Floats, error: float) -> float:
    """Return the smallest deviation that is a discovery by the method of Benjamini and Hochberg."""
    sizes = np.sort(np.abs(own))[::-1]
    passed = np.flatnonzero(2.0 * ndtr(-sizes) <= error * np.arange(1, len(sizes) + 1) / max(len(sizes), 1))
    return float(sizes[passed[-1]]) if len(passed) else math.inf


def adjusted_p(found: Found, law: Floats, number: int, *, spared: bool) -> float:
    """Return the p-value of a segment, adjusted for all segments; `spared` if some were too small for the law."""
    if found.by_bound:
        return min(number * 2.0 * float(ndtr(-abs(found.deviation))) / SHARE_OF_BOUNDS, 1.0)
    p_value = (1.0 + np.count_nonzero(law >= abs(found.deviation))) / (1.0 + len(law))
    return min(float(p_value) / (1.0 - SHARE_OF_BOUNDS * spared), 1.0)


def search(
    cases: Any, sums: SegmentSums, critical_of: Callable[[SegmentSums, Floats], Critical], most: int
) -> list[Found]:
    """Return the segments found one after another, each without the cases of those before it.

    The critical value is that of the cases that remain. It matters if false discoveries are controlled: with the cases
    of all segments, it would allow for errors among the echoes of a segment, of which only one is reported.
    """
    found: list[Found] = []
    lattice: Lattice = cases.lattice
    while True:
        own, is_normal = evidence(sums), sums.variance >= SMALLEST
        critical = np.where(is_normal, *critical_of(sums, own))
        beyond = np.abs(own) >= critical
        if not beyond.any():
            return found
        best = _widest(lattice, own, int(np.argmax(np.where(beyond, np.abs(own), 0.0))), critical)
        found.append(Found(best, float(own[best]), not is_normal[best]))
        if len(found) in (most, len(lattice)):
            return found
        earlier = [lattice.segment(one.place) for one in found[:-1]]
        sums = sums.less(cases.sums(lattice.segment(best), earlier))


def _widest(lattice: Lattice, own: Floats, best: int, critical: Floats) -> int:
    """Return a wider segment in place of the best, if it explains the deviation about as well with fewer columns.

    Half the squared deviation of a segment is the gain in log-likelihood if its cases have their own observed/expected
    and all others are calibrated. The best segment must be more likely than a wider one by the factor `PREFERENCE`.
    """
    segment = lattice.segment(best)
    for size in range(1, len(segment)):
        wider = np.array([lattice.index(part) for part in itertools.combinations(segment, size)])
        likely = (own[best] ** 2 - own[wider] ** 2) / 2.0 <= math.log(PREFERENCE)
        same = likely & (own[wider] * np.sign(own[best]) >= critical[wider])
        if same.any():
            return int(wider[np.argmax(np.where(same, np.abs(own[wider]), 0.0))])
    return best
