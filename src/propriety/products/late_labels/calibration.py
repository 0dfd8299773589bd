"""Test of calibration from events reported so far."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from propriety.products.late_labels.delays import ReportingDelays
from propriety.result import Floats

FEW_EXPECTED = 20.0  # With fewer expected reports, chi-squared is not the distribution of the statistic.
DRAWS = 4_999
SEED = 0
ROUNDING = 1e-9  # A drawn statistic that equals the observed one may differ from it by rounding.


def p_value_of_reports(
    p: Floats, count: Floats, age: NDArray[np.intp], event: NDArray[np.bool_], delays: ReportingDelays
) -> float:
    """Return the p-value of the score test of Cox's intercept and slope, for reported events.

    With fewer than 20 expected reports, it is the larger of two p-values: that of chi-squared, and that of sets of
    reports drawn for calibrated forecasts, to which normal errors of the delays are added. The seed is fixed.

    Parameters
    ----------
    p, count : ndarray of shape (cells,)
        Forecast and number of cases.
    age : ndarray of shape (cells,)
        Age of the cases in days.
    event : ndarray of shape (cells,)
        Whether their event is reported.
    delays : ReportingDelays
        The share of events reported by each age.
    """
    inside = (p > 0.0) & (p < 1.0) & (delays.share[age] > 0.0)
    p, count, age, event = p[inside], count[inside], age[inside], event[inside]
    if len(p) == 0 or p.min() == p.max():
        return math.nan
    rate = p * delays.share[age]
    log_odds = np.log(p) - np.log1p(-p)
    # Centred where the information is: with tiny forecasts, both sums would be the same but for rounding.
    known = count * rate * (1.0 - rate) * ((1.0 - p) / (1.0 - rate)) ** 2
    log_odds -= float(known @ log_odds) / float(known.sum())
    gradient = np.stack([np.ones(len(p)), log_odds]) * ((1.0 - p) / (1.0 - rate))
    columns = [np.bincount(age, one, minlength=len(delays.share)) for one in gradient * (count * rate)]
    error = delays.variance(np.array(columns, dtype=np.float64))
    variance = (gradient * (count * rate * (1.0 - rate))) @ gradient.T + error
    size = np.sqrt(np.diag(variance))
    if not (size > 0.0).all():
        return math.nan
    correlation = variance / np.outer(size, size)
    with np.errstate(over="ignore"):  # An event with a forecast of almost 0.
        found = _statistic((gradient @ (count * (event - rate))) / size, correlation)
    p_value = float(chdtrc(2.0, float(found)))
    if float(count @ rate) >= FEW_EXPECTED:
        return p_value
    generator = np.random.default_rng(SEED)
    order = np.lexsort((p, age))  # The same cases have the same p-value in any order, also in a ledger.
    drawn = _drawn_sums(gradient[:, order], count[order], rate[order], generator)
    values, vectors = np.linalg.eigh(error)
    drawn += (vectors * np.sqrt(np.maximum(values, 0.0))) @ generator.normal(size=(2, DRAWS))
    reached = _statistic(drawn / size[:, None], correlation) >= found * (1.0 - ROUNDING)
    return max(p_value, (1.0 + float(reached.sum())) / (1.0 + DRAWS))


def _statistic(sums: Floats, correlation: Floats) -> Floats:
    found: Floats = (sums * np.linalg.solve(correlation, sums)).sum(axis=0)
    return found


def _drawn_sums(gradient: Floats, count: Floats, rate: Floats, generator: np.random.Generator) -> Floats:
    r"""Return the sums of :math:`g_i (y^*_i - r_i)` of drawn reports, one column per draw.

    A case is reported if at least one point of a Poisson process falls on it, whose intensity is
    :math:`-\log(1 - r_i)`: the time that this takes depends on the number of reports, not of cases.
    """
    intensity = -np.log1p(-rate)
    end = np.cumsum(count * intensity)
    number = generator.poisson(end[-1], DRAWS)
    draw = np.repeat(np.arange(DRAWS), number)
    point = generator.random(len(draw)) * end[-1]
    cell = np.minimum(np.searchsorted(end, point, side="right"), len(end) - 1)
    place = (end[cell] - point) // intensity[cell]
    case = np.cumsum(count)[cell] - 1.0 - np.minimum(place, count[cell] - 1.0)
    first = np.unique(draw * count.sum() + case, return_index=True)[1]
    draw, cell = draw[first], cell[first]
    sums = np.stack([np.bincount(draw, one[cell], minlength=DRAWS) for one in gradient])
    return sums - (gradient @ (count * rate))[:, None]
