"""Observed and expected events of groups: whether they differ, which of them do, and their mean, as counts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, stdtrit

from propriety.calibration.calibration_test import log_weight_ratio, weighted_variance
from propriety.inference.group_tests import group_means
from propriety.inference.imagined_groups import others_of
from propriety.inference.random_effects import (
    HeterogeneityMethod,
    PredictionMethod,
    RandomEffects,
    between_variance,
    random_effects,
)
from propriety.ledger.keyed_tables import KeyedTables
from propriety.ledger.ledger import Ledger
from propriety.result import Floats
from propriety.rules.functions import Excess

STEPS, CLOSE = 50, 1e-10  # Of iterations whose steps become smaller each time.
LARGEST_STEP = 1.0  # In log-odds.
SHARED_UNITS = 10.0  # Clusters that the design effect of all groups counts for in that of a group.


class Residuals(NamedTuple):
    """Sums of the residuals of each group, and their variances, if all groups share one error."""

    sums: Floats
    variances: Floats

    @property
    def statistic(self) -> float:
        """The joint statistic, chi-squared with one degree of freedom fewer than groups if the groups are alike."""
        return float((self.sums**2 / self.variances).sum())

    @property
    def deviates(self) -> Floats:
        """The residual of each group in standard errors, which allow for the shared error that is fitted."""
        remaining = self.variances * others_of(self.variances) / self.variances.sum()
        return self.sums / np.sqrt(remaining)


@dataclass(frozen=True, slots=True)
class EventsByGroup:
    """The forecasts of one model in each group with their outcomes, and what correlation does to their variance."""

    keyed: KeyedTables
    log_ratio: float
    factor: Floats  # By which correlated cases inflate the variance of the number of events of each group.

    @classmethod
    def of(cls, ledger: Ledger, model: str) -> EventsByGroup:
        """Return the groups of a ledger of one key; clusters or periods lie within its groups."""
        keyed = ledger.keyed_tables(model, ledger.events[0])
        return cls(keyed, log_weight_ratio(keyed.whole()) if ledger.is_weighted else 0.0, _inflation(ledger, model))

    def summed(self, values: Floats) -> Floats:
        """Return sums by group."""
        return np.bincount(self.keyed.entry, values, minlength=len(self.keyed.n)).astype(np.float64)

    @property
    def counts(self) -> tuple[Floats, Floats]:
        """Observed and expected events of each group, by weight."""
        weight = self.keyed.events + self.keyed.non_events
        return self.summed(self.keyed.events), self.summed(weight * self.keyed.forecast)

    def where(self, groups: NDArray[np.bool_]) -> EventsByGroup:
        """Return some of the groups."""
        return EventsByGroup(self.keyed.where(groups), self.log_ratio, self.factor[groups])

    def at(self, order: NDArray[np.intp]) -> EventsByGroup:
        """Return the groups in another order."""
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        return EventsByGroup(self.keyed.pooled(place, len(order)), self.log_ratio, self.factor[order])

    def variances(self, rate: Floats) -> Floats:
        """Return the variance of the number of events of each group if `rate` is the probability of each row."""
        rows = weighted_variance(rate, self.keyed.event_squares, self.keyed.non_event_squares, self.log_ratio)
        return self.summed(rows) * self.factor

    def residuals(self, groups: NDArray[np.bool_]) -> Residuals:
        """Return the residuals of some groups from forecasts that are shifted in log-odds to be right on average."""
        keyed = self.keyed
        inside = (keyed.forecast > 0.0) & (keyed.forecast < 1.0) & groups[keyed.entry]
        events, others = keyed.events[inside], keyed.non_events[inside]
        x, shift = logit(keyed.forecast[inside]), 0.0
        for _ in range(STEPS):
            rate = expit(x + shift)
            information = float(((events + others) * rate * (1.0 - rate)).sum())
            if information <= 0.0:
                break
            step = float((events * (1.0 - rate) - others * rate).sum()) / information
            shift += max(min(step, LARGEST_STEP), -LARGEST_STEP)
            if abs(step) < CLOSE:
                break
        rates = np.where(groups[keyed.entry], keyed.forecast, 0.0)
        rates[inside] = expit(x + shift)
        sums = self.summed(keyed.events * (1.0 - rates) - keyed.non_events * rates)
        return Residuals(sums[groups], self.variances(rates)[groups])


def _inflation(ledger: Ledger, model: str) -> Floats:
    """Return how much larger the variances of numbers of events are in correlated than in independent cases.

    Few clusters say little about it, so the factor of a group is drawn towards that of all as if all groups had ten
    clusters more.
    """
    groups = len(ledger.index)
    if ledger.dependence is None:
        return np.ones(groups)
    column, moments = ledger.models.index(model), ledger.moments(Excess())
    found, sums = group_means(moments, ledger.index.names), moments.over(*ledger.index.names)
    squares = np.nan_to_num(found.plain[:, column]) * sums.weight**2
    alone = sums.spread[:, column]
    shared = float(squares.sum() / alone.sum()) if alone.any() else 1.0
    units = found.units.astype(np.float64)
    own = np.divide(squares, alone, out=np.full(groups, shared), where=alone > 0.0)
    return np.maximum((units * own + SHARED_UNITS * shared) / (units + SHARED_UNITS), 1.0)


def mean_ratio(
    events: EventsByGroup,
    *,
    level: float,
    method: HeterogeneityMethod = "paule-mandel",
    prediction: PredictionMethod = "profile",
) -> RandomEffects:
    r"""Return the mean of observed/expected over groups, by variances that follow from the forecasts.

    With :math:`O_i, E_i` the observed and expected events of group i and :math:`V_i` the variance of :math:`O_i` under
    the forecasts, the ratio of a group has the variance :math:`\mu V_i / E_i^2` around the mean :math:`\mu`, which is
    found by iteration. The observed count is not part of it, so that groups without events count as they should, and
    high ratios have no larger weight. The limits are those of Hartung and Knapp with a factor of at least 1, solved
    for :math:`\mu`, because the variance depends on it.
    """
    observed, expected = events.counts
    relative = events.variances(events.keyed.forecast) / expected**2
    ratio, mean = observed / expected, float(observed.sum() / expected.sum())
    least = 0.5 * float(relative.min())  # Where no event was observed at all.
    square, weight = 0.0, np.ones(len(ratio))
    for _ in range(STEPS):
        variances = max(mean, least) * relative
        square = between_variance(ratio, variances, method)
        weight = 1.0 / (variances + square)
        last, mean = mean, float((weight * ratio).sum() / weight.sum())
        if abs(mean - last) < CLOSE * max(mean, least):
            break
    variances = max(mean, least) * relative
    found = random_effects(ratio, np.sqrt(variances), method=method, level=level, prediction=prediction)
    k, share = len(ratio), found.weight
    spread = max(float((weight * (ratio - mean) ** 2).sum()) / (k - 1), 1.0)
    squared = float(stdtrit(k - 1, (1.0 + level) / 2.0)) ** 2 * spread
    # (mean - m)^2 = squared (m a + b), with a and b the variance of the mean within groups, per unit, and between them.
    a, b = float((share**2 * relative).sum()), float((share**2).sum()) * square
    half = mean + squared * a / 2.0
    root = math.sqrt(max(half**2 - mean**2 + squared * b, 0.0))
    return found._replace(low=max(half - root, 0.0), high=half + root, prediction_low=max(found.prediction_low, 0.0))
