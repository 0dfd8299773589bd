"""Measures of ranking: areas under the ROC curve, and the net benefit of acting on the highest forecasts."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.special import ndtr, ndtri, owens_t

from propriety import checks
from propriety.calibration.bands import rate_limits
from propriety.checks import is_number
from propriety.decisions.roc import roc_curve, top_k
from propriety.errors import InputTypeError, InputValueError
from propriety.inference.estimates import effective_by_outcome
from propriety.inference.measures.measure import Influence, Measure
from propriety.rules.weights import read_range
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.pooling import running_sum

FARTHEST = 8.0  # Normal quantile of the largest area that is tried as a limit.


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

    def least_limits(self, table: ForecastTable, value: float, level: float) -> tuple[float, float]:
        """Return limits that an interval contains at least."""
        return area_limits(table, value, level)

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


def area_limits(table: ForecastTable, area: float, level: float) -> tuple[float, float]:
    r"""Return the areas :math:`\theta` with :math:`|A - \theta| \le z \sqrt{V(\theta)}`.

    V is the variance of the area of m events and n non-events whose forecasts are normal with equal variances, after
    some increasing function,

    .. math:: V(\theta) = \frac{\theta (1 - \theta) + (m + n - 2) q}{m n}, \qquad q = \operatorname{Var} \Phi(d + Z),

    with the standard normal Z and :math:`d = \sqrt 2 \, \Phi^{-1}(\theta)`. With weights, m and n are effective
    numbers. Unlike DeLong's error, V does not vanish together with the badly ranked events that a sample happens to
    lack.

    Examples
    --------
    >>> table = ForecastTable.from_predictions([0, 0, 0, 0, 1, 1, 1], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7])
    >>> [round(limit, 3) for limit in area_limits(table, 1.0, 0.95)]
    [0.54, 1.0]
    """
    m, n = effective_by_outcome(table)
    z = float(ndtri((1.0 + level) / 2.0))

    def beyond(quantile: float) -> float:
        """Return how far an area, given by its normal quantile, is from the estimate, beyond z errors."""
        theta = float(ndtr(quantile))
        spread = max(theta - 2.0 * float(owens_t(quantile, 1.0 / math.sqrt(3.0))) - theta**2, 0.0)
        variance = (theta * float(ndtr(-quantile)) + max(m + n - 2.0, 0.0) * spread) / (m * n)
        return abs(area - theta) - z * math.sqrt(variance)

    from scipy.optimize import brentq  # Imported here, because it is slow to import.

    def limit(end: float) -> float:
        """Return the area between the estimate and an end of the range that is just z errors away."""
        middle = min(max(float(ndtri(area)), -FARTHEST), FARTHEST)
        if beyond(middle) >= 0.0 or beyond(end) <= 0.0:
            return float(ndtr(math.copysign(math.inf, end)))
        return float(ndtr(brentq(beyond, middle, end)))

    return limit(-FARTHEST), limit(FARTHEST)
