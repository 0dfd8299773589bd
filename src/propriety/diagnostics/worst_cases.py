"""The cases with the largest loss under each rule, side by side, as a start for error analysis."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propriety import checks, demands
from propriety.decisions.agreement import first_argmax, labels_at
from propriety.errors import InputValueError
from propriety.result import Floats, Result, html_table
from propriety.rules.families import BRIER
from propriety.rules.rule import Rule, check_rule
from propriety.rules.scoring import losses_of
from propriety.tables.cases import Cases
from propriety.tables.labels import Labels
from propriety.tables.validation import read_cases

Names: TypeAlias = NDArray[np.str_]
Whole: TypeAlias = NDArray[np.intp]

COLUMNS = ("rule", "rank", "case", "outcome", "decision", "probability", "loss")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class WorstCases(Result):
    """The cases with the largest loss, one row per rule and case, the worst of each rule first.

    Printing shows the rules side by side.

    Parameters
    ----------
    rule : array of shape (rows,)
        Name of the rule.
    rank : array of shape (rows,)
        One plus the number of cases with a larger loss; ties share a rank.
    case : array of shape (rows,)
        Row of the case in the data as given.
    outcome, decision : array of shape (rows,)
        The class that happened, and the most probable class, the first in a tie.
    probability : array of shape (rows,)
        Probability of the class that happened.
    loss : array of shape (rows,)
        Loss of the case under the rule.
    ranks : array of shape (rows, rules)
        Rank of the case under every rule.
    forecast : array of shape (rows, K)
        Probabilities of the case.
    rules : tuple of str
        The rules, in the order given.
    labels : tuple
        The classes in order.
    n, dropped : int
        Number of cases, and of rows left out because of missing values.
    """

    facts: ClassVar[tuple[str, ...]] = ("rules", "rows", "n", "dropped")

    rule: Names
    rank: Whole
    case: Whole
    outcome: NDArray[Any]
    decision: NDArray[Any]
    probability: Floats
    loss: Floats
    ranks: Whole
    forecast: Floats
    rules: tuple[str, ...]
    labels: tuple[Any, ...]
    short_names: tuple[str, ...] = field(metadata={"hidden": True})  # Of the rules, for figures.
    n: int
    dropped: int = 0

    def columns(self) -> Mapping[str, NDArray[Any]]:
        """Return one row per rule and case, with the rank under each rule if there are several."""
        own = {name: getattr(self, name) for name in COLUMNS}
        if len(self.rules) == 1:
            return own
        return own | {f"rank by {rule}": self.ranks[:, place] for place, rule in enumerate(self.rules)}

    def __str__(self) -> str:
        lines = [["", *self.rules], *self._side_by_side()]
        widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
        return "\n".join(
            "   ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
        )

    def _repr_html_(self) -> str:
        """Return the notebook view: a column for each rule, the worst case on top."""
        columns = dict(zip(("", *self.rules), zip(*self._side_by_side(), strict=True), strict=True))
        return f"<p><code>{html.escape(repr(self))}</code></p>{html_table(columns)}"

    def _decided(self, row: int) -> str:
        """Return the decision as text; even among the worst cases it may be right."""
        right = self.outcome[row] == self.decision[row]
        return "classified correctly" if right else f"classified as {self.decision[row]}"

    def _side_by_side(self) -> Iterator[list[str]]:
        """Yield a line for each rank, with a case of each rule."""
        shown = len(self.case) // len(self.rules)
        for place in range(shown):
            rows = range(place, len(self.case), shown)
            yield [
                str(place + 1),
                *(
                    f"case {self.case[row]}: {self.outcome[row]} {self._decided(row)}, "
                    f"p {self.probability[row]:.3g}, loss {self.loss[row]:.3g}"
                    for row in rows
                ),
            ]


def worst_cases(
    y_true: ArrayLike | Cases,
    y_proba: ArrayLike | None = None,
    *,
    rule: Rule | Sequence[Rule] = BRIER,
    most: int = 10,
    labels: Labels | None = None,
) -> WorstCases:
    """Find the cases with the largest loss under each rule.

    Rules differ in what counts as bad: the log score depends only on the probability of what happened, the Brier score
    on the whole row, and the ranked probability score on how far away the probability lies.

    Parameters
    ----------
    y_true, y_proba, labels
        As in `propriety.mean_score`. The forecast of one event stands for the row (1 - p, p).
    rule : Rule, or sequence of rules
        Any rule for classes, or several to compare; ``RankedProbability()`` takes the order of classes into account.
    most : int
        Number of cases to find for each rule; all if there are fewer.

    Notes
    -----
    Of cases with the same loss, the earlier come first.

    Examples
    --------
    >>> import propriety as pr
    >>> y = ["low", "high", "low", "mid"]
    >>> rows = [[0.8, 0.1, 0.1], [0.6, 0.3, 0.1], [0.05, 0.9, 0.05], [0.5, 0.1, 0.4]]
    >>> worst = worst_cases(y, rows, rule=[pr.RankedProbability(), pr.Log()], most=2, labels=["low", "mid", "high"])
    >>> worst
    WorstCases(rules=['RankedProbability()', 'Log()'], rows=4, n=4)
    >>> print(worst)
        RankedProbability()                                 Log()
    1   case 1: high classified as low, p 0.1, loss 0.585   case 2: low classified as mid, p 0.05, loss 3
    2   case 2: low classified as mid, p 0.05, loss 0.452   case 1: high classified as low, p 0.1, loss 2.3
    """
    checks.whole(most, "most", least=1)
    rules = read_rules(rule)
    cases = read_cases(y_true, y_proba, labels=labels)
    rows = cases.as_rows()
    forecast, outcome, _ = rows.gathered()
    columns = rows.labels or ()
    losses = np.stack([checked_losses(cases, one) for one in rules])
    # In increasing order, the cases with a larger loss are those after the last equal one.
    ranks = np.stack([1 + len(line) - np.searchsorted(np.sort(line), line, side="right") for line in losses], axis=1)
    shown = min(int(most), len(cases))
    # The earlier of equal losses come first, as in a stable sort of the negated losses.
    found = np.concatenate([np.argsort(-line, kind="stable")[:shown] for line in losses])
    own = np.repeat(np.arange(len(rules)), shown)
    names = tuple(repr(one) for one in rules)
    return WorstCases(
        rule=np.array(names)[own],
        rank=ranks[found, own],
        case=found if cases.rows is None else cases.rows[found],
        outcome=labels_at(columns, outcome[found]),
        decision=labels_at(columns, first_argmax(forecast)[found]),
        probability=forecast[outcome[found], found],
        loss=losses[own, found],
        ranks=ranks[found],
        forecast=forecast[:, found].T,
        rules=names,
        short_names=tuple(one.short_name for one in rules),
        labels=columns,
        n=len(cases),
        dropped=cases.dropped,
    )


def read_rules(rule: Rule | Sequence[Rule]) -> tuple[Rule, ...]:
    """Return one or several distinct rules as a tuple."""
    rules = tuple(rule) if isinstance(rule, Sequence) else (rule,)
    for one in rules:
        check_rule(one)
    if not rules or len({repr(one) for one in rules}) < len(rules):
        raise InputValueError(
            "must hold one rule or several that differ", argument="rule", offender=f"got {list(rules)}"
        )
    return rules


def checked_losses(cases: Cases, rule: Rule) -> Floats:
    """Return the loss of each case after checking that none is NaN."""
    losses = losses_of(cases, rule)
    if np.isnan(losses).any():
        raise InputValueError(demands.numbers_as_losses(rule))
    return losses


def worst_first(losses: Floats) -> Whole:
    """Return the cases from the largest loss to the smallest: a stable increasing sort, read from its end."""
    return np.argsort(losses, kind="stable")[::-1]
