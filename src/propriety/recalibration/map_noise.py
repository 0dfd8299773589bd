"""The estimation noise of cross-fitted maps, only half of which shows in the spread of the losses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from propriety.recalibration.folds import Folds
from propriety.recalibration.maps import RecalibrationMap
from propriety.result import Floats
from propriety.rules.rule import BinaryRule


def map_noise(
    folds: Folds,
    rule: BinaryRule,
    own: Sequence[RecalibrationMap],
    others: Sequence[RecalibrationMap],
) -> float:
    r"""Return how much the noise of a method's maps adds to the variance of its mean loss, relative to other maps.

    Each case is scored by a map fitted to the cases of the other folds, and contributes to the maps that score those.
    So the errors of two folds are correlated through the maps, and the spread of the losses shows only half of this.
    The other half is the jackknife variance over the :math:`K` maps. With the loss :math:`d_i^k` of case :math:`i`
    under map :math:`k` minus that under the other map of the fold, and the clusters, times or single cases :math:`g`,
    it is

    .. math:: \frac{K - 1}{K} \sum_g \sum_k \Big(\sum_{i \in g} w_i (d_i^k - \bar d_i) \Big)^2
              \Big/ \Big(\sum_i w_i\Big)^2 .

    The fold of a case does not matter here, so the table of all cases is enough.
    """
    share, whole = (len(own) - 1) / len(own), folds.whole
    if folds.dependence is not None and folds.cases is not None:
        forecast, happened, weight = folds.cases.gathered()
        parts = np.where(happened, *_deviations(rule, own, others, forecast)) * (1.0 if weight is None else weight)
        units = folds.cases.units
        assert units is not None  # noqa: S101  (for the type checker; cases are correlated within them)
        total = sum(float((np.bincount(units.codes, part) ** 2).sum()) for part in parts)
    else:
        total = 0.0
        sides = _deviations(rule, own, others, whole.forecast)
        for squares, deviations in zip((whole.event_squares, whole.non_event_squares), sides, strict=True):
            total += float((squares * np.einsum("kr,kr->r", deviations, deviations)).sum())
    return share * total / whole.weight**2


def _deviations(
    rule: BinaryRule, own: Sequence[RecalibrationMap], others: Sequence[RecalibrationMap], forecast: Floats
) -> tuple[Floats, ...]:
    """Return the losses of each map minus their mean over all maps, of shape (folds, forecasts), by outcome."""
    happens, fails = np.empty((2, len(own), len(forecast)))
    with np.errstate(invalid="ignore"):  # The difference of infinite losses is undefined.
        for place, (one, other) in enumerate(zip(own, others, strict=True)):
            after, before = one.recalibrated(forecast), other.recalibrated(forecast)
            for losses, event in ((happens, True), (fails, False)):
                losses[place] = rule.loss(after, event=event)
                losses[place] -= rule.loss(before, event=event)
        happens, fails = (losses - losses.mean(axis=0) for losses in (happens, fails))
    return tuple(np.where(np.isfinite(losses), losses, 0.0) for losses in (happens, fails))
