"""The answer of the card and the sentences below it: each claim is a test of the evaluation, each number a cell."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from propriety.evaluation.rows import (
    Cell,
    Row,
    cells_of,
    ends_of,
    group_cell,
    groups_that_depart,
)
from propriety.evaluation.words import (
    absent_words,
    calibration_outcome,
    cut_points_words,
    thresholds_words,
    uncompared_words,
    verdict_of,
)
from propriety.inference.calibration_summary import CalibrationSummary
from propriety.inference.calibration_words import TOGETHER
from propriety.inference.comparison_words import listed
from propriety.inference.estimates import counted, of_intervals
from propriety.inference.number_words import capitalized, p_value_words, percent
from propriety.inference.shown_names import on_one_line, short_names
from propriety.inference.slice_table import texts_of_labels

if TYPE_CHECKING:
    from propriety.evaluation.evaluation import Evaluation
    from propriety.inference.class_calibration import ClassCalibration
    from propriety.inference.comparison import Comparison
    from propriety.inference.slice_table import Slices

LONGEST_NAME = 24
MOST_NAMED = 3
WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
UNTOLD = ("too few events", "one unit", "not tested", "no spread")


class Sentence(NamedTuple):
    """A finding, and whether it warns of the model that the answer prefers."""

    text: str
    warns: bool = False


class Findings:
    """What the answer and the sentences are made of: an evaluation, the cells of its card, and short names."""

    def __init__(self, evaluation: Evaluation, lines: Mapping[tuple[str, str], Sequence[Cell]]) -> None:
        self.evaluation = evaluation
        self.models = evaluation.models
        self.names = dict(zip(self.models, short_names(self.models, longest=LONGEST_NAME), strict=True))
        self.cells = {(cell.row.short, cell.row.model): cell for line in lines.values() for cell in line}
        self.preferred = self._preferred()

    def quoted(self, *models: str) -> str:
        """Return the names of models in quotes."""
        shown = [f"'{self.names[model]}'" for model in models[:MOST_NAMED]]
        more = len(models) - len(shown)
        return listed([*shown, f"{more:,} more"] if more else shown)

    def _preferred(self) -> str | None:
        """Return the model that is shown to be better than every other one, or the only one."""
        if len(self.models) == 1:
            return self.models[0]
        compared = self.evaluation.comparison
        return next((model for model in self.models if compared is not None and _beats_all(compared, model)), None)


def _beats_all(compared: Comparison, model: str) -> bool:
    won = (compared.model == model) & (compared.verdict == "better")
    won |= (compared.reference == model) & (compared.verdict == "worse")
    return bool(np.count_nonzero(won) == len(compared.models) - 1)


def answer_of(found: Findings, sentences: Sequence[Sentence]) -> str:
    """Return the answer, with the number of warnings about the model that it prefers."""
    if len(found.models) == 1:
        return _answer_on_one(found)
    if found.evaluation.comparison is None:
        return next(uncompared_words(found.evaluation))
    if found.preferred is None:
        return _undecided(found, found.evaluation.comparison)
    warnings = sum(sentence.warns for sentence in sentences)
    many = WORDS[warnings] if warnings < len(WORDS) else str(warnings)
    warned = f" {many.capitalize()} warning{'s' * (warnings > 1)} below." if warnings else ""
    return f"Prefer {found.quoted(found.preferred)}: {_why(found, found.evaluation.comparison)}.{warned}"


def _why(found: Findings, compared: Comparison) -> str:
    """Say by how much the preferred model is better."""
    assert found.preferred is not None  # noqa: S101  (for the type checker)
    gaps = {}
    for model, reference, *numbers in zip(
        compared.model.tolist(),
        compared.reference.tolist(),
        compared.difference.tolist(),
        compared.low.tolist(),
        compared.high.tolist(),
        strict=True,
    ):
        if found.preferred in (model, reference):
            gaps[reference if model == found.preferred else model] = numbers
    other = min(gaps, key=lambda name: abs(gaps[name][0]))
    gap, interval = _gap(found, *gaps[other])
    if len(gaps) == 1:
        if found.evaluation.thresholds is not None:
            where = thresholds_words(found.evaluation)
            return (
                f"{where} its decisions cost {gap} less per 1,000 cases than those of {found.quoted(other)}{interval}"
            )
        label = found.evaluation.problem.headline.label
        return f"its {label} is {gap} lower than that of {found.quoted(other)}{interval}"
    unit = " per 1,000 cases" if found.evaluation.thresholds is not None else ""
    many = WORDS[len(gaps)] if len(gaps) < len(WORDS) else f"{len(gaps):,}"
    interval = interval.strip(" ()")
    gap = f"{gap}{unit}, {interval}" if interval else f"{gap}{unit}"
    return f"it is better than each of the other {many} (smallest difference, to {found.quoted(other)}: {gap})"


def _gap(found: Findings, difference: float, low: float, high: float) -> tuple[str, str]:
    """Return the size of a difference and its interval, which are those of its row if it has one."""
    cell = difference_cell(found.evaluation, difference, low, high)
    ends = sorted((abs(cell.low), abs(cell.high)))
    written = [f"{number:,.{cell.places}f}" for number in (abs(cell.value), *ends)]
    return written[0], f" ({written[1]} to {written[2]})" if cell.row.has_limits else ""


def difference_cell(evaluation: Evaluation, difference: float, low: float, high: float) -> Cell:
    """Return the difference between two models as the card writes it."""
    unit = "difference" if evaluation.thresholds is None else "difference per 1,000"
    row = Row(question="", measure="", short="", model="", value=difference, low=low, high=high, unit=unit, ideal=0.0)
    return cells_of([row])[0]


def _undecided(found: Findings, compared: Comparison) -> str:
    """Say that no model is shown to be better than all others."""
    verdicts = compared.verdict.tolist()
    if all(verdict in UNTOLD for verdict in verdicts):
        return f"Not enough data to tell which model is better: {_scarce(found)}."
    if all(verdict == "same" for verdict in verdicts):
        return "The models have the same score in every case: keep the simplest one."
    if all(verdict == "infinite" for verdict in verdicts):
        return f"The models cannot be compared: the {found.evaluation.problem.headline.label} is infinite."
    if len(found.models) == 2:
        cell = found.cells["difference", found.models[0]]
        return f"No model is shown to be better: keep the simpler one (difference {cell.number}, {cell.limits})."
    standings = compared.standings
    leaders = standings.model[standings.best_rank == 1].tolist()
    if len(leaders) == len(found.models):
        return "No model is shown to be better than another: keep the simplest one."
    return f"No single model is shown to be best: {found.quoted(*leaders)} are not shown to be worse than any other."


def _scarce(found: Findings) -> str:
    """Return the number of cases, or of events if these are fewer."""
    evaluation = found.evaluation
    if evaluation.kind != "binary":
        return counted(evaluation.n, "case")
    events = evaluation.tables[evaluation.models[0]]["event"].n_events
    others = evaluation.n - events
    return counted(events, "event") if events <= others else counted(others, "case") + " without the event"


def _answer_on_one(found: Findings) -> str:
    """Answer for a single model whether it is better than none, and whether its probabilities are right."""
    (model,) = found.models
    name, outcome = found.quoted(model), calibration_outcome(found.evaluation, model)
    if outcome == "too few events":
        return f"Not enough data to tell whether the probabilities of {name} are right: {_scarce(found)}."
    merit, is_good = _merit(found, model)
    p_value = found.cells["calibration", model]
    tested = "" if math.isnan(p_value.value) else f" ({p_value_words(p_value.row.value)})"
    judged = {
        "consistent": f"{'and' if is_good else 'but'} is consistent with calibration{tested}",
        "immaterial": f"{'and' if is_good else 'but'} its miscalibration is not material{tested}",
        "miscalibrated": f"{'but' if is_good else 'and'} is miscalibrated{tested}",
        "not tested": "and its calibration was not tested",
    }[outcome]
    return f"{name} {merit}, {judged}." if merit else f"{name} {judged.split(' ', 1)[1]}."


def _merit(found: Findings, model: str) -> tuple[str, bool]:
    """Say whether a model is shown to be better than none, and return whether it is."""
    gains = {end: found.cells[f"net at {percent(end)}", model] for end in ends_of(found.evaluation)}
    if gains and all(cell.row.has_limits for cell in gains.values()):
        shown = [f"at {percent(end)}" for end, cell in gains.items() if cell.row.low > 0.0]
        others = [f"at {percent(end)}" for end, cell in gains.items() if not cell.row.low > 0.0]
        if not others:
            return f"is better than no model {' and '.join(shown)}", True
        if not shown:
            return f"is not shown to be better than no model {' or '.join(others)}", False
        return f"is better than no model {shown[0]}, which is not shown {others[0]}", True
    skill = found.cells.get(("skill", model))
    if skill is None or not skill.row.has_limits:
        return "", True
    evidence = f"({skill.row.measure} {skill.number}, {skill.limits})"
    is_worse = skill.row.high < 0.0
    said = "is better" if skill.row.low > 0.0 else "is worse" if is_worse else "is not shown to be better"
    return f"{said} than no model {evidence}", skill.row.low > 0.0


def sentences_of(found: Findings) -> Iterator[Sentence]:
    """Yield the findings below the table, the most important first."""
    yield from _harm(found)
    yield from _calibration(found)
    yield from _recalibration(found)
    yield from _groups(found)
    for note in _notes(found):
        yield Sentence(note)
    lacking = list(uncompared_words(found.evaluation))
    # Without a comparison of several models, the first of these is the answer.
    for text in lacking[len(found.models) > 1 :]:
        yield Sentence(text)
    for text in absent_words(found.evaluation):
        yield Sentence(text)
    if found.evaluation.kind == "binary" and found.evaluation.thresholds is None:
        yield Sentence("Give thresholds= to learn whether acting on the forecasts is useful.")


def _harm(found: Findings) -> Iterator[Sentence]:
    """Say at which ends acting on a model is worse than acting on everybody or on nobody."""
    for end in ends_of(found.evaluation):
        worse = [model for model in found.models if found.cells[f"net at {percent(end)}", model].row.high < 0.0]
        if worse:
            cell = found.cells[f"net at {percent(end)}", worse[0]]
            net_benefit = found.evaluation.estimates[worse[0]][f"net_benefit_at_{end!r}"].value
            simple = "nobody" if cell.row.value == net_benefit else "everybody"
            said = f"At {percent(end)}, acting on {found.quoted(*worse)} is worse than acting on {simple}"
            evidence = f" (by {found_size(cell)})" if len(worse) == 1 else ""
            yield Sentence(f"{said}{evidence}.", found.preferred in worse)


def found_size(cell: Cell) -> str:
    """Return the size of a negative difference with its interval."""
    numbers = [f"{abs(number):,.{cell.places}f}" for number in (cell.value, cell.high, cell.low)]
    return f"{numbers[0]}, {numbers[1]} to {numbers[2]}, per 1,000"


def _calibration(found: Findings) -> Iterator[Sentence]:
    """Say how the models are miscalibrated; with several models, of the preferred one and how many others are."""
    outcomes = {model: calibration_outcome(found.evaluation, model) for model in found.models}
    detailed = list(found.models) if len(found.models) <= 2 else [found.preferred or found.evaluation.best]
    detailed.sort(key=lambda model: model != found.preferred)
    for model in detailed:
        text = _model_calibration(found, model, outcomes[model])
        if text:
            yield Sentence(text, model == found.preferred and outcomes[model] == "miscalibrated")
    others = [model for model in found.models if model not in detailed]
    accused = [model for model in others if outcomes[model] == "miscalibrated"]
    if len(accused) == len(others) > 1:
        which = (
            "of the other models"
            if outcomes[detailed[0]] == "miscalibrated"
            else f"model but {found.quoted(*detailed)}"
        )
        yield Sentence(f"Each {which} is miscalibrated.")
    elif accused:
        yield Sentence(f"{found.quoted(*accused)} {_be(accused)} miscalibrated.")
    untold = [model for model in found.models if outcomes[model] == "too few events"]
    if untold and len(found.models) > 1:
        yield Sentence(f"Too few events to tell whether {found.quoted(*untold)} {_be(untold)} calibrated.")


def _be(models: Sequence[str]) -> str:
    return "is" if len(models) == 1 else "are"


def _model_calibration(found: Findings, model: str, outcome: str) -> str:
    """Say how one model is miscalibrated; nothing if it is not."""
    verdict, name = verdict_of(found.evaluation, model), found.quoted(model)
    if outcome == "not tested" and verdict is not None:
        return f"Calibration of {name} was not tested: {verdict.note}."
    if verdict is None:
        return cut_points_words(found.evaluation, model, name) if outcome in ("miscalibrated", "immaterial") else ""
    if outcome == "too few events":
        ratio = found.cells.get(("O/E", model))
        many = "" if ratio is None or not ratio.row.has_limits else _possible(ratio)
        return many if len(found.models) == 1 else ""
    if outcome not in ("miscalibrated", "immaterial"):
        return ""
    ways = list(_ways_of_event(found, model, verdict) if isinstance(verdict, CalibrationSummary) else _ways(verdict))
    slight = ", but not materially" if outcome == "immaterial" else ""
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


def _ways_of_event(found: Findings, model: str, verdict: CalibrationSummary) -> Iterator[str]:
    """Yield how forecasts of one event are wrong, as the test found."""
    ways = verdict.directions
    if "refuted" in ways:
        yield "forecasts of exactly 0 or 1 were wrong"
    if "too high" in ways or "too low" in ways:
        yield _more_events(found.cells["O/E", model])
    for way in ("reversed", "too extreme", "too timid"):
        if way in ways:
            slope = found.cells["slope", model]
            yield f"its forecasts are {way} (slope {slope.number}, {slope.limits})"
    if "other shape" in ways:
        yield "its reliability curve departs from the diagonal in shape"
    if "together" in ways:
        yield TOGETHER


def _ways(verdict: ClassCalibration) -> Iterator[str]:
    """Yield how class probabilities are wrong, as the tests found."""
    if verdict.n_refuted > 0.0:
        yield "classes occurred that had a probability of exactly 0"
    if verdict.temperature:
        yield f"its probabilities are {verdict.temperature}"
    table = verdict.classes
    labels = texts_of_labels(table.label.tolist())
    ways = [tuple(way for way in own if way != "refuted") for own in table.directions]
    wrong = np.flatnonzero([bool(own) for own in ways])
    order = wrong[np.argsort(table.p_value[wrong], kind="stable")].tolist()
    by_way: dict[str, list[str]] = {}
    for place in order:
        for way in ways[place]:
            by_way.setdefault(way, []).append(labels[place])
    for way, classes in by_way.items():
        if way != verdict.temperature:
            yield f"{TOGETHER if way == 'together' else way} for {_some(classes)}"
    if not order and not verdict.temperature and not verdict.n_refuted:
        yield "the views together show it, though no class does by itself"


def _recalibration(found: Findings) -> Iterator[Sentence]:
    """Say for which models recalibration is shown to lower the score."""
    gains = {model: found.cells.get(("recalibration", model)) for model in found.models}
    shown = [model for model, cell in gains.items() if cell is not None and cell.row.low > 0.0]
    if not shown:
        return
    what = "decision cost" if found.evaluation.thresholds is not None else found.evaluation.problem.headline.label
    best = max(shown, key=lambda model: gains[model].row.value)  # type: ignore[union-attr]  # these have a gain
    cell = gains[best]
    assert cell is not None  # noqa: S101  (for the type checker)
    saved = f"{cell.number} ({cell.limits})"
    if len(shown) == 1:
        said = f"Recalibration would lower the {what} of {found.quoted(best)} by {saved}"
    else:
        most = f"that of {found.quoted(best)} by {saved}"
        said = f"Recalibration would lower the {what} of {found.quoted(*shown)}, {most}"
    if len(found.models) > 1:
        said += "; the answer compares the models as they are"
    yield Sentence(f"{said}.")


def _groups(found: Findings) -> Iterator[Sentence]:
    """Say in which groups the models are wrong, differ in skill, or have an infinite score."""
    evaluation, slices = found.evaluation, found.evaluation.slices
    if slices is None:
        return
    if evaluation.group_calibration is not None:
        yield from _group_calibration(found)
    elif not np.isfinite(slices.p_adjusted).any():
        yield Sentence("No group could be compared with the rest.")
    for model in found.models:
        own = (slices.model == model) & np.isinf(slices.value) & ~slices.is_too_small
        if own.any():
            names = _some(slices.group[own].tolist())
            said = f"The {slices.measure.label} of {found.quoted(model)} is infinite in {names}."
            yield Sentence(said, model == found.preferred)
    if evaluation.group_skill is not None:
        yield from _group_skill(found, slices, evaluation.group_skill)


def _group_skill(found: Findings, slices: Slices, skill: Slices) -> Iterator[Sentence]:
    """Say in which groups models have less skill, or more; else where only the score differs."""
    alpha = 1.0 - found.evaluation.level
    for model in found.models:
        apart = (skill.model == model) & (skill.p_adjusted <= alpha)
        less, more = apart & (skill.difference < 0.0), apart & (skill.difference > 0.0)
        # Where some groups have less than the rest, it is known that others have more.
        chosen, way = (less, "less") if less.any() else (more, "more")
        names = skill.group[chosen].tolist()
        if names:
            note = f" ({skill.note[chosen][0]})" if len(names) == 1 and skill.note[chosen][0] else ""
            said = f"{found.quoted(model)} has {way} skill in {_some(names)} than in the rest{note}."
            yield Sentence(said, model == found.preferred and way == "less")
    apart = slices.p_adjusted <= alpha
    if apart.any() and not (skill.p_adjusted <= alpha).any() and slices.event_rate is not None:
        names = _some(list(dict.fromkeys(slices.group[apart].tolist())))
        yield Sentence(
            f"The {slices.measure.label} differs in {names}, but no difference in skill was found: a different event "
            "rate by itself changes the score."
        )


def _some(names: Sequence[str]) -> str:
    """List the first names, and count the others."""
    shown = [on_one_line(name) for name in names[:MOST_NAMED]]
    more = len(names) - len(shown)
    return listed([*shown, f"{more:,} more"] if more else shown)


def _group_calibration(found: Findings) -> Iterator[Sentence]:
    """Say in which groups a model is miscalibrated, or that it is so in most of them, or that none was found."""
    tested = found.evaluation.group_calibration
    assert tested is not None  # noqa: S101  (for the type checker)
    everywhere = []
    for model in found.models:
        groups = groups_that_depart(tested, model)
        if groups:
            ways = "; ".join(_ways_in_group(found, model, groups[0])) if len(groups) == 1 else ""
            said = f"{found.quoted(model)} is miscalibrated in {_some(groups)}{': ' if ways else ''}{ways}."
            yield Sentence(said, model == found.preferred)
        elif (tested.outcome[tested.model == model] == "miscalibrated").any():
            everywhere.append(model)
    if everywhere:
        yield Sentence(
            f"{found.quoted(*everywhere)} {_be(everywhere)} miscalibrated in most or all groups with enough events, "
            "which does not show that the groups differ.",
            found.preferred in everywhere,
        )
    for model in found.models:
        slight = tested.group[(tested.model == model) & (tested.outcome == "immaterial")].tolist()
        if slight:
            yield Sentence(f"{found.quoted(model)} is miscalibrated, but not materially, in {_some(slight)}.")
    if not np.isin(tested.outcome, ["miscalibrated", "immaterial"]).any():
        yield Sentence("No group with enough data was found to be miscalibrated.")


def _ways_in_group(found: Findings, model: str, group: str) -> Iterator[str]:
    """Yield how the forecasts of a group are wrong."""
    tested = found.evaluation.group_calibration
    assert tested is not None  # noqa: S101  (for the type checker)
    (ways,) = tested.directions[(tested.model == model) & (tested.group == group)].tolist()
    if found.evaluation.kind != "binary":
        yield from ways
        return
    if "refuted" in ways:
        yield "forecasts of exactly 0 or 1 were wrong"
    if "too high" in ways or "too low" in ways:
        # The row of the group, whose numbers the card shows if there is room.
        (row,) = np.flatnonzero((tested.model == model) & (tested.group == group)).tolist()
        yield _more_events(group_cell(tested, row))
    sloped = [way for way in ("reversed", "too extreme", "too timid") if way in ways]
    if sloped:
        yield f"its forecasts are {listed(sloped)}"
    if "together" in ways:
        yield TOGETHER


def _notes(found: Findings) -> Iterable[str]:
    """Return the caveats of the scores, the comparison and the calibration, each once."""
    evaluation = found.evaluation
    notes: list[str] = []
    if evaluation.comparison is not None and evaluation.comparison.note:
        notes.append(evaluation.comparison.note.removesuffix("."))
    key = evaluation.problem.headline.key
    for model in found.models:
        notes.append(evaluation.estimates[model][key].note)
        verdict = verdict_of(evaluation, model)
        if verdict is not None and calibration_outcome(evaluation, model) != "not tested":
            notes.append(verdict.note)
    distinct = list(dict.fromkeys(capitalized(of_intervals(note)) for note in notes if note))
    return [f"{one}." for one in distinct if not any(one != other and one in other for other in distinct)]
