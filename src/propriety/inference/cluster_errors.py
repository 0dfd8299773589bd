"""Standard errors of means of cases in clusters of unequal size, from sums of each cluster."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety.ledger.moments import Moments
from propriety.result import Floats


class ClusterSums(NamedTuple):
    """Sums of each cluster, one row each, for some series, one column each.

    Parameters
    ----------
    n : ndarray of shape (clusters,)
        Number of cases.
    weight, weight_squares : ndarray of shape (clusters,)
        Sums of the weights and of their squares.
    deviation : ndarray of shape (clusters, series)
        Weight of the cluster times the deviation of its mean from the overall mean; they sum to zero.
    spread : ndarray of shape (clusters, series)
        Sum of the squared weighted deviations of its cases from its own mean.
    """

    n: Floats
    weight: Floats
    weight_squares: Floats
    deviation: Floats
    spread: Floats


class ClusterErrors(NamedTuple):
    """Standard errors and degrees of freedom, of shape (groups, series), and the factor of the plain squared error."""

    standard_error: Floats
    df: Floats
    factor: Floats


def sums_by_cluster(moments: Moments) -> ClusterSums:
    """Return the sums of each cluster, or period, of moments."""
    assert moments.dependence is not None  # noqa: S101  (for the type checker; used with clusters only)
    units = moments.over(moments.dependence)
    with np.errstate(invalid="ignore"):  # Infinite losses.
        deviation = units.weight[:, None] * (units.mean - moments.means)
    return ClusterSums(units.n.astype(np.float64), units.weight, units.weight_squares, deviation, units.spread)


def cluster_errors(sums: ClusterSums, group: NDArray[np.intp] | None = None, groups: int = 1) -> ClusterErrors:
    r"""Return standard errors of weighted means of cases correlated within clusters, for each group of clusters.

    With the shares :math:`s_g = W_g / W` and the deviations :math:`r_g = W_g (m_g - m)` of the clusters, the squared
    error is :math:`\sum_g r_g^2 / (c W^2)`. Large clusters pull the mean towards themselves, so that their deviations
    are too small. Under a working model with variance :math:`v_g = \sigma^2 q_g + \tau^2 W_g^2` of the sum of a
    cluster, with :math:`q_g` its sum of squared weights, the covariance of the deviations is

    .. math:: R_{gh} = v_g [g = h] - s_h v_g - s_g v_h + s_g s_h V, \qquad V = \sum_g v_g ,

    and :math:`c = \sum_g R_{gg} / V` makes the squared error unbiased. Its degrees of freedom are Satterthwaite's,
    :math:`(\sum_g R_{gg})^2 / \sum_{gh} R_{gh}^2`. :math:`\sigma^2` is the variance within clusters, and :math:`\tau^2`
    the variance of the deviations beyond it, at least 0. Clusters of equal size have the usual factor :math:`G / (G -
    1)` and :math:`G - 1` degrees of freedom whatever the model.

    References
    ----------
    Bell & McCaffrey (2002), Bias reduction in standard errors for linear regression with multi-stage samples, Survey
    Methodology 28; Imbens & Kolesár (2016), doi:10.1162/REST_a_00552, for the working model.

    Examples
    --------
    >>> size = np.array([10.0, 10.0, 10.0, 10.0])
    >>> deviation = np.array([[1.0], [-2.0], [3.0], [-2.0]])
    >>> found = cluster_errors(ClusterSums(size, size, size, deviation, np.full((4, 1), 5.0)))
    >>> found.df.round(6), (found.factor * 3 / 4).round(6)
    (array([[3.]]), array([[1.]]))
    """
    codes = np.zeros(len(sums.n), dtype=np.intp) if group is None else group

    def total(values: Floats) -> Floats:
        return np.stack([np.bincount(codes, column, minlength=groups) for column in values.T], axis=1)

    with np.errstate(divide="ignore", invalid="ignore"):  # Infinite losses, or a single cluster.
        weight = np.bincount(codes, sums.weight, minlength=groups)[:, None]
        share = sums.weight[:, None] / weight[codes]
        plain = total(sums.deviation**2)
        within, between = sums.weight_squares[:, None], sums.weight[:, None] ** 2
        kept, spread = total(within * (1.0 - 1.0 / sums.n[:, None])), total(sums.spread)
        inside = np.where(kept > 0.0, spread / np.where(kept > 0.0, kept, 1.0), 0.0)
        expected = [total(_diagonal(one, total(one)[codes], share)) for one in (within, between)]
        beyond = np.where(expected[1] > 0.0, np.maximum(plain - inside * expected[0], 0.0) / expected[1], 0.0)
        flat = (inside == 0.0) & (beyond == 0.0)
        inside = np.where(flat, 1.0, inside)  # Nothing varies, so any model gives an error of 0.
        variance = inside[codes] * within + beyond[codes] * between
        whole = total(variance)
        diagonal = _diagonal(variance, whole[codes], share)
        trace = total(diagonal)
        # Squares of all entries; those off the diagonal come from -s v' - v s' + V s s'.
        ss, sv, vv = total(share**2), total(share * variance), total(variance**2)
        outer = 2.0 * ss * vv + 2.0 * sv**2 + whole**2 * ss**2 - 4.0 * whole * ss * sv
        own = total((whole[codes] * share**2 - 2.0 * share * variance) ** 2)
        df = trace**2 / (outer - own + total(diagonal**2))
        factor = whole / trace
        alone = np.bincount(codes, minlength=groups)[:, None] < 2
        error = np.where(alone, np.nan, np.sqrt(plain * factor) / weight)
        return ClusterErrors(error, np.where(alone, np.nan, df), np.where(alone, np.nan, factor))


def effective_number(weight: Floats) -> float:
    r"""Return the effective number of clusters of equal size, :math:`(\sum W_g)^2 / \sum W_g^2`.

    Examples
    --------
    >>> effective_number(np.array([5.0, 5.0])), round(effective_number(np.array([98.0, 1.0, 1.0])), 2)
    (2.0, 1.04)
    """
    return float(weight.sum() ** 2 / (weight**2).sum())


def _diagonal(variance: Floats, whole: Floats, share: Floats) -> Floats:
    diagonal: Floats = variance * (1.0 - 2.0 * share) + share**2 * whole
    return diagonal
