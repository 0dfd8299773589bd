"""The measures that `advise` recommends or warns of; `advice.toml` says of each the call to make and the reasons."""

from __future__ import annotations

import html
import textwrap
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from propriety import checks
from propriety.result import Result
from propriety.rules.weights import Thresholds, read_thresholds

RARE = 0.1  # Below this rate of either outcome the log score is recommended first.


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """A measure to use: the call to make, the reason, and the reference."""

    measure: str
    call: str
    why: str
    reference: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Misleading:
    """A measure that misleads: the reason, and the reference."""

    measure: str
    why: str
    reference: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionProblem:
    """A decision, as described to `propriety.advise`."""

    capacity: bool
    thresholds: Thresholds | None
    kind: str
    rare: bool
    need: str

    @property
    def binary(self) -> bool:
        """Whether one event is forecast."""
        return self.kind == "binary"


def is_rare(rate: float) -> bool:
    """Whether one of the outcomes is so rare that the log score suits it better than the Brier score."""
    return round(min(rate, 1.0 - rate), 12) < RARE


def recommended_for(problem: DecisionProblem) -> Iterator[Recommendation]:
    """Yield the measures that fit a decision, the one to report first."""
    texts, facts = _texts(), _facts(problem)
    for name in _recommended(problem):
        entry = texts["use"][name]
        of_classes = "{data}" in entry["call"] and not problem.binary
        measure, call, why, reference = (
            entry[part].format(**facts) for part in ("measure", "call", "why", "reference")
        )
        if of_classes:
            ordered = problem.kind == "ordinal"
            ledger = f"pr.condense(y, P{', ordered=True' if ordered else ''})"
            call = f"{{label: {call} for label, table in {ledger}.tables().items()}}"
            measure += " of each cut point" if ordered else " of each class"
        yield Recommendation(measure=measure, call=call, why=why, reference=reference)


def misleading_for(problem: DecisionProblem) -> Iterator[Misleading]:
    """Yield the measures that are often reported for such a decision but mislead."""
    texts, facts = _texts(), _facts(problem)
    for name in _misleading(problem):
        entry = texts["beware"][name]
        why = entry["why"]
        why += entry.get("if_ordinal", "") if problem.kind == "ordinal" else ""
        why += entry.get("if_rare", "") if problem.rare else ""
        yield Misleading(measure=entry["measure"], why=why, reference=entry["reference"].format(**facts))


def _recommended(problem: DecisionProblem) -> Iterator[str]:
    at, first = problem.thresholds, ("log", "brier") if problem.rare else ("brier", "log")
    decides, read = problem.need == "decisions", problem.need == "probabilities"
    if problem.capacity:
        yield from ("top_k", "top_k_at_several", *["brier_beside_capacity"] * read)
    elif problem.need == "ranks":
        yield from ("h_measure", *["h_measure_around_rate"] * problem.rare, "discrimination")
    elif isinstance(at, tuple):
        in_odds = at[0] > 0.0 and at[1] < 1.0
        yield from (f"bounded_{score}" for score in first if in_odds or score == "brier")
        yield from ("bounded_skill", "bounded_decomposition", "decision_curve")
        yield from ["mean_net_benefit"] * (decides and at[1] < 1.0)
    elif at is not None:
        yield from ("regret", "decision_curve", "regret_decomposition")
    elif problem.binary:
        yield from (*first, "skill", *["decision_curve"] * decides, "decomposition", "regret_curve")
    else:
        scores = ("ranked_probability",) if problem.kind == "ordinal" else ("brier_of_classes", "log_of_classes")
        yield from (*scores, "skill_of_classes", "decomposition_of_classes")
        yield from ["penalized_brier"] * (problem.kind == "multiclass" and decides)
    if read:
        yield from ("reliability_curve", "check_calibration" if problem.binary else "check_calibration_of_classes")


def _misleading(problem: DecisionProblem) -> Iterator[str]:
    if problem.capacity or problem.thresholds != 0.5 or not problem.binary:
        yield "accuracy" if problem.binary else "accuracy_of_classes"
    yield from ("auc_of_capacity" if problem.capacity else "auc", "f1")
    if problem.capacity:
        yield "net_benefit_of_capacity"
    elif problem.thresholds is not None:
        yield "all_thresholds"
        yield from ["mean_net_benefit"] * isinstance(problem.thresholds, tuple)
    yield from {"ordinal": ["squared_absolute"], "multiclass": ["penalized"]}.get(problem.kind, [])
    yield from ["bins"] * (problem.need == "probabilities")


def _facts(problem: DecisionProblem) -> dict[str, Any]:
    """Return what fills the braces of the texts."""
    at, is_range = problem.thresholds, isinstance(problem.thresholds, tuple)
    low, high = at if isinstance(at, tuple) else (at, None)
    score = "RankedProbability" if problem.kind == "ordinal" else "Log" if problem.binary and problem.rare else "Brier"
    return _texts()["references"] | {
        "data": "y, p" if problem.binary else "table",
        "rate": "sum(y) / len(y)" if problem.binary else "table.event_rate",
        "at": "" if at is None or is_range else f", thresholds={at!r}",
        "rule": f", rule=pr.BoundedBrier{at!r}" if is_range else "",
        "low": low,
        "high": high,
        "score": score,
    }


@cache
def _texts() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("advice.toml").read_text(encoding="utf-8"))


Decisions: TypeAlias = Literal["independent", "capacity"]
Kind: TypeAlias = Literal["binary", "multiclass", "ordinal"]
Need: TypeAlias = Literal["probabilities", "ranks", "decisions"]
WIDTH = 96
LEGEND = {
    "binary": "`pr` is propriety, `y` the outcomes, `p` the probability of the event.",
    "multiclass": "`pr` is propriety, `y` the outcomes, `P` rows with one probability per class.",
    "ordinal": "`pr` is propriety, `y` the outcomes, `P` rows with one probability per class, in order.",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Advice(Result):
    """Measures that fit a decision, with the calls to make, and measures that mislead.

    It prints as a page of text, and displays as a table in a notebook.

    Parameters
    ----------
    decisions, thresholds, kind, rare, need
        The decision, as given to `advise`.
    recommended : tuple of Recommendation
        Each with `measure`, `call` (Python code that runs), `why` and `reference`; report the first.
    misleading : tuple of Misleading
        Each with `measure`, `why` and `reference`.
    """

    decisions: Decisions
    thresholds: Thresholds | None
    kind: Kind
    rare: bool
    need: Need
    recommended: tuple[Recommendation, ...]
    misleading: tuple[Misleading, ...]

    @property
    def problem(self) -> str:
        """The decision as text."""
        if self.decisions == "capacity":
            how = "decisions that share a capacity"
        else:
            how = "decisions that do not depend on each other"
        match self.thresholds:
            case None:
                where = "any threshold"
            case (low, high):
                where = f"thresholds from {low:g} to {high:g}"
            case known:
                where = f"the threshold {known:g}"
        rare = "rare " if self.rare else ""
        return f"{how}, {where}, {rare}{self.kind} outcomes, {self.need} needed"

    def columns(self) -> Mapping[str, Sequence[Any]]:
        """Columns of the table: one row per measure, recommended ones first."""
        entries: list[Recommendation | Misleading] = [*self.recommended, *self.misleading]
        return {
            "advice": ["use"] * len(self.recommended) + ["beware"] * len(self.misleading),
            "measure": [entry.measure for entry in entries],
            "call": [entry.call if isinstance(entry, Recommendation) else "" for entry in entries],
            "why": [entry.why for entry in entries],
            "reference": [entry.reference for entry in entries],
        }

    def __repr__(self) -> str:
        lines = [*textwrap.wrap(f"Advice for {self.problem}", WIDTH), "", "Use"]
        for recommended in self.recommended:
            lines += [f"  {recommended.measure}", f"      {recommended.call}", *_indented(recommended)]
        lines += ["", "Beware of"]
        for misleading in self.misleading:
            lines += [f"  {misleading.measure}", *_indented(misleading)]
        return "\n".join([*lines, "", LEGEND[self.kind]])

    def _repr_html_(self) -> str:
        columns = self.columns()
        head = "".join(f"<th>{name}</th>" for name in columns)
        body = ""
        for advice, measure, call, why, reference in zip(*columns.values(), strict=True):
            told = [html.escape(cell) for cell in (advice, measure, call, why, reference)]
            texts = (*told[:2], f"<code>{told[2]}</code>" if call else "", *told[3:])
            body += "<tr>" + "".join(f"<td style='text-align: left'>{text}</td>" for text in texts) + "</tr>"
        title = html.escape(f"Advice for {self.problem}. {LEGEND[self.kind]}")
        return f"<p>{title}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def advise(
    *,
    decisions: Decisions = "independent",
    thresholds: Thresholds | None = None,
    kind: Kind = "binary",
    rare: bool = False,
    need: Need = "probabilities",
) -> Advice:
    """Recommend measures for a decision, with the calls to make, and name those that mislead.

    Parameters
    ----------
    decisions : {"independent", "capacity"}
        Whether each case is decided by itself, or only a limited number can be acted on, so that the highest forecasts
        are.
    thresholds : float or (float, float), optional
        The probability at which somebody would act, which is the cost of a false alarm as a share of the cost of both
        errors: one number if it is known, (low, high) if it lies in a range, None if it may be anything.
    kind : {"binary", "multiclass", "ordinal"}
        What is forecast, as in `propriety.results.Evaluation`.
    rare : bool
        Whether the event is rare, below about one in ten.
    need : {"probabilities", "ranks", "decisions"}
        How the forecasts are used: their values, only their order, or only to decide whether to act.

    References
    ----------
    Flores et al. (2025), table 1, arXiv:2504.04528.

    Examples
    --------
    >>> from propriety.decisions.recommendations import advise
    >>> advice = advise(thresholds=(0.05, 0.2), need="decisions")
    >>> advice.recommended[0].call
    'pr.bounded_brier_score(y, p, thresholds=(0.05, 0.2))'
    >>> [entry.measure for entry in advice.misleading]
    ['accuracy', 'AUC', 'F1', 'full Brier and log score', 'mean net benefit together with a bounded score']
    """
    checks.choice(decisions, "decisions", get_args(Decisions))
    checks.choice(kind, "kind", get_args(Kind))
    checks.choice(need, "need", get_args(Need))
    problem = DecisionProblem(
        capacity=decisions == "capacity",
        thresholds=read_thresholds(thresholds),
        kind=kind,
        rare=bool(rare),
        need=need,
    )
    return Advice(
        decisions=decisions,
        thresholds=problem.thresholds,
        kind=kind,
        rare=problem.rare,
        need=need,
        recommended=tuple(recommended_for(problem)),
        misleading=tuple(misleading_for(problem)),
    )


def _indented(entry: Recommendation | Misleading) -> list[str]:
    return textwrap.wrap(f"{entry.why} [{entry.reference}]", WIDTH, initial_indent=" " * 6, subsequent_indent=" " * 6)
