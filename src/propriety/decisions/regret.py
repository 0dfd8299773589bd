"""Regret curves: the cost of wrong decisions at every cost ratio, and the least regret of any threshold."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from propriety import checks
from propriety.calibration.blocks import pool_adjacent_violators
from propriety.calibration.decomposition import (
    PARTS,
    Decomposition,
    decompose_table,
    recalibrated_scores,
    regret_of_errors,
)
from propriety.errors import InputTypeError, InputValueError, Wording
from propriety.result import Floats, Result, Score
from propriety.rules.families import BRIER, BetaRegret
from propriety.rules.operations import NUMPY, Column, Operations
from propriety.rules.rule import BinaryRule, Properties
from propriety.rules.scoring import mean_score, weighted_sum
from propriety.rules.weights import (
    IntervalWeight,
    LogOddsWeight,
    Thresholds,
    ThresholdWeight,
    UniformWeight,
    read_grid,
    read_range,
    read_thresholds,
    read_weight,
)
from propriety.tables.forecast_table import ForecastTable, Outcomes
from propriety.tables.grid_thresholds import cell_edges, check_decided
from propriety.tables.labels import Labels

ThresholdAxis: TypeAlias = Literal["linear", "log-odds"]
WEIGHTS: dict[ThresholdAxis, type[IntervalWeight]] = {"linear": UniformWeight, "log-odds": LogOddsWeight}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class RegretCurve(Result):
    """Mean cost of wrong decisions at each cost ratio.

    Parameters
    ----------
    threshold : array of shape (rows,)
        Cost ratio c: acting without the event costs c, and not acting on the event costs 1 - c.
    regret : array of shape (rows,)
        Regret at this cost ratio.
    act_at : float, optional
        The decision threshold, if it is not the cost ratio itself.
    exact : bool
        Whether straight lines through the rows are the exact curve.
    thresholds : float or (float, float), optional
        The decision maker's threshold or range, around which the curve is drawn.
    n, dropped : int
        Number of cases, and of rows left out because of missing values.
    """

    threshold: Floats
    regret: Floats
    act_at: float | None = None
    exact: bool
    thresholds: Thresholds | None = None
    n: int
    dropped: int = 0
    table: ForecastTable = field(metadata={"hidden": True})

    def area(self, thresholds: tuple[float, float] = (0.0, 1.0), *, axis: ThresholdAxis = "linear") -> float:
        r"""Return the exact area under the curve between two cost ratios; it does not depend on the rows.

        On the linear axis it is :math:`\int R(c)\,dc`, over [0, 1] half the Brier score. On the axis of log-odds,
        :math:`\ln(c / (1 - c))`, it is :math:`\int R(c) / (c (1 - c))\,dc`, over [0, 1] the log loss.

        References
        ----------
        Flores et al. (2025), theorems 2.4 and 2.5, arXiv:2504.04528, corrected.

        Examples
        --------
        >>> from propriety.decisions.regret import regret_curve
        >>> curve = regret_curve([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8])
        >>> round(2 * curve.area(), 6), round(curve.area(axis="log-odds"), 6)
        (0.175, 0.510826)
        """
        checks.choice(axis, "axis", get_args(ThresholdAxis))
        weight = WEIGHTS[axis](*read_range(thresholds))
        forecast = self.table.forecast
        if self.act_at is not None:
            forecast = np.where(forecast >= self.act_at, 1.0, 0.0)
        return area_under_regret(forecast, self.table.events, self.table.non_events, weight) / self.table.weight

    def _facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = {"rows": len(self.threshold), "area": self.area()}
        facts |= {} if self.act_at is None else {"act_at": self.act_at}
        return facts | {"n": self.n} | ({"dropped": self.dropped} if self.dropped else {})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class CostCurve(Result):
    """Least regret over all thresholds on the forecasts, at each cost ratio.

    Parameters
    ----------
    threshold : array of shape (rows,)
        Cost ratio c.
    regret : array of shape (rows,)
        Regret of the best threshold.
    act_at : array of shape (rows,)
        The best threshold: act on forecasts of at least this value; infinite if it is best never to act.
    treat_all, treat_none : array of shape (rows,)
        Regret of always acting and of never acting.
    exact : bool
        Whether straight lines through the rows are the exact curve.
    thresholds : float or (float, float), optional
        The decision maker's threshold or range, around which the curve is drawn.
    event_rate : float
        Share of the cases with the event.
    n, dropped : int
        Number of cases, and of rows left out because of missing values.
    """

    threshold: Floats
    regret: Floats
    act_at: Floats
    treat_all: Floats
    treat_none: Floats
    exact: bool
    thresholds: Thresholds | None = None
    event_rate: float
    n: int
    dropped: int = 0

    @property
    def probability_cost(self) -> Floats:
        """Horizontal axis of Drummond and Holte: the cost of never acting as a share of that of never and always."""
        return _share(self.treat_none, self.treat_none + self.treat_all)

    @property
    def normalized_cost(self) -> Floats:
        """Vertical axis of Drummond and Holte: the regret divided by that of getting every case wrong."""
        return _share(self.regret, self.treat_none + self.treat_all)


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
) -> RegretCurve:
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
    >>> from propriety.decisions.regret import regret_curve
    >>> y, p = [0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8]
    >>> regret_curve(y, p, grid=[0.2, 0.5]).regret
    array([0.05 , 0.125])
    >>> regret_curve(y, p, grid=[0.2, 0.5], act_at=0.5).regret
    array([0.2  , 0.125])
    >>> regret_curve(y, p)
    RegretCurve(rows=10, area=0.0875, n=4)
    """
    table = ForecastTable.of(y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label, labels=labels)
    edges = cell_edges(table)
    if act_at is not None:
        act_at = _read_act_at(act_at)
    thresholds = read_thresholds(thresholds)
    if grid is not None:
        cost = read_grid(grid)
        check_decided(table, cost if act_at is None else np.array([act_at]))
        regret = _regret(table, cost, cost if act_at is None else np.full(len(cost), act_at))
    elif act_at is not None:
        cost = np.array([0.0, 1.0])
        check_decided(table, np.array([act_at]))
        regret = _regret(table, cost, np.full(2, act_at))
    elif edges is not None:
        cost, regret = edges, _regret(table, edges, edges)
    else:
        cost, regret = _exact(table)
    return RegretCurve(
        threshold=cost,
        regret=regret,
        act_at=act_at,
        exact=grid is None and (act_at is not None or edges is None),
        thresholds=thresholds,
        n=table.n,
        dropped=table.dropped,
        table=table,
    )


def cost_curve(
    y_true: Outcomes,
    y_proba: ArrayLike | None = None,
    *,
    thresholds: Thresholds | None = None,
    grid: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Hashable | None = None,
    labels: Labels | None = None,
) -> CostCurve:
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
    >>> from propriety.decisions.regret import cost_curve
    >>> curve = cost_curve([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8], grid=[0.2, 0.5, 0.9])
    >>> curve.regret, curve.act_at
    (array([0.05 , 0.125, 0.025]), array([0.3, 0.3, 0.8]))
    """
    table = ForecastTable.of(y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label, labels=labels)
    blocks = pool_adjacent_violators(table)
    rate = table.event_rate
    corners = np.unique(np.concatenate([[0.0, 1.0, rate], blocks.event_rate]))
    cost = corners if grid is None else read_grid(grid)
    passive = np.searchsorted(blocks.event_rate, cost, side="left")
    first = np.append(table.forecast[blocks.start[:-1]], np.inf)
    return CostCurve(
        threshold=cost,
        regret=regret_of_errors(cost, passive, blocks.events, blocks.non_events),
        act_at=first[passive],
        treat_all=cost * table.non_events.sum() / table.weight,
        treat_none=(1.0 - cost) * rate,
        exact=grid is None,
        thresholds=read_thresholds(thresholds),
        event_rate=rate,
        n=table.n,
        dropped=table.dropped,
    )


def area_under_regret(forecast: Floats, events: Floats, non_events: Floats, weight: ThresholdWeight) -> float:
    """Integrate the total (not mean) regret of weighted cases under a weight on cost ratios.

    Examples
    --------
    >>> area_under_regret(np.array([0.2]), np.array([1.0]), np.array([0.0]), UniformWeight())
    0.32000000000000006
    """
    missed, alarmed = (weight.loss(forecast, event=event) for event in (True, False))
    return weighted_sum(missed, events) + weighted_sum(alarmed, non_events)


def _read_act_at(act_at: float) -> float:
    if not isinstance(act_at, int | float | np.integer | np.floating):
        raise InputTypeError("must be one threshold", argument="act_at", got_type=act_at)
    return float(read_grid(act_at, "act_at")[0])


def _regret(table: ForecastTable, cost: Floats, act_at: Floats) -> Floats:
    passive = np.searchsorted(table.forecast, act_at, side="left")
    return regret_of_errors(cost, passive, table.events, table.non_events)


def _exact(table: ForecastTable) -> tuple[Floats, Floats]:
    """Return the ends of the linear pieces: in the j-th piece, nobody below the j-th forecast is acted on."""
    edges = np.concatenate([[0.0], table.forecast, [1.0]])
    cost = np.stack([edges[:-1], edges[1:]], axis=1).ravel()
    piece = np.repeat(np.arange(len(table) + 1), 2)
    # A forecast of 0 or 1 gives a piece of zero length, of which only the value at 0 belongs to the curve.
    kept = slice(int(edges[1] == 0.0), len(cost) - 2 * int(edges[-2] == 1.0))
    cost, piece = cost[kept], piece[kept]
    return cost, regret_of_errors(cost, piece, table.events, table.non_events)


def _share(part: Floats, whole: Floats) -> Floats:
    """Return the ratio, or NaN if the denominator is zero."""
    return np.divide(part, whole, out=np.full(len(whole), np.nan), where=whole > 0.0)


WeightNormalize: TypeAlias = Literal["none", "regret"]


@dataclass(frozen=True, slots=True, repr=False)
class WeightedRegret(BinaryRule):
    r"""Regret integrated over thresholds with a weight, :math:`\int R^*(c)\, w(c)\,dc`, as a rule.

    Like any other rule, it can be decomposed, compared and turned into a skill score.

    Parameters
    ----------
    weight : ThresholdWeight
        The weight on thresholds.
    normalize : {"none", "regret"}
        "regret" divides by the total weight, which gives the mean regret over thresholds drawn from it.

    References
    ----------
    Schervish (1989), doi:10.1214/aos/1176347398; Ehm, Gneiting, Jordan & Krüger (2016), doi:10.1111/rssb.12154.

    Examples
    --------
    >>> import propriety as pr
    >>> from propriety.decisions.regret import WeightedRegret
    >>> from propriety.rules.weights import UniformWeight
    >>> rule = WeightedRegret(UniformWeight(0.0, 0.5), normalize="regret")
    >>> pr.decompose([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8], rule=rule).uncertainty
    0.125
    """

    name: ClassVar[str] = "weighted_regret"

    weight: ThresholdWeight
    normalize: WeightNormalize = "none"

    def __post_init__(self) -> None:
        if not isinstance(self.weight, ThresholdWeight):
            law = "must be a weight on thresholds such as UniformWeight()"
            raise InputTypeError(law, argument="weight", got_type=self.weight)
        checks.choice(self.normalize, "normalize", get_args(WeightNormalize))
        if self.normalize == "regret" and self.weight.total() == math.inf:
            law = f"a weight needs a finite total to be normalised; that of {self.weight!r} is infinite"
            raise InputValueError(law, hint='narrow the interval, or pass normalize="none".')

    def properties(self, classes: int | None = None) -> Properties:
        """Return the claims: proper. Strict propriety depends on where the weight is 0 and is not claimed."""
        del classes
        worst = max(float(self.loss(0.0, event=True)), float(self.loss(1.0, event=False)))
        return Properties(proper=True, best=0.0, worst=worst)

    def loss(self, p: Column, *, event: bool, ops: Operations = NUMPY) -> Column:
        """Return the integral for one case, divided by the total weight with ``normalize="regret"``."""
        return self.weight.loss(p, event=event, ops=ops) / (1.0 if self.normalize == "none" else self.weight.total())


def weighted_regret(
    y_true: Outcomes,
    y_proba: ArrayLike | None = None,
    *,
    weight: ThresholdWeight | Callable[[Floats], Any] | tuple[ArrayLike, ArrayLike],
    normalize: WeightNormalize = "none",
    sample_weight: ArrayLike | None = None,
    pos_label: Hashable | None = None,
    labels: Labels | None = None,
) -> Score:
    r"""Regret integrated over thresholds with a weight; lower is better.

    .. math:: \int_0^1 R^*(c)\, w(c)\,dc

    where :math:`R^*(c)`, the regret of acting at the threshold :math:`c`, is the mean of ``Elementary(c)``.

    Parameters
    ----------
    y_true, y_proba, sample_weight, pos_label, labels
        As in `propriety.mean_score`: binary outcomes and the probability of the event, or a ledger of one model.
    weight : ThresholdWeight, callable, or (grid, densities)
        ``UniformWeight``, ``LogOddsWeight``, ``NetBenefitWeight``, ``BetaWeight`` and points, which are interpolated
        linearly (`PointsWeight`), are exact. A function of an array of thresholds is integrated numerically; see
        `CustomWeight` for the error.
    normalize : {"none", "regret"}
        "regret" divides by the total weight, which gives the mean regret over thresholds drawn from it.

    References
    ----------
    Schervish (1989), doi:10.1214/aos/1176347398; Flores et al. (2025), arXiv:2504.04528.

    Examples
    --------
    >>> import propriety as pr
    >>> from propriety.decisions.regret import weighted_regret
    >>> from propriety.rules.weights import UniformWeight
    >>> y, p = [0, 1, 1, 0], [0.2, 0.9, 0.4, 0.5]
    >>> round(2 * weighted_regret(y, p, weight=UniformWeight()), 12) == round(pr.brier_score(y, p), 12)
    True
    >>> round(weighted_regret(y, p, weight=([0.1, 0.2, 0.4], [0, 1, 0])), 6)
    0.010833
    """
    rule = WeightedRegret(read_weight(weight), normalize=normalize)
    table = ForecastTable.of(y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label, labels=labels)
    return mean_score(table, rule=rule)


def h_measure(
    y_true: Outcomes,
    y_proba: ArrayLike | None = None,
    *,
    alpha: float = 2.0,
    beta: float = 2.0,
    sample_weight: ArrayLike | None = None,
    pos_label: Hashable | None = None,
    labels: Labels | None = None,
) -> Score:
    r"""Hand's H-measure: how well forecasts rank, for thresholds drawn from a Beta distribution; **higher is better**.

    .. math:: H = 1 - \frac{L(\text{recalibrated})}{L(\text{event rate})}

    with :math:`L` the regret averaged over thresholds drawn from Beta(:math:`\alpha, \beta`), of the forecasts
    recalibrated by isotonic regression and of the constant event rate. It is 0 for a constant forecast and 1 for a
    perfect ranking. Unlike the AUC, it weights thresholds equally for every model. It ignores miscalibration; the
    regret of the forecasts as they are is ``weighted_regret(..., weight=BetaWeight(2, 2))``.

    Parameters
    ----------
    y_true, y_proba, sample_weight, pos_label, labels
        As in `propriety.mean_score`: binary outcomes and the probability of the event, or a ledger of one model.
    alpha, beta : float
        Parameters of the distribution of thresholds. Beta(2, 2) is Hand's first proposal. For rare events Hand and
        Anagnostopoulos propose alpha = 1 + event rate and beta = 2 - event rate, whose mode is the event rate.

    References
    ----------
    Hand (2009), doi:10.1007/s10994-009-5119-5; Hand & Anagnostopoulos (2014), arXiv:1202.2564.

    Examples
    --------
    >>> from propriety.decisions.regret import h_measure
    >>> round(h_measure([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8]), 6)
    0.5
    """
    rule = BetaRegret(alpha, beta)
    table = ForecastTable.of(y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label, labels=labels)
    if not (table.events.any() and table.non_events.any()):
        raise InputValueError(Wording("the H-measure needs events and non-events; {y_true} holds one class only"))
    blocks = pool_adjacent_violators(table)
    recalibrated, reference = recalibrated_scores(rule, blocks.events, blocks.non_events)
    score = Score(recalibrated, rule=repr(rule), n=table.n, weight=table.weight, dropped=table.dropped)
    return score.turned(1.0 - recalibrated / reference, scale="0 for a constant, 1 for a perfect ranking")


MurphyNormalize: TypeAlias = Literal["regret", "brier", "expectile"]
FACTORS: dict[MurphyNormalize, float] = {"regret": 1.0, "brier": 2.0, "expectile": 0.5}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class MurphyCurve(Result):
    """Mean elementary score at each threshold, and its parts.

    Parameters
    ----------
    threshold : array of shape (rows,)
        Cost ratio, which is also the optimal threshold for acting.
    score : array of shape (rows,)
        Mean elementary score: miscalibration - discrimination + uncertainty.
    miscalibration, discrimination, uncertainty : array of shape (rows,), optional
        Its parts, none of them negative.
    normalize : {"regret", "brier", "expectile"}
        Scale of the elementary score; see `murphy_curve`.
    area : float
        Area under `score` over [0, 1], exact.
    exact : bool
        Whether straight lines through the rows are the exact curves.
    thresholds : float or (float, float), optional
        The decision maker's threshold or range, around which the curves are drawn.
    n, dropped : int
        Number of cases, and of rows left out because of missing values.
    """

    facts: ClassVar[tuple[str, ...]] = ("rows", "normalize", "area", "n", "dropped")

    threshold: Floats
    score: Floats
    miscalibration: Floats | None = None
    discrimination: Floats | None = None
    uncertainty: Floats | None = None
    normalize: MurphyNormalize
    area: float
    exact: bool
    thresholds: Thresholds | None = None
    n: int
    dropped: int = 0
    decomposition: Decomposition | None = field(default=None, metadata={"hidden": True})

    @property
    def areas(self) -> dict[str, float]:
        """Exact areas under the score and, if available, its parts."""
        if self.decomposition is None:
            return {"score": self.area}
        return {name: FACTORS[self.normalize] / 2.0 * getattr(self.decomposition, name) for name in PARTS}


def murphy_curve(
    y_true: Outcomes,
    y_proba: ArrayLike | None = None,
    *,
    thresholds: Thresholds | None = None,
    grid: ArrayLike | None = None,
    normalize: MurphyNormalize = "regret",
    parts: bool = True,
    sample_weight: ArrayLike | None = None,
    pos_label: Hashable | None = None,
    labels: Labels | None = None,
) -> MurphyCurve:
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
    >>> from propriety.decisions.regret import murphy_curve
    >>> murphy_curve([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8], normalize="brier")
    MurphyCurve(rows=11, normalize=brier, area=0.175, n=4)
    >>> curve = murphy_curve([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8], grid=[0.35])
    >>> curve.score, curve.uncertainty
    (array([0.25]), array([0.175]))
    """
    checks.choice(normalize, "normalize", get_args(MurphyNormalize))
    table = ForecastTable.of(y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label, labels=labels)
    factor, given = FACTORS[normalize], None if grid is None else read_grid(grid)
    exact = given is None and cell_edges(table) is None
    facts: dict[str, Any] = {"normalize": normalize, "exact": exact, "thresholds": read_thresholds(thresholds)}
    facts |= {"n": table.n, "dropped": table.dropped}
    if not parts:
        regret = regret_curve(table, grid=given)
        return MurphyCurve(
            threshold=regret.threshold, score=factor * regret.regret, area=factor * regret.area(), **facts
        )
    whole = decompose_table(table, BRIER, curve=True, grid=given)
    curves: dict[str, Any] = {name: factor * getattr(whole, f"{name}_curve") for name in PARTS}
    curves["threshold"] = whole.threshold
    return MurphyCurve(**curves, area=factor / 2.0 * whole.score, **facts, decomposition=whole)
