"""The findings below the table of the card: what is wrong with the models, for whom, and what cannot be told."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from propriety.evaluation.answer import Evidence, Sentence, some
from propriety.evaluation.card_rows import ends_of, group_cell, groups_that_depart
from propriety.evaluation.group_calibration import GroupTable, group_table, said_of_all
from propriety.evaluation.rows import Cell
from propriety.evaluation.words import (
    absent_words,
    calibration_row,
    sentence_of,
    sizes_of_event,
    uncompared_words,
    verdict_of,
)
from propriety.inference.calibration_words import (
    TOGETHER,
    caveats_of,
    direction_words,
    is_shown,
    texts_of_classes,
    ways_of,
    wrong_classes,
)
from propriety.inference.comparison_words import caveats_of_pairs
from propriety.inference.finding import Finding, Verdict
from propriety.inference.finding_words import caveats, note_words
from propriety.inference.group_rows import REST, GroupRow, group_rows
from propriety.number_words import capitalized, listed, p_value_words, percent

if TYPE_CHECKING:
    from propriety.inference.finding import Findings


def sentences_of(evidence: Evidence) -> Iterator[Sentence]:
    """Yield the findings below the table, the most important first."""
    yield from _harm(evidence)
    yield from _calibration(evidence)
    yield from _recalibration(evidence)
    yield from _groups(evidence)
    for note in _notes(evidence):
        yield Sentence(note)
    lacking = list(uncompared_words(evidence.evaluation))
    # Without a comparison of several models, the first of these is the answer.
    for text in lacking[len(evidence.models) > 1 :]:
        yield Sentence(text)
    for text in absent_words(evidence.evaluation):
        yield Sentence(text)
    if evidence.evaluation.kind == "binary" and evidence.evaluation.thresholds is None:
        yield Sentence("Give thresholds= to learn whether acting on the forecasts is useful.")


def _harm(evidence: Evidence) -> Iterator[Sentence]:
    """Say at which ends acting on a model is worse than acting on everybody or on nobody."""
    for end in ends_of(evidence.evaluation):
        worse = [model for model in evidence.models if evidence.cells[f"net at {percent(end)}", model].row.high < 0.0]
        if worse:
            cell = evidence.cells[f"net at {percent(end)}", worse[0]]
            net_benefit = evidence.evaluation.estimates[worse[0]][f"net_benefit_at_{end!r}"].value
            simple = "nobody" if cell.row.value == net_benefit else "everybody"
            said = f"At {percent(end)}, acting on {evidence.quoted(*worse)} is worse than acting on {simple}"
            by = f" (by {_loss(cell)})" if len(worse) == 1 else ""
            yield Sentence(f"{said}{by}.", evidence.preferred in worse)


def _loss(cell: Cell) -> str:
    """Return the size of a negative difference with its interval."""
    numbers = [f"{abs(number):,.{cell.places}f}" for number in (cell.value, cell.high, cell.low)]
    return f"{numbers[0]}, {numbers[1]} to {numbers[2]}, per 1,000"


def _calibration(evidence: Evidence) -> Iterator[Sentence]:
    """Say how the models are miscalibrated; with several models, of the preferred one and how many others are."""
    verdicts = {model: verdict_of(evidence.evaluation, model) for model in evidence.models}
    detailed = list(evidence.models) if len(evidence.models) <= 2 else [evidence.preferred or evidence.evaluation.best]
    detailed.sort(key=lambda model: model != evidence.preferred)
    for model in detailed:
        text = _model_calibration(evidence, model, verdicts[model])
        if text:
            yield Sentence(text, model == evidence.preferred and verdicts[model] == "bad")
    others = [model for model in evidence.models if model not in detailed]
    accused = [model for model in others if verdicts[model] == "bad"]
    if len(accused) == len(others) > 1:
        which = "of the other models" if verdicts[detailed[0]] == "bad" else f"model but {evidence.quoted(*detailed)}"
        yield Sentence(f"Each {which} is miscalibrated.")
    elif accused:
        yield Sentence(f"{evidence.quoted(*accused)} {_be(accused)} miscalibrated.")
    untold = [model for model in evidence.models if verdicts[model] == "too few"]
    if untold and len(evidence.models) > 1:
        yield Sentence(f"Too few events to tell whether {evidence.quoted(*untold)} {_be(untold)} calibrated.")


def _be(models: Sequence[str]) -> str:
    return "is" if len(models) == 1 else "are"


def _model_calibration(evidence: Evidence, model: str, verdict: Verdict) -> str:
    """Say how one model is miscalibrated; nothing if it is not."""
    evaluation, name = evidence.evaluation, evidence.quoted(model)
    if verdict == "not tested":
        why = "; ".join(map(note_words, calibration_row(evaluation, model).notes))
        return f"Calibration of {name} was not tested: {why}."
    if verdict == "too few":
        ratio = evidence.cells.get(("O/E", model))
        many = "" if ratio is None or not ratio.row.has_limits else _possible(ratio)
        return many if len(evidence.models) == 1 else ""
    if verdict not in ("small", "bad"):
        return ""
    if evaluation.kind == "ordinal":
        return sentence_of(evaluation, model, name)
    ways = list(_ways_of_event(evidence, model) if evaluation.kind == "binary" else _ways_of_classes(evidence, model))
    slight = ", but only slightly" if verdict == "small" else ""
    return f"{name} is miscalibrated{slight}: {'; '.join(ways)}."


def _possible(ratio: Cell) -> str:
    """Say how far the number of events may be from the one forecast."""
    low, high = (_share(ratio, end) for end in (ratio.low, ratio.high))
    if not ratio.low < 1.0 < ratio.high:
        return f"{_more_events(ratio)}."
    return f"There may be {low} fewer or {high} more events than forecast."


def _share(ratio: Cell, end: float) -> str:
    """Return the distance of a ratio from 1 as a percentage, to the digit that is printed."""
    return f"{100.0 * abs(end - 1.0):,.{max(ratio.places - 2, 0)}f}%"


def _more_events(ratio: Cell) -> str:
    """Say how many more or fewer events happened than were forecast.

    Examples
    --------
    >>> from propriety.evaluation.rows import Row, cells_of
    >>> row = Row(question="", measure="", short="", model="", value=1.08, low=1.03, high=1.13, unit="ratio")
    >>> _more_events(cells_of([row])[0])
    '8% more events happened than forecast (3 to 13)'
    """
    if ratio.value >= 2.0 or not ratio.row.has_limits:
        limits = f", {ratio.limits}" if ratio.row.has_limits else ""
        return f"observed/expected is {ratio.number}{limits}"
    if (ratio.low - 1.0) * (ratio.high - 1.0) < 0.0:
        return f"observed/expected is {ratio.number}, {ratio.limits}"
    ends = sorted((ratio.low, ratio.high), key=lambda end: abs(end - 1.0))
    near, far = (_share(ratio, end).removesuffix("%") for end in ends)
    more = "more" if ratio.value > 1.0 else "fewer"
    return f"{_share(ratio, ratio.value)} {more} events happened than forecast ({near} to {far})"


def _ways_of_event(evidence: Evidence, model: str) -> Iterator[str]:
    """Yield how forecasts of one event are wrong, as the test found."""
    ways = ways_of(calibration_row(evidence.evaluation, model), sizes_of_event(evidence.evaluation, model).values())
    if "refuted" in ways:
        yield "forecasts of exactly 0 or 1 were wrong"
    if "too high" in ways or "too low" in ways:
        yield _more_events(evidence.cells["O/E", model])
    for way in ("reversed", "too extreme", "too timid"):
        if way in ways:
            slope = evidence.cells["slope", model]
            yield f"its forecasts are {way} (slope {slope.number}, {slope.limits})"
    if "other shape" in ways:
        yield "its reliability curve departs from the diagonal in shape"
    if "together" in ways:
        yield TOGETHER


def _ways_of_classes(evidence: Evidence, model: str) -> Iterator[str]:
    """Yield how class probabilities are wrong, as the tests found."""
    found = evidence.evaluation.calibration.where(model=model)
    row = calibration_row(evidence.evaluation, model)
    temperature, wrong, names = row.note("temperature"), wrong_classes(found, row), texts_of_classes(found)
    if row.note("refuted"):
        yield "classes occurred that had a probability of exactly 0"
    if temperature:
        yield f"its probabilities are {temperature.parts['way']}"
    by_way: dict[str, list[str]] = {}
    for label, ways, _ in wrong:
        for way in ways:
            by_way.setdefault(way, []).append(names[label])
    for shown, classes in by_way.items():
        if temperature is None or shown != temperature.parts["way"]:
            yield f"{TOGETHER if shown == 'together' else shown} for {some(classes)}"
    if not (wrong or temperature or row.note("refuted")):
        yield "the views together show it, though no class does by itself"


def _recalibration(evidence: Evidence) -> Iterator[Sentence]:
    """Say for which models recalibration is shown to lower the score."""
    gains = {model: evidence.cells.get(("recalibration", model)) for model in evidence.models}
    shown = [model for model, cell in gains.items() if cell is not None and cell.row.low > 0.0]
    if not shown:
        return
    what = "decision cost" if evidence.evaluation.thresholds is not None else evidence.evaluation.problem.headline.label
    best = max(shown, key=lambda model: gains[model].row.value)  # type: ignore[union-attr]  # these have a gain
    cell = gains[best]
    assert cell is not None  # noqa: S101  (for the type checker)
    saved = f"{cell.number} ({cell.limits})"
    if len(shown) == 1:
        said = f"Recalibration would lower the {what} of {evidence.quoted(best)} by {saved}"
    else:
        most = f"that of {evidence.quoted(best)} by {saved}"
        said = f"Recalibration would lower the {what} of {evidence.quoted(*shown)}, {most}"
    if len(evidence.models) > 1:
        said += "; the answer compares the models as they are"
    yield Sentence(f"{said}.")


def _groups(evidence: Evidence) -> Iterator[Sentence]:
    """Say in which groups the models are wrong, differ in skill, or have an infinite score."""
    evaluation, slices = evidence.evaluation, evidence.evaluation.slices
    if slices is None:
        return
    tested = group_table(evaluation)
    if tested is not None:
        yield from _group_calibration(evidence, tested)
    elif not np.isfinite(slices.where(against=REST).p).any():
        yield Sentence("No group could be compared with the rest.")
    rows = group_rows(slices)
    for model in evidence.models:
        names = [row.group for row in rows if row.model == model and row.value.note("infinite")]
        if names:
            said = f"The {slices.measure[0].label} of {evidence.quoted(model)} is infinite in {some(names)}."
            yield Sentence(said, model == evidence.preferred)
    if evaluation.group_skill is not None:
        yield from _group_skill(evidence, slices, evaluation.group_skill)


def _group_skill(evidence: Evidence, slices: Findings, skill: Findings) -> Iterator[Sentence]:
    """Say in which groups models have less skill, or more; else where only the score differs."""
    alpha = 1.0 - evidence.evaluation.level
    for model in evidence.models:
        apart = [(row, own) for row, own in _shown(skill, alpha) if row.model == model]
        less = [(row, own) for row, own in apart if own.value < 0.0]
        # Where some groups have less than the rest, it is known that others have more.
        chosen, way = (less, "less") if less else (apart, "more")
        if chosen:
            notes = "; ".join(map(note_words, chosen[0][0].notes)) if len(chosen) == 1 else ""
            names = some([row.group for row, _ in chosen])
            said = f"{evidence.quoted(model)} has {way} skill in {names} than in the rest{notes and f' ({notes})'}."
            yield Sentence(said, model == evidence.preferred and way == "less")
    differing = _shown(slices, alpha)
    if differing and not _shown(skill, alpha) and evidence.evaluation.kind == "binary":
        names = some(list(dict.fromkeys(row.group for row, _ in differing)))
        yield Sentence(
            f"The {slices.measure[0].label} differs in {names}, but no difference in skill was found: a different "
            "event rate by itself changes the score."
        )


def _shown(found: Findings, alpha: float) -> list[tuple[GroupRow, Finding]]:
    """Return the groups that are shown to differ from the rest, with their differences."""
    rows = [(row, row.rest) for row in group_rows(found)]
    return [(row, rest) for row, rest in rows if rest is not None and rest.p_adjusted <= alpha]


def _group_calibration(evidence: Evidence, tested: GroupTable) -> Iterator[Sentence]:
    """Say in which groups a model is miscalibrated, or that it is so in most of them, or that none was found."""
    everywhere = []
    for model in evidence.models:
        groups = groups_that_depart(tested, model)
        said = _shared_error(evidence, model)
        if said and not groups:
            yield Sentence(said, model == evidence.preferred)
        elif groups:
            ways = "; ".join(_ways_in_group(evidence, tested, model, groups[0])) if len(groups) == 1 else ""
            said = f"{evidence.quoted(model)} is miscalibrated in {some(groups)}{': ' if ways else ''}{ways}."
            yield Sentence(said, model == evidence.preferred)
        elif (tested.verdict[tested.model == model] == "bad").any():
            everywhere.append(model)
    if everywhere:
        yield Sentence(
            f"{evidence.quoted(*everywhere)} {_be(everywhere)} miscalibrated in most or all groups with enough events, "
            "which does not show that the groups differ.",
            evidence.preferred in everywhere,
        )
    for model in evidence.models:
        slight = tested.group[(tested.model == model) & (tested.verdict == "small")].tolist()
        if slight:
            yield Sentence(f"{evidence.quoted(model)} is miscalibrated, but only slightly, in {some(slight)}.")
    if not np.isin(tested.verdict, ["small", "bad"]).any():
        yield Sentence("No group with enough data was found to be miscalibrated.")


def _shared_error(evidence: Evidence, model: str) -> str:
    """Say that a model is wrong alike in all groups, if it is wrong and no difference between groups is shown."""
    evaluation = evidence.evaluation
    overall, found = calibration_row(evaluation, model), evaluation.group_calibration
    p_value = None if found is None else said_of_all(found, model, evaluation.level)
    if p_value is None or not is_shown(overall):
        return ""
    ways = listed(direction_words(ways_of(overall, sizes_of_event(evaluation, model).values())))
    differ = f"no group is shown to differ from the others in observed/expected ({p_value_words(p_value)})"
    return f"{evidence.quoted(model)} is {ways} in every group: {differ}."


def _ways_in_group(evidence: Evidence, tested: GroupTable, model: str, group: str) -> Iterator[str]:
    """Yield how the forecasts of a group are wrong."""
    (row,) = np.flatnonzero((tested.model == model) & (tested.group == group)).tolist()
    ways = tested.ways[row]
    if evidence.evaluation.kind != "binary":
        yield from ways
        return
    if "refuted" in ways:
        yield "forecasts of exactly 0 or 1 were wrong"
    if "too high" in ways or "too low" in ways:
        yield _more_events(group_cell(tested, row))  # The numbers of the card, if there is room for the group.
    sloped = [way for way in ("reversed", "too extreme", "too timid") if way in ways]
    if sloped:
        yield f"its forecasts are {listed(sloped)}"
    if "together" in ways:
        yield TOGETHER


def _notes(evidence: Evidence) -> Iterable[str]:
    """Return the caveats of the scores, the comparison and the calibration, each once."""
    evaluation = evidence.evaluation
    notes: list[str] = []
    if evaluation.comparison is not None:
        notes += caveats_of_pairs(evaluation.comparison)
    key = evaluation.problem.headline.key
    for model in evidence.models:
        notes.append(caveats(evaluation.estimates[model][key], "intervals"))
        row = calibration_row(evaluation, model)
        if row.verdict != "not tested":
            notes.append(caveats_of(row, sizes_of_event(evaluation, model).values()))
    distinct = list(dict.fromkeys(capitalized(note.rstrip(".")) for note in notes if note))
    return [f"{one}." for one in distinct if not any(one != other and one in other for other in distinct)]
