"""A smooth calibration curve with its band, and the distances of the forecasts from it: ICI, E50, E90 and Emax."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, expit, logit, ndtri

from propriety import checks
from propriety.calibration.calibration_errors import starts_by_share
from propriety.calibration.calibration_test import log_weight_ratio, weighted_variance
from propriety.calibration.logistic import OUTER_KNOT, LogisticFit, fit_logistic, natural_spline_basis
from propriety.checks import check_level, check_resamples, fresh_seed
from propriety.errors import InputValueError
from propriety.result import Floats, Result
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.laws import weighted_quantile

SmoothMethod: TypeAlias = Literal["spline", "loess"]

KNOTS = 5
GROUPS = 2**12  # Rows of the fit; more distinct forecasts are grouped with their neighbours.
DRAWN_GROUPS = 2**8  # Groups of cases whose distances are computed for every draw.
POINTS = 101
BINS = 40
INDICES = ("ici", "e50", "e90", "e_max")
QUANTILES = (0.5, 0.9)
FEWEST = 50
FEW = "based on {count}: the intervals may be too narrow"
LOCAL = (
    "the intervals assume that the curve is smooth: if forecasts are wrong only in a small part of their range, "
    "they cover less often than stated"
)
CERTAIN = "{share:.3g}% of the weight has a forecast of exactly 0 or 1, which has no log-odds, and is left out"
NO_INTERVALS = "a loess curve has no intervals and no test"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class SmoothCalibration(Result):
    r"""Smooth calibration curve, and how far the forecasts are from it; see `ReliabilityCurve.smooth`.

    Parameters
    ----------
    forecast, event_rate : array of shape (points,)
        The curve.
    low, high : array of shape (points,)
        Pointwise confidence limits of the event rate; NaN for a loess curve, which has no limits.
    ici, e50, e90, e_max : float
        Mean, median, 90% quantile and maximum of the distance between forecast and curve over the cases. Noise
        inflates them: they are above 0 even if the forecasts are calibrated.
    ici_low, ici_high, e50_low, e50_high, e90_low, e90_high, e_max_low, e_max_high : float
        Their confidence limits. The lower limit is 0 unless the test rejects calibration.
    p_value : float
        Score test of calibration against a curve of this shape. It is NaN, and so are all limits, if cases may be
        correlated.
    method : {"spline", "loess"}
        How the curve was fitted.
    level : float
        Level of the limits.
    n_resamples, seed : int
        Number and seed of the draws.
    n : int
        Number of cases.
    left_out : float
        Share of the weight with forecasts of exactly 0 or 1, which are left out.
    note : str
        When the intervals are less reliable.
    """

    facts: ClassVar[tuple[str, ...]] = ("ici", "ici_low", "ici_high", "p_value", "n")

    forecast: Floats
    event_rate: Floats
    low: Floats
    high: Floats
    ici: float
    ici_low: float
    ici_high: float
    e50: float
    e50_low: float
    e50_high: float
    e90: float
    e90_low: float
    e90_high: float
    e_max: float
    e_max_low: float
    e_max_high: float
    p_value: float
    method: SmoothMethod
    level: float
    n_resamples: int
    seed: int
    n: int
    left_out: float
    note: str
    histogram: SplitHistogram = field(metadata={"hidden": True})

    def index(self, name: str) -> tuple[float, float, float]:
        """Return the value and the limits of "ici", "e50", "e90" or "e_max"."""
        return getattr(self, name), getattr(self, f"{name}_low"), getattr(self, f"{name}_high")

    def without_limits(self, note: str) -> SmoothCalibration:
        """Return the curve and the indices without limits and test, for cases that are not independent."""
        limits: dict[str, Any] = {
            f"{name}_{side}": math.nan for name in ("ici", "e50", "e90", "e_max") for side in ("low", "high")
        }
        unknown = np.full_like(self.forecast, np.nan)
        return replace(self, low=unknown, high=unknown, p_value=math.nan, note=note, **limits)


class SplitHistogram(NamedTuple):
    """Weight of the events and of the non-events with forecasts between neighbouring edges."""

    edges: Floats
    events: Floats
    non_events: Floats


def split_histogram(table: ForecastTable, bins: int = BINS) -> SplitHistogram:
    """Count events and non-events in equal bins that end with the largest forecasts.

    Examples
    --------
    >>> found = split_histogram(ForecastTable.from_predictions([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8]), bins=2)
    >>> found.edges, found.events, found.non_events
    (array([0. , 0.4, 0.8]), array([1., 1.]), array([1., 1.]))
    """
    edges = np.linspace(0.0, float(table.forecast[-1]), bins + 1)
    start = np.searchsorted(table.forecast, edges[:-1])
    ends = np.append(start[1:], len(table))
    counts = []
    for weight in (table.events, table.non_events):
        below = np.concatenate([[0.0], np.cumsum(weight)])
        counts.append(below[ends] - below[start])
    return SplitHistogram(edges, counts[0], counts[1])


class _Rows(NamedTuple):
    """Rows of a fit: forecast, its log-odds, and the weights of events and non-events with their squares."""

    forecast: Floats
    x: Floats
    events: Floats
    non_events: Floats
    event_squares: Floats
    non_event_squares: Floats

    @property
    def weights(self) -> Floats:
        return self.events + self.non_events


class _Curve(NamedTuple):
    """A curve with its limits, and its indices with theirs, one row each."""

    forecast: Floats
    event_rate: Floats
    low: Floats
    high: Floats
    indices: Floats
    p_value: float


def smooth_calibration_of(
    table: ForecastTable,
    *,
    method: SmoothMethod = "spline",
    level: float = 0.95,
    n_resamples: int = 1000,
    seed: int | None = None,
) -> SmoothCalibration:
    r"""Fit a smooth calibration curve; see `ReliabilityCurve.smooth`.

    Draws of the spline's coefficients from their normal distribution give draws of each index. Its limits are the hull
    of the percentile and the basic interval of these draws. The lower limit is 0 unless the score test of all
    coefficients rejects calibration at 1 - level, because an index of calibrated forecasts is 0, at the edge of its
    range.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> p = rng.beta(2, 5, 2000)
    >>> table = ForecastTable.from_predictions(rng.random(2000) < p, p)
    >>> found = smooth_calibration_of(table, seed=1)
    >>> found.ici_low, found.p_value > 0.05
    (0.0, True)
    """
    checks.choice(method, "method", get_args(SmoothMethod))
    check_level(level)
    check_resamples(n_resamples)
    seed = fresh_seed(seed)
    left_out = float(table.weights[~_inside(table)].sum()) / table.weight
    if method == "loess":
        curve = _by_loess(table)
    else:
        noise = np.random.default_rng(seed)
        curve = _by_spline(table, level, lambda size: noise.standard_normal((n_resamples, size)))
    return SmoothCalibration(
        forecast=curve.forecast,
        event_rate=curve.event_rate,
        low=curve.low,
        high=curve.high,
        **{
            f"{name}{suffix}": float(one)
            for name, found in zip(INDICES, curve.indices, strict=True)
            for suffix, one in zip(("", "_low", "_high"), found, strict=True)
        },
        p_value=curve.p_value,
        method=method,
        level=level,
        n_resamples=n_resamples,
        seed=seed,
        n=table.n,
        left_out=left_out,
        note=_note(table, method, left_out),
        histogram=split_histogram(table),
    )


def calibration_index(table: ForecastTable, name: str) -> float:
    """Return "ici", "e50", "e90" or "e_max" of the spline, without its limits.

    Examples
    --------
    >>> y, p = ([0] * 9 + [1]) * 20 + ([0] * 4 + [1] * 6) * 20, [0.2] * 200 + [0.4] * 200
    >>> round(calibration_index(ForecastTable.from_predictions(y, p), "ici"), 3)
    0.15
    """
    rows = _grouped(table, GROUPS)
    design, fit, _ = _fitted(rows)
    values = _indices(rows, expit(design @ fit.coefficients)[None])[0]
    return float(values[INDICES.index(name)])


def _by_spline(table: ForecastTable, level: float, noise: Callable[[int], Floats]) -> _Curve:
    rows, drawn = _grouped(table, GROUPS), _grouped(table, DRAWN_GROUPS)
    design, fit, knots = _fitted(rows)
    # Weights may differ between events and non-events with the same forecast.
    ratio = log_weight_ratio(table) if table.is_weighted else 0.0
    root, p_value = _root_of_covariance(design, rows, fit, ratio), _score_test(design, rows, ratio)
    coefficients = fit.coefficients + np.vstack([np.zeros(len(root)), noise(len(root)) @ root.T])
    centre, *others = _indices(drawn, expit(coefficients @ _design(drawn.x, knots).T))
    value = _indices(rows, expit(design @ fit.coefficients)[None])[0]
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(others, [tail, 1.0 - tail], axis=0)
    low, high = np.minimum(low, 2.0 * centre - high), np.maximum(high, 2.0 * centre - low)
    low = np.clip(np.minimum(low, value), 0.0, None) if p_value <= 1.0 - level else np.zeros_like(low)
    indices = np.column_stack([value, low, np.maximum(high, value)])
    grid = np.unique(np.linspace(rows.forecast[0], rows.forecast[-1], POINTS))
    on_grid = _design(logit(grid), knots)
    middle = on_grid @ fit.coefficients
    # By the root, because rounding can make variances negative if forecasts hardly differ.
    margin = float(ndtri(1.0 - tail)) * np.sqrt(((on_grid @ root) ** 2).sum(axis=1))
    return _Curve(grid, expit(middle), expit(middle - margin), expit(middle + margin), indices, p_value)


def _by_loess(table: ForecastTable) -> _Curve:
    if table.is_weighted:
        raise InputValueError("a loess curve needs cases without weights", hint='use method="spline".')
    rows = _grouped(table, len(table))
    rate = loess_of(rows.forecast, rows.events, rows.weights)
    indices = np.full((len(INDICES), 3), np.nan)
    indices[:, 0] = _indices(rows, rate[None])[0]
    indices[1:3, 0] = _interpolated(np.abs(rate - rows.forecast), rows.weights)
    unknown = np.full(len(rate), np.nan)
    return _Curve(rows.forecast, rate, unknown, unknown, indices, math.nan)


def _grouped(table: ForecastTable, groups: int) -> _Rows:
    """Return the rows that have log-odds, or groups of neighbours of about equal weight with their mean log-odds."""
    inside = _inside(table)
    forecast, events, non_events = (column[inside] for column in (table.forecast, table.events, table.non_events))
    squares = table.event_squares[inside], table.non_event_squares[inside]
    if len(forecast) < 2:
        raise InputValueError("a smooth calibration curve needs different forecasts other than 0 and 1")
    x, weight = logit(forecast), events + non_events
    if len(forecast) <= groups:
        return _Rows(forecast, x, events, non_events, *squares)
    start = starts_by_share((np.cumsum(weight) - weight / 2.0) / weight.sum(), groups)
    total = np.add.reduceat(weight, start)
    mean = np.add.reduceat(weight * x, start) / total
    return _Rows(expit(mean), mean, *(np.add.reduceat(column, start) for column in (events, non_events, *squares)))


def _inside(table: ForecastTable) -> NDArray[np.bool_]:
    """Return which rows have log-odds: forecasts other than 0 and 1."""
    return (table.forecast > 0.0) & (table.forecast < 1.0)


def _fitted(rows: _Rows) -> tuple[Floats, LogisticFit, Floats]:
    """Return the design, the fit and the knots of the spline."""
    knots = _knots(rows)
    design = _design(rows.x, knots)
    fit = fit_logistic(design, rows.events, rows.non_events)
    if not fit.converged:
        raise InputValueError("the smooth calibration curve did not converge")
    return design, fit, knots


def _knots(rows: _Rows) -> Floats:
    """Return Harrell's knots; fewer if forecasts are few."""
    number = min(KNOTS, len(rows.x))
    if number < 3:
        return rows.x[:0]
    outer = OUTER_KNOT[number]
    return np.unique(weighted_quantile(rows.x, rows.weights, np.linspace(outer, 1.0 - outer, number)))


def _design(x: Floats, knots: Floats) -> Floats:
    return np.column_stack([np.ones(len(x)), natural_spline_basis(x, knots)])


def _root_of_covariance(design: Floats, rows: _Rows, fit: LogisticFit, ratio: float) -> Floats:
    """Return the Cholesky root of the covariance of the coefficients, which also holds with weights (a sandwich)."""
    rate = expit(design @ fit.coefficients)
    spread = weighted_variance(rate, rows.event_squares, rows.non_event_squares, ratio)
    # Not from the covariance itself, which rounding can make indefinite.
    upper = np.asarray(np.linalg.qr(np.sqrt(spread)[:, None] * design @ fit.covariance, mode="r"), dtype=np.float64)
    return np.asarray((upper * np.where(np.diag(upper) < 0.0, -1.0, 1.0)[:, None]).T)


def _score_test(design: Floats, rows: _Rows, ratio: float) -> float:
    """Return the p-value of calibration: the line with intercept 0 and slope 1, and no bend."""
    score = design.T @ (rows.events - rows.weights * rows.forecast)
    spread = weighted_variance(rows.forecast, rows.event_squares, rows.non_event_squares, ratio)
    information = (design * spread[:, None]).T @ design
    statistic = float(score @ np.linalg.lstsq(information, score, rcond=None)[0])
    return float(chdtrc(design.shape[1], statistic))


def _indices(rows: _Rows, event_rate: Floats) -> Floats:
    """Return mean, median, 90% quantile and maximum of the distances, one row per row of event rates."""
    distance, weight = np.abs(event_rate - rows.forecast), rows.weights
    order = np.argsort(distance, axis=1)
    end = np.cumsum(weight[order], axis=1)
    total = float(weight.sum())
    # Not `distance @ weight`, whose last digit may depend on the number of threads.
    found = [np.einsum("dg,g->d", distance, weight) / total]
    for quantile in QUANTILES:
        place = (end < quantile * total * (1.0 - 1e-12)).sum(axis=1)
        found.append(np.take_along_axis(distance, np.take_along_axis(order, place[:, None], axis=1), axis=1)[:, 0])
    return np.column_stack([*found, distance.max(axis=1)])


def _interpolated(distance: Floats, count: Floats) -> Floats:
    """Return the quantiles of distances interpolated between cases, as R does by default."""
    order = np.argsort(distance)
    end = np.cumsum(count[order])
    place = (end[-1] - 1.0) * np.array(QUANTILES)
    low, high = (distance[order][np.searchsorted(end, one, side="right")] for one in (np.floor(place), np.ceil(place)))
    return low + (place - np.floor(place)) * (high - low)


def _note(table: ForecastTable, method: SmoothMethod, left_out: float) -> str:
    notes = [CERTAIN.format(share=100.0 * left_out)] if left_out > 0.0 else []
    if method == "loess":
        return "; ".join([*notes, NO_INTERVALS])
    return "; ".join(filter(None, [*notes, few_outcomes(table), LOCAL]))


def few_outcomes(table: ForecastTable) -> str:
    """Say if there are fewer than 50 events or non-events; "" if there are not."""
    counts = {"events": table.n_events, "non-events": table.n - table.n_events}
    few = [f"{count} {name}" for name, count in counts.items() if count < FEWEST]
    return FEW.format(count=" and ".join(few)) if few else ""


SPAN, DELTA = 2.0 / 3.0, 0.01
NEAR, FAR = 0.001, 0.999  # Shares of the width within which cases have full weight, and beyond which they have none.


def loess_of(forecast: Floats, events: Floats, count: Floats) -> Floats:
    r"""Return the event rate at each forecast by local linear regression.

    At a forecast, the two thirds of the cases that are nearest to it are fitted by a line with tricube weights. As in
    R's ``lowess(p, y, iter=0)``, which `rms::val.prob` uses, the fit is made at forecasts 1% of their range apart and
    interpolated between them.

    Parameters
    ----------
    forecast : array of shape (rows,)
        Distinct forecasts in increasing order.
    events, count : array of shape (rows,)
        Number of events and of cases with each forecast.

    References
    ----------
    Cleveland (1979), doi:10.1080/01621459.1979.10481038.

    Examples
    --------
    >>> p = np.array([0.1, 0.2, 0.4, 0.5, 0.7, 0.8])
    >>> loess_of(p, np.array([0.0, 0.0, 1.0, 0.0, 1.0, 1.0]), np.ones(6)).round(4)
    array([-0.1075,  0.1835,  0.4495,  0.5505,  0.8165,  1.1075])
    """
    n, span = float(count.sum()), float(forecast[-1] - forecast[0])
    nearest = max(2, min(int(n), int(SPAN * n + 1e-7)))
    end = np.cumsum(count)
    places = _places(forecast, DELTA * span)
    left = _first_of_nearest(forecast, end, nearest, forecast[places])
    fitted = np.array(
        [_fit_at(forecast, events, count, end, nearest, span, *one) for one in zip(places, left, strict=True)]
    )
    return np.asarray(np.interp(forecast, forecast[places], fitted), dtype=np.float64)


def _places(forecast: Floats, delta: float) -> list[int]:
    """Return the rows at which the line is fitted: the last one within `delta` of the one before, or the next."""
    places = [0]
    while places[-1] < len(forecast) - 1:
        last = places[-1]
        within = int(np.searchsorted(forecast, forecast[last] + delta, side="right")) - 1
        places.append(max(last + 1, within))
    return places


def _first_of_nearest(forecast: Floats, end: Floats, nearest: int, at: Floats) -> Floats:
    """Return where the `nearest` cases around each place begin: the number of cases before them, by bisection."""
    low, high = np.zeros(len(at)), np.full(len(at), end[-1] - nearest)
    while (low < high).any():
        middle = np.floor((low + high) / 2.0)
        rows = [np.searchsorted(end, place, side="right") for place in (middle, middle + nearest)]
        first, after = (forecast[np.minimum(row, len(forecast) - 1)] for row in rows)
        too_far_left = (at - first > after - at) & (low < high)
        low, high = np.where(too_far_left, middle + 1.0, low), np.where(too_far_left, high, middle)
    return low


def _fit_at(
    forecast: Floats,
    events: Floats,
    count: Floats,
    end: Floats,
    nearest: int,
    span: float,
    place: int,
    left: float,
) -> float:
    """Return the value at one place of the line fitted to the cases around it."""
    first, last = np.searchsorted(end, [left, left + nearest - 1.0], side="right")
    x = forecast[first:] - forecast[place]
    width = max(-x[0], float(forecast[last] - forecast[place]))
    distance = np.abs(x)
    with np.errstate(invalid="ignore", divide="ignore"):
        weight = np.where(distance <= NEAR * width, 1.0, (1.0 - (distance / width) ** 3) ** 3)
    weight = np.where(distance <= FAR * width, weight, 0.0) * count[first:]
    weight /= weight.sum()
    centre = float(weight @ x)
    variance = float(weight @ (x - centre) ** 2)
    if np.sqrt(variance) > NEAR * span:
        weight *= 1.0 - centre / variance * (x - centre)
    return float(weight @ (events[first:] / count[first:]))
