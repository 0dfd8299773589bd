"""The search for segments: the largest deviation, and then the largest of the cases that remain."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy.special import ndtr, ndtri

from propriety.inference.segment_lattice import Lattice
from propriety.inference.segment_law import SMALLEST, deviations
from propriety.inference.segment_sums import SegmentSums
from propriety.result import Floats

__all__ = ["Control", "critical_deviation", "search"]

Control: TypeAlias = Literal["family", "discovery"]
PREFERENCE = 10.0  # For a segment of fewer columns, as a likelihood ratio.


def critical_deviation(sums: SegmentSums, law: Floats, control: Control, level: float) -> float:
    """Return the deviation that counts as evidence; infinite if nothing does."""
    own = np.abs(deviations(sums))[sums.variance >= SMALLEST]
    if not len(own):
        return math.inf
    if control == "family":
        return float(np.quantile(law, level, method="higher"))
    p_values = np.sort(2.0 * ndtr(-own))
    passed = np.flatnonzero(p_values <= (1.0 - level) * np.arange(1, len(p_values) + 1) / len(p_values))
    return float(-ndtri(p_values[passed[-1]] / 2.0)) if len(passed) else math.inf


def search(
    cases: Any, sums: SegmentSums, critical_of: Callable[[SegmentSums], float], most: int
) -> tuple[list[int], list[float]]:
    """Return the segments found one after another, each without the cases of those before it, and their deviations.

    The critical value is that of the cases that remain. It matters if false discoveries are controlled: with the cases
    of all segments, it would allow for errors among the echoes of a segment, of which only one is reported.
    """
    found: list[int] = []
    deviation: list[float] = []
    lattice: Lattice = cases.lattice
    while len(found) < most:
        own = deviations(sums)
        best, critical = int(np.argmax(np.abs(own))), critical_of(sums)
        if not abs(own[best]) >= critical:
            break
        best = _widest(lattice, own, best, critical)
        segment = lattice.segment(best)
        found.append(best)
        deviation.append(float(own[best]))
        sums = sums.less(cases.sums(segment, [lattice.segment(earlier) for earlier in found[:-1]]))
        if len(found) == len(lattice):
            break
    return found, deviation


def _widest(lattice: Lattice, own: Floats, best: int, critical: float) -> int:
    """Return a wider segment in place of the best, if it explains the deviation about as well with fewer columns.

    Half the squared deviation of a segment is the gain in log-likelihood if its cases have their own observed/expected
    and all others are calibrated. The best segment must be more likely than a wider one by the factor `PREFERENCE`.
    """
    segment = lattice.segment(best)
    for size in range(1, len(segment)):
        wider = np.array([lattice.index(part) for part in itertools.combinations(segment, size)])
        likely = (own[best] ** 2 - own[wider] ** 2) / 2.0 <= math.log(PREFERENCE)
        same = likely & (own[wider] * np.sign(own[best]) >= critical)
        if same.any():
            return int(wider[np.argmax(np.where(same, np.abs(own[wider]), 0.0))])
    return best
