"""Measures of ranking: areas under the ROC curve, and the net benefit of acting on the highest forecasts."""

from __future__ import annotations

import math
from dataclasses import dataclass

from propriety import checks
from propriety.calibration.bands import rate_limits
from propriety.checks import is_number
from propriety.decisions.roc import roc_curve
from propriety.decisions.top_k import top_k
from propriety.errors import InputTypeError, InputValueError
from propriety.inference.imagined import ridge_rate
from propriety.inference.measures.measure import Imagination, Influence, Measure
from propriety.rules.weights import read_range
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.pooling import running_sum


@dataclass(frozen=True)
class AreaUnderRoc(Measure):
    """Probability that an event has a higher forecast than a non-event, with ties counting half; higher is better.

    Examples
    --------
    >>> AreaUnderRoc().value(ForecastTable.from_predictions([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8]))
    0.75
    """

    key = "auc"
    label = "area under the ROC curve"
    higher_is_better = True
    scale = "logit"
    # Events and non-events are two samples, as in DeLong's error.
    by_outcome = True

    def value(self, table: ForecastTable) -> float:
        """Return the area."""
        return roc_curve(table).auc

    def imagination(self, table: ForecastTable) -> Imagination:
        """Return rates of a line through the outcomes, because forecasts that rank well need not be calibrated."""
        return Imagination(rate=ridge_rate(table), discount=0.0)

    def influence(self, table: ForecastTable) -> Influence:
        """Return the deviations of the placement values, divided by the share of the outcome."""
        area = self.value(table)
        events, non_events = float(table.events.sum()), float(table.non_events.sum())
        below = (running_sum(table.non_events) - table.non_events / 2.0) / non_events
        above = 1.0 - (running_sum(table.events) - table.events / 2.0) / events
        weight = table.weight
        return Influence((below - area) * (weight / events), (above - area) * (weight / non_events))


@dataclass(frozen=True)
class PartialArea(Measure):
    """Concordant partial area of the forecasts in a range, as in `RocCurve.partial_area`; higher is better.

    Parameters
    ----------
    low, high : float
        Limits of the forecasts that count, in [0, 1]; they are not thresholds at which somebody acts.

    Examples
    --------
    >>> table = ForecastTable.from_predictions([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8])
    >>> PartialArea(0.2, 0.5).value(table)
    0.5
    """

    low: float
    high: float

    higher_is_better = True
    range = (0.0, 1.0)

    def __post_init__(self) -> None:
        read_range((self.low, self.high), "(low, high)")
        label = f"partial area under the ROC curve for forecasts from {self.low!r} to {self.high!r}"
        self.declare(key=f"partial_auc_from_{self.low!r}_to_{self.high!r}", label=label)

    def value(self, table: ForecastTable) -> float:
        """Return the concordant partial area."""
        return float(roc_curve(table).partial_area(self.low, self.high).balanced_average_accuracy)


@dataclass(frozen=True, kw_only=True)
class TopKNetBenefit(Measure):
    """Net benefit of acting on the k highest forecasts, as in `propriety.top_k`; higher is better.

    Parameters
    ----------
    thresholds : float
        The probability at which somebody would act, in (0, 1): the cost of a false alarm as a share of the cost of both
        errors.
    k : int, optional
        Number, or weight, of the cases acted on.
    share : float, optional
        Share of the cases acted on, instead of `k`; rounded to a whole number, at least one.

    Examples
    --------
    >>> table = ForecastTable.from_predictions([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8])
    >>> TopKNetBenefit(thresholds=0.2, k=2).value(table) == TopKNetBenefit(thresholds=0.2, share=0.5).value(table)
    True
    """

    thresholds: float
    k: float | None = None
    share: float | None = None

    higher_is_better = True
    range = (-math.inf, 1.0)

    def __post_init__(self) -> None:
        checks.number(self.thresholds, "thresholds", above=0.0, below=1.0)
        if self.k is not None and not is_number(self.k):
            raise InputTypeError("must be a number", argument="k", offender=f"got {self.k!r}")
        if (self.k is None) == (self.share is None):
            law = f"exactly one of k and share must be given; got k={self.k!r} and share={self.share!r}"
            raise InputValueError(law)
        if self.share is not None:
            checks.number(self.share, "share", above=0.0, most=1.0)
        key = f"net_benefit_of_{self.k:g}" if self.share is None else f"net_benefit_of_share_{self.share:g}"
        highest = f"{self.k:g} highest" if self.share is None else f"highest {self.share:.4g} of all"
        self.declare(key=key, label=f"net benefit of acting on the {highest}")

    def value(self, table: ForecastTable) -> float:
        """Return the net benefit."""
        result = top_k(table, k=self._capacity(table), thresholds=self.thresholds)
        return float(result.net_benefit)  # type: ignore[arg-type]  # one capacity with a threshold

    def least_limits(self, table: ForecastTable, value: float, level: float) -> tuple[float, float]:
        """Return the net benefits at the Clopper-Pearson limits of the share of events among the cases acted on."""
        share = self._capacity(table) / table.weight
        cost = self.thresholds
        precision = min(max(cost + value * (1.0 - cost) / share, 0.0), 1.0)  # Rounding may put it outside.
        low, high = rate_limits(precision, share * table.effective_n, level)
        return share * (low - cost) / (1.0 - cost), share * (high - cost) / (1.0 - cost)

    def _capacity(self, table: ForecastTable) -> float:
        """Return the number, or weight, of the cases acted on."""
        if self.k is not None:
            return self.k
        assert self.share is not None  # noqa: S101  (for the type checker; one of the two is given)
        capacity = self.share * table.weight
        return capacity if table.is_weighted else max(math.floor(capacity + 0.5), 1)
