"""Estimates of measures that are not means, in every group and for all other cases."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from propriety.errors import UNDEFINED
from propriety.inference.answers_ledger import as_measured
from propriety.inference.bootstrap import Drawing
from propriety.inference.estimates import Estimate
from propriety.inference.estimation import estimate_of
from propriety.inference.mean_estimates import measured_moments
from propriety.inference.measures import Measure, Skill
from propriety.ledger.ledger import Ledger
from propriety.result import Floats

__all__ = ["count_answers", "estimate_groups"]

MOST_TESTED = 500  # Most groups that are compared with all other cases.


def estimate_groups(
    ledger: Ledger, measure: Measure, untested: NDArray[np.bool_], level: float, drawing: Drawing
) -> tuple[Floats, Floats, Floats, Floats, Floats, Floats]:
    """Return value, limits, difference to the rest and its p-value by group and model, and the values of all cases.

    `untested` says, by group and model, which have a value only. A difference is tested with the errors of both sides,
    which must be independent. There is no test if clusters extend over several groups, if either side has no interval,
    or with more than 500 groups.
    """
    cases = ledger.cases if ledger.dependence is not None or ledger.is_weighted else None
    ledger = ledger if cases is None or cases is ledger.source else Ledger.of_source(cases, ledger.events)
    groups, models = len(ledger.index), len(ledger.models)
    value, low, high, difference, p_value = np.full((5, groups, models), math.nan)
    testable = groups > 1 and groups <= MOST_TESTED and not _reach_across(ledger)
    overall = np.array([_value(ledger, measure, model) for model in ledger.models])
    for place in range(groups):
        chosen = np.arange(groups) == place
        own = ledger.at_entries(chosen)
        rest = ledger.at_entries(~chosen) if testable and not untested[place].all() else None
        for column, model in enumerate(ledger.models):
            if untested[place, column]:
                value[place, column] = _value(own, measure, model)
                continue
            found = _estimated(own, measure, model, level, drawing)
            if found is None:
                continue
            value[place, column], low[place, column], high[place, column] = found.value, found.low, found.high
            against = None if rest is None else _estimated(rest, measure, model, level, drawing)
            if against is not None:
                gap = found.value - against.value
                error = math.hypot(found.standard_error, against.standard_error)
                difference[place, column] = gap
                if error > 0.0 and not (math.isnan(found.low) or math.isnan(against.low)):
                    p_value[place, column] = _p_value(found, against)
    return value, low, high, difference, p_value, overall


def _p_value(one: Estimate, other: Estimate) -> float:
    """Return the p-value of the difference between two independent estimates; of areas of answers, on the log scale."""
    gap, errors = one.value - other.value, (one.standard_error, other.standard_error)
    if getattr(one.measure, "of_answers", False) and getattr(one.measure, "scale", "") == "log":
        # The fewer errors happen to be confident, the smaller are both the area and its standard error.
        gap = math.log(one.value / other.value)
        errors = (one.standard_error / one.value, other.standard_error / other.value)
    return float(2.0 * ndtr(-abs(gap) / math.hypot(*errors)))


def count_answers(ledger: Ledger, measure: Measure) -> dict[str, Floats]:
    """Return the number of right and of wrong answers by entry and model; with weights, the effective number."""
    right, wrong = np.empty((2, len(ledger.index), len(ledger.models)))
    for column, model in enumerate(ledger.models):
        own = as_measured(ledger, measure, model)
        keyed = own.keyed_tables(model, own.events[0])
        is_event = keyed.forecast >= getattr(measure, "threshold", 0.5)
        for number, parts in ((right, (keyed.events, keyed.non_events)), (wrong, (keyed.non_events, keyed.events))):
            number[:, column] = np.bincount(keyed.entry, np.where(is_event, *parts), minlength=len(number))
        squares = np.bincount(keyed.entry, keyed.event_squares + keyed.non_event_squares, minlength=len(right))
        scale = (right[:, column] + wrong[:, column]) / squares
        right[:, column] *= scale
        wrong[:, column] *= scale
    return {"wrong answer": np.rint(wrong), "right answer": np.rint(right)}


def _estimated(ledger: Ledger, measure: Measure, model: str, level: float, drawing: Drawing) -> Estimate | None:
    """Estimate a measure; None if it is undefined for the cases."""
    try:
        return estimate_of(ledger, measure, model=model, level=level, drawing=drawing)
    except UNDEFINED:
        return None


def _value(ledger: Ledger, measure: Measure, model: str) -> float:
    try:
        if isinstance(measure, Skill) and ledger.labels is not None:
            return float(measured_moments(ledger, measure).means[ledger.models.index(model)])
        return measure.value(as_measured(ledger, measure, model).table(model))
    except UNDEFINED:
        return math.nan


def _reach_across(ledger: Ledger) -> bool:
    """Whether some cluster has cases in several groups."""
    cases = ledger.cases
    if ledger.dependence is None or cases is None:
        return False
    keys = cases.units
    assert keys is not None  # noqa: S101  (for the type checker; the ledger says that they are there)
    entry = ledger.entries()
    return len(np.unique(entry * len(keys) + keys.codes)) > len(np.unique(keys.codes))
