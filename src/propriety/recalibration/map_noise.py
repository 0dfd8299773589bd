"""The noise of cross-fitted maps, which the spread of the losses tells only half of."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from propriety.recalibration.cross_fitting import CrossFit
from propriety.recalibration.maps import RecalibrationMap
from propriety.results import Floats
from propriety.rules.rule import BinaryRule

__all__ = ["map_noise"]


def map_noise(fitted: CrossFit, rule: BinaryRule, method: str, reference: str) -> float:
    r"""Return what the noise of the maps of a method adds to the variance of its mean loss, against a reference.

    Each case is judged by a map that rests on the cases of the other folds, and has a part in the maps that judge them.
    So the errors of two folds are correlated by what the maps vary with their cases, and the spread of the losses alone
    tells half of that. The other half is the jackknife variance over the :math:`K` maps. With the loss :math:`d_i^k` of
    case :math:`i` by map :math:`k`, minus that by the map of the reference, and the clusters, times or single cases
    :math:`g`, it is

    .. math:: \frac{K - 1}{K} \sum_g \sum_k \Big(\sum_{i \in g} w_i (d_i^k - \bar d_i) \Big)^2
              \Big/ \Big(\sum_i w_i\Big)^2 .
    """
    folds = fitted.folds
    own, others = fitted.maps[method], fitted.maps[reference]
    share = (len(own) - 1) / len(own)
    if folds.dependence is not None and folds.cases is not None:
        forecast, happened, weight = folds.cases.gathered()
        sides = (_deviations(rule, own, others, forecast, event=event) for event in (True, False))
        parts = np.where(happened, *sides) * (1.0 if weight is None else weight)
        units = folds.cases.time or folds.cases.cluster
        assert units is not None  # noqa: S101  (for the type checker; the cases depend on each other within them)
        total = sum(float((np.bincount(units.codes, part) ** 2).sum()) for part in parts)
    else:
        total = 0.0
        for table in folds.tables:
            for squares, event in ((table.event_squares, True), (table.non_event_squares, False)):
                deviations = _deviations(rule, own, others, table.forecast, event=event)
                total += float((squares * (deviations**2).sum(axis=0)).sum())
    return share * total / sum(table.weight for table in folds.tables) ** 2


def _deviations(
    rule: BinaryRule,
    own: Sequence[RecalibrationMap],
    others: Sequence[RecalibrationMap],
    forecast: Floats,
    *,
    event: bool,
) -> Floats:
    """Return the losses of each map minus their mean over all maps, shape (folds, forecasts)."""
    losses = np.empty((len(own), len(forecast)))
    with np.errstate(invalid="ignore"):  # Infinite losses have no difference.
        for place, (one, other) in enumerate(zip(own, others, strict=True)):
            losses[place] = rule.loss(one.recalibrated(forecast), event=event)
            losses[place] -= rule.loss(other.recalibrated(forecast), event=event)
        losses -= losses.mean(axis=0)
    losses[~np.isfinite(losses)] = 0.0
    return losses
