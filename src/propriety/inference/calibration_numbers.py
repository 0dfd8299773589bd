"""Tests of the calibration of many forecast tables at once, by sums of residuals: those of groups and of classes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, chdtri, logit, ndtri, stdtrit

from propriety.calibration.calibration_test import FEWEST, log_weight_ratio, weighted_variance
from propriety.calibration.logistic import fitted_slopes
from propriety.inference.dependence import hac, places_of_groups, sums_of_units
from propriety.inference.few_events import tail_of_skewed
from propriety.inference.group_counts import FEWEST as FEWEST_EVENTS
from propriety.ledger.keyed_tables import KeyedTables
from propriety.result import Floats
from propriety.tables.cases import Cases
from propriety.tables.forecast_table import ForecastTable

SMALL = 0.25  # Slopes are fitted to tables with a smaller p-value; of others nothing is said.
COLUMNS = ("events", "non_events", "event_squares", "non_event_squares")


class CalibrationNumbers(NamedTuple):
    """Numbers of many tables, one element each."""

    ratio: Floats
    ratio_error: Floats  # Standard error of its logarithm.
    p_value: Floats
    information: Floats
    slope_gap: Floats  # Slope minus 1, and its standard error; infinite where the slope was not fitted.
    slope_error: Floats
    slope_sign: Floats  # Sum of residuals from the event rate times the log-odds, divided by its standard error.
    refuted: Floats
    observed: Floats  # Observed and expected events, in terms of independent cases of equal weight.
    expected: Floats
    is_rare: NDArray[np.bool_]  # Whether only the number of events is tested.
    units: Floats  # Clusters or periods, and their effective number; infinite if cases are independent.
    worth: Floats

    @property
    def slope(self) -> Floats:
        """The fitted slopes; NaN where the slope is not determined or not fitted."""
        return np.where(np.isfinite(self.slope_error) & (self.slope_error > 0.0), 1.0 + self.slope_gap, np.nan)


class Centres(NamedTuple):
    """For each table: mean log-odds, observed/expected, and event rate and mean log-odds of forecasts inside (0, 1)."""

    log_odds: Floats
    ratio: Floats
    rate: Floats
    middle: Floats


class Spreads(NamedTuple):
    """For each table, from clusters or periods: variances of the sums, and the number of clusters.

    `ratio` is that of observed events minus expected ones at the observed ratio, `sums` are those of level and slope,
    `sign` is that of residuals from the event rate times the log-odds. `units` has the number of clusters and their
    effective number.
    """

    ratio: Floats
    sums: Floats
    sign: Floats
    units: Floats


def calibration_numbers(
    keyed: KeyedTables,
    *,
    log_ratio: Floats | None = None,
    spreads_of: Callable[[Centres], Spreads] | None = None,
    every_slope: bool = False,
) -> CalibrationNumbers:
    r"""Test every table by the sums of :math:`w (y - p)` and :math:`w (y - p) (x - \bar x)` with log-odds :math:`x`.

    The sums are relative to their variance under calibration, adjusted for clusters or weights: Cox's score test of
    intercept 0 and slope 1. With few events the sums are skewed. If the variance of their number is below 20, or there
    are fewer than 10 events or non-events, only their number is tested, against a Pearson type III distribution with
    the same first three moments.

    Parameters
    ----------
    keyed : KeyedTables
        The tables, one entry each.
    log_ratio : ndarray of shape (entries,), optional
        For weighted cases, the excess of the log-weights of events over those of non-events.
    spreads_of : callable, optional
        For correlated cases, returns the spreads around given centres.
    every_slope : bool
        Whether to fit the slopes of all tables, not only those of tables that may be miscalibrated.
    """
    tables = len(keyed.n)
    events, non_events, event_squares, non_event_squares = (getattr(keyed, name) for name in COLUMNS)
    p, entry = keyed.forecast, keyed.entry
    inside = (p > 0.0) & (p < 1.0)

    def summed(values: Floats) -> Floats:
        return np.bincount(entry, values, minlength=tables).astype(np.float64)

    weight = events + non_events
    residual = np.where(inside, events * (1.0 - p) - non_events * p, 0.0)
    variance = np.where(inside, weight * p * (1.0 - p), 0.0)
    own = variance
    if log_ratio is not None:
        own = weighted_variance(p, event_squares, non_event_squares, log_ratio[entry])
    x = np.where(inside, logit(np.where(inside, p, 0.5)), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        centre = summed(own * x) / summed(own)
        centred = np.where(inside, x - centre[entry], 0.0)
        variances = np.stack([summed(own), summed(own * centred**2)])
        sums = np.stack([summed(residual), summed(residual * centred)])
        observed, expected = summed(events), summed(weight * p)
        rate = observed / expected
        gap = rate[entry] * p
        middle, share = summed(weight * x) / summed(weight * inside), summed(events * inside) / summed(weight * inside)
        away, missed = np.where(inside, x - middle[entry], 0.0), share[entry]
        sign = summed((events * (1.0 - missed) - non_events * missed) * away)
        sign_spread = summed((event_squares * (1.0 - missed) ** 2 + non_event_squares * missed**2) * away**2)
        error = np.sqrt(summed(event_squares * (1.0 - gap) ** 2 + non_event_squares * gap**2)) / observed
        flat = variances[1] <= 1e-18 * summed(own * (1.0 + x**2))
        factor, units = np.ones((2, tables)), np.full((2, tables), np.inf)
        if spreads_of is not None:
            found = spreads_of(Centres(centre, rate, share, middle))
            error, sign_spread, units = np.sqrt(found.ratio) / observed, found.sign, found.units
            factor = found.sums / variances
            factor[1] = np.where(flat, factor[0], factor[1])
        p_value = _line_p_value(sums, variances, factor, flat)
        inflated = np.maximum(factor[0], 1.0)
        information = summed(variance) ** 2 / summed(own) / np.maximum(factor.mean(axis=0), 1.0)
        # Weights and clusters reduce the information in events, as if they came in copies.
        copies = summed(own) / summed(variance) * inflated
        sizes = summed(event_squares + non_event_squares) / summed(weight)  # If all forecasts are 0 or 1.
        copies = np.where(summed(variance) > 0.0, copies, sizes)
        rare = (information < FEWEST) | (np.minimum(observed, summed(non_events)) / copies < FEWEST_EVENTS)
        third = summed(own * np.where(inside, own / variance, 0.0) * (1.0 - 2.0 * p))
        p_value = np.where(rare, _tail_of_number(sums[0], variances[0], third, copies, inflated), p_value)
        sign = np.where(flat, 0.0, sign / np.sqrt(sign_spread))
    wrong = summed(np.where(p == 0.0, events, np.where(p == 1.0, non_events, 0.0)))
    p_value = np.where(wrong > 0.0, 0.0, np.where(np.isnan(p_value), 1.0, p_value))
    p_values = p_value, np.nan_to_num(information)
    slope, slope_error = fitted_slopes(keyed, ~flat if every_slope else (p_value <= SMALL) & ~rare & ~flat)
    slope_error *= np.sqrt(np.maximum(np.nan_to_num(factor[1], nan=1.0), 1.0))
    slope, slope_error = np.where(flat, 1.0, slope), np.where(flat, 0.0, slope_error)
    slopes = np.nan_to_num(slope - 1.0), slope_error, np.nan_to_num(sign)
    return CalibrationNumbers(
        rate, error, *p_values, *slopes, wrong, observed / copies, expected / copies, rare, *units
    )


def numbers_of_event(table: ForecastTable, correlated: Cases | None) -> CalibrationNumbers:
    """Return the numbers of one table with its slope, given the cases of its event if they may be correlated."""
    ratio = np.array([log_weight_ratio(table)]) if table.is_weighted else None
    own = None if correlated is None else partial(spreads, correlated, np.zeros(len(correlated), np.intp), 1)
    return calibration_numbers(KeyedTables.of_tables([table]), log_ratio=ratio, spreads_of=own, every_slope=True)


def _line_p_value(sums: Floats, variances: Floats, factor: Floats, flat: NDArray[np.bool_]) -> Floats:
    """Return the p-value of Cox's score test from the chi-squared distribution with matching mean and variance."""
    squares = np.where(variances > 0.0, sums**2 / variances, 0.0)
    squares[1] = np.where(flat, 0.0, squares[1])
    inflated = np.maximum(factor.mean(axis=0), 1.0)
    uneven = 1.0 + np.where(inflated > 1.0, factor.var(axis=0) / inflated**2, 0.0)
    df = np.where(flat, 1.0, 2.0) / uneven
    return np.asarray(chdtrc(df, squares.sum(axis=0) / (inflated * uneven)))


def _tail_of_number(excess: Floats, variance: Floats, third: Floats, copies: Floats, inflated: Floats) -> Floats:
    """Return the p-value of an excess of events over their expectation, with a continuity correction of one half."""
    skewness = third / variance**1.5 * np.sqrt(inflated)
    beyond = np.maximum(np.abs(excess) - copies / 2.0, 0.0) * np.sign(excess)
    return tail_of_skewed(beyond / np.sqrt(variance * inflated), skewness)


def spreads(cases: Cases, entry: NDArray[np.intp], tables: int, given: Centres) -> Spreads:
    """Return the spreads of the sums over clusters or periods of the cases of one event, by the table of each case."""
    forecast, event, weight = cases.gathered()
    keys = cases.units
    assert keys is not None  # noqa: S101  (for the type checker; such cases have them)
    pair, place = np.unique(entry * len(keys) + keys.codes, return_inverse=True)
    inside = (forecast > 0.0) & (forecast < 1.0)
    weights = np.ones(len(forecast)) if weight is None else weight
    odds = logit(np.where(inside, forecast, 0.5))
    residual = np.where(inside, weights * (event - forecast), 0.0)
    parts = (
        residual,
        residual * (odds - given.log_odds[entry]),
        weights * (event - given.ratio[entry] * forecast),
        np.where(inside, weights * (event - given.rate[entry]) * (odds - given.middle[entry]), 0.0),
    )
    own = pair // len(keys)
    sums = sums_of_units(np.stack(parts), place, len(pair))
    if cases.period is not None:
        squares = np.stack([_squares_in_time(sums[:, at]) for at in places_of_groups(own, tables)], axis=1)
    else:
        squares = sums_of_units(sums**2, own, tables)
    sizes = np.bincount(place, weights, minlength=len(pair))
    whole, squared = (np.bincount(own, part, minlength=tables) for part in (sizes, sizes**2))
    units = np.stack([np.bincount(own, sizes > 0.0, minlength=tables), whole**2 / squared])
    return Spreads(squares[2], squares[:2], squares[3], units)


def _squares_in_time(sums: Floats) -> Floats:
    """Return the variances of sums over periods, larger by what Student's t adds to limits at 95%.

    The sums, of shape (numbers, periods), are centred, as in the test of all cases.
    """
    error, df = hac((sums - sums.mean(axis=1, keepdims=True)).T)
    return np.asarray((error * stdtrit(df, 0.975) / ndtri(0.975)) ** 2)


def ratio_limits(found: CalibrationNumbers, level: float) -> tuple[Floats, Floats]:
    """Return the limits of observed/expected; with few events those of the mean of a Poisson distribution.

    If no event was expected, they are NaN.
    """
    z, tail = float(ndtri(0.5 + level / 2.0)), (1.0 - level) / 2.0
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        factor = np.exp(z * found.ratio_error)
        few = found.observed < FEWEST_EVENTS
        low = np.where(few, chdtri(2.0 * found.observed, 1.0 - tail) / 2.0 / found.expected, found.ratio / factor)
        high = np.where(few, chdtri(2.0 * found.observed + 2.0, tail) / 2.0 / found.expected, found.ratio * factor)
    determined = found.expected > 0.0
    return np.where(determined, np.where(found.observed > 0.0, low, 0.0), np.nan), np.where(determined, high, np.nan)
