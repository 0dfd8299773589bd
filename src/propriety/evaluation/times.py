"""Intervals of means over cases whose neighbours in time depend on each other."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from propriety.inference.dependence import hac, span_of, student
from propriety.inference.intervals import NO_SPREAD, Interval
from propriety.inference.measures import Measure, NetBenefit, rule_of
from propriety.inference.moments import LossMoments
from propriety.inference.verdicts import ROUNDING

__all__ = ["as_if_independent", "interval_in_time"]

INDEPENDENT = "neighbours in time count as independent: it may be too narrow"


def interval_in_time(
    moments: LossMoments, place: int, measure: Measure, *, level: float, classes: int | None = None, note: str = ""
) -> Interval:
    """Return the interval of a mean from moments by time, of the series at `place`, as `compare` with `time` makes it.

    `classes` is their number for rows of classes, and `note` what to beware of besides. Like that of `interval`, it
    does not reach beyond the range of the rule.

    Examples
    --------
    >>> import propriety as pr
    >>> from propriety.inference.measures import MeanScore
    >>> p = np.tile([0.1, 0.4, 0.7], 20)
    >>> moments = pr.loss_moments(np.repeat([0, 1], 30), {"a": p}, cluster=np.arange(60))
    >>> found = interval_in_time(moments, 0, MeanScore(), level=0.95)
    >>> round(found.low, 3), round(found.estimate, 3), round(found.high, 3)
    (0.218, 0.32, 0.422)
    """
    mean = moments.means[[place]]
    with np.errstate(invalid="ignore"):  # Of an infinite mean.
        parts = (moments.weight / moments.weight.sum())[:, None] * (moments.mean[:, [place]] - mean)
    found = student(mean, *hac(parts), level)
    error, low, high = (float(values[0]) for values in (found.standard_error, found.low, found.high))
    times, span = len(moments.n), span_of(len(moments.n))
    if np.isinf(mean[0]):
        note = "what was called impossible happened: the mean is infinite"
    elif times == 1:
        note = "a single time has no spread"
    elif error * math.sqrt(times) <= ROUNDING * abs(mean[0]):
        low, high, error, note = math.nan, math.nan, 0.0, NO_SPREAD
    low, high = _inside(measure, classes, low, high)
    turned = isinstance(measure, NetBenefit)
    return Interval(
        estimate=(-float(mean[0]) if turned else float(mean[0])) + 0.0,
        low=-high if turned else low,
        high=-low if turned else high,
        standard_error=error,
        level=level,
        method=f"Student's t, Bartlett's weights over {span:,} time{'s' * (span != 1)}",
        measure=measure.name,
        higher_is_better=measure.higher_is_better,
        n=moments.cases,
        note=note,
        dropped=moments.dropped,
    )


def _inside(measure: Measure, classes: int | None, low: float, high: float) -> tuple[float, float]:
    """Keep the limits of a mean loss in the range that the rule declares."""
    rule = rule_of(measure)
    claims = None if rule is None else rule.properties(classes)
    if claims is None or claims.best is None or claims.worst is None or math.isnan(low):
        return low, high
    return max(low, claims.best), min(high, claims.worst)


def as_if_independent(found: Interval) -> Interval:
    """Note on an interval of cases in time, if there is one, that it was made as if they were independent."""
    if math.isnan(found.low):
        return found
    return replace(found, note="; ".join(part for part in (found.note, INDEPENDENT) if part))
