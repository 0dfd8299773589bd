"""Each group against all other cases: the difference of their mean losses, its error, and a test."""

from __future__ import annotations

import math
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from propriety.inference.moments import LossMoments
from propriety.inference.verdicts import ROUNDING
from propriety.results import Floats

__all__ = ["GroupTests", "against_the_rest", "group_tests"]


class GroupTests(NamedTuple):
    """Each group against the rest, shape (groups, models): difference, error, degrees of freedom, rounding error."""

    difference: Floats
    error: Floats
    freedom: Floats
    noise: Floats


def group_tests(scores: LossMoments) -> GroupTests:
    """Compare each group with all other cases; NaN where a group is all there is."""
    groups, models = list(scores.groups().values()), len(scores.models)
    difference, error, freedom, noise = np.full((4, len(groups), models), np.nan)
    if len(groups) == 1:
        return GroupTests(difference, error, freedom, noise)
    # The groups before and those after are put together once, so that the time grows with the groups, not their square.
    whole = [one.pooled() for one in groups]
    before, after = list(accumulate(whole)), list(accumulate(whole[::-1]))[::-1]
    for place, one in enumerate(groups):
        rest = LossMoments.merge([*before[max(place - 1, 0) : place], *after[place + 1 : place + 2]])
        own, others = one.means[:models], rest.means[:models]
        with np.errstate(invalid="ignore"):
            difference[place] = own - others
        noise[place] = ROUNDING * np.maximum(np.abs(own), np.abs(others))
        if scores.cluster is None:
            error[place], freedom[place] = _welch(one, rest, models)
    if scores.cluster is not None:
        error, freedom = _across_clusters(scores, models)
    return GroupTests(difference, error, freedom, noise)


def against_the_rest(tests: GroupTests, model: int, units: int, notes: NDArray[np.str_]) -> tuple[Floats, Floats]:
    """Return the difference of each group to all other cases, and its p-value where the group is judged."""
    difference, error, freedom, noise = (values[:, model].copy() for values in tests)
    with np.errstate(invalid="ignore", divide="ignore"):
        p_value = 2.0 * stdtr(freedom, -np.abs(difference) / error)
        flat = ~(error * math.sqrt(units) > noise)
        same = flat & (np.abs(difference) <= noise) & ~np.isnan(error)
    p_value[flat] = np.nan
    difference[same], p_value[same] = 0.0, 1.0  # Losses that do not vary, anywhere.
    p_value[(notes != "") | ~np.isfinite(difference)] = np.nan
    return difference, p_value


def _welch(one: LossMoments, rest: LossMoments, models: int) -> tuple[Floats, Floats]:
    """Return the error of the difference of two independent means, and Welch's degrees of freedom."""
    squares = np.stack([one.standard_errors()[:models], rest.standard_errors()[:models]]) ** 2
    total = squares.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):  # Of losses that do not vary, and of a single case.
        freedom = total**2 / np.sum(squares**2 / (np.array([[one.units], [rest.units]]) - 1), axis=0)
    return np.sqrt(total), freedom


def _across_clusters(scores: LossMoments, models: int) -> tuple[Floats, Floats]:
    """Return the error of each difference from what each cluster adds to it, on either side or on both."""
    assert scores.group is not None  # noqa: S101  (for the type checker; both were asked for)
    assert scores.cluster is not None  # noqa: S101
    whole = scores.pooled("cluster")
    clusters = len(whole.n)
    place = {label: code for code, label in enumerate(whole.cluster.tolist())}  # type: ignore[union-attr]  # asked for
    code = np.array([place[label] for label in scores.cluster.tolist()])
    cells: dict[Any, list[int]] = {}
    for cell, label in enumerate(scores.group.tolist()):
        cells.setdefault(label, []).append(cell)
    with np.errstate(invalid="ignore"):  # Where a loss is infinite there is no error.
        sums, total = ((one.mean - scores.means)[:, :models] * one.weight[:, None] for one in (scores, whole))
    errors = []
    for rows in cells.values():
        at, weight, left = code[rows], scores.weight[rows], whole.n.copy()
        left[at] -= scores.n[rows]
        others, rest = whole.weight.copy(), total.copy()
        with np.errstate(invalid="ignore", divide="ignore"):
            others[at] -= weight
            rest[at] -= sums[rows]
            others[left == 0], rest[left == 0] = 0.0, 0.0  # Not what rounding left.
            added = (others[:, None] * (rest.sum(axis=0) / others.sum()) - rest) / others.sum()
            added[at] += (sums[rows] - weight[:, None] * (sums[rows].sum(axis=0) / weight.sum())) / weight.sum()
            errors.append(np.sqrt(np.sum(added**2, axis=0) * np.divide(clusters, clusters - 1)))
    return np.array(errors), np.full((len(errors), models), clusters - 1.0)
