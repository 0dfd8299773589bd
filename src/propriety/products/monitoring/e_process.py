"""Exact evidence where a period is one case: bets whose capital grows only if a claim about the cases is false.

Several bets share one unit of capital at the start. If the claim is true, the expected capital never exceeds the unit
whatever the stopping rule, so by Ville's inequality it reaches 1/alpha with a probability of at most alpha. Capital is
stored as natural logarithms, and a stream can be continued from the capital at its end.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from propriety.result import Floats

BLOCK = 2**13  # Cases processed at a time, which bounds the memory.

# A bet of b pays 1 + b x for a value x in [-1, 1]. Values of small variance need large bets, so these weigh most.
BETS = 0.99 * 0.5 ** np.arange(10)
LOG_SHARE = -np.log(np.arange(1, 11)) - np.log(np.sum(1.0 / np.arange(1, 11)))
NEWTON_STEPS = 6


@dataclass(frozen=True, slots=True, eq=False)
class MeanBets:
    """Log capital of each bet on a mean after some number of cases."""

    log_capital: Floats
    cases: int

    @classmethod
    def start(cls) -> MeanBets:
        """Return the bets before the first case."""
        return cls(np.zeros(len(BETS)), 0)


def bet_on_mean(values: Floats, bets: MeanBets, log_threshold: float) -> tuple[Floats, Floats, MeanBets]:
    r"""Bet that values in [-1, 1] have a positive mean, and compute lower bounds of their mean.

    With the constant bets :math:`b_k` and their shares :math:`w_k`, the capital after t values is

    .. math:: e_t = \sum_k w_k C_k(t), \qquad C_k(t) = \prod_{i \le t} (1 + b_k x_i) .

    Let :math:`\mu_i` be the mean of :math:`x_i` given the past, and :math:`\bar\mu_t` the average of the first t.
    :math:`C_k(t) / \prod_{i \le t} (1 + b_k \mu_i)` is a martingale, and
    :math:`\prod_{i \le t} (1 + b_k \mu_i) \le \exp(b_k t \bar\mu_t)`. So :math:`e_t` is at most a martingale that
    starts at one while :math:`\bar\mu_t \le 0`, and, with a probability of at least :math:`1 - \alpha`, at all times

    .. math:: \sum_k w_k C_k(t) \exp(-b_k t \bar\mu_t) < 1 / \alpha ,

    which bounds :math:`\bar\mu_t` from below: the bound is at least 0 exactly if :math:`e_t \ge 1 / \alpha`.

    Parameters
    ----------
    values : array of shape (n,)
        The values, in the order in which they came.
    bets : MeanBets
        The bets before them.
    log_threshold : float
        :math:`\log(1 / \alpha)` for the bound.

    Returns
    -------
    log_capital, bound : array of shape (n,)
        :math:`\log e_t` and the lower bound of :math:`\bar\mu_t`.
    bets : MeanBets
        The bets after them.

    Examples
    --------
    >>> log_capital, bound, _ = bet_on_mean(np.full(20, 0.5), MeanBets.start(), np.log(20))
    >>> int(np.argmax(log_capital >= np.log(20))), int(np.argmax(bound >= 0)), log_capital[-1].round(3)
    (9, 9, np.float64(6.983))
    """
    log_e, bound = np.empty(len(values)), np.empty(len(values))
    capital = bets.log_capital
    for start in range(0, len(values), BLOCK):
        part = slice(start, start + BLOCK)
        paths = _continued(np.log1p(BETS[:, None] * values[part]), capital)
        capital = paths[:, -1]
        shares = paths + LOG_SHARE[:, None]
        cases = bets.cases + start + np.arange(1, paths.shape[1] + 1)
        log_e[part] = _log_total(shares)
        bound[part] = np.maximum(least_sum(shares, log_threshold) / cases, -1.0)
    return log_e, bound, MeanBets(capital, bets.cases + len(values))


def least_sum(shares: Floats, log_threshold: float | Floats) -> Floats:
    """Return the sum s at which the capital, with each bet discounted by exp(-b s), equals the threshold."""
    bets = BETS[:, None]
    # A single bet reaches the threshold here, so all together do too. From here, Newton's steps on a convex, decreasing
    # function never overshoot. Their number is fixed, so that no result depends on the cases computed with it.
    least: Floats = ((shares - log_threshold) / bets).max(axis=0)
    for _ in range(NEWTON_STEPS):
        discounted = shares - bets * least
        peak = discounted.max(axis=0)
        parts = np.exp(discounted - peak)
        whole = reduce(np.add, parts)
        least += (peak + np.log(whole) - log_threshold) * whole / reduce(np.add, bets * parts)
    return least


@dataclass(frozen=True, slots=True, eq=False)
class Recalibrations:
    """Alternatives to calibration: expit(shift + slope logit p), separately for each bin of forecasts, with shares."""

    shift: Floats
    slope: Floats
    share: Floats
    edges: Floats


def _lines() -> Recalibrations:
    shift, slope = np.meshgrid([-0.8, -0.4, -0.2, -0.1, 0.0, 0.1, 0.2, 0.4, 0.8], 2.0 ** np.linspace(-0.5, 0.5, 5))
    return Recalibrations(shift.ravel(), slope.ravel(), np.full(shift.size, 1.0 / shift.size), np.array([]))


def _bins() -> Recalibrations:
    shift = np.array([0.0, -1.2, -0.6, -0.3, -0.15, 0.15, 0.3, 0.6, 1.2])
    # Half on calibration, so that a bin without evidence costs at most half of the capital.
    share = np.append(0.5, np.full(8, 0.5 / 8))
    edges = np.array([0.01, 0.03, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.97, 0.99])
    return Recalibrations(shift, np.ones(9), share, edges)


RECALIBRATIONS = (_lines(), _bins())


@dataclass(frozen=True, slots=True, eq=False)
class CalibrationBets:
    """Log capital on each recalibration in each bin, and their product over the bins, after some number of cases."""

    log_capital: Floats
    log_product: float

    @classmethod
    def start(cls, alternatives: Recalibrations) -> CalibrationBets:
        """Return the bets before the first case."""
        return cls(np.zeros((len(alternatives.edges) + 1, len(alternatives.shift))), 0.0)


def bet_on_recalibration(
    forecast: Floats, event: NDArray[np.bool_], alternatives: Recalibrations, bets: CalibrationBets, margin: float = 0.0
) -> tuple[Floats, CalibrationBets]:
    r"""Bet that the event happens at another rate than the forecast, beyond a margin.

    For the alternative rate :math:`q_k(p)`, the capital is multiplied by the likelihood ratio, :math:`q_k(p) / p` if
    the event happens and :math:`(1 - q_k(p)) / (1 - p)` if not. The alternatives share the capital of their bin, and
    the capitals of the bins are multiplied:

    .. math:: e_t = \prod_j \sum_k w_k \prod_{i \le t,\, p_i \in B_j}
              \left(\frac{q_k(p_i)}{p_i}\right)^{y_i} \left(\frac{1 - q_k(p_i)}{1 - p_i}\right)^{1 - y_i} .

    If the event happens with the forecast probability, given the past, this is a martingale. With a margin m, the
    rate within [p (1 - m), p (1 + m)] that is nearest to :math:`q_k(p)` takes the place of p, which makes it a
    supermartingale as long as the event happens at some rate within the margin.

    Parameters
    ----------
    forecast, event : array of shape (n,)
        Forecasts strictly between 0 and 1, and whether the event happened, in the order in which they came.
    alternatives : Recalibrations
        The rates bet on.
    bets : CalibrationBets
        The bets before them.
    margin : float
        The largest relative error of the rate that does not matter.

    Returns
    -------
    log_capital : array of shape (n,)
        :math:`\log e_t`.
    bets : CalibrationBets
        The bets after them.

    Examples
    --------
    >>> lines, _ = RECALIBRATIONS
    >>> log_capital, _ = bet_on_recalibration(
    ...     np.full(50, 0.3), np.ones(50, dtype=bool), lines, CalibrationBets.start(lines)
    ... )
    >>> int(np.argmax(log_capital >= np.log(20)))
    9
    """
    capital, growth = bets.log_capital.copy(), np.empty(len(forecast))
    log_share = np.log(alternatives.share)
    bins = np.searchsorted(alternatives.edges, forecast, side="right")
    for place in np.unique(bins):
        rows = np.flatnonzero(bins == place)
        for start in range(0, len(rows), BLOCK):
            part = rows[start : start + BLOCK]
            before = _log_total((capital[place] + log_share)[:, None])
            paths = _continued(_log_ratios(forecast[part], event[part], alternatives, margin), capital[place])
            capital[place] = paths[:, -1]
            own = _log_total(paths + log_share[:, None])
            growth[part] = np.diff(own, prepend=before)
    product = np.cumsum(np.append(bets.log_product, growth))
    return product[1:], CalibrationBets(capital, float(product[-1]))


def _log_ratios(forecast: Floats, event: NDArray[np.bool_], alternatives: Recalibrations, margin: float) -> Floats:
    """Return the log likelihood ratio of each alternative to the nearest rate within the margin, by case."""
    # The log probability of what happened is -log(1 + exp(-x)), where x is its log-odds.
    sign, x = np.where(event, 1.0, -1.0), logit(forecast)
    alternative = alternatives.shift[:, None] + alternatives.slope[:, None] * x
    low, high = (x, x) if margin == 0.0 else (logit(np.clip(forecast * (1.0 + m), 0.0, 1.0)) for m in (-margin, margin))
    nearest = np.clip(alternative, low, high)
    ratios: Floats = np.logaddexp(0.0, -sign * nearest) - np.logaddexp(0.0, -sign * alternative)
    return ratios


def _log_total(logs: Floats) -> Floats:
    """Return the logarithm of the sum over rows, added one by one, because NumPy's order depends on the columns."""
    peak = logs.max(axis=0)
    total: Floats = peak + np.log(reduce(np.add, np.exp(logs - peak)))
    return total


def _continued(growth: Floats, before: Floats) -> Floats:
    """Return the cumulative sums of each row, starting at `before`, so that a stream in parts gives the same sums."""
    sums: Floats = np.cumsum(np.column_stack([before, growth]), axis=1)
    return sums[:, 1:]


@dataclass(frozen=True, slots=True, eq=False)
class StreamBets:
    """All bets of one stream of cases: on recalibrations, or none; on its mean, for its limits; and beyond a margin."""

    lines: CalibrationBets | None
    bins: CalibrationBets | None
    higher: MeanBets
    lower: MeanBets
    above: MeanBets
    below: MeanBets

    @classmethod
    def start(cls, *, of_calibration: bool) -> StreamBets:
        """Return the bets before the first case."""
        lines, bins = (CalibrationBets.start(one) if of_calibration else None for one in RECALIBRATIONS)
        return cls(lines, bins, *(MeanBets.start() for _ in range(4)))


class Paths(NamedTuple):
    """Log evidence that a stream departs from the claim and that it is better, and limits of its mean, by case."""

    against: Floats
    better: Floats
    low: Floats
    high: Floats
    bets: StreamBets


def calibration_paths(p: Floats, event: NDArray[np.bool_], bets: StreamBets, margin: float, bar: float) -> Paths:
    """Return the evidence against calibration after each case; a certain forecast that fails makes it infinite.

    The limits are those of the mean of y - p. `bar` is the logarithm of the e-value at which they are exceeded.
    """
    assert bets.lines is not None and bets.bins is not None  # noqa: S101, PT018  (for the type checker)
    uncertain, halves, after = (p > 0.0) & (p < 1.0), [], []
    for alternatives, before in zip(RECALIBRATIONS, (bets.lines, bets.bins), strict=True):
        path, end = bet_on_recalibration(p[uncertain], event[uncertain], alternatives, before, margin)
        halves.append(
            np.append(before.log_product, path)[np.cumsum(uncertain)]
        )  # A certain forecast leaves the capital as it is.
        after.append(end)
    against = np.logaddexp(*halves) - np.log(2.0)
    refuted = np.logical_or.accumulate(~uncertain & (event != (p == 1.0)))
    against = np.where(refuted, np.inf, against)
    _, low, higher = bet_on_mean(event - p, bets.higher, bar)
    _, high, lower = bet_on_mean(p - event, bets.lower, bar)
    after_all = replace(bets, lines=after[0], bins=after[1], higher=higher, lower=lower)
    return Paths(against, np.full(len(p), -np.inf), low, -high, after_all)


def mean_paths(x: Floats, width: float, bets: StreamBets, margin: Floats, worse: int, bar: float) -> Paths:
    """Return the evidence that values in [-width, width] have a mean beyond the margin, in the direction that is worse.

    If both directions are worse (0), it is the mean of both. The limits are those of the mean. The margin of a case
    must be known before it, and no larger than the width.
    """
    _, low, higher = bet_on_mean(x / width, bets.higher, bar)
    _, high, lower = bet_on_mean(-x / width, bets.lower, bar)
    above_log, _, above = bet_on_mean((x - margin) / (2.0 * width), bets.above, bar)
    below_log, _, below = bet_on_mean((-x - margin) / (2.0 * width), bets.below, bar)
    if worse == 0:
        against, better = np.logaddexp(above_log, below_log) - np.log(2.0), np.full(len(x), -np.inf)
    else:
        against, better = (above_log, below_log)[::worse]
    after = replace(bets, higher=higher, lower=lower, above=above, below=below)
    return Paths(against, better, low * width, -high * width, after)
