"""Sums of residuals for calibration tests if the weights of censored outcomes are estimated."""

from __future__ import annotations

import numpy as np

from propriety.calibration.null_scores import NullScores, group_of_cases, null_scores
from propriety.result import Floats
from propriety.tables.cases import Cases
from propriety.tables.censoring import Censoring
from propriety.tables.forecast_table import ForecastTable

__all__ = ["censored_scores"]

LEAST = 0.05  # Smallest variance of a sum, as a share of that with known weights.


def censored_scores(cases: Cases, censoring: Censoring, table: ForecastTable) -> NullScores:
    """Return sums of residuals of one model that are uncorrelated with variance 1 if the forecasts are calibrated.

    With known weights, the sums of `null_scores` are. Estimating the weights lowers their covariance, by which they are
    rescaled one after the other, so that the first two still test intercept and slope only.
    """
    scores = null_scores(table)
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
