"""Estimating the event rate of cases without labels from their forecasts, if only the event rate has changed."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import expit, logit, ndtri

from propriety.checks import check_choice, check_level
from propriety.errors import InputValueError, ProprietyError
from propriety.inference.estimates import counted
from propriety.result import Floats, Result
from propriety.tables import laws
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.validation import read_unlabelled

__all__ = ["PrevalenceEstimate", "PrevalenceMethod", "estimate_prevalence"]

PrevalenceMethod: TypeAlias = Literal["black-box", "em"]

EDGE = 1e-9  # Event rates are searched from here to one minus this.
STEPS = 64  # Of the log-odds of the event rate, in which its limits are searched.
OUTSIDE = {
    "black-box": "no event rate explains the forecasts at this level: more than the event rate has changed",
    "em": (
        "no event rate explains the forecasts at this level: more than the event rate has changed, or the forecasts "
        "are not calibrated on the labelled cases"
    ),
}
# A function without options for labels and missing values has hints of its own.
HINTS = {
    laws.OUTCOME_LAW.template: "must hold 0 and 1 (or False and True)",
    laws.EVENT_LABEL_HINT.template: "pass {y_true} == event.",
    laws.LABELS_HINT.template: "pass {y_true} == event, and the column of the event.",
    laws.MISSING_HINT.template: "leave such rows out.",
}
UNKNOWN = "the forecasts do not separate events from non-events, so the event rate is not determined"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class PrevalenceEstimate(Result):
    """An estimated event rate of cases without labels; see `propriety.estimate_prevalence`.

    Parameters
    ----------
    value : float
        The estimated event rate; NaN if every event rate explains the forecasts equally well.
    low, high : float
        Limits of its interval; NaN if no event rate explains the forecasts.
    level : float
        Level of the interval.
    method : str
        How it was estimated.
    labelled_rate : float
        Event rate of the labelled cases.
    n_labelled, n_unlabelled : int
        Number of cases with labels and without.
    note : str
        A caveat, if any.
    """

    value: float
    low: float
    high: float
    level: float
    method: PrevalenceMethod
    labelled_rate: float
    n_labelled: int
    n_unlabelled: int
    note: str = ""


def estimate_prevalence(
    y_true: ArrayLike | ForecastTable,
    y_proba: ArrayLike | None = None,
    *,
    unlabelled: ArrayLike,
    method: PrevalenceMethod = "black-box",
    level: float = 0.95,
) -> PrevalenceEstimate:
    r"""Estimate the event rate of cases without labels from their forecasts.

    Both methods assume label shift: the forecasts of events are distributed as among the labelled cases, those of
    non-events too, and only the share of events differs.

    - ``"black-box"`` (black-box shift estimation): with the mean forecasts :math:`m_1` of labelled events,
      :math:`m_0` of labelled non-events and :math:`m` of the cases without labels,

      .. math:: \hat\pi = \frac{m - m_0}{m_1 - m_0}.

      The forecasts need not be calibrated. The limits are Fieller's.
    - ``"em"`` (Saerens and others): the :math:`\pi` that maximises the likelihood of the forecasts without labels,
      :math:`\sum_j \log\left(\pi p_j / \tau + (1 - \pi) (1 - p_j) / (1 - \tau)\right)`, which is also where the EM
      algorithm ends; :math:`\tau` is the mean forecast of the labelled cases. It is more precise, but the forecasts
      must be calibrated on the labelled cases. The limits are those of the score test, with the error of
      :math:`\tau`.

    Parameters
    ----------
    y_true, y_proba
        Binary outcomes and forecasts of the labelled cases, or their `ForecastTable`.
    unlabelled : array-like of shape (m,)
        Forecasts of the cases without labels, by the same model.
    method : {"black-box", "em"}
        How to estimate.
    level : float
        Confidence level of the interval.

    Returns
    -------
    PrevalenceEstimate
        The event rate with its limits.

    Notes
    -----
    In `studies/prevalence.py`, 95% limits had a coverage of 93 to 96% with calibrated forecasts for both methods, and
    with forecasts that are too extreme for ``"black-box"`` only.

    References
    ----------
    Saerens, Latinne & Decaestecker (2002), doi:10.1162/089976602753284446; Lipton, Wang & Smola (2018),
    arXiv:1802.03916; Fieller (1954), doi:10.1111/j.2517-6161.1954.tb00159.x.

    Examples
    --------
    >>> y, p = [0, 0, 1, 0, 1, 1] * 50, [0.1, 0.2, 0.4, 0.5, 0.7, 0.9] * 50
    >>> found = estimate_prevalence(y, p, unlabelled=[0.1, 0.2, 0.2, 0.5, 0.9] * 60)
    >>> round(found.low, 2), round(found.value, 2), round(found.high, 2), found.labelled_rate
    (0.18, 0.28, 0.38, 0.5)
    """
    check_choice("method", method, get_args(PrevalenceMethod))
    check_level(level)
    try:
        table = ForecastTable.of(y_true, y_proba)
    except ProprietyError as error:
        error.aliases |= HINTS
        raise
    forecasts = _read_forecasts(unlabelled)
    if not 1 < table.n_events < table.n - 1:
        law = "must hold at least two events and two non-events"
        offender = f"it holds {counted(table.n_events, 'event')} in {counted(table.n, 'case')}"
        raise InputValueError(law, argument="y_true", offender=offender)
    z = float(ndtri((1.0 + level) / 2.0))
    value, low, high = (_by_means if method == "black-box" else _by_likelihood)(table, forecasts, z)
    note = OUTSIDE[method] if math.isnan(low) else "" if math.isfinite(low) else UNKNOWN
    value, low, high = (min(max(one, 0.0), 1.0) for one in (value, low, high))
    return PrevalenceEstimate(
        value=value,
        low=low,
        high=high,
        level=level,
        method=method,
        labelled_rate=table.event_rate,
        n_labelled=table.n,
        n_unlabelled=len(forecasts),
        note=note,
    )


def _read_forecasts(unlabelled: object) -> Floats:
    found = read_unlabelled(unlabelled, "unlabelled")
    if len(found) < 2:
        raise InputValueError("must hold at least two forecasts", argument="unlabelled", offender="got 1")
    return np.sort(found)


def _by_means(table: ForecastTable, forecasts: Floats, z: float) -> tuple[float, float, float]:
    """Return the ratio of differences of mean forecasts and its limits by Fieller; infinite if not determined."""
    of_events, error_1 = _mean(table.forecast, table.events, table.event_squares, table.n_events)
    of_others, error_0 = _mean(table.forecast, table.non_events, table.non_event_squares, table.n - table.n_events)
    mean, error = float(forecasts.mean()), float(forecasts.var(ddof=1)) / len(forecasts)
    gap, rise = of_events - of_others, mean - of_others
    # The limits solve (rise - pi gap)^2 = z^2 (error + pi^2 error_1 + (1 - pi)^2 error_0).
    square = gap**2 - z**2 * (error_1 + error_0)
    if square <= 0.0:
        return rise / gap if gap else math.nan, -math.inf, math.inf
    middle = (rise * gap - z**2 * error_0) / square
    spread = math.sqrt(max(middle**2 - (rise**2 - z**2 * (error + error_0)) / square, 0.0))
    low, high = middle - spread, middle + spread
    return (rise / gap, low, high) if low <= 1.0 and high >= 0.0 else (rise / gap, math.nan, math.nan)


def _mean(forecast: Floats, weight: Floats, squares: Floats, n: int) -> tuple[float, float]:
    """Return the mean forecast of the cases with one outcome and its squared standard error."""
    mean = float(weight @ forecast / weight.sum())
    return mean, float(squares @ (forecast - mean) ** 2) * n / (n - 1) / float(weight.sum()) ** 2


def _by_likelihood(table: ForecastTable, forecasts: Floats, z: float) -> tuple[float, float, float]:
    """Return the event rate with the highest likelihood, and those that the score test does not reject."""
    squares = table.event_squares + table.non_event_squares
    rate, error = _mean(table.forecast, table.weights, squares, table.n)
    if not 1e-300 < rate < 1.0:
        law = f'the mean forecast of the labelled cases must be above 1e-300 and below 1 for method="em"; it is {rate}'
        raise InputValueError(law)
    event, other = forecasts / rate, (1.0 - forecasts) / (1.0 - rate)
    if np.abs(event - other).max() <= EDGE:  # The likelihood is the same for all event rates.
        return math.nan, -math.inf, math.inf

    def standardised(at: float) -> float:
        mixture = at * event + (1.0 - at) * other
        score = (event - other) / mixture
        # By the mean forecast; in this order, forecasts far above the mean do not leave the range of numbers.
        slope = float((-(event / mixture) * (other / mixture)).sum()) * (1.0 / rate + 1.0 / (1.0 - rate))
        return float(score.sum()) / math.sqrt(float(score @ score) + slope**2 * error)

    ends = standardised(EDGE), standardised(1.0 - EDGE)
    if ends[0] < -z or ends[1] > z:
        return float(ends[1] > z), math.nan, math.nan
    # The sum of the scores falls as the rate rises, so that it changes its sign once.
    value = float(ends[1] >= 0.0)
    if ends[0] > 0.0 > ends[1]:
        value = float(brentq(standardised, EDGE, 1.0 - EDGE, xtol=1e-12))

    def limit(level: float, end: float) -> float:
        """Return the first rate between the value and an end of the range that the test rejects, or that end."""
        # Divided by its error, the score may fall again beyond the limit: a few extreme forecasts dominate there.
        start, stop = np.clip([value, end], EDGE, 1.0 - EDGE)
        steps = expit(np.linspace(logit(start), logit(stop), STEPS)).tolist()
        for before, at in itertools.pairwise(steps):
            if standardised(at) * math.copysign(1.0, level) >= abs(level):
                return float(brentq(lambda rate: standardised(rate) - level, before, at, xtol=1e-12))
        return end

    return value, limit(z, 0.0), limit(-z, 1.0)
