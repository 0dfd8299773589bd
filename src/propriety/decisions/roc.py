"""The ROC curve, its convex hull, and the area under all or part of it."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propriety.calibration.bands import weight_of_one
from propriety.calibration.blocks import pool_adjacent_violators
from propriety.checks import check_level
from propriety.decisions.benefit_cells import limits_of_net_benefit, mean_and_number, wilson_limits
from propriety.decisions.expected_cost import GainCurve, counts_at, gain_curve_of, squares_at
from propriety.errors import InputTypeError, InputValueError
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


PerCapacity: TypeAlias = Floats | float  # One number per capacity, or one number for one capacity.
ROUNDING_OF_WEIGHTS = 1e-12  # Sums of weights agree to this share of them.


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class TopK(Result):
    """Result of acting on the k cases with the highest forecasts; see `top_k` for the formulas.

    A field that depends on k is a number for one k and an array for several.

    Parameters
    ----------
    k : int, float or array
        Capacity: the number, or weight, of the cases acted on.
    threshold : float or array
        Lowest forecast that is acted on; only a share of the cases tied there may be.
    true_positives : float or array
        Weight of the events among the cases acted on.
    precision, recall : float or array
        Share of events among the cases acted on, and share of the events that are acted on; the latter is NaN without
        events.
    net_benefit : float or array, optional
        Net benefit per case, **higher is better**; None without `thresholds`.
    total_cost : float or array, optional
        Cost of all errors, lower is better; None without `thresholds`.
    thresholds : float, optional
        The decision maker's threshold: the cost of a false alarm as a share of the cost of both errors.
    event_rate : float
        Weighted share of events among all cases: the precision of acting on cases at random.
    n, dropped : int
        Number of cases, and of rows left out because of missing values.
    weight : float
        Total weight of the cases.
    """

    k: NDArray[Any] | float
    threshold: PerCapacity
    true_positives: PerCapacity
    precision: PerCapacity
    recall: PerCapacity
    net_benefit: PerCapacity | None
    total_cost: PerCapacity | None
    thresholds: float | None
    event_rate: float
    n: int
    weight: float
    dropped: int = 0


def top_k(
    y_true: Outcomes,
    y_proba: ArrayLike | None = None,
    *,
    k: ArrayLike,
    thresholds: float | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Hashable | None = None,
    labels: Labels | None = None,
) -> TopK:
    r"""Evaluate acting on the k cases with the highest forecasts.

    With TP events among the k cases, P events in all, n cases and the cost ratio c:

    .. math::

       \text{precision} = \frac{TP}{k}, \quad
       \text{recall} = \frac{TP}{P}, \quad
       \text{net benefit} = \frac{TP - c\,k}{n (1 - c)}, \quad
       \text{total cost} = c\,(k - TP) + (1 - c)(P - TP).

    At the same k on the same cases, all four rank models in the same way, because only TP differs.

    Parameters
    ----------
    y_true, y_proba, sample_weight, pos_label, labels
        As in `propriety.mean_score`: binary outcomes and the probability of the event, or a ledger of one model.
    k : int or array-like of int
        Capacity, from 1 to the number of cases. With weights it is a capacity in weight: any positive number up to the
        total weight.
    thresholds : float, optional
        The probability :math:`c` in (0, 1) at which somebody would act if capacity were unlimited: acting without the
        event costs c, and not acting on the event costs 1 - c. Without it, net benefit and total cost are not computed.

    Notes
    -----
    Cases that tie at the cut share the remaining places equally, so that TP is the expected value of a random choice
    among them. In a table on a grid, all forecasts of a cell are tied.

    References
    ----------
    Flores et al. (2025), appendix H, arXiv:2504.04528.

    Examples
    --------
    >>> from propriety.decisions.roc import top_k
    >>> y, p = [0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.6, 0.6, 0.9]
    >>> result = top_k(y, p, k=2, thresholds=0.2)
    >>> result.true_positives, result.precision, result.recall, round(result.net_benefit, 6), result.threshold
    (1.5, 0.75, 0.5, 0.229167, 0.6)
    >>> top_k(y, p, k=[1, 3, 6]).recall.round(6)
    array([0.333333, 0.666667, 1.      ])
    """
    table = ForecastTable.of(y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label, labels=labels)
    cost = _read_cost(thresholds)
    capacity = _read_capacity(k, table)
    taken, found = (np.append(0.0, running_sum(column[::-1])) for column in (table.weights, table.events))
    # Rounding of the sums must not place the cut one row too far, or beyond the last.
    row = np.searchsorted(taken[1:], capacity * (1.0 - ROUNDING_OF_WEIGHTS), side="left")
    true_positives = np.interp(capacity, taken, found)
    events = float(found[-1])
    per_capacity: dict[str, Any] = {
        "k": capacity if table.is_weighted else capacity.astype(np.int64),
        "threshold": table.forecast[::-1][row],
        "true_positives": true_positives,
        "precision": true_positives / capacity,
        "recall": true_positives / events if events > 0.0 else np.full(capacity.shape, np.nan),
        "net_benefit": None,
        "total_cost": None,
    }
    if cost is not None:
        per_capacity |= {
            "net_benefit": (true_positives - cost * capacity) / (table.weight * (1.0 - cost)),
            "total_cost": cost * (capacity - true_positives) + (1.0 - cost) * (events - true_positives),
        }
    if capacity.ndim == 0:
        per_capacity = {name: None if value is None else value.item() for name, value in per_capacity.items()}
    return TopK(
        **per_capacity,
        thresholds=cost,
        event_rate=table.event_rate,
        n=table.n,
        weight=table.weight,
        dropped=table.dropped,
    )


def _read_cost(thresholds: float | None) -> float | None:
    """Return the threshold as the cost ratio; a range is rejected, because it does not determine a net benefit."""
    cost = read_thresholds(thresholds)
    if isinstance(cost, tuple):
        raise InputTypeError("must be one number", argument="thresholds", got=thresholds)
    return cost


def _read_capacity(k: ArrayLike, table: ForecastTable) -> Floats:
    """Check capacities: positive, no larger than what is available, and whole if cases are counted."""
    try:
        given = np.asarray(k)
    except ValueError as error:  # Lists of different lengths.
        raise InputTypeError("must be a number or a 1-D array of numbers", argument="k", offender=str(error)) from error
    if given.dtype.kind not in "iuf" or given.ndim > 1 or given.size == 0:
        law = "must be a number or a 1-D array of numbers"
        raise InputTypeError(law, argument="k", offender=f"got shape {given.shape} of {given.dtype}")
    capacity = given.astype(np.float64)
    most = table.weight * (1.0 + ROUNDING_OF_WEIGHTS)
    if table.is_weighted:
        law, hint = f"k must be above 0 and at most the total weight, {table.weight:g}", "k is a capacity in weight."
        bad = ~((capacity > 0.0) & (capacity <= most))
    else:
        law, hint = f"k must be a whole number from 1 to the number of cases, {table.n}", ""
        bad = ~((capacity >= 1.0) & (capacity <= most) & (capacity == np.floor(capacity)))
    if bad.any():
        first = given[bad][0].item()
        offender = f"it is {first!r}" if given.ndim == 0 else f"entry {int(bad.argmax())} is {first!r}"
        count = f"{np.count_nonzero(bad)} of {given.size} entries" if given.ndim else ""
        raise InputValueError(law, offender=offender, count=count, hint=hint)
    return capacity
