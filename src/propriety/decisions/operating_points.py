"""Decisions at thresholds; `inference/operating_points.py` computes them with their limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from propriety.result import Floats, Result


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class OperatingPoints(Result):
    """Decisions at each threshold, with confidence limits; see `ThresholdCurve.operating_points`.

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

    facts: ClassVar[tuple[str, ...]] = ("rows", "level", "n")

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
