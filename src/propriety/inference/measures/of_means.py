"""Measures made of means of one per-case function: mean scores, regret, net benefit, skill, and any of your own."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from propriety import demands
from propriety.errors import InputTypeError, InputValueError, Wording
from propriety.inference.measures.measure import Imagination, Influence, Measure, Scale, checked_range
from propriety.ledger.moments import OUTCOME, Moments
from propriety.result import Floats
from propriety.rules.families import BRIER, BoundedBrier, Elementary
from propriety.rules.functions import MeanNetLoss, NetLoss, NetLossOverAll
from propriety.rules.rule import ClassRule, Rule, binary_rule, check_rule
from propriety.rules.scoring import losses_of_table, mean_score, skill_score, weighted_sum
from propriety.rules.weights import Thresholds, read_thresholds
from propriety.tables.forecast_table import ForecastTable

ONE_OUTCOME = "the measure needs cases with and without the event; all outcomes are the same"
STEP = 1e-6  # Of the numerical derivative of a function of means.


class _Line(NamedTuple):
    """A contribution as a line in the loss of a case."""

    slope: float
    level: float


@dataclass(frozen=True, kw_only=True)
class OfMeans(Measure):
    """A function of the event rate and of the means of one per-case function with and without the event.

    Tjur's R2, sensitivity, PPV, kappa, lift and many others are such functions. Given the outcome, the contribution of
    a case is linear in the per-case function, so limits, comparisons and groups follow from the declaration.

    Parameters
    ----------
    key : str
        A short name, for columns, gates and files.
    rule : Rule
        The per-case function.
    of : callable
        The number, from the event rate and the means of `rule` with and without the event.
    label, higher_is_better, ideal, scale, range
        As in `Measure`.

    Examples
    --------
    >>> from propriety.rules.functions import Excess
    >>> tjur = OfMeans(key="tjur_r2", rule=Excess(), of=lambda rate, event, other: (1 - event) + other)
    >>> table = ForecastTable.from_predictions([0, 1, 1], [0.25, 0.5, 0.75])
    >>> tjur.value(table), tjur.influence(table).event.round(2)
    (0.375, array([-0.56, -0.19,  0.19]))
    """

    key: str
    rule: Rule
    of: Callable[[float, float, float], float] = field(repr=False)
    label: str = ""
    higher_is_better: bool | None = None
    ideal: float | None = None
    scale: Scale = "identity"
    range: tuple[float, float] = (-math.inf, math.inf)

    def __post_init__(self) -> None:
        check_rule(self.rule)
        found = checked_range(self.key, self.scale, self.range, self.ideal)
        self.declare(label=self.label or self.key.replace("_", " "), range=found)

    def value(self, table: ForecastTable) -> float:
        """Return the number for a table."""
        return float(self.of(*_means(table, losses_of_table(table, self.rule))))

    def influence(self, table: ForecastTable) -> Influence:
        """Return the influence of cases, from the derivatives of the function of means."""
        without, happened = losses = losses_of_table(table, self.rule)
        (of_others, of_events) = self._affine(_means(table, losses))
        return Influence(of_events.slope * happened + of_events.level, of_others.slope * without + of_others.level)

    def of_moments(self, moments: Moments, classes: int | None) -> Moments:
        """Return the moments of contributions, which are affine in the losses of either outcome.

        The contributions to a difference of two models depend on both of their losses; their product follows from the
        moments of the models and of their difference.
        """
        if classes is not None:
            raise InputValueError(f"{self.label} needs the forecast of one event", hint=demands.EVENT_HINT)
        outcome = np.array(moments.index.column(OUTCOME), dtype=np.intp)
        by_outcome, models = moments.over(OUTCOME), len(moments.models)
        if len(by_outcome.n) < 2:
            raise InputValueError(ONE_OUTCOME)
        rate = float(by_outcome.weight[1] / by_outcome.weight.sum())
        means = [np.array([rate, *by_outcome.mean[::-1, model]]) for model in range(models)]
        values = np.array([float(self.of(*one)) for one in means])
        slopes, levels = (
            np.array([[getattr(side, name) for side in self._affine(one)] for one in means])[:, outcome].T
            for name in ("slope", "level")
        )
        one, other = np.triu_indices(models, k=1)
        own = moments.spread[:, :models]
        both = 0.5 * (own[:, one] + own[:, other] - moments.spread[:, models:])
        first, second = slopes[:, one], slopes[:, other]
        mean, lean = slopes * moments.mean[:, :models] + levels + values, slopes * moments.lean[:, :models]
        spread = first**2 * own[:, one] - 2.0 * first * second * both + second**2 * own[:, other]
        return replace(
            moments,
            mean=np.concatenate([mean, mean[:, one] - mean[:, other]], axis=1),
            lean=np.concatenate([lean, lean[:, one] - lean[:, other]], axis=1),
            spread=np.concatenate([slopes**2 * own, np.maximum(spread, 0.0)], axis=1),
            pair_sums=None,
        )

    def _affine(self, means: Floats) -> tuple[_Line, _Line]:
        """Return the contribution of a case without the event and with it as a line in its loss."""
        rate, event, other = means
        steps = np.diag([min(STEP, rate / 2.0, (1.0 - rate) / 2.0), STEP, STEP])
        by_rate, by_event, by_other = (
            (self.of(*(means + step)) - self.of(*(means - step))) / (2.0 * step.sum()) for step in steps
        )
        of_event = _Line(by_event / rate, (1.0 - rate) * by_rate - by_event * event / rate)
        of_other = _Line(by_other / (1.0 - rate), -rate * by_rate - by_other * other / (1.0 - rate))
        return of_other, of_event


def _means(table: ForecastTable, losses: tuple[Floats, Floats]) -> Floats:
    """Return the event rate, and the means with the event and without it of losses without and with it."""
    sides = zip((table.events, table.non_events), losses[::-1], strict=True)
    both = [(float(weight.sum()), weighted_sum(loss, weight)) for weight, loss in sides]
    if not all(total for total, _ in both):
        raise InputValueError(ONE_OUTCOME)
    return np.array([table.event_rate, *(total / weight for weight, total in both)])


@dataclass(frozen=True)
class _OfRule(Measure):
    """The common part of measures under a scoring rule."""

    rule: Rule = BRIER

    def __post_init__(self) -> None:
        check_rule(self.rule)


class _Mean(Measure):
    """The mean of a per-case function, or the negative mean if its `sign` is -1."""

    takes_classes = True
    rule: Rule
    sign: float = 1.0

    def value(self, table: ForecastTable) -> float:
        """Return the mean."""
        return self.sign * float(mean_score(table, rule=self.rule)) + 0.0

    def influence(self, table: ForecastTable) -> Influence:
        """Return the deviation of the loss from its mean."""
        losses = losses_of_table(table, self.rule)[::-1]
        score = _mean_of(table, losses)
        with np.errstate(invalid="ignore"):  # Infinite losses.
            return Influence(*(self.sign * (own - score) for own in losses))

    def imagination(self, table: ForecastTable) -> Imagination:
        """Return what a case between the thresholds of the rule can change, and how many cases have a loss."""
        rule = binary_rule(self.rule)
        if rule.changes_between is None:
            return Imagination()
        low, high = rule.changes_between
        ends = np.array([np.nextafter(low, 0.0) if low == high else low, high])
        without, happened = (abs(float(np.diff(np.asarray(rule.loss(ends, event=own)))[0])) for own in (False, True))
        losses = losses_of_table(table, rule)
        counts = table.weights[(losses[0] != 0.0) | (losses[1] != 0.0)]
        return Imagination(edge=without * happened, differing=float(counts.sum()) / table.weight * table.n)

    def of_moments(self, moments: Moments, classes: int | None) -> Moments:
        """Return the moments of the losses with their sign."""
        del classes
        if self.sign == 1.0:
            return moments
        pairs = None if moments.pair_sums is None else moments.pair_sums.moved(self.sign)
        turned = {name: self.sign * getattr(moments, name) for name in ("mean", "lean")}
        return replace(moments, **turned, pair_sums=pairs)

    def range_of(self, classes: int | None) -> tuple[float, float]:
        """Return the range of the rule."""
        claims = self.rule.properties(classes)
        if claims.best is None or claims.worst is None:
            return -math.inf, math.inf
        least, most = sorted((self.sign * claims.best, self.sign * claims.worst))
        return least, most


@dataclass(frozen=True)
class MeanScore(_Mean, _OfRule):
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

    higher_is_better = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self.declare(key=self.rule.name, label=self.rule.label)


@dataclass(frozen=True)
class _AtThresholds(_Mean):
    """A measure of acting at a threshold, or its mean over a threshold range."""

    thresholds: Thresholds

    def __post_init__(self) -> None:
        found = read_thresholds(self.thresholds)
        if found is None:
            raise InputTypeError("must be a number or a pair (low, high)", argument="thresholds", got=None)
        self.declare(thresholds=found)

    def where(self, gap: str) -> str:
        """Return the thresholds as text, such as "at 0.2"."""
        if isinstance(self.thresholds, tuple):
            low, high = self.thresholds
            return gap.join(("from", repr(low), "to", repr(high)))
        return gap.join(("at", repr(self.thresholds)))


@dataclass(frozen=True)
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

    higher_is_better = False

    def __post_init__(self) -> None:
        super().__post_init__()
        at = self.thresholds
        rule = BoundedBrier(*at) if isinstance(at, tuple) else Elementary(at)
        self.declare(key=f"regret_{self.where('_')}", label=f"regret {self.where(' ')}", rule=rule)


@dataclass(frozen=True)
class NetBenefit(_AtThresholds):
    """Net benefit of acting on forecasts that reach a threshold, as in `propriety.decision_curve`; higher is better.

    Parameters
    ----------
    thresholds : float or (float, float)
        The probability at which somebody would act, or the range to average over, which must end below 1.
    over_all : bool
        Whether it is the gain over acting on everybody instead of that over acting on nobody; at one threshold only.

    Examples
    --------
    >>> table = ForecastTable.from_predictions([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8])
    >>> NetBenefit(0.2).value(table), round(NetBenefit((0.1, 0.3)).value(table), 6)
    (0.4375, 0.435857)
    >>> NetBenefit(0.2, over_all=True).value(table)
    0.0625
    """

    over_all: bool = False

    higher_is_better = True
    sign = -1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        at = self.thresholds
        if isinstance(at, tuple):
            if self.over_all:
                raise InputValueError("the gain over acting on everybody is of one threshold", argument="thresholds")
            rule: Rule = MeanNetLoss(*at)
        else:
            rule = NetLossOverAll(at) if self.over_all else NetLoss(at)
        key = "net_benefit_over_all" if self.over_all else "net_benefit"
        label = "gain over treating all" if self.over_all else "net benefit"
        self.declare(key=f"{key}_{self.where('_')}", label=f"{label} {self.where(' ')}", rule=rule)


@dataclass(frozen=True)
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

    higher_is_better = True
    takes_classes = True

    def __post_init__(self) -> None:
        super().__post_init__()
        most = 1.0 if self.rule.properties().best == 0.0 else math.inf  # A loss of 0 has the skill 1.
        self.declare(key=f"{self.rule.name}_skill", label=f"{self.rule.short} skill", range=(-math.inf, most))

    def value(self, table: ForecastTable) -> float:
        """Return the skill."""
        return float(skill_score(table, rule=self.rule))

    def has_formula(self, classes: int | None) -> bool:
        """Whether the rule is proper: then the rates minimise the mean loss of a constant forecast."""
        return bool(self.rule.properties(classes).proper)

    def influence(self, table: ForecastTable) -> Influence:
        r"""Return :math:`-(l_i - (S / R)\, r_i) / R`, with the mean losses S of the model and R of the event rate."""
        losses = losses_of_table(table, self.rule)[::-1]
        shares = np.array([1.0 - table.event_rate, table.event_rate])
        constant = _constant_losses(self.rule, shares, None)[::-1]
        score, against = _mean_of(table, losses), _mean_of(table, constant.tolist())
        return Influence(
            *(-(own - score / against * other) / against for own, other in zip(losses, constant, strict=True))
        )

    def of_moments(self, moments: Moments, classes: int | None) -> Moments:
        r"""Return the moments of :math:`1 - S / R - (l_i - (S / R)\, r_i) / R`, whose mean is the skill of a model.

        S and R are the mean losses of the model and of the constant forecast, l and r those of a case; r is the same
        for all cases with one outcome. For a pair of models, S and l are differences, and the 1 is omitted.
        """
        outcome = np.array(moments.index.column(OUTCOME), dtype=np.intp)
        by_outcome = moments.over(OUTCOME)
        shares = np.zeros(classes or 2)  # Including classes that never happened.
        shares[np.array(by_outcome.index.column(OUTCOME), dtype=np.intp)] = by_outcome.weight / by_outcome.weight.sum()
        by_constant = _constant_losses(self.rule, shares, classes)
        losses = by_constant[outcome]
        against = float((losses * moments.weight).sum() / moments.weight.sum())
        if not 0.0 < against < math.inf:
            law = f"the reference must have a positive, finite loss; its mean is {against!r}"
            raise InputValueError(law, hint=Wording("{y_true} holds one class only?"))
        ratio = moments.means / against
        ratio = np.where(np.isfinite(ratio), ratio, 0.0)  # An infinite mean stays infinite.
        whole = np.where(np.arange(len(ratio)) < len(moments.models), 1.0, 0.0)
        mean = whole - ratio - (moments.mean - ratio * losses[:, None]) / against
        pairs = moments.pair_sums
        if pairs is not None:
            of_pairs = ratio[len(moments.models) :, None]
            pairs = pairs.moved(-1.0 / against, of_pairs * by_constant / against - of_pairs)
        return replace(
            moments,
            mean=mean,
            lean=-moments.lean / against,
            spread=moments.spread / against**2,
            pair_sums=pairs,
        )


def _mean_of(table: ForecastTable, losses: Sequence[Floats | float]) -> float:
    """Return the mean of losses with the event and without it."""
    sides = zip(losses, (table.events, table.non_events), strict=True)
    return sum(weighted_sum(np.asarray(own), weight) for own, weight in sides) / table.weight


def score_of_constant(rule: Rule, shares: Floats, classes: int | None = None) -> float:
    """Return the mean loss of the constant forecast of the shares of the outcomes, for one event without and with it.

    Examples
    --------
    >>> round(score_of_constant(BRIER, np.array([0.9, 0.1])), 6)
    0.09
    """
    seen = shares > 0.0
    return float(_constant_losses(rule, shares, classes)[seen] @ shares[seen])


def _constant_losses(rule: Rule, shares: Floats, classes: int | None) -> Floats:
    """Return the loss of the constant forecast of these shares for each outcome."""
    if classes is None:
        loss = binary_rule(rule).loss
        return np.array([float(np.asarray(loss(np.array([shares[1]]), event=event)).item()) for event in (False, True)])
    assert isinstance(rule, ClassRule)  # noqa: S101  (for the type checker; the moments are of classes)
    columns = [np.full(len(shares), share) for share in shares]
    return np.asarray(rule.class_case_loss(columns, np.arange(len(shares))))
