"""Advice on which measures fit a decision and which mislead: from the decision to the call to make."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from propriety.checks import check_choice
from propriety.decisions.recommendations import (
    DecisionProblem,
    Misleading,
    Recommendation,
    misleading_for,
    recommended_for,
)
from propriety.result import Result
from propriety.rules.thresholds import Thresholds, read_thresholds

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
    >>> from propriety.decisions.advice import advise
    >>> advice = advise(thresholds=(0.05, 0.2), need="decisions")
    >>> advice.recommended[0].call
    'pr.bounded_brier_score(y, p, thresholds=(0.05, 0.2))'
    >>> [entry.measure for entry in advice.misleading]
    ['accuracy', 'AUC', 'F1', 'full Brier and log score', 'mean net benefit together with a bounded score']
    """
    check_choice("decisions", decisions, get_args(Decisions))
    check_choice("kind", kind, get_args(Kind))
    check_choice("need", need, get_args(Need))
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
