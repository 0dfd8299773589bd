"""Inference with few events: a test that allows for skewness, and limits of means that depend on few events."""

from __future__ import annotations

import numpy as np
from scipy.special import chdtri, gammainc, gammaincc, ndtri, stdtrit

from propriety.ledger.moments import OUTCOME, Moments
from propriety.result import Floats

SKEWED = 0.1  # With a larger skewness of a sum, Student's t is not used alone; see `studies/few_events.py`.
FEW = 50  # With fewer events or non-events, the limits of a mean are those of a sum of rare losses.
RARE, FEWEST_CASES = 0.2, 20  # Largest share of a rare outcome, and fewest cases to determine it.
EVEN = 0.25  # Smallest ratio of equivalent equal losses to rare outcomes for those limits.
NORMAL = 1e-5  # Smaller skewness counts as none; it changes a p-value by a relative 1e-5.


def rarest(moments: Moments) -> int:
    """Return the number of cases with the rarest outcome; 0 if all outcomes are the same."""
    by_outcome = moments.over(OUTCOME)
    return int(by_outcome.n.min()) if len(by_outcome.n) > 1 else 0


def tail_of_skewed(z: Floats, skewness: Floats) -> Floats:
    """Return the two-sided p-value of a standardised skewed sum: twice the smaller tail of Pearson type III.

    Examples
    --------
    >>> tail_of_skewed(np.array([1.96, 1.96, -1.96]), np.array([0.0, 0.5, 0.5])).round(3)
    array([0.05 , 0.074, 0.02 ])
    """
    turned = np.where(skewness < 0.0, -z, z)
    shape = 4.0 / np.maximum(np.abs(skewness), NORMAL) ** 2
    at = np.maximum(shape + np.sqrt(shape) * turned, 0.0)
    p_value: Floats = np.minimum(2.0 * np.minimum(gammainc(shape, at), gammaincc(shape, at)), 1.0)
    return p_value


def errors_of_even_models(
    moments: Moments, values: Floats, standard_error: Floats, df: Floats, inflation: Floats
) -> Floats:
    r"""Return the errors of differences, widened so that Student's t allows for the skewness of few events.

    If the two models were equally good in every case, the sum of their differences would have the variance and the
    third moment that `Moments` holds. If its skewness exceeds 0.1, the p-value is the larger of Student's and that of
    Pearson type III with these moments, and the error is the one that gives Student's t this p-value, so that intervals
    and tests agree. Correlation inflates the variance by a factor :math:`f`, and the skewness by :math:`\sqrt{f}`, as
    if cases came in copies.

    Parameters
    ----------
    moments : Moments
        Moments of one event.
    values, standard_error, df, inflation : ndarray of shape (series,)
        Means of the series, their errors, degrees of freedom, and the factor by which correlation inflates their
        variance.

    Returns
    -------
    ndarray of shape (series,)
        The errors; NaN if the moments are not known.
    """
    total = moments.over()
    squares, cubes = total.even_squares[0], total.even_cubes[0]
    errors = widened_errors(values, standard_error, df, float(total.weight[0]), squares, cubes, inflation)
    return np.where(np.isnan(squares), np.nan, errors)


def widened_errors(
    values: Floats, error: Floats, df: Floats, weight: float, squares: Floats, cubes: Floats, inflation: Floats
) -> Floats:
    """Return the errors of `errors_of_even_models` from the second and third moments of even models.

    Examples
    --------
    >>> one = np.ones(1)
    >>> widened_errors(0.02 * one, 0.008 * one, 999.0 * one, 1000.0, 64.0 * one, 600.0 * one, one).round(4)
    array([0.01])
    """
    variance = squares * inflation
    with np.errstate(divide="ignore", invalid="ignore"):  # Single models, and pairs that never differ.
        skewness = cubes / squares**1.5 * np.sqrt(inflation)
        z = values * weight / np.sqrt(variance)
        p_value = tail_of_skewed(z, skewness)
        # Near the centre of a skewed distribution, the p-value does not reflect its spread.
        apart = np.abs(z) >= 1.0
        as_error = np.where(apart, np.abs(values) / -stdtrit(df, p_value / 2.0), np.sqrt(variance) / weight)
        return np.where(np.abs(skewness) > SKEWED, np.fmax(error, as_error), error)


def limits_of_rare(moments: Moments, inflation: Floats, level: float) -> tuple[Floats, Floats]:
    r"""Return limits of mean losses that depend on few events or non-events; NaN if Student's t is better.

    The mean is :math:`m_0 + Y / n`, with the mean loss :math:`m_0` of the frequent outcome and the sum :math:`Y`, over
    the rare outcome, of the excess of its losses over that. The limits of :math:`Y` are those of a weighted sum of rare
    events, from the gamma distribution with its mean and variance :math:`v`:

    .. math:: \frac{v}{2 Y} \chi^2_{2 Y^2 / v}(\alpha / 2), \qquad
              \frac{v + w^2}{2 (Y + w)} \chi^2_{2 (Y + w)^2 / (v + w^2)}(1 - \alpha / 2), \qquad w = v / Y,

    and the noise of :math:`m_0` is added to the squares of their distances.

    References
    ----------
    Fay & Feuer (1997), doi:10.1002/(SICI)1097-0258(19970415)16:7<791::AID-SIM500>3.0.CO;2-#; Tiwari, Clegg & Zou
    (2006), doi:10.1177/0962280206070621, for the mean weight in the upper limit.
    """
    cells, total = moments.over(OUTCOME), moments.over()
    unknown = np.full(total.mean.shape[1], np.nan)
    n = int(total.n[0])
    if len(cells.n) != 2 or n < FEWEST_CASES or cells.n.min() > min(RARE * n, FEW * inflation.max()):
        return unknown, unknown
    rare, other = np.argsort(cells.n, kind="stable")
    weight, tail = float(total.weight[0]), (1.0 - level) / 2.0
    with np.errstate(divide="ignore", invalid="ignore"):
        gap = cells.mean[rare] - cells.mean[other]
        size = cells.weight[rare] * np.abs(gap)
        # In terms of losses relative to the mean of the frequent outcome: their own squares, and those of their number.
        squares = cells.spread[rare] + gap * (2.0 * cells.lean[rare] + gap * cells.weight_squares[rare])
        squares = (squares - size**2 * (total.weight_squares[0] / weight**2)) * inflation
        even = size**2 / squares  # Number of equal losses with that mean and variance.
        mean = squares / size
        upper = size + mean
        widest = squares + mean**2
        low = size - squares / size * chdtri(2.0 * even, 1.0 - tail) / 2.0
        high = widest / upper * chdtri(2.0 * upper**2 / widest, tail) / 2.0 - size
        noise = float(-ndtri(tail)) ** 2 * cells.spread[other] * inflation
        below, above = (np.sqrt(part**2 + noise) / weight for part in (low, high))
        below, above = np.where(gap > 0.0, below, above), np.where(gap > 0.0, above, below)
        held = (cells.n[rare] < FEW * inflation) & (even * inflation >= EVEN * cells.n[rare]) & (size > 0.0)
    value = total.mean[0]
    return np.where(held, value - below, np.nan), np.where(held, value + above, np.nan)
