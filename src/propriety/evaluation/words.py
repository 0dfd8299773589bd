"""The summary of an evaluation in plain words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from propriety.inference.calibration_summary import CalibrationOutcome, jointly_tested
from propriety.inference.calibration_words import TOGETHER
from propriety.inference.comparison_words import listed
from propriety.inference.estimates import counted, of_intervals
from propriety.inference.number_words import (
    capitalized,
    number,
    number_and_limits,
    p_value_words,
    percent,
    ratio_and_limits,
)
from propriety.inference.slice_table import Slices

if TYPE_CHECKING:
    from propriety.evaluation.evaluation import Evaluation
    from propriety.inference.calibration_summary import CalibrationSummary
    from propriety.inference.class_calibration import ClassCalibration

MOST_EVENTS = 100  # With more classes or cut points, calibration is not tested for each by default.
MOST_NAMED = 8
# Of all cut points together, the first of these that one of them has: one that cannot be told leaves the model open.
DECISIVE: tuple[CalibrationOutcome, ...] = (
    "miscalibrated",
    "too few events",
    "not tested",
    "immaterial",
    "consistent",
)


def summary(evaluation: Evaluation) -> Iterator[str]:
    """Yield the main findings, a sentence or two each."""
    yield cases_words(evaluation)
    yield from findings_words(evaluation)
    yield from slices_words(evaluation)
    yield from uncompared_words(evaluation)
    yield from absent_words(evaluation)


def findings_words(evaluation: Evaluation) -> Iterator[str]:
    """Yield the scores, the comparison and the calibration of the models; a note that all share is given once."""
    shared = _shared_note(evaluation)
    compared = "" if evaluation.comparison is None else evaluation.comparison.summary()
    yield headline_words(evaluation, noted=not shared)
    if compared:
        yield compared
    yield from calibration_words(evaluation, noted=not shared)
    plural = f"{capitalized(of_intervals(shared))}."
    if shared and plural not in compared:
        yield plural


def _shared_note(evaluation: Evaluation) -> str:
    """Return the note of the best score if the verdicts on calibration have the same; otherwise ""."""
    notes = {evaluation.best_estimate.note}
    for model in evaluation.models:
        verdict = _verdict(evaluation, model)
        # If calibration was not tested, the note is the reason.
        notes.add("" if verdict is None or verdict.outcome == "not tested" else verdict.note)
    return notes.pop() if len(notes) == 1 else ""


def _verdict(evaluation: Evaluation, model: str) -> CalibrationSummary | ClassCalibration | None:
    """Return the verdict on the calibration of a model; None for cut points, each of which has one."""
    if evaluation.kind == "binary":
        return evaluation.calibration[model]["event"]
    return evaluation.class_calibration[model] if evaluation.kind == "multiclass" else None


def uncompared_words(evaluation: Evaluation) -> Iterator[str]:
    """Say if models and groups are not compared, because the ledger lacks the sums for it."""
    compared = ["models"] * (len(evaluation.models) > 1) + ["groups"] * bool(evaluation.ledger.index.names)
    headline = evaluation.problem.headline
    if compared and not evaluation.ledger.has_moments(headline.rule):
        needs = f"this needs the individual cases, or a ledger that was condensed for the {headline.label}"
        yield f"{capitalized(listed(compared))} are not compared: {needs}."


def absent_words(evaluation: Evaluation) -> Iterator[str]:
    """Say what is not available because it needs the cases."""
    if evaluation.ledger.cases is not None:
        return
    own = {one.measure.label for found in evaluation.estimates.values() for one in found.values() if one.is_without}
    absent = [f"the interval{'s' * (len(own) > 1)} of {listed(sorted(own))}"] if own else []
    # Without weights and dependence the tables tell it.
    if (evaluation.is_weighted or evaluation.dependence is not None) and evaluation.recalibration.reasons:
        absent.append("the gain of recalibration")
    if evaluation.kind == "binary" and len(evaluation.models) > 1 and evaluation.ranking is None:
        absent.append("the ranking map")
    if evaluation.kind != "binary":
        absent.append("the confusion matrix")
    if absent:
        needs = "need" if max(len(absent), len(own)) > 1 else "needs"
        yield f"{capitalized(listed(absent))} {needs} {evaluation.ledger.where_cases_are}."


def cases_words(evaluation: Evaluation) -> str:
    """Say what was evaluated."""
    several = len(evaluation.models)
    models = "One model" if several == 1 else f"{several} models"
    said = f"{models} on {counted(evaluation.n, 'case')}"
    rates, censoring = evaluation.rates, evaluation.ledger.censoring
    if censoring is not None:
        unknown = censoring.n - evaluation.n - evaluation.dropped
        said = f"{models} on {counted(censoring.n, 'case')}; {unknown:,} of them censored before {censoring.horizon:g}"
        said += (
            f", the others weighted to represent them; {'weighted ' * censoring.is_weighted}event rate by "
            f"{censoring.horizon:g}: {percent(rates['event'])}"
        )
    elif evaluation.kind == "binary":
        said += f"; {'weighted ' * evaluation.is_weighted}event rate {percent(rates['event'])}"
        note = evaluation.ledger.event_note
        said += f" (event: {note})" if note else ""
    else:
        grades = "grades" if evaluation.kind == "ordinal" else "classes"
        said += f" of {len(rates)} {grades}"
    dropped = evaluation.dropped
    left_out = f"; {counted(dropped, 'row')} with missing values {'was' if dropped == 1 else 'were'} left out"
    return f"{said}{left_out}." if dropped else f"{said}."


def headline_words(evaluation: Evaluation, *, noted: bool = True) -> str:
    """Say which model is best by the headline measure, with its confidence interval and, if `noted`, its note."""
    found = evaluation.best_estimate
    best, low, high = number_and_limits(found.value, found.low, found.high)
    said = _leaders(evaluation, found.value, best)
    if math.isfinite(found.low):
        limits = f"{percent(evaluation.level, 6)} CI {low} to {high}"
        several = len(evaluation.models)
        said += f" ({limits}{'' if several == 1 else f', adjusted for choosing the best of {several} models'})"
    return f"{said}. Note: {found.note}." if noted and found.note else f"{said}."


def _leaders(evaluation: Evaluation, best: float, written: str) -> str:
    """Name the model, or tied models, with the best headline score, and the score as it is written."""
    headline, scores = evaluation.problem.headline, evaluation.scores
    where = ""
    if evaluation.problem.interval is not None:
        low, high = evaluation.problem.interval
        where = f" over the thresholds from {percent(low)} to {percent(high)}"
    title = capitalized(headline.label)
    first = scores.model[(scores.measure == headline.key) & (scores.value == best)].tolist()
    if math.isinf(best):
        return f"{title} of {'every model' if len(evaluation.models) > 1 else evaluation.best}{where}: infinite"
    if len(evaluation.models) == 1:
        return f"{title} of {evaluation.best}{where}: {written}"
    return f"Lowest {headline.label}{where}: {listed(first)}, {written}{' each' * (len(first) > 1)}"


def calibration_words(evaluation: Evaluation, *, noted: bool = True) -> Iterator[str]:
    """Report the test of calibration of each model; with classes or cut points, of all of them together."""
    for model in evaluation.models:
        verdict = _verdict(evaluation, model)
        if verdict is None:
            yield _cut_points_words(evaluation, model)
        else:
            yield (verdict if noted else replace(verdict, note="")).summary(model)


def drawn_words(evaluation: Evaluation) -> str:
    """Say which classes, or cut points, are drawn, and of which model."""
    shown, events = len(evaluation.drawn_classes), len(evaluation.tables[evaluation.best])
    what = "cut points" if evaluation.kind == "ordinal" else "classes"
    of_best = f" for {evaluation.best}, which has the best score" if len(evaluation.models) > 1 else ""
    if shown == events:
        return f"The curves of all {what} are drawn{of_best}."
    said = f"The curves are those of the {shown} {what} with the strongest evidence of miscalibration, of {events:,}"
    return f"{said}{of_best}; all are in the table."


def calibration_outcome(evaluation: Evaluation, model: str) -> CalibrationOutcome:
    """Return the outcome of the test of calibration of a model; of cut points, one for all of them together."""
    if evaluation.kind == "multiclass":
        return evaluation.class_calibration[model].outcome
    outcomes = _outcomes(evaluation, model).values()
    return next((outcome for outcome in DECISIVE if outcome in outcomes), "not tested")


def _outcomes(evaluation: Evaluation, model: str) -> dict[Any, CalibrationOutcome]:
    """Return the outcome of each event, adjusted for their number; empty if there are more than `MOST_EVENTS`."""
    own = evaluation.calibration[model]
    if len(own) > MOST_EVENTS:
        return {}
    together = jointly_tested(list(own.values()))
    return {label: one.outcome for label, (one, _) in zip(own, together, strict=True)}


def _cut_points_words(evaluation: Evaluation, model: str) -> str:
    """Say for which cut points a model is miscalibrated."""
    what = "cut points"
    outcomes = _outcomes(evaluation, model)
    if not outcomes:
        events = len(evaluation.calibration[model])
        return f"{model}: calibration is not tested for {events:,} {what} at once; use calibration_summary for one."
    labels: dict[CalibrationOutcome, list[Any]] = {}
    for label, outcome in outcomes.items():
        labels.setdefault(outcome, []).append(label)
    if "not tested" in labels:
        return f"{model}: calibration was not tested ({evaluation.calibration[model][labels['not tested'][0]].note})."
    claims: dict[CalibrationOutcome, str] = {
        "miscalibrated": "is miscalibrated for",
        "immaterial": "is miscalibrated, but not materially, for",
        "consistent": "is consistent with calibration for",
        "too few events": "has too few events to tell whether it is calibrated for",
    }
    said = []
    for outcome, claim in claims.items():
        found = labels.get(outcome, [])
        if outcome == "consistent" and "miscalibrated" in labels:
            continue
        if len(found) == len(outcomes):
            said.append(f"{claim} each of {len(outcomes)} {what}")
        elif found:
            named = ", ".join(map(str, found[:MOST_NAMED])) + ", ..." * (len(found) > MOST_NAMED)
            said.append(f"{claim} {len(found)} of {len(outcomes)} {what}: {named}")
    return f"{model} {'; '.join(said)}."


def slices_words(evaluation: Evaluation) -> Iterator[str]:
    """Say in which groups forecasts are miscalibrated or have less skill, then where the score differs."""
    found = evaluation.slices
    if found is None:
        return
    yield from _group_calibration_words(evaluation)
    if np.isfinite(found.p_adjusted).any():
        yield from _group_score_words(evaluation, found)
    else:
        yield "No group could be compared with the rest."
    # The numbers of cases and events are the same for all models; whether a score is infinite is not.
    few = found.is_too_small
    if few.any():
        units = evaluation.dependence
        what = "cases or events" if units is None else f"cases, events or {units}"
        yield f"Too few {what} to compare their scores: {', '.join(dict.fromkeys(found.group[few].tolist()))}."
    for model in evaluation.models:
        infinite = found.group[(found.model == model) & np.isinf(found.value) & ~few].tolist()
        if infinite:
            yield f"{model}: the {found.measure.label} is infinite in {', '.join(infinite)}."


def _group_calibration_words(evaluation: Evaluation) -> Iterator[str]:
    """Say in which groups a model is miscalibrated."""
    found = evaluation.group_calibration
    if found is None:
        return
    wrong = np.flatnonzero(found.outcome == "miscalibrated")
    for row in wrong.tolist():
        numbers = [float(getattr(found, f"observed_expected{side}")[row]) for side in ("", "_low", "_high")]
        ratio, low, high = ratio_and_limits(*numbers)
        limits = f", {low} to {high}" if math.isfinite(numbers[1]) else ""
        p_value = p_value_words(float(found.p_adjusted[row]))
        evidence = f"observed/expected {ratio}{limits}; adjusted {p_value}"
        said = "; ".join(found.directions[row])
        if evaluation.kind == "binary":
            said = _directions_words(found.directions[row])
        else:
            evidence = f"most likely class: {evidence}"
        yield f"{found.model[row]} is miscalibrated in {found.group[row]} ({evidence}): {said}."
    for model in evaluation.models:
        slight = found.group[(found.model == model) & (found.outcome == "immaterial")].tolist()
        if slight:
            yield f"{model} is miscalibrated, but not materially, in {listed(slight)}."
    if not np.isin(found.outcome, ["miscalibrated", "immaterial"]).any():
        yield "No group with enough data was found to be miscalibrated."


def _directions_words(directions: Sequence[str]) -> str:
    said = ["forecasts of exactly 0 or 1 were wrong"] if "refuted" in directions else []
    said += [TOGETHER] if "together" in directions else []
    ways = [one for one in directions if one not in ("refuted", "together")]
    said += [f"its forecasts are {listed(ways)}"] if ways else []
    return "; ".join(said)


def _group_score_words(evaluation: Evaluation, found: Slices) -> Iterator[str]:
    """Say which groups differ from the rest in score, and whether they also differ in skill."""
    skill = evaluation.group_skill
    alpha = 1.0 - evaluation.level
    apart = found.p_adjusted <= alpha
    skilled = np.zeros_like(apart) if skill is None else skill.p_adjusted <= alpha
    if not (apart | skilled).any():
        yield "No group was found to differ from the rest in score or skill."
    for row in np.flatnonzero(skilled).tolist():
        assert skill is not None  # noqa: S101  (for the type checker; none is skilled without it)
        yield f"{_difference_words(skill, row)}."
    for row in np.flatnonzero(apart & skilled).tolist():
        yield f"{_difference_words(found, row)}."
    for model in evaluation.models:
        rows = np.flatnonzero(apart & ~skilled & (found.model == model)).tolist()
        if rows:
            yield f"{_differences_words(found, rows)}{_rate_words(evaluation, found, rows, tested=skill is not None)}."


def _differences_words(found: Slices, rows: Sequence[int]) -> str:
    """Name the groups of a model whose score differs from that of the rest, and by how much."""
    named = []
    for row in rows[:MOST_NAMED]:
        difference = float(found.difference[row])
        said = [f"{number(abs(difference))} {'higher' if difference > 0.0 else 'lower'}"]
        said += [] if found.event_rate is None else [f"event rate {percent(float(found.event_rate[row]))}"]
        said += [found.note[row]] if found.note[row] else []
        named.append(f"{found.group[row]} ({'; '.join(said)})")
    more = len(rows) - len(named)
    named += [f"{more:,} more"] if more else []
    return f"{found.model[rows[0]]}: the {found.measure.label} differs from that of the rest in {listed(named)}"


def _difference_words(found: Slices, row: int) -> str:
    difference = float(found.difference[row])
    more = "higher" if difference > 0.0 else "lower"
    what = f"{found.measure.label} of {found.group[row]}"
    said = f"{found.model[row]}: the {what} is {number(abs(difference))} {more} than that of the rest"
    return f"{said} ({found.note[row]})" if found.note[row] else said


def _rate_words(evaluation: Evaluation, found: Slices, rows: Sequence[int], *, tested: bool) -> str:
    """Say that a different event rate by itself changes the score, where no difference in skill was found."""
    which = "these groups" if len(rows) > 1 else "this group"
    skill = f"no difference in skill was found for {which}" if tested else ""
    if found.event_rate is None:
        return f"; {skill}" if skill else ""
    overall = percent(evaluation.rates["event"])
    said = f". A different event rate ({overall} overall) by itself changes the score"
    return f"{said}; {skill}" if skill else said
