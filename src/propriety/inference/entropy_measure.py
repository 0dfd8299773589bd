"""Normalized entropy, the log score as a share of that of the constant event rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from propriety.errors import InputValueError
from propriety.inference.measures import Influence
from propriety.rules.families import Log
from propriety.rules.scoring import mean_score
from propriety.tables.forecast_table import ForecastTable

__all__ = ["NormalizedEntropy"]


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
        ratio, entropy, rate = self.value(table), _entropy(table), table.event_rate
        with np.errstate(divide="ignore", invalid="ignore"):  # Forecasts of 0 and 1.
            event = (-np.log(table.forecast) + ratio * np.log(rate)) / entropy
            non_event = (-np.log1p(-table.forecast) + ratio * np.log1p(-rate)) / entropy
        # What did not happen has no weight, even if it would be infinite.
        return Influence(np.where(table.events > 0.0, event, 0.0), np.where(table.non_events > 0.0, non_event, 0.0))


def _entropy(table: ForecastTable) -> float:
    rate = table.event_rate
    if not 0.0 < rate < 1.0:
        raise InputValueError("normalized entropy needs cases with and without the event; all outcomes are the same")
    return float(-rate * np.log(rate) - (1.0 - rate) * np.log1p(-rate))
