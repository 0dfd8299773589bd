"""Sections of a report on groups, one for each group variable: calibration first, then skill and scores."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety.evaluation.evaluation import Evaluation
from propriety.evaluation.group_calibration import GroupTable, group_table
from propriety.inference.calibration_words import direction_words
from propriety.inference.measures.of_means import NetBenefit
from propriety.inference.slice_table import Slices, group_names
from propriety.inference.verdicts import Names
from propriety.report import texts
from propriety.report.analysis_calls import call_for_group_calibration, call_for_groups
from propriety.report.cells import Estimate, PValue
from propriety.report.number_sections import estimates_of
from propriety.report.page import Section, Table
from propriety.result import Floats

UNNAMED = "group"


class _Groups(NamedTuple):
    """The groups of one variable: its name, and their labels by their names in the results."""

    key: str
    labels: dict[str, str]

    def rows(self, found: Slices | GroupTable) -> NDArray[np.intp]:
        return np.flatnonzero([name in self.labels for name in found.group.tolist()])

    def named(self, group: Names) -> list[str]:
        return [self.labels[name] for name in group.tolist()]


def group_sections(evaluation: Evaluation, found: Slices) -> Iterator[Section]:
    """Yield a section for each group variable."""
    several = len(found.by) > 1
    for place, key in enumerate(found.by):
        own = evaluation.ledger.over(*(other for other in evaluation.ledger.index.names if other != key))
        names = group_names(own.index).tolist()
        groups = _Groups(key, {f"{key}: {name}" if several else name: name for name in names})
        yield Section(
            id=f"slices-{place + 1}" if several else "slices",
            title="Groups" if key == UNNAMED and not several else f"Groups by {key}",
            words=tuple(_words(evaluation, found)) if place == 0 else (texts.MORE_GROUPS,),
            items=(
                *_calibration(evaluation, found, groups),
                *_skill(evaluation, groups),
                _scores(evaluation, found, groups),
            ),
        )


def _words(evaluation: Evaluation, found: Slices) -> Iterator[str]:
    if evaluation.group_calibration is not None:
        yield texts.GROUP_CALIBRATION if evaluation.kind == "binary" else texts.GROUP_CLASSES
    yield texts.GROUPS
    yield texts.GROUP_SKILL
    if found.events is not None:
        yield texts.GROUPS_OF_AN_EVENT


def _calibration(evaluation: Evaluation, slices: Slices, groups: _Groups) -> Iterator[Table]:
    found = group_table(evaluation)
    rows = np.array([], dtype=np.intp) if found is None else groups.rows(found)
    if found is None or not len(rows):
        return
    ratio = estimates_of(
        found.observed_expected[rows], found.observed_expected_low[rows], found.observed_expected_high[rows]
    )
    columns: dict[str, Any] = {
        "model": found.model[rows].tolist(),
        UNNAMED: groups.named(found.group[rows]),
        **_events(slices, found, rows),
        "observed/expected" if evaluation.kind == "binary" else "observed/expected of the most likely class": ratio,
        "adjusted p-value": [PValue(value) for value in found.p_adjusted[rows].tolist()],
        "calibration": [
            f"{verdict}: {', '.join(direction_words(ways))}" if ways else verdict
            for verdict, ways in zip(found.verdict[rows].tolist(), found.ways[rows], strict=True)
        ],
    }
    yield Table(
        title=f"Calibration by {groups.key}",
        columns=_renamed(columns, groups.key),
        call=call_for_group_calibration(evaluation),
    )


def _events(slices: Slices, found: GroupTable, rows: NDArray[np.intp]) -> dict[str, list[int]]:
    """Return the number of events of each row."""
    if slices.events is None:
        return {}
    names = zip(slices.model.tolist(), slices.group.tolist(), strict=True)
    known = dict(zip(names, slices.events.tolist(), strict=True))
    return {"events": [known[row] for row in zip(found.model[rows].tolist(), found.group[rows].tolist(), strict=True)]}


def _skill(evaluation: Evaluation, groups: _Groups) -> Iterator[Table]:
    skill = evaluation.group_skill
    if skill is None:
        return
    rows = groups.rows(skill)
    columns: dict[str, Any] = {
        "model": skill.model[rows].tolist(),
        UNNAMED: groups.named(skill.group[rows]),
        skill.measure.label: estimates_of(skill.value[rows], skill.low[rows], skill.high[rows]),
        "adjusted p-value": [PValue(value) for value in skill.p_adjusted[rows].tolist()],
        **_notes(skill.note[rows]),
    }
    yield Table(
        title=f"Skill by {groups.key}",
        columns=_renamed(columns, groups.key),
        call=call_for_groups(evaluation, skill),
    )


def _scores(evaluation: Evaluation, found: Slices, groups: _Groups) -> Table:
    rows = groups.rows(found)
    net_benefit = "net benefit" if found.thresholds is None else NetBenefit(found.thresholds).label
    optional = {
        "event rate": None if found.event_rate is None else found.event_rate[rows].tolist(),
        "observed \N{MINUS SIGN} forecast": _optional(rows, found.excess, found.excess_low, found.excess_high),
        net_benefit: _optional(rows, found.net_benefit, found.net_benefit_low, found.net_benefit_high),
    }
    columns: dict[str, Any] = {
        "model": found.model[rows].tolist(),
        UNNAMED: groups.named(found.group[rows]),
        "cases": found.n[rows].tolist(),
        found.measure.label: estimates_of(found.value[rows], found.low[rows], found.high[rows]),
        **{name: column for name, column in optional.items() if column is not None},
        "adjusted p-value": [PValue(value) for value in found.p_adjusted[rows].tolist()],
        **_notes(found.note[rows]),
    }
    return Table(
        title=f"Scores by {groups.key}",
        columns=_renamed(columns, groups.key),
        call=call_for_groups(evaluation, found),
        note=texts.SMALL_GROUPS if found.is_too_small[rows].any() else "",
    )


def _renamed(columns: dict[str, Any], key: str) -> dict[str, Any]:
    """Return the columns with the name of the variable over its groups, unless another column has it."""
    if key in (*columns, "note"):
        return columns
    return {key if name == UNNAMED else name: column for name, column in columns.items()}


def _notes(notes: Names) -> dict[str, list[str | None]]:
    """Return the column of the notes, if there are any."""
    return {"note": [note or None for note in notes.tolist()]} if (notes != "").any() else {}


def _optional(
    rows: NDArray[np.intp], value: Floats | None, low: Floats | None, high: Floats | None
) -> list[Estimate | float] | None:
    return None if value is None or low is None or high is None else estimates_of(value[rows], low[rows], high[rows])
