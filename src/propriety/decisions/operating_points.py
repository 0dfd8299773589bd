"""What acting at a threshold means: sensitivity, specificity, predictive values, alerts and net benefit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from propriety.checks import check_level
from propriety.decisions.thresholds import counts_at
from propriety.result import Floats, Result
from propriety.tables.forecast_table import ForecastTable

__all__ = ["OperatingPoints", "net_benefit_gain", "operating_points_of", "wilson_limits"]

SHARES = ("sensitivity", "specificity", "positive_predictive_value", "negative_predictive_value", "alert_rate")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class OperatingPoints(Result):
    """Decisions at each threshold, with confidence limits; see `DecisionCurve.operating_points`.

    Parameters
    ----------
    threshold : array of shape (rows,)
        A case is acted on if its forecast is at least the threshold.
    sensitivity, specificity : array of shape (rows,)
        Share of the events that are acted on, and of the non-events that are not.
    positive_predictive_value, negative_predictive_value : array of shape (rows,)
        Share of events among the cases acted on, and of non-events among the others; NaN if there are no such cases.
    alert_rate : array of shape (rows,)
        Share of the cases acted on.
    number_needed_to_evaluate : array of shape (rows,)
        Cases acted on for each event found: 1 / positive predictive value.
    net_benefit : array of shape (rows,)
        Net benefit in true positives per case.
    gain_over_all : array of shape (rows,)
        Net benefit minus that of acting on everybody.
    sensitivity_low, sensitivity_high : array of shape (rows,)
        Confidence limits of sensitivity.
    specificity_low, specificity_high : array of shape (rows,)
        Confidence limits of specificity.
    positive_predictive_value_low, positive_predictive_value_high : array of shape (rows,)
        Confidence limits of positive predictive value.
    negative_predictive_value_low, negative_predictive_value_high : array of shape (rows,)
        Confidence limits of negative predictive value.
    alert_rate_low, alert_rate_high : array of shape (rows,)
        Confidence limits of alert rate.
    number_needed_to_evaluate_low, number_needed_to_evaluate_high : array of shape (rows,)
        Confidence limits of number needed to evaluate.
    net_benefit_low, net_benefit_high : array of shape (rows,)
        Confidence limits of net benefit.
    gain_over_all_low, gain_over_all_high : array of shape (rows,)
        Confidence limits of gain over all.
    level : float
        Level of the limits.
    n : int
        Number of cases.
    """

    threshold: Floats
    sensitivity: Floats
    sensitivity_low: Floats
    sensitivity_high: Floats
    specificity: Floats
    specificity_low: Floats
    specificity_high: Floats
    positive_predictive_value: Floats
    positive_predictive_value_low: Floats
    positive_predictive_value_high: Floats
    negative_predictive_value: Floats
    negative_predictive_value_low: Floats
    negative_predictive_value_high: Floats
    alert_rate: Floats
    alert_rate_low: Floats
    alert_rate_high: Floats
    number_needed_to_evaluate: Floats
    number_needed_to_evaluate_low: Floats
    number_needed_to_evaluate_high: Floats
    net_benefit: Floats
    net_benefit_low: Floats
    net_benefit_high: Floats
    gain_over_all: Floats
    gain_over_all_low: Floats
    gain_over_all_high: Floats
    level: float
    n: int

    def _facts(self) -> dict[str, Any]:
        return {"rows": len(self.threshold), "level": self.level, "n": self.n}


def operating_points_of(table: ForecastTable, thresholds: Floats, *, level: float = 0.95) -> OperatingPoints:
    """Compute the decisions of a table at thresholds in [0, 1); see `DecisionCurve.operating_points`.

    Examples
    --------
    >>> table = ForecastTable.from_predictions([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8])
    >>> found = operating_points_of(table, np.array([0.35]))
    >>> found.sensitivity, found.specificity, found.number_needed_to_evaluate
    (array([0.5]), array([0.5]), array([2.]))
    """
    check_level(level)
    hits, alarms, misses, passes = counts_at(table, thresholds)
    events, others = hits + misses, alarms + passes
    total = events + others
    # Weighted cases count as the effective number of cases (Kish).
    worth = table.effective_n / table.weight
    shares = dict(
        zip(
            SHARES,
            [
                (hits, events),
                (passes, others),
                (hits, hits + alarms),
                (passes, passes + misses),
                (hits + alarms, total),
            ],
            strict=True,
        )
    )
    columns: dict[str, Floats] = {}
    for name, (part, whole) in shares.items():
        with np.errstate(invalid="ignore", divide="ignore"):
            columns[name] = part / whole
        columns[f"{name}_low"], columns[f"{name}_high"] = wilson_limits(part * worth, whole * worth, level)
    with np.errstate(divide="ignore"):
        for suffix, other in (("", ""), ("_low", "_high"), ("_high", "_low")):
            columns[f"number_needed_to_evaluate{suffix}"] = 1.0 / columns[f"positive_predictive_value{other}"]
    odds = thresholds / (1.0 - thresholds)
    n = total * worth
    value, low, high = net_benefit_gain(hits * worth, alarms * worth, n, odds, level)
    columns |= {"net_benefit": value, "net_benefit_low": low, "net_benefit_high": high}
    # Acting on everybody gains the events missed and loses the non-events passed over.
    value, low, high = net_benefit_gain(misses * worth, passes * worth, n, odds, level)
    columns |= {"gain_over_all": -value, "gain_over_all_low": -high, "gain_over_all_high": -low}
    return OperatingPoints(threshold=thresholds, **columns, level=level, n=table.n)


def wilson_limits(part: Floats, whole: Floats, level: float) -> tuple[Floats, Floats]:
    """Return Wilson's limits of a share; of nothing they are 0 and 1.

    References
    ----------
    Wilson (1927), doi:10.1080/01621459.1927.10502953.

    Examples
    --------
    >>> low, high = wilson_limits(np.array([0.0, 5.0]), np.array([10.0, 10.0]), 0.95)
    >>> low.round(3), high.round(3)
    (array([0.   , 0.237]), array([0.278, 0.763]))
    """
    z = float(ndtri((1.0 + level) / 2.0))
    with np.errstate(invalid="ignore", divide="ignore"):
        share = part / whole
        centre = (share + z * z / (2.0 * whole)) / (1.0 + z * z / whole)
        margin = z / (1.0 + z * z / whole) * np.sqrt(share * (1.0 - share) / whole + (z / (2.0 * whole)) ** 2)
    return np.where(part == 0.0, 0.0, centre - margin), np.where(part == whole, 1.0, centre + margin)


def net_benefit_gain(
    events: Floats, non_events: Floats, n: float, odds: Floats, level: float
) -> tuple[Floats, Floats, Floats]:
    r"""Return a net benefit with limits that hold for few cases.

    .. math:: D = \frac{d_1 - o\, d_0}{n}, \qquad
              \operatorname{Var} D = \frac1n \left( \frac{d_1 + o^2 d_0}{n} - D^2 \right)

    with one more event and one more non-event for the limits, as Agresti and Coull do for a share.

    Parameters
    ----------
    events, non_events : array of shape (rows,)
        Events and non-events that are acted on.
    n : float
        Number of cases.
    odds : array of shape (rows,)
        Cost of a false positive, :math:`c / (1 - c)`.
    level : float
        Level of the limits.

    References
    ----------
    Agresti & Coull (1998), doi:10.1080/00031305.1998.10480550, for the idea.

    Examples
    --------
    >>> value, low, high = net_benefit_gain(np.array([20.0]), np.array([30.0]), 100.0, np.array([0.25]), 0.95)
    >>> value, low.round(3), high.round(3)
    (array([0.125]), array([0.041]), array([0.216]))
    """
    z = float(ndtri((1.0 + level) / 2.0))
    value, more = (events - odds * non_events) / n, n + 3.0
    centre = (events + 1.0 - odds * (non_events + 1.0)) / more
    squares = (events + 1.0 + odds**2 * (non_events + 1.0)) / more
    margin = z * np.sqrt(np.maximum(squares - centre**2, 0.0) / more)
    return value, np.minimum(centre - margin, value), np.maximum(centre + margin, value)
