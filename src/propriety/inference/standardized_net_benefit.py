"""Net benefit as a share of the largest possible one, the prevalence."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import ndtri

from propriety import checks
from propriety.decisions.expected_cost import counts_at
from propriety.errors import InputValueError
from propriety.inference.measures import Influence
from propriety.tables.forecast_table import ForecastTable


@dataclass(frozen=True, slots=True)
class StandardizedNetBenefit:
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

    higher_is_better: ClassVar[bool] = True
    bounds: ClassVar[tuple[float, float]] = (-math.inf, 1.0)

    def __post_init__(self) -> None:
        checks.number(self.thresholds, "thresholds", above=0.0, below=1.0)

    @property
    def key(self) -> str:
        """Short name of the measure with the threshold."""
        return f"standardized_net_benefit_at_{self.thresholds!r}"

    @property
    def label(self) -> str:
        """Name of the measure with the threshold."""
        return f"standardized net benefit at {self.thresholds!r}"

    def value(self, table: ForecastTable) -> float:
        """Return the net benefit divided by the share of events."""
        events = float(table.events.sum())
        if events == 0.0:
            raise InputValueError("standardized net benefit needs events; there are no events")
        counts = counts_at(table, np.array([self.thresholds]))
        odds = self.thresholds / (1.0 - self.thresholds)
        return float(counts.true_positives[0] - odds * counts.false_positives[0]) / events

    def least_limits(self, table: ForecastTable, value: float, level: float) -> tuple[float, float]:
        """Return limits with one more event acted on, one more missed, and one more non-event acted on.

        The reason is that of `limits_of_net_benefit`; the missed event matters if hardly any event is missed.
        """
        odds = self.thresholds / (1.0 - self.thresholds)
        deviations = self.influence(table)
        added = np.array([1.0 - value, -value, -odds]) / table.event_rate
        squares = float(table.events @ deviations.event**2 + table.non_events @ deviations.non_event**2) / table.weight
        n = table.effective_n
        more = n + 3.0
        centre = float(added.sum()) / more
        error = math.sqrt(max((n * squares + float(added @ added)) / more - centre**2, 0.0) / more)
        margin = float(ndtri((1.0 + level) / 2.0)) * error
        return value + centre - margin, value + centre + margin

    def added_error(self, table: ForecastTable) -> float:
        """Return the error that an event and a non-event more, on which the decisions differ, add to a difference.

        As in `error_of_difference` for net benefit, so that the error is large enough if hardly any decision differs.
        """
        return math.hypot(1.0, self.thresholds / (1.0 - self.thresholds)) / (table.event_rate * table.effective_n)

    def influence(self, table: ForecastTable) -> Influence:
        """Return the derivative of the ratio of two means."""
        acted = (table.forecast >= self.thresholds).astype(np.float64)
        odds = self.thresholds / (1.0 - self.thresholds)
        return Influence((acted - self.value(table)) / table.event_rate, -odds * acted / table.event_rate)
