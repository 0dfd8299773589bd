"""Estimates of measures that are not means, in every group and for all other cases."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety.errors import UNDEFINED
from propriety.inference.answers_ledger import as_measured
from propriety.inference.bootstrap import Drawing
from propriety.inference.dependence import Errors, error_of_difference, student, sums_of_units
from propriety.inference.estimates import ROUNDING
from propriety.inference.estimation import estimate_of
from propriety.inference.finding import Finding, Objects
from propriety.inference.imagined import imagined_of_model
from propriety.inference.influence import case_influence, errors_of_cases, factor_of, influence_in, is_by_outcome
from propriety.inference.limits import hull, imagined_limits, imagined_p_value
from propriety.inference.mean_estimates import errors_of_means, measured_moments
from propriety.inference.measures.measure import Measure
from propriety.inference.notes import Note
from propriety.ledger.ledger import Ledger
from propriety.result import Floats

MOST_TESTED = 500  # Most groups that are compared with all other cases.


class Numbers(NamedTuple):
    """Values with their limits, errors, p-values and methods, of shape (groups, models)."""

    value: Floats
    low: Floats
    high: Floats
    error: Floats
    p: Floats
    method: Objects

    @classmethod
    def unknown(cls, shape: tuple[int, int]) -> Numbers:
        """Return numbers that are yet to be put in."""
        columns: Any = (*np.full((5, *shape), math.nan), np.full(shape, "", dtype=object))
        return cls(*columns)

    def put(self, place: tuple[int, int], *numbers: float | str) -> None:
        """Put in the numbers of a group and a model, in the order of the fields."""
        for column, number in zip(self, numbers, strict=True):
            column[place] = number

    def where(self, known: NDArray[np.bool_]) -> Numbers:
        """Return the values, with all else where it is known."""
        columns: Any = (np.where(known, column, np.nan) for column in self[1:5])
        return Numbers._make((self.value, *columns, np.where(known, self.method, "")))

    def at(self, place: tuple[int, int]) -> dict[str, Any]:
        """Return the numbers of a group and a model by name."""
        return {name: column.item(place) for name, column in zip(self._fields, self, strict=True)}


class GroupEstimates(NamedTuple):
    """Numbers of groups and of their differences from the rest, with a note on what is not known, by group and model.

    `overall` has the values of all cases by model.
    """

    own: Numbers
    rest: Numbers
    note: Objects
    rest_note: Objects
    overall: Floats

    def at(self, entry: NDArray[np.intp]) -> GroupEstimates:
        """Return the groups with these entries."""
        own, rest = (Numbers._make(column[entry] for column in side) for side in (self.own, self.rest))
        return GroupEstimates(own, rest, self.note[entry], self.rest_note[entry], self.overall)


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
    own_numbers, rest_numbers = (Numbers.unknown((groups, models)) for _ in range(2))
    note, rest_note = np.full((2, groups, models), None, dtype=object)
    apart, in_time = not shares_units(ledger), ledger.dependence == "period"
    overall = np.array([_value(ledger, measure, model, level, drawing) for model in ledger.models])
    for place in range(groups):
        chosen = np.arange(groups) == place
        own = ledger.at_entries(chosen)
        rest = ledger.at_entries(~chosen) if 1 < groups <= MOST_TESTED and not untested[place].all() else None
        for column, model in enumerate(ledger.models):
            at = place, column
            if untested[at]:
                own_numbers.value[at] = _value(own, measure, model, level, drawing)
                continue
            found = _estimated(own, measure, model, level, drawing)
            if found is None:
                continue
            own_numbers.put(at, found.value, found.low, found.high, found.error, math.nan, found.method)
            rest_note[at] = Note("many-groups") if groups > MOST_TESTED else None
            against = None if rest is None else _estimated(rest, measure, model, level, drawing)
            if rest is None or against is None:
                continue
            rest_numbers.value[at] = found.value - against.value
            if math.isnan(found.low) or math.isnan(against.low):
                rest_note[at] = Note("no-interval")
                continue
            shared = _shared(ledger, (own, rest), chosen, measure, model)
            note[at] = Note("neighbours") if shared is None and in_time else None
            if shared is None and not apart:
                rest_note[at] = Note("shared-units")
                continue
            tested = _difference(found, against, shared, level, in_time=in_time)
            if tested is None:
                rest_note[at] = Note("no-interval")
                continue
            tested = _with_imagined(tested, (own, rest), measure, model, (found, against), level)
            rest_numbers.put(at, found.value - against.value, *tested, "both standard errors")
    return GroupEstimates(own_numbers, rest_numbers, note, rest_note, overall)


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


class _Tested(NamedTuple):
    """Limits, standard error and p-value of a difference."""

    low: float
    high: float
    error: float
    p: float


def _difference(one: Finding, other: Finding, shared: _Shared | None, level: float, *, in_time: bool) -> _Tested | None:
    """Test the difference of two estimates that are independent or share clusters; None if nothing varies."""
    errors = [np.array([own.error]) for own in (one, other)]
    # The fewer errors happen to be confident, the smaller are both the area of answers and its standard error.
    on_log_scale = one.measure.of_answers and one.measure.scale == "log"
    scales = (one.value, other.value) if on_log_scale else (1.0, 1.0)
    gap = math.log(one.value / other.value) if on_log_scale else one.value - other.value
    noise, df = 0.0, np.array([math.inf])
    if shared is None:
        error = np.hypot(*(own / scale for own, scale in zip(errors, scales, strict=True)))
    else:
        sides = [Errors(own / scale, df) for own, scale, df in zip(errors, scales, shared.df, strict=True)]
        first, second = (part / scale for part, scale in zip(shared.parts, scales, strict=True))
        error, df = error_of_difference((sides[0], sides[1]), (first, second), in_time=in_time)
        noise = ROUNDING * max(abs(own.value / scale) for own, scale in zip((one, other), scales, strict=True))
        if abs(gap) <= noise:
            return _Tested(0.0, 0.0, float(error[0]), 1.0)
        noise /= math.sqrt(len(first))
    if not error[0] > noise:
        return None
    found = student(np.array([gap]), error, df, level)
    low, high = (math.nan, math.nan) if on_log_scale else (float(found.low[0]), float(found.high[0]))
    return _Tested(low, high, math.nan if on_log_scale else float(error[0]), float(found.p_value[0]))


def _with_imagined(
    tested: _Tested,
    sides: tuple[Ledger, Ledger],
    measure: Measure,
    model: str,
    found: tuple[Finding, Finding],
    level: float,
) -> _Tested:
    """Return the hull with the limits by imagined outcomes and the larger p-value, if there are any."""
    imagined = []
    for side, estimate in zip(sides, found, strict=True):
        measured = as_measured(side, measure, model)
        one = imagined_of_model(measured, model, measure, factor_of(measured, model, measure, estimate.error))
        if one is None or not math.isfinite(float(one.third)):
            return tested
        imagined.append(one)
    difference, both = np.array(found[0].value - found[1].value), imagined[0].minus(imagined[1])
    low, high = hull((np.array(tested.low), np.array(tested.high)), imagined_limits(difference, both, math.inf, level))
    return _Tested(float(low), float(high), tested.error, float(np.fmax(tested.p, imagined_p_value(difference, both))))


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


def _estimated(ledger: Ledger, measure: Measure, model: str, level: float, drawing: Drawing) -> Finding | None:
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


def shares_units(ledger: Ledger) -> bool:
    """Return whether some cluster or period has cases in several groups, or may have."""
    if ledger.dependence is None:
        return False
    if (cases := ledger.cases) is not None and (keys := cases.units) is not None:
        return len(np.unique(ledger.entries() * len(keys) + keys.codes)) > len(np.unique(keys.codes))
    if not ledger.rules:
        return True
    cells, _ = ledger.moments(ledger.rules[0]).index.only([*ledger.index.names, ledger.dependence])
    return len(cells) > len(cells.only([ledger.dependence])[0])
