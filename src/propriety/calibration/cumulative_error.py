"""The cumulative calibration error, ECCE: Kuiper's and Kolmogorov and Smirnov's statistics of the residuals."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from propriety.result import Floats, Result
from propriety.tables.censored_outcomes import check_known
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.labels import Labels
from propriety.tables.pooling import running_sum
from propriety.tables.validation import Missing

FEWEST = 50.0  # Variance of the events from which the limit distributions are close.


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class CumulativeCalibrationError(Result):
    """Cumulative differences between outcomes and forecasts, one row per forecast.

    See `cumulative_calibration_error`.

    Parameters
    ----------
    forecast : array of shape (rows,)
        Distinct forecasts, increasing.
    coverage : array of shape (rows,)
        Share of the cases with at most this forecast.
    difference : array of shape (rows,)
        Sum of outcome minus forecast of these cases, divided by the number of all cases.
    kuiper, kuiper_p_value : float
        Range of the differences (ECCE-R), including 0, and the p-value for calibrated forecasts.
    kolmogorov_smirnov, kolmogorov_smirnov_p_value : float
        Largest absolute difference (ECCE-MAD), and its p-value.
    sigma : float
        Standard deviation of the last difference for calibrated forecasts, the scale of both statistics.
    n, dropped : int
        Number of cases, and of rows left out because of missing values.
    note : str
        A caveat, if the p-values are approximate.
    """

    forecast: Floats
    coverage: Floats
    difference: Floats
    kuiper: float
    kuiper_p_value: float
    kolmogorov_smirnov: float
    kolmogorov_smirnov_p_value: float
    sigma: float
    n: int
    dropped: int = 0
    note: str = ""


def cumulative_calibration_error(
    y_true: ArrayLike | ForecastTable,
    y_proba: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Hashable | None = None,
    labels: Labels | None = None,
    missing: Missing = "raise",
) -> CumulativeCalibrationError:
    r"""Compute the cumulative calibration error, ECCE, which needs no bins.

    .. math::

       C_k = \frac1n \sum_{j=1}^{k} (y_j - p_j), \qquad
       \mathrm{Kuiper} = \max_{0 \le k \le n} C_k - \min_{0 \le k \le n} C_k, \qquad
       \mathrm{KS} = \max_k |C_k|

    in the order of the forecasts. Kuiper's statistic is the largest difference, in absolute value, between events and
    expected events in any range of forecasts, per case. Equal forecasts are one step, so the order of the rows does not
    matter. For calibrated forecasts and many cases, the statistics divided by
    :math:`\sigma = \sqrt{\sum p (1 - p)} / n` are the range and the largest absolute value of Brownian motion on
    [0, 1], from which the p-values follow.

    Parameters
    ----------
    y_true, y_proba, sample_weight, pos_label, labels, missing
        As in `propriety.mean_score`; a ForecastTable replaces predictions.

    Notes
    -----
    Without ties, `kuiper` is ``ecce`` and `kuiper / sigma` is ``ecce_sigma`` of MCGrad. Among equal forecasts, MCGrad
    takes a step for each row, so its values depend on the order of the rows and are at least as large as these.

    Steps of discrete forecasts make the p-values conservative. Cases are independent, and weights carry no information
    about outcomes. The test of `propriety.calibration_summary` also allows for clusters, times and weights of cases and
    controls, and says in which direction the forecasts are wrong.

    References
    ----------
    Arrieta-Ibarra et al. (2022), arXiv:2205.09680; Feller (1951), doi:10.1214/aoms/1177729589, for the range.

    Examples
    --------
    >>> import numpy as np
    >>> import propriety as pr
    >>> rng = np.random.default_rng(1)
    >>> p = rng.random(2000)
    >>> found = pr.cumulative_calibration_error(rng.random(2000) < p**1.2, p)
    >>> round(found.kuiper, 4), found.kuiper_p_value < 0.001, round(found.kuiper / found.sigma, 2)
    (0.0375, True, 4.1)
    """
    check_known(y_true, hint="use calibration_summary.")
    table = ForecastTable.of(
        y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label, labels=labels, missing=missing
    )
    difference = running_sum(table.events - table.weights * table.forecast) / table.weight
    squares = table.event_squares + table.non_event_squares
    variance = float(squares @ (table.forecast * (1.0 - table.forecast)))
    sigma = math.sqrt(variance) / table.weight
    kuiper = float(max(difference.max(), 0.0) - min(difference.min(), 0.0))
    largest = float(np.abs(difference).max())
    spread = float(table.weights @ (table.forecast * (1.0 - table.forecast)))
    independent = spread**2 / variance if variance > 0.0 else 0.0  # In units of cases.
    return CumulativeCalibrationError(
        forecast=table.forecast,
        coverage=running_sum(table.weights) / table.weight,
        difference=difference,
        kuiper=kuiper,
        kuiper_p_value=_p_value(kuiper, sigma, range_exceeds),
        kolmogorov_smirnov=largest,
        kolmogorov_smirnov_p_value=_p_value(largest, sigma, absolute_exceeds),
        sigma=sigma,
        n=table.n,
        dropped=table.dropped,
        note="" if independent >= FEWEST else "based on few uncertain outcomes: the p-values are approximate",
    )


def _p_value(statistic: float, sigma: float, exceeds: Callable[[float], float]) -> float:
    if sigma == 0.0:  # All forecasts are certain.
        return 1.0 if statistic == 0.0 else 0.0
    return exceeds(statistic / sigma)


def range_exceeds(size: float) -> float:
    """Return the probability that the range of Brownian motion on [0, 1] exceeds a number.

    Examples
    --------
    >>> round(range_exceeds(2.4977), 4)
    0.05
    """
    if size < 0.5:
        return 1.0  # Up to 1e-7.
    k = np.arange(1, 41)
    return float(np.clip(8.0 * ((-1.0) ** (k - 1) * k * ndtr(-k * size)).sum(), 0.0, 1.0))


def absolute_exceeds(size: float) -> float:
    """Return the probability that the largest absolute value of Brownian motion on [0, 1] exceeds a number.

    Examples
    --------
    >>> round(absolute_exceeds(2.2414), 4)
    0.05
    """
    if size < 0.2:
        return 1.0  # Up to 1e-13.
    k = np.arange(100)
    return float(np.clip(4.0 * ((-1.0) ** k * ndtr(-(2 * k + 1) * size)).sum(), 0.0, 1.0))
