"""Errors of means of censored outcomes from the moments that an engine computes by step of the censoring curves."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from propriety.inference.calibration_measures import ObservedExpected, PredictedActual
from propriety.inference.mean_estimates import measured
from propriety.inference.measures import Mean, Measure, Skill
from propriety.ledger.ledger import Ledger
from propriety.ledger.moments import OUTCOME, Moments
from propriety.result import Floats
from propriety.rules.functions import Excess
from propriety.tables.censoring import Censoring


class CensoredMeans(NamedTuple):
    """Means of models, then of the differences of pairs, with standard errors and degrees of freedom."""

    value: Floats
    standard_error: Floats
    df: float


def censored_means(ledger: Ledger, measure: Measure) -> CensoredMeans | None:
    """Return the values of a mean or of skill for all models and pairs; None if an engine has no sums by step."""
    by_step = ledger.moments_by_step(measure.rule) if isinstance(measure, Mean | Skill) else None
    if by_step is None:
        return None
    assert isinstance(measure, Mean | Skill)  # noqa: S101  (for the type checker; others have no rule)
    assert ledger.censoring is not None  # noqa: S101  (for the type checker; there are steps)
    return _with_errors(measured(by_step, measure, ledger.classes), ledger.censoring)


def censored_ratio(ledger: Ledger, model: str, measure: Measure) -> CensoredMeans | None:
    r"""Return observed/expected of one model, or its inverse; None for another measure, and without sums by step.

    The influence of a case on the ratio :math:`r` is :math:`(y - r p) / E = (r (y - p) + (1 - r) y) / E`, with the mean
    forecast :math:`E`, so that the moments of :math:`y - p` by outcome give its moments.
    """
    is_ratio = isinstance(measure, ObservedExpected | PredictedActual)
    by_step = ledger.moments_by_step(Excess()) if is_ratio else None
    if by_step is None:
        return None
    assert ledger.censoring is not None  # noqa: S101  (for the type checker; there are steps)
    table = ledger.table(model)
    value, ratio = measure.value(table), ObservedExpected().value(table)
    inverse = isinstance(measure, PredictedActual)
    scale = -value / table.event_rate if inverse else 1.0 / table.mean_forecast
    happened = np.array(by_step.index.column(OUTCOME), dtype=np.float64)[:, None]
    moments = replace(
        by_step,
        mean=scale * (ratio * by_step.mean + (1.0 - ratio) * happened),
        lean=scale * ratio * by_step.lean,
        spread=(scale * ratio) ** 2 * by_step.spread,
    )
    place = by_step.models.index(model)
    error = _with_errors(moments, ledger.censoring)
    return CensoredMeans(np.array([value]), error.standard_error[place : place + 1], error.df)


def _with_errors(moments: Moments, censoring: Censoring) -> CensoredMeans:
    """Return means whose errors allow for the estimated weights; see `Censoring`."""
    whole = moments.over()
    weight, mean = float(whole.weight[0]), whole.mean[0]
    by_step = moments.over("step")
    sums = np.zeros((len(mean), len(censoring.factor)))
    with np.errstate(invalid="ignore"):  # Infinite losses.
        sums[:, by_step.index.column("step")] = (by_step.weight[:, None] * (by_step.mean - mean) / weight).T
        square = whole.spread[0] / weight**2 - censoring.later_sums(sums) ** 2 @ censoring.factor
    error = np.sqrt(np.maximum(square, 0.0) * weight / max(weight - 1.0, 1.0))
    return CensoredMeans(mean, error, weight - 1.0)
