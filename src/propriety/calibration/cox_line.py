"""Cox's recalibration line: logistic regression of the event on the log-odds of the forecast."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from propriety.calibration.calibration_errors import starts_by_share
from propriety.calibration.logistic import fit_logistic
from propriety.errors import InputValueError
from propriety.ledger.keyed_tables import KeyedTables
from propriety.result import Floats
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.identity_cache import IdentityCache

GROUPS = 2**12  # Rows of the first fit, whose coefficients are off by a millionth of their standard errors.
MOST_STEPS = 20
LAST_STEP = 1e-8
_KNOWN: IdentityCache[dict[bool, CoxLine]] = IdentityCache()


@dataclass(frozen=True, slots=True, eq=False)
class CoxLine:
    r"""Fit of :math:`\operatorname{logit} P(Y = 1) = a + b x` with :math:`x = \operatorname{logit} p`.

    Parameters
    ----------
    coefficients : ndarray
        The slope b and the intercept a; or, with the slope fixed at 1, only the intercept.
    covariance : ndarray
        Inverse of the Fisher information, in which a weight of w counts as w cases.
    converged : bool
        Whether the iterations converged.
    """

    coefficients: Floats
    covariance: Floats
    converged: bool = True


def cox_line(table: ForecastTable, *, slope: bool) -> CoxLine:
    """Fit the line to a table, with a free slope or a slope of 1; the fit of a table is cached.

    Newton's method starts from the fit to at most 4,096 groups of neighbouring forecasts, so that only a few passes
    over a large table are needed. Forecasts of exactly 0 or 1, which have no log-odds, are left out. If they are right,
    no line changes their likelihood.

    References
    ----------
    Cox (1958), doi:10.1093/biomet/45.3-4.562.

    Examples
    --------
    >>> table = ForecastTable(forecast=[0.1, 0.8], events=[10, 30], non_events=[30, 10])
    >>> cox_line(table, slope=True).coefficients.round(3)
    array([0.613, 0.249])
    """
    known = _KNOWN.setdefault(table, {})
    if slope not in known:
        known[slope] = _fitted(table, slope=slope)
    return known[slope]


def _fitted(table: ForecastTable, *, slope: bool) -> CoxLine:
    what = "slope" if slope else "intercept"
    inside = (table.forecast > 0.0) & (table.forecast < 1.0)
    if not inside.any():
        law = f"a calibration {what} needs log-odds, which forecasts of exactly 0 or 1 do not have"
        raise InputValueError(law, offender="all forecasts are 0 or 1")
    forecast, events, non_events = table.forecast[inside], table.events[inside], table.non_events[inside]
    if not (events.any() and non_events.any()):
        among = "" if inside.all() else " among the forecasts other than 0 and 1"
        raise InputValueError(f"a calibration {what} needs cases with and without the event{among}")
    if slope and len(forecast) == 1:
        raise InputValueError("a calibration slope needs forecasts that differ; all are equal")
    x = logit(forecast)
    start = _whole_fit(*_grouped(forecast, x, events, non_events), slope=slope)
    if len(forecast) <= GROUPS:
        return start
    climbed = _climbed(x, events, non_events, start.coefficients, slope=slope)
    return _whole_fit(x, events, non_events, slope=slope) if climbed is None else climbed


def _whole_fit(x: Floats, events: Floats, non_events: Floats, *, slope: bool) -> CoxLine:
    constant = np.ones(len(x))
    design = np.column_stack([x, constant]) if slope else constant[:, None]
    fit = fit_logistic(design, events, non_events, None if slope else x)
    return CoxLine(fit.coefficients, fit.covariance, fit.converged)


def _grouped(forecast: Floats, x: Floats, events: Floats, non_events: Floats) -> tuple[Floats, Floats, Floats]:
    """Group neighbouring rows with about equal variance of their events; their log-odds are averaged."""
    if len(x) <= GROUPS:
        return x, events, non_events
    weight = (events + non_events) * forecast * (1.0 - forecast)
    start = starts_by_share((np.cumsum(weight) - weight / 2.0) / weight.sum(), GROUPS)
    mean = np.add.reduceat(weight * x, start) / np.add.reduceat(weight, start)
    return mean, np.add.reduceat(events, start), np.add.reduceat(non_events, start)


def _climbed(x: Floats, events: Floats, non_events: Floats, start: Floats, *, slope: bool) -> CoxLine | None:
    """Maximise the likelihood by Newton's method; None if it does not converge."""
    weight = events + non_events
    coefficients = start.copy()
    for _ in range(MOST_STEPS):
        rate = expit(coefficients[0] * x + coefficients[1] if slope else x + coefficients[0])
        score, curve = events - weight * rate, weight * rate * (1.0 - rate)
        if slope:
            curve_x = curve * x
            cross = float(curve_x.sum())
            gradient = np.array([float((score * x).sum()), float(score.sum())])
            information = np.array([[float((curve_x * x).sum()), cross], [cross, float(curve.sum())]])
        else:
            gradient, information = np.array([float(score.sum())]), np.array([[float(curve.sum())]])
        try:
            covariance = np.linalg.inv(information)
        except np.linalg.LinAlgError:
            return None
        step = covariance @ gradient
        coefficients = coefficients + step
        # Newton's method squares the error: after this step it is far below rounding error.
        if np.abs(step).max() <= LAST_STEP * max(1.0, np.abs(coefficients).max()):
            return CoxLine(coefficients, covariance)
    return None


MAX_SLOPE_STEPS, LAST_SLOPE_STEP = 40, 1e-6
LONGEST = 2.0  # A step of Newton's method changes no log-odds of a typical forecast by more.


def fitted_slopes(keyed: KeyedTables, wanted: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    r"""Fit the line :math:`a + b x` to the log-odds of the event in each wanted table; return the slopes and errors.

    The log-odds x are those of the forecasts other than 0 and 1. Newton's method starts at a slope of 0 for all tables
    together. The standard errors are those of independent cases at the fitted rates. Where the slope is not determined,
    and in tables that are not wanted, the slope is NaN and its error infinite.

    Examples
    --------
    >>> from propriety.tables.forecast_table import ForecastTable
    >>> table = ForecastTable(forecast=[0.1, 0.8], events=[10, 30], non_events=[30, 10])
    >>> slope, error = fitted_slopes(KeyedTables.of_tables([table]), np.array([True]))
    >>> slope.round(3), error.round(3)
    (array([0.613]), array([0.144]))
    """
    tables = len(keyed.n)
    used = np.flatnonzero(wanted[keyed.entry] & (keyed.forecast > 0.0) & (keyed.forecast < 1.0))
    entry, events, non_events = keyed.entry[used], keyed.events[used], keyed.non_events[used]
    weight, squares = events + non_events, keyed.event_squares[used] + keyed.non_event_squares[used]

    def summed(values: Floats) -> Floats:
        return np.bincount(entry, values, minlength=tables).astype(np.float64)

    x = logit(keyed.forecast[used])
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        x -= (summed(weight * x) / summed(weight))[entry]
        scale = np.sqrt(summed(weight * x**2) / summed(weight))
        level, slope = logit(summed(events) / summed(weight)), np.zeros(tables)
        longest = np.full(tables, np.inf)
        for _ in range(MAX_SLOPE_STEPS):
            rate = expit(level[entry] + slope[entry] * x)
            residual, curve = events - weight * rate, weight * rate * (1.0 - rate)
            first, mixed, second = summed(curve), summed(curve * x), summed(curve * x**2)
            determinant = first * second - mixed**2
            of_level, of_slope = summed(residual), summed(residual * x)
            up = (second * of_level - mixed * of_slope) / determinant
            along = (first * of_slope - mixed * of_level) / determinant
            longest = np.maximum(np.abs(up), np.abs(along) * scale)
            shorter = np.minimum(1.0, LONGEST / longest)
            level, slope = level + shorter * up, slope + shorter * along
            if ((longest <= LAST_SLOPE_STEP) | ~np.isfinite(longest)).all():
                break
        rate = expit(level[entry] + slope[entry] * x)
        curve, spread = weight * rate * (1.0 - rate), squares * rate * (1.0 - rate)
        first, mixed, second = summed(curve), summed(curve * x), summed(curve * x**2)
        parts = summed(spread), summed(spread * x), summed(spread * x**2)
        variance = mixed**2 * parts[0] - 2.0 * first * mixed * parts[1] + first**2 * parts[2]
        variance /= (first * second - mixed**2) ** 2
        error = np.sqrt(variance)
    known = (longest <= LAST_SLOPE_STEP) & np.isfinite(slope) & ~_are_separate(entry, x, events, non_events, tables)
    return np.where(known, slope, np.nan), np.where(known, error, np.inf)


def _are_separate(
    entry: NDArray[np.intp], x: Floats, events: Floats, non_events: Floats, tables: int
) -> NDArray[np.bool_]:
    """Whether all events of a table have forecasts at least as high, or at most as high, as its non-events.

    The best slope is then infinite; whether Newton's method notices depends on rounding.
    """
    ends = []
    for weight in (events, non_events):
        happened = weight > 0.0
        low, high = np.full(tables, np.inf), np.full(tables, -np.inf)
        np.minimum.at(low, entry[happened], x[happened])
        np.maximum.at(high, entry[happened], x[happened])
        ends.append((low, high))
    (low, high), (lowest, highest) = ends
    return np.asarray((low >= highest) | (high <= lowest))
