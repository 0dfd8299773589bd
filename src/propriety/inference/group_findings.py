"""The calibration of forecasts in groups as findings, with one level for all groups and models."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtr, chdtrc, ndtr

from propriety.calibration.calibration_test import log_weight_ratio
from propriety.inference.between_groups import FEWEST_POOLED, chosen_labels, pooled_events, rows_between
from propriety.inference.bootstrap import Drawing
from propriety.inference.calibration_findings import CALIBRATION, family, sizes_of, with_adjusted
from propriety.inference.calibration_numbers import CalibrationNumbers, calibration_numbers, numbers_of_event, spreads
from propriety.inference.differing_groups import alike_events, differing_groups
from propriety.inference.estimation import estimate_or_note
from propriety.inference.events_by_group import EventsByGroup
from propriety.inference.finding import GROUPS, Finding, Label, check_keys_of
from propriety.inference.group_counts import FEWEST as FEWEST_EVENTS
from propriety.inference.group_rows import texts_of_labels
from propriety.inference.measures.line import CalibrationSlope
from propriety.inference.measures.ratios import ObservedExpected
from propriety.inference.notes import Note
from propriety.inference.outcome_counts import OutcomeCounts, counts_of_tables
from propriety.inference.slice_estimates import shares_units
from propriety.inference.slices import SMALLEST
from propriety.inference.verdict import FEWEST_EQUAL, FEWEST_UNITS, p_of_limits, with_verdict
from propriety.ledger.keyed_tables import KeyedTables
from propriety.ledger.ledger import Ledger
from propriety.result import Floats
from propriety.tables.cases import Cases
from propriety.tables.events import TOP, Event

TOP_LABEL = "top label"  # The statistic of rows about the most likely class of each case.
MOST_NAMED = 3  # Classes named for each group.


class GroupTables(NamedTuple):
    """The groups of one key for one model: their labels, tables, numbers and counts of outcomes."""

    key: str
    model: str
    labels: list[Label]
    keyed: KeyedTables
    numbers: CalibrationNumbers
    counts: list[OutcomeCounts]
    cases: Cases | None  # Of the event, if errors need them.
    members: list[NDArray[np.intp]]  # The cases of each group.

    @property
    def is_tested(self) -> NDArray[np.bool_]:
        """Whether a group has enough cases and clusters, whatever its outcomes.

        Groups that are selected by their outcomes would be flagged too often.
        """
        found = self.numbers
        return (self.keyed.n >= SMALLEST) & (found.units >= FEWEST_UNITS) & (found.worth >= FEWEST_EQUAL)

    def ledger_of(self, place: int) -> Ledger:
        """Return the ledger of one group."""
        if self.cases is None:
            return Ledger.of_tables({self.model: self.keyed.at(place)})
        return Ledger.of_source(self.cases.where(self.members[place]), (Event("event"),))


def group_findings(ledger: Ledger, *, level: float) -> list[Finding]:
    """Return the calibration of each model in the groups of each key of a ledger; clusters require the cases.

    The tests are Cox's, with few events of the number of events only; p-values are adjusted by Holm's method for all
    models and groups. Groups of fewer than 50 cases, or with too few clusters, are not tested. Of classes, half of the
    level is for the most likely class and half for the classes (Bonferroni).
    """
    check_keys_of(ledger.index.names)
    if ledger.dependence is not None and ledger.cases is None:
        return []
    by_key = [ledger.over(*(other for other in ledger.index.names if other != name)) for name in ledger.index.names]
    pairs = [(own, model) for model in ledger.models for own in by_key]
    if ledger.labels is None:
        tables = [_tables(own, model, ledger.events[0]) for own, model in pairs]
        over = [_over_groups(own, found, level, len(pairs)) for (own, _), found in zip(pairs, tables, strict=True)]
        rows = _with_families([row for found in tables for row in _of_event(found, level)], 0)
        for found, between in zip(tables, over, strict=True):
            rows = _with_notes(rows, found, between.named, level)
        return [*rows, *(with_verdict(row) for between in over for row in between.rows)]
    if TOP in ledger.events:
        tops = [_tables(own, model, TOP) for own, model in pairs]
        least = (1.0 - level) / max(sum(int(np.count_nonzero(top.is_tested)) for top in tops), 1)
        rows = [row for (own, _), top in zip(pairs, tops, strict=True) for row in _of_classes(own, top, level, least)]
    else:
        rows = []
    return _with_families(rows, 2 * len(ledger.labels))


def _tables(ledger: Ledger, model: str, event: Event) -> GroupTables:
    """Return the tables of the groups of the one key of a ledger."""
    (name,), groups = ledger.index.names, len(ledger.index)
    cases = None if ledger.dependence is None and ledger.censoring is None else ledger.cases
    source = ledger.source if ledger.labels is not None else None
    entry = ledger.entries() if isinstance(source, Cases) or cases is not None else np.empty(0, dtype=np.intp)
    if isinstance(source, Cases):
        keyed = KeyedTables.of_cases(source, model, event, entry, groups)  # Tables of classes are not kept.
    else:
        keyed = ledger.keyed_tables(model, event)
    ratio = np.full(groups, log_weight_ratio(keyed.whole())) if ledger.is_weighted else None
    own = None if cases is None else cases.event(event, model)
    correlated = None if ledger.dependence is None else own
    spread = None if correlated is None else partial(spreads, correlated, entry, groups)
    numbers = calibration_numbers(keyed, log_ratio=ratio, spreads_of=spread)
    counts = counts_of_tables(keyed, correlated, entry)
    members = [] if own is None else _members(entry, groups)
    return GroupTables(name, model, ledger.index.column(name), keyed, numbers, counts, own, members)


class _Over(NamedTuple):
    """What observed/expected is over groups, and the places of the groups whose error is not that of the others."""

    rows: list[Finding]
    named: tuple[int, ...] = ()


def _over_groups(ledger: Ledger, found: GroupTables, level: float, tests: int) -> _Over:
    """Pool observed/expected over the tested groups, and test whether they share one error."""
    ratio, tested = ObservedExpected(), found.is_tested
    if np.count_nonzero(tested) < FEWEST_POOLED or shares_units(ledger):
        return _Over([])
    events = EventsByGroup.of(ledger, found.model)
    tested &= events.variances(events.keyed.forecast) > 0.0
    labels = chosen_labels(texts_of_labels(found.labels), tested)
    pooled = pooled_events(ratio, events.where(tested), labels, level=level)
    groups = differing_groups(partial(alike_events, events), tested, level, tests=tests)
    facts: dict[str, Any] = {"measure": ratio, "model": found.model, "level": level, "keys": {GROUPS: found.key}}
    facts |= {"n": int(found.keyed.n.sum()), "events": int(found.keyed.n_events.sum())}
    enough = _together(found, tested).enough(ratio.key)
    return _Over(list(rows_between(pooled, p=groups.p, **facts, enough=enough)), groups.named)


def _together(found: GroupTables, groups: NDArray[np.bool_]) -> OutcomeCounts:
    """Return the outcomes of several groups together, of which no cluster is in two."""
    chosen = [own for own, is_chosen in zip(found.counts, groups.tolist(), strict=True) if is_chosen]
    return OutcomeCounts(*(sum(column) for column in zip(*chosen, strict=True))) if chosen else OutcomeCounts(0.0)


def _with_notes(rows: list[Finding], found: GroupTables, named: tuple[int, ...], level: float) -> list[Finding]:
    """Return rows with a note on the tests of groups that stand out.

    These are the named ones, whose observed/expected differs from that of the others; and those that are wrong while
    all others together are not. If these are wrong as well, the groups share the error of the model.
    """
    verdicts = {row.keys[found.key]: row.verdict for row in rows if _is_test_of(row, found)}
    wrong = np.array([verdicts[label] == "bad" for label in found.labels])
    stands_out = np.isin(np.arange(len(wrong)), named)
    others = found.is_tested & ~wrong & ~stands_out
    if (wrong & ~stands_out).any() and _together(found, others).enough(CALIBRATION.key):
        table = found.keyed.where(others).whole()
        cases = found.cases
        if cases is not None:
            cases = cases.where(np.concatenate([found.members[place] for place in np.flatnonzero(others)]))
        p_value = numbers_of_event(table, cases if cases is not None and cases.units is not None else None).p_value
        stands_out |= wrong & (float(p_value[0]) > 1.0 - level)
    labels = {label for label, own in zip(found.labels, stands_out.tolist(), strict=True) if own}
    return [
        replace(row, notes=(*row.notes, Note("stands-out")))
        if _is_test_of(row, found) and row.keys[found.key] in labels
        else row
        for row in rows
    ]


def _is_test_of(row: Finding, found: GroupTables) -> bool:
    return row.measure.key == CALIBRATION.key and row.model == found.model and found.key in row.keys


def _members(entry: NDArray[np.intp], groups: int) -> list[NDArray[np.intp]]:
    """Return the cases of each group, found by one sort."""
    order = np.argsort(entry, kind="stable")
    return np.split(order, np.cumsum(np.bincount(entry, minlength=groups))[:-1])


def _of_event(found: GroupTables, level: float, **names: Any) -> Iterator[Finding]:
    """Yield the test and the sizes of each group, without verdicts, which need the p-values of all."""
    tested, numbers = found.is_tested, found.numbers
    for place, label in enumerate(found.labels):
        sizes = list(size_rows(found, place, level, {found.key: label}, is_tested=bool(tested[place]), **names))
        yield replace(
            sizes[0],
            measure=CALIBRATION,
            **dict.fromkeys(("value", "low", "high", "error"), math.nan),  # type: ignore[arg-type]  # numbers
            p=float(numbers.p_value[place]) if tested[place] else math.nan,
            method="Pearson type III" if numbers.is_rare[place] else "Cox's score test",
            enough=found.counts[place].enough(CALIBRATION.key),
            notes=tuple(_notes(found, place)),
        )
        yield from sizes


def _notes(found: GroupTables, place: int) -> Iterator[Note]:
    if found.numbers.refuted[place] > 0.0:
        yield Note("refuted", {"number": float(found.numbers.refuted[place]), "weighted": True})
    elif found.numbers.is_rare[place]:
        yield Note("number")
    if not found.is_tested[place]:
        yield Note("scarce", {"what": "cases" if found.keyed.n[place] < SMALLEST else "clusters"})


def size_rows(
    found: GroupTables, place: int, level: float, keys: dict[str, Label], *, is_tested: bool = True, **names: Any
) -> Iterator[Finding]:
    """Yield observed/expected and slope of one table as `estimate` gives them, with p-values that agree with limits."""
    counts, events = found.counts[place], int(found.keyed.n_events[place])
    ratio = ObservedExpected()
    facts: dict[str, Any] = {"keys": keys, "events": events, **names}
    if not is_tested:
        facts |= {"model": found.model, "level": level, "n": int(found.keyed.n[place])}
        value = float(found.numbers.ratio[place])
        yield Finding(measure=ratio, value=value, enough=counts.enough(ratio.key), **facts)
        return
    ledger, drawing = found.ledger_of(place), Drawing(1, 0)  # Neither is drawn.
    for measure in (ratio, CalibrationSlope()):
        estimate = estimate_or_note(ledger, found.model, measure, level=level, drawing=drawing)
        row = replace(estimate, enough=counts.enough(measure.key), **facts)
        if row.has_limits:
            yield replace(row, p=p_of_limits(row, 1.0))
        elif measure == ratio:
            one: list[Any] = [column[place : place + 1] for column in found.numbers]
            value, p_value = float(found.numbers.ratio[place]), float(ratio_p_values(CalibrationNumbers(*one))[0])
            yield replace(row, value=value, p=p_value)


def ratio_p_values(found: CalibrationNumbers) -> Floats:
    """Return two-sided p-values of observed/expected that agree with the limits of `ratio_limits`."""
    with np.errstate(divide="ignore", invalid="ignore"):
        normal = 2.0 * ndtr(-np.abs(np.log(found.ratio)) / found.ratio_error)
        fewer = chdtrc(2.0 * found.observed + 2.0, 2.0 * found.expected)  # P(X <= observed).
        more = chdtr(2.0 * found.observed, 2.0 * found.expected)  # P(X >= observed).
        more = np.where(found.observed > 0.0, more, 1.0)
        exact = np.minimum(2.0 * np.minimum(fewer, more), 1.0)
    return np.asarray(np.where(found.observed < FEWEST_EVENTS, exact, normal))


def _of_classes(ledger: Ledger, top: GroupTables, level: float, least: float) -> Iterator[Finding]:
    """Yield the test of the classes of each group, O/E of its most likely class, and the classes that are wrong.

    The smallest p-value decides; other classes are named if they are shown at the level `least` of all tests together.
    """
    labels = list(ledger.labels or ())
    p_values = np.ones((len(labels), len(top.labels)))
    shown: list[list[tuple[float, Label, list[Finding]]]] = [[] for _ in top.labels]
    for at, label in enumerate(labels):
        found = _tables(ledger, top.model, Event("class", at))
        p_values[at] = found.numbers.p_value
        for place in np.flatnonzero(2.0 * len(labels) * p_values[at] <= 1.0 - level).tolist():
            keys = {found.key: found.labels[place], "class": label}
            shown[place].append((p_values[at, place], label, list(size_rows(found, place, level, keys))))
    smallest = 2.0 * len(labels) * p_values.min(axis=0)
    for row in _of_event(top, level, statistic=TOP_LABEL):
        if row.measure.key != CALIBRATION.key:
            yield row
            continue
        at = top.labels.index(row.keys[top.key])
        of_top = 2.0 * float(top.numbers.p_value[at])
        p_value = math.nan if math.isnan(row.p) else min(of_top, float(smallest[at]), 1.0)
        bound = max(p_value, least) / (2.0 * len(labels))
        named = sorted((one for one in shown[at] if one[0] <= bound), key=lambda one: one[0])
        notes, is_top = row.notes, of_top <= max(p_value, least)
        if named or is_top:
            names = tuple(label for _, label, _ in named)
            notes += (Note("classes", {"names": names, "number": len(named), "top": is_top}),)
        extra = {"p_top": min(of_top, 1.0), "p_classes": min(float(smallest[at]), 1.0)}
        yield replace(row, statistic="value", p=p_value, extra=extra, notes=notes, method="Cox's score tests")
        for _, _, sizes in named[:MOST_NAMED]:
            yield from sizes


def _with_families(rows: list[Finding], classes: int) -> list[Finding]:
    """Adjust the p-values of each measure for all groups and models, and return the rows with their verdicts.

    Rows of classes were selected among `classes` of each test, for all of which they are adjusted.
    """
    tests = [row for row in rows if row.measure.key == CALIBRATION.key]
    sizes = [row for row in rows if row.measure.key != CALIBRATION.key]
    selected = [row for row in sizes if "class" in row.keys]
    factor = classes * sum(not math.isnan(row.p) for row in tests)
    adjusted = [with_verdict(replace(row, p_adjusted=min(factor * row.p, 1.0))) for row in selected]
    for key in dict.fromkeys(row.measure.key for row in sizes):
        own = [row for row in sizes if row.measure.key == key and "class" not in row.keys]
        adjusted += [with_verdict(replace(row, p_adjusted=one)) for row, one in zip(own, family(own), strict=True)]
    known = {_name(row): row for row in adjusted}
    of_group: dict[tuple[Any, ...], list[Finding]] = {}
    for row in adjusted:
        of_group.setdefault(_group(row), []).append(row)
    found = with_adjusted(tests, family(tests), lambda row: sizes_of(of_group.get(_group(row), []), row))
    known |= {_name(row): row for row in found}
    return [known[_name(row)] for row in rows]


def _group(row: Finding) -> tuple[Any, ...]:
    return (row.model, *((key, label) for key, label in row.keys.items() if key != "class"))


def _name(row: Finding) -> tuple[Any, ...]:
    return (row.measure.key, row.statistic, row.model, *row.keys.items())
