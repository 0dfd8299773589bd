"""Means of groups with their standard errors, and tests of each group against all other cases, from moments."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from propriety.inference.cluster_errors import ClusterSums, cluster_errors, effective_number, sums_by_cluster
from propriety.inference.dependence import Errors, error_of_difference, hac, places_of_groups
from propriety.inference.estimates import ROUNDING
from propriety.inference.imagined_groups import others_of
from propriety.ledger.moments import Moments
from propriety.result import Floats


class Against(NamedTuple):
    """Difference between each group and all other cases, of shape (groups, models), with its error and a p-value.

    `factor` is that by which correlation inflates the variance of the difference.
    """

    difference: Floats
    error: Floats
    df: Floats
    p_value: Floats
    factor: Floats


class GroupMeans(NamedTuple):
    """Means of groups, of shape (groups, models), with their errors and numbers of independent units."""

    mean: Floats
    error: Floats
    units: NDArray[np.int64]
    df: Floats
    plain: Floats  # Squared error without the factor for few clusters.
    factor: Floats  # By how much correlation inflates the variance.

    def limits(self, level: float) -> tuple[Floats, Floats]:
        """Return the limits of Student's intervals; NaN for a single unit."""
        with np.errstate(invalid="ignore"):
            margin = stdtrit(self.df, (1.0 + level) / 2.0) * self.error
            return self.mean - margin, self.mean + margin


def group_means(moments: Moments, by: tuple[str, ...]) -> GroupMeans:
    """Return the mean of every group; cases of one cluster, or of one period or near ones, may be correlated."""
    models, groups = len(moments.models), moments.over(*by)
    mean = groups.mean[:, :models]
    if moments.dependence is None:
        with np.errstate(divide="ignore", invalid="ignore"):
            factor = np.where(groups.n > 1, groups.n / (groups.n - 1.0), np.nan)
            error = np.sqrt(groups.spread[:, :models] * factor[:, None]) / groups.weight[:, None]
        df = np.broadcast_to(np.maximum(groups.n - 1.0, 1.0)[:, None], error.shape)
        return GroupMeans(mean, error, groups.n, df, error**2 / factor[:, None], np.ones_like(error))
    cells = moments.over(*by, moments.dependence)
    _, group = cells.index.only(by)
    with np.errstate(divide="ignore", invalid="ignore"):  # Infinite losses, or a single unit.
        sums = cells.weight[:, None] * (cells.mean[:, :models] - mean[group])
    units = np.bincount(group, minlength=len(mean))
    if moments.dependence == "period":
        parts = sums / groups.weight[group][:, None]
        error, df = np.stack([hac(parts[own]) for own in places_of_groups(group, len(mean))], axis=1)
        return GroupMeans(mean, error, units, df, error**2, _inflation(error, groups, models))
    given = ClusterSums(cells.n.astype(np.float64), cells.weight, cells.weight_squares, sums, cells.spread[:, :models])
    found = cluster_errors(given, group, len(mean))
    inflation = _inflation(found.standard_error, groups, models)
    return GroupMeans(mean, found.standard_error, units, found.df, found.standard_error**2 / found.factor, inflation)


def _inflation(error: Floats, groups: Moments, models: int) -> Floats:
    """Return the squared errors of groups relative to those of independent cases, at least 1."""
    with np.errstate(divide="ignore", invalid="ignore"):  # Groups of one case, or whose losses are equal.
        alone = groups.spread[:, :models] * (groups.n / (groups.n - 1.0))[:, None] / groups.weight[:, None] ** 2
        found: Floats = np.fmax(np.where(alone > 0.0, error**2 / alone, 1.0), 1.0)
    return found


def against_the_rest(moments: Moments, by: tuple[str, ...]) -> Against:
    """Compare each group with all other cases.

    Independent cases are tested by Welch's statistic, clusters and periods by the contribution of each to the
    difference, on either side or on both. The result is NaN if a group contains all cases, or if nothing varies.
    """
    models, groups = len(moments.models), moments.over(*by)
    count = len(groups.n)
    if count == 1:
        unknown = np.full((1, models), np.nan)
        return Against(unknown, unknown, unknown, unknown, np.ones((1, models)))
    finite = np.isfinite(groups.mean[:, :models])
    weight = groups.weight[:, None]
    centre = np.where(finite, groups.mean[:, :models] * weight, 0.0).sum(axis=0) / np.where(finite, weight, 0.0).sum(
        axis=0
    ).clip(min=np.finfo(float).tiny)
    with np.errstate(divide="ignore", invalid="ignore"):  # Infinite losses.
        shift = groups.mean[:, :models] - centre
        lean = groups.lean[:, :models] + shift * groups.weight_squares[:, None]
        spread = groups.spread[:, :models] + shift * (
            2.0 * groups.lean[:, :models] + shift * groups.weight_squares[:, None]
        )
        others = others_of(groups.weight)
        rest = others_of(weight * shift) / others[:, None]
        difference = shift - rest
        alone, welch = _welch(groups, spread, lean, rest, others)
        if moments.dependence is None:
            error, freedom = alone, welch
        elif moments.dependence == "period":
            error, freedom = _across_periods(moments, by, centre, shift, rest, others)
        else:
            error, freedom = _across(moments, by, centre, shift, rest, others)
        noise = ROUNDING * np.maximum(np.abs(groups.mean[:, :models]), np.abs(rest + centre))
        p_value = 2.0 * stdtr(freedom, -np.abs(difference) / error)
        flat = ~(error * math.sqrt(moments.units) > noise)
        same = flat & (np.abs(difference) <= noise) & ~np.isnan(error)
        factor = np.fmax(np.where(alone > 0.0, (error / alone) ** 2, 1.0), 1.0)
    p_value[flat | ~np.isfinite(difference)] = np.nan
    difference[same], p_value[same] = 0.0, 1.0  # Losses that do not vary at all.
    return Against(difference, error, freedom, p_value, factor)


def _welch(groups: Moments, spread: Floats, lean: Floats, rest: Floats, others: Floats) -> tuple[Floats, Floats]:
    """Return the error of the difference of two independent means, and Welch's degrees of freedom."""
    own_n, rest_n = groups.n.astype(np.float64)[:, None], others_of(groups.n.astype(np.float64))[:, None]
    own = groups.spread[:, : spread.shape[1]]
    squares = others_of(groups.weight_squares)[:, None]
    other = np.maximum(others_of(spread) - rest * (2.0 * others_of(lean) - rest * squares), 0.0)
    first = own * (own_n / (own_n - 1.0)) / groups.weight[:, None] ** 2
    second = other * (rest_n / (rest_n - 1.0)) / others[:, None] ** 2
    total = first + second
    return np.sqrt(total), total**2 / (first**2 / (own_n - 1.0) + second**2 / (rest_n - 1.0))


def _across(
    moments: Moments, by: tuple[str, ...], centre: Floats, own_mean: Floats, rest: Floats, others: Floats
) -> tuple[Floats, Floats]:
    """Return the error of each difference from the contributions of the clusters; means are relative to the centre."""
    cells, units, group, unit, whole, sums = _both_sides(moments, by, centre)
    models, count = len(centre), len(own_mean)
    weight = np.bincount(group, cells.weight, minlength=count)
    # First the contributions of all clusters as if none had cases of the group; then those that have are corrected.
    cross, squared = (whole * units.weight[:, None]).sum(axis=0), (units.weight**2).sum()
    everyone = ((whole**2).sum(axis=0) - 2.0 * rest * cross + rest**2 * squared) / others[:, None] ** 2
    at = rest[group]
    wrong = (whole[unit] - units.weight[unit][:, None] * at) / others[group][:, None]
    left = np.where(units.n[unit] == cells.n, 0.0, units.weight[unit] - cells.weight)[:, None]
    left_sum = np.where((units.n[unit] == cells.n)[:, None], 0.0, whole[unit] - sums)
    right = (sums - cells.weight[:, None] * own_mean[group]) / weight[group][:, None] - (left_sum - left * at) / others[
        group
    ][:, None]
    squares = np.maximum(everyone + _by_group(right**2 - wrong**2, group, count), 0.0)
    # Each side has the factor of its own clusters, and Welch's degrees of freedom combine them. Those of the rest are
    # those of all clusters, scaled by the remaining share of equal ones.
    own, all_clusters = group_means(moments, by), cluster_errors(sums_by_cluster(moments))
    lost = _by_group((units.weight[unit] ** 2 - (units.weight[unit] - cells.weight) ** 2)[:, None], group, count)[:, 0]
    left_over = (units.weight.sum() - weight) ** 2 / np.maximum(squared - lost, np.finfo(float).tiny)
    share = np.minimum(left_over / effective_number(units.weight), 1.0)[:, None]
    rest_df = np.maximum(all_clusters.df[0, :models] * share, 1.0)
    others_factor = 1.0 + (all_clusters.factor[0, :models] - 1.0) / share
    others_plain = np.maximum(squares - own.plain, 0.0)
    own_squares, rest_squares = own.error**2, others_plain * others_factor
    # Clusters on both sides make the total less than the sum of its sides.
    total = squares + (own_squares - own.plain) + (rest_squares - others_plain)
    return np.sqrt(total), total**2 / (own_squares**2 / own.df + rest_squares**2 / rest_df)


def _across_periods(
    moments: Moments, by: tuple[str, ...], centre: Floats, own_mean: Floats, rest: Floats, others: Floats
) -> tuple[Floats, Floats]:
    """Return the same from the contributions of the periods, of which near ones may be correlated."""
    cells, units, group, unit, whole, sums = _both_sides(moments, by, centre)
    own, models, count = group_means(moments, by), len(centre), len(own_mean)
    weight = np.bincount(group, cells.weight, minlength=count)
    error, df = np.empty((2, count, models))
    for place, at in enumerate(places_of_groups(group, count)):
        a, left, left_sum = np.zeros_like(whole), units.weight.copy(), whole.copy()
        alone = units.n[unit[at]] == cells.n[at]  # No rounding is left where all cases of a period are in the group.
        a[unit[at]] = (sums[at] - cells.weight[at][:, None] * own_mean[place]) / weight[place]
        left[unit[at]] = np.where(alone, 0.0, left[unit[at]] - cells.weight[at])
        left_sum[unit[at]] = np.where(alone[:, None], 0.0, left_sum[unit[at]] - sums[at])
        b = (left_sum - left[:, None] * rest[place]) / others[place]
        sides = Errors(own.error[place], own.df[place]), Errors(*hac(b[left > 0.0]))
        error[place], df[place] = error_of_difference(sides, (a, b), in_time=True)
    return error, df


class _Sides(NamedTuple):
    """Clusters or periods within groups, and as wholes: their moments, places, and sums of losses around the centre."""

    cells: Moments
    units: Moments
    group: NDArray[np.intp]
    unit: NDArray[np.intp]
    whole: Floats
    sums: Floats


def _both_sides(moments: Moments, by: tuple[str, ...], centre: Floats) -> _Sides:
    """Return what clusters or periods contribute to each group, and to all cases."""
    dependence, models = moments.dependence, len(centre)
    assert dependence is not None  # noqa: S101  (for the type checker; used with clusters or periods only)
    cells, units = moments.over(*by, dependence), moments.over(dependence)
    (_, group), (_, unit) = cells.index.only(by), cells.index.only([dependence])
    whole, sums = ((own.mean[:, :models] - centre) * own.weight[:, None] for own in (units, cells))
    return _Sides(cells, units, group, unit, whole, sums)


def _by_group(values: Floats, group: NDArray[np.intp], groups: int) -> Floats:
    return np.stack([np.bincount(group, column, minlength=groups) for column in values.T], axis=1)
