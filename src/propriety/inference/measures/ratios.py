"""Ratios of means: observed/expected events, standardized net benefit and normalized entropy."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from propriety import checks
from propriety.decisions.expected_cost import counts_at
from propriety.errors import InputValueError
from propriety.inference.measures.measure import Imagination, Influence, Measure
from propriety.rules.families import Log
from propriety.rules.scoring import mean_score
from propriety.tables.forecast_table import ForecastTable


@dataclass(frozen=True)
class ObservedExpected(Measure):
    """Observed/expected events; 1 if the forecasts are right on average, above 1 if they are too low.

    References
    ----------
    Debray et al. (2019), doi:10.1177/0962280218785504.

    Examples
    --------
    >>> ObservedExpected().value(ForecastTable.from_predictions([0, 1, 1], [0.25, 0.5, 0.25]))
    2.0
    """

    key = "observed_expected"
    label = "observed/expected"
    higher_is_better = False
    ideal = 1.0
    scale = "log"

    def value(self, table: ForecastTable) -> float:
        """Return the ratio."""
        if table.mean_forecast == 0.0:
            raise InputValueError("observed/expected needs forecasts above 0; all are 0")
        return table.event_rate / table.mean_forecast

    def influence(self, table: ForecastTable) -> Influence:
        """Return the derivative of the ratio of two means."""
        ratio, expected = self.value(table), table.mean_forecast
        with np.errstate(over="ignore"):  # Forecasts of almost 0.
            return Influence((1.0 - ratio * table.forecast) / expected, -ratio * table.forecast / expected)


@dataclass(frozen=True)
class PredictedActual(Measure):
    """Predicted/actual events, the "calibration" of click models; 1 if the forecasts are right on average.

    It is the inverse of `ObservedExpected`: above 1, the forecasts are too high.

    References
    ----------
    He et al. (2014), doi:10.1145/2648584.2648589.

    Examples
    --------
    >>> PredictedActual().value(ForecastTable.from_predictions([0, 1, 1], [0.25, 0.5, 0.25]))
    0.5
    """

    key = "predicted_actual"
    label = "predicted/actual"
    inverse_of = ObservedExpected()
    higher_is_better = False
    ideal = 1.0
    scale = "log"

    def value(self, table: ForecastTable) -> float:
        """Return the ratio."""
        if not table.events.any():
            raise InputValueError("predicted/actual needs events; there are no events")
        return table.mean_forecast / table.event_rate

    def influence(self, table: ForecastTable) -> Influence:
        """Return the derivative of the ratio of two means."""
        ratio, rate = self.value(table), table.event_rate
        return Influence((table.forecast - ratio) / rate, table.forecast / rate)


@dataclass(frozen=True)
class StandardizedNetBenefit(Measure):
    r"""Net benefit at a threshold divided by the share of events; 1 if all events and no others are acted on.

    .. math:: \mathrm{sNB}(c) = \mathrm{TPR}(c) - \frac{c}{1 - c} \frac{1 - \pi}{\pi} \mathrm{FPR}(c)

    Parameters
    ----------
    thresholds : float
        The probability at which somebody would act, in (0, 1).

    References
    ----------
    Kerr, Brown, Zhu & Janes (2016), doi:10.1200/JCO.2015.65.5654; Riley et al. (2021), doi:10.1002/sim.9025, for its
    standard error.

    Examples
    --------
    >>> table = ForecastTable.from_predictions([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8])
    >>> StandardizedNetBenefit(0.2).value(table)
    0.875
    """

    thresholds: float

    higher_is_better = True
    range = (-math.inf, 1.0)

    def __post_init__(self) -> None:
        checks.number(self.thresholds, "thresholds", above=0.0, below=1.0)
        key, label = (gap.join(("standardized", "net", "benefit", "at", repr(self.thresholds))) for gap in "_ ")
        self.declare(key=key, label=label)

    def value(self, table: ForecastTable) -> float:
        """Return the net benefit divided by the share of events."""
        events = float(table.events.sum())
        if events == 0.0:
            raise InputValueError("standardized net benefit needs events; there are no events")
        counts = counts_at(table, np.array([self.thresholds]))
        odds = self.thresholds / (1.0 - self.thresholds)
        return float(counts.true_positives[0] - odds * counts.false_positives[0]) / events

    def imagination(self, table: ForecastTable) -> Imagination:
        """Return what a case at the threshold can change, and how many cases are acted on."""
        odds = self.thresholds / (1.0 - self.thresholds)
        acted = float(table.weights[table.forecast >= self.thresholds].sum()) / table.weight * table.n
        return Imagination(edge=odds / table.event_rate**2, differing=acted)

    def influence(self, table: ForecastTable) -> Influence:
        """Return the derivative of the ratio of two means."""
        acted = (table.forecast >= self.thresholds).astype(np.float64)
        odds = self.thresholds / (1.0 - self.thresholds)
        return Influence((acted - self.value(table)) / table.event_rate, -odds * acted / table.event_rate)


@dataclass(frozen=True)
class NormalizedEntropy(Measure):
    r"""Mean log score divided by that of the constant event rate, as in click prediction; lower is better.

    .. math::

       \mathrm{NE} = \frac{-\frac1n \sum_i [y_i \log p_i + (1 - y_i) \log(1 - p_i)]}
       {-[\bar y \log \bar y + (1 - \bar y) \log(1 - \bar y)]}

    It is 1 minus the skill under the log score, ``Skill(Log())``. Below 1, the forecasts are better than the constant
    rate, which is known only afterwards.

    References
    ----------
    He et al. (2014), doi:10.1145/2648584.2648589.

    Examples
    --------
    >>> table = ForecastTable.from_predictions([0, 1, 0, 1], [0.1, 0.7, 0.4, 0.8])
    >>> round(NormalizedEntropy().value(table), 4)
    0.4314
    """

    key = "normalized_entropy"
    label = "normalized entropy"
    higher_is_better = False
    scale = "log"

    def value(self, table: ForecastTable) -> float:
        """Return the ratio."""
        return float(mean_score(table, rule=Log())) / _entropy(table)

    def influence(self, table: ForecastTable) -> Influence:
        """Return the derivative; that by the rate is zero, because the rate has the lowest score of all constants."""
        ratio, entropy = self.value(table), _entropy(table)
        with np.errstate(divide="ignore", invalid="ignore"):  # Forecasts of 0 and 1.
            log_rate, log_other = _log_rates(table)
            event = (-np.log(table.forecast) + ratio * log_rate) / entropy
            non_event = (-np.log1p(-table.forecast) + ratio * log_other) / entropy
        # What did not happen has no weight, and what cannot happen is not imagined, even if it would be infinite.
        return Influence(
            np.where(np.isfinite(event) | (table.events > 0.0), event, 0.0),
            np.where(np.isfinite(non_event) | (table.non_events > 0.0), non_event, 0.0),
        )


def _entropy(table: ForecastTable) -> float:
    if not (table.events.any() and table.non_events.any()):
        raise InputValueError("normalized entropy needs cases with and without the event; all outcomes are the same")
    log_rate, log_other = _log_rates(table)
    return -table.event_rate * log_rate - _other_rate(table) * log_other


def _other_rate(table: ForecastTable) -> float:
    return float(table.non_events.sum()) / table.weight


def _log_rates(table: ForecastTable) -> tuple[float, float]:
    """Return the logarithms of the shares of events and of non-events, also accurate if one of them is tiny."""
    rate, other = table.event_rate, _other_rate(table)
    if rate < other:
        return math.log(rate), math.log1p(-rate)
    return math.log1p(-other), math.log(other)
