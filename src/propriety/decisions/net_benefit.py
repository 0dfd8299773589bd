"""Decision curves: the net benefit of acting on a forecast compared with never acting, at every threshold."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import ClassVar, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from propriety import checks
from propriety.decisions.expected_cost import counts_at
from propriety.decisions.regret import area_under_regret
from propriety.decisions.roc import OperatingPoints, operating_points_of
from propriety.errors import InputValueError
from propriety.result import Floats, Result
from propriety.rules.weights import (
    IntervalWeight,
    LogOddsWeight,
    NetBenefitWeight,
    Thresholds,
    UniformWeight,
    read_grid,
    read_range,
    read_thresholds,
)
from propriety.tables.forecast_table import ForecastTable, Outcomes
from propriety.tables.grid_thresholds import cell_edges, check_decided, is_decided
from propriety.tables.labels import Labels

NetBenefitAxis: TypeAlias = Literal["linear", "quadratic", "logarithmic"]

WEIGHTS: dict[NetBenefitAxis, type[IntervalWeight]] = {
    "linear": NetBenefitWeight,
    "quadratic": UniformWeight,
    "logarithmic": LogOddsWeight,
}
GRID = np.arange(1, 100) / 100  # Not linspace, whose 0.7 exceeds 0.7, so that a forecast of 0.7 would be left out.
NICE_LIMITS = (
    *(digit / 10**places for places in (7, 6, 5, 4, 3) for digit in (1, 2, 3, 5, 8)),
    *(0.01, 0.02, 0.03, 0.05, 0.08, 0.1, 0.15, 0.2, 0.3, 0.5),
)
FEWEST = 10  # Whole percentages that show the shape of a curve.


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class NetBenefitDifference(Result):
    """Difference in net benefit between two models at each threshold; positive values favour the first.

    Parameters
    ----------
    threshold : array of shape (rows,)
        Threshold probability.
    net_benefit : array of shape (rows,)
        Net benefit of the first model minus that of the second.
    interventions_avoided : array of shape (rows,)
        The same in interventions avoided per 100 cases.
    thresholds : float or (float, float), optional
        The decision maker's threshold or range, around which the difference is drawn.
    """

    threshold: Floats
    net_benefit: Floats
    interventions_avoided: Floats
    thresholds: Thresholds | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class DecisionCurve(Result):
    """Net benefit of acting on a forecast, on everybody and on nobody, at each threshold; higher is better.

    Parameters
    ----------
    threshold : array of shape (rows,)
        Threshold probability c: act on forecasts of at least c. A false positive counts c / (1 - c).
    net_benefit : array of shape (rows,)
        Net benefit of the forecast in true positives per case, minus `harm`.
    treat_all, treat_none : array of shape (rows,)
        Net benefit of acting on everybody, and on nobody, which is zero.
    standardized_net_benefit : array of shape (rows,)
        Net benefit divided by prevalence, at most 1; NaN without events.
    interventions_avoided : array of shape (rows,)
        Unnecessary interventions avoided per 100 cases, compared with acting on everybody, without losing true
        positives.
    true_positive_rate, false_positive_rate : array of shape (rows,)
        Share of the events, and of the non-events, that are acted on; NaN if there are no such cases.
    thresholds : float or (float, float), optional
        The decision maker's threshold or range, around which the curve is drawn.
    prevalence : float
        Share of events in the population.
    harm : float
        Cost of obtaining a forecast, in true positives per case.
    n, dropped : int
        Number of cases, and of rows left out because of missing values.
    """

    facts: ClassVar[tuple[str, ...]] = ("rows", "prevalence", "harm", "n", "dropped")

    threshold: Floats
    net_benefit: Floats
    treat_all: Floats
    treat_none: Floats
    standardized_net_benefit: Floats
    interventions_avoided: Floats
    true_positive_rate: Floats
    false_positive_rate: Floats
    thresholds: Thresholds | None = None
    prevalence: float
    harm: float = 0.0
    n: int
    dropped: int = 0
    table: ForecastTable = field(metadata={"hidden": True})

    def minus(self, other: DecisionCurve) -> NetBenefitDifference:
        """Return the gain of this model over another at the same thresholds and prevalence.

        Examples
        --------
        >>> from propriety.decisions.net_benefit import decision_curve
        >>> y, grid = [0, 1, 0, 1], [0.2, 0.5]
        >>> a = decision_curve(y, [0.1, 0.6, 0.4, 0.8], grid=grid)
        >>> b = decision_curve(y, [0.1, 0.3, 0.4, 0.8], grid=grid)
        >>> a.minus(b).net_benefit
        array([0.  , 0.25])
        """
        checks.instance(other, "other", DecisionCurve, "a DecisionCurve")
        if not np.array_equal(self.threshold, other.threshold):
            law = "two decision curves must be evaluated at the same thresholds to be compared"
            raise InputValueError(law, hint="give both the same grid=, or the same thresholds=.")
        if not np.isclose(self.prevalence, other.prevalence, rtol=1e-9, atol=0.0):
            law = f"two decision curves need the same prevalence; got {self.prevalence:g} and {other.prevalence:g}"
            raise InputValueError(law, hint="make both from the same cases, or give both prevalence=.")
        gain = self.net_benefit - other.net_benefit
        return NetBenefitDifference(
            threshold=self.threshold,
            net_benefit=gain,
            interventions_avoided=_avoided(gain, self.threshold),
            thresholds=self.thresholds,
        )

    def operating_points(self, *, grid: ArrayLike | None = None, level: float = 0.95) -> OperatingPoints:
        """Return sensitivity, specificity, predictive values, alert rate and net benefit, with confidence limits.

        Limits of shares are Wilson's. Those of net benefit count one more event and one more non-event, which keeps
        their coverage if few cases are acted on, and do not exceed the upper limit of the prevalence. Cases are assumed
        to be independent. The `prevalence` and `harm` of the curve are not used.

        Parameters
        ----------
        grid : array-like in [0, 1), optional
            Thresholds; by default the threshold, or both ends of the range, of the curve, and 0.5 without one.
        level : float
            Level of the limits.

        Examples
        --------
        >>> from propriety.decisions.net_benefit import decision_curve
        >>> found = decision_curve([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8], thresholds=0.35).operating_points()
        >>> found.sensitivity, found.alert_rate
        (array([0.5]), array([0.5]))
        """
        if grid is None:
            ends = np.atleast_1d(0.5 if self.thresholds is None else self.thresholds)
            ends = ends[ends < 1.0]
        else:
            ends = below_one(read_grid(grid))
        return operating_points_of(self.table, np.asarray(ends, dtype=np.float64), level=level)

    def position(self, axis: NetBenefitAxis = "linear") -> Floats:
        r"""Return the position of each threshold on an axis on which areas are mean regrets.

        "linear" is :math:`c` itself, "quadratic" is :math:`-(1 - c)^2 / 2` (theorem E.3), and "logarithmic" is
        :math:`\ln c` (theorem E.4). See `area`.

        Examples
        --------
        >>> from propriety.decisions.net_benefit import decision_curve
        >>> decision_curve([0, 1], [0.1, 0.8], grid=[0.2, 1 / 2]).position("quadratic")
        array([-0.32 , -0.125])
        """
        checks.choice(axis, "axis", get_args(NetBenefitAxis))
        if axis == "quadratic":
            return -((1.0 - self.threshold) ** 2) / 2.0
        if axis == "logarithmic":
            with np.errstate(divide="ignore"):
                return np.log(self.threshold)
        return self.threshold

    def area(self, thresholds: tuple[float, float], *, axis: NetBenefitAxis = "linear") -> float:
        r"""Return the exact area between the curve and the largest possible net benefit, the prevalence.

        .. math:: \int_a^b \bigl(\pi - \mathrm{NB}(c)\bigr)\,d\phi(c) = \int_a^b \frac{R^*(c)}{1 - c}\,\phi'(c)\,dc

        On the quadratic axis it is the area under the regret. Divided by :math:`b - a`, it is the mean regret over
        thresholds uniform on :math:`[a, b]`, half the bounded Brier score. On the logarithmic axis, divided by
        :math:`\operatorname{logit} b - \operatorname{logit} a`, it is the mean over uniform log-odds, the bounded log
        loss. On the usual linear axis it is neither, and can rank models differently. The result does not depend on the
        rows.

        References
        ----------
        Flores et al. (2025), theorems E.1, E.3 and E.4, arXiv:2504.04528, corrected.

        Examples
        --------
        >>> from propriety.decisions.net_benefit import decision_curve
        >>> curve = decision_curve([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8])
        >>> round(2 * curve.area((0, 1), axis="quadratic"), 6)
        0.175
        """
        checks.choice(axis, "axis", get_args(NetBenefitAxis))
        low, high = read_range(thresholds)
        weight = WEIGHTS[axis](low, high)
        forgone = area_under_regret(self.table.forecast, *_in_population(self.table, self.prevalence), weight)
        # The harm acts as an event missed at every threshold, whose regret divided by 1 - c is one.
        return forgone + self.harm * float(weight.loss(low, event=True)) if self.harm > 0.0 else forgone


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
) -> DecisionCurve:
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
    >>> from propriety.decisions.net_benefit import decision_curve
    >>> curve = decision_curve([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8], grid=[0.2, 0.5])
    >>> curve.net_benefit, curve.treat_all
    (array([0.4375, 0.25  ]), array([0.375, 0.   ]))
    >>> curve.interventions_avoided
    array([25., 25.])
    """
    table = ForecastTable.of(y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label, labels=labels)
    thresholds = read_thresholds(thresholds)
    rate = table.event_rate if prevalence is None else _read_prevalence(prevalence, table)
    if grid is None:
        cost, edges = _default_grid(thresholds, rate), cell_edges(table)
        if edges is not None:
            check_decided(table, np.empty(0) if thresholds is None else np.atleast_1d(thresholds))
            cost = np.union1d(cost[is_decided(table, cost)], edges[edges < 1.0])
    else:
        cost = below_one(read_grid(grid))
    harm = _read_harm(harm)
    counts, odds = counts_at(table, cost), cost / (1.0 - cost)
    true_rate = _rate(counts.true_positives, table.events)
    false_rate = _rate(counts.false_positives, table.non_events)
    if prevalence is None:
        true_share, false_share = counts.true_positives / table.weight, counts.false_positives / table.weight
    else:
        true_share, false_share = rate * true_rate, (1.0 - rate) * false_rate
    net_benefit = true_share - odds * false_share - harm
    # 1 - event rate loses digits if non-events are rare; their own weight does not.
    other_rate = float(table.non_events.sum()) / table.weight if prevalence is None else 1.0 - rate
    treat_all = rate - odds * other_rate
    return DecisionCurve(
        threshold=cost,
        net_benefit=net_benefit,
        treat_all=treat_all,
        treat_none=np.zeros(len(cost)),
        standardized_net_benefit=net_benefit / rate if rate > 0.0 else np.full(len(cost), np.nan),
        interventions_avoided=_avoided(net_benefit - treat_all, cost),
        true_positive_rate=true_rate,
        false_positive_rate=false_rate,
        thresholds=thresholds,
        prevalence=rate,
        harm=harm,
        n=table.n,
        dropped=table.dropped,
        table=table,
    )


def _avoided(gain: Floats, threshold: Floats) -> Floats:
    """Convert a gain to interventions avoided per 100; a gain of 0 gives 0, even at threshold 0."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        return np.where(gain == 0.0, 0.0, 100.0 * gain * (1.0 - threshold) / threshold)


def _rate(acted: Floats, weight: Floats) -> Floats:
    total = float(weight.sum())
    return acted / total if total > 0.0 else np.full(len(acted), np.nan)


def _in_population(table: ForecastTable, prevalence: float) -> tuple[Floats, Floats]:
    """Return the weights of the rows as shares of a population with this prevalence."""
    if prevalence == table.event_rate:  # 1 - prevalence would lose digits if non-events are rare.
        return table.events / table.weight, table.non_events / table.weight
    events, non_events = float(table.events.sum()), float(table.non_events.sum())
    return table.events * (prevalence / events), table.non_events * ((1.0 - prevalence) / non_events)


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


def _read_harm(harm: float) -> float:
    return float(checks.number(harm, "harm", least=0.0, below=np.inf))


def below_one(grid: Floats) -> Floats:
    """Return thresholds after checking that the odds of each are finite."""
    if grid.max() >= 1.0:
        law = "must be below 1, where the cost of a false positive is infinite"
        raise InputValueError(law, argument="grid", offender=f"entry {int(grid.argmax())} is {grid.max().item()!r}")
    return grid
