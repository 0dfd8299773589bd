"""Variance of the sums used in calibration tests if cases of one cluster or period are correlated."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety.calibration.calibration_errors import rows_of
from propriety.calibration.calibration_test import NullScores, group_of_cases
from propriety.calibration.squared_distance import Regression, Spread
from propriety.inference.cluster_errors import effective_number
from propriety.inference.dependence import hac, sums_of_units
from propriety.result import Floats
from propriety.tables.cases import Cases
from propriety.tables.forecast_table import ForecastTable


class Dispersion(NamedTuple):
    """Variances of sums of correlated residuals.

    Parameters
    ----------
    variance : ndarray of shape (k,)
        Variance of each sum; 1 for independent cases.
    around_mean : ndarray of shape (k,)
        The same around the mean residual, which miscalibration does not increase.
    df : float
        Degrees of freedom of the variances over time; infinite for clusters.
    worth : float
        Effective number of independent periods; infinite for clusters.
    equal_units : float
        Number of clusters of equal information that they are worth; infinite for periods.
    """

    variance: Floats
    around_mean: Floats
    df: float = math.inf
    worth: float = math.inf
    equal_units: float = math.inf


def dispersion_of_scores(cases: Cases, table: ForecastTable, scores: NullScores) -> Dispersion:
    """Return the variance of each sum of residuals under clusters, or under periods over a span of neighbours."""
    if not scores.sums.size:
        return Dispersion(np.empty(0), np.empty(0))
    forecast, event, weight = cases.gathered()
    group = group_of_cases(scores, table, forecast)
    residual = np.where(group >= 0, np.where(event, 1.0 - forecast, -forecast), 0.0)
    residual = residual if weight is None else residual * weight
    units, codes = units_of_cases(cases)
    variance = forecast * (1.0 - forecast)
    information = sums_of_units((variance if weight is None else variance * weight)[None], codes, units)[0]
    parts = np.stack([residual * one[group] for one in scores.functions.T])
    everyone = None if cases.censoring is None else cases.censoring.everyone
    if cases.censoring is not None and everyone is not None and everyone.cluster is not None:
        codes = everyone.cluster
        units, parts = int(codes.max()) + 1, cases.censoring.influence(parts)
    # If the forecasts are calibrated, the sums have mean 0: nothing is fitted, so there is nothing to correct for.
    sums = sums_of_units(parts, codes, units)
    if cases.period is not None and units > 1:
        centred = sums - sums.mean(axis=1)[:, None]
        error, df = hac(centred.T)
        return Dispersion(error**2, error**2, float(df[0]), _worth(centred[: scores.sizes[0]]))
    counted = parts.any(axis=0)  # Not certain forecasts, or cases without weight.
    own = parts[:, counted]
    centred = sums_of_units(own - own.mean(axis=1)[:, None], codes[counted], units) if counted.any() else sums
    held = len(np.unique(codes[counted]))
    around_mean = (centred**2).sum(axis=1) * held / max(held - 1, 1)
    return Dispersion((sums**2).sum(axis=1), around_mean, equal_units=effective_number(information))


def _worth(centred: Floats) -> float:
    r"""Return :math:`T (1 - r) / (1 + r)`, with the correlation r of neighbouring periods, at most T, for both sums.

    That many independent periods estimate a mean as well as periods whose correlation decreases by a factor r at each
    step.
    """
    periods = centred.shape[1]
    r = float((centred[:, 1:] * centred[:, :-1]).sum()) / max(float((centred**2).sum()), np.finfo(np.float64).tiny)
    return periods * (1.0 - r) / (1.0 + r) if r > 0.0 else float(periods)


def spread_of_regression(cases: Cases, table: ForecastTable, given: Regression) -> Spread:
    """Return the spread of regressed residuals from their sums over clusters or periods."""
    forecast, event, weight = cases.gathered()
    row = rows_of(table, forecast)
    group = np.searchsorted(given.start, row, side="right") - 1
    centre = forecast if given.around_forecast else given.centre[group]
    weights = np.ones(len(forecast)) if weight is None else weight
    residual, fitted = np.where(event, 1.0 - centre, -centre), given.fitted[group]
    units, codes = units_of_cases(cases)

    def summed(values: Floats) -> Floats:
        return np.bincount(codes, weights * values, minlength=units) / table.weight

    sums = np.array([summed(residual * one[group]) for one in given.functions.T]).reshape(-1, units)
    noise = summed(2.0 * (residual - fitted) * fitted)
    linear = noise + summed(fitted**2 - float(weights @ fitted**2) / table.weight)
    return Spread(sums @ sums.T, float(linear @ linear), float(noise @ noise), units)


def units_of_cases(cases: Cases) -> tuple[int, NDArray[np.intp]]:
    """Return the number of clusters or periods, and the code of each case."""
    keys = cases.units
    assert keys is not None  # noqa: S101  (for the type checker; such cases have them)
    return len(keys), keys.codes
