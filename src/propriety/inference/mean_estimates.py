"""Means and skill from the moments of losses: exact whatever the grid of the tables, with clusters and times."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from propriety.errors import InputValueError, sentence
from propriety.inference.dependence import hac, span_of
from propriety.inference.estimates import Estimate, make_estimate
from propriety.inference.measures import Mean, Skill
from propriety.ledger.ledger import Ledger
from propriety.ledger.moments import OUTCOME, Moments, moments_of_table
from propriety.results import Floats
from propriety.rules.rule import BinaryRule, ClassRule, Rule

__all__ = ["estimate_from_moments", "measured_moments", "parts_in_time"]


def estimate_from_moments(ledger: Ledger, model: str, measure: Mean | Skill, level: float) -> Estimate:
    """Estimate a mean, or a skill, from the moments of the losses of all cases."""
    moments = measured_moments(ledger, measure, model)
    place = moments.models.index(model)
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


def measured_moments(ledger: Ledger, measure: Mean | Skill, model: str | None = None) -> Moments:
    """Return the moments of what has the measure as its mean: signed losses, or the shares of the loss saved.

    Those of one model and independent cases can be had from its table: where that is exact, or all there is.
    """
    plain = ledger.labels is None and ledger.dependence is None
    of_table = model is not None and plain and measure.rule not in ledger.rules
    if of_table and (ledger.table(model).cells is None or not (ledger.rules or ledger.source)):
        moments = moments_of_table(ledger.table(model), measure.rule, ledger.one_model(model))
    else:
        moments = ledger.moments(measure.rule)
    if isinstance(measure, Skill):
        return _saved(moments, measure.rule, ledger.classes)
    if measure.sign == 1.0:
        return moments
    return replace(moments, mean=measure.sign * moments.mean, lean=measure.sign * moments.lean)


def parts_in_time(moments: Moments) -> Floats:
    """Return the part that each time has in the deviation of the means, shape (times, series), in order."""
    by_time = moments.over("time")
    with np.errstate(invalid="ignore"):  # Of infinite losses.
        parts: Floats = (by_time.weight / by_time.weight.sum())[:, None] * (by_time.mean - moments.means)
    return parts


def _saved(moments: Moments, rule: Rule, classes: int | None) -> Moments:
    r"""Return the moments of :math:`1 - S / R - (l_i - (S / R)\, r_i) / R`, whose mean is the skill of a model.

    S and R are the mean losses of the model and of the constant forecast, l and r those of a case; r is the same for
    all cases with one outcome. For a pair of models S and l are differences, and there is no 1.
    """
    outcome = np.array(moments.index.column(OUTCOME), dtype=np.intp)
    by_outcome = moments.over(OUTCOME)
    shares = np.zeros(classes or 2)  # Also of a class that never happened.
    shares[np.array(by_outcome.index.column(OUTCOME), dtype=np.intp)] = by_outcome.weight / by_outcome.weight.sum()
    losses = _constant_losses(rule, shares, classes)[outcome]
    against = float((losses * moments.weight).sum() / moments.weight.sum())
    if not 0.0 < against < math.inf:
        law = f"the reference must have a positive, finite loss to be improved on; its mean is {against!r}"
        raise InputValueError(sentence(law, hint="y_true holds one class only?"))
    ratio = moments.means / against
    ratio = np.where(np.isfinite(ratio), ratio, 0.0)  # An infinite mean stays so, whatever is taken from it.
    whole = np.where(np.arange(len(ratio)) < len(moments.models), 1.0, 0.0)
    mean = whole - ratio - (moments.mean - ratio * losses[:, None]) / against
    return replace(moments, mean=mean, lean=-moments.lean / against, spread=moments.spread / against**2)


def _constant_losses(rule: Rule, shares: Floats, classes: int | None) -> Floats:
    """Return the loss of the constant forecast of these shares for each outcome."""
    if classes is None:
        assert isinstance(rule, BinaryRule)  # noqa: S101  (for the type checker; the moments are of one event)
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
