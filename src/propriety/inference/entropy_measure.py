"""Normalized entropy, the log score as a share of that of the constant event rate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from propriety.errors import InputValueError
from propriety.inference.measures import Influence
from propriety.rules.families import Log
from propriety.rules.scoring import mean_score
from propriety.tables.forecast_table import ForecastTable


@dataclass(frozen=True, slots=True)
class NormalizedEntropy:
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

    key: ClassVar[str] = "normalized_entropy"
    label: ClassVar[str] = "normalized entropy"
    higher_is_better: ClassVar[bool] = False
    scale: ClassVar[str] = "log"

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
        # What did not happen has no weight, even if it would be infinite.
        return Influence(np.where(table.events > 0.0, event, 0.0), np.where(table.non_events > 0.0, non_event, 0.0))


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
