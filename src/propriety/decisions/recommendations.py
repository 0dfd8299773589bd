"""The measures that `advise` recommends or warns of: the decisions they fit, the calls to make, and the reasons."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from propriety import checks
from propriety.result import Result
from propriety.rules.weights import Thresholds, read_thresholds

FLORES = "Flores et al. (2025), arXiv:2504.04528"
BRIER_1950 = "Brier (1950), doi:10.1175/1520-0493(1950)078<0001:VOFEIT>2.0.CO;2"
GOOD = "Good (1952), doi:10.1111/j.2517-6161.1952.tb00104.x"
EPSTEIN = "Epstein (1969), doi:10.1175/1520-0450(1969)008<0985:ASSFPF>2.0.CO;2"
EHM = "Ehm, Gneiting, Jordan & Krüger (2016), doi:10.1111/rssb.12154"
CORP = "Dimitriadis, Gneiting & Jordan (2021), doi:10.1073/pnas.2016191118"
VICKERS = "Vickers & Elkin (2006), doi:10.1177/0272989X06295361"
HAND = "Hand (2009), doi:10.1007/s10994-009-5119-5"
FLACH = "Flach, Hernández-Orallo & Ferri (2011), A coherent interpretation of AUC, ICML"
BETTER_BETA = "Hand & Anagnostopoulos (2014), arXiv:1202.2564"
ASSEL = "Assel, Sjoberg & Vickers (2017), doi:10.1186/s41512-017-0020-3"
LIPTON = "Lipton, Elkan & Naryanaswamy (2014), doi:10.1007/978-3-662-44851-9_15"
COX = "Cox (1958), doi:10.1093/biomet/45.3-4.562"
AHMADIAN = "Ahmadian et al. (2024), arXiv:2407.17697"
GALDRAN = "Galdran (2023), arXiv:2309.08701"
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

    @property
    def data(self) -> str:
        """The arguments of a call about one event."""
        return "y, p" if self.binary else "table"


def is_rare(rate: float) -> bool:
    """Whether one of the outcomes is so rare that the log score suits it better than the Brier score."""
    return round(min(rate, 1.0 - rate), 12) < RARE


def recommended_for(problem: DecisionProblem) -> Iterator[Recommendation]:
    """Yield the measures that fit a decision, the one to report first."""
    if problem.capacity:
        yield from _by_capacity(problem)
    elif problem.need == "ranks":
        yield from _by_ranks(problem)
    elif isinstance(problem.thresholds, tuple):
        yield from _between_thresholds(problem, *problem.thresholds)
    elif problem.thresholds is not None:
        yield from _at_a_threshold(problem, problem.thresholds)
    elif problem.binary:
        yield from _at_any_threshold(problem)
    else:
        yield from _of_rows(problem)
    if problem.need == "probabilities":
        yield from _of_calibration(problem)


def misleading_for(problem: DecisionProblem) -> Iterator[Misleading]:
    """Yield the measures that are often reported for such a decision but mislead."""
    if problem.capacity or problem.thresholds != 0.5 or not problem.binary:
        yield _accuracy(problem)
    yield _area(problem)
    yield Misleading(
        measure="F1",
        why="It ignores true negatives, and its costs come from the model: the best threshold "
        "of calibrated forecasts is half the best F1 that they reach, whatever the errors cost.",
        reference=LIPTON,
    )
    yield from _thresholds_that_do_not_count(problem)
    if problem.kind == "ordinal":
        yield Misleading(
            measure="squared absolute ranked probability score",
            why="With three classes or more it is improper: a forecast that is not the true distribution can score "
            "better than it. The ranked probability score is proper and also uses the order.",
            reference=f"{GALDRAN}, which lists it among proper scoring rules",
        )
    if problem.kind == "multiclass":
        yield Misleading(
            measure="penalized scores in which ties count as correct",
            why="They are improper: a forecaster gains by calling two classes equally likely. Ties that are split, "
            "the default here, are proper.",
            reference=f"{AHMADIAN}, algorithm 1, which theorem 5 calls strictly proper",
        )
    if problem.need == "probabilities":
        yield Misleading(
            measure="calibration error in bins",
            why="It depends on the number and the edges of the bins, and can be made to look better by choosing "
            "them. Isotonic regression needs no bins.",
            reference=CORP,
        )


def _by_capacity(problem: DecisionProblem) -> Iterator[Recommendation]:
    at = f", thresholds={problem.thresholds!r}" if isinstance(problem.thresholds, float) else ""
    yield _event(
        problem,
        "net benefit of the top k",
        f"pr.top_k({problem.data}, k=10{at})",
        "Only k cases can be acted on, so those with the highest forecasts are. Set k to your capacity. At the same k "
        "net benefit, precision and recall rank models in the same way, because only the events found differ.",
        FLORES,
    )
    yield _event(
        problem,
        "the top k at several capacities",
        f"pr.top_k({problem.data}, k=[5, 10, 20]{at})",
        "If the capacity may change, look at the capacities that are plausible, not at all of them.",
        FLORES,
    )
    if problem.need == "probabilities":
        yield _event(
            problem,
            "Brier score",
            f"pr.brier_score({problem.data})",
            "A capacity uses only the order; this measures the probabilities, which somebody reads.",
            BRIER_1950,
        )


def _by_ranks(problem: DecisionProblem) -> Iterator[Recommendation]:
    yield _event(
        problem,
        "H-measure",
        f"pr.h_measure({problem.data})",
        "It measures only the order, as the AUC does, but with the same distribution of costs for all models. To act "
        "at a threshold, ranks must be converted to probabilities first.",
        HAND,
    )
    if problem.rare:
        rate = "sum(y) / len(y)" if problem.binary else "table.event_rate"
        yield _event(
            problem,
            "H-measure around the event rate",
            f"pr.h_measure({problem.data}, alpha=1 + {rate}, beta=2 - {rate})",
            "For rare events the plain H-measure gives most weight to thresholds far above the event rate. These "
            "parameters put the most weight on the event rate itself.",
            BETTER_BETA,
        )
    rule = f", rule=pr.BoundedBrier{problem.thresholds!r}" if isinstance(problem.thresholds, tuple) else ""
    yield _event(
        problem,
        "discrimination",
        f"pr.decompose({problem.data}{rule}).discrimination",
        "The value of the order after recalibration: the part of the score that depends on ranks.",
        CORP,
    )


def _between_thresholds(problem: DecisionProblem, low: float, high: float) -> Iterator[Recommendation]:
    brier = _event(
        problem,
        "bounded Brier score",
        f"pr.bounded_brier_score({problem.data}, thresholds=({low!r}, {high!r}))",
        "The mean regret over the thresholds at which somebody would act, with equal weight.",
        FLORES,
    )
    log = _event(
        problem,
        "bounded log score",
        f"pr.bounded_log_score({problem.data}, thresholds=({low!r}, {high!r}))",
        "The mean regret over thresholds, with equal weight in log-odds: one in a hundred is about as far from one in "
        "ten as that is from one in two, which suits low thresholds and rare events.",
        FLORES,
    )
    in_odds = low > 0.0 and high < 1.0
    order = [log, brier] if problem.rare else [brier, log]
    yield from (entry for entry in order if in_odds or entry is brier)
    yield _event(
        problem,
        "bounded skill",
        f"pr.skill_score({problem.data}, rule=pr.BoundedBrier({low!r}, {high!r}))",
        "The share of the regret of a constant forecast, the event rate, that the model saves. Regrets are small "
        "numbers; this says whether they are small because of the model.",
        FLORES,
    )
    yield _event(
        problem,
        "bounded decomposition",
        f"pr.decompose({problem.data}, rule=pr.BoundedBrier({low!r}, {high!r}))",
        "How much of the regret is due to miscalibration in this range, and how much the order of the cases saves.",
        CORP,
    )
    yield _decision_curve(problem)
    if problem.need == "decisions" and high < 1.0:
        yield _event(
            problem,
            "mean net benefit",
            f"pr.bounded_net_benefit({problem.data}, thresholds=({low!r}, {high!r}))",
            "The mean height of the decision curve; higher is better. It weights high thresholds more than the bounded "
            "Brier score does, and can rank models differently.",
            VICKERS,
        )


def _at_a_threshold(problem: DecisionProblem, threshold: float) -> Iterator[Recommendation]:
    rule = f"rule=pr.Elementary({threshold!r})"
    yield _event(
        problem,
        "regret at the threshold",
        f"pr.mean_score({problem.data}, {rule})",
        "The mean cost per case of acting at this threshold c, if a false alarm costs c and a miss 1 - c. "
        "Net benefit there, prevalence - regret / (1 - threshold), ranks models in the same way.",
        FLORES,
    )
    yield _decision_curve(problem)
    yield _event(
        problem,
        "decomposition at the threshold",
        f"pr.decompose({problem.data}, {rule})",
        "How much of that regret a better threshold would save (miscalibration), and how much the order is worth.",
        EHM,
    )


def _at_any_threshold(problem: DecisionProblem) -> Iterator[Recommendation]:
    brier = _event(
        problem,
        "Brier score",
        f"pr.brier_score({problem.data})",
        "Twice the mean regret over all thresholds, with equal weight. If some can be ruled out, pass thresholds=.",
        BRIER_1950,
    )
    log = _event(
        problem,
        "log score",
        f"pr.log_score({problem.data})",
        "The regret over all thresholds, with equal weight in log-odds, so that thresholds near 0 and 1 count more; "
        "infinite if an outcome with probability 0 happened.",
        GOOD,
    )
    yield from [log, brier] if problem.rare else [brier, log]
    yield _event(
        problem,
        "skill",
        f"pr.skill_score({problem.data}, rule=pr.{'Log' if problem.rare else 'Brier'}())",
        "The share of the score of a constant forecast, the event rate, that the model saves. With rare events every "
        "score is small; this is not.",
        FLORES,
    )
    if problem.need == "decisions":
        yield _decision_curve(problem)
    yield _event(
        problem,
        "decomposition",
        f"pr.decompose({problem.data})",
        "How much of the score is due to miscalibration, and how much the order of the cases saves.",
        CORP,
    )
    yield _event(
        problem,
        "regret curve",
        f"pr.regret_curve({problem.data})",
        "The regret at every threshold. A model whose curve is lower everywhere is better for every decision maker; if "
        "curves cross, the choice depends on the threshold.",
        EHM,
    )


def _of_rows(problem: DecisionProblem) -> Iterator[Recommendation]:
    if problem.kind == "ordinal":
        rule = "RankedProbability"
        near = "The mean Brier score of the events 'at most this class', so that a near miss costs less than a far one."
        yield _use("ranked probability score", "pr.ranked_probability_score(y, P)", near, EPSTEIN)
    else:
        rule = "Brier"
        events = "The sum over the classes of the Brier scores of the events 'it is this class'."
        yield _use("Brier score", "pr.brier_score(y, P)", events, BRIER_1950)
        local = "It depends only on the probability of the class that happened, and is infinite if that was 0."
        yield _use("log score", "pr.log_score(y, P)", local, GOOD)
    saved = "The share of the score of a constant forecast, the class frequencies, that the model saves."
    yield _use("skill", f"pr.skill_score(y, P, rule=pr.{rule}())", saved, FLORES)
    parts = "How much of the score is miscalibration, and how much discrimination, event by event."
    yield _use("decomposition", f"pr.decompose(y, P, rule=pr.{rule}())", parts, CORP)
    if problem.kind == "multiclass" and problem.need == "decisions":
        right = (
            "For acting on the most likely class with equal costs of all errors: a right decision always scores better."
        )
        yield _use("penalized Brier score", "pr.penalized_brier_score(y, P)", right, AHMADIAN)


def _of_calibration(problem: DecisionProblem) -> Iterator[Recommendation]:
    shows = "Shows where forecasts are too high or too low, without bins to choose."
    yield _event(problem, "reliability curve", f"pr.reliability_curve({problem.data})", shows, CORP)
    if not problem.binary:
        numbers = "One verdict from the events of all classes, their temperature and a shared shape."
        yield _use("check of calibration", "pr.check_calibration(y, P, seed=1)", numbers, COX)
        return
    numbers = "One verdict, with observed against expected, slope and cost of miscalibration, and their intervals."
    yield _use("check of calibration", f"pr.check_calibration({problem.data}, seed=1)", numbers, COX)


def _decision_curve(problem: DecisionProblem) -> Recommendation:
    return _event(
        problem,
        "decision curve",
        f"pr.decision_curve({problem.data})",
        "Net benefit at each threshold, compared with acting on everybody and on nobody, which a model must beat.",
        VICKERS,
    )


def _accuracy(problem: DecisionProblem) -> Misleading:
    if not problem.binary:
        why = "It depends only on the most likely class, as if all errors cost the same and no probability were used."
        why += " It ignores the order of the classes." if problem.kind == "ordinal" else ""
    else:
        why = (
            "It is net benefit at the threshold 1/2 plus a constant, NB(1/2) + 1 - prevalence, so it assumes that a "
            "miss costs as much as a false alarm."
        )
    if problem.rare:
        why += " Never acting on a rare event is almost always right, and worth nothing."
    return Misleading(measure="accuracy", why=why, reference=FLORES)


def _area(problem: DecisionProblem) -> Misleading:
    if problem.capacity:
        why = (
            "It is an average over all capacities, most of which nobody has, and counts the order far below the cut as "
            "much as that at the top. It fits only if nothing is known about the capacity."
        )
    else:
        why = (
            "It ignores miscalibration and your thresholds. Hand: for calibrated forecasts it "
            "averages regret over thresholds distributed as the model's own forecasts, and so differently for each "
            "model. Flach et al. disagree: if the threshold is the forecast of a random case, it is linear "
            "in the expected loss under uniform costs, which are the same for all models."
        )
    return Misleading(measure="AUC", why=why, reference=f"{HAND}; {FLACH}")


def _thresholds_that_do_not_count(problem: DecisionProblem) -> Iterator[Misleading]:
    if problem.capacity:
        yield Misleading(
            measure="net benefit at a fixed threshold",
            why="The capacity sets the cut, not the costs: there may be more cases above the threshold than can be "
            "acted on, or fewer.",
            reference=FLORES,
        )
    elif problem.thresholds is not None:
        yield Misleading(
            measure="full Brier and log score",
            why="They average over all thresholds, most of which nobody would use. On the breast-cancer data of Flores "
            "et al. the model that is worst on both is the best of the four at the thresholds that matter.",
            reference=f"{ASSEL}; {FLORES}",
        )
    if isinstance(problem.thresholds, tuple) and not problem.capacity:
        yield Misleading(
            measure="mean net benefit together with a bounded score",
            why="They weight thresholds differently, 1 / (1 - c) and 1, and can rank in opposite order. "
            "With prevalence 0.6 and thresholds from 0.1 to 0.9, always acting "
            "has the mean regret 0.2 and never acting 0.3, but mean net benefits of -0.099 and 0. Choose one before "
            "you look.",
            reference=f"{FLORES}, section 5: 'bounded Brier is averaged net benefit'",
        )


def _event(problem: DecisionProblem, measure: str, call: str, why: str, reference: str) -> Recommendation:
    """Return a recommendation for one event, or for classes, for each of their events."""
    if not problem.binary:
        ledger = "pr.condense(y, P, ordered=True)" if problem.kind == "ordinal" else "pr.condense(y, P)"
        call = f"{{label: {call} for label, table in {ledger}.tables().items()}}"
        measure += " of each cut point" if problem.kind == "ordinal" else " of each class"
    return _use(measure, call, why, reference)


def _use(measure: str, call: str, why: str, reference: str) -> Recommendation:
    return Recommendation(measure=measure, call=call, why=why, reference=reference)


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
