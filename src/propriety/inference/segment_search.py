"""The search for segments: the largest deviation, and then the largest of the cases that remain."""

from __future__ import annotations

import itertools
import math
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy.special import ndtr, ndtri

from propriety.inference.segment_law import SMALLEST, deviations
from propriety.inference.segment_sums import Lattice, SegmentSums
from propriety.result import Floats

__all__ = ["Control", "critical_deviation", "search"]

Control: TypeAlias = Literal["family", "discovery"]
PREFERENCE = 10.0  # For a segment of fewer columns, as a likelihood ratio.
TINY = 1e-12


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


def search(cases: Any, sums: SegmentSums, critical: float, most: int) -> tuple[list[int], list[float]]:
    """Return the segments found one after another, each without the cases of those before it, and their deviations."""
    found: list[int] = []
    deviation: list[float] = []
    lattice: Lattice = cases.lattice
    while len(found) < most:
        own = deviations(sums)
        best = int(np.argmax(np.abs(own)))
        if not abs(own[best]) >= critical:
            break
        best = _widest(lattice, sums, own, best, critical)
        segment = lattice.segment(best)
        found.append(best)
        deviation.append(float(own[best]))
        sums = sums.less(cases.sums(segment, [lattice.segment(earlier) for earlier in found[:-1]]))
        if len(found) == len(lattice):
            break
    return found, deviation


def _widest(lattice: Lattice, sums: SegmentSums, own: Floats, best: int, critical: float) -> int:
    """Return a wider segment in place of the best, if its other cases are as likely to deviate in the same way.

    The other cases are compared with two explanations: they have the same observed/expected as the best segment, or
    they are calibrated. The first needs fewer columns, so the second must be more likely by the factor `PREFERENCE`.
    """
    segment, ratio = lattice.segment(best), sums.observed[best] / sums.expected[best]
    for size in range(1, len(segment)):
        wider = [lattice.index(part) for part in itertools.combinations(segment, size)]
        rest = SegmentSums(*(column[wider] - column[best] for column in sums))
        spread = np.sqrt(np.maximum(rest.variance, TINY))
        found, implied = (rest.observed - rest.expected) / spread, (ratio - 1.0) * rest.expected / spread
        same = (found * implied - implied**2 / 2.0 >= -math.log(PREFERENCE)) & (np.abs(own[wider]) >= critical)
        if same.any():
            return wider[int(np.argmax(np.where(same, np.abs(own[wider]), 0.0)))]
    return best
