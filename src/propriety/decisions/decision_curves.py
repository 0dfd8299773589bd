"""Decision, regret, cost and Murphy curves: what decisions at every threshold are worth, or cost."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import replace
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propriety import checks
from propriety.calibration.blocks import pool_adjacent_violators
from propriety.calibration.decomposition import PARTS, decompose_table, regret_of_errors
from propriety.decisions.expected_cost import counts_at
from propriety.decisions.threshold_curve import (
    UNITS,
    Scale,
    ThresholdCurve,
    Unit,
    below_one,
    weights_in_population,
)
from propriety.errors import InputTypeError, InputValueError
from propriety.result import Floats
from propriety.rules.families import BRIER
from propriety.rules.weights import Thresholds, read_grid, read_thresholds
from propriety.tables.forecast_table import ForecastTable, Outcomes
from propriety.tables.grid_thresholds import cell_edges, check_decided, is_decided
from propriety.tables.labels import Labels

GRID = np.arange(1, 100) / 100  # Not linspace, whose 0.7 exceeds 0.7, so that a forecast of 0.7 would be left out.
NICE_LIMITS = (
    *(digit / 10**places for places in (7, 6, 5, 4, 3) for digit in (1, 2, 3, 5, 8)),
    *(0.01, 0.02, 0.03, 0.05, 0.08, 0.1, 0.15, 0.2, 0.3, 0.5),
)
FEWEST = 10  # Whole percentages that show the shape of a curve.


def decision_curve(
    y_true: Outcomes,
    y_proba: ArrayLike | None = None,
    *,
    thresholds: Thresholds | None = None,
    grid: ArrayLike | None = None,
    prevalence: float | None = None,
    harm: float = 0.0,
    sample_weight: ArrayLike | None = None,
    pos_label: Hashable | None = None,
    labels: Labels | None = None,
) -> ThresholdCurve:
    r"""Compute the net benefit of acting on forecasts that reach a threshold.

    .. math::

       \mathrm{NB}(c) = \pi\,\mathrm{TPR}(c) - \frac{c}{1 - c} (1 - \pi)\,\mathrm{FPR}(c) - h

    The unit is one true positive per case: 0.05 is worth 5 true positives per 100 cases without a false positive. Net
    benefit is the prevalence minus the regret divided by :math:`1 - c`.

    Parameters
    ----------
    y_true, y_proba, sample_weight, pos_label, labels
        As in `propriety.mean_score`; a ledger of one model replaces predictions.
    thresholds : float or (float, float), optional
        The probability at which one would act, or its range. The curve is drawn around it.
    grid : array-like in [0, 1), optional
        Threshold probabilities at which to evaluate the curve. By default 0.01, 0.02, ..., 0.99, and `thresholds` with
        finer steps around them. If events are rare and there are no `thresholds`, also 100 steps up to about five times
        the prevalence.
    prevalence : float in (0, 1), optional
        Share of events in the population, if the sample has another, as in a case-control study.
    harm : float
        Cost of obtaining the forecast, such as that of a test, in true positives per case. It is subtracted from the
        net benefit of the forecast.

    References
    ----------
    Vickers & Elkin (2006), doi:10.1177/0272989X06295361; Vickers, van Calster & Steyerberg (2019),
    doi:10.1186/s41512-019-0064-7.

    Examples
    --------
    >>> from propriety.decisions.decision_curves import decision_curve
    >>> curve = decision_curve([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8], grid=[0.2, 0.5])
    >>> curve.value, curve.treat_all
    (array([0.4375, 0.25  ]), array([0.375, 0.   ]))
    >>> curve.interventions_avoided
    array([25., 25.])
    """
    table = ForecastTable.of(y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label, labels=labels)
    decided = read_thresholds(thresholds)
    rate = table.event_rate if prevalence is None else _read_prevalence(prevalence, table)
    cost = decided_steps(table, _default_grid(decided, rate), decided) if grid is None else below_one(read_grid(grid))
    harm = float(checks.number(harm, "harm", least=0.0, below=np.inf))
    counts, odds = counts_at(table, cost), cost / (1.0 - cost)
    of_event, of_other = weights_in_population(table, rate)
    return ThresholdCurve(
        scale="net benefit",
        threshold=cost,
        value=counts.true_positives / of_event - odds * (counts.false_positives / of_other) - harm,
        treat_all=float(table.events.sum()) / of_event - odds * (float(table.non_events.sum()) / of_other),
        treat_none=np.zeros(len(cost)),
        prevalence=rate,
        harm=harm,
        thresholds=decided,
        n=table.n,
        dropped=table.dropped,
        table=table,
    )


def regret_curve(
    y_true: Outcomes,
    y_proba: ArrayLike | None = None,
    *,
    thresholds: Thresholds | None = None,
    grid: ArrayLike | None = None,
    act_at: float | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Hashable | None = None,
    labels: Labels | None = None,
) -> ThresholdCurve:
    r"""Compute the regret at every cost ratio: the mean cost of acting on forecasts that reach it.

    .. math:: R^*(c) = c\,\frac{\mathrm{FP}(c)}{n} + (1 - c)\,\frac{\mathrm{FN}(c)}{n}

    with the false positives and false negatives of acting if the forecast is at least :math:`c`. For a calibrated
    forecast this threshold is optimal if a false positive costs :math:`c` and a false negative :math:`1 - c`.

    Parameters
    ----------
    y_true, y_proba, sample_weight, pos_label, labels
        As in `propriety.mean_score`; a ledger of one model replaces predictions.
    thresholds : float or (float, float), optional
        The probability at which one would act, or its range. The curve is drawn around it.
    grid : array-like in [0, 1], optional
        Where to evaluate the curve. Without it the whole curve is returned: it is linear between forecasts and jumps at
        them, so each forecast occurs twice, first with the value there and then with the limit from above.
    act_at : float in [0, 1], optional
        Decide at this threshold, whatever the costs.

    References
    ----------
    Ehm, Gneiting, Jordan & Krüger (2016), doi:10.1111/rssb.12154; Flores et al. (2025), arXiv:2504.04528.

    Examples
    --------
    >>> from propriety.decisions.decision_curves import regret_curve
    >>> y, p = [0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8]
    >>> regret_curve(y, p, grid=[0.2, 0.5]).value
    array([0.05 , 0.125])
    >>> regret_curve(y, p, grid=[0.2, 0.5], act_at=0.5).value
    array([0.2  , 0.125])
    >>> regret_curve(y, p)
    ThresholdCurve(scale=regret, rows=10, prevalence=0.5, n=4)
    """
    table = ForecastTable.of(y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label, labels=labels)
    edges, fixed = cell_edges(table), None if act_at is None else _read_act_at(act_at)
    exact = grid is None and (fixed is not None or edges is None)
    if exact and fixed is None:
        cost, passive = _knots(table)
    else:
        ends = np.array([0.0, 1.0]) if edges is None or fixed is not None else edges
        cost = ends if grid is None else read_grid(grid)
        at = cost if fixed is None else np.full(len(cost), fixed)
        check_decided(table, at)
        passive = np.searchsorted(table.forecast, at, side="left")
    regret = regret_of_errors(cost, passive, table.events, table.non_events)
    return _curve_of_regret(table, "regret", cost, regret, thresholds, exact=exact, act_at=fixed)


def cost_curve(
    y_true: Outcomes,
    y_proba: ArrayLike | None = None,
    *,
    thresholds: Thresholds | None = None,
    grid: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Hashable | None = None,
    labels: Labels | None = None,
) -> ThresholdCurve:
    r"""Compute the least regret at every cost ratio, with the threshold on the forecasts chosen in hindsight.

    .. math:: \min_t R(c, t) = R^*_{\mathrm{PAV}}(c)

    The lower envelope of the regret of all thresholds :math:`t`, among them always acting, :math:`c (1 - \pi)`, and
    never acting, :math:`(1 - c) \pi`. It is the regret of the forecasts after isotonic recalibration.

    Parameters
    ----------
    y_true, y_proba, sample_weight, pos_label, labels
        As in `propriety.mean_score`; a ledger of one model replaces predictions.
    thresholds : float or (float, float), optional
        The probability at which one would act, or its range. The curve is drawn around it.
    grid : array-like in [0, 1], optional
        Cost ratios at which to evaluate the curve. Without it the rows are its vertices.

    References
    ----------
    Drummond & Holte (2006), doi:10.1007/s10994-006-8199-5.

    Examples
    --------
    >>> from propriety.decisions.decision_curves import cost_curve
    >>> curve = cost_curve([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8], grid=[0.2, 0.5, 0.9])
    >>> curve.value, curve.best_threshold
    (array([0.05 , 0.125, 0.025]), array([0.3, 0.3, 0.8]))
    """
    table = ForecastTable.of(y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label, labels=labels)
    blocks = pool_adjacent_violators(table)
    corners = np.unique(np.concatenate([[0.0, 1.0, table.event_rate], blocks.event_rate]))
    cost = corners if grid is None else read_grid(grid)
    passive = np.searchsorted(blocks.event_rate, cost, side="left")
    first = np.append(table.forecast[blocks.start[:-1]], np.inf)
    regret = regret_of_errors(cost, passive, blocks.events, blocks.non_events)
    curve = _curve_of_regret(table, "least regret", cost, regret, thresholds, exact=grid is None)
    return replace(curve, best_threshold=first[passive])


def murphy_curve(
    y_true: Outcomes,
    y_proba: ArrayLike | None = None,
    *,
    thresholds: Thresholds | None = None,
    grid: ArrayLike | None = None,
    normalize: Unit = "regret",
    parts: bool = True,
    sample_weight: ArrayLike | None = None,
    pos_label: Hashable | None = None,
    labels: Labels | None = None,
) -> ThresholdCurve:
    r"""Compute the mean elementary score at every threshold, with its miscalibration and discrimination.

    .. math:: R^*(c) = \mathrm{MCB}(c) - \mathrm{DSC}(c) + \mathrm{UNC}(c)

    A forecast whose curve is nowhere above that of another is at least as good under every proper score.

    Parameters
    ----------
    y_true, y_proba, sample_weight, pos_label, labels
        As in `propriety.mean_score`; a ledger of one model replaces predictions.
    thresholds : float or (float, float), optional
        The probability at which one would act, or its range. The curves are drawn around it.
    grid : array-like in [0, 1], optional
        Where to evaluate the curves. Without it they are exact: linear between the rows; at a jump the threshold occurs
        twice, first with the value there and then with the limit from above.
    normalize : {"regret", "brier", "expectile"}
        "regret" is the mean of ``Elementary(c)``, and the area is half the Brier score, as in model-diagnostics.
        "brier" is twice that, and the area is the Brier score, as in triptych. "expectile" is half of it, the
        elementary score of the expectile at level 1/2, and the area is a quarter of the Brier score, as in scores.
    parts : bool
        Whether to recalibrate the forecasts and return the parts.

    References
    ----------
    Ehm, Gneiting, Jordan & Krüger (2016), doi:10.1111/rssb.12154; Dimitriadis, Gneiting & Jordan (2021),
    doi:10.1073/pnas.2016191118, for the parts.

    Examples
    --------
    >>> from propriety.decisions.decision_curves import murphy_curve
    >>> murphy_curve([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8], normalize="brier")
    ThresholdCurve(scale=elementary score, rows=11, unit=brier, prevalence=0.5, n=4)
    >>> curve = murphy_curve([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8], grid=[0.35])
    >>> curve.value, curve.uncertainty
    (array([0.25]), array([0.175]))
    """
    checks.choice(normalize, "normalize", get_args(Unit))
    table = ForecastTable.of(y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label, labels=labels)
    at = None if grid is None else read_grid(grid)
    own: dict[str, Any] = {}
    if parts:
        whole = decompose_table(table, BRIER, curve=True, grid=at)
        cost, score, *curves = (getattr(whole, name) for name in ("threshold", *(f"{part}_curve" for part in PARTS)))
        own = {name: UNITS[normalize] * curve for name, curve in zip(PARTS[1:], curves, strict=True)}
        own["decomposition"] = whole
    else:
        regret = regret_curve(table, grid=at)
        cost, score = regret.threshold, regret.value
    exact = at is None and cell_edges(table) is None
    return _curve_of_regret(table, "elementary score", cost, score, thresholds, exact=exact, unit=normalize, **own)


def _curve_of_regret(
    table: ForecastTable,
    scale: Scale,
    cost: Floats,
    regret: Floats,
    thresholds: Thresholds | None,
    *,
    unit: Unit = "regret",
    **columns: Any,
) -> ThresholdCurve:
    """Return the curve of regrets at these cost ratios, in a unit."""
    return ThresholdCurve(
        scale=scale,
        threshold=cost,
        value=UNITS[unit] * regret,
        treat_all=UNITS[unit] * cost * (table.non_events.sum() / table.weight),
        treat_none=UNITS[unit] * (1.0 - cost) * table.event_rate,
        unit=unit,
        prevalence=table.event_rate,
        thresholds=read_thresholds(thresholds),
        n=table.n,
        dropped=table.dropped,
        table=table,
        **columns,
    )


def _knots(table: ForecastTable) -> tuple[Floats, NDArray[np.intp]]:
    """Return the ends of the linear pieces of the regret, and how many forecasts are below each piece."""
    edges = np.concatenate([[0.0], table.forecast, [1.0]])
    cost = np.stack([edges[:-1], edges[1:]], axis=1).ravel()
    piece = np.repeat(np.arange(len(table) + 1), 2)
    # A forecast of 0 or 1 gives a piece of zero length, of which only the value at 0 belongs to the curve.
    kept = slice(int(edges[1] == 0.0), len(cost) - 2 * int(edges[-2] == 1.0))
    return cost[kept], piece[kept]


def decided_steps(
    table: ForecastTable, steps: Floats, thresholds: Thresholds | None, *, first: float = 0.0, last: float = 1.0
) -> Floats:
    """Return the steps at which decisions are known; if cells are coarse, their edges from first to last as well."""
    edges = cell_edges(table)
    if edges is None:
        return steps
    check_decided(table, np.empty(0) if thresholds is None else np.atleast_1d(thresholds))
    return np.union1d(steps[is_decided(table, steps)], edges[(edges >= first) & (edges <= last) & (edges < 1.0)])


def widest_threshold(prevalence: float) -> float:
    """Return the end of the thresholds that matter: a round number, at least five times the prevalence.

    Examples
    --------
    >>> widest_threshold(0.001), widest_threshold(0.02), widest_threshold(0.4), widest_threshold(0.0)
    (0.005, 0.1, 1.0, 1.0)
    """
    # Sums of weights depend on the order of the cases, and all models of the same cases need the same end.
    enough = 5.0 * prevalence * (1.0 - 1e-9)
    return next((nice for nice in NICE_LIMITS if enough <= nice), 1.0) if prevalence > 0.0 else 1.0


def rare_grid(prevalence: float) -> Floats:
    """Return 100 steps up to the widest threshold if too few whole percentages are below it, or else nothing."""
    widest = widest_threshold(prevalence)
    if 100.0 * widest >= FEWEST:
        return np.empty(0)
    return np.arange(1, 101) * round(1e8 * widest) / 1e10  # As with whole percentages, forecasts at a step reach it.


def _default_grid(thresholds: Thresholds | None, prevalence: float) -> Floats:
    """Return whole percentages, and around the thresholds steps of a tenth to a hundredth of their range."""
    if thresholds is None:
        return np.union1d(GRID, rare_grid(prevalence))
    low, high = thresholds if isinstance(thresholds, tuple) else (0.5 * thresholds, thresholds)
    whole = 10.0 ** min(1 + math.ceil(-math.log10(high - low)), 16)
    first, last = math.floor((2.0 * low - high) * whole), math.ceil((2.0 * high - low) * whole)
    around = np.arange(max(first, 1.0), min(last, whole - 1.0) + 1.0) / whole
    ends = [end for end in np.atleast_1d(thresholds) if end < 1.0]
    return np.unique(np.concatenate([GRID, around, ends]))


def _read_prevalence(prevalence: float, table: ForecastTable) -> float:
    checks.number(prevalence, "prevalence", above=0.0, below=1.0)
    if not 0.0 < table.event_rate < 1.0:
        raise InputValueError("needs cases with and without the event; the sample has one kind", argument="prevalence")
    return float(prevalence)


def _read_act_at(act_at: float) -> float:
    if not isinstance(act_at, int | float | np.integer | np.floating):
        raise InputTypeError("must be one threshold", argument="act_at", got_type=act_at)
    return float(read_grid(act_at, "act_at")[0])
