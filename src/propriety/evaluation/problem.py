"""What is asked of forecasts: the kind of outcome, the thresholds that matter, and the measures that fit them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from propriety.decisions.advice import Advice, advise
from propriety.inference.measures import AreaUnderRoc, Discrimination, Measure, Miscalibration, NetBenefit, Skill
from propriety.rules.bounded import BoundedBrier, BoundedLog
from propriety.rules.elementary import Elementary
from propriety.rules.families import Brier, Log
from propriety.rules.ordinal import RankedProbability
from propriety.rules.penalized import Misclassification, PenalizedBrier
from propriety.rules.rule import Rule

__all__ = ["RARE", "Kind", "Problem", "Question"]

Kind: TypeAlias = Literal["binary", "multiclass", "ordinal"]
RARE = 0.1


@dataclass(frozen=True, slots=True)
class Question:
    """A number to report of each model: a short key, its name in words, and the rule or measure that gives it."""

    key: str
    name: str
    of: Rule | Measure

    @property
    def higher_is_better(self) -> bool:
        """Whether more of it is better."""
        return not isinstance(self.of, Rule) and self.of.higher_is_better


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A kind of outcome and what is known of the decision; it chooses the measures to report.

    Parameters
    ----------
    kind : {"binary", "multiclass", "ordinal"}
        What is forecast.
    thresholds : float or (float, float), optional
        The thresholds at which somebody would act, as in `propriety.advise`.
    rare : bool
        Whether the event is rare.

    Examples
    --------
    >>> problem = Problem(kind="binary", thresholds=(0.05, 0.2))
    >>> problem.headline
    Question(key='bounded_brier', name='bounded Brier score', of=BoundedBrier(low=0.05, high=0.2))
    >>> [question.key for question in Problem(kind="ordinal").questions]
    ['ranked_probability', 'ranked_probability_skill', 'log', 'brier', 'misclassification']
    """

    kind: Kind
    thresholds: float | tuple[float, float] | None = None
    rare: bool = False
    advice: Advice = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # It judges the thresholds, too.
        advice = advise(outcome=self.kind, thresholds=self.thresholds, rare=self.rare)
        object.__setattr__(self, "advice", advice)
        object.__setattr__(self, "thresholds", advice.thresholds)

    @property
    def interval(self) -> tuple[float, float] | None:
        """The thresholds, if they are an interval."""
        return self.thresholds if isinstance(self.thresholds, tuple) else None

    @property
    def headline(self) -> Question:
        """The question that ranks the models: the one that the advice names first."""
        return self.questions[0]

    @property
    def at_thresholds(self) -> tuple[str, ...]:
        """The keys of the questions about the thresholds."""
        return tuple(question.key for question in _of_thresholds(self.thresholds))

    @property
    def rule(self) -> Rule:
        """The rule of the headline."""
        rule = self.headline.of
        assert isinstance(rule, Rule)  # noqa: S101  (for the type checker; every headline is the mean of a rule)
        return rule

    @property
    def questions(self) -> tuple[Question, ...]:
        """Everything to report, the headline first."""
        if self.kind != "binary":
            return _OF_CLASSES if self.kind == "multiclass" else _OF_GRADES
        questions = (*_of_thresholds(self.thresholds), *_OF_AN_EVENT)
        first = self.advice.recommended[0].measure
        return tuple(sorted(questions, key=lambda question: question.name != first))


def _of_thresholds(thresholds: float | tuple[float, float] | None) -> tuple[Question, ...]:
    match thresholds:
        case None:
            return ()
        case (low, high):
            inside = tuple(end for end in (low, high) if 0.0 < end < 1.0)
            log_odds = [BoundedLog(low, high)] if len(inside) == 2 else []
            return (
                Question("bounded_brier", "bounded Brier score", BoundedBrier(low, high)),
                *(Question("bounded_log", "bounded log score", rule) for rule in log_odds),
                *(Question(f"net_benefit_at_{end!r}", f"net benefit at {end!r}", NetBenefit(end)) for end in inside),
            )
        case known:
            return (
                Question("regret", "regret at the threshold", Elementary(known)),
                Question("net_benefit", f"net benefit at {known!r}", NetBenefit(known)),
            )


BRIER, LOG, RANKED = Brier(), Log(), RankedProbability()
_OF_AN_EVENT = (
    Question("brier", "Brier score", BRIER),
    Question("brier_skill", "Brier skill", Skill(BRIER)),
    Question("log", "log score", LOG),
    Question("miscalibration", "miscalibration", Miscalibration(BRIER)),
    Question("discrimination", "discrimination", Discrimination(BRIER)),
    Question("auc", "area under the ROC curve", AreaUnderRoc()),
)
_OF_CLASSES = (
    Question("brier", "Brier score", BRIER),
    Question("brier_skill", "Brier skill", Skill(BRIER)),
    Question("log", "log score", LOG),
    Question("penalized_brier", "penalized Brier score", PenalizedBrier()),
    Question("misclassification", "error rate", Misclassification()),
)
_OF_GRADES = (
    Question("ranked_probability", "ranked probability score", RANKED),
    Question("ranked_probability_skill", "ranked probability skill", Skill(RANKED)),
    Question("log", "log score", LOG),
    Question("brier", "Brier score", BRIER),
    Question("misclassification", "error rate", Misclassification()),
)
