"""The ROC curve, its convex hull, and the area under all or part of it."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from propriety.calibration.blocks import pool_adjacent_violators
from propriety.decisions.expected_cost import GainCurve, gain_curve_of
from propriety.errors import InputValueError
from propriety.result import Floats, Result
from propriety.rules.scoring import weighted_sum
from propriety.rules.weights import Thresholds, read_range, read_thresholds
from propriety.tables.forecast_table import ForecastTable, Outcomes
from propriety.tables.labels import Labels
from propriety.tables.pooling import running_sum


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class PartialArea(Result):
    """Areas of the part of a ROC curve for forecasts between two thresholds.

    Parameters
    ----------
    low, high : float
        The forecasts counted: from `low` to `high`, both included.
    pauc_plus : float
        Area below this part of the curve.
    pauc_minus : float
        Area to the right of it.
    delta_fpr, delta_tpr : float
        Share of the non-events and of the events with such a forecast: width and height of the part.
    balanced_average_accuracy : float
        (pauc_plus + pauc_minus) / (delta_tpr + delta_fpr), the concordant partial AUC in [0, 1], higher is better;
        NaN if there are no such forecasts.
    n : int
        Number of all cases.
    """

    low: float
    high: float
    pauc_plus: float
    pauc_minus: float
    delta_fpr: float
    delta_tpr: float
    balanced_average_accuracy: float
    n: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class RocCurve(Result):
    """True positive rate against false positive rate, one row per threshold, from never acting to always acting.

    Parameters
    ----------
    threshold : array of shape (rows,)
        Act on forecasts of at least this value; infinite in the first row.
    false_positive_rate, true_positive_rate : array of shape (rows,)
        Share of the non-events and of the events that are acted on.
    auc : float
        Area under the curve: the probability that an event has a higher forecast than a non-event, with ties counting
        half; higher is better.
    is_hull : bool
        Whether this is the convex hull of a curve.
    thresholds : float or (float, float), optional
        The decision maker's threshold or range, marked on the curve.
    n, dropped : int
        Number of cases, and of rows left out because of missing values.
    """

    facts: ClassVar[tuple[str, ...]] = ("rows", "auc", "is_hull", "n", "dropped")

    threshold: Floats
    false_positive_rate: Floats
    true_positive_rate: Floats
    auc: float
    is_hull: bool = False
    thresholds: Thresholds | None = None
    n: int
    dropped: int = 0
    table: ForecastTable = field(metadata={"hidden": True})

    def hull(self) -> RocCurve:
        """Return the convex hull: the best rates that thresholds on these forecasts, or mixtures of two, can reach.

        It is the curve of the forecasts after isotonic recalibration; `threshold` refers to the original forecasts.

        References
        ----------
        Provost & Fawcett (2001), doi:10.1023/A:1007601015854; Fawcett & Niculescu-Mizil (2007),
        doi:10.1007/s10994-007-5011-0.

        Examples
        --------
        >>> from propriety.decisions.roc import roc_curve
        >>> curve = roc_curve([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8])
        >>> curve.auc, curve.hull().auc
        (0.75, 0.875)
        """
        blocks = pool_adjacent_violators(self.table)
        first = self.table.forecast[blocks.start[:-1]]
        return _curve(self.table, first, blocks.events, blocks.non_events, is_hull=True)

    def gains(self) -> GainCurve:
        """Return the gain, lift and precision-recall curves of the same forecasts.

        Examples
        --------
        >>> from propriety.decisions.roc import roc_curve
        >>> roc_curve([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8]).gains().lift
        array([2.        , 1.        , 1.33333333, 1.        ])
        """
        return gain_curve_of(self.table)

    def partial_area(self, low: float = 0.0, high: float = 1.0) -> PartialArea:
        r"""Return the areas of the part of the curve for forecasts in [low, high].

        .. math::

           \mathrm{pAUC}_+ = \int_{[a, b]} (1 - F_1)\,dF_0, \qquad
           \mathrm{pAUC}_- = \int_{[a, b]} F_0\,dF_1

        with the shares :math:`F_1, F_0` of events and non-events below a forecast, where ties count half. Over [0, 1]
        each is the AUC. Which thresholds count still depends on the model, through its forecasts. On a hull the
        forecasts are the recalibrated ones.

        References
        ----------
        Carrington et al. (2023), doi:10.1109/TPAMI.2022.3145392; Flores et al. (2025), appendix I,
        arXiv:2504.04528, corrected.

        Examples
        --------
        >>> from propriety.decisions.roc import roc_curve
        >>> roc_curve([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8]).partial_area(0.2, 0.5)
        PartialArea(low=0.2, high=0.5, pauc_plus=0.25, pauc_minus=0.25, delta_fpr=0.5, delta_tpr=0.5,
        balanced_average_accuracy=0.5, n=4)
        """
        low, high = read_range((low, high), "(low, high)")
        forecast, events, non_events = self.table.forecast, self.table.events, self.table.non_events
        if self.is_hull:
            blocks = pool_adjacent_violators(self.table)
            forecast, events, non_events = blocks.event_rate, blocks.events, blocks.non_events
        all_events, all_non_events = float(events.sum()), float(non_events.sum())
        part = slice(np.searchsorted(forecast, low, side="left"), np.searchsorted(forecast, high, side="right"))
        width, height = float(non_events[part].sum()) / all_non_events, float(events[part].sum()) / all_events
        plus = weighted_sum(_above(events)[part], non_events[part]) / all_events / all_non_events
        minus = weighted_sum(_below(non_events)[part], events[part]) / all_events / all_non_events
        return PartialArea(
            low=low,
            high=high,
            pauc_plus=plus,
            pauc_minus=minus,
            delta_fpr=width,
            delta_tpr=height,
            balanced_average_accuracy=(plus + minus) / (width + height) if width + height > 0.0 else np.nan,
            n=self.n,
        )


def roc_curve(
    y_true: Outcomes,
    y_proba: ArrayLike | None = None,
    *,
    thresholds: Thresholds | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Hashable | None = None,
    labels: Labels | None = None,
) -> RocCurve:
    r"""Compute the ROC curve: the share of events against the share of non-events acted on, at every threshold.

    .. math::

       \mathrm{TPR}(t) = P(p \ge t \mid y = 1), \qquad \mathrm{FPR}(t) = P(p \ge t \mid y = 0)

    The curve and its area depend only on the order of the forecasts, not on their calibration or the costs of errors.

    Parameters
    ----------
    y_true, y_proba, sample_weight, pos_label, labels
        As in `propriety.mean_score`; a ledger of one model replaces predictions.
    thresholds : float or (float, float), optional
        The probability at which one would act, or its range, marked on the curve.

    References
    ----------
    Fawcett (2006), doi:10.1016/j.patrec.2005.10.010; Hand (2009), doi:10.1007/s10994-009-5119-5.

    Examples
    --------
    >>> from propriety.decisions.roc import roc_curve
    >>> curve = roc_curve([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8])
    >>> curve
    RocCurve(rows=5, auc=0.75, n=4)
    >>> curve.threshold, curve.true_positive_rate
    (array([inf, 0.8, 0.4, 0.3, 0.1]), array([0. , 0.5, 0.5, 1. , 1. ]))
    """
    table = ForecastTable.of(y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label, labels=labels)
    for name, weight in (("events", table.events), ("non-events", table.non_events)):
        if not weight.any():
            raise InputValueError(f"a ROC curve needs cases with and without the event; there are no {name}")
    curve = _curve(table, table.forecast, table.events, table.non_events)
    return replace(curve, thresholds=read_thresholds(thresholds))


def auc_of_table(table: ForecastTable) -> float:
    """Return the area under the ROC curve of a table; NaN without events or non-events."""
    if not (table.events.any() and table.non_events.any()):
        return math.nan
    return _area(_from_the_top(table.events), table.non_events[::-1])


def _area(acted_events: Floats, non_events: Floats) -> float:
    """Return the area from the events acted on so far and the non-events of each row, from the highest forecast on."""
    # Each non-event is outranked by the events acted on before it, and by half of those tied with it.
    outranked = weighted_sum(acted_events[1:] + acted_events[:-1], non_events) / 2.0
    # Weights may round the area of a perfect ranking to slightly more than 1.
    return min(float(outranked / acted_events[-1] / running_sum(non_events)[-1]), 1.0)


def _curve(
    table: ForecastTable, threshold: Floats, events: Floats, non_events: Floats, *, is_hull: bool = False
) -> RocCurve:
    acted_events, acted_non_events = _from_the_top(events), _from_the_top(non_events)
    area = _area(acted_events, non_events[::-1])
    acted_events /= acted_events[-1]
    acted_non_events /= acted_non_events[-1]
    return RocCurve(
        threshold=np.concatenate([[np.inf], threshold[::-1]]),
        false_positive_rate=acted_non_events,
        true_positive_rate=acted_events,
        auc=area,
        is_hull=is_hull,
        n=table.n,
        dropped=table.dropped,
        table=table,
    )


def _from_the_top(weight: Floats) -> Floats:
    """Return the cumulative weight from the highest forecast down, starting with 0."""
    acted = np.empty(len(weight) + 1)
    acted[0], acted[1:] = 0.0, running_sum(weight[::-1])
    return acted


def _above(weight: Floats) -> Floats:
    """Return the weight above each row, plus half of its own."""
    return running_sum(weight[::-1])[::-1] - weight / 2.0


def _below(weight: Floats) -> Floats:
    """Return the weight below each row, plus half of its own."""
    return running_sum(weight) - weight / 2.0
