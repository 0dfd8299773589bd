"""What an interval can be of: mean scores, skill, parts of a decomposition, ranking and the worth of decisions."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import ClassVar, Protocol, TypeAlias, runtime_checkable

import numpy as np

from propriety.calibration.decomposition import decompose_table
from propriety.calibration.recalibration import proper_binary_rule
from propriety.decisions.roc import roc_curve
from propriety.decisions.top_k import top_k
from propriety.errors import InputTypeError, InputValueError, sentence
from propriety.rules.elementary import check_inside
from propriety.rules.families import Brier
from propriety.rules.operations import NUMPY, Column, Operations
from propriety.rules.rule import BinaryRule, Properties, Rule, check_rule, is_number
from propriety.rules.scoring import mean_score, skill_score
from propriety.tables.forecast_table import ForecastTable

__all__ = [
    "AreaUnderRoc",
    "Discrimination",
    "MeanScore",
    "Measure",
    "Miscalibration",
    "NetBenefit",
    "NetLoss",
    "Skill",
    "TopKNetBenefit",
    "read_measure",
    "rule_of",
]

BRIER = Brier()

OfTable: TypeAlias = Callable[[ForecastTable], float]


@runtime_checkable
class Measure(Protocol):
    """A number that a forecast table has: its name, whether higher is better, and how it is computed."""

    @property
    def name(self) -> str:
        """What the number is called."""

    @property
    def higher_is_better(self) -> bool:
        """Whether more of it is better."""

    def of(self, table: ForecastTable) -> float:
        """Return the number of a table."""


@dataclass(frozen=True, slots=True)
class _OfRule:
    """What measures under a scoring rule share."""

    rule: Rule = BRIER

    def __post_init__(self) -> None:
        check_rule(self.rule)


@dataclass(frozen=True, slots=True)
class MeanScore(_OfRule):
    """Mean loss under a rule; lower is better. A rule stands for it wherever a measure is asked for.

    Parameters
    ----------
    rule : Rule
        The scoring rule, by default the Brier score.

    Examples
    --------
    >>> table = ForecastTable.from_predictions([0, 1], [0.2, 0.6])
    >>> round(MeanScore().of(table), 6)
    0.1
    """

    higher_is_better: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """The name of the rule."""
        return f"mean {self.rule!r}"

    def of(self, table: ForecastTable) -> float:
        """Return the mean loss."""
        return float(mean_score(table, rule=self.rule))


@dataclass(frozen=True, slots=True)
class Skill(_OfRule):
    """Share of the loss of the constant event rate that the forecast saves, as in `propriety.skill_score`.

    Parameters
    ----------
    rule : Rule
        The scoring rule, by default the Brier score.

    Examples
    --------
    >>> table = ForecastTable.from_predictions([0, 1], [0.2, 0.6])
    >>> round(Skill().of(table), 6)
    0.6
    """

    higher_is_better: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """Skill, and the rule."""
        return f"skill under {self.rule!r}"

    def of(self, table: ForecastTable) -> float:
        """Return the skill."""
        return float(skill_score(table, rule=self.rule))


@dataclass(frozen=True, slots=True)
class _Part(_OfRule):
    """A part of the decomposition, which needs a proper rule for one event."""

    def __post_init__(self) -> None:
        # Named, because a slots dataclass replaces the class that a bare super() refers to.
        _OfRule.__post_init__(self)
        proper_binary_rule(self.rule)


@dataclass(frozen=True, slots=True)
class Miscalibration(_Part):
    """What the forecast loses to its own recalibrated form, as in `propriety.decompose`; lower is better.

    Parameters
    ----------
    rule : Rule
        The scoring rule, proper and of one event, by default the Brier score.

    Examples
    --------
    >>> table = ForecastTable.from_predictions([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8])
    >>> round(Miscalibration().of(table), 6)
    0.05
    """

    higher_is_better: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """Miscalibration, and the rule."""
        return f"miscalibration under {self.rule!r}"

    def of(self, table: ForecastTable) -> float:
        """Return the miscalibration."""
        return decompose_table(table, self.rule).miscalibration


@dataclass(frozen=True, slots=True)
class Discrimination(_Part):
    """What the recalibrated forecast gains on the constant event rate, as in `propriety.decompose`; higher is better.

    Parameters
    ----------
    rule : Rule
        The scoring rule, proper and of one event, by default the Brier score.

    Examples
    --------
    >>> table = ForecastTable.from_predictions([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8])
    >>> round(Discrimination().of(table), 6)
    0.125
    """

    higher_is_better: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """Discrimination, and the rule."""
        return f"discrimination under {self.rule!r}"

    def of(self, table: ForecastTable) -> float:
        """Return the discrimination."""
        return decompose_table(table, self.rule).discrimination


@dataclass(frozen=True, slots=True, repr=False)
class NetLoss(BinaryRule):
    r"""Net benefit of a case, taken as a loss: :math:`-1` for an event acted on, :math:`c / (1 - c)` for a false alarm.

    So the mean of this rule is the net benefit with its sign turned. It is no proper rule by itself, but differs from
    one, the regret over :math:`1 - c`, by what no forecast can change.
    """

    name: ClassVar[str] = "net_loss"

    threshold: float

    def loss(self, p: Column, *, event: bool, ops: Operations = NUMPY) -> Column:
        """Return what acting costs, if the forecast reaches the threshold."""
        cost = -1.0 if event else self.threshold / (1.0 - self.threshold)
        return ops.where(p >= self.threshold, cost, 0.0)

    def properties(self, classes: int | None = None) -> Properties:
        """Return the range: from all events acted on to all false alarms."""
        del classes
        return Properties(best=-1.0, worst=self.threshold / (1.0 - self.threshold))


@dataclass(frozen=True, slots=True)
class NetBenefit:
    """Net benefit of acting on forecasts that reach a threshold, as in `propriety.decision_curve`; higher is better.

    Parameters
    ----------
    threshold : float
        The threshold, in (0, 1).

    Examples
    --------
    >>> NetBenefit(0.2).of(ForecastTable.from_predictions([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8]))
    0.4375
    """

    threshold: float

    higher_is_better: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_inside(self.threshold, "threshold")

    @property
    def name(self) -> str:
        """Net benefit, and where."""
        return f"net benefit at {self.threshold:g}"

    @property
    def loss(self) -> NetLoss:
        """The rule whose mean is this net benefit with its sign turned."""
        return NetLoss(self.threshold)

    def of(self, table: ForecastTable) -> float:
        """Return the net benefit."""
        return -float(mean_score(table, rule=self.loss))


@dataclass(frozen=True, slots=True)
class AreaUnderRoc:
    """Probability that an event has a higher forecast than a non-event, ties counted half; higher is better.

    Examples
    --------
    >>> AreaUnderRoc().of(ForecastTable.from_predictions([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8]))
    0.75
    """

    name: ClassVar[str] = "area under the ROC curve"
    higher_is_better: ClassVar[bool] = True

    def of(self, table: ForecastTable) -> float:
        """Return the area."""
        return roc_curve(table).auc


@dataclass(frozen=True, slots=True, kw_only=True)
class TopKNetBenefit:
    """Net benefit of acting on the k highest forecasts, as in `propriety.top_k`; higher is better.

    Parameters
    ----------
    cost : float
        Share that a false alarm has in the cost of both errors, in (0, 1).
    k : int, optional
        Number, or weight, of the cases acted on.
    share : float, optional
        Share of the cases acted on, in place of `k`; the nearest whole number of them, at least one.

    Examples
    --------
    >>> table = ForecastTable.from_predictions([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8])
    >>> TopKNetBenefit(cost=0.2, k=2).of(table) == TopKNetBenefit(cost=0.2, share=0.5).of(table)
    True
    """

    cost: float
    k: float | None = None
    share: float | None = None

    higher_is_better: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_inside(self.cost, "cost")
        if (self.k is None) == (self.share is None):
            law = f"exactly one of k and share must be given; got k={self.k!r} and share={self.share!r}"
            raise InputValueError(sentence(law))
        if self.share is not None and not (is_number(self.share) and 0.0 < self.share <= 1.0):
            raise InputValueError(sentence(f"share must lie in (0, 1]; got {self.share!r}"))

    @property
    def name(self) -> str:
        """Net benefit, and of how many."""
        highest = f"{self.k:g} highest" if self.share is None else f"highest {self.share:.4g} of all"
        return f"net benefit of acting on the {highest}"

    def of(self, table: ForecastTable) -> float:
        """Return the net benefit."""
        k = self.k
        if self.share is not None:
            k = self.share * table.weight
            k = k if table.is_weighted else max(math.floor(k + 0.5), 1)
        result = top_k(table, k=k, cost=self.cost)  # type: ignore[arg-type]  # one of the two is given
        return float(result.net_benefit)  # type: ignore[arg-type]  # one capacity with a cost


@dataclass(frozen=True, slots=True)
class _Own:
    """The user's own function of a table."""

    function: OfTable

    higher_is_better: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """What the function is called."""
        return str(getattr(self.function, "__name__", repr(self.function)))

    def of(self, table: ForecastTable) -> float:
        """Return what the function returns, which must be one number."""
        try:
            value = self.function(table)
        except ArithmeticError as error:
            law = f"of must return a number; {self.name} failed with {type(error).__name__}: {error}"
            raise InputValueError(sentence(law)) from error
        if not isinstance(value, Real | np.bool_) and not (isinstance(value, np.ndarray) and value.ndim == 0):
            raise InputTypeError(sentence(f"of must return a number; {self.name} returned {type(value).__name__}"))
        return float(value)


def rule_of(measure: Measure) -> Rule | None:
    """Return the rule whose mean is the measure, but for the sign of net benefit; None if it is no mean."""
    if isinstance(measure, MeanScore):
        return measure.rule
    return measure.loss if isinstance(measure, NetBenefit) else None


def read_measure(of: object) -> Measure:
    """Judge what an interval is asked of: a rule, for its mean score, a measure, or any function of a table.

    Examples
    --------
    >>> read_measure(Brier()).name
    'mean Brier()'
    >>> read_measure(lambda table: table.event_rate).name
    '<lambda>'
    """
    if isinstance(of, Rule):
        return MeanScore(of)
    if isinstance(of, type):
        law = f"of must be a rule, a measure or a function of a ForecastTable; got the class {of.__name__}"
        raise InputTypeError(sentence(law, hint=f"instantiate it, {of.__name__}(...)."))
    if isinstance(of, Measure):
        return of
    if callable(of):
        return _Own(of)
    law = f"of must be a rule, a measure or a function of a ForecastTable; got {type(of).__name__}"
    raise InputTypeError(sentence(law, hint="pass Brier(), Skill(Log()), AreaUnderRoc(), NetBenefit(0.1), ..."))
