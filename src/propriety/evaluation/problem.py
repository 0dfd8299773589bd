"""The evaluation problem: the kind of outcome, the thresholds, and the measures that fit them."""

from __future__ import annotations

from dataclasses import dataclass, field

from propriety.decisions.recommendations import Advice, advise
from propriety.inference.measures.line import CalibrationIntercept, CalibrationSlope
from propriety.inference.measures.measure import Measure
from propriety.inference.measures.of_means import MeanScore, NetBenefit, Regret, Skill
from propriety.inference.measures.parts import Discrimination, Miscalibration
from propriety.inference.measures.ranking import AreaUnderRoc
from propriety.inference.measures.ratios import ObservedExpected
from propriety.inference.measures.reading import check_keys
from propriety.inference.slices import rules_of_slices
from propriety.ledger.ledger import Kind
from propriety.rules.class_rules import Misclassification, PenalizedBrier, RankedProbability
from propriety.rules.families import BRIER, BoundedBrier, BoundedLog, Log
from propriety.rules.rule import Rule
from propriety.rules.weights import Thresholds

LOG, RANKED = Log(), RankedProbability()
OF_AN_EVENT: tuple[Measure, ...] = (
    MeanScore(BRIER),
    Skill(BRIER),
    MeanScore(LOG),
    Miscalibration(BRIER),
    Discrimination(BRIER),
    AreaUnderRoc(),
    ObservedExpected(),
    CalibrationIntercept(),
    CalibrationSlope(),
)
OF_CLASSES: tuple[Measure, ...] = (
    MeanScore(BRIER),
    Skill(BRIER),
    MeanScore(LOG),
    MeanScore(PenalizedBrier()),
    MeanScore(Misclassification()),
)
OF_GRADES: tuple[Measure, ...] = (
    MeanScore(RANKED),
    Skill(RANKED),
    MeanScore(LOG),
    MeanScore(BRIER),
    MeanScore(Misclassification()),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """The kind of outcome and the thresholds, which determine the measures to report.

    Parameters
    ----------
    kind : {"binary", "multiclass", "ordinal"}
        What is forecast.
    thresholds : float or (float, float), optional
        The thresholds at which somebody would act, as in `propriety.advise`.
    rare : bool
        Whether the event is rare.
    more : tuple of Measure
        Measures to report in addition to those that fit.

    Examples
    --------
    >>> problem = Problem(kind="binary", thresholds=(0.05, 0.2))
    >>> problem.headline.label
    'bounded Brier score'
    >>> [measure.key for measure in Problem(kind="ordinal").measures]
    ['ranked_probability', 'ranked_probability_skill', 'log', 'brier', 'misclassification']
    """

    kind: Kind
    thresholds: Thresholds | None = None
    rare: bool = False
    more: tuple[Measure, ...] = ()
    advice: Advice = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # This also checks the thresholds.
        advice = advise(kind=self.kind, thresholds=self.thresholds, rare=self.rare)
        object.__setattr__(self, "advice", advice)
        object.__setattr__(self, "thresholds", advice.thresholds)
        check_keys(self.measures)

    @property
    def interval(self) -> tuple[float, float] | None:
        """The thresholds, if they are a range."""
        return self.thresholds if isinstance(self.thresholds, tuple) else None

    @property
    def threshold(self) -> float | None:
        """The threshold, if there is only one."""
        return self.thresholds if isinstance(self.thresholds, float) else None

    @property
    def headline(self) -> MeanScore | Regret:
        """The measure that ranks the models: the first that `advise` recommends, a mean loss."""
        if self.kind != "binary":
            return MeanScore(BRIER) if self.kind == "multiclass" else MeanScore(RANKED)
        first = self.advice.recommended[0].measure
        found = next(
            measure
            for measure in (*_at_thresholds(self.thresholds), *OF_AN_EVENT)
            if _advised(measure) == first and isinstance(measure, MeanScore | Regret)
        )
        assert isinstance(found, MeanScore | Regret)  # noqa: S101  (for the type checker; it was chosen so)
        return found

    @property
    def at_thresholds(self) -> tuple[str, ...]:
        """The keys of the measures at the thresholds."""
        return tuple(measure.key for measure in _at_thresholds(self.thresholds))

    @property
    def measures(self) -> tuple[Measure, ...]:
        """All measures to report, the main one first; one that is requested and fits anyway is reported once."""
        found: list[Measure] = [self.headline] if self.kind == "binary" else []
        usual = {"binary": OF_AN_EVENT, "multiclass": OF_CLASSES, "ordinal": OF_GRADES}[self.kind]
        for one in (*_at_thresholds(self.thresholds), *usual, *self.more):
            found += [one] if one not in found else []
        return tuple(found)

    @property
    def rules(self) -> list[Rule]:
        """The rules whose moments the measures use."""
        return [rule for measure in self.measures for rule in measure.filled]

    @property
    def rules_of_groups(self) -> list[Rule]:
        """The rules whose moments the comparison of groups uses."""
        return rules_of_slices(self.headline, self.threshold, binary=self.kind == "binary")


def _advised(measure: Measure) -> str:
    """Return the name of a measure in the advice."""
    return "regret at the threshold" if isinstance(measure, Regret) else measure.label


def _at_thresholds(thresholds: Thresholds | None) -> tuple[Measure, ...]:
    match thresholds:
        case None:
            return ()
        case (low, high):
            inside = tuple(end for end in (low, high) if 0.0 < end < 1.0)
            log_odds = [BoundedLog(low, high)] if len(inside) == 2 else []
            return (
                MeanScore(BoundedBrier(low, high)),
                *(MeanScore(rule) for rule in log_odds),
                *(NetBenefit(end) for end in inside),
            )
        case known:
            return (Regret(known), NetBenefit(known))
