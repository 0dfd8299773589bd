"""Bias-corrected miscalibration and discrimination under the Brier score, with limits, from a table."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, chdtri, eval_legendre, logit, ndtri

from propriety.calibration.calibration_errors import starts_by_share
from propriety.calibration.calibration_test import DEGREES, null_scores, residual_variance
from propriety.result import Floats
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.identity_cache import IdentityCache

GROUPS = 2**10  # Groups of neighbouring forecasts; eight per step if there are steps.
NEGLIGIBLE = 1e-12  # A smaller share of the distance is rounding error.
SAME = 1e-10  # Combinations of functions with a smaller variance share are left out.
CASES_PER_BIN = 10.0
CLUSTERS_PER_BIN = 40
FEWEST_BINS, FINE_BINS, MOST_BINS = 16, 32, 256
FINE_CASES, CASES_PER_FINE = 10.0, 40.0  # Mean number of cases that a fine step needs, and has in large samples.
# Standard deviations by which finer steps must find more, to be used and to be reported, and the level of a first
# check.
CLEARLY, TOLD, LOOK = 3.0, 2.0, 0.05

_KNOWN: IdentityCache[dict[int | None, Groups]] = IdentityCache()

Part: TypeAlias = Literal["miscalibration", "discrimination"]


class Distance(NamedTuple):
    """A bias-corrected squared distance with its limits, which always contain it.

    Steps capture only part of a jump in the event rate. `unseen` is an estimate of what they miss, by which the upper
    limit is raised; it is 0 if there is no sign of jumps. `jumps` says whether any were found.
    """

    value: float
    low: float
    high: float
    standard_error: float
    unseen: float = 0.0
    jumps: bool = False


class Regression(NamedTuple):
    r"""Residuals of the outcomes regressed on functions of the forecast, from which cluster sums are computed.

    Parameters
    ----------
    functions : ndarray of shape (groups, k)
        Functions, orthonormal over the cases.
    start : ndarray of int
        First row of the table in each group.
    centre : ndarray of shape (groups,)
        What the outcomes are compared with: the forecast, or the event rate.
    fitted : ndarray of shape (groups,)
        Fitted difference from the centre.
    around_forecast : bool
        Whether the centre of a case is its forecast.
    """

    functions: Floats
    start: NDArray[np.intp]
    centre: Floats
    fitted: Floats
    around_forecast: bool


class Spread(NamedTuple):
    """Covariance of the coefficients, and variances of the linear parts of the distance: total, and of noise only."""

    covariance: Floats
    linear: float
    noise: float
    units: int


def squared_distance(
    table: ForecastTable,
    part: Part,
    *,
    level: float,
    units: int | None = None,
    spread_of: Callable[[Regression], Spread] | None = None,
) -> Distance:
    r"""Estimate :math:`E (P(Y = 1 \mid p) - p)^2`, or :math:`E (P(Y = 1 \mid p) - P(Y = 1))^2`, with limits.

    The residuals r, outcome minus forecast, are regressed on functions of the forecast that are orthonormal over the
    cases: :math:`1, p, p (1 - p), p (1 - p) \operatorname{logit} p`, Legendre polynomials of the share of the variance,
    and in large samples steps. With coefficients c and their covariance C due to noise,

    .. math:: T = \frac{n}{n - 1} (c^\top c - \operatorname{tr} C)

    is free of the bias from fitting noise. The limits solve, for the distance :math:`\theta`,

    .. math:: (T - \theta)^2 = z^2 (4 \theta \kappa + \tau^2) + 2 q^2 \operatorname{tr} C^2 ,

    where :math:`4 \theta \kappa` is the variance of the part that is linear in the noise and :math:`\tau^2` that of the
    distances of the cases from the forecast. For the lower limit, C is that of calibrated forecasts and q a quantile of
    chi-squared, because the distribution is skewed near 0.

    Parameters
    ----------
    table : ForecastTable
        Forecasts and outcomes.
    part : {"miscalibration", "discrimination"}
        Distance of the event rates from the forecast, or from the overall rate.
    level : float
        Level of the limits.
    units : int, optional
        Number of clusters, if cases are correlated within them.
    spread_of : callable, optional
        Returns the spread of a regression under clusters, if there are any.
    """
    groups = _groups(table, units)
    around = groups.forecast if part == "miscalibration" else np.full(len(groups.start), table.event_rate)
    functions = groups.functions
    if part == "miscalibration":
        functions = np.column_stack([np.ones(len(groups.start)), functions])
    total = table.weight
    per_row = table.forecast if part == "miscalibration" else np.full(len(table), table.event_rate)
    residual = table.events * (1.0 - per_row) - table.non_events * per_row
    coefficients = functions.T @ np.add.reduceat(residual, groups.start) / total
    fitted = functions @ coefficients
    given = Regression(functions, groups.start, around, fitted, part == "miscalibration")
    spread = _spread(table, given, per_row, total) if spread_of is None else spread_of(given)
    size = float(coefficients @ coefficients)
    factor = spread.units / max(spread.units - 1.0, 1.0)
    without_noise = size - float(np.trace(spread.covariance))
    value = factor * without_noise if without_noise > NEGLIGIBLE * size else 0.0
    z = float(ndtri(0.5 + level / 2.0))
    kappa = spread.noise / (4.0 * size) if size > 0.0 else 0.0
    tau = max(spread.linear - spread.noise, 0.0) * (value / size if size > 0.0 else 0.0) ** 2
    centre = value + 2.0 * z**2 * kappa

    def half(covariance: Floats, quantile: float) -> float:
        square = centre**2 - value**2 + z**2 * tau + 2.0 * quantile**2 * float((covariance**2).sum())
        return math.sqrt(max(square, 0.0))

    null = spread.covariance
    if part == "miscalibration" and spread_of is None:
        bernoulli = table.weights * table.forecast * (1.0 - table.forecast)
        variance = residual_variance(table, slice(0, len(table)), bernoulli)
        null = (functions * np.add.reduceat(variance, groups.start)[:, None]).T @ functions / total**2
    if not (null**2).any():  # Forecasts of only 0 and 1 imply no noise; that of the sample is used.
        null = spread.covariance
    skew, squares = float(np.trace(null)), float((null**2).sum())
    low = value
    if squares > 0.0:
        degrees = skew**2 / squares
        quantile = (float(chdtri(degrees, (1.0 - level) / 2.0)) - degrees) / math.sqrt(2.0 * degrees)
        low = min(max(centre - half(null, quantile), 0.0), value)
    high = max(min(centre + half(spread.covariance, z) + groups.unseen, 1.0), value)
    error = math.sqrt(spread.linear + 2.0 * float((spread.covariance**2).sum()))
    return Distance(value, low, high, error, groups.unseen, groups.jumps)


class Groups(NamedTuple):
    """Groups of neighbouring forecasts; the functions, without the constant, are centred and orthonormal."""

    start: NDArray[np.intp]
    forecast: Floats
    functions: Floats
    unseen: float = 0.0
    jumps: bool = False


def _groups(table: ForecastTable, units: int | None) -> Groups:
    """Return groups of neighbouring forecasts with their functions; the result is cached for a table."""
    known = _KNOWN.setdefault(table, {})
    if units not in known:
        known[units] = _chosen(table) if units is None else grouped_functions(table, _bins(table, units))
    return known[units]


def _bins(table: ForecastTable, units: int | None) -> int:
    """Return the number of steps added to the smooth functions; a small number adds nothing."""
    information = float((table.weights * table.forecast * (1.0 - table.forecast)).sum())
    bins = int((information * table.effective_n / table.weight) ** (2.0 / 3.0) / CASES_PER_BIN)
    bins = bins if units is None else min(bins, units // CLUSTERS_PER_BIN)
    return min(bins, MOST_BINS) if bins >= FEWEST_BINS else 0


def _chosen(table: ForecastTable) -> Groups:
    """Return functions with more steps if these find a distance that the others miss, such as that of a staircase.

    Half as many steps miss about twice as much of a jump, which shows how much of it is unseen.
    """
    bins = _bins(table, None)
    plain = grouped_functions(table, bins)
    finer = min(max(4 * bins, FINE_BINS), MOST_BINS, len(table))
    if table.effective_n < FINE_CASES * finer or not _has_fine_shapes(table):
        return plain
    if finer > bins:
        more, noise = _more(table, plain, fine := grouped_functions(table, finer))
        if more <= CLEARLY * noise:
            return plain._replace(unseen=more + noise if more > 0.0 else 0.0, jumps=more > TOLD * noise)
        finest = min(max(finer, int(table.effective_n / CASES_PER_FINE)), MOST_BINS, len(table))
        plain, finer = fine if finest == finer else grouped_functions(table, finest), finest
    more, noise = _more(table, grouped_functions(table, finer // 2), plain)
    return plain._replace(unseen=max(more, 0.0) + noise, jumps=finer > bins or more > CLEARLY * noise)


def _more(table: ForecastTable, coarse: Groups, fine: Groups) -> tuple[float, float]:
    """Return how much more distance fine steps find than coarse ones, and the standard deviation of its noise."""
    residual = table.events * (1.0 - table.forecast) - table.non_events * table.forecast
    squares = table.event_squares * (1.0 - table.forecast) ** 2 + table.non_event_squares * table.forecast**2
    found = []
    for groups in (coarse, fine):
        weight = np.add.reduceat(squares, groups.start)[:, None] / table.weight**2
        covariance = (groups.functions * weight).T @ groups.functions
        coefficients = groups.functions.T @ np.add.reduceat(residual, groups.start) / table.weight
        found.append((float(coefficients @ coefficients) - float(np.trace(covariance)), float((covariance**2).sum())))
    (distance, noise), (fine_distance, fine_noise) = found
    return fine_distance - distance, math.sqrt(2.0 * max(fine_noise - noise, 0.0))


def _has_fine_shapes(table: ForecastTable) -> bool:
    """Whether the residuals have fine shapes by a quick check, without which a finer regression finds nothing."""
    scores = null_scores(table)
    fine = scores.sums[sum(scores.sizes[:2]) :]
    return bool(len(fine) and chdtrc(len(fine), float(fine @ fine)) < LOOK)


def grouped_functions(table: ForecastTable, bins: int) -> Groups:
    """Return groups of neighbouring forecasts with the smooth functions, and with this number of steps."""
    weights, p = table.weights, table.forecast
    variance = weights * p * (1.0 - p)
    information = float(variance.sum())
    share = (np.cumsum(weights) - weights / 2.0) / table.weight
    if information > 0.0:  # Half by number of cases, half by the variance of their outcomes.
        share = (share + (np.cumsum(variance) - variance / 2.0) / information) / 2.0
    groups = max(GROUPS, 8 * bins)
    start = starts_by_share(share, groups)
    weight = np.add.reduceat(weights, start)
    mean = np.add.reduceat(weights * p, start) / weight
    columns = [mean]
    if information > 0.0:
        inside = np.clip(mean, np.finfo(float).tiny, 1.0 - np.finfo(float).epsneg)
        summed = np.add.reduceat(variance, start)
        u = (np.cumsum(summed) - summed / 2.0) / information
        curve = mean * (1.0 - mean)
        columns += [curve, curve * logit(inside), *(eval_legendre(degree, 2.0 * u - 1.0) for degree in DEGREES)]
        if bins:
            place = np.minimum((u * bins).astype(np.intp), bins - 1)
            columns += list((place == np.arange(1, bins)[:, None]).astype(np.float64))
    return Groups(start, mean, _orthonormal(np.stack(columns, axis=1), weight / table.weight))


def _orthonormal(columns: Floats, share: Floats) -> Floats:
    """Centre columns and make them orthonormal over the cases, leaving out what they explain of each other."""
    root = np.sqrt(share)[:, None]
    # Columns that hardly vary keep a constant from rounding, which would count the mean residual twice: the second
    # pass removes it, and leaves nothing of a column that is only this constant.
    for least in (0.0, math.sqrt(SAME)):
        centred = columns - share @ columns
        size = np.sqrt(share @ centred**2)
        columns = centred[:, size > least] / size[size > least]
    scaled = columns * root
    values, vectors = np.linalg.eigh(scaled.T @ scaled)
    kept = values > SAME * values.max(initial=0.0)
    return (scaled @ (vectors[:, kept] / np.sqrt(values[kept]))) / root


def _spread(table: ForecastTable, given: Regression, per_row: Floats, total: float) -> Spread:
    """Return the spread for independent cases, weighted or not."""
    fitted = np.repeat(given.fitted, np.diff(given.start, append=len(table)))
    up, down = 1.0 - per_row, -per_row
    squares = np.add.reduceat(table.event_squares * up**2 + table.non_event_squares * down**2, given.start)
    covariance = (given.functions * squares[:, None]).T @ given.functions / total**2
    mean = float(table.weights @ fitted**2) / total
    linear, noise = 0.0, 0.0
    for residual, weight in ((up, table.event_squares), (down, table.non_event_squares)):
        left = 2.0 * (residual - fitted) * fitted
        linear += float(weight @ (left + fitted**2 - mean) ** 2)
        noise += float(weight @ left**2)
    return Spread(covariance, linear / total**2, noise / total**2, table.n)
