"""Means and skill from the moments of losses: exact whatever the grid of the tables, with clusters and times."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from propriety.errors import InputValueError, sentence
from propriety.inference.dependence import hac, span_of
from propriety.inference.estimates import Estimate, make_estimate
from propriety.inference.influence import error_of_table
from propriety.inference.measures import Influence, Mean, Skill
from propriety.ledger.ledger import Ledger
from propriety.ledger.moments import OUTCOME, Moments
from propriety.results import Floats
from propriety.rules.rule import BinaryRule, ClassRule, Rule
from propriety.tables.forecast_table import ForecastTable

__all__ = ["estimate_from_moments", "estimate_mean", "measured_moments", "parts_in_time"]


def estimate_mean(ledger: Ledger, model: str, measure: Mean | Skill, level: float) -> Estimate:
    """Estimate a mean, or a skill: from an exact table of independent cases, or from the moments of their losses."""
    if measure.rule in ledger.rules or not _table_tells(ledger, model, measure):
        return estimate_from_moments(ledger, model, measure, level)
    table = ledger.table(model)
    value, influence = _losses_of_table(table, measure)
    error = error_of_table(table, influence) if math.isfinite(value) else math.nan
    method = "delta method, Student's t" if isinstance(measure, Skill) else "Student's t"
    found = make_estimate(ledger, measure, value, error, table.n - 1.0, level, method, units=table.n)
    return found if isinstance(measure, Skill) else _within(found, measure, ledger.classes)


def _table_tells(ledger: Ledger, model: str, measure: Mean | Skill) -> bool:
    """Return whether the table of a model holds all that the moments of its losses do."""
    binary = ledger.labels is None and isinstance(measure.rule, BinaryRule)
    return binary and ledger.dependence is None and ledger.table(model).cells is None


def _losses_of_table(table: ForecastTable, measure: Mean | Skill) -> tuple[float, Influence]:
    """Return the mean, or the skill, and the deviations of the losses of events and of non-events."""
    rule = measure.rule
    assert isinstance(rule, BinaryRule)  # noqa: S101  (for the type checker; it was asked for)
    losses = _met(rule, table.forecast, table)
    mean = float((table.events * losses[1]).sum() + (table.non_events * losses[0]).sum()) / table.weight
    if math.isnan(mean):
        raise InputValueError(sentence(f"{rule!r} must return numbers; its loss of some case is NaN"))
    if not isinstance(measure, Skill):
        sign = measure.sign
        with np.errstate(invalid="ignore"):  # Of an infinite mean.
            return sign * mean + 0.0, Influence(sign * (losses[1] - mean), sign * (losses[0] - mean))
    constant = _constant_losses(rule, np.array([1.0 - table.event_rate, table.event_rate]))
    met = np.array([float(table.non_events.sum()), float(table.events.sum())])
    against = _positive(float((met * np.where(met > 0.0, constant, 0.0)).sum()) / table.weight)
    ratio = mean / against
    with np.errstate(invalid="ignore"):
        saved = [-(losses[happens] - ratio * constant[happens]) / against for happens in (1, 0)]
    return 1.0 - ratio, Influence(*saved)


def _met(rule: BinaryRule, forecast: Floats, table: ForecastTable) -> Floats:
    """Return the losses of non-events and events in each row; one that no case meets is 0, even if it is infinite."""
    found = np.zeros((2, len(table)))
    for happens, weight in ((1, table.events), (0, table.non_events)):
        loss = np.broadcast_to(rule.loss(forecast, event=bool(happens)), len(table))
        found[happens] = np.where(weight > 0.0, loss, 0.0)
    return found


def _positive(against: float) -> float:
    if not 0.0 < against < math.inf:
        law = f"the reference must have a positive, finite loss to be improved on; its mean is {against!r}"
        raise InputValueError(sentence(law, hint="y_true holds one class only?"))
    return against


def estimate_from_moments(ledger: Ledger, model: str, measure: Mean | Skill, level: float) -> Estimate:
    """Estimate a mean, or a skill, from the moments of the losses of all cases."""
    moments, place = measured_moments(ledger, measure), ledger.models.index(model)
    value = float(moments.means[place]) + 0.0
    method = "delta method, " if isinstance(measure, Skill) else ""
    if moments.dependence == "time":
        error, df = (float(one[0]) for one in hac(parts_in_time(moments)[:, [place]]))
        span = span_of(moments.units)
        method += f"Student's t, Bartlett's weights over {span:,} time{'s' * (span != 1)}"
    else:
        error, df = float(moments.standard_errors()[place]), moments.units - 1.0
        method += "Student's t" if moments.dependence is None else "Student's t, cluster-robust"
    found = make_estimate(ledger, measure, value, error, df, level, method, units=moments.units)
    return found if isinstance(measure, Skill) else _within(found, measure, ledger.classes)


def measured_moments(ledger: Ledger, measure: Mean | Skill) -> Moments:
    """Return the moments of what has the measure as its mean: signed losses, or the shares of the loss saved."""
    moments = ledger.moments(measure.rule)
    if isinstance(measure, Skill):
        return _saved(moments, measure.rule)
    if measure.sign == 1.0:
        return moments
    return replace(moments, mean=measure.sign * moments.mean, lean=measure.sign * moments.lean)


def parts_in_time(moments: Moments) -> Floats:
    """Return the part that each time has in the deviation of the means, shape (times, series), in order."""
    by_time = moments.over("time")
    with np.errstate(invalid="ignore"):  # Of infinite losses.
        parts: Floats = (by_time.weight / by_time.weight.sum())[:, None] * (by_time.mean - moments.means)
    return parts


def _saved(moments: Moments, rule: Rule) -> Moments:
    r"""Return the moments of :math:`1 - S / R - (l_i - (S / R)\, r_i) / R`, whose mean is the skill of a model.

    S and R are the mean losses of the model and of the constant forecast, l and r those of a case; r is the same for
    all cases with one outcome. For a pair of models S and l are differences, and there is no 1.
    """
    outcome = np.array(moments.index.column(OUTCOME), dtype=np.intp)
    by_outcome = moments.over(OUTCOME)
    shares = np.zeros(max(int(max(moments.index.labels[moments.index.place(OUTCOME)])) + 1, 2))
    shares[np.array(by_outcome.index.column(OUTCOME), dtype=np.intp)] = by_outcome.weight / by_outcome.weight.sum()
    losses = _constant_losses(rule, shares)[outcome]
    against = _positive(float((losses * moments.weight).sum() / moments.weight.sum()))
    ratio = moments.means / against
    whole = np.where(np.arange(len(ratio)) < len(moments.models), 1.0, 0.0)
    with np.errstate(invalid="ignore"):  # Of an infinite mean.
        mean = whole - ratio - (moments.mean - ratio * losses[:, None]) / against
    return replace(moments, mean=mean, lean=-moments.lean / against, spread=moments.spread / against**2)


def _constant_losses(rule: Rule, shares: Floats) -> Floats:
    """Return the loss of the constant forecast of these shares for each outcome."""
    if isinstance(rule, BinaryRule) and (len(shares) == 2 or not isinstance(rule, ClassRule)):
        met = [float(np.asarray(rule.loss(np.array([shares[1]]), event=happens)).item()) for happens in (False, True)]
        return np.array(met)
    assert isinstance(rule, ClassRule)  # noqa: S101  (for the type checker; the moments are of classes)
    columns = [np.full(len(shares), share) for share in shares]
    return np.asarray(rule.class_case_loss(columns, np.arange(len(shares))))


def _within(found: Estimate, measure: Mean, classes: int | None) -> Estimate:
    """Keep the limits of a mean in the range that the rule declares; the mean of a rule that strays stays inside."""
    claims = measure.rule.properties(classes)
    if claims.best is None or claims.worst is None:
        return found
    least, most = sorted((measure.sign * claims.best, measure.sign * claims.worst))
    low, high = (limit if math.isnan(limit) else min(max(limit, least), most) for limit in (found.low, found.high))
    return replace(found, low=min(low, found.value), high=max(high, found.value))
