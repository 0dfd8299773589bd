"""Where the rows of the card come from: the tables and tests of an evaluation, question by question."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from propriety.evaluation.group_calibration import GroupTable, group_table
from propriety.evaluation.rows import Cell, Row, cells_of
from propriety.evaluation.words import calibration_row, verdict_of
from propriety.inference.comparison_words import merit_in_words
from propriety.inference.finding import Finding
from propriety.inference.group_findings import TOP_LABEL
from propriety.inference.group_rows import REST, group_texts
from propriety.inference.measures.line import CalibrationSlope
from propriety.inference.measures.measure import Measure
from propriety.inference.measures.of_means import MeanScore, NetBenefit, Skill
from propriety.inference.measures.ranking import AreaUnderRoc
from propriety.inference.measures.ratios import ObservedExpected
from propriety.inference.shown_names import on_one_line
from propriety.number_words import capitalized, percent
from propriety.rules.class_rules import Misclassification
from propriety.rules.families import BRIER

if TYPE_CHECKING:
    from propriety.evaluation.class_table import EvaluatedClasses
    from propriety.evaluation.evaluation import Evaluation
    from propriety.inference.finding import Findings

DECISIONS, FORECASTS, ALONE = "Better decisions?", "Better forecasts?", "Better than no model?"
PROBABILITIES, ORDER, ASKED = "Right probabilities?", "Right order?", "Also asked for"
MOST_CLASSES = 5  # Of more classes, those with the strongest evidence of miscalibration are shown.
MOST_GROUPS = 3
MOST_ASKED = 3
LONGEST_LABEL = 26


def rows_of(evaluation: Evaluation) -> Iterator[Row]:
    """Yield the rows of an evaluation in the order of the card."""
    yield from _score_rows(evaluation)
    if evaluation.kind == "binary":
        yield from _event_rows(evaluation)
    else:
        yield from _class_rows(evaluation)
    yield from _asked_rows(evaluation)
    if evaluation.slices is not None:
        yield from _group_rows(evaluation, evaluation.slices)


def question_of_scores(evaluation: Evaluation) -> str:
    """Return the first question, which the measure that ranks the models answers."""
    if evaluation.thresholds is not None:
        return DECISIONS
    return ALONE if len(evaluation.models) == 1 else FORECASTS


def _estimated(
    evaluation: Evaluation, question: str, measure: Measure, label: str, short: str, **facts: Any
) -> Iterator[Row]:
    """Yield the estimates of a measure, one row for each model."""
    for model in evaluation.models:
        found = evaluation.estimates[model].get(measure.key)
        if found is not None:
            yield _row(_numbers(found), question=question, measure=label, short=short, model=model, **facts)


def _row(numbers: Sequence[float], **facts: Any) -> Row:
    """Return the row of a value and its limits."""
    value, low, high = map(float, numbers)
    return Row(value=value, low=low, high=high, **facts)


def _numbers(found: Finding) -> tuple[float, float, float]:
    return float(found.value), float(found.low), float(found.high)


def _score_rows(evaluation: Evaluation) -> Iterator[Row]:
    """Yield what ranks the models, their difference if there are two, and the skill or the net benefit."""
    question, headline = question_of_scores(evaluation), evaluation.problem.headline
    is_cost = evaluation.thresholds is not None
    facts: dict[str, Any] = {"unit": "per 1,000" if is_cost else "score", "better": "lower"}
    label = "Decision cost/1,000" if is_cost else capitalized(headline.label)
    yield from _estimated(evaluation, question, headline, label, "cost/1,000" if is_cost else headline.label, **facts)
    compared = evaluation.comparison
    if compared is not None and len(evaluation.models) == 2:
        (pair,) = compared.differences
        named = {"question": question, "measure": "first less second, paired", "short": "difference", "is_detail": True}
        unit = "difference per 1,000" if is_cost else "difference"
        yield _row((pair.value, pair.low, pair.high), **named, model=pair.model, unit=unit, ideal=0.0)
    if is_cost:
        yield from _net_benefit_rows(evaluation, question)
        return
    rule = BRIER if evaluation.kind == "binary" else headline.rule
    label = capitalized(Skill(rule).label)
    yield from _estimated(evaluation, question, Skill(rule), label, "skill", unit="share", better="higher", ideal=0.0)
    if evaluation.kind != "binary":
        wrong, label = MeanScore(Misclassification()), "Most likely class is wrong"
        label = label if evaluation.kind == "multiclass" else "Most likely grade is wrong"
        yield from _estimated(evaluation, question, wrong, label, "wrong", unit="share", better="lower")


def ends_of(evaluation: Evaluation) -> list[float]:
    """Return the threshold, or the ends of its range, at which net benefit is defined."""
    if evaluation.thresholds is None:
        return []
    return [end for end in np.atleast_1d(evaluation.thresholds).tolist() if 0.0 < end < 1.0]


def _net_benefit_rows(evaluation: Evaluation, question: str) -> Iterator[Row]:
    """Yield the net benefit at each end, less that of acting on everybody where this is better than on nobody."""
    independent = evaluation.dependence is None and not evaluation.is_weighted and evaluation.ledger.censoring is None
    for end in ends_of(evaluation):
        for model, curve in evaluation.decision_curves.items():
            points = curve.operating_points(grid=[end], level=evaluation.level)
            gain = [float(getattr(points, f"gain_over_all{side}")[0]) for side in ("", "_low", "_high")]
            own = evaluation.estimates[model][NetBenefit(end).key]
            over_all = own.value - gain[0] > 0.0
            if over_all and not independent:
                gain[1:] = [math.nan, math.nan]  # These limits are for independent cases without weights.
            at = percent(end)
            numbers = gain if over_all else [own.value, own.low, own.high]
            named = {"question": question, "measure": f"Net true positives/1,000 at {at}", "short": f"net at {at}"}
            yield _row(numbers, **named, model=model, unit="difference per 1,000", better="higher", ideal=0.0)


def _event_rows(evaluation: Evaluation) -> Iterator[Row]:
    """Yield the calibration and the discrimination of forecasts of one event."""
    ideal = {"unit": "ratio", "better": "1 is best", "ideal": 1.0}
    yield from _estimated(evaluation, PROBABILITIES, ObservedExpected(), "O/E, observed/expected", "O/E", **ideal)
    yield from _estimated(evaluation, PROBABILITIES, CalibrationSlope(), "Slope; below 1 too extreme", "slope", **ideal)
    smooth = evaluation.smooth_calibration
    for model, found in smooth.items():
        if any(one is not None for one in smooth.values()):
            numbers = (math.nan,) * 3 if found is None else (found.ici, found.ici_low, found.ici_high)
            named = {"question": PROBABILITIES, "measure": "Mean calibration error, points", "short": "ICI"}
            yield _row(numbers, **named, model=model, unit="points", better="ICI", ideal=0.0)
    yield from _test_rows(evaluation)
    gains = {model: evaluation.recalibration.gain(model) for model in evaluation.models}
    for model, gain in gains.items():
        if any(one is not None for one in gains.values()):
            before = math.nan if gain is None or math.isinf(gain.before) or gain.before == 0.0 else gain.before
            numbers = (math.nan,) * 3 if gain is None else (gain.value, gain.low, gain.high)
            what = "cost" if evaluation.thresholds is not None else "score"
            shares = [number / before for number in numbers]
            named = {"question": PROBABILITIES, "measure": f"Recalibration would save, of {what}"}
            yield _row(shares, **named, short="recalibration", model=model, unit="share", ideal=0.0)
    facts: dict[str, Any] = {"unit": "area", "better": "higher", "ideal": 0.5}
    yield from _estimated(evaluation, ORDER, AreaUnderRoc(), "AUC", "AUC", **facts)


def _test_rows(evaluation: Evaluation) -> Iterator[Row]:
    """Yield the p-value and the verdict on calibration; of cut points the smallest adjusted p-value."""
    for model in evaluation.models:
        yield Row(
            question=PROBABILITIES,
            measure="Test of calibration",
            short="calibration",
            model=model,
            value=calibration_row(evaluation, model).p,
            unit="p",
            outcome=verdict_of(evaluation, model),
            better="p",
            ideal=1.0 - evaluation.level,
        )


def _class_rows(evaluation: Evaluation) -> Iterator[Row]:
    """Yield the calibration of class probabilities: all classes, the most likely one, and each, or each cut point."""
    yield from _test_rows(evaluation)
    ideal: dict[str, Any] = {"unit": "ratio", "better": "1 is best", "ideal": 1.0}
    for key, label, short in (
        ("observed_expected", "O/E of the most likely class", "top O/E"),
        ("calibration_slope", "Slope; below 1 too extreme", "top slope"),
    ):
        for found in evaluation.calibration.where(measure=key, statistic=TOP_LABEL):
            named = {"question": PROBABILITIES, "model": found.model, "measure": label, "short": short}
            yield _row((found.value, found.low, found.high), **named, **ideal)
    classes = evaluation.classes
    if classes is None or len(evaluation.models) > 2:
        return
    shown = classes.place[classes.of(evaluation.best)[:MOST_CLASSES]].tolist()
    events = len(evaluation.tables[evaluation.best])
    question = question_of_classes(evaluation, events)
    rows = {(model, place): row for row, (model, place) in enumerate(zip(classes.model, classes.place, strict=True))}
    for place in sorted(shown):
        for model in evaluation.models:
            row = rows[model, place]
            label, n = _cut(classes.label[row]), int(classes.n[row])
            label = f"at most {label}" if evaluation.kind == "ordinal" else label
            named = {"question": question, "measure": f"{label}, {n:,} case{'s' * (n != 1)}", "short": label}
            yield _row(_ratio(classes, row), **named, model=model, unit="ratio", ideal=1.0)


def question_of_classes(evaluation: Evaluation, events: int) -> str:
    """Return the question about each class or cut point, and which of them are shown."""
    what = "class" if evaluation.kind == "multiclass" else "cut point"
    plural = "classes" if evaluation.kind == "multiclass" else "cut points"
    if events <= MOST_CLASSES:
        return f"Right for every {what}? O/E"
    return f"Right for every {what}? O/E of {MOST_CLASSES} of {events:,} {plural}"


def _asked_rows(evaluation: Evaluation) -> Iterator[Row]:
    """Yield the measures that the caller asked for."""
    for measure in evaluation.problem.more[:MOST_ASKED]:
        label = _cut(capitalized(measure.label))
        better = merit_in_words(measure).removesuffix(" is better")
        facts: dict[str, Any] = {"better": better, "ideal": math.nan if measure.ideal is None else measure.ideal}
        yield from _estimated(evaluation, ASKED, measure, label, _cut(measure.label), **facts)


def _cut(label: object) -> str:
    """Return a label on one line, cut if it is long."""
    text = on_one_line(label)
    return text if len(text) <= LONGEST_LABEL else f"{text[: LONGEST_LABEL - 1]}…"


def question_of_groups(slices: Findings) -> str:
    """Return the question about the groups, with their number and the keys that form them."""
    groups = len(dict.fromkeys(filter(None, group_texts(slices))))
    keys = _cut(", ".join(map(str, slices.case_keys)))
    named = "" if keys in ("", "group") else f" ({keys})"
    which = "every group" if groups == 1 else "both groups" if groups == 2 else f"all {groups:,} groups"
    return f"Alike in {which}{named}?"


def _group_rows(evaluation: Evaluation, slices: Findings) -> Iterator[Row]:
    """Yield what was found about the groups: how many depart, not each of them."""
    question = question_of_groups(slices)
    found = group_table(evaluation)
    if found is not None:
        yield from _group_calibration_rows(evaluation, found, slices, question)
    alpha = 1.0 - evaluation.level
    skill = evaluation.group_skill
    # Another event rate changes a score by itself, but not the skill.
    compared = (slices if skill is None else skill).where(against=REST)
    name = "skill" if skill is not None else "cost" if evaluation.thresholds is not None else "score"
    if np.isfinite(compared.p_adjusted).any():
        for model in evaluation.models:
            p_adjusted = compared.p_adjusted[compared.model == model]
            yield Row(
                question=question,
                measure=f"Differ from the rest in {name}",
                short=f"{name} differs",
                model=model,
                value=float(np.count_nonzero(p_adjusted <= alpha)),
                unit="count",
                outcome=f"of {np.count_nonzero(np.isfinite(p_adjusted)):,} compared",
            )


def _group_calibration_rows(
    evaluation: Evaluation, found: GroupTable, slices: Findings, question: str
) -> Iterator[Row]:
    cases = dict(zip(group_texts(slices), slices.n.astype(np.int64).tolist(), strict=True))
    groups = len(cases) - ("" in cases)
    top = "" if evaluation.kind == "binary" else " of most likely"
    counts: Mapping[str, NDArray[np.bool_]] = {
        "Miscalibrated, tested alone": found.verdict == "bad",
        "Too few cases or events to tell": found.verdict == "too few",
    }
    for model in evaluation.models:
        ratios = found.observed_expected[(found.model == model) & ~np.isnan(found.observed_expected)]
        yield Row(
            question=question,
            measure=f"O/E{top}, lowest to highest",
            short="O/E, lowest to highest",
            model=model,
            value=math.nan,
            low=float(ratios.min()) if len(ratios) else math.nan,
            high=float(ratios.max()) if len(ratios) else math.nan,
            unit="ratio",
        )
    for label, chosen in counts.items():
        if label.startswith("Too few") and not chosen.any() and len(found.group) == groups * len(evaluation.models):
            continue
        for model in evaluation.models:
            own = found.model == model
            untested = groups - int(np.count_nonzero(own)) if label.startswith("Too few") else 0
            yield Row(
                question=question,
                measure=label,
                short="too few" if label.startswith("Too few") else "miscalibrated",
                model=model,
                value=float(np.count_nonzero(chosen & own) + untested),
                unit="count",
                outcome=f"of {groups:,}",
            )
    departing = [group for model in evaluation.models for group in groups_that_depart(found, model)]
    for group in list(dict.fromkeys(departing))[:MOST_GROUPS]:
        for model in evaluation.models:
            (row,) = np.flatnonzero((found.model == model) & (found.group == group)).tolist()
            label, n = _cut(group), cases[group]
            yield _group_row(found, row, question, f"{label}, {n:,} cases", label)


def _group_row(found: GroupTable, row: int, question: str, measure: str, short: str) -> Row:
    named = {"question": question, "measure": measure, "short": short, "model": str(found.model[row])}
    return _row(_ratio(found, row), **named, unit="ratio", ideal=1.0, is_detail=True)


def _ratio(found: GroupTable | EvaluatedClasses, row: int) -> list[float]:
    """Return observed/expected of a group or a class with its limits."""
    return [float(getattr(found, f"observed_expected{side}")[row]) for side in ("", "_low", "_high")]


def group_cell(found: GroupTable, row: int) -> Cell:
    """Return observed/expected of a group as the card writes it."""
    return cells_of([_group_row(found, row, "", "", "")])[0]


def groups_that_depart(found: GroupTable, model: str) -> list[str]:
    """Return the groups in which a model is wrong and not as in the others, the clearest first.

    A model that is wrong everywhere is found to be so in each group with enough events. This does not mean that these
    groups differ from the others.
    """
    own = np.flatnonzero((found.model == model) & found.stands_out)
    return list(found.group[own[np.argsort(found.p_adjusted[own], kind="stable")]].tolist())
