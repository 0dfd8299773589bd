r"""Evidence from the sums of a day, for many streams at once: e-processes that also find a late change.

On each day, alternative k to a claim multiplies its capital by :math:`L_{t,k}`, whose expected value is at most one if
the claim is true. A share of the capital is invested on each day, so that a change on any day is found:

.. math:: C_k(t) = \left(C_k(t - 1) + w_t\right) L_{t,k}, \qquad
          e_t = \sum_k \tfrac{1}{16} C_k(t) + r_t, \qquad r_t = \frac{1}{\log_2(t + 2)}, \qquad w_t = r_{t-1} - r_t .

If the claim is true, :math:`e_t` is a supermartingale that starts at one. So the probability that it ever reaches
:math:`1 / \alpha` is at most :math:`\alpha`, however often one looks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from propriety.products.monitoring.betting import BETS, LOG_SHARE, least_sum
from propriety.result import Floats

SIZES = 0.05 * 2.0 ** np.arange(6)
SHIFTS = np.append(SIZES, -SIZES)  # Of the log-odds of the event, from what was forecast.
SLOPES = np.array([0.5, 0.7, 1.4, 2.0])  # Of the log-odds of the event around their centre on the day.
STAKES = 0.8 * 0.5 ** np.arange(8)
ALTERNATIVES = len(SHIFTS) + len(SLOPES)  # As many for comparisons: the stakes on either sign.

Ints = NDArray[np.int64]


def calibration_growth(
    entry: NDArray[np.intp], entries: int, forecast: Floats, events: Floats, non_events: Floats
) -> Floats:
    r"""Return the log likelihood ratios of recalibrated forecasts to the forecasts, of shape (entries, alternatives).

    With the rate :math:`q_k(p)` of an alternative, a row of a forecast table with forecast p, a events and b non-events
    adds

    .. math:: a \log\frac{q_k(p)}{p} + b \log\frac{1 - q_k(p)}{1 - p} .

    Twelve alternatives multiply the odds by a factor from 0.2 to 5. Four change the slope of the log-odds around the
    centre of the forecasts of the entry. The likelihood ratio has expected value one if the forecasts are calibrated;
    if the table is on a grid, at most one, because the logarithm is concave. A forecast of 0 or 1 that fails gives an
    infinite ratio.

    Examples
    --------
    >>> growth = calibration_growth(np.zeros(1, int), 1, np.array([0.2]), np.array([30.0]), np.array([70.0]))
    >>> int(growth.argmax()), growth.max().round(2)  # The odds are 1.7 times as high as forecast, about exp(0.4).
    (3, np.float64(2.62))
    """
    inside = (forecast > 0.0) & (forecast < 1.0)
    p = np.where(inside, forecast, 0.5)
    a, b = events * inside, non_events * inside
    n = a + b

    def summed(values: Floats) -> Floats:
        return np.bincount(entry, values, minlength=entries).astype(np.float64)

    happened = summed(a)
    columns = [happened * shift - summed(n * np.log1p(p * np.expm1(shift))) for shift in SHIFTS.tolist()]
    x, variance = logit(p), n * p * (1.0 - p)
    with np.errstate(invalid="ignore"):
        centre = np.nan_to_num(summed(variance * x) / summed(variance))[entry]
    plain = a * np.logaddexp(0.0, -x) + b * np.logaddexp(0.0, x)
    for slope in SLOPES.tolist():
        z = centre + slope * (x - centre)
        columns.append(summed(plain - a * np.logaddexp(0.0, -z) - b * np.logaddexp(0.0, z)))
    growth = np.stack(columns, axis=1)
    wrong = summed(np.where(inside, 0.0, np.where(forecast == 0.0, events, non_events)))
    growth[wrong > 0.0] = np.inf
    return growth


def comparison_growth(sums: Floats, squares: Floats) -> Floats:
    r"""Return the log capital of stakes on the sign of a mean, of shape (entries, alternatives).

    For values x in [-1, 1] and a stake :math:`0 < s < 1`,

    .. math:: \log(1 + s x) \ge s x - \psi(s)\, x^2, \qquad \psi(s) = -\log(1 - s) - s ,

    so sums of the values and of their squares give a lower bound of the capital of a bet on each case (Fan, Grama &
    Liu 2015, doi:10.1214/EJP.v20-3496). Its expected value is at most one if the values have mean zero given the past.
    The first half of the alternatives bets on positive values, the second half on negative ones.

    Examples
    --------
    >>> comparison_growth(np.array([50.0]), np.array([100.0])).argmax()
    np.int64(1)
    """
    stakes = np.append(STAKES, -STAKES)
    cost = -np.log1p(-np.abs(stakes)) - np.abs(stakes)
    growth: Floats = sums[:, None] * stakes - squares[:, None] * cost
    return growth


def mean_limits(sums: Floats, squares: Floats, n: Floats, log_threshold: Floats) -> tuple[Floats, Floats]:
    r"""Return bounds of the mean of values in [-1, 1] that hold at all times, from sums of values and squares.

    They are those of `bet_on_mean`, with the bound of `comparison_growth` in place of the capital of each case. A
    threshold of :math:`2 / \alpha` makes the probability that either is ever wrong at most :math:`\alpha`.

    Examples
    --------
    >>> low, high = mean_limits(*(np.array([one]) for one in (20.0, 100.0, 1000.0, np.log(40))))
    >>> low.round(3), high.round(3)
    (array([-0.018]), array([0.058]))
    """
    bets = BETS[:, None]
    cost = (-np.log1p(-BETS) - BETS)[:, None]
    low, high = (
        least_sum(LOG_SHARE[:, None] + bets * sign * sums - cost * squares, log_threshold) / n for sign in (1.0, -1.0)
    )
    return np.maximum(low, -1.0), np.minimum(-high, 1.0)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Evidence:
    """The capital of every alternative in every stream, and since when each fits best.

    Parameters
    ----------
    days : ndarray of shape (streams,)
        Days of each stream.
    log_capital : ndarray of shape (streams, alternatives)
        Logarithm of C.
    gain : ndarray of shape (streams, alternatives)
        Largest sum of the log ratios of the last days, over all numbers of days.
    start : ndarray of shape (streams, alternatives)
        The time at which that sum starts.
    """

    days: Ints
    log_capital: Floats
    gain: Floats
    start: Ints

    @classmethod
    def none(cls, streams: int) -> Evidence:
        """Return the evidence before the first day."""
        shape = streams, ALTERNATIVES
        return cls(
            days=np.zeros(streams, dtype=np.int64),
            log_capital=np.full(shape, -np.inf),
            gain=np.zeros(shape),
            start=np.zeros(shape, dtype=np.int64),
        )

    def joined(self, other: Evidence) -> Evidence:
        """Return the evidence of the streams of both."""
        names = ("days", "log_capital", "gain", "start")
        return Evidence(**{name: np.concatenate([getattr(self, name), getattr(other, name)]) for name in names})

    def after(self, growth: Floats, time: int) -> Evidence:
        """Return the evidence after one more day of every stream."""
        new = self.gain <= 0.0
        invested = np.log(_uninvested(self.days) - _uninvested(self.days + 1))
        return replace(
            self,
            days=self.days + 1,
            log_capital=np.logaddexp(self.log_capital, invested[:, None]) + growth,
            gain=np.where(new, 0.0, self.gain) + growth,
            start=np.where(new, time, self.start),
        )

    def at(self, streams: Ints) -> Evidence:
        """Return the evidence of some streams."""
        return Evidence(
            days=self.days[streams],
            log_capital=self.log_capital[streams],
            gain=self.gain[streams],
            start=self.start[streams],
        )

    def with_streams(self, streams: Ints, other: Evidence) -> Evidence:
        """Return the evidence in which some streams are replaced."""
        changed = {}
        for name in ("days", "log_capital", "gain", "start"):
            column = getattr(self, name).copy()
            column[streams] = getattr(other, name)
            changed[name] = column
        return Evidence(**changed)

    @property
    def log_e_value(self) -> Floats:
        """Logarithm of the e-value of each stream."""
        invested = np.logaddexp.reduce(self.log_capital, axis=1) - np.log(ALTERNATIVES)
        log_e: Floats = np.logaddexp(invested, np.log(_uninvested(self.days)))
        return log_e

    @property
    def since(self) -> Ints:
        """The most likely time of a change: the start of the sum that is largest over alternatives and starts."""
        best = self.gain.argmax(axis=1)
        return np.take_along_axis(self.start, best[:, None], axis=1)[:, 0]

    def strongest(self, groups: NDArray[np.intp]) -> Ints:
        """Return the group of alternatives with the highest mean capital in each stream, given the group of each."""
        means = [
            np.logaddexp.reduce(self.log_capital[:, groups == group], axis=1) - np.log((groups == group).sum())
            for group in range(int(groups.max()) + 1)
        ]
        strongest: Ints = np.argmax(means, axis=0)
        return strongest


def _uninvested(days: Ints) -> Floats:
    left: Floats = 1.0 / np.log2(days + 2.0)
    return left
