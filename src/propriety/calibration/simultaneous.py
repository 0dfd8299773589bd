r"""A band that contains the whole calibration curve at once, assuming only that the curve does not decrease.

Take any interval of forecasts, with n cases and z events. If the curve does not decrease, no case of the interval has a
higher probability of the event than the curve has at the interval's right end or beyond. So the lower Clopper-Pearson
limit :math:`L_\delta(z, n)` exceeds the curve there with a probability of at most :math:`\delta`, and the upper limit
:math:`U_\delta(z, n)` falls below the curve at the left end or before it no more often. Take a set of K intervals and
:math:`\delta = (1 - \text{level}) / (2 K)`. Then, with a probability of at least `level`, none of the 2 K limits fails,
and

.. math:: \max_{I \le x} L_\delta(z_I, n_I) \;\le\; P(Y = 1 \mid \text{forecast} = x)
          \;\le\; \min_{I \ge x} U_\delta(z_I, n_I) \quad \text{for all } x .

This holds for any number of cases, given the forecasts, if the outcomes are independent. Any set of intervals can be
used that is chosen without looking at the outcomes. Dimitriadis et al. use those between all pairs of distinct
forecasts. Here a sparse system is used, as in Rivera and Walther: the cases, in the order of their forecasts, are cut
into :math:`2^l` blocks of equal size for every l, down to blocks of about :math:`n^{1/3}` cases, without splitting
ties, and an interval is a run of 1 to 8 adjacent blocks. There are fewer than :math:`16\, n^{2/3}` of them, instead of
:math:`n^2 / 2`. With fewer limits, each can be tighter: besides being faster to compute, the band is 13 to 20 per cent
narrower on average with a thousand distinct forecasts, and about as wide with fifty.

References
----------
Dimitriadis, Dümbgen, Henzi, Puke & Ziegel (2023), Honest calibration assessment for binary outcome predictions,
doi:10.1093/biomet/asac068; Rivera & Walther (2013), doi:10.48550/arXiv.1211.2859, for sparse
systems of intervals.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaincinv

from propriety.calibration.pav import pool_adjacent_violators
from propriety.checks import check_level
from propriety.errors import InputValueError
from propriety.result import Floats
from propriety.tables.forecast_table import ForecastTable

Places = NDArray[np.intp]

LONGEST_RUN = 8
# Finer blocks than 1 / 65,536 of the cases would cost time without a visible effect.
FINEST = 16
BATCH = 2**12


def simultaneous_band(table: ForecastTable, level: float = 0.9) -> tuple[Floats, Floats, Floats]:
    r"""Confidence band for the whole calibration curve :math:`x \mapsto P(Y = 1 \mid \text{forecast} = x)`.

    With a probability of at least `level`, the curve lies within the band at all forecasts together. This holds for any
    number of cases and any curve that does not decrease, if the outcomes are independent given the forecasts; see the
    module for the construction.

    Parameters
    ----------
    table : ForecastTable
        Forecasts and outcomes of unweighted cases.
    level : float
        Coverage probability of the band, strictly between 0 and 1.

    Returns
    -------
    forecast, low, high : array of shape (rows,)
        The distinct forecasts and the limits there, which do not decrease and lie in [0, 1]. Between two forecasts, the
        lower limit is that of the left one and the upper limit that of the right one.

    Raises
    ------
    InputValueError
        If cases are weighted, because the guarantee is about counts of cases.

    Notes
    -----
    Event rates that clearly decrease as the forecasts increase contradict the assumption: the limits may then cross, or
    exclude the isotonic regression. There the band is widened to span both limits and the regression, which keeps the
    guarantee. The band therefore always contains the CORP curve.

    The curve of calibrated forecasts is the diagonal. Where the diagonal leaves the band, the forecasts are
    miscalibrated, and this conclusion is wrong with a probability of at most ``1 - level``.

    References
    ----------
    Dimitriadis, Dümbgen, Henzi, Puke & Ziegel (2023), doi:10.1093/biomet/asac068.

    Examples
    --------
    >>> table = ForecastTable.from_predictions([0, 0, 1, 0, 1, 1] * 50, [0.2, 0.4, 0.4, 0.6, 0.6, 0.8] * 50)
    >>> forecast, lower, upper = simultaneous_band(table)
    >>> lower.round(3), upper.round(3)
    (array([0.   , 0.369, 0.407, 0.899]), array([0.101, 0.593, 0.631, 1.   ]))
    """
    check_level(level)
    if table.is_weighted:
        law = "a simultaneous band needs cases without weights, because its guarantee is about counts of cases"
        raise InputValueError(law, hint="use the confidence band, which supports weights.")
    cases = np.concatenate([[0.0], np.cumsum(table.weights)])
    events = np.concatenate([[0.0], np.cumsum(table.events)])
    start, stop = _intervals(_block_ends(cases))
    delta = (1.0 - level) / (2.0 * len(start))
    lower = _lower_limits(events, cases, start, stop, delta)
    # Reversing the order and swapping events and non-events turns upper limits into lower ones.
    mirrored, rows = (events - cases)[::-1], len(table)
    upper = 1.0 - _lower_limits(mirrored, -cases[::-1], rows - stop, rows - start, delta)[::-1]
    held = np.stack([lower[1:], upper[:-1], pool_adjacent_violators(table).per_row()])
    return table.forecast, held.min(axis=0), held.max(axis=0)


def _block_ends(cases: Floats) -> Places:
    """Return the ends of the finest blocks as numbers of table rows; `cases` is the cumulative number of cases."""
    n = float(cases[-1])
    blocks = 2 ** min(int(math.log2(n) * 2.0 / 3.0), FINEST)
    ends: Places = np.searchsorted(cases, n * np.arange(blocks + 1) / blocks)
    return ends


def _intervals(ends: Places) -> tuple[Places, Places]:
    """Return the distinct runs of adjacent blocks: of the finest ones, of their pairs, of pairs of these, and so on."""
    rows = int(ends[-1])
    keys = []
    while True:
        cuts = np.unique(ends)
        keys += [cuts[:-run] * (rows + 1) + cuts[run:] for run in range(1, min(LONGEST_RUN, len(cuts) - 1) + 1)]
        if len(cuts) - 1 <= LONGEST_RUN:
            break
        ends = ends[::2]
    start, stop = np.divmod(np.unique(np.concatenate(keys)), rows + 1)
    return start, stop


def _lower_limits(events: Floats, cases: Floats, start: Places, stop: Places, delta: float) -> Floats:
    """Return the highest lower limit of the intervals that end after at most 0, 1, ... rows."""
    z, n = events[stop] - events[start], cases[stop] - cases[start]
    order = np.argsort(-n, kind="stable")
    order = order[z[order] > 0.0]
    limit = np.zeros(len(cases))
    # Long intervals come first: after them, few of the many short ones raise the limit and need the costly inverse.
    for batch in np.split(order, range(BATCH, len(order), BATCH)):
        end, successes, others = stop[batch], z[batch], n[batch] - z[batch] + 1.0
        higher = betainc(successes, others, limit[end]) < delta
        end = end[higher]
        np.maximum.at(limit, end, betaincinv(successes[higher], others[higher], delta))
        limit = np.maximum.accumulate(limit)
    return limit
