"""Measures that can be estimated and compared: a value of a forecast table, its name, and its standard error.

A measure has a `key`, a `label` in words, `higher_is_better`, and `value(table)`. Your own measure needs nothing else;
its error is then computed by bootstrap. Two kinds have more:

- a mean of a per-case function has `rule`, the function, and `sign`; its error comes from moments;
- a smooth measure has `influence(table)`, the influence of a case in each row of the table with and without the event;
  its error, with weights and clusters, and that of a difference between models, comes from that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol, runtime_checkable

from propriety.calibration.decomposition import decompose_table, proper_binary_rule
from propriety.errors import InputTypeError
from propriety.result import Floats
from propriety.rules.families import BRIER, BoundedBrier, Elementary
from propriety.rules.functions import MeanNetLoss, NetLoss
from propriety.rules.rule import Rule, check_rule
from propriety.rules.scoring import mean_score, skill_score
from propriety.rules.weights import Thresholds, read_thresholds
from propriety.tables.forecast_table import ForecastTable


class Influence(NamedTuple):
    """Influence of a case in each row of a table on a measure, with and without the event.

    It is the derivative of the measure in the direction of one more such case, times the number of cases; its weighted
    mean over the cases of the table is zero.

    Parameters
    ----------
    event, non_event : ndarray of shape (rows,)
        Influence of a case with the forecast of the row if the event happens, and if it does not.

    Examples
    --------
    The mean forecast moves by how far the forecast of a case is from it, whatever happens:

    >>> table = ForecastTable.from_predictions([0, 1, 1], [0.25, 0.5, 0.75])
    >>> away = table.forecast - table.mean_forecast
    >>> Influence(event=away, non_event=away).event
    array([-0.25,  0.  ,  0.25])
    """

    event: Floats
    non_event: Floats


@runtime_checkable
class Measure(Protocol):
    """A number computed from a forecast table."""

    @property
    def key(self) -> str:
        """A short name, for columns, gates and files."""

    @property
    def label(self) -> str:
        """Name of the number in a sentence."""

    @property
    def higher_is_better(self) -> bool | None:
        """Whether higher values are better; None if that is not known."""

    def value(self, table: ForecastTable) -> float:
        """Return the number for a table."""


@runtime_checkable
class Mean(Measure, Protocol):
    """A measure that is the mean of a per-case function, up to its sign."""

    @property
    def rule(self) -> Rule:
        """The function."""

    @property
    def sign(self) -> float:
        """1, or -1 if the measure is the negative mean."""


@runtime_checkable
class Smooth(Measure, Protocol):
    """A measure whose error follows from its influence function."""

    def influence(self, table: ForecastTable) -> Influence:
        """Return the influence of cases on the number; its weighted mean over the table is zero."""


@runtime_checkable
class FittedDistance(Measure, Protocol):
    """A distance from a curve that is fitted to the same cases, so that noise inflates it, for each model differently.

    Draws add noise of their own, so a bootstrap says nothing about the difference between two models.
    """

    @property
    def compare_instead(self) -> Measure:
        """The measure by which models can be compared."""


def bounds_of(measure: Measure, classes: int | None = None) -> tuple[float, float]:
    """Return the smallest and the largest value that a measure can have, as far as they are known.

    Those of a mean are the range of its rule; other measures declare `bounds`, or a `scale` that implies them.

    Examples
    --------
    >>> bounds_of(MeanScore()), bounds_of(Skill())
    ((0.0, 1.0), (-inf, 1.0))
    """
    if isinstance(measure, Mean):
        claims = measure.rule.properties(classes)
        if claims.best is None or claims.worst is None:
            return -math.inf, math.inf
        least, most = sorted((measure.sign * claims.best, measure.sign * claims.worst))
        return least, most
    of_scale = {"log": (0.0, math.inf), "logit": (0.0, 1.0)}.get(getattr(measure, "scale", ""), (-math.inf, math.inf))
    least, most = getattr(measure, "bounds", of_scale)
    return least, most


@dataclass(frozen=True, slots=True)
class _OfRule:
    """The common part of measures under a scoring rule."""

    rule: Rule = BRIER

    def __post_init__(self) -> None:
        check_rule(self.rule)


@dataclass(frozen=True, slots=True)
class MeanScore(_OfRule):
    """Mean loss under a rule; lower is better. Wherever a measure is expected, a rule can be passed instead.

    Parameters
    ----------
    rule : Rule
        The scoring rule, by default the Brier score.

    Examples
    --------
    >>> table = ForecastTable.from_predictions([0, 1], [0.2, 0.6])
    >>> MeanScore().label, round(MeanScore().value(table), 6)
    ('Brier score', 0.1)
    """

    higher_is_better: ClassVar[bool] = False
    sign: ClassVar[float] = 1.0

    @property
    def key(self) -> str:
        """The name of the rule."""
        return self.rule.name

    @property
    def label(self) -> str:
        """The label of the rule."""
        return self.rule.label

    def value(self, table: ForecastTable) -> float:
        """Return the mean loss."""
        return float(mean_score(table, rule=self.rule))


@dataclass(frozen=True, slots=True)
class _AtThresholds:
    """A measure of acting at a threshold, or its mean over a threshold range."""

    thresholds: Thresholds

    def __post_init__(self) -> None:
        found = read_thresholds(self.thresholds)
        if found is None:
            raise InputTypeError("must be a number or a pair (low, high)", argument="thresholds", offender="got None")
        object.__setattr__(self, "thresholds", found)

    def _where(self, gap: str) -> str:
        if isinstance(self.thresholds, tuple):
            low, high = self.thresholds
            return gap.join(("from", repr(low), "to", repr(high)))
        return gap.join(("at", repr(self.thresholds)))


@dataclass(frozen=True, slots=True)
class Regret(_AtThresholds):
    """Mean regret of acting on forecasts that reach a threshold, as in `propriety.regret_curve`; lower is better.

    Parameters
    ----------
    thresholds : float or (float, float)
        The probability at which somebody would act, or the range to average over.

    Examples
    --------
    >>> table = ForecastTable.from_predictions([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8])
    >>> round(Regret(0.2).value(table), 6), round(Regret((0.25, 0.5)).value(table), 6)
    (0.05, 0.16875)
    """

    higher_is_better: ClassVar[bool] = False
    sign: ClassVar[float] = 1.0

    @property
    def key(self) -> str:
        """Short name of the measure with the thresholds."""
        return f"regret_{self._where('_')}"

    @property
    def label(self) -> str:
        """Name of the measure with the thresholds."""
        return f"regret {self._where(' ')}"

    @property
    def rule(self) -> Elementary | BoundedBrier:
        """The rule whose mean it is."""
        return BoundedBrier(*self.thresholds) if isinstance(self.thresholds, tuple) else Elementary(self.thresholds)

    def value(self, table: ForecastTable) -> float:
        """Return the mean regret."""
        return float(mean_score(table, rule=self.rule))


@dataclass(frozen=True, slots=True)
class NetBenefit(_AtThresholds):
    """Net benefit of acting on forecasts that reach a threshold, as in `propriety.decision_curve`; higher is better.

    Parameters
    ----------
    thresholds : float or (float, float)
        The probability at which somebody would act, or the range to average over, which must end below 1.

    Notes
    -----
    At one threshold, intervals of independent, unweighted cases count one more event and one more non-event
    (`limits_of_net_benefit`, `error_of_difference`), so that there is an interval even if nobody is acted on. In
    simulations of 400 samples each, with calibrated forecasts from a beta distribution, 95% intervals of the net
    benefit had a coverage of 100% with 300 cases and 98% with 1,000 at a threshold of 0.3 with 7% events, 95% with 400
    cases at 0.1 with 5% events, and 94 to 96% in three other designs; without the addition it was 86, 89 and 93%, and
    94 to 97%. For differences between two models it was 95 to 99%. For a range, and with weights, clusters, periods or
    censoring, intervals are those of other means.

    Examples
    --------
    >>> table = ForecastTable.from_predictions([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8])
    >>> NetBenefit(0.2).value(table), round(NetBenefit((0.1, 0.3)).value(table), 6)
    (0.4375, 0.435857)
    """

    higher_is_better: ClassVar[bool] = True
    sign: ClassVar[float] = -1.0

    @property
    def key(self) -> str:
        """Short name of the measure with the thresholds."""
        return f"net_benefit_{self._where('_')}"

    @property
    def label(self) -> str:
        """Name of the measure with the thresholds."""
        return f"net benefit {self._where(' ')}"

    @property
    def rule(self) -> NetLoss | MeanNetLoss:
        """The function whose negative mean is the net benefit."""
        return MeanNetLoss(*self.thresholds) if isinstance(self.thresholds, tuple) else NetLoss(self.thresholds)

    def value(self, table: ForecastTable) -> float:
        """Return the net benefit."""
        return -float(mean_score(table, rule=self.rule)) + 0.0


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
    >>> Skill().label, round(Skill().value(table), 6)
    ('Brier skill', 0.6)
    """

    higher_is_better: ClassVar[bool] = True

    @property
    def bounds(self) -> tuple[float, float]:
        """At most 1, which a loss of 0 has."""
        return -math.inf, 1.0 if self.rule.properties().best == 0.0 else math.inf

    @property
    def key(self) -> str:
        """The name of the rule, and skill."""
        return f"{self.rule.name}_skill"

    @property
    def label(self) -> str:
        """The short name of the rule, and skill."""
        return f"{self.rule.short} skill"

    def value(self, table: ForecastTable) -> float:
        """Return the skill."""
        return float(skill_score(table, rule=self.rule))


@dataclass(frozen=True, slots=True)
class _Part(_OfRule):
    """A part of the decomposition, which needs a proper rule for one event."""

    def __post_init__(self) -> None:
        # The class is named because a slots dataclass replaces the class that a bare super() refers to.
        _OfRule.__post_init__(self)
        proper_binary_rule(self.rule)

    @property
    def compare_instead(self) -> MeanScore:
        """The score of which it is a part."""
        return MeanScore(self.rule)

    def _named(self, part: str, between: str) -> str:
        return part if self.rule == BRIER else f"{self.rule.name if between == '_' else self.rule.label}{between}{part}"


@dataclass(frozen=True, slots=True)
class Miscalibration(_Part):
    """How much the score exceeds that of the recalibrated forecasts, as in `propriety.decompose`; lower is better.

    Parameters
    ----------
    rule : Rule
        The scoring rule, proper and of one event, by default the Brier score.

    Examples
    --------
    >>> table = ForecastTable.from_predictions([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8])
    >>> round(Miscalibration().value(table), 6)
    0.05
    """

    higher_is_better: ClassVar[bool] = False
    bounds: ClassVar[tuple[float, float]] = (0.0, math.inf)

    @property
    def key(self) -> str:
        """Miscalibration, and the rule if it is not the Brier score."""
        return self._named("miscalibration", "_")

    @property
    def label(self) -> str:
        """Miscalibration, and the rule if it is not the Brier score."""
        return self._named("miscalibration", " ")

    def value(self, table: ForecastTable) -> float:
        """Return the miscalibration."""
        return decompose_table(table, self.rule).miscalibration


@dataclass(frozen=True, slots=True)
class Discrimination(_Part):
    """How much the recalibrated forecasts improve on the event rate, as in `propriety.decompose`; higher is better.

    Parameters
    ----------
    rule : Rule
        The scoring rule, proper and of one event, by default the Brier score.

    Examples
    --------
    >>> table = ForecastTable.from_predictions([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8])
    >>> round(Discrimination().value(table), 6)
    0.125
    """

    higher_is_better: ClassVar[bool] = True
    bounds: ClassVar[tuple[float, float]] = (0.0, math.inf)

    @property
    def key(self) -> str:
        """Discrimination, and the rule if it is not the Brier score."""
        return self._named("discrimination", "_")

    @property
    def label(self) -> str:
        """Discrimination, and the rule if it is not the Brier score."""
        return self._named("discrimination", " ")

    def value(self, table: ForecastTable) -> float:
        """Return the discrimination."""
        return decompose_table(table, self.rule).discrimination
