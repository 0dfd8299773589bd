"""Sums of residuals for tests of calibration: of intercept and slope, and of the shape beyond them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import eval_legendre, logit

from propriety.calibration.calibration_errors import rows_of, starts_by_share
from propriety.result import Floats
from propriety.tables.forecast_table import ForecastTable

GROUPS = 2**12  # Number of groups of neighbouring forecasts, within which the functions hardly change.
DEGREES = (2, 3, 4, 5)
FINE_DEGREES = tuple(range(6, 16))
ENOUGH = 100.0  # Variance of the number of events needed to detect fine shapes.
KURTOSIS = 1.0  # With a larger excess kurtosis, a sum is not close to normal.
BINS = 10  # Bins in which the weights of events and non-events are compared.
SAME = 1e-9  # With a smaller residual, a function is a combination of those before it.


class NullScores(NamedTuple):
    r"""Sums :math:`\sum w (y - p) z_j(p)` over all cases, uncorrelated with variance 1 if the forecasts are calibrated.

    Parameters
    ----------
    sums : ndarray of shape (k,)
        The sums: of intercept and slope, of the shape beyond them, and of finer shapes.
    functions : ndarray of shape (groups, k)
        The functions :math:`z_j`.
    start : ndarray of int
        First row of the table in each group; forecasts of exactly 0 or 1 are in no group.
    sizes : (int, int, int)
        Number of sums of each of the three kinds.
    information : float
        Variance of the number of events if calibrated; with weights, that of the effective number of cases.
    line_kurtosis : float
        The larger excess kurtosis of the sums of intercept and slope: large if few cases determine the slope.
    """

    sums: Floats
    functions: Floats
    start: NDArray[np.intp]
    sizes: tuple[int, int, int]
    information: float
    line_kurtosis: float = 0.0

    @property
    def depends_on_few(self) -> bool:
        """Whether the sums of intercept and slope are not close to normal, because they depend on few cases."""
        return self.line_kurtosis > KURTOSIS


def null_scores(table: ForecastTable, spread: Floats | None = None) -> NullScores:
    r"""Return the sums of residuals times functions of the forecast, orthogonalised one after the other.

    The functions are 1 and the log-odds x; the Legendre polynomials :math:`P_2, \dots, P_5` of the share of the
    variance :math:`\sum w p (1 - p)` up to a forecast; and, if the variance suffices, :math:`P_6, \dots, P_{15}`. Each
    is orthogonal to those before it. A shape that depends on a few cases only, such as those with the highest of some
    rounded forecasts, is left out, because its sum is far from normal. `spread` is the variance of the sum of weighted
    residuals of each row if the forecasts are calibrated, by default that of `residual_variance`.
    """
    inside = (table.forecast > 0.0) & (table.forecast < 1.0)
    first = int(np.argmax(inside))
    rows = slice(first, first + int(np.count_nonzero(inside)))
    p = table.forecast[rows]
    none = np.empty(0)
    variance = table.weights[rows] * p * (1.0 - p)
    total = float(variance.sum())
    if not total > 0.0:
        return NullScores(none, none.reshape(0, 0), np.empty(0, dtype=np.intp), (0, 0, 0), 0.0)
    share = (np.cumsum(variance) - variance / 2.0) / total
    start = starts_by_share(share, GROUPS)
    own = residual_variance(table, rows, variance) if spread is None else spread[rows]
    residual = np.add.reduceat(table.events[rows] * (1.0 - p) - table.non_events[rows] * p, start)
    weight = np.add.reduceat(variance, start)
    x = np.add.reduceat(variance * logit(p), start) / weight
    middle = 2.0 * np.add.reduceat(variance * share, start) / weight - 1.0
    own = np.add.reduceat(own, start)
    information = total * (total / float(own.sum()))
    kinds: list[list[Floats]] = [[np.ones(len(start)), x]]
    fine = FINE_DEGREES if information >= ENOUGH else ()
    kinds += [[eval_legendre(degree, middle) for degree in degrees] for degrees in (DEGREES, fine)]
    kept: list[Floats] = []
    ends = [len(kept := _orthonormal(kept, columns, own, own / weight)) for columns in kinds]
    functions = np.stack(kept, axis=1)
    sizes = (ends[0], ends[1] - ends[0], ends[2] - ends[1])
    kurtosis = max((_kurtosis(one, own, own / weight) for one in kept[: ends[0]]), default=0.0)
    return NullScores(residual @ functions, functions, start + first, sizes, information, kurtosis)


def _orthonormal(kept: list[Floats], columns: list[Floats], spread: Floats, size_of_case: Floats) -> list[Floats]:
    r"""Add columns to uncorrelated ones, leaving out those that others explain or that depend on few cases.

    Intercept and slope are always kept.
    """
    kept, first = list(kept), not kept
    for column in columns:
        rest = column
        for _ in range(2):  # Twice, because one pass leaves rounding error proportional to what it removes.
            for one in kept:
                rest = rest - one * float(spread @ (one * rest))
        size = float(spread @ rest**2)
        if size > SAME**2 * float(spread @ column**2):
            function = rest / np.sqrt(size)
            if first or _kurtosis(function, spread, size_of_case) <= KURTOSIS:
                kept.append(function)
    return kept


def _kurtosis(function: Floats, spread: Floats, size_of_case: Floats) -> float:
    r"""Return about the excess kurtosis of a sum with the function z, :math:`\sum v (s z^2)^2`.

    Here v is the variance of a group and s the size, the weight, of its cases.
    """
    # In this order, neither huge nor tiny weights leave the range of numbers; forecasts of almost 0 may.
    with np.errstate(over="ignore"):
        return float(spread @ (size_of_case * function**2) ** 2)


def group_of_cases(scores: NullScores, table: ForecastTable, forecast: Floats) -> NDArray[np.intp]:
    """Return the group of each forecast; -1 for forecasts of exactly 0 or 1, which are in no group."""
    row = rows_of(table, forecast)
    group = np.maximum(np.searchsorted(scores.start, row, side="right") - 1, 0)
    return np.where((forecast > 0.0) & (forecast < 1.0), group, -1)


def residual_variance(table: ForecastTable, rows: slice, variance: Floats) -> Floats:
    r"""Return the variance of the sum of weighted residuals of each row if the forecasts are calibrated.

    Without weights this is :math:`N p (1 - p)`. If the log-weights of events exceed those of non-events by b, and
    :math:`A_1, A_0` are the sums of the squared weights of both, it is estimated by

    .. math:: p (1 - p) \{A_1 [(1 - p) + p e^{-b}] + A_0 [(1 - p) e^b + p]\} ,

    which uses both events and non-events, whereas the sum of squared residuals depends on the few events.
    """
    if not table.is_weighted or not variance.any():
        return variance
    squares = table.event_squares[rows], table.non_event_squares[rows]
    return weighted_variance(table.forecast[rows], *squares, _log_ratio(table, rows, variance))


def weighted_variance(p: Floats, event_squares: Floats, non_event_squares: Floats, log_ratio: float | Floats) -> Floats:
    """Return the variance of `residual_variance` for a known difference of the log-weights."""
    ratio = np.exp(log_ratio)
    happened, others = (1.0 - p) + p / ratio, (1.0 - p) * ratio + p
    return p * (1.0 - p) * (event_squares * happened + non_event_squares * others)


def log_weight_ratio(table: ForecastTable) -> float:
    """Return the mean excess of the log-weights of events over those of non-events with similar forecasts."""
    variance = table.weights * table.forecast * (1.0 - table.forecast)
    return _log_ratio(table, slice(None), variance) if variance.any() else 0.0


def _log_ratio(table: ForecastTable, rows: slice, variance: Floats) -> float:
    """Return the mean difference of log-weights between events and non-events with similar forecasts.

    The logarithm of a mean weight has a bias that depends on the number of cases. Both sides are therefore cut into
    runs with about the same effective number of cases; these are single cases if each row is one.
    """
    place = np.minimum(BINS * np.cumsum(variance) / variance.sum(), BINS - 1.0).astype(np.intp)
    sides = []
    for weight, squares in (
        (table.events[rows], table.event_squares[rows]),
        (table.non_events[rows], table.non_event_squares[rows]),
    ):
        there = weight > 0.0
        sides.append((place[there], weight[there], squares[there], weight[there] ** 2 / squares[there]))
    if not all(len(side[0]) for side in sides):
        return 0.0
    length = max(float((size**2).sum() / size.sum()) for *_, size in sides)
    (n_events, of_events), (n_others, of_others) = (_by_bin(*side, length) for side in sides)
    both = (n_events > 0.0) & (n_others > 0.0)
    if not both.any():
        return 0.0
    part = n_events[both] * n_others[both] / (n_events[both] + n_others[both])
    difference = of_events[both] / n_events[both] - of_others[both] / n_others[both]
    return float(part @ difference / part.sum())


def _by_bin(
    place: NDArray[np.intp], weight: Floats, squares: Floats, size: Floats, length: float
) -> tuple[Floats, Floats]:
    """Return the effective number of cases and the sum of their log-weights, computed run by run, in each bin."""
    run = np.floor((np.cumsum(size) - size / 2.0) / length)
    start = np.flatnonzero((np.diff(run, prepend=-1.0) != 0.0) | (np.diff(place, prepend=-1) != 0))
    number = np.add.reduceat(size, start)
    log_weight = np.log(np.add.reduceat(squares, start) / np.add.reduceat(weight, start))
    bins = place[start]
    return tuple(  # type: ignore[return-value]  # two
        np.bincount(bins, values, minlength=BINS).astype(np.float64) for values in (number, number * log_weight)
    )
