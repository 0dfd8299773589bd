"""Limits of net benefits at thresholds: those of `estimate` and `compare`, one threshold at a time."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from propriety.inference.bootstrap import Drawing
from propriety.inference.comparison import compare_of
from propriety.inference.estimation import estimate_of
from propriety.inference.measures.of_means import NetBenefit
from propriety.ledger.ledger import Ledger
from propriety.result import Floats
from propriety.tables.forecast_table import ForecastTable

NO_DRAWS = Drawing(99, 0, 1, False)  # noqa: FBT003  (limits of net benefit need none)


@dataclass(frozen=True, slots=True)
class ThresholdLimits:
    """Limits of the differences between strategies: the models of a ledger, treating all and treating none.

    Of independent cases without weights, the table of each model is first pooled between the thresholds. This changes
    no number, because forecasts between two of them lead to the same decisions.

    Parameters
    ----------
    ledger : Ledger
        The cases.
    grid : ndarray of shape (thresholds,)
        The thresholds, in any order.
    rate_variance : float
        Variance of the event rate, from which the limits of treating all follow.
    """

    ledger: Ledger
    grid: Floats
    rate_variance: float
    pooled: dict[str, Ledger] = field(default_factory=dict)
    known: dict[tuple[int, float, float, bool], tuple[float, float]] = field(default_factory=dict)

    def between(self, one: int, other: NDArray[np.intp], level: float) -> tuple[Floats, Floats]:
        """Return the limits of a strategy minus another one at each threshold, given as places among the strategies."""
        limits = np.empty((2, len(self.grid)))
        for place in np.unique(other).tolist():
            here = np.flatnonzero(other == place)
            limits[:, here] = self._of_pair(one, place, here, level)
        return limits[0], limits[1]

    def _of_pair(self, one: int, other: int, here: NDArray[np.intp], level: float) -> Floats:
        treat_all, treat_none = len(self.ledger.models), len(self.ledger.models) + 1
        if one == other:
            return np.zeros((2, len(here)))
        if other < treat_all <= one or (one == treat_none and other == treat_all):
            return -self._of_pair(other, one, here, level)[::-1]
        if one == treat_all:
            return self._of_all(self.grid[here], level)
        if other < treat_all:
            names = self.ledger.models[one], self.ledger.models[other]
            return np.array([self._compared(*names, float(c), level) for c in self.grid[here]]).T
        return np.array([self._of_model(one, float(c), level, over_all=other == treat_all) for c in self.grid[here]]).T

    def _of_model(self, place: int, threshold: float, level: float, *, over_all: bool) -> tuple[float, float]:
        """Return the limits of the gain of a model over treating all or none."""
        model = self.ledger.models[place]
        if threshold == 0.0:  # Everybody is acted on.
            low, high = self._of_all(np.zeros(1), level)[:, 0].tolist()
            return (0.0, 0.0) if over_all else (low, high)
        if model not in self.pooled:
            is_pooled = self.ledger.dependence is None and not self.ledger.is_weighted
            tables = {model: pooled_between(self.ledger.table(model), self.grid)} if is_pooled else {}
            self.pooled[model] = Ledger.of_tables(tables) if tables else self.ledger
        asked = (place, threshold, level, over_all)
        if asked not in self.known:
            measure = NetBenefit(threshold, over_all=over_all)
            found = estimate_of(self.pooled[model], measure, model=model, level=level, drawing=NO_DRAWS)
            self.known[asked] = found.low, found.high
        return self.known[asked]

    def _of_all(self, thresholds: Floats, level: float) -> Floats:
        r"""Return the limits of the net benefit of treating all, :math:`(\pi - c) / (1 - c)`, from the prevalence."""
        table = self.ledger.table(self.ledger.models[0])
        rate, variance = table.event_rate, self.rate_variance
        n = np.array([rate * (1.0 - rate) / variance if variance > 0.0 else table.effective_n])
        limits = np.stack(wilson_limits(rate * n, n, level))
        return np.asarray((limits - thresholds) / (1.0 - thresholds))

    def _compared(self, model: str, against: str, threshold: float, level: float) -> tuple[float, float]:
        """Return the limits of the gain of a model over another one."""
        if threshold == 0.0:
            return 0.0, 0.0
        rows = compare_of(self.ledger, NetBenefit(threshold), reference=against, level=level, drawing=NO_DRAWS)
        row = rows.where(model=model, against=against)
        return float(row.low[0]), float(row.high[0])


def limits_of_benefits(table: ForecastTable, thresholds: Floats, level: float) -> dict[str, tuple[Floats, Floats]]:
    """Return the limits of the net benefit and of the gain over treating all, for independent cases of a table.

    Examples
    --------
    >>> import propriety as pr
    >>> y, p = [0, 1, 0, 1] * 20, [0.1, 0.3, 0.4, 0.8] * 20
    >>> found = limits_of_benefits(ForecastTable.from_predictions(y, p), np.array([0.2]), 0.95)
    >>> same = pr.estimate(y, p, pr.measures.NetBenefit(0.2))
    >>> float(found["net_benefit"][0][0]) == same.low
    True
    """
    limits = ThresholdLimits(Ledger.of_tables({"forecast": table}), thresholds, rate_variance_of(table))
    treat_all, treat_none = (np.full(len(thresholds), place) for place in (1, 2))
    return {
        "net_benefit": limits.between(0, treat_none, level),
        "gain_over_all": limits.between(0, treat_all, level),
    }


def pooled_between(table: ForecastTable, grid: Floats) -> ForecastTable:
    """Return a table of unweighted cases with one row for all forecasts between two thresholds.

    Examples
    --------
    >>> table = ForecastTable.from_predictions([0, 1, 0, 1], [0.125, 0.25, 0.375, 0.75])
    >>> pooled_between(table, np.array([0.25, 0.5])).forecast
    array([0.125 , 0.3125, 0.75  ])
    """
    if len(table) <= len(grid) + 1 or table.cells is not None:
        return table
    start = np.unique(np.searchsorted(table.forecast, grid, side="left"))
    start = np.unique(np.append(0, start[start < len(table)]))
    events, others = (np.add.reduceat(column, start) for column in (table.events, table.non_events))
    mean = np.add.reduceat(table.forecast * table.weights, start) / (events + others)
    last = table.forecast[np.append(start[1:], len(table)) - 1]
    # Rounding must not move a mean beyond the forecasts of its row.
    return ForecastTable(forecast=np.clip(mean, table.forecast[start], last), events=events, non_events=others)


def rate_variance_of(table: ForecastTable) -> float:
    """Return the variance of the event rate of independent cases."""
    rate = table.event_rate
    squares = float(table.event_squares.sum()) * (1.0 - rate) ** 2 + float(table.non_event_squares.sum()) * rate**2
    return squares / table.weight**2


def wilson_limits(part: Floats, whole: Floats, level: float) -> tuple[Floats, Floats]:
    """Return Wilson's limits of a share; of nothing they are 0 and 1.

    References
    ----------
    Wilson (1927), doi:10.1080/01621459.1927.10502953.

    Examples
    --------
    >>> low, high = wilson_limits(np.array([0.0, 5.0]), np.array([10.0, 10.0]), 0.95)
    >>> low.round(3), high.round(3)
    (array([0.   , 0.237]), array([0.278, 0.763]))
    """
    z = float(ndtri((1.0 + level) / 2.0))
    with np.errstate(invalid="ignore", divide="ignore"):
        share = part / whole
        centre = (share + z * z / (2.0 * whole)) / (1.0 + z * z / whole)
        margin = z / (1.0 + z * z / whole) * np.sqrt(share * (1.0 - share) / whole + (z / (2.0 * whole)) ** 2)
    return np.where(part == 0.0, 0.0, centre - margin), np.where(part == whole, 1.0, centre + margin)
