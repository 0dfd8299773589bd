"""Calibration in every group that is large enough to be judged, with one level for all of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from propriety.inference.bootstrap import Drawing
from propriety.inference.calibration_summary import CalibrationSummary, calibration_of, outcomes_of_several
from propriety.inference.slice_table import Slices, group_names
from propriety.inference.verdicts import Names
from propriety.ledger.ledger import Ledger
from propriety.results import Floats, Result

__all__ = ["MOST_GROUPS", "GroupCalibration", "calibration_of_groups"]

MOST_GROUPS = 1000  # Rows of models and groups; more are not tested one by one.


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class GroupCalibration(Result):
    """Calibration of each model in each group that is judged, one row each.

    Parameters
    ----------
    model, group : ndarray of str
        The model and the group, as in `Slices`.
    outcome : ndarray of str
        What the test of calibration allows to be said, as in `propriety.calibration_summary`, but with the adjusted
        p-value.
    observed_expected, observed_expected_low, observed_expected_high : ndarray of float
        Observed over expected events, with its interval.
    slope, slope_low, slope_high : ndarray of float
        Calibration slope, with its interval.
    p_value, p_adjusted : ndarray of float
        p-value of the test of calibration, and the same with Holm's adjustment for all rows.
    level : float
        Level of the intervals and of the outcomes.
    """

    model: Names
    group: Names
    outcome: Names
    observed_expected: Floats
    observed_expected_low: Floats
    observed_expected_high: Floats
    slope: Floats
    slope_low: Floats
    slope_high: Floats
    p_value: Floats
    p_adjusted: Floats
    level: float

    @property
    def is_miscalibrated(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Whether a row is miscalibrated, with the level held over all rows."""
        return np.asarray(self.outcome == "miscalibrated")


def calibration_of_groups(ledger: Ledger, found: Slices, *, level: float, drawing: Drawing) -> GroupCalibration | None:
    """Judge the calibration of the groups of each key of a ledger; None where they are too many, or none is judged."""
    judged = int(np.count_nonzero(found.is_judged))
    if not 0 < judged <= MOST_GROUPS:
        return None
    rows = list(_rows(ledger, found, level, drawing))
    summaries = [summary for *_, summary in rows]
    outcome, p_adjusted = outcomes_of_several(summaries)
    columns = {
        f"{name}{suffix}": np.array([getattr(getattr(one, name), limit) for one in summaries])
        for name in ("observed_expected", "slope")
        for suffix, limit in (("", "value"), ("_low", "low"), ("_high", "high"))
    }
    return GroupCalibration(
        model=np.array([model for model, *_ in rows]),
        group=np.array([group for _, group, _ in rows]),
        outcome=np.array(outcome),
        **columns,
        p_value=np.array([one.p_value for one in summaries]),
        p_adjusted=p_adjusted,
        level=level,
    )


def _rows(
    ledger: Ledger, found: Slices, level: float, drawing: Drawing
) -> Iterator[tuple[str, str, CalibrationSummary]]:
    """Yield model, group and its calibration, in the order of the groups."""
    judged = set(zip(found.model[found.is_judged].tolist(), found.group[found.is_judged].tolist(), strict=True))
    several = len(found.by) > 1
    for name in found.by:
        own = ledger.over(*(other for other in ledger.index.names if other != name))
        labels = own.index.column(name)
        for model in ledger.models:
            for place, group in enumerate(group_names(own.index).tolist()):
                shown = f"{name}: {group}" if several else group
                if (model, shown) in judged:
                    part = _part(own, model, place, {name: labels[place]})
                    yield model, shown, calibration_of(part, model, level=level, drawing=drawing)


def _part(ledger: Ledger, model: str, place: int, keys: dict[str, object]) -> Ledger:
    """Return the ledger of one group: of its table, or of its cases where they may depend on each other."""
    if ledger.dependence is None:
        return Ledger.of_tables({model: ledger.keyed_tables(model, ledger.events[0]).at(place)})
    return ledger.where(**keys)
