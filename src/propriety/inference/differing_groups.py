"""Which groups differ: a joint test, then the group that deviates most is named and taken out, and so on."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, fdtrc, ndtr

from propriety.inference.events_by_group import EventsByGroup
from propriety.inference.imagined_groups import others_of
from propriety.result import Floats

Groups: TypeAlias = NDArray[np.bool_]


class JointTest(NamedTuple):
    """The p-value of groups that are alike, and the deviate of each from their average, in standard errors."""

    p: float
    deviates: Floats


class Difference(NamedTuple):
    """The joint p-value, and which groups differ from the others.

    Parameters
    ----------
    p : float
        The p-value of groups that are all alike; NaN if fewer than two are tested.
    p_values, p_adjusted : ndarray of shape (groups,)
        Of the deviate of each group from the average of all, and that of the joint test by which it was named, or of
        the last one; NaN if the group was not tested.
    named : tuple of int
        The groups that differ, in the order in which they were taken out.
    """

    p: float
    p_values: Floats
    p_adjusted: Floats
    named: tuple[int, ...]


def differing_groups(
    test: Callable[[Groups], JointTest], tested: Groups, level: float, *, tests: int = 1
) -> Difference:
    """Name the groups that differ; at most a share 1 - level of samples of groups that are alike has a named one.

    If the joint test of all groups rejects, the one with the largest deviate is named and no longer part of the
    average. All tests have the same level, because the first one guards the others. Which of two groups differs from
    the other cannot be told, so both are named.

    Parameters
    ----------
    test : callable
        The joint test of some groups, given as a mask.
    tested : ndarray of bool of shape (groups,)
        The groups that are tested.
    level : float
        1 minus the probability that some group of equal ones is named.
    tests : int
        Number of such analyses, by which the p-values are multiplied.

    Examples
    --------
    >>> values, errors = np.array([0.1, 0.2, 0.1, 0.9]), np.full(4, 0.1)
    >>> found = differing_groups(lambda some: alike(values[some], errors[some]), np.ones(4, dtype=bool), 0.95)
    >>> found.named, found.p < 0.001, found.p_adjusted.round(2)
    ((3,), True, array([0.72, 0.72, 0.72, 0.  ]))
    """
    remaining, named, last = tested.copy(), list[int](), 0.0
    first, p_values = math.nan, np.full(len(tested), math.nan)
    p_adjusted = p_values.copy()
    while np.count_nonzero(remaining) > 1:
        found = test(remaining)
        if math.isnan(first):
            first, p_values[tested] = found.p, 2.0 * ndtr(-np.abs(found.deviates))
        places = np.flatnonzero(remaining)
        last = max(last, min(tests * found.p, 1.0))  # A later group is not clearer than those before it.
        p_adjusted[places] = last
        if not last <= 1.0 - level:
            break
        out = places if len(places) == 2 else places[[np.argmax(np.abs(found.deviates))]]
        named += out.tolist()
        remaining[out] = False
    return Difference(first, p_values, p_adjusted, tuple(named))


def alike_events(events: EventsByGroup, groups: Groups) -> JointTest:
    """Test whether the forecasts of some groups have one error in common, which is estimated in log-odds."""
    residuals = events.residuals(groups)
    return JointTest(float(chdtrc(len(residuals.sums) - 1, residuals.statistic)), residuals.deviates)


def alike(values: Floats, errors: Floats, df: Floats | float = math.inf) -> JointTest:
    """Test whether the values of some groups are alike, by Welch's analysis of variance, or Cochran's Q without df.

    References
    ----------
    Welch (1951), doi:10.1093/biomet/38.3-4.330.
    """
    k, weight = len(values), errors**-2
    total = weight.sum()
    mean = float((weight * values).sum() / total)
    q = float((weight * (values - mean) ** 2).sum())
    lost = float(((others_of(weight) / total) ** 2 / df).sum())
    deviates = (values - mean) / np.sqrt(errors**2 * others_of(weight) / total)
    if lost == 0.0:
        return JointTest(float(chdtrc(k - 1, q)), deviates)
    ratio = q / (k - 1) / (1.0 + 2.0 * (k - 2) / (k**2 - 1) * lost)
    return JointTest(float(fdtrc(k - 1, (k**2 - 1) / (3.0 * lost), ratio)), deviates)
