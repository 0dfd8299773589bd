"""The calibration of groups as the card, the report and gates show it: one row for each model and group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from propriety.inference.calibration_findings import CALIBRATION, sizes_of
from propriety.inference.calibration_words import TOGETHER, class_names, direction_words, is_shown, own_sizes, ways_of
from propriety.inference.finding import GROUPS, HETEROGENEITY, Finding, Findings, Objects
from propriety.inference.group_findings import MOST_NAMED, group_findings
from propriety.inference.group_rows import group_texts
from propriety.inference.verdict import as_number, gate
from propriety.ledger.ledger import Ledger
from propriety.result import Floats, Names, Tuples, tuples_of

if TYPE_CHECKING:
    from propriety.evaluation.evaluation import Evaluation


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupTable:
    """The tested groups of an evaluation, one row for each model and group.

    Parameters
    ----------
    model, group : ndarray of str
        The model and the group, as text.
    row : ndarray of Finding
        The test of the group.
    verdict : ndarray of str
        The verdict on it.
    ways : ndarray of tuple
        In which ways the forecasts are wrong, if they are, of classes with their names.
    observed_expected, observed_expected_low, observed_expected_high : ndarray of float
        Observed/expected with its limits, of classes that of the most likely one.
    p_value, p_adjusted : ndarray of float
        p-value of the test, and the same adjusted for all groups and models.
    stands_out : ndarray of bool
        Whether the group is wrong in another way than the other groups.
    miscalibrated : ndarray of float
        1 if a gate on the group fails, 0 if it holds, and NaN if that cannot be told.
    """

    model: Names
    group: Names
    row: Objects
    verdict: Names
    ways: Tuples
    observed_expected: Floats
    observed_expected_low: Floats
    observed_expected_high: Floats
    p_value: Floats
    p_adjusted: Floats
    stands_out: NDArray[np.bool_]
    miscalibrated: Floats


def calibration_of_groups(ledger: Ledger, *, level: float) -> Findings | None:
    """Return the calibration of each model in the groups of each key; None if no group is tested."""
    found = Findings.of(group_findings(ledger, level=level), dropped=ledger.dropped)
    return found if np.isfinite(found.where(measure=CALIBRATION.key).p).any() else None


def group_table(evaluation: Evaluation) -> GroupTable | None:
    """Return the tested groups of an evaluation; None if there are none."""
    found = evaluation.group_calibration
    if found is None:
        return None
    texts = {(row.model, *row.keys.items()): text for row, text in zip(found, group_texts(found), strict=True)}
    of_group: dict[tuple[str, str], list[Finding]] = {}
    for row in found:
        if GROUPS in row.keys:
            continue
        of_group.setdefault((row.model, texts[row.model, *row.keys.items()]), []).append(row)
    tests = [row for row in found if row.measure.key == CALIBRATION.key and not np.isnan(row.p)]
    groups = [texts[row.model, *row.keys.items()] for row in tests]
    sizes = [of_group[row.model, group] for row, group in zip(tests, groups, strict=True)]
    ratios = [own_sizes(own, row)["observed_expected"] for row, own in zip(tests, sizes, strict=True)]
    return GroupTable(
        model=np.array([row.model for row in tests]),
        group=np.array(groups),
        row=_objects(tests),
        verdict=np.array([row.verdict for row in tests]),
        ways=tuples_of(_ways(row, own) if is_shown(row) else () for row, own in zip(tests, sizes, strict=True)),
        observed_expected=np.array([one.value for one in ratios]),
        observed_expected_low=np.array([one.low for one in ratios]),
        observed_expected_high=np.array([one.high for one in ratios]),
        p_value=np.array([row.p for row in tests]),
        p_adjusted=np.array([row.p_adjusted for row in tests]),
        stands_out=_stands_out(tests),
        miscalibrated=np.array(
            [as_number(gate(row, sizes_of(own, row))) for row, own in zip(tests, sizes, strict=True)]
        ),
    )


def _stands_out(tests: list[Finding]) -> NDArray[np.bool_]:
    """Return which groups stand out; of classes those that are wrong, unless most groups of the model are."""
    noted = np.array([row.note("stands-out") is not None for row in tests])
    if any(row.note("classes") is None and row.verdict == "bad" for row in tests) or noted.any():
        return noted
    wrong = np.array([row.verdict == "bad" for row in tests])
    for model in dict.fromkeys(row.model for row in tests):
        own = np.array([row.model == model for row in tests])
        cleared = [row.verdict in ("good", "no error found", "small") for row in tests if row.model == model]
        wrong[own] &= np.count_nonzero(wrong[own]) <= sum(cleared)
    return wrong


def said_of_all(found: Findings, model: str, level: float) -> float | None:
    """Return the p-value of groups that share one error, the smallest of all keys; None if it is shown or unknown."""
    p_values = found.where(model=model, statistic=HETEROGENEITY).p
    return float(p_values.min()) if len(p_values) and p_values.min() > 1.0 - level else None


def _objects(rows: list[Finding]) -> Objects:
    column = np.empty(len(rows), dtype=object)
    column[:] = rows
    return column


def _ways(row: Finding, rows: list[Finding]) -> tuple[str, ...]:
    """Return in which ways the forecasts of a group are wrong, of classes with their names."""
    named = row.note("classes")
    if named is None:
        return ways_of(row, rows)
    top, labels = [one for one in rows if one.keys == row.keys], named.parts["names"]
    said = [_way("most likely class", ways_of(row, top))] if named.parts["top"] else []
    for name, label in zip(class_names(labels), labels, strict=True):
        sizes = [one for one in rows if one.keys.get("class") == label]
        if sizes:
            said.append(_way(name, ways_of(sizes[0], sizes)))
    more = len(labels) - MOST_NAMED
    return (*said, *([f"{more} more"] if more > 0 else []))


def _way(name: str, own: tuple[str, ...]) -> str:
    """Say in which ways the probabilities of a class are wrong."""
    return f"{name}: {TOGETHER}" if own == ("together",) else f"{name} {' and '.join(direction_words(own))}"
