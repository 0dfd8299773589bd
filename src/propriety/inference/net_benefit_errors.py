"""Errors of net benefit at one threshold from the moments of independent, unweighted cases."""

from __future__ import annotations

import numpy as np

from propriety.decisions.benefit_cells import (
    NetBenefitLimits,
    error_of_difference,
    limits_of_net_benefit,
    wilson_limits,
)
from propriety.inference.measures.measure import Measure
from propriety.ledger.moments import OUTCOME, Moments
from propriety.result import Floats
from propriety.rules.functions import NetLoss


def net_benefit_limits(
    moments: Moments, measure: Measure, level: float, by: tuple[str, ...] = ()
) -> NetBenefitLimits | None:
    """Return limits and errors of the net benefit at one threshold, of shape (groups, models).

    None for another measure, and unless cases are independent and have equal weights.
    """
    if not isinstance(measure.rule, NetLoss) or measure.sign != -1.0 or not _are_counts(moments):
        return None
    groups, split = moments.over(*by), moments.over(OUTCOME, *by)
    events = np.where(np.array(split.index.column(OUTCOME)) == 1, split.n, 0.0)
    held: Floats = np.bincount(groups.index.entry_of(split.index), events, minlength=len(groups.n)).astype(np.float64)
    most = wilson_limits(held, groups.n.astype(np.float64), level)[1][:, None]
    decisions = _decisions(groups, measure.rule.threshold, slice(len(moments.models)))
    return limits_of_net_benefit(*decisions, level, most=most)


def difference_errors(moments: Moments, measure: Measure) -> Floats | None:
    """Return the errors of the differences in net benefit of all pairs, under the same conditions."""
    if not isinstance(measure.rule, NetLoss) or measure.sign != -1.0 or not _are_counts(moments):
        return None
    pairs = slice(len(moments.models), None)
    errors: Floats = error_of_difference(*_decisions(moments.over(), measure.rule.threshold, pairs))
    return np.asarray(errors[0])


def _are_counts(moments: Moments) -> bool:
    """Whether cases are independent and have equal weights."""
    total = moments.over()
    equal = np.isclose(total.weight[0] ** 2, total.n[0] * total.weight_squares[0], rtol=1e-9, atol=0.0)
    return moments.dependence is None and bool(equal)


def _decisions(moments: Moments, threshold: float, series: slice) -> tuple[Floats, Floats, Floats, Floats]:
    """Return means, mean squares, numbers of cases and odds, for cells and series."""
    value, n = moments.mean[:, series], moments.n[:, None].astype(np.float64)
    squares = moments.spread[:, series] * n / moments.weight[:, None] ** 2 + value**2
    return value, squares, n, np.full((1, 1), threshold / (1.0 - threshold))
