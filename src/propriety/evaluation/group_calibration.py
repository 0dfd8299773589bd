"""Tests of calibration in every group that is large enough, with one level for all of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.calibration.calibration_test import FEWEST_EQUAL, FEWEST_UNITS
from propriety.calibration.null_scores import log_weight_ratio
from propriety.inference.calibration_numbers import (
    CalibrationNumbers,
    calibration_numbers,
    outcomes_of,
    ratio_limits,
    spreads,
)
from propriety.inference.slice_table import Slices, group_names
from propriety.inference.slices import SMALLEST
from propriety.inference.verdicts import Names, holm
from propriety.ledger.ledger import Ledger
from propriety.result import Floats, Result, Tuples
from propriety.tables.cases import Cases


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
