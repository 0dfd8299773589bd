"""What acting at a threshold means: sensitivity, specificity, predictive values, alerts and net benefit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from propriety.calibration.pointwise import weight_of_one
from propriety.checks import check_level
from propriety.decisions.net_benefit_limits import limits_of_net_benefit, mean_and_number, wilson_limits
from propriety.decisions.thresholds import counts_at, squares_at
from propriety.result import Floats, Result
from propriety.tables.forecast_table import ForecastTable

# Which cases of those that could count do: true and false positives are 0 and 1, false and true negatives 2 and 3.
SHARES = {
    "sensitivity": ((0,), (2,)),
    "specificity": ((3,), (1,)),
    "positive_predictive_value": ((0,), (1,)),
    "negative_predictive_value": ((3,), (2,)),
    "alert_rate": ((0, 1), (2, 3)),
}


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
    weight, squares = np.stack(counts_at(table, thresholds)), np.stack(squares_at(table, thresholds))
    columns: dict[str, Floats] = {}
    for name, (part, rest) in SHARES.items():
        counted = weight[list(part)].sum(axis=0)
        whole = counted + weight[list(rest)].sum(axis=0)
        with np.errstate(invalid="ignore"):
            share = counted / whole
            each = (1.0 - share) * _weight_of_one(weight, squares, part) + share * _weight_of_one(weight, squares, rest)
            n = np.where(whole > 0.0, whole / each, 0.0)
        columns[name] = share
        columns[f"{name}_low"], columns[f"{name}_high"] = wilson_limits(np.where(n > 0.0, share * n, 0.0), n, level)
    with np.errstate(divide="ignore"):
        for suffix, other in (("", ""), ("_low", "_high"), ("_high", "_low")):
            columns[f"number_needed_to_evaluate{suffix}"] = 1.0 / columns[f"positive_predictive_value{other}"]
    odds = thresholds / (1.0 - thresholds)
    squares = np.stack([weight[group] * _weight_of_one(weight, squares, (group,)) for group in range(4)])
    none, one = np.zeros(len(odds)), np.ones(len(odds))
    value, low, high = _net_benefit(np.stack([one, -odds, none, none]), weight, squares, odds, level)
    columns |= {"net_benefit": value, "net_benefit_low": low, "net_benefit_high": high}
    # Acting on everybody gains the events missed and loses the non-events passed over.
    value, low, high = _net_benefit(np.stack([none, none, one, -odds]), weight, squares, odds, level)
    columns |= {"gain_over_all": -value, "gain_over_all_low": -high, "gain_over_all_high": -low}
    return OperatingPoints(threshold=thresholds, **columns, level=level, n=table.n)


def _weight_of_one(weight: Floats, squares: Floats, groups: tuple[int, ...]) -> Floats:
    """Return the weight of a case of some groups; the usual weight is that of the same outcomes, or of all cases."""
    outcomes = {group % 2 for group in groups}
    own, same = list(groups), [group for group in range(4) if group % 2 in outcomes]
    with np.errstate(invalid="ignore"):
        usual = squares[same].sum(axis=0) / weight[same].sum(axis=0)
    usual = np.where(np.isnan(usual), squares.sum(axis=0) / weight.sum(axis=0), usual)
    return weight_of_one(weight[own].sum(axis=0), squares[own].sum(axis=0), usual)


def _net_benefit(
    value: Floats, weight: Floats, squares: Floats, odds: Floats, level: float
) -> tuple[Floats, Floats, Floats]:
    mean, n = mean_and_number(value, weight, squares)
    events, cases = mean_and_number(np.array([[1.0], [0.0], [1.0], [0.0]]), weight, squares)
    most = wilson_limits(events * cases, cases, level)[1]
    mean_square = (weight * value**2).sum(axis=0) / weight.sum(axis=0)
    limits = limits_of_net_benefit(mean, mean_square, n, odds, level, most=most)
    return mean, limits.low, limits.high
