"""Tests of calibration in every group that is large enough, with one level for all of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety.calibration.calibration_test import FEWEST, FEWEST_EQUAL, FEWEST_UNITS, log_weight_ratio
from propriety.inference.calibration_numbers import (
    CalibrationNumbers,
    calibration_numbers,
    outcomes_of,
    ratio_limits,
    spreads,
)
from propriety.inference.calibration_words import TOGETHER, direction_words
from propriety.inference.class_words import class_names
from propriety.inference.slice_table import Slices, group_names
from propriety.inference.slices import SMALLEST
from propriety.inference.verdicts import Names, holm
from propriety.ledger.keyed_tables import KeyedTables
from propriety.ledger.ledger import Ledger
from propriety.result import Floats, Result, Tuples, tuples_of
from propriety.tables.cases import Cases
from propriety.tables.events import TOP, Event


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class GroupCalibration(Result):
    """Calibration of each model in each tested group, one row each.

    See `calibration_of_groups`, and for classes `class_calibration_of_groups`.

    Parameters
    ----------
    model, group : ndarray of str
        The model and the group, as in `Slices`.
    outcome : ndarray of str
        Result of the test of calibration, as in `propriety.calibration_summary`, with one level for all rows.
    directions : ndarray of tuple
        For each row, in which ways the forecasts are wrong, if they are, in the same words, of classes with their
        names; shapes are not tested, and with few events only the level is.
    observed_expected, observed_expected_low, observed_expected_high : ndarray of float
        Observed/expected events, with its interval; for classes, of the event that the most likely class happens.
    p_value, p_adjusted : ndarray of float
        p-value of Cox's score test of intercept 0 and slope 1 (with few events, of the number of events only), for
        classes adjusted for their number, and the same with Holm's adjustment for all rows.
    level : float
        Level of the intervals and of the outcomes.
    """

    model: Names
    group: Names
    outcome: Names
    directions: Tuples
    observed_expected: Floats
    observed_expected_low: Floats
    observed_expected_high: Floats
    p_value: Floats
    p_adjusted: Floats
    level: float


def calibration_of_groups(ledger: Ledger, found: Slices, *, level: float) -> GroupCalibration | None:
    r"""Test the calibration of the groups of each key of a ledger; clusters require the cases.

    All groups are tested at once by `calibration_numbers`. The shape beyond intercept and slope, which needs more
    cases, is not tested. The result is None if no group is tested, or if cases may be correlated and are not available.
    A group is tested if it has 50 cases, and enough clusters if there are any, however many events it has.
    """
    cases = None if ledger.dependence is None else ledger.cases
    if ledger.dependence is not None and cases is None:
        return None
    several, rows = len(found.by) > 1, []
    for name in found.by:
        own = ledger.over(*(other for other in ledger.index.names if other != name))
        names = [f"{name}: {group}" if several else group for group in group_names(own.index).tolist()]
        rows += [(model, names, _group_numbers(own, model, cases)) for model in ledger.models]
    order = np.argsort([ledger.models.index(model) for model, *_ in rows], kind="stable")
    rows = [rows[place] for place in order]
    model = np.concatenate([np.full(len(names), model) for model, names, _ in rows])
    group = np.concatenate([names for _, names, _ in rows])
    numbers = CalibrationNumbers(*(np.concatenate(column) for column in zip(*(one for *_, one in rows), strict=True)))
    kept = is_tested(found, model, group, numbers)
    if not kept.any():
        return None
    columns: list[Any] = [column[kept] for column in numbers]
    return _outcomes(model[kept], group[kept], CalibrationNumbers(*columns), level)


def is_tested(found: Slices, model: Names, group: Names, numbers: CalibrationNumbers) -> NDArray[np.bool_]:
    """Return which rows have enough cases, and enough clusters if there are any."""
    cases_of = dict(zip(zip(found.model.tolist(), found.group.tolist(), strict=True), found.n.tolist(), strict=True))
    n = np.array([cases_of[row] for row in zip(model.tolist(), group.tolist(), strict=True)])
    # Not by the number of events: groups selected by their outcomes would be flagged too often.
    return (n >= SMALLEST) & (numbers.units >= FEWEST_UNITS) & (numbers.worth >= FEWEST_EQUAL)


def _outcomes(model: Names, group: Names, found: CalibrationNumbers, level: float) -> GroupCalibration:
    p_adjusted = holm(found.p_value)
    low, high = ratio_limits(found, level)
    outcome, directions = outcomes_of(found, low, high, p_adjusted, level)
    return GroupCalibration(
        model=model,
        group=group,
        outcome=outcome,
        directions=directions,
        observed_expected=found.ratio,
        observed_expected_low=low,
        observed_expected_high=high,
        p_value=found.p_value,
        p_adjusted=p_adjusted,
        level=level,
    )


def _group_numbers(ledger: Ledger, model: str, cases: Cases | None) -> CalibrationNumbers:
    event, groups = ledger.events[0], len(ledger.index)
    ratio = np.full(groups, log_weight_ratio(ledger.table(model))) if ledger.is_weighted else None
    own = None if cases is None else partial(spreads, cases.event(event, model), ledger.entries(), groups)
    return calibration_numbers(ledger.keyed_tables(model, event), log_ratio=ratio, spreads_of=own)


MOST_NAMED = 3  # Classes named for each group.


class _Part(NamedTuple):
    """The groups of a key for one model: their numbers for the most likely class, and p-values of each class."""

    model: str
    names: list[str]
    top: CalibrationNumbers
    p_values: Floats  # Of shape (K, groups).
    outcomes: NDArray[np.str_]  # What would be said of each class if it were found, of shape (K, groups).
    directions: Tuples


def class_calibration_of_groups(ledger: Ledger, found: Slices, *, level: float) -> GroupCalibration | None:
    """Test the calibration of class probabilities in the groups of each key of a ledger; clusters require the cases.

    In each group, half of the level is for the probability of the most likely class, and half for the classes, each of
    which is tested as an event of its own (Bonferroni). The p-values of the groups are adjusted by Holm's method.
    Observed/expected is that of the most likely class. The result is None if no group is tested, if cases may be
    correlated and are not available, or if the ledger has no tables of the most likely class.
    """
    cases = None if ledger.dependence is None else ledger.cases
    if TOP not in ledger.events or (ledger.dependence is not None and cases is None):
        return None
    several, parts = len(found.by) > 1, []
    for name in found.by:
        own = ledger.over(*(other for other in ledger.index.names if other != name))
        names = [f"{name}: {group}" if several else group for group in group_names(own.index).tolist()]
        parts += [_part(own, model, names, cases, level) for model in ledger.models]
    parts.sort(key=lambda part: ledger.models.index(part.model))
    model = np.concatenate([np.full(len(part.names), part.model) for part in parts])
    group = np.concatenate([part.names for part in parts])
    top = CalibrationNumbers(*(np.concatenate(column) for column in zip(*(part.top for part in parts), strict=True)))
    p_values = np.concatenate([part.p_values for part in parts], axis=1)
    said = [np.concatenate([part[place] for part in parts], axis=1) for place in (-2, -1)]
    kept = is_tested(found, model, group, top)
    if not kept.any():
        return None
    columns: list[Any] = [column[kept] for column in top]
    shown = class_names(ledger.labels or ())
    top = CalibrationNumbers(*columns)
    outcomes, directions = (one[:, kept] for one in said)
    return _tested(model[kept], group[kept], top, p_values[:, kept], outcomes, directions, shown, level)


def _part(ledger: Ledger, model: str, names: list[str], cases: Cases | None, level: float) -> _Part:
    p_values, outcomes, directions = [], [], []
    *classes, top = _numbers(ledger, model, cases)
    for one in classes:
        low, high = ratio_limits(one, level)
        p_values.append(one.p_value)
        outcome, ways = outcomes_of(one, low, high, np.zeros(len(low)), level)
        outcomes.append(outcome)
        directions.append(ways)
    return _Part(model, names, top, np.stack(p_values), np.stack(outcomes), np.stack(directions))


def _numbers(ledger: Ledger, model: str, cases: Cases | None) -> Iterator[CalibrationNumbers]:
    """Yield the numbers of the groups for each class and, last, for the most likely class; tables are not kept."""
    source, groups = ledger.source, len(ledger.index)
    entry = ledger.entries() if isinstance(source, Cases) or cases is not None else None
    for event in (*(Event("class", place) for place in range(len(ledger.labels or ()))), TOP):
        if isinstance(source, Cases) and entry is not None:
            keyed = KeyedTables.of_cases(source, model, event, entry, groups)
        else:
            keyed = ledger.keyed_tables(model, event)
        ratio = np.full(groups, log_weight_ratio(keyed.whole())) if ledger.is_weighted else None
        own = None if cases is None or entry is None else partial(spreads, cases.event(event, model), entry, groups)
        yield calibration_numbers(keyed, log_ratio=ratio, spreads_of=own)


def _tested(
    model: Names,
    group: Names,
    top: CalibrationNumbers,
    p_values: Floats,
    outcomes: NDArray[np.str_],
    directions: Tuples,
    labels: list[str],
    level: float,
) -> GroupCalibration:
    classes, rows = p_values.shape
    of_class = 2.0 * classes * p_values
    p_value = np.minimum(2.0 * top.p_value, of_class.min(axis=0)).clip(max=1.0)
    p_adjusted = holm(p_value)
    low, high = ratio_limits(top, level)
    of_top, ways_of_top = outcomes_of(top, low, high, np.zeros(rows), level)
    outcome = np.where(top.information < FEWEST, "too few events", "consistent").astype(object)
    ways: list[tuple[str, ...]] = [()] * rows
    for row in np.flatnonzero(p_adjusted <= 1.0 - level).tolist():
        # The smallest p-value decided; others are named if they hold for all rows together.
        least = max(float(p_value[row]), (1.0 - level) / rows)
        named = [("most likely class", of_top[row], ways_of_top[row])] if 2.0 * top.p_value[row] <= least else []
        wrong = np.flatnonzero(of_class[:, row] <= least)
        wrong = wrong[np.argsort(p_values[wrong, row], kind="stable")]
        named += [(labels[place], outcomes[place, row], directions[place, row]) for place in wrong.tolist()]
        outcome[row] = "immaterial" if all(one[1] == "immaterial" for one in named) else "miscalibrated"
        more = [f"{len(named) - MOST_NAMED} more"] if len(named) > MOST_NAMED else []
        ways[row] = (*(_way(name, own) for name, _, own in named[:MOST_NAMED]), *more)
    return GroupCalibration(
        model=model,
        group=group,
        outcome=outcome.astype(str),
        directions=tuples_of(ways),
        observed_expected=top.ratio,
        observed_expected_low=low,
        observed_expected_high=high,
        p_value=p_value,
        p_adjusted=p_adjusted,
        level=level,
    )


def _way(name: str, own: tuple[str, ...]) -> str:
    """Say in which ways the probabilities of a class are wrong."""
    return f"{name}: {TOGETHER}" if own == ("together",) else f"{name} {' and '.join(direction_words(own))}"
