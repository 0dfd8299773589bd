"""Standard errors of means of correlated periods: a long-run variance and a block bootstrap."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from propriety import demands
from propriety.errors import InputValueError
from propriety.result import Floats
from propriety.tables.keys import check_period_labels

FEWEST_PERIODS = 20  # With fewer periods, a resample has at most three blocks.
BLOCK = 2**21  # Block means computed at a time, which bounds the memory.


class Errors(NamedTuple):
    """Standard errors with the degrees of freedom of Student's t; infinite for the normal distribution."""

    standard_error: Floats
    df: Floats


class Estimates(NamedTuple):
    """Estimates of some means, one entry per series; `df` is NaN if no t distribution is used."""

    standard_error: Floats
    df: Floats
    low: Floats
    high: Floats
    p_value: Floats


def student(mean: Floats, standard_error: Floats, df: Floats | float, level: float) -> Estimates:
    """Return intervals and two-sided p-values of means by Student's t.

    Examples
    --------
    >>> student(np.array([2.0]), np.array([1.0]), 9.0, 0.95).p_value.round(4)
    array([0.0766])
    """
    degrees = np.broadcast_to(np.asarray(df, dtype=np.float64), mean.shape)
    with np.errstate(divide="ignore", invalid="ignore"):  # The caller handles means without error.
        half_width = stdtrit(degrees, 0.5 + level / 2.0) * standard_error
        p_value = 2.0 * stdtr(degrees, -np.abs(mean / standard_error))
        return Estimates(standard_error, degrees, mean - half_width, mean + half_width, p_value)


def span_of(periods: int) -> int:
    r"""Return the number of periods over which correlation is considered, :math:`\min(T, \lceil 1.3 \sqrt{T} \rceil)`.

    Examples
    --------
    >>> span_of(50), span_of(1000)
    (10, 42)
    """
    return min(math.ceil(1.3 * math.sqrt(periods)), periods)


def check_periods(periods: Sequence[Any], horizon: int | None) -> None:
    """Raise an error for periods without a natural order, or a horizon beyond them."""
    check_period_labels(periods)
    if horizon is None:
        return
    if isinstance(horizon, bool) or not isinstance(horizon, int | np.integer) or not 1 <= horizon < len(periods):
        law = f"must be a whole number from 1 to the number of periods minus one, {len(periods) - 1:,}"
        raise InputValueError(law, argument="horizon", got=horizon)


def hac(parts: Floats, *, horizon: int | None = None) -> tuple[Floats, Floats]:
    r"""Return the standard error of sums over time, and their degrees of freedom.

    With :math:`c_t` the contribution of period :math:`t` of :math:`T` to the deviation of a mean, so that the
    contributions sum to zero, the squared error is

    .. math::

       \frac{1}{q} \sum_{|k| < S} v_k \sum_t c_t c_{t - |k|}, \qquad
       q = 1 - \frac{1}{T} \sum_{|k| < S} v_k \Bigl(1 - \frac{|k|}{T}\Bigr) .

    Without `horizon`, the weights :math:`v_k = 1 - |k| / S` are Bartlett's, which cannot give a negative square, and
    the span :math:`S` is that of `span_of`; the degrees of freedom are :math:`T / \sum v_k^2`. With it, :math:`v_k = 1`
    and :math:`S` is the horizon, because errors of forecasts that many steps ahead do not overlap further; the degrees
    of freedom are :math:`T - 1`. Then :math:`q` is the correction of Harvey, Leybourne and Newbold for taking
    deviations from the sample mean. Here it is extended to Bartlett weights.

    Parameters
    ----------
    parts : ndarray of shape (periods, series)
        The contributions :math:`c_t` in the order of time.
    horizon : int, optional
        Number of steps ahead of the forecasts.

    Notes
    -----
    If the squared error with equal weights is negative, which is possible, Bartlett weights over the same span are used
    instead.

    References
    ----------
    Newey & West (1987), doi:10.2307/1913610; Harvey, Leybourne & Newbold (1997), doi:10.1016/S0169-2070(96)00719-4;
    Lazarus, Lewis, Stock & Watson (2018), doi:10.1080/07350015.2018.1506926, for the span.

    Examples
    --------
    >>> x = np.array([1.0, 3.0, 2.0, 6.0])
    >>> error, df = hac((x - x.mean())[:, None] / 4, horizon=1)
    >>> error.round(6), df
    (array([1.080123]), array([3.]))
    >>> bool(np.isclose(error[0], x.std(ddof=1) / 2))
    True
    """
    periods = len(parts)
    if periods < 2:
        return np.full(parts.shape[1], np.nan), np.full(parts.shape[1], np.nan)
    span = span_of(periods) if horizon is None else horizon
    bartlett = 1.0 - np.arange(span) / span
    with np.errstate(invalid="ignore"):  # Contributions to an infinite mean.
        falling = _falling(parts, span) / _kept(bartlett, periods)
        if horizon is None:
            return np.sqrt(falling), np.full(parts.shape[1], periods / _two_sided(bartlett**2))
        level = _level(parts, span) / _kept(np.ones(span), periods)
        return np.sqrt(np.where(level > 0.0, level, falling)), np.full(parts.shape[1], periods - 1.0)


def independent_periods(parts: Floats, standard_error: Floats) -> Floats:
    """Return how many independent periods would give sums over time their standard errors by `hac`.

    Examples
    --------
    >>> x = np.repeat(np.random.default_rng(1).normal(size=(50, 1)), 3, axis=0)
    >>> independent_periods(x - x.mean(), hac(x - x.mean())[0]).round()
    array([56.])
    """
    periods = len(parts)
    with np.errstate(divide="ignore", invalid="ignore"):  # Infinite means, and those that do not vary.
        found: Floats = periods * (parts**2).sum(axis=0) * periods / (periods - 1.0) / standard_error**2
    return found


def error_of_difference(errors: tuple[Errors, Errors], parts: tuple[Floats, Floats], *, in_time: bool) -> Errors:
    r"""Return the errors of differences between numbers of two groups of cases, which may share clusters or periods.

    With the errors :math:`s_1, s_2` of both sides and the contributions :math:`a_u, b_u` of the clusters, the squared
    error is :math:`s_1^2 + s_2^2 - 2 \sum_u a_u b_u`. In time, the covariance is that of `hac`. The square is at least
    that of the contributions :math:`a_u - b_u` alone. The degrees of freedom are Welch's; if the sides share clusters,
    and in time, at most those of one side.

    Parameters
    ----------
    errors : tuple of Errors
        Standard errors and degrees of freedom of both sides, of shape (series,).
    parts : tuple of ndarray of shape (units, series)
        Contributions of all clusters, or of all periods in order, to the deviation of either side; 0 where a side has
        no cases.
    in_time : bool
        Whether the units are periods.

    References
    ----------
    Welch (1947), doi:10.1093/biomet/34.1-2.28.

    Examples
    --------
    >>> one = Errors(np.array([3.0]), np.array([10.0]))
    >>> other = Errors(np.array([4.0]), np.array([20.0]))
    >>> apart = (np.array([[3.0], [-3.0], [0.0]]), np.array([[0.0], [0.0], [0.0]]))
    >>> found = error_of_difference((one, other), apart, in_time=False)
    >>> found.standard_error, found.df.round(1)
    (array([5.]), array([29.9]))
    """
    (one, one_df), (other, other_df) = errors
    a, b = parts
    if in_time:
        first, second, least = (hac(own)[0] ** 2 for own in (a, b, a - b))
        shared = first + second - least
    else:
        shared, least = 2.0 * (a * b).sum(axis=0), ((a - b) ** 2).sum(axis=0)
    total = np.maximum(one**2 + other**2 - shared, least)
    with np.errstate(divide="ignore", invalid="ignore"):  # Sides without error, or with infinite degrees of freedom.
        df = (one**2 + other**2) ** 2 / (one**4 / one_df + other**4 / other_df)
    apart = (shared == 0.0) & (not in_time)
    return Errors(np.sqrt(total), np.where(apart, df, np.minimum(df, np.maximum(one_df, other_df))))


def block_bootstrap(mean: Floats, parts: Floats, *, level: float, n_resamples: int, seed: int) -> Estimates:
    r"""Draw blocks of neighbouring periods and return intervals and p-values from the draws.

    A block is `span_of` periods long, and the last period is followed by the first, so that each period is drawn
    equally often. A draw of :math:`k = \lceil T / S \rceil` blocks gives :math:`t^* = m^* / s^*`, from the mean of its
    block means and the standard error of that mean by their spread; the sample gives :math:`t = m / s`, with the error
    :math:`s` of `hac`. The interval is :math:`m \pm q s`, with :math:`q` the quantile of :math:`|t^*|` at the level,
    and the p-value is the share of :math:`|t^*|` that reach :math:`|t|`, counting the sample itself. The interval
    contains 0 if and only if the p-value is above one minus the level.

    Parameters
    ----------
    mean : ndarray of shape (series,)
        The means.
    parts : ndarray of shape (periods, series)
        Contribution of each period to the deviation of the means, as in `hac`.
    level, n_resamples, seed
        Level of the intervals, number and seed of the draws.

    References
    ----------
    Politis & Romano (1992), A circular block-resampling procedure for stationary data, in: Exploring the limits of
    bootstrap; Götze & Künsch (1996), doi:10.1214/aos/1069362303, for dividing by the error of the draw; Hall
    (1988), On symmetric bootstrap confidence intervals, Journal of the Royal Statistical Society B 50, for the form of
    the interval.

    Examples
    --------
    >>> x = np.random.default_rng(1).normal(0.3, 1.0, (100, 1))
    >>> mean = x.mean(axis=0)
    >>> found = block_bootstrap(mean, (x - mean) / 100, level=0.95, n_resamples=999, seed=1)
    >>> bool(found.low[0] < mean[0] < found.high[0])
    True
    """
    periods = len(parts)
    if periods < FEWEST_PERIODS:
        law = f"the block bootstrap needs {FEWEST_PERIODS} periods or more; got {periods}"
        raise InputValueError(law, hint='use method="diebold-mariano".')
    beyond = math.floor((1.0 - level) * (n_resamples + 1) + 1e-9)
    if beyond < 1:
        fewest = math.ceil(1.0 / (1.0 - level) - 1e-9) - 1
        law = demands.enough_for_level(fewest, level)
        raise InputValueError(law, argument="n_resamples", offender=f"got {n_resamples:,}")
    error, _ = hac(parts)
    drawn = np.sort(np.abs(_drawn(parts, n_resamples, seed)), axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):  # The caller handles means without error.
        statistic = np.abs(mean / error)
        half_width = drawn[n_resamples - beyond] * error
        p_value = (1 + np.sum(drawn >= statistic, axis=0)) / (n_resamples + 1)
        p_value = np.where(np.isnan(statistic), np.nan, p_value)
        return Estimates(error, np.full(mean.shape, np.nan), mean - half_width, mean + half_width, p_value)


def _falling(parts: Floats, span: int) -> Floats:
    """Return the sum with Bartlett weights in one pass: the mean square of the sums over windows of the span."""
    nothing = np.zeros((span, parts.shape[1]))
    running = np.cumsum(np.concatenate([nothing, parts, nothing[1:]]), axis=0)
    sums: Floats = np.sum((running[span:] - running[:-span]) ** 2, axis=0) / span
    return sums


def _level(parts: Floats, span: int) -> Floats:
    """Return the sum with equal weights."""
    products = [np.sum(parts[lag:] * parts[: len(parts) - lag], axis=0) for lag in range(span)]
    total: Floats = products[0] + 2.0 * np.sum(products[1:], axis=0)
    return total


def _kept(weights: Floats, periods: int) -> float:
    """Return the share of the variance of independent periods that remains after subtracting the mean."""
    return 1.0 - _two_sided(weights * (1.0 - np.arange(len(weights)) / periods)) / periods


def _two_sided(weights: Floats) -> float:
    return float(weights[0] + 2.0 * weights[1:].sum())


def _drawn(parts: Floats, n_resamples: int, seed: int) -> Floats:
    """Return the statistic of each draw, shape (draws, series)."""
    periods, series = parts.shape
    span = span_of(periods)
    blocks = math.ceil(periods / span)
    running = np.cumsum(np.concatenate([np.zeros((1, series)), parts, parts[: span - 1]]), axis=0)
    with np.errstate(invalid="ignore"):  # Contributions to an infinite mean.
        sums = running[span:] - running[:-span]
    generator = np.random.default_rng(seed)
    statistic = np.empty((n_resamples, series))
    size = max(BLOCK // (blocks * series), 1)
    for start in range(0, n_resamples, size):
        begins = generator.integers(periods, size=(min(size, n_resamples - start), blocks))
        with np.errstate(divide="ignore", invalid="ignore"):  # Equal blocks have no spread.
            drawn = sums[begins]
            average = drawn.mean(axis=1)
            found = average / (drawn.std(axis=1, ddof=1) / math.sqrt(blocks))
        statistic[start : start + len(begins)] = np.where(average == 0.0, 0.0, found)
    return statistic


def places_of_groups(group: NDArray[np.intp], groups: int) -> list[slice]:
    """Return where the entries of each group are; they are sorted by group, and within groups by period.

    Examples
    --------
    >>> places_of_groups(np.array([0, 0, 1]), 2)
    [slice(0, 2, None), slice(2, 3, None)]
    """
    return [slice(*ends) for ends in pairwise(np.searchsorted(group, np.arange(groups + 1)).tolist())]


def sums_of_units(parts: Floats, codes: NDArray[np.intp], units: int) -> Floats:
    """Return the sum of each row of numbers over the cases of every cluster or period.

    Examples
    --------
    >>> sums_of_units(np.array([[1.0, 2.0, 4.0]]), np.array([0, 1, 0]), 3)
    array([[5., 2., 0.]])
    """
    return np.stack([np.bincount(codes, one, minlength=units) for one in parts]).astype(np.float64, copy=False)
