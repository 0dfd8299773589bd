"""Variances of sums of residuals if the weights of censored outcomes are estimated."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from propriety.calibration.calibration_errors import rows_of
from propriety.calibration.calibration_test import NullScores, group_of_cases, null_scores
from propriety.result import Floats
from propriety.tables.cases import Cases
from propriety.tables.censoring import Censoring
from propriety.tables.forecast_table import ForecastTable

LEAST = 0.05  # Smallest variance of a sum, as a share of that with known weights.


class SquaredWeights(NamedTuple):
    """Sums of squared weights in each row of a table if all cases had the event, and if none had it."""

    event: Floats
    non_event: Floats

    def variance(self, rate: Floats) -> Floats:
        """Return the variance of the weighted residuals of each row at these event rates."""
        return np.asarray(rate * (1.0 - rate) ** 2 * self.event + rate**2 * (1.0 - rate) * self.non_event)


def squared_weights(cases: Cases, censoring: Censoring, table: ForecastTable) -> SquaredWeights:
    r"""Return the squared weights that the cases of one model in each row of the table can be expected to have.

    In a group with a censoring curve of its own, the weights of events and of non-events have means of squares
    :math:`A_1` and :math:`A_0`, relative to those of the weights. They hardly depend on the forecast, because all cases
    without the event have the same weight. Sample weights enter by their squares.
    """
    forecast, event, weight = cases.gathered()
    weight = np.ones(len(cases)) if weight is None else weight
    own = censoring.sample_weight()
    once = weight if own is None else weight * own  # The censoring weight times the square of the sample weight.
    group, groups = censoring.groups()
    row = rows_of(table, forecast)
    sums: list[Floats] = []
    for side in (event, ~event):
        squares, weights = (np.bincount(group, np.where(side, one, 0.0), minlength=groups) for one in (weight**2, once))
        overall = squares.sum() / weights.sum() if side.any() else 1.0
        mean = np.divide(squares, weights, out=np.full(groups, overall), where=weights > 0.0)
        sums.append(np.bincount(row, once * mean[group], minlength=len(table)).astype(np.float64))
    return SquaredWeights(*sums)


def censored_scores(cases: Cases, censoring: Censoring, table: ForecastTable) -> NullScores:
    """Return sums of residuals of one model that are uncorrelated with variance 1 if the forecasts are calibrated.

    With known weights, the sums of `null_scores` are. Estimating the weights lowers their covariance, by which they are
    rescaled one after the other, so that the first two still test intercept and slope only.
    """
    scores = null_scores(table, squared_weights(cases, censoring, table).variance(table.forecast))
    if not scores.sums.size:
        return scores
    forecast, event, weight = cases.gathered()
    group = group_of_cases(scores, table, forecast)
    residual = np.where(group >= 0, np.where(event, 1.0 - forecast, -forecast), 0.0)
    parts = np.stack([(residual if weight is None else residual * weight) * one[group] for one in scores.functions.T])
    covariance = np.eye(len(parts)) - censoring.covariance(parts)
    turn = np.linalg.inv(np.linalg.cholesky(_bounded(covariance)))
    return scores._replace(sums=turn @ scores.sums, functions=scores.functions @ turn.T)


def _bounded(covariance: Floats) -> Floats:
    """Return the matrix with eigenvalues of at least `LEAST`."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray((vectors * np.maximum(values, LEAST)) @ vectors.T)
