"""The three scores of a decomposition: of the forecasts, the recalibrated forecasts and the constant event rate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from propriety.calibration.blocks import Blocks
from propriety.errors import ImproperRuleError
from propriety.result import Floats
from propriety.rules.class_rules import SquaredAbsoluteRankedProbability
from propriety.rules.families import ShiftedBrier
from propriety.rules.rule import BinaryRule, Rule, binary_rule, check_rule
from propriety.rules.scoring import mean_loss, weighted_sum
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.pooling import isotonic_starts

NOISE = 1e-12  # A negative part no larger than this share of the scores is rounding error.
BELOW_ONE = np.nextafter(1.0, 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class FixedForecasts:
    """Forecasts with their losses under a rule, to be scored for many draws of outcomes."""

    rule: BinaryRule
    event_loss: Floats
    non_event_loss: Floats

    @classmethod
    def of(cls, rule: BinaryRule, forecast: Floats) -> FixedForecasts:
        """Evaluate the losses, once for all draws."""
        return cls(rule, rule.loss(forecast, event=True), rule.loss(forecast, event=False))

    def scores(self, events: Floats, non_events: Floats) -> tuple[float, float, float]:
        """Return the mean scores of the forecasts, the recalibrated forecasts and the constant event rate."""
        from scipy.optimize import isotonic_regression  # Imported here, because it is slow to import.

        weight = events + non_events
        total = weighted_sum(self.event_loss, events) + weighted_sum(self.non_event_loss, non_events)
        score = total / float(weight.sum())
        if not weight.all():
            drawn = np.flatnonzero(weight)
            events, non_events, weight = events[drawn], non_events[drawn], weight[drawn]
        start = isotonic_regression(events / weight, weights=weight).blocks[:-1]
        events, non_events = np.add.reduceat(events, start), np.add.reduceat(non_events, start)
        return score, *recalibrated_scores(self.rule, events, non_events)


def scores_of(table: ForecastTable, blocks: Blocks, rule: BinaryRule) -> tuple[float, float, float]:
    """Return the three mean scores of a table with its pooled blocks; the first two are equal if calibrated."""
    score = mean_loss(rule, table.forecast, table.events, table.non_events)
    return score, *recalibrated_scores(rule, blocks.events, blocks.non_events)


def recalibrated_scores(rule: BinaryRule, events: Floats, non_events: Floats) -> tuple[float, float]:
    """Return the mean scores of blocks forecast at their own event rates, and all at the overall rate."""
    common = (events.sum(keepdims=True), non_events.sum(keepdims=True))
    return _mean_loss_of_rates(rule, events, non_events), _mean_loss_of_rates(rule, *common)


def parts_of(rule: BinaryRule, scores: Floats) -> Floats:
    """Convert rows of the three scores to rows of score, miscalibration, discrimination and uncertainty."""
    score, recalibrated, reference = scores.T
    worst = rule.properties().worst
    size = np.abs(np.append(scores, 0.0 if worst is None else worst))
    noise = NOISE * size[np.isfinite(size)].max()
    miscalibration, discrimination = cleared(score - recalibrated, noise), cleared(reference - recalibrated, noise)
    return np.column_stack([score, miscalibration, discrimination, reference])


def cleared(part: Floats, noise: float) -> Floats:
    """Return the part with rounding errors below zero set to zero; larger violations are kept visible."""
    return np.where((part < 0.0) & (part >= -noise), 0.0, part)


def miscalibrations(
    rule: BinaryRule, group: NDArray[np.intp], forecast: Floats, events: Floats, non_events: Floats
) -> Floats:
    """Return the miscalibration of each of several tables whose rows are stacked and identified by `group`.

    One isotonic regression serves all, in which no block spans two groups.

    Examples
    --------
    >>> from propriety.rules.families import Brier
    >>> forecast, events = np.array([0.1, 0.3, 0.4, 0.8, 0.5]), np.array([0.0, 1.0, 0.0, 1.0, 1.0])
    >>> miscalibrations(Brier(), np.array([0, 0, 0, 0, 1]), forecast, events, 1.0 - events).round(6)
    array([0.05, 0.25])
    """
    blocks = isotonic_starts(events, non_events, group)
    happened, not_happened = (np.add.reduceat(column, blocks[:-1]) for column in (events, non_events))
    recalibrated = np.repeat(_rates(happened, not_happened), np.diff(blocks))
    lost, scores = np.zeros(len(group)), np.zeros(len(group))
    for happens, met in ((True, events), (False, non_events)):
        own = met > 0.0  # A loss of zero weight does not count, even if infinite.
        losses = np.broadcast_to(rule.loss(forecast[own], event=happens), int(own.sum()))
        scores[own] += met[own] * losses
        lost[own] += met[own] * (losses - rule.loss(recalibrated[own], event=happens))
    total = np.bincount(group, events + non_events)
    found, score = np.bincount(group, lost) / total, np.bincount(group, scores) / total
    size = np.abs(np.append(score, rule.properties().worst or 0.0))
    return cleared(found, NOISE * size[np.isfinite(size)].max(initial=0.0))


def check_proper(rule: Rule, classes: int | None) -> None:
    """Raise an error if a rule is not declared proper, for K classes or, with None, for one event."""
    check_rule(rule)
    proper = rule.properties(classes).proper
    if proper:
        return
    law = f"a decomposition needs a proper rule, otherwise its parts may be negative; {rule!r} "
    if proper is None:
        law += "does not declare whether it is proper"
        hint = "check it with propriety.audit, and declare proper=True in its properties if no violation is found."
    else:
        law += "is declared improper"
        hint = "propriety.audit shows a lie that beats the truth."
    if isinstance(rule, ShiftedBrier):
        hint = f"ShiftedBrier({rule.mu!r}, weighted=True) is the proper form."
    elif isinstance(rule, SquaredAbsoluteRankedProbability):
        hint = "RankedProbability() is proper and takes the order of the classes into account."
    raise ImproperRuleError(law, hint=hint)


def proper_binary_rule(rule: Rule) -> BinaryRule:
    """Return the rule for one event if it is declared proper, else raise an error."""
    check_proper(rule, None)
    return binary_rule(rule)


def _mean_loss_of_rates(rule: BinaryRule, events: Floats, non_events: Floats) -> float:
    return mean_loss(rule, _rates(events, non_events), events, non_events)


def _rates(events: Floats, non_events: Floats) -> Floats:
    """Return the event rates of blocks."""
    rate = events / (events + non_events)
    # A rate that rounds to 1 under weights of very different size is not certain, as the log score would assume.
    return np.where(non_events > 0.0, np.minimum(rate, BELOW_ONE), rate)
