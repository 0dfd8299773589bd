r"""Evidence that a mean has changed, from sums of periods whose cases may be correlated in any way.

Period t has a sum :math:`x_t` with the expected value :math:`\theta_t e_t` (events and their expected number, losses
and the number of cases) and, if its cases were independent, the variance :math:`v_t`. Correlated cases make it
:math:`w_t = v_t (1 + c v_t)`, where c is learnt from all periods so far. From period s on, the generalized
least-squares estimate departs from the claim by :math:`d_s` with the variance :math:`q_s`. The evidence for
a change at s is the likelihood ratio of a normal mixture of changes, of unknown scale (t) or of that of independent
cases (z),

.. math:: E_z(s) = (1 + k g)^{-1/2} \exp\left(\frac{d^2}{2 q} \frac{k g}{1 + k g}\right), \qquad
          E_t(s) = (1 + k g)^{-1/2} \left(1 - \frac{d^2 / q}{Q + d^2 / q} \frac{k g}{1 + k g}\right)^{-N / 2},

with the number k of average periods that q is worth, the residual sum of squares Q of N periods and g = .01, .1, 2. One
side of it, twice the value minus one half, is taken for either direction. Changes at every s have a share, and
**the evidence is the smaller of both sums**: z is valid for independent cases, also few of them, and t for many
correlated ones.

Periods before the last eight are pooled to blocks whose length grows with their age, so that a period costs the same
after ten years. Changes are looked for at the starts of blocks; a start that will last longer has a larger share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from propriety.result import Floats

Ints = NDArray[np.int64]

SPREADS = np.array([0.01, 0.1, 2.0])  # Variances of a change, in units of the variance of an average period.
SPREAD_OF_LIMITS = 0.1
LARGEST = 1e300  # Of squares that forecasts next to 0 make.
LEAST_SQUARE = 4.0  # Of the standard errors by which a start must depart.
RECENT = 8  # A start is kept while its age is below this, times the largest power of two that divides its number.
FIRST_START = 0.2  # Share of changes in the first period; the shares of all others add up to the rest.
SHARES_OF_OTHERS = 0.75  # More than the sum over all starts from the second on would be.
FEWEST_FOR_MEAN = 5  # Periods before, for residuals about their mean.
OUTLYING = 1e6  # Residuals in standard deviations are cut off here, so that their squares are numbers.
LAGS, FAR = 15, 7  # Residuals that are kept, and the first of those that are long ago.
BLOCKS = ("number", "place", "sums", "exposure", "variance", "square")


class PeriodSums(NamedTuple):
    """The sums of one period, one element per stream: of x minus the claim times e, of e, and the variance v."""

    sums: Floats
    exposure: Floats
    variance: Floats


class Sides(NamedTuple):
    """The logarithm of the evidence that the mean is higher, or lower, than the claim and its margin allow."""

    higher: Floats
    lower: Floats
    higher_since: Ints
    lower_since: Ints


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Evidence:
    """The blocks of some streams, from the first to the latest, and what their periods say about their spread.

    Parameters
    ----------
    number, place : ndarray of shape (streams, blocks)
        The first period of each block: its number in the stream, from 1, and its position among all periods; 0 for a
        block that is not used.
    sums, exposure, variance, square : ndarray of shape (streams, blocks)
        Sums over its periods, of x minus the claim times e, e, v, and v squared.
    periods : ndarray of shape (streams,)
        Number of periods.
    totals : ndarray of shape (streams, 5)
        Sums over periods of x squared, x e, e squared, v and v squared, from which the spread is learnt.
    within : ndarray of shape (streams,)
        Residual sum of squares within blocks.
    lagged : ndarray of shape (streams, 2 + LAGS)
        Sums of the products of neighbouring residuals and of their squares, and the last residuals.
    learnt : ndarray of shape (streams,)
        Whether the variances are known up to a factor only, which t learns; z does not apply then.
    """

    number: Ints
    place: Ints
    sums: Floats
    exposure: Floats
    variance: Floats
    square: Floats
    periods: Ints
    totals: Floats
    within: Floats
    lagged: Floats
    learnt: NDArray[np.bool_]

    @classmethod
    def none(cls, streams: int, learnt: Sequence[bool] | None = None) -> Evidence:
        """Return the evidence before the first period."""
        blocks = {name: np.zeros((streams, 0)) for name in BLOCKS[2:]}
        blocks |= {name: np.zeros((streams, 0), dtype=np.int64) for name in BLOCKS[:2]}
        return cls(
            **blocks,  # type: ignore[arg-type]
            periods=np.zeros(streams, dtype=np.int64),
            totals=np.zeros((streams, 5)),
            within=np.zeros(streams),
            lagged=np.zeros((streams, 2 + LAGS)),
            learnt=np.array(learnt or [False] * streams, dtype=bool),
        )

    def __len__(self) -> int:
        return len(self.periods)

    def at(self, streams: Ints) -> Evidence:
        """Return the evidence of some streams."""
        return Evidence(**{one.name: getattr(self, one.name)[streams] for one in fields(self)})

    def with_streams(self, streams: Ints, other: Evidence) -> Evidence:
        """Return the evidence in which some streams are replaced, or added at the end."""
        size = max(len(self), int(streams.max(initial=-1)) + 1)
        width = max(self.number.shape[1], other.number.shape[1])
        changed = {}
        for one in fields(self):
            before, after = getattr(self, one.name), getattr(other, one.name)
            shape = (size, width) if one.name in BLOCKS else (size, *before.shape[1:])
            column = np.zeros(shape, dtype=before.dtype)
            column[tuple(slice(length) for length in before.shape)] = before
            if one.name in BLOCKS:
                column[streams] = 0
                column[streams, : after.shape[1]] = after
            else:
                column[streams] = after
            changed[one.name] = column
        return Evidence(**changed)

    @property
    def excess(self) -> Floats:
        """By how much, c, the variance of a period exceeds that of independent cases, about the mean of the stream."""
        xx, xe, ee, v, vv = self.totals.T
        sums, exposure = self.sums.sum(axis=1), self.exposure.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            mean = sums / exposure
            excess = (xx - 2.0 * mean * xe + mean**2 * ee - v) / vv
        return np.where(self.learnt, 0.0, np.maximum(np.nan_to_num(excess, posinf=0.0, neginf=0.0), 0.0))

    def after(self, day: PeriodSums, place: int) -> Evidence:
        """Return the evidence after one more period of every stream."""
        x, e, v = day
        periods = self.periods + 1
        totals = self.totals + np.stack([x * x, x * e, e * e, v, v * v], axis=1)
        lagged = self._lagged(day)
        grown = replace(self._thinned(periods), periods=periods, totals=totals, lagged=lagged)
        new = {"number": periods, "place": np.full(len(self), place), "sums": x, "exposure": e, "variance": v}
        new["square"] = v * v
        used = np.count_nonzero(grown.number, axis=1)
        width = int(used.max(initial=0)) + 1
        columns = {}
        for name in BLOCKS:
            before = getattr(grown, name)[:, :width]
            column = np.zeros((len(self), width), dtype=before.dtype)
            column[:, : before.shape[1]] = before
            column[np.arange(len(self)), used] = new[name]
            columns[name] = column
        return replace(grown, **columns)

    def _thinned(self, periods: Ints) -> Evidence:
        """Return the evidence with the blocks joined to the one before whose start is too old to be kept."""
        lowest = self.number & -self.number  # The largest power of two that divides the number.
        kept = (periods[:, None] - self.number < RECENT * lowest) | (self.number == 1)
        gone = ~kept & (self.number > 0)
        if not gone.any():
            return self
        rows, columns = np.nonzero(gone)  # A start and the one before it never end on the same day.
        w = self.variance + self.excess[:, None] * self.square
        found = {name: getattr(self, name).copy() for name in BLOCKS}
        within = self.within.copy()
        before = columns - 1
        own, other = (rows, columns), (rows, before)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            rate, variance = (
                [part[at] for at in (own, other)] for part in (self.sums / self.exposure, w / self.exposure**2)
            )
            apart = (rate[0] - rate[1]) ** 2 / (variance[0] + variance[1])
        apart = np.minimum(np.nan_to_num(apart, posinf=0.0), LARGEST)  # Models that are the same do not vary.
        np.add.at(within, rows, apart)
        for name in BLOCKS[2:]:
            found[name][other] += found[name][own]
        ended = gone.any(axis=0)
        if gone[:, ended].all():  # All streams have periods at the same times, as is usual.
            found = {name: column[:, ~ended] for name, column in found.items()}
        else:
            order = np.argsort(gone, axis=1, kind="stable")
            for name in BLOCKS:
                found[name][own] = 0
                found[name] = np.take_along_axis(found[name], order, axis=1)
        return replace(self, **found, within=within)

    def _lagged(self, day: PeriodSums) -> Floats:
        """Return the sums of products of neighbouring residuals, about the mean of the periods before.

        From the neighbour the mean of residuals long before is subtracted, as a lasting change is no correlation.
        """
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            mean = self.sums.sum(axis=1) / self.exposure.sum(axis=1)
            w = day.variance * (1.0 + self.excess * day.variance)
            now = np.clip(np.nan_to_num((day.sums - mean * day.exposure) / np.sqrt(w)), -OUTLYING, OUTLYING)
        last = self.lagged[:, 2:]
        product = now * (last[:, 0] - last[:, FAR:].mean(axis=1))
        product = np.where(self.periods < LAGS + FEWEST_FOR_MEAN, 0.0, product)
        sums = self.lagged[:, :2] + np.stack([product, product**2], axis=1)
        return np.concatenate([sums, now[:, None], last[:, :-1]], axis=1)

    def correlated(self, level: float) -> NDArray[np.bool_]:
        """Return the streams in which neighbouring periods are shown to be alike, at one level for all streams."""
        products, squares = self.lagged[:, 0], self.lagged[:, 1]
        z = np.divide(products, np.sqrt(squares), out=np.zeros(len(self)), where=squares > 0.0)
        shown: NDArray[np.bool_] = z > ndtri(1.0 - (1.0 - level) / max(len(self), 1))
        return shown

    def sides(self, margin: Floats, reference: Ints) -> Sides:
        """Return the evidence of a departure by more than the margin, in either direction.

        Streams with a number of `reference` periods are asked for changes after these, against the mean of all periods
        before the change. Starts of less than two standard errors are left out, which makes the evidence a little
        smaller.
        """
        share = np.where(self.number > reference[:, None], share_of_start(self.number - reference[:, None]), 0.0)
        found: list[tuple[Floats, Ints]] = []
        x, e, v = (_since(column) for column in (self.sums, self.exposure, self.variance))
        for sign in (1.0, -1.0):
            away = _departures(x, e, v, sign, margin, reference)
            log_e, place = _mixed(self, share, away, LEAST_SQUARE, None)
            asked = np.flatnonzero((log_e > 0.0) | self.learnt)  # Where z shows nothing, t need not be asked.
            if len(asked):
                own = self.at(asked)
                w = own.variance + own.excess[:, None] * own.square
                with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
                    parts = own.exposure**2 / w, own.exposure * own.sums / w, own.sums**2 / w
                weight, cross, square = (_since(np.where(w > 0.0, part, 0.0)) for part in parts)
                away = _departures(cross, weight, weight, sign, margin[asked], reference[asked])
                scale = _residual(weight, cross, square) + own.within[:, None], own.periods[:, None] - (own.number > 1)
                of_t, place[asked] = _mixed(own, share[asked], away, 0.0, scale)
                log_e[asked] = np.where(own.learnt, of_t, np.minimum(of_t, log_e[asked]))
            found.append((log_e, place))
        return Sides(found[0][0], found[1][0], found[0][1], found[1][1])

    def limits(self, log_threshold: Floats) -> tuple[Floats, Floats]:
        """Return bounds of the mean departure that hold after every period, for a threshold of two-sided evidence."""
        w = self.variance + self.excess[:, None] * self.square
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            weight = np.nan_to_num(self.exposure**2 / w).sum(axis=1)
            cross = np.nan_to_num(self.exposure * self.sums / w).sum(axis=1)
            spread = np.maximum(np.nan_to_num(self.sums**2 / w).sum(axis=1) - cross**2 / weight, 0.0) + self.within
            periods = self.periods.astype(np.float64)
            worth = periods * SPREAD_OF_LIMITS
            shrunk = worth / (1.0 + worth)
            log_bar = log_threshold + 0.5 * np.log1p(worth)
            half_z = 2.0 * log_bar / shrunk * self.variance.sum(axis=1) / self.exposure.sum(axis=1) ** 2
            beyond = -np.expm1(-2.0 * log_bar / periods)
            half_t = np.where(shrunk > beyond, beyond * spread / (shrunk - beyond), np.inf) / weight
            half = np.sqrt(np.maximum(half_t, np.where(self.learnt, 0.0, half_z)))
            middle = self.sums.sum(axis=1) / self.exposure.sum(axis=1)
        return middle - half, middle + half

    @property
    def changes(self) -> Floats:
        """The mean departure of each stream from the start of each block on, of shape (streams, blocks)."""
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            ratio: Floats = _since(self.sums) / _since(self.exposure)
        return ratio


def _since(column: Floats) -> Floats:
    """Return the sums from each block on."""
    sums: Floats = np.cumsum(column[:, ::-1], axis=1)[:, ::-1]
    return sums


class _Departures(NamedTuple):
    """By how much the mean departs from the claim and its margin since each start, of shape (streams, blocks).

    `beyond` has its sign, `square` is its square over its variance, and `worth` the share of average periods that it is
    worth.
    """

    beyond: Floats
    square: Floats
    worth: Floats


def _departures(x: Floats, e: Floats, v: Floats, sign: float, margin: Floats, reference: Ints) -> _Departures:
    """Return the departures from sums since each start, of which x / e is the estimate, with the variance v / e^2."""
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        beyond = sign * x - margin[:, None] * e
        square, worth = beyond**2 / v, (e / e[:, :1]) ** 2 * (v[:, :1] / v)
        compared = np.flatnonzero(reference)
        if len(compared):
            own = [column[compared] for column in (x, e, v)]
            before = [column[:, :1] - column for column in own]
            away = sign * (own[0] / own[1] - before[0] / before[1]) - margin[compared, None]
            variance = own[2] / own[1] ** 2 + before[2] / before[1] ** 2
            beyond[compared], square[compared] = away, away**2 / variance
            worth[compared] = own[2][:, :1] / own[1][:, :1] ** 2 / variance
        known = np.nan_to_num(np.minimum(square, LARGEST), nan=0.0)
        return _Departures(beyond, known, np.nan_to_num(worth))


def _residual(weight: Floats, cross: Floats, square: Floats) -> Floats:
    """Return the residual sums of squares of blocks about the means before and since each start."""
    before = [column[:, :1] - column for column in (weight, cross, square)]
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        earlier = np.where(before[0] > 1e-12 * weight[:, :1], before[2] - before[1] ** 2 / before[0], 0.0)
        residual: Floats = np.maximum(np.nan_to_num(square - cross**2 / weight), 0.0) + np.maximum(earlier, 0.0)
    return residual


def _mixed(
    own: Evidence, share: Floats, away: _Departures, least: float, scale: tuple[Floats, Any] | None
) -> tuple[Floats, Ints]:
    """Return the logarithm of the sum over starts and sizes of a change, and the position of the most likely start.

    `scale` has the residual sums of squares and their numbers for t; without it, the variances are known.
    """
    square = away.square
    shown = (away.beyond > 0.0) & (share > 0.0) & (square > least)
    rows, columns = np.nonzero(shown)
    total, place = np.full(len(own), -np.inf), np.zeros(len(own), dtype=np.int64)
    if not len(rows):
        return total, place
    at = rows, columns
    worth = away.worth[at] * own.periods[rows]
    k = worth[:, None] * SPREADS
    shrunk = k / (1.0 + k)
    if scale is None:
        power = 0.5 * square[at][:, None] * shrunk
    else:
        residual, numbers = scale[0][at] + square[at], scale[1][at]
        part = np.minimum(square[at] / np.maximum(residual, 1e-300), 1.0 - 1e-12)
        power = -0.5 * numbers[:, None] * np.log1p(-part[:, None] * shrunk)
    log_e = power + np.log(2.0 - np.exp(-power)) - 0.5 * np.log1p(k) - np.log(len(SPREADS))
    each = np.logaddexp.reduce(log_e, axis=1)
    best = np.lexsort((each, rows))
    last = np.flatnonzero(np.append(rows[best][1:] != rows[best][:-1], True))
    stream = rows[best][last]
    place[stream] = own.place[stream, columns[best][last]]
    weighted = each + np.log(share[at])
    peak = np.full(len(own), -np.inf)
    np.maximum.at(peak, rows, weighted)
    sums = np.bincount(rows, np.exp(weighted - peak[rows]), minlength=len(own))
    total[stream] = peak[stream] + np.log(sums[stream])
    return total, place


def share_of_start(number: Ints) -> Floats:
    """Return the share of changes that start in the n-th period, of which a start that lasts longer has more.

    Examples
    --------
    >>> share_of_start(np.array([1, 2, 3, 4])).round(4)
    array([0.2   , 0.2095, 0.037 , 0.1091])
    >>> bool(share_of_start(np.arange(1, 2_000_000)).sum() < 1.0)
    True
    """
    known = np.maximum(number, 1)
    largest = int(known.max(initial=1))
    if largest <= len(_SHARES):
        shares: Floats = _SHARES[known - 1]
        return shares
    return _shares(known)


def _shares(number: Ints) -> Floats:
    levels = np.floor(np.log2(number)) + 1.0
    lowest = number & -number
    plain = 1.0 / np.log2(number + 1.0) - 1.0 / np.log2(number + 2.0)
    share = plain * (2.0 * lowest - 1.0) / levels * (1.0 - FIRST_START) / SHARES_OF_OTHERS
    return np.where(number == 1, FIRST_START, share)


_SHARES = _shares(np.arange(1, 4097))
