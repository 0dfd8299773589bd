"""Decisions at thresholds: sensitivity, specificity, predictive values and net benefit, with confidence limits."""

from __future__ import annotations

import numpy as np

from propriety.calibration.bands import weight_of_one
from propriety.checks import check_level
from propriety.decisions.expected_cost import counts_at, squares_at
from propriety.decisions.operating_points import OperatingPoints
from propriety.inference.threshold_limits import limits_of_benefits, wilson_limits
from propriety.result import Floats
from propriety.tables.forecast_table import ForecastTable

# Which cases of those that could count do: true and false positives are 0 and 1, false and true negatives 2 and 3.
SHARES = {
    "sensitivity": ((0,), (2,)),
    "specificity": ((3,), (1,)),
    "positive_predictive_value": ((0,), (1,)),
    "negative_predictive_value": ((3,), (2,)),
    "alert_rate": ((0, 1), (2, 3)),
}


def operating_points_of(table: ForecastTable, thresholds: Floats, *, level: float = 0.95) -> OperatingPoints:
    """Compute the decisions of a table at thresholds in [0, 1); see `ThresholdCurve.operating_points`.

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
    odds, (hits, alarms, missed, passed) = thresholds / (1.0 - thresholds), weight / weight.sum(axis=0)
    limits = limits_of_benefits(table, thresholds, level)
    for name, value in (("net_benefit", hits - odds * alarms), ("gain_over_all", odds * passed - missed)):
        columns |= {name: value, f"{name}_low": limits[name][0], f"{name}_high": limits[name][1]}
    return OperatingPoints(threshold=thresholds, **columns, level=level, n=table.n)


def _weight_of_one(weight: Floats, squares: Floats, groups: tuple[int, ...]) -> Floats:
    """Return the weight of a case of some groups; the usual weight is that of the same outcomes, or of all cases."""
    outcomes = {group % 2 for group in groups}
    own, same = list(groups), [group for group in range(4) if group % 2 in outcomes]
    with np.errstate(invalid="ignore"):
        usual = squares[same].sum(axis=0) / weight[same].sum(axis=0)
    usual = np.where(np.isnan(usual), squares.sum(axis=0) / weight.sum(axis=0), usual)
    return weight_of_one(weight[own].sum(axis=0), squares[own].sum(axis=0), usual)
