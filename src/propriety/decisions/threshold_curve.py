"""The result that decision, regret, cost and Murphy curves share: one function of the threshold on four scales."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propriety import checks
from propriety.calibration.blocks import pool_adjacent_violators
from propriety.calibration.decomposition import PARTS, Decomposition
from propriety.decisions.operating_points import OperatingPoints
from propriety.decisions.weighted_regret import area_under_regret
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
)
from propriety.tables.forecast_table import ForecastTable
from propriety.upward import upward

Scale: TypeAlias = Literal["net benefit", "regret", "least regret", "elementary score"]
ThresholdAxis: TypeAlias = Literal["linear", "log-odds"]
AreaAxis: TypeAlias = ThresholdAxis | Literal["quadratic", "logarithmic"]
Unit: TypeAlias = Literal["regret", "brier", "expectile"]

UNITS: dict[Unit, float] = {"regret": 1.0, "brier": 2.0, "expectile": 0.5}
# On each axis, the weight on thresholds whose regret is the area under a curve of regrets, and above one of benefits.
REGRET_AXES: dict[AreaAxis, type[IntervalWeight]] = {"linear": UniformWeight, "log-odds": LogOddsWeight}
BENEFIT_AXES: dict[AreaAxis, type[IntervalWeight]] = {
    "linear": NetBenefitWeight,
    "quadratic": UniformWeight,
    "logarithmic": LogOddsWeight,
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ThresholdCurve(Result):
    """What acting at each threshold is worth, or costs; one row per threshold.

    At the threshold c, a false positive costs c and a false negative 1 - c. The mean cost of wrong decisions is the
    regret R; the elementary score is a multiple of it, and the net benefit is the prevalence minus R / (1 - c).

    Parameters
    ----------
    scale : {"net benefit", "regret", "least regret", "elementary score"}
        What the curve shows; only of net benefit is a higher value better.
    threshold : array of shape (rows,)
        Threshold probability, and cost ratio, c.
    value : array of shape (rows,)
        Value of the curve at the threshold.
    treat_all, treat_none : array of shape (rows,), optional
        Value of acting on everybody and on nobody; None for a difference of two curves.
    miscalibration, discrimination, uncertainty : array of shape (rows,), optional
        Parts of an elementary score, none of them negative: miscalibration - discrimination + uncertainty.
    best_threshold : array of shape (rows,), optional
        Of the least regret, the threshold on the forecasts that gives it; infinite if it is best never to act.
    act_at : float, optional
        The one threshold at which all decisions are made, if it is not the cost ratio itself.
    unit : {"regret", "brier", "expectile"}
        Unit of an elementary score; see `murphy_curve`.
    prevalence : float
        Share of events in the population.
    harm : float
        Cost of obtaining a forecast, in true positives per case.
    exact : bool
        Whether straight lines through the rows are the exact curve.
    thresholds : float or (float, float), optional
        The decision maker's threshold or range, around which the curve is drawn.
    n, dropped : int
        Number of cases, and of rows left out because of missing values.
    """

    facts: ClassVar[tuple[str, ...]] = ("scale", "rows", "unit", "act_at", "prevalence", "harm", "n", "dropped")

    scale: Scale
    threshold: Floats
    value: Floats
    treat_all: Floats | None = None
    treat_none: Floats | None = None
    miscalibration: Floats | None = None
    discrimination: Floats | None = None
    uncertainty: Floats | None = None
    best_threshold: Floats | None = None
    act_at: float | None = None
    unit: Unit = "regret"
    prevalence: float
    harm: float = 0.0
    exact: bool = False
    thresholds: Thresholds | None = None
    n: int
    dropped: int = 0
    table: ForecastTable = field(metadata={"hidden": True})
    decomposition: Decomposition | None = field(default=None, metadata={"hidden": True})

    @property
    def standardized_net_benefit(self) -> Floats:
        """Net benefit divided by prevalence, at most 1; NaN without events."""
        return _share(self.value, np.full(len(self.value), self.prevalence))

    @property
    def interventions_avoided(self) -> Floats:
        """Unnecessary interventions avoided per 100 cases, compared with acting on everybody, at equal true positives.

        Of a difference of two models, those that the first avoids compared with the second.
        """
        gain = self.value if self.treat_all is None else self.value - self.treat_all
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):  # No gain is none, even at threshold 0.
            return np.where(gain == 0.0, 0.0, 100.0 * gain * (1.0 - self.threshold) / self.threshold)

    @property
    def probability_cost(self) -> Floats:
        """Horizontal axis of Drummond and Holte: the cost of never acting as a share of that of never and always."""
        never, always = self.of_trivial
        return _share(never, never + always)

    @property
    def normalized_cost(self) -> Floats:
        """Vertical axis of Drummond and Holte: the regret divided by that of getting every case wrong."""
        never, always = self.of_trivial
        return _share(self.value, never + always)

    @property
    def areas(self) -> dict[str, float]:
        """Exact areas under an elementary score and, if available, its parts."""
        if self.decomposition is None:
            return {"score": self.area()}
        return {name: UNITS[self.unit] / 2.0 * getattr(self.decomposition, name) for name in PARTS}

    def columns(self) -> Mapping[str, Sequence[Any] | NDArray[Any]]:
        """Columns of the tidy table; those of net benefit include the two units in which it is also reported."""
        derived = ("standardized_net_benefit", "interventions_avoided") if self.scale == "net benefit" else ()
        return {**Result.columns(self), **{name: getattr(self, name) for name in derived}}

    def area(self, thresholds: tuple[float, float] = (0.0, 1.0), *, axis: AreaAxis = "linear") -> float:
        r"""Return the exact area under the curve between two thresholds; it does not depend on the rows.

        On the linear axis the area under the regret is :math:`\int R(c)\,dc`, over [0, 1] half the Brier score. On that
        of log-odds it is :math:`\int R(c) / (c (1 - c))\,dc`, over [0, 1] the log loss. Of net benefit, it is the area
        between the curve and the largest possible net benefit, the prevalence:

        .. math:: \int_a^b \bigl(\pi - \mathrm{NB}(c)\bigr)\,d\phi(c) = \int_a^b \frac{R^*(c)}{1 - c}\,\phi'(c)\,dc

        On the quadratic axis, :math:`\phi(c) = -(1 - c)^2 / 2`, it is the area under the regret. Divided by
        :math:`b - a`, it is the mean regret over thresholds uniform on :math:`[a, b]`, half the bounded Brier score. On
        the logarithmic axis, :math:`\phi(c) = \ln c`, divided by :math:`\operatorname{logit} b - \operatorname{logit}
        a`, it is the mean over uniform log-odds, the bounded log loss. On the usual linear axis it is neither, and can
        rank models differently.

        References
        ----------
        Flores et al. (2025), theorems 2.4, 2.5, E.1, E.3 and E.4, arXiv:2504.04528, corrected.

        Examples
        --------
        >>> import propriety as pr
        >>> regret = pr.regret_curve([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8])
        >>> round(2 * regret.area(), 6), round(regret.area(axis="log-odds"), 6)
        (0.175, 0.510826)
        >>> net_benefit = pr.decision_curve([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8])
        >>> round(2 * net_benefit.area(axis="quadratic"), 6)
        0.175
        """
        axes = BENEFIT_AXES if self.scale == "net benefit" else REGRET_AXES
        low, high = read_range(thresholds)
        weight = axes[checks.choice(axis, "axis", tuple(axes))](low, high)
        if self.treat_all is None:
            raise InputValueError("a difference of two curves has no area; subtract those of the curves")
        forecast, events, non_events = self.table.forecast, self.table.events, self.table.non_events
        if self.scale == "least regret":
            blocks = pool_adjacent_violators(self.table)
            forecast, events, non_events = blocks.event_rate, blocks.events, blocks.non_events
        elif self.act_at is not None:
            forecast = np.where(forecast >= self.act_at, 1.0, 0.0)
        event_weight, other_weight = weights_in_population(self.table, self.prevalence)
        area = area_under_regret(forecast, events / event_weight, non_events / other_weight, weight)
        # The harm acts as an event missed at every threshold, whose regret divided by 1 - c is one.
        harm = self.harm * float(weight.loss(low, event=True)) if self.harm > 0.0 else 0.0
        return UNITS[self.unit] * area + harm

    def position(self, axis: AreaAxis = "linear") -> Floats:
        r"""Return the position of each threshold on an axis on which areas are mean regrets; see `area`.

        Examples
        --------
        >>> import propriety as pr
        >>> pr.decision_curve([0, 1], [0.1, 0.8], grid=[0.2, 1 / 2]).position("quadratic")
        array([-0.32 , -0.125])
        """
        checks.choice(axis, "axis", tuple(BENEFIT_AXES | REGRET_AXES))
        if axis == "quadratic":
            return -((1.0 - self.threshold) ** 2) / 2.0
        with np.errstate(divide="ignore"):
            of_odds = {"logarithmic": np.log(self.threshold), "log-odds": _log_odds(self.threshold)}
        return of_odds.get(axis, self.threshold)

    def minus(self, other: ThresholdCurve) -> ThresholdCurve:
        """Return the difference to the curve of another model on the same scale, at the same thresholds.

        Examples
        --------
        >>> import propriety as pr
        >>> y, grid = [0, 1, 0, 1], [0.2, 0.5]
        >>> a = pr.decision_curve(y, [0.1, 0.6, 0.4, 0.8], grid=grid)
        >>> b = pr.decision_curve(y, [0.1, 0.3, 0.4, 0.8], grid=grid)
        >>> a.minus(b).value
        array([0.  , 0.25])
        """
        checks.instance(other, "other", ThresholdCurve, "a ThresholdCurve")
        for name in ("scale", "unit"):
            if getattr(self, name) != getattr(other, name):
                law = f"two curves need the same {name} to be compared; got {getattr(self, name)!r} and "
                raise InputValueError(f"{law}{getattr(other, name)!r}")
        if not np.array_equal(self.threshold, other.threshold):
            law = "two curves must be evaluated at the same thresholds to be compared"
            raise InputValueError(law, hint="give both the same grid=, or the same thresholds=.")
        if not np.isclose(self.prevalence, other.prevalence, rtol=1e-9, atol=0.0):
            law = f"two curves need the same prevalence; got {self.prevalence:g} and {other.prevalence:g}"
            raise InputValueError(law, hint="make both from the same cases, or give both prevalence=.")
        without: dict[str, Any] = dict.fromkeys(
            ("treat_all", "treat_none", "decomposition", "best_threshold", *PARTS[1:])
        )
        return replace(self, value=self.value - other.value, harm=0.0, **without)

    def operating_points(self, *, grid: ArrayLike | None = None, level: float = 0.95) -> OperatingPoints:
        """Return sensitivity, specificity, predictive values, alert rate and net benefit, with confidence limits.

        Limits of shares are Wilson's. Those of net benefit and of the gain over acting on everybody are those that
        `propriety.estimate` gives for ``measures.NetBenefit(threshold)`` and ``NetBenefit(threshold, over_all=True)``.
        Cases are assumed to be independent. The `prevalence` and `harm` of the curve are not used.

        Parameters
        ----------
        grid : array-like in [0, 1), optional
            Thresholds; by default the threshold, or both ends of the range, of the curve, and 0.5 without one.
        level : float
            Level of the limits.

        Examples
        --------
        >>> import propriety as pr
        >>> found = pr.decision_curve([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8], thresholds=0.35).operating_points()
        >>> found.sensitivity, found.alert_rate
        (array([0.5]), array([0.5]))
        """
        if grid is None:
            ends = np.atleast_1d(0.5 if self.thresholds is None else self.thresholds)
            ends = ends[ends < 1.0]
        else:
            ends = below_one(read_grid(grid))
        ends = np.asarray(ends, dtype=np.float64)
        found: OperatingPoints = upward("operating points", self.table, ends, level=level)
        return found

    @property
    def of_trivial(self) -> tuple[Floats, Floats]:
        """Values of acting on nobody and on everybody."""
        if self.treat_none is None or self.treat_all is None:
            raise InputValueError("a difference of two curves has no values of treating all and none")
        return self.treat_none, self.treat_all


def weights_in_population(table: ForecastTable, prevalence: float) -> tuple[float, float]:
    """Return what weights of events and of non-events are divided by to give shares of a population."""
    if prevalence == table.event_rate:  # 1 - prevalence would lose digits if non-events are rare.
        return table.weight, table.weight
    return float(table.events.sum()) / prevalence, float(table.non_events.sum()) / (1.0 - prevalence)


def below_one(grid: Floats) -> Floats:
    """Return thresholds after checking that the odds of each are finite."""
    if grid.max() >= 1.0:
        law = "must be below 1, where the cost of a false positive is infinite"
        raise InputValueError(law, argument="grid", offender=f"entry {int(grid.argmax())} is {grid.max().item()!r}")
    return grid


def _share(part: Floats, whole: Floats) -> Floats:
    """Return the ratio, or NaN if the denominator is zero."""
    return np.divide(part, whole, out=np.full(len(whole), np.nan), where=whole > 0.0)


def _log_odds(threshold: Floats) -> Floats:
    return np.log(threshold) - np.log1p(-threshold)
