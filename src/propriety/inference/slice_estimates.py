"""Estimates of measures that are not means, in every group and for all other cases."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from propriety.errors import UNDEFINED
from propriety.inference.answers_ledger import as_measured
from propriety.inference.bootstrap import Drawing
from propriety.inference.dependence import Errors, error_of_difference, student, sums_of_units
from propriety.inference.estimates import INDEPENDENT, ROUNDING, Estimate
from propriety.inference.estimation import estimate_of
from propriety.inference.imagined import imagined_of_model
from propriety.inference.influence import case_influence, errors_of_cases, factor_of, influence_in, is_by_outcome
from propriety.inference.limits import imagined_p_value
from propriety.inference.mean_estimates import errors_of_means, measured_moments
from propriety.inference.measures.measure import Measure
from propriety.inference.slice_table import ACROSS, MANY, NO_INTERVAL
from propriety.ledger.ledger import Ledger
from propriety.result import Floats

MOST_TESTED = 500  # Most groups that are compared with all other cases.


class GroupEstimates(NamedTuple):
    """Value, limits, difference from the rest with its p-value, and why there is none, by entry and model.

    `overall` has the values of all cases by model.
    """

    value: Floats
    low: Floats
    high: Floats
    difference: Floats
    p_value: Floats
    note: NDArray[np.object_]
    overall: Floats


def estimate_groups(
    ledger: Ledger, measure: Measure, untested: NDArray[np.bool_], level: float, drawing: Drawing
) -> GroupEstimates:
    """Estimate a measure that is not a mean in every group, and test its difference from all other cases.

    `untested` says, by group and model, which have a value only. If groups share clusters or periods, the test needs
    their contributions to the measure. There is no test if either side has no interval, or with more than 500
    groups.
    """
    cases = ledger.cases if ledger.dependence is not None or ledger.is_weighted else None
    ledger = ledger if cases is None or cases is ledger.source else Ledger.of_source(cases, ledger.events)
    groups, models = len(ledger.index), len(ledger.models)
    value, low, high, difference, p_value = np.full((5, groups, models), math.nan)
    note = np.full((groups, models), "", dtype=object)
    apart, drawn_apart = not _reach_across(ledger), INDEPENDENT if ledger.dependence == "period" else ""
    overall = np.array([_value(ledger, measure, model, level, drawing) for model in ledger.models])
    for place in range(groups):
        chosen = np.arange(groups) == place
        own = ledger.at_entries(chosen)
        rest = ledger.at_entries(~chosen) if 1 < groups <= MOST_TESTED and not untested[place].all() else None
        for column, model in enumerate(ledger.models):
            at = place, column
            if untested[at]:
                value[at] = _value(own, measure, model, level, drawing)
                continue
            found = _estimated(own, measure, model, level, drawing)
            if found is None:
                continue
            value[at], low[at], high[at] = found.value, found.low, found.high
            note[at] = MANY if groups > MOST_TESTED else ""
            against = None if rest is None else _estimated(rest, measure, model, level, drawing)
            if rest is None or against is None:
                continue
            difference[at] = found.value - against.value
            if math.isnan(found.low) or math.isnan(against.low):
                note[at] = NO_INTERVAL
                continue
            shared = _shared(ledger, (own, rest), chosen, measure, model)
            if shared is not None:
                p_value[at] = _p_value_of_shared(found, against, shared, in_time=ledger.dependence == "period")
                note[at] = NO_INTERVAL if math.isnan(p_value[at]) else ""
            elif not apart:
                note[at] = "; ".join(filter(None, (ACROSS, drawn_apart)))
            elif math.hypot(found.standard_error, against.standard_error) > 0.0:
                p_value[at] = _p_value(found, against)
                note[at] = drawn_apart
            else:
                note[at] = NO_INTERVAL
            p_value[at] = _with_imagined(p_value[at], (own, rest), measure, model, (found, against))
    return GroupEstimates(value, low, high, difference, p_value, note, overall)


class _Shared(NamedTuple):
    """Degrees of freedom of both sides, and contributions of all clusters or periods to both, of shape (units, 1)."""

    df: tuple[Floats, Floats]
    parts: tuple[Floats, Floats]


def _shared(
    ledger: Ledger, sides: tuple[Ledger, Ledger], chosen: NDArray[np.bool_], measure: Measure, model: str
) -> _Shared | None:
    """Return the contributions of clusters or periods to both sides; None if there are none, or they are not known."""
    if ledger.dependence is None or ledger.censoring is not None:
        return None
    if measure.has_moments and measure.rule is not None:
        if not measure.has_formula(ledger.classes):
            return None
        labels = ledger.moments(measure.rule).over(ledger.dependence).index.column(ledger.dependence)
        found = [_contributions_to_skill(side, measure, model, labels) for side in sides]
        return _Shared((found[0][0], found[1][0]), (found[0][1], found[1][1]))
    everyone = ledger.cases
    if not measure.has_influence or everyone is None or everyone.units is None:
        return None
    is_own, codes, units = chosen[ledger.entries()], everyone.units.codes, len(everyone.units)
    df, parts = [], []
    for side, kept in zip(sides, (is_own, ~is_own), strict=True):
        measured = as_measured(side, measure, model)
        cases, table = measured.cases, measured.table(model)
        assert cases is not None  # noqa: S101  (for the type checker; both sides are of these cases)
        influence = case_influence(cases, model, table, influence_in(measured, table, measure))[None]
        df.append(errors_of_cases(cases, influence, by_outcome=is_by_outcome(measured, measure)).df)
        parts.append(sums_of_units(influence, codes[kept], units).T)
    return _Shared((df[0], df[1]), (parts[0], parts[1]))


def _contributions_to_skill(ledger: Ledger, measure: Measure, model: str, labels: list[Any]) -> tuple[Floats, Floats]:
    """Return the degrees of freedom of skill, and the contributions of clusters or periods with these labels."""
    moments = measured_moments(ledger, measure)
    assert moments.dependence is not None  # noqa: S101  (for the type checker; used with clusters or periods only)
    column, units = moments.models.index(model), moments.over(moments.dependence)
    place = {label: position for position, label in enumerate(labels)}
    parts = np.zeros((len(labels), 1))
    rows = [place[label] for label in units.index.column(moments.dependence)]
    parts[rows, 0] = units.weight * (units.mean[:, column] - moments.means[column]) / units.weight.sum()
    return errors_of_means(moments).df[[column]], parts


def _p_value_of_shared(one: Estimate, other: Estimate, shared: _Shared, *, in_time: bool) -> float:
    """Return the p-value of a difference between groups that may share clusters or periods."""
    gap, scales = _scaled(one, other)
    errors = [
        Errors(np.array([own.standard_error / scale]), df)
        for own, scale, df in zip((one, other), scales, shared.df, strict=True)
    ]
    parts = [part / scale for part, scale in zip(shared.parts, scales, strict=True)]
    error, df = error_of_difference((errors[0], errors[1]), (parts[0], parts[1]), in_time=in_time)
    noise = ROUNDING * max(abs(own.value / scale) for own, scale in zip((one, other), scales, strict=True))
    if abs(gap) <= noise:
        return 1.0
    if not error[0] * math.sqrt(len(parts[0])) > noise:
        return math.nan
    return float(student(np.array([gap]), error, df, 0.95).p_value[0])


def _p_value(one: Estimate, other: Estimate) -> float:
    """Return the p-value of the difference between two independent estimates."""
    gap, scales = _scaled(one, other)
    errors = (own.standard_error / scale for own, scale in zip((one, other), scales, strict=True))
    return float(2.0 * ndtr(-abs(gap) / math.hypot(*errors)))


def _with_imagined(
    p_value: float, sides: tuple[Ledger, Ledger], measure: Measure, model: str, found: tuple[Estimate, Estimate]
) -> float:
    """Return the larger of a p-value and that by imagined outcomes, if there are any."""
    imagined = []
    for side, estimate in zip(sides, found, strict=True):
        measured = as_measured(side, measure, model)
        one = imagined_of_model(measured, model, measure, factor_of(measured, model, measure, estimate.standard_error))
        if one is None or math.isnan(p_value) or not math.isfinite(float(one.third)):
            return p_value
        imagined.append(one)
    difference = np.array(found[0].value - found[1].value)
    return float(np.fmax(p_value, imagined_p_value(difference, imagined[0].minus(imagined[1]))))


def _scaled(one: Estimate, other: Estimate) -> tuple[float, tuple[float, float]]:
    """Return the difference, and by what to divide the error of either side; of areas of answers, on the log scale."""
    if one.measure.of_answers and one.measure.scale == "log":
        # The fewer errors happen to be confident, the smaller are both the area and its standard error.
        return math.log(one.value / other.value), (one.value, other.value)
    return one.value - other.value, (1.0, 1.0)


def count_answers(ledger: Ledger, measure: Measure) -> dict[str, Floats]:
    """Return the number of right and of wrong answers by entry and model; with weights, the effective number."""
    right, wrong = np.empty((2, len(ledger.index), len(ledger.models)))
    for column, model in enumerate(ledger.models):
        own = as_measured(ledger, measure, model)
        keyed = own.keyed_tables(model, own.events[0])
        is_event = keyed.forecast >= measure.threshold
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


def _value(ledger: Ledger, measure: Measure, model: str, level: float, drawing: Drawing) -> float:
    """Return the value of a measure as `estimate` does; NaN if it is undefined."""
    if measure.has_own_limits:  # Its estimate is corrected for sampling noise, its value for a table is not.
        found = _estimated(ledger, measure, model, level, drawing)
        return math.nan if found is None else found.value
    try:
        if measure.has_moments and ledger.labels is not None:
            return float(measured_moments(ledger, measure).means[ledger.models.index(model)])
        return measure.value(as_measured(ledger, measure, model).table(model))
    except UNDEFINED:
        return math.nan


def _reach_across(ledger: Ledger) -> bool:
    """Whether some cluster or period has cases in several groups, or may have."""
    if ledger.dependence is None:
        return False
    if (cases := ledger.cases) is not None and (keys := cases.units) is not None:
        return len(np.unique(ledger.entries() * len(keys) + keys.codes)) > len(np.unique(keys.codes))
    if not ledger.rules:
        return True
    cells, _ = ledger.moments(ledger.rules[0]).index.only([*ledger.index.names, ledger.dependence])
    return len(cells) > len(cells.only([ledger.dependence])[0])
