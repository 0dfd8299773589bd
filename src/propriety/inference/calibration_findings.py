"""The calibration of forecasts of one event as findings: the test, and the sizes of the errors."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from propriety.calibration.calibration_test import CalibrationTest
from propriety.errors import InputValueError
from propriety.inference.bootstrap import Drawing
from propriety.inference.calibration_numbers import numbers_of_event
from propriety.inference.calibration_testing import calibration_test_of, recalibrated_test_of
from propriety.inference.estimates import censoring_notes
from propriety.inference.estimation import estimate_or_note
from propriety.inference.finding import GROUPS, Finding, Label
from propriety.inference.measures.line import CalibrationSlope
from propriety.inference.measures.measure import Measure
from propriety.inference.measures.parts import Miscalibration
from propriety.inference.measures.ratios import ObservedExpected
from propriety.inference.notes import Note
from propriety.inference.outcome_counts import OutcomeCounts, correlated_cases, counts_of
from propriety.inference.uncertain_forecasts import without_certain
from propriety.inference.verdict import FEWEST_EQUAL, FEWEST_UNITS, holm, with_verdict
from propriety.ledger.ledger import Ledger
from propriety.tables.forecast_table import ForecastTable

# Effective number of periods that the test needs to keep its level, and number of periods needed to estimate it.
FEWEST_PERIODS, TELLING_PERIODS = 25.0, 60
NO_KEYS: Mapping[str, Label] = MappingProxyType({})
SIZES = ("observed_expected", "calibration_slope", "miscalibration")


class _Calibration(Measure):
    """What is tested by the row of that name; it has a p-value and no number."""

    key = "calibration"
    label = "calibration"

    def value(self, table: ForecastTable) -> float:
        """Refuse, because there is no number."""
        del table
        raise InputValueError("calibration has no number", hint="call check_calibration.")


CALIBRATION = _Calibration()


def event_findings(
    ledger: Ledger,
    model: str,
    *,
    level: float,
    drawing: Drawing,
    known: Mapping[str, Finding] = MappingProxyType({}),
    **names: Any,
) -> list[Finding]:
    """Return the test of the calibration of a model for one event, and the sizes: O/E, slope and miscalibration.

    Estimates in `known`, by the key of the measure, are not computed again. `names` are the keys and the statistic of
    the rows. The verdict on the test is that of a single one; see `with_adjusted`.
    """
    table, inside = ledger.table(model), without_certain(ledger, model)
    counts = counts_of(ledger, model, ledger.events[0])
    uncertainty = table.event_rate * (1.0 - table.event_rate)

    def size(source: Ledger, measure: Measure, **facts: Any) -> Finding:
        found = known.get(measure.key) if source is ledger else None
        if found is None:
            found = estimate_or_note(source, model, measure, level=level, drawing=drawing)
        enough = counts.enough(measure.key)
        row = replace(found, enough=enough, events=table.n_events, **facts, **names)
        if measure.key == "observed_expected" and not row.has_limits and math.isfinite(row.value):
            # Without any event there are no limits, but a number of events that can be tested.
            row = replace(row, p=_p_of_number(ledger, model))
        return with_verdict(row)

    rates: Mapping[str, float] = {"event_rate": table.event_rate, "mean_forecast": table.mean_forecast}
    sizes = [
        size(ledger, ObservedExpected(), extra=rates),
        size(inside, CalibrationSlope()),
        size(ledger, Miscalibration(), no_model=uncertainty),
    ]
    test = calibration_test_of(ledger, model, drawing)
    row = Finding(
        measure=CALIBRATION,
        model=model,
        level=level,
        n=table.n,
        events=table.n_events,
        units=None if ledger.dependence is None or test is None else test.units,
        enough=counts.enough(CALIBRATION.key),
        **names,
    )
    if test is None:
        row = replace(row, notes=(Note("needs-cases", {"where": ledger.where_cases_are}),))
        return [with_verdict(row, sizes), *sizes]
    row = replace(
        row,
        p=test.p_value,
        method=test.method,
        notes=tuple(_notes(ledger, model, test, inside, drawing, counts, level)),
        extra={"p_cox": test.line_p_value, "p_shape": test.smooth_p_value},
    )
    return [with_verdict(row, sizes), *sizes]


def with_adjusted(rows: Sequence[Finding], p_adjusted: Sequence[float], parts_of: Callable[..., Any]) -> list[Finding]:
    """Return rows of tests with adjusted p-values, and the verdicts that follow from them and their parts."""
    return [
        with_verdict(replace(row, p_adjusted=float(one), verdict=None), parts_of(row))
        for row, one in zip(rows, p_adjusted, strict=True)
    ]


def sizes_of(rows: Iterable[Finding], row: Finding) -> list[Finding]:
    """Return the findings that say how large the errors are that a test of calibration is about.

    Those of a group, class or cut point are those with its keys. Those of all cases are, for an event, the three
    without keys; for classes also those of each class, and for grades those of each cut point. If the test shows an
    error, only what is shown by itself counts among classes and cut points, because the rare ones never have limits
    that exclude an error.
    """
    own = [one for one in rows if one.model == row.model and one.measure.key in SIZES and GROUPS not in one.keys]
    # A group of class probabilities has the sizes of the most likely class.
    own = [one for one in own if one.statistic == row.statistic or (row.keys and row.statistic == "value")]
    exact = [one for one in own if one.keys == row.keys]
    inner = [one for one in own if one.keys != row.keys and _is_inside(one.keys, row.keys)]
    if row.tested_p <= 1.0 - row.level:
        wrong = [one for one in inner if one.verdict in ("small", "bad")]
        known = any(one.verdict not in (None, "not tested") for one in exact)
        inner = wrong if wrong or known else inner
    return [*exact, *inner]


def _is_inside(keys: Mapping[str, Label], outer: Mapping[str, Label]) -> bool:
    """Whether keys are those of a class or cut point of what the outer keys name."""
    return outer.items() <= keys.items() and keys.keys() - outer.keys() <= {"class", "cut"}


def family(rows: Sequence[Finding]) -> list[float]:
    """Return the p-values of rows of one kind, adjusted by Holm's method."""
    return [float(one) for one in holm(np.array([row.p for row in rows]))]


def _p_of_number(ledger: Ledger, model: str) -> float:
    """Return the p-value of the number of events."""
    correlated = correlated_cases(ledger, model, ledger.events[0])
    if ledger.dependence is not None and correlated is None:
        return math.nan
    return float(numbers_of_event(ledger.table(model), correlated).p_value[0])


def _notes(
    ledger: Ledger,
    model: str,
    test: CalibrationTest,
    inside: Ledger,
    drawing: Drawing,
    counts: OutcomeCounts,
    level: float,
) -> Iterable[Note]:
    """Yield what the test of calibration found, and what it rests on."""
    table, alpha = ledger.table(model), 1.0 - level
    if test.n_refuted > 0.0:
        yield Note("refuted", {"number": test.n_refuted, "weighted": test.is_weighted})
    if test.p_value <= alpha:
        # A slope far from 1 also bends the curve of residuals; the shape is what remains after fitting it.
        beside = recalibrated_test_of(inside, model, drawing)
        if (test if beside is None else beside).shows_shape(alpha):
            yield Note("shape")
    elif not counts.enough(CALIBRATION.key):
        yield Note("scarce", {"what": scarce_outcome(table.n_events, table.n, counts, ledger.dependence)})
    if test.n_certain > 0.0:
        yield Note("certain", {"share": test.n_certain / table.weight, "weighted": test.is_weighted})
    yield from _cautions(ledger, table, test)


def _cautions(ledger: Ledger, table: ForecastTable, test: CalibrationTest) -> Iterable[Note]:
    """Yield why the test may reject too often, or its limits be wrong."""
    if test.depends_on_few:
        yield Note("few-decide")
    if test.worth < FEWEST_PERIODS:
        yield Note("correlated-periods", {"units": test.units, "worth": max(round(test.worth), 1)})
    elif math.isfinite(test.worth) and test.units < TELLING_PERIODS:
        yield Note("few-periods", {"units": test.units})
    if ledger.prevalence is None and has_weights_by_outcome(table):
        yield Note("fixed-numbers")
    for note in censoring_notes(ledger):
        yield Note(note.code, {**note.parts, "limits": "intervals", "test": True})


def scarce_outcome(events: int, n: int, counts: OutcomeCounts, dependence: str | None) -> str:
    """Return what there is too little of: events, cases without the event, or clusters."""
    if dependence is not None and (counts.units < FEWEST_UNITS or counts.equal_units < FEWEST_EQUAL):
        return f"{dependence}s"
    return "events" if events <= n - events else "non-events"


def has_weights_by_outcome(table: ForecastTable) -> bool:
    """Whether weights differ only between events and non-events."""
    if not table.is_weighted or not 0 < table.n_events < table.n:
        return False
    sides = (
        (table.n_events, table.events, table.event_squares),
        (table.n - table.n_events, table.non_events, table.non_event_squares),
    )
    weights = [float(weight.sum()) / number for number, weight, _ in sides]
    equal = all(
        math.isclose(number * squares.sum(), weight.sum() ** 2, rel_tol=1e-9) for number, weight, squares in sides
    )
    return equal and not math.isclose(*weights, rel_tol=1e-9)
