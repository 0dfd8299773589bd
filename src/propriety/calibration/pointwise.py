r"""Confidence limits of the event rate at each forecast, from the pooled blocks.

Isotonic regression pools the cases into blocks; block j with :math:`n_j` cases has an event rate :math:`\hat r_j`. For
each block take the Clopper-Pearson limits at :math:`\alpha = 2\,(1 - \Phi(c))`. If the rate does not decrease with the
forecast, it lies above the lower limits of all earlier blocks and below the upper limits of all later ones. At a
forecast in block J, the limits are therefore the highest lower limit of the blocks up to J and the lowest upper limit
of those from J on. With r the true rate at the forecast, and for large blocks, they contain it unless

.. math:: \frac{1}{\sqrt{r (1 - r)}} \max\Bigl(\max_{j \le J} \sqrt{n_j}\,(\hat r_j - r),\;
          \max_{j \ge J} \sqrt{n_j}\,(r - \hat r_j)\Bigr) > c .

The blocks are chosen by the outcomes, so this is not a normal variable. But, as Deng, Han and Zhang found for block J,
its distribution in large samples depends only on whether the curve rises or is flat at the forecast; neither its slope
nor the density of the forecasts has to be estimated. `CRITICAL` has the larger of two simulated quantiles
(`studies/pointwise.py`), rounded up to a tenth: that of a rising curve, and that of a flat curve with 5% of the cases
on one side.

Clopper-Pearson limits are wider than needed if a block has few events or few non-events. In `studies/pointwise.py`, 95%
limits cover the true rate in 93 to 100% of samples: in 99 to 100% at both ends of a steep curve, where the rate is very
close to 0 or 1, and in 97 to 100% with 2% events and 200 or 500 cases.

Resampling from the isotonic regression does not give valid limits: that bootstrap is inconsistent (Sen, Banerjee and
Woodroofe).

References
----------
Deng, Han & Zhang (2021), doi:10.1214/20-AOS2025; Sen, Banerjee & Woodroofe (2010), doi:10.1214/09-AOS777; Clopper &
Pearson (1934), doi:10.1093/biomet/26.4.404.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from propriety.calibration.pav import Blocks
from propriety.errors import InputValueError
from propriety.result import Floats
from propriety.tables.forecast_table import ForecastTable

CRITICAL = {0.5: 0.9, 0.6: 1.1, 0.7: 1.3, 0.8: 1.5, 0.9: 1.9, 0.95: 2.2, 0.98: 2.7, 0.99: 3.1, 0.995: 3.5, 0.999: 4.3}
MORE = 10.0  # Cases of the usual weight that are added to a group.
LEAST = 1e-12  # Replaces zero events, for which the beta quantile is not defined.


def critical_value(level: float) -> float:
    """Return the critical value c of the module; between tabulated levels it is linear in the normal quantile.

    Examples
    --------
    >>> critical_value(0.9), round(critical_value(0.97), 2)
    (1.9, 2.49)
    """
    known = list(CRITICAL)
    if not isinstance(level, float | int) or not known[0] <= level <= known[-1]:
        law = f"the level of a confidence band must lie between {known[0]:g} and {known[-1]:g}; got {level!r}"
        raise InputValueError(law, hint="its critical values were simulated for these levels.")
    normal = special.ndtri(0.5 + np.array([level, *known]) / 2.0)
    return float(np.interp(normal[0], normal[1:], list(CRITICAL.values())))


def pointwise_limits(table: ForecastTable, blocks: Blocks, level: float) -> tuple[Floats, Floats]:
    r"""Return the lower and the upper limit of the true event rate in each block.

    Parameters
    ----------
    table : ForecastTable
        Forecasts and outcomes. A block of weighted cases counts as the number of cases without weights whose rate
        has the same variance.
    blocks : Blocks
        The blocks of isotonic regression of the table.
    level : float
        Coverage probability of the limits at each forecast separately, from 0.5 to 0.999.

    Examples
    --------
    >>> from propriety.calibration.pav import pool_adjacent_violators
    >>> table = ForecastTable(forecast=[0.2, 0.6, 0.7], events=[4, 25, 20], non_events=[46, 25, 30])
    >>> lower, upper = pointwise_limits(table, pool_adjacent_violators(table), 0.9)
    >>> lower.round(3), upper.round(3)
    (array([0.023, 0.353]), array([0.189, 0.55 ]))
    """
    tail = special.ndtr(-critical_value(level))
    cases_per_weight = 1.0 / _usual_weight(table, blocks)
    events, non_events = blocks.events * cases_per_weight, blocks.non_events * cases_per_weight
    lower, upper = _least_rate(events, non_events, tail), 1.0 - _least_rate(non_events, events, tail)
    return np.maximum.accumulate(lower), np.minimum.accumulate(upper[::-1])[::-1]


def usual_weights(table: ForecastTable) -> tuple[float, float]:
    """Return the sum of the squared weights over that of the weights, of events and of non-events.

    Outcomes may have weights of very different size, as in a case-control study, but those of a few cases may also be
    small by chance. So each is at least the geometric mean of its own and of that of all cases, which counts as ten
    cases.
    """
    everywhere = table.weight_squares / table.weight

    def usual(total: float, squares: float) -> float:
        if total == 0.0:
            return everywhere
        own, cases = squares / total, total**2 / squares
        return max(own, float(own ** (cases / (cases + MORE)) * everywhere ** (MORE / (cases + MORE))))

    events = usual(float(table.events.sum()), float(table.event_squares.sum()))
    return events, usual(float(table.non_events.sum()), float(table.non_event_squares.sum()))


def weight_of_one(total: Floats, squares: Floats, usual: ArrayLike) -> Floats:
    r"""Return the weight of a case of a group in the variance of a share, :math:`\sum w^2 / \sum w`.

    The few cases of a group may have small weights by chance, which would make limits too narrow. So it is at least
    that of its cases and ten more of the usual weight, which is the weight of a group without cases.

    Parameters
    ----------
    total, squares : ndarray
        Sums of the weights of the groups and of their squares.
    usual : float or ndarray
        The same quotient for all cases of the outcome.

    Examples
    --------
    >>> weight_of_one(np.array([0.0, 5.0, 5000.0]), np.array([0.0, 5.0, 5000.0]), 2.0).round(2)
    array([2. , 1.8, 1. ])
    """
    usual = np.asarray(usual, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.fmax(squares / total, (squares + MORE * usual**2) / (total + MORE * usual)))


def _usual_weight(table: ForecastTable, blocks: Blocks) -> Floats:
    """Return the weight of a case that gives the rate of each block its variance; 1 without weights.

    It is that of the rarer outcome rather than of the other.
    """
    if not table.is_weighted:
        return np.ones(len(blocks))
    start, usual = blocks.start[:-1], []
    sides = (blocks.events, table.event_squares), (blocks.non_events, table.non_event_squares)
    for (own, squares), everywhere in zip(sides, usual_weights(table), strict=True):
        usual.append(weight_of_one(own, np.add.reduceat(squares, start), everywhere))
    rate = blocks.events / blocks.weight
    return np.asarray((1.0 - rate) * usual[0] + rate * usual[1])


def rate_limits(rate: float, n: float, level: float) -> tuple[float, float]:
    """Return the Clopper-Pearson limits of a rate of n cases; n need not be whole.

    Examples
    --------
    >>> [round(limit, 3) for limit in rate_limits(1.0, 20, 0.95)]
    [0.832, 1.0]
    """
    hits, misses = (np.array([one * n]) for one in (rate, 1.0 - rate))
    outside = (1.0 - level) / 2.0
    return float(_least_rate(hits, misses, outside)[0]), 1.0 - float(_least_rate(misses, hits, outside)[0])


def _least_rate(hits: Floats, misses: Floats, tail: float) -> Floats:
    """Return the lower Clopper-Pearson limit of a rate; 0 without a hit."""
    limit = special.betaincinv(np.maximum(hits, LEAST), misses + 1.0, tail)
    return np.where(hits > 0.0, limit, 0.0)
