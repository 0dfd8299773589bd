"""The answer of the card and the sentences below it: each claim is a test of the evaluation, each number a cell."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from propriety.evaluation.card_rows import ends_of
from propriety.evaluation.rows import Cell, Row, cells_of
from propriety.evaluation.words import (
    thresholds_words,
    uncompared_words,
    verdict_of,
)
from propriety.inference.finding import Finding, Findings
from propriety.inference.shown_names import on_one_line, short_names
from propriety.inference.verdict import lead
from propriety.number_words import counted, listed, p_value_words, percent

if TYPE_CHECKING:
    from propriety.evaluation.evaluation import Evaluation

LONGEST_NAME = 24
MOST_NAMED = 3
WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


class Sentence(NamedTuple):
    """A finding, and whether it warns of the model that the answer prefers."""

    text: str
    warns: bool = False


class Evidence:
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


def _beats_all(compared: Findings, model: str) -> bool:
    pairs = [row for row in compared.differences if model in (row.model, row.against)]
    return all(lead(row) == (1 if row.model == model else -1) for row in pairs)


def answer_of(evidence: Evidence, sentences: Sequence[Sentence]) -> str:
    """Return the answer, with the number of warnings about the model that it prefers."""
    if len(evidence.models) == 1:
        return _answer_on_one(evidence)
    if evidence.evaluation.comparison is None:
        return next(uncompared_words(evidence.evaluation))
    if evidence.preferred is None:
        return _undecided(evidence, evidence.evaluation.comparison)
    warnings = sum(sentence.warns for sentence in sentences)
    many = WORDS[warnings] if warnings < len(WORDS) else str(warnings)
    warned = f" {many.capitalize()} warning{'s' * (warnings > 1)} below." if warnings else ""
    return f"Prefer {evidence.quoted(evidence.preferred)}: {_why(evidence, evidence.evaluation.comparison)}.{warned}"


def _why(evidence: Evidence, compared: Findings) -> str:
    """Say by how much the preferred model is better."""
    pairs = [row for row in compared.differences if evidence.preferred in (row.model, row.against)]
    gaps = {str(row.against if row.model == evidence.preferred else row.model): row for row in pairs}
    other = min(gaps, key=lambda name: abs(gaps[name].value))
    gap, interval = _gap(evidence, gaps[other])
    if len(gaps) == 1:
        if evidence.evaluation.thresholds is not None:
            less = f"its decisions cost {gap} less per 1,000 cases than those of {evidence.quoted(other)}{interval}"
            return f"{thresholds_words(evidence.evaluation)} {less}"
        label = evidence.evaluation.problem.headline.label
        return f"its {label} is {gap} lower than that of {evidence.quoted(other)}{interval}"
    unit = " per 1,000 cases" if evidence.evaluation.thresholds is not None else ""
    many = WORDS[len(gaps)] if len(gaps) < len(WORDS) else f"{len(gaps):,}"
    interval = interval.strip(" ()")
    gap = f"{gap}{unit}, {interval}" if interval else f"{gap}{unit}"
    return f"it is better than each of the other {many} (smallest difference, to {evidence.quoted(other)}: {gap})"


def _gap(evidence: Evidence, pair: Finding) -> tuple[str, str]:
    """Return the size of a difference and its interval as the card writes them."""
    cell = difference_cell(evidence.evaluation, pair.value, pair.low, pair.high)
    ends = sorted((abs(cell.low), abs(cell.high)))
    written = [f"{number:,.{cell.places}f}" for number in (abs(cell.value), *ends)]
    return written[0], f" ({written[1]} to {written[2]})" if cell.row.has_limits else ""


def difference_cell(evaluation: Evaluation, difference: float, low: float, high: float) -> Cell:
    """Return the difference between two models as the card writes it."""
    unit = "difference" if evaluation.thresholds is None else "difference per 1,000"
    row = Row(question="", measure="", short="", model="", value=difference, low=low, high=high, unit=unit, ideal=0.0)
    return cells_of([row])[0]


def _undecided(evidence: Evidence, compared: Findings) -> str:
    """Say that no model is shown to be better than all others."""
    pairs = list(compared.differences)
    if all(row.note("same") for row in pairs):
        return "The models have the same score in every case: keep the simplest one."
    if all(row.note("infinite") for row in pairs):
        return f"The models cannot be compared: the {evidence.evaluation.problem.headline.label} is infinite."
    if all(row.verdict == "not tested" and not row.note("infinite") for row in pairs):
        return f"Not enough data to tell which model is better: {_scarce(evidence)}."
    if len(evidence.models) == 2:
        cell = evidence.cells["difference", evidence.models[0]]
        return f"No model is shown to be better: keep the simpler one (difference {cell.number}, {cell.limits})."
    leaders = [row.model for row in compared.ranks() if row.extra["best_rank"] == 1]
    if len(leaders) == len(evidence.models):
        return "No model is shown to be better than another: keep the simplest one."
    return f"No single model is shown to be best: {evidence.quoted(*leaders)} are not shown to be worse than any other."


def _scarce(evidence: Evidence) -> str:
    """Return the number of cases, or of events if these are fewer."""
    evaluation = evidence.evaluation
    if evaluation.kind != "binary":
        return counted(evaluation.n, "case")
    events = evaluation.tables[evaluation.models[0]]["event"].n_events
    others = evaluation.n - events
    return counted(events, "event") if events <= others else counted(others, "case") + " without the event"


def _answer_on_one(evidence: Evidence) -> str:
    """Answer for a single model whether it is better than none, and whether its probabilities are right."""
    (model,) = evidence.models
    name, verdict = evidence.quoted(model), verdict_of(evidence.evaluation, model)
    if verdict == "too few":
        return f"Not enough data to tell whether the probabilities of {name} are right: {_scarce(evidence)}."
    merit, is_good = _merit(evidence, model)
    p_value = evidence.cells["calibration", model]
    tested = "" if math.isnan(p_value.value) else f" ({p_value_words(p_value.row.value)})"
    judged = {
        "good": f"{'and' if is_good else 'but'} is calibrated{tested}",
        "no error found": f"{'and' if is_good else 'but'} no error of calibration was found{tested}",
        "small": f"{'and' if is_good else 'but'} is only slightly miscalibrated{tested}",
        "bad": f"{'but' if is_good else 'and'} is miscalibrated{tested}",
        "not tested": "and its calibration was not tested",
    }[verdict]
    return f"{name} {merit}, {judged}." if merit else f"{name} {judged.split(' ', 1)[1]}."


def _merit(evidence: Evidence, model: str) -> tuple[str, bool]:
    """Say whether a model is shown to be better than none, and return whether it is."""
    gains = {end: evidence.cells[f"net at {percent(end)}", model] for end in ends_of(evidence.evaluation)}
    if gains and all(cell.row.has_limits for cell in gains.values()):
        shown = [f"at {percent(end)}" for end, cell in gains.items() if cell.row.low > 0.0]
        others = [f"at {percent(end)}" for end, cell in gains.items() if not cell.row.low > 0.0]
        if not others:
            return f"is better than no model {' and '.join(shown)}", True
        if not shown:
            return f"is not shown to be better than no model {' or '.join(others)}", False
        return f"is better than no model {shown[0]}, which is not shown {others[0]}", True
    skill = evidence.cells.get(("skill", model))
    if skill is None or not skill.row.has_limits:
        return "", True
    interval = f"({skill.row.measure} {skill.number}, {skill.limits})"
    is_worse = skill.row.high < 0.0
    said = "is better" if skill.row.low > 0.0 else "is worse" if is_worse else "is not shown to be better"
    return f"{said} than no model {interval}", skill.row.low > 0.0


def some(names: Sequence[str]) -> str:
    """List the first names, and count the others."""
    shown = [on_one_line(name) for name in names[:MOST_NAMED]]
    more = len(names) - len(shown)
    return listed([*shown, f"{more:,} more"] if more else shown)
