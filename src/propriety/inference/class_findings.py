"""The calibration of class probabilities and of grades as findings: of all, and of each class or cut point."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from propriety.calibration.class_test import ENOUGH_REACH, SHARES, SMALLEST, ClassTest, View
from propriety.inference.bootstrap import Drawing
from propriety.inference.calibration_findings import CALIBRATION, event_findings, family, sizes_of, with_adjusted
from propriety.inference.calibration_numbers import ratio_limits
from propriety.inference.class_readings import ClassReading
from propriety.inference.dependent_calibration import units_of_cases
from propriety.inference.finding import Finding
from propriety.inference.group_findings import TOP_LABEL, ratio_p_values
from propriety.inference.measures.line import CalibrationSlope
from propriety.inference.measures.measure import Measure
from propriety.inference.measures.parts import Miscalibration
from propriety.inference.measures.ratios import ObservedExpected
from propriety.inference.notes import Note
from propriety.inference.outcome_counts import OutcomeCounts
from propriety.inference.verdict import holm, p_of_limits, with_verdict
from propriety.ledger.ledger import Ledger
from propriety.result import Floats
from propriety.tables.events import TOP, Event

COLUMNS: dict[View, str] = {"class-wise": "p_classwise", "temperature": "p_temperature", "shape": "p_shape"}
MOST_CUTS = 100  # With more cut points, calibration is not tested at each.


def class_findings(
    ledger: Ledger, model: str, *, level: float, drawing: Drawing, read: ClassReading | None = None
) -> list[Finding]:
    """Return the calibration of the class probabilities of a model: all classes, the most likely one, and each class.

    The test has three parts: temperature, each class, and a shape that the classes share; see `class_test`. Of the most
    likely class and of each class, the sizes are observed/expected and slope.
    """
    read = ClassReading(ledger, model, drawing, level) if read is None else read
    of_classes = _each_class(ledger, model, read, level)
    counts, distance = read.counts_of_all, read.distance
    observed = np.array([rate for _, rate, _ in read.counts])
    measured = ledger.dependence is None
    cost = with_verdict(
        Finding(
            measure=Miscalibration(),
            model=model,
            value=distance.value if measured else math.nan,
            low=distance.low if measured else math.nan,
            high=distance.high if measured else math.nan,
            level=level,
            method="normal" if measured else "",
            n=ledger.n,
            enough=counts.enough("miscalibration"),
            no_model=float((observed * (1.0 - observed)).sum()),
        )
    )
    row = _joint_row(ledger, model, read, counts, level)
    rows = [with_verdict(row, sizes_of([cost, *of_classes], row)), cost]
    if TOP in ledger.events:
        top = ledger.of_event(model, TOP)
        rows += event_findings(top, model, level=level, drawing=drawing, statistic=TOP_LABEL)
    return [*rows, *of_classes]


def _joint_row(ledger: Ledger, model: str, read: ClassReading, counts: OutcomeCounts, level: float) -> Finding:
    """Return the test of all class probabilities without its verdict."""
    test, refuted = read.test, float(read.refuted.sum())
    row = Finding(measure=CALIBRATION, model=model, level=level, n=ledger.n, enough=counts.enough(CALIBRATION.key))
    if test is None:
        return replace(row, notes=(Note("needs-cases", {"where": ledger.where_cases_are}),))
    p_value = 0.0 if refuted else test.p_value
    # The logarithm of a refuted probability is infinite, so it would be left out of temperature and shape.
    untold = ("temperature", "shape") if refuted else ()
    views = {COLUMNS[view]: math.nan if view in untold else p for view, p in test.p_values.items()}
    if not p_value <= 1.0 - level and test.smallest > 1.0 - level and p_value <= ENOUGH_REACH * test.smallest:
        p_value = math.nan  # The draws cannot show a p-value as small as the level needs.
    units = None if ledger.dependence is None or ledger.cases is None else units_of_cases(ledger.cases)[0]
    notes = tuple(_joint_notes(ledger, read, test, counts, p_value, level))
    return replace(row, p=p_value, method=test.method, units=units, notes=notes, extra=views)


def _joint_notes(
    ledger: Ledger, read: ClassReading, test: ClassTest, counts: OutcomeCounts, p_value: float, level: float
) -> Iterator[Note]:
    refuted, alpha = float(read.refuted.sum()), 1.0 - level
    if not read.lines.uncorrelated.any():
        yield Note("certain", {"share": 1.0, "weighted": ledger.is_weighted})
        if refuted:
            yield Note("refuted", {"number": refuted, "weighted": ledger.is_weighted})
        return
    total = sum(SHARES[view] for view in test.p_values)
    shown = {view: p <= alpha * SHARES[view] / max(total, SHARES[view]) for view, p in test.p_values.items()}
    if refuted:
        yield Note("refuted", {"number": refuted, "weighted": ledger.is_weighted})
    else:
        if shown.get("temperature"):
            way = "too timid" if test.temperature > 0.0 else "reversed" if read.is_reversed else "too extreme"
            yield Note("temperature", {"way": way})
        if shown.get("shape"):
            yield Note("shape")
    named = np.flatnonzero(test.class_p_adjusted <= alpha * SHARES["class-wise"] / max(total, SHARES["class-wise"]))
    if len(named):
        order = named[np.argsort(test.class_p_values[named], kind="stable")]
        yield Note("classes", {"names": tuple((ledger.labels or ())[place] for place in order), "number": len(order)})
    yield from _limits_of_test(ledger, read, test, counts, shown=p_value <= alpha, alpha=alpha)


def _limits_of_test(
    ledger: Ledger, read: ClassReading, test: ClassTest, counts: OutcomeCounts, *, shown: bool, alpha: float
) -> Iterator[Note]:
    """Yield what the test could not show, and what it left out."""
    if not shown and not counts.enough(CALIBRATION.key):
        yield Note("scarce", {"what": "cases" if ledger.dependence is None else f"{ledger.dependence}s"})
    if test.smallest > alpha:
        yield Note("few-draws", {"draws": test.method})
    if "shape" not in test.p_values and ledger.cases is None:
        yield Note("needs-cases", {"what": "a test of the shape", "where": ledger.where_cases_are})
        if ledger.source is None and "temperature" in test.p_values:
            yield Note("conservative", {"what": "temperature"})
    left_out = np.isnan(test.class_p_values)
    rare = int(np.count_nonzero(left_out & (read.lines.uncorrelated > 0.0) & (read.lines.uncorrelated < SMALLEST)))
    correlated = int(np.count_nonzero(left_out & (read.lines.uncorrelated >= SMALLEST)))
    if rare:
        yield Note("untested-classes", {"number": rare, "of": len(left_out), "what": "classes"})
    if correlated:
        yield Note("untested-classes", {"number": correlated, "of": len(left_out), "what": f"{ledger.dependence}s"})


def _each_class(ledger: Ledger, model: str, read: ClassReading, level: float) -> list[Finding]:
    """Return the test, observed/expected and slope of each class, adjusted for the number of classes."""
    numbers, test, rows = read.numbers, read.test, []
    (low, high), z = ratio_limits(numbers, level), float(ndtri(0.5 + level / 2.0))
    # A class is shown at the share of the level that the test of all gives to the classes.
    total = 0.0 if test is None else sum(SHARES[view] for view in test.p_values)
    share = SHARES["class-wise"] / max(total, SHARES["class-wise"])
    with np.errstate(divide="ignore", invalid="ignore"):
        gap = np.abs(numbers.slope - 1.0) / numbers.slope_error
    p_slope, p_ratio = np.asarray(2.0 * ndtr(-gap)), ratio_p_values(numbers)
    known = ledger.dependence is None or ledger.cases is not None
    adjusted = [holm(np.where(known, p, math.nan)) for p in (p_ratio, p_slope)]
    for place, label in enumerate(ledger.labels or ()):
        counts = read.outcomes[place]
        facts: dict[str, Any] = {"model": model, "keys": {"class": label}, "level": level, "n": ledger.n}
        facts |= {"events": int(read.counts[place][0])}
        sizes: list[tuple[Measure, tuple[float, float, float, float, float], float]] = [
            (
                ObservedExpected(),
                (
                    numbers.ratio[place],
                    low[place],
                    high[place],
                    numbers.ratio[place] * numbers.ratio_error[place],
                    p_ratio[place],
                ),
                adjusted[0][place],
            )
        ]
        error, slope = numbers.slope_error[place], numbers.slope[place]
        if 0.0 < error < math.inf and math.isfinite(slope):
            limits = slope, slope - z * error, slope + z * error, error, p_slope[place]
            sizes.append((CalibrationSlope(), limits, adjusted[1][place]))
        own = [_size(measure, limits, one, known, counts, facts) for measure, limits, one in sizes]
        row = Finding(measure=CALIBRATION, **facts, enough=counts.enough(CALIBRATION.key), method="Cox's score test")
        if test is not None:
            adjusted_p = min(float(test.class_p_adjusted[place]) / share, 1.0)
            adjusted_p = math.nan if math.isnan(test.class_p_values[place]) else adjusted_p
            row = replace(row, p=float(test.class_p_values[place]), p_adjusted=adjusted_p)
        if read.refuted[place] > 0.0:
            number = {"number": float(read.refuted[place]), "weighted": ledger.is_weighted}
            row = replace(row, p=0.0, p_adjusted=0.0, notes=(Note("refuted", number),))
        rows += [with_verdict(row, own), *own]
    return rows


def _size(
    measure: Measure,
    numbers: tuple[float, float, float, float, float],
    p_adjusted: float,
    known: bool,  # noqa: FBT001  (whether there are limits)
    counts: OutcomeCounts,
    facts: dict[str, Any],
) -> Finding:
    value, low, high, error, p_value = (float(one) for one in numbers)
    limits: dict[str, Any] = {"low": low, "high": high, "error": error, "p": p_value, "p_adjusted": float(p_adjusted)}
    limits = limits if known else {}
    return with_verdict(Finding(measure=measure, value=value, **limits, enough=counts.enough(measure.key), **facts))


def grade_findings(ledger: Ledger, model: str, *, level: float, drawing: Drawing) -> list[Finding]:
    """Return the calibration of ordered classes: of "at most this grade" for each grade but the last, and of all.

    The p-values of the cut points are adjusted by Holm's method, and their smallest is that of all.
    """
    rows: list[Finding] = []
    labels = (ledger.labels or ())[:-1]
    if len(labels) > MOST_CUTS:
        note = Note("many", {"number": len(labels), "what": "cut points"})
        return [with_verdict(Finding(measure=CALIBRATION, model=model, level=level, n=ledger.n, notes=(note,)))]
    for place, label in enumerate(labels):
        own = ledger.of_event(model, Event("cut", place))
        rows += event_findings(own, model, level=level, drawing=drawing, keys={"cut": label})
    sizes = _adjusted([row for row in rows if row.measure.key != CALIBRATION.key])
    tests = [row for row in rows if row.measure.key == CALIBRATION.key]
    tests = with_adjusted(tests, family(tests), lambda row: sizes_of(sizes, row))
    p_values: Floats = np.array([row.p_adjusted for row in tests])
    shown = [note for row in tests if row.tested_p <= 1.0 - level for note in row.notes]
    kept = {note.code: note for note in shown if note.code in ("refuted", "shape")}
    untested = [] if np.isfinite(p_values).any() else list(tests[0].notes)
    whole = Finding(
        measure=CALIBRATION,
        model=model,
        level=level,
        n=ledger.n,
        p=float(np.nanmin(p_values)) if np.isfinite(p_values).any() else math.nan,
        enough=all(row.enough for row in tests),
        method="smallest of the cut points, adjusted",
        notes=(*kept.values(), *untested),
    )
    found = {(row.measure.key, row.keys["cut"]): row for row in (*tests, *sizes)}
    each = [found[row.measure.key, row.keys["cut"]] for row in rows]
    return [with_verdict(whole, sizes_of(sizes, whole)), *each]


def _adjusted(sizes: list[Finding]) -> list[Finding]:
    """Return the sizes of the cut points with p-values that agree with their limits, adjusted for their number."""
    found = list(sizes)
    for key in (ObservedExpected.key, CalibrationSlope.key):
        places = [place for place, row in enumerate(sizes) if row.measure.key == key]
        p_values = [p_of_limits(sizes[place], 1.0) for place in places]
        for place, own, adjusted in zip(places, p_values, holm(np.array(p_values)), strict=True):
            if not math.isnan(own):
                row = replace(sizes[place], p=own, p_adjusted=float(adjusted), verdict=None)
                found[place] = with_verdict(row)
    return found
