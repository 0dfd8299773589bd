"""Means and skill from the moments of losses: exact whatever the grid of the tables, with clusters and periods."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from propriety.inference.cluster_errors import cluster_errors, sums_by_cluster
from propriety.inference.dependence import check_periods, hac, independent_periods, span_of
from propriety.inference.estimates import FEWEST, FEWEST_HELD, make_estimate
from propriety.inference.finding import Finding
from propriety.inference.imagined import imagined_of_model
from propriety.inference.measures.measure import Measure
from propriety.ledger.ledger import Ledger
from propriety.ledger.moments import OUTCOME, Moments, moments_of_table
from propriety.result import Floats
from propriety.tables.forecast_table import ForecastTable

STUDENT = "Student's t"


class MeanErrors(NamedTuple):
    """Standard errors and degrees of freedom of means, and what correlation does to them.

    `inflation` is the factor by which it inflates their variance; `independent_periods` is the number of independent
    periods that would have these errors, and NaN if the cases are not in time.
    """

    standard_error: Floats
    df: Floats
    inflation: Floats
    independent_periods: Floats


def estimate_from_moments(
    ledger: Ledger, model: str, measure: Measure, level: float, *, imagine: bool = True
) -> Finding:
    """Estimate a mean or a skill score from the moments of the losses of all cases."""
    moments = measured_moments(ledger, measure, model)
    errors = errors_of_means(moments, by_outcome=ledger.prevalence is not None)
    return estimate_from_errors(ledger, model, measure, level, moments, errors, imagine=imagine)


def estimate_from_errors(
    ledger: Ledger, model: str, measure: Measure, level: float, moments: Moments, errors: MeanErrors, *, imagine: bool
) -> Finding:
    """Estimate a mean or a skill score from the moments and the errors of the means of all models."""
    place = moments.models.index(model)
    value = float(moments.means[place]) + 0.0
    error, df, inflation, periods = (float(column[place]) for column in errors)
    dependent = ""
    if moments.dependence == "period":
        span = span_of(moments.units)
        dependent = f", Bartlett weights over {span:,} period{'s' * (span != 1)}"
    elif moments.dependence == "cluster":
        dependent = ", cluster-robust"
    elif ledger.prevalence is not None:
        dependent = ", by outcome"
    is_held = imagine and ledger.labels is None and ledger.dependence is None
    imagined = imagined_of_model(ledger, model, measure, inflation) if imagine and math.isfinite(value) else None
    found = make_estimate(
        ledger,
        model,
        measure,
        value,
        error,
        df,
        level,
        f"{'delta method, ' if measure.sign is None else ''}{STUDENT}{dependent}",
        units=moments.units,
        inflation=inflation,
        fewest=FEWEST_HELD if is_held else FEWEST,
        independent_periods=periods,
        imagined=imagined,
    )
    return within_range(found, measure, ledger.classes)


def errors_of_means(moments: Moments, horizon: int | None = None, *, by_outcome: bool = False) -> MeanErrors:
    """Return the errors of the means of all series, for cases that are independent, in clusters or in time.

    With `by_outcome`, independent cases are samples of the events and of the non-events, whose weights are fixed.
    """
    alone = moments.standard_errors()
    periods = np.full(len(alone), np.nan)
    if moments.dependence is None:
        if by_outcome:
            return _errors_by_outcome(moments.over(OUTCOME))
        return MeanErrors(alone, np.full(len(alone), moments.units - 1.0), np.ones(len(alone)), periods)
    if moments.dependence == "period":
        parts = parts_in_time(moments)
        error, df = hac(parts, horizon=horizon)
        periods = independent_periods(parts, error)
    else:
        found = cluster_errors(sums_by_cluster(moments))
        error, df = found.standard_error[0], found.df[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        inflation = np.where(alone > 0.0, (error / alone) ** 2, 1.0)
    return MeanErrors(error, df, np.fmax(inflation, 1.0), periods)


def _errors_by_outcome(cells: Moments) -> MeanErrors:
    """Return the errors of means of two samples, with the degrees of freedom of Welch and Satterthwaite."""
    freedom = (cells.n - 1.0)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = cells.spread * (cells.n / (cells.n - 1.0))[:, None] / cells.weight.sum() ** 2
        square = parts.sum(axis=0)
        df = np.where(square > 0.0, square**2 / (parts**2 / freedom).sum(axis=0), freedom.sum())
    return MeanErrors(np.sqrt(square), df, np.ones(len(square)), np.full(len(square), np.nan))


def measured_moments(ledger: Ledger, measure: Measure, model: str | None = None) -> Moments:
    """Return the moments whose mean is the measure: of signed losses, or of shares of the loss saved.

    For one model and independent cases they can be computed from its table, if that is exact or all there is.
    """
    rule = measure.rule
    assert rule is not None  # noqa: S101  (for the type checker; the measure has moments)
    plain = ledger.labels is None and ledger.dependence is None
    of_table = model is not None and plain and rule not in ledger.rules
    if of_table and (ledger.table(model).cells is None or not (ledger.rules or ledger.source)):
        moments = moments_of_table(ledger.table(model), rule, ledger.one_model(model))
    else:
        moments = ledger.moments(rule)
    return measure.of_moments(moments, ledger.classes)


def parts_in_time(moments: Moments) -> Floats:
    """Return the contribution of each period to the deviation of the means, of shape (periods, series), in order."""
    by_period = moments.over("period")
    check_periods(by_period.index.labels[0], None)
    with np.errstate(invalid="ignore"):  # Infinite losses.
        parts: Floats = (by_period.weight / by_period.weight.sum())[:, None] * (by_period.mean - moments.means)
    return parts


def widened(found: Finding, table: ForecastTable) -> Finding:
    """Widen an interval to the limits that its measure says it contains at least, if there are any."""
    if math.isnan(found.error):
        return found
    low, high = least_limits(found.measure, table, found.value, found.level)
    if math.isnan(low):
        return found
    notes = () if math.isnan(found.low) else found.notes  # They said why there is no interval.
    return replace(found, low=float(np.fmin(found.low, low)), high=float(np.fmax(found.high, high)), notes=notes)


def least_limits(measure: Measure, table: ForecastTable, value: float, level: float) -> tuple[float, float]:
    """Return the limits that an interval of a measure contains at least; NaN if it has none."""
    return (math.nan, math.nan) if len(table) == 1 else measure.least_limits(table, value, level)


def within_range(found: Finding, measure: Measure, classes: int | None) -> Finding:
    """Clip the limits to the range that the measure or its rule declares; a value outside it stays within them."""
    if math.isnan(found.low):
        return found
    low, high = clipped(np.array([found.low]), np.array([found.high]), np.array([found.value]), measure, classes)
    return replace(found, low=float(low[0]), high=float(high[0]))


def clipped(low: Floats, high: Floats, value: Floats, measure: Measure, classes: int | None) -> tuple[Floats, Floats]:
    """Return limits within the range of a measure; values outside it stay within their limits."""
    least, most = measure.range_of(classes)
    return np.minimum(np.clip(low, least, most), value), np.maximum(np.clip(high, least, most), value)
