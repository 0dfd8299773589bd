"""Sections of a report on groups, one for each group variable: calibration first, then skill and scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from propriety.evaluation.evaluation import Evaluation
from propriety.evaluation.group_calibration import group_table
from propriety.inference.calibration_words import direction_words
from propriety.inference.finding import Findings
from propriety.inference.finding_words import note_words
from propriety.inference.group_rows import GroupRow, group_rows
from propriety.report import texts
from propriety.report.analysis_calls import call_for_group_calibration, call_for_groups
from propriety.report.cells import Estimate, PValue, estimates_of
from propriety.report.page import Section, Table

UNNAMED = "group"


def group_sections(evaluation: Evaluation, found: Findings) -> Iterator[Section]:
    """Yield a section for each group variable."""
    several = len(found.case_keys) > 1
    for place, key in enumerate(found.case_keys):
        rows = group_rows(found, key=key)
        yield Section(
            id=f"slices-{place + 1}" if several else "slices",
            title="Groups" if key == UNNAMED and not several else f"Groups by {key}",
            words=tuple(_words(evaluation)) if place == 0 else (texts.MORE_GROUPS,),
            items=(
                *_calibration(evaluation, rows, key),
                *_skill(evaluation, key),
                _scores(evaluation, found, rows, key),
            ),
        )


def _words(evaluation: Evaluation) -> Iterator[str]:
    if evaluation.group_calibration is not None:
        yield texts.GROUP_CALIBRATION if evaluation.kind == "binary" else texts.GROUP_CLASSES
    yield texts.GROUPS
    yield texts.GROUP_SKILL
    if evaluation.kind == "binary":
        yield texts.GROUPS_OF_AN_EVENT


def _calibration(evaluation: Evaluation, groups: Sequence[GroupRow], key: str) -> Iterator[Table]:
    found = group_table(evaluation)
    rows = [] if found is None else [place for place, row in enumerate(found.row) if key in row.keys]
    if found is None or not rows:
        return
    ratio = estimates_of(
        found.observed_expected[rows], found.observed_expected_low[rows], found.observed_expected_high[rows]
    )
    names = {row.value.keys[key]: row.group for row in groups}
    events = {} if evaluation.kind != "binary" else {"events": [row.events for row in found.row[rows]]}
    columns: dict[str, Any] = {
        "model": found.model[rows].tolist(),
        UNNAMED: [names[row.keys[key]] for row in found.row[rows]],
        **events,
        "observed/expected" if evaluation.kind == "binary" else "observed/expected of the most likely class": ratio,
        "adjusted p-value": [PValue(value) for value in found.p_adjusted[rows].tolist()],
        "calibration": [
            f"{verdict}: {', '.join(direction_words(ways))}" if ways else verdict
            for verdict, ways in zip(found.verdict[rows].tolist(), found.ways[rows], strict=True)
        ],
    }
    yield Table(
        title=f"Calibration by {key}",
        columns=_renamed(columns, key),
        call=call_for_group_calibration(evaluation),
    )


def _skill(evaluation: Evaluation, key: str) -> Iterator[Table]:
    skill = evaluation.group_skill
    if skill is None:
        return
    rows = group_rows(skill, key=key)
    columns = {**_named(rows), skill.measure[0].label: _estimates(rows), **_differences(rows)}
    yield Table(
        title=f"Skill by {key}",
        columns=_renamed(columns, key),
        call=call_for_groups(evaluation, skill),
    )


def _scores(evaluation: Evaluation, found: Findings, rows: Sequence[GroupRow], key: str) -> Table:
    headline, *others = dict.fromkeys(found.measure)
    columns: dict[str, Any] = {
        **_named(rows),
        "cases": [row.value.n for row in rows],
        headline.label: _estimates(rows),
    }
    if others:
        columns["event rate"] = [row.value.extra["event_rate"] for row in rows]
    for measure in others:
        name = "observed \N{MINUS SIGN} forecast" if measure == others[0] else measure.label
        columns[name] = _estimates(group_rows(found, measure.key, key=key))
    return Table(
        title=f"Scores by {key}",
        columns=_renamed(columns | _differences(rows), key),
        call=call_for_groups(evaluation, found),
        note=texts.SMALL_GROUPS if any(row.is_too_small for row in rows) else "",
    )


def _named(rows: Sequence[GroupRow]) -> dict[str, Any]:
    return {"model": [row.model for row in rows], UNNAMED: [row.group for row in rows]}


def _estimates(rows: Sequence[GroupRow]) -> list[Estimate | float]:
    """Return the values of groups with their limits."""
    columns = np.array([(row.value.value, row.value.low, row.value.high) for row in rows]).T
    return estimates_of(*columns)


def _differences(rows: Sequence[GroupRow]) -> dict[str, Any]:
    """Return the columns of the tests against the rest, and of the notes if there are any."""
    p_values = [PValue(np.nan if row.rest is None else row.rest.p_adjusted) for row in rows]
    notes = ["; ".join(map(note_words, row.notes)) or None for row in rows]
    return {"adjusted p-value": p_values} | ({"note": notes} if any(notes) else {})


def _renamed(columns: dict[str, Any], key: str) -> dict[str, Any]:
    """Return the columns with the name of the variable over its groups, unless another column has it."""
    if key in (*columns, "note"):
        return columns
    return {key if name == UNNAMED else name: column for name, column in columns.items()}
