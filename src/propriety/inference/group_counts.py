"""Numbers of cases, events and clusters of groups and of all other cases, and which of them are too few for a test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from propriety.calibration.calibration_test import FEWEST_EQUAL
from propriety.inference.estimates import FEWEST as FEWEST_OF_A_TEST
from propriety.inference.finding import Objects
from propriety.inference.measures.measure import Measure
from propriety.inference.notes import Note
from propriety.ledger.key_index import KeyIndex
from propriety.ledger.ledger import Ledger
from propriety.ledger.moments import OUTCOME, Moments
from propriety.result import Floats
from propriety.rules.families import BRIER
from propriety.rules.functions import Excess

FEWEST = 10  # With fewer events, non-events or clusters there is no test; see `smallest` of `slices`.
FEWEST_WORTH = 20.0  # The same for the number of cases of equal weight that weighted cases are worth.


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Number of cases, of clusters or periods, and the effective number of these or of weighted cases, of one side."""

    n: NDArray[np.int64]
    unit: str = "case"
    units: NDArray[np.int64] | None = None
    worth: Floats | None = None

    def too_few(self, outcomes: Mapping[str, Floats], smallest: int, *, of_rest: bool = False) -> Objects:
        """Return a note for each group, and each model if they differ, with the number that is too small for a test."""
        numbers = [("case", self.n[:, None], smallest), *((name, number, FEWEST) for name, number in outcomes.items())]
        if self.units is not None:
            numbers += [(self.unit, self.units[:, None], FEWEST)]
        notes = np.full(np.broadcast_shapes(*(number.shape for _, number, _ in numbers)), None, dtype=object)
        for name, given, least in numbers:
            number = np.broadcast_to(given, notes.shape)
            for place in zip(*np.nonzero((number < least) & is_free(notes)), strict=True):
                notes[place] = Note("too-few", {"number": int(number[place]), "unit": name, "of_rest": of_rest})
        if self.worth is not None:
            units, fewest = (self.n, FEWEST_WORTH) if self.units is None else (self.units, FEWEST_EQUAL)
            equal = "weight" if self.units is None else "size"
            for place in zip(*np.nonzero((self.worth[:, None] < fewest) & is_free(notes)), strict=True):
                parts = {"number": int(units[place[0]]), "unit": self.unit, "of_rest": of_rest}
                notes[place] = Note("too-few", {**parts, "worth": float(self.worth[place[0]]), "equal": equal})
        return notes


def is_free(notes: Objects) -> NDArray[np.bool_]:
    """Return where there is no note."""
    return np.asarray(notes == None, dtype=np.bool_)  # noqa: E711  (of each entry)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCounts(Counts):
    """Numbers of the groups, those of all other cases as `rest`, and the entry of each group."""

    index: KeyIndex
    entry: NDArray[np.intp]
    events: NDArray[np.int64] | None
    event_rate: Floats | None
    all_units: int | None
    rest: Counts

    @property
    def outcomes(self) -> dict[str, Floats]:
        """Number of events and of non-events, of shape (groups, 1); empty for classes."""
        if self.events is None:
            return {}
        both = {"event": self.events, "non-event": self.n - self.events}
        return {name: number[:, None].astype(np.float64) for name, number in both.items()}


def counts_of_groups(ledger: Ledger, measure: Measure, by: tuple[str, ...]) -> GroupCounts:
    """Count cases, events and units from the moments of any function."""
    rule = next(iter(measure.filled), Excess() if ledger.labels is None else BRIER)
    moments = ledger.moments(rule)
    groups = moments.over(*by)
    entry = ledger.index.entry_of(groups.index)  # The keys may be requested in another order.
    own, rest = _both_sides(moments, groups, by)
    everyone = None if moments.dependence is None else moments.units
    events = rate = None
    if ledger.labels is None:
        cells = moments.over(OUTCOME, *by)
        _, group = cells.index.only(by)
        happened = np.array(cells.index.column(OUTCOME)) == 1
        events = np.bincount(group[happened], cells.n[happened], minlength=len(groups.n)).astype(np.int64)
        rate = np.bincount(group[happened], cells.weight[happened], minlength=len(groups.n)) / groups.weight
    return GroupCounts(
        n=own.n,
        unit=own.unit,
        units=own.units,
        worth=own.worth,
        index=groups.index,
        entry=entry,
        events=events,
        event_rate=rate,
        all_units=everyone,
        rest=rest,
    )


def _both_sides(moments: Moments, groups: Moments, by: tuple[str, ...]) -> tuple[Counts, Counts]:
    """Return the numbers of each group and of all other cases; a cluster may have cases on both sides."""
    everyone = int(groups.n.sum())
    if moments.dependence is None:
        worth = rest_worth = None
        if (groups.weight != groups.n).any():
            weight, squares = groups.weight.sum() - groups.weight, groups.weight_squares.sum() - groups.weight_squares
            with np.errstate(divide="ignore", invalid="ignore"):
                worth = groups.weight**2 / groups.weight_squares
                rest_worth = np.where(everyone > groups.n, weight**2 / np.maximum(squares, 0.0), 0.0)
        return Counts(n=groups.n, worth=worth), Counts(n=everyone - groups.n, worth=rest_worth)
    cells, units = moments.over(*by, moments.dependence), moments.over(moments.dependence)
    (_, group), (_, unit) = cells.index.only(by), cells.index.only([moments.dependence])
    count = len(groups.n)
    own_units = np.bincount(group, minlength=count)
    own_squares = np.bincount(group, cells.weight**2, minlength=count)
    whole = cells.n == units.n[unit]  # Clusters with all of their cases in the group.
    rest_units = len(units.n) - np.bincount(group[whole], minlength=count)
    left = np.where(whole, 0.0, units.weight[unit] - cells.weight)
    changed = np.bincount(group, units.weight[unit] ** 2 - left**2, minlength=count)
    rest_squares = np.maximum((units.weight**2).sum() - changed, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        rest_worth = np.where(rest_units > 0, (units.weight.sum() - groups.weight) ** 2 / rest_squares, 0.0)
    unit_name = moments.dependence
    return (
        Counts(n=groups.n, unit=unit_name, units=own_units, worth=groups.weight**2 / own_squares),
        Counts(n=everyone - groups.n, unit=unit_name, units=rest_units, worth=rest_worth),
    )


def others_of(outcomes: Mapping[str, Floats]) -> dict[str, Floats]:
    """Return the numbers of all other groups together."""
    return {name: number.sum(axis=0) - number for name, number in outcomes.items()}


def approximate(outcomes: Mapping[str, Floats], shape: tuple[int, ...]) -> Objects:
    """Return a note for each group if it, or the rest, has so few of some outcome that its test is approximate."""
    notes = np.full(shape, None, dtype=object)
    for side, numbers in (("rest", others_of(outcomes)), ("group", outcomes)):
        for place in np.ndindex(shape):
            few = {name: int(number[place]) for name, number in numbers.items() if number[place] < FEWEST_OF_A_TEST}
            if few:
                notes[place] = Note("approximate", {"side": side, "few": few})
    return notes
