"""Cox's test of calibration: whether the log-odds of the event are those of the forecast."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, logit

from propriety.results import Result
from propriety.tables.forecast_table import ForecastTable

__all__ = ["CoxTest", "cox_test"]

# Log-odds whose variance is a smaller share of their mean square are equal up to rounding.
EQUAL = 1e-24


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class CoxTest(Result):
    r"""Score test of calibration intercept 0 and slope 1; see `cox_test`.

    Parameters
    ----------
    statistic : float
        Score statistic; infinite if a forecast is refuted.
    df : int
        Degrees of freedom: 2, or 1 if all forecasts inside (0, 1) are equal, or 0 if there are none.
    p_value : float
        Its p-value; 0 if a forecast is refuted, and 1 if there is nothing to test.
    information : float
        :math:`\sum w p (1 - p)`, the variance of the number of events if the forecasts are calibrated.
    n_certain : float
        Number (weight, if weighted) of the cases with a forecast of exactly 0 or 1.
    n_refuted : float
        Number (weight, if weighted) of those cases that did not come true.
    n : int
        Number of cases.
    effective_n : float
        Their effective number, to which weights are scaled.
    """

    statistic: float
    df: int
    p_value: float
    information: float
    n_certain: float
    n_refuted: float
    n: int
    effective_n: float


def cox_test(table: ForecastTable) -> CoxTest:
    r"""Test whether calibration intercept and slope are 0 and 1, without fitting them.

    Under the hypothesis :math:`\operatorname{logit} P(Y = 1) = a + b\,x` with :math:`a = 0`, :math:`b = 1` and
    :math:`x = \operatorname{logit} p`, the score and its variance are

    .. math::

       g = \sum w (y - p) \begin{pmatrix} 1 \\ x \end{pmatrix}, \qquad
       V = \sum w p (1 - p) \begin{pmatrix} 1 & x \\ x & x^2 \end{pmatrix},

    and :math:`g^\top V^{-1} g` has approximately a chi-squared distribution with 2 degrees of freedom.

    Parameters
    ----------
    table : ForecastTable
        Forecasts and outcomes; without weights :math:`w = 1`.

    Returns
    -------
    CoxTest
        Statistic, degrees of freedom and p-value.

    Notes
    -----
    Forecasts of exactly 0 or 1 have no log-odds. Those that came true are left out; a single one that did not come
    true refutes the forecasts, whatever the others say.

    The test takes cases for independent. A weighted table does not hold the weights of its cases, so its weights are
    scaled to Kish's effective number of cases, as in `propriety.calibration_summary`. This is an approximation, which
    can be poor if weights depend on forecasts or outcomes.

    The test sees an error of level or slope, and is blind to others, such as a wave around the diagonal;
    `propriety.miscalibration_test` sees these. Forecasts rounded to a coarse grid are tested as rounded.

    References
    ----------
    Cox (1958), doi:10.1093/biomet/45.3-4.562.

    Examples
    --------
    >>> y, p = [0, 0, 0, 1, 0, 1, 1, 1] * 10, [0.1, 0.1, 0.1, 0.1, 0.8, 0.8, 0.8, 0.8] * 10
    >>> test = cox_test(ForecastTable.from_predictions(y, p))
    >>> round(test.statistic, 3), test.df, round(test.p_value, 6)
    (10.625, 2, 0.00493)
    """
    inside = (table.forecast > 0.0) & (table.forecast < 1.0)
    wrong = np.where(table.forecast == 0.0, table.events, table.non_events)
    refuted = float(wrong[~inside].sum())
    information, statistic, df = _score(table, inside)
    if refuted > 0.0:
        statistic, p_value = math.inf, 0.0
    else:
        p_value = float(chdtrc(df, statistic)) if df else 1.0
    return CoxTest(
        statistic=statistic,
        df=df,
        p_value=p_value,
        information=information,
        n_certain=float(table.weights[~inside].sum()),
        n_refuted=refuted,
        n=table.n,
        effective_n=table.effective_n,
    )


def _score(table: ForecastTable, inside: NDArray[np.bool_]) -> tuple[float, float, int]:
    """Return the variance of the number of events, the statistic and its degrees of freedom."""
    scale = table.effective_n / table.weight
    p, events, non_events = table.forecast[inside], scale * table.events[inside], scale * table.non_events[inside]
    x, variance = logit(p), (events + non_events) * p * (1.0 - p)
    residual = events * (1.0 - p) - non_events * p
    information = float(variance.sum())
    if information == 0.0:
        return 0.0, 0.0, 0
    level = float(residual.sum())
    statistic = level * (level / information)
    # Log-odds with their mean removed make V diagonal, which is the same statistic with less rounding.
    centred = x - float(variance @ x) / information
    spread = float(variance @ centred**2)
    if spread <= EQUAL * float(variance @ (1.0 + x**2)):
        return information, statistic, 1
    slope = float(residual @ centred)
    return information, statistic + slope * (slope / spread), 2
