"""Venn-Abers recalibration: two probabilities, one of them calibrated, computed exactly in one pass over the table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from propriety.recalibration.maps import RecalibrationMap, checked_column, checked_number
from propriety.recalibration.written_maps import Column, Written
from propriety.result import Floats
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.validation import read_event_forecast


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class VennAbersMap(RecalibrationMap):
    r"""The pair :math:`(p_0, p_1)` of a forecast, and the point between them that is best under the log score.

    :math:`p_y` is the isotonic rate at the forecast after a case with this forecast and outcome y is added to the
    table. If cases are exchangeable, the probability that belongs to the outcome is calibrated, on average over
    forecasts and not for each of them. The point

    .. math:: q = \frac{p_1}{1 - p_0 + p_1}

    has the same regret for both under the log score. Both are step functions, and the map stores their steps.

    Parameters
    ----------
    low_from, low : array
        :math:`p_0` is 0 below the first entry of `low_from`, and `low[i]` from `low_from[i]` on.
    high_to, high : array
        :math:`p_1` is `high[i]` up to `high_to[i]`, and 1 above the last entry.
    case_weight : float
        Weight of the added case.

    References
    ----------
    Vovk & Petej (2014), arXiv:1211.0025; Vovk, Petej & Fedorova (2015), arXiv:1511.00213.

    Examples
    --------
    >>> own = VennAbersMap(low_from=[0.2, 0.6], low=[0.1, 0.5], high_to=[0.3, 0.7], high=[0.3, 0.8])
    >>> own.interval([0.1, 0.6]), own([0.1, 0.6]).round(3)
    ((array([0. , 0.5]), array([0.3, 0.8])), array([0.231, 0.615]))
    """

    kind: ClassVar[str] = "venn-abers"

    low_from: Floats
    low: Floats
    high_to: Floats
    high: Floats
    case_weight: float = 1.0

    def __post_init__(self) -> None:
        columns = {}
        for places, values in (("low_from", "low"), ("high_to", "high")):
            columns[places] = checked_column(places, getattr(self, places), strictly=True, low=0.0, high=1.0)
            size = len(columns[places])
            columns[values] = checked_column(
                values, getattr(self, values), size=size, strictly=False, low=0.0, high=1.0
            )
        weight = checked_number("case_weight", self.case_weight, low=np.finfo(np.float64).tiny)
        self.settle(**columns, case_weight=weight)

    def interval(self, y_proba: object) -> tuple[Floats, Floats]:
        """Return the lower and the upper probability for each forecast."""
        return self._interval(read_event_forecast(y_proba))

    def recalibrated(self, forecast: Floats) -> Floats:
        """Return the point between the two probabilities."""
        low, high = self._interval(forecast)
        return high / (1.0 - low + high)

    def _interval(self, forecast: Floats) -> tuple[Floats, Floats]:
        low = np.append(0.0, self.low)[np.searchsorted(self.low_from, forecast, side="right")]
        high = np.append(self.high, 1.0)[np.searchsorted(self.high_to, forecast, side="left")]
        return low, high

    def written(self, p: Column, ops: Written) -> Column:
        """Return the map applied to a column: a step function."""
        edges = np.concatenate([self.low_from, np.nextafter(self.high_to, 2.0)])  # Up to a forecast is below the next.
        order = np.argsort(edges, kind="stable")
        lower = np.append(0, np.cumsum(order < len(self.low_from)))
        low, high = np.append(0.0, self.low)[lower], np.append(self.high, 1.0)[np.arange(len(lower)) - lower]
        values = high / (1.0 - low + high)
        return ops.piecewise(p, edges[order], values[:, None], lambda value: value)

    @property
    def formula(self) -> str:
        """The map in one line."""
        return f"p1 / (1 - p0 + p1), step functions with {len(self.low):,} and {len(self.high):,} steps"


def fit_venn_abers(table: ForecastTable, *, case_weight: float | None = None) -> VennAbersMap:
    """Compute the Venn-Abers pair of every forecast from the table, in linear time.

    Parameters
    ----------
    table : ForecastTable
        Any.
    case_weight : float, optional
        Weight of the added case; by default the mean weight of the cases, which is 1 without weights.

    Returns
    -------
    VennAbersMap
        The map.

    Examples
    --------
    >>> table = ForecastTable.from_predictions([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8])
    >>> low, high = fit_venn_abers(table).interval([0.2, 0.3])
    >>> low.round(3), high.round(3), fit_venn_abers(table)([0.2, 0.3]).round(3)
    (array([0.   , 0.333]), array([0.667, 0.667]), array([0.4, 0.5]))
    """
    weight = table.weight / table.n if case_weight is None else checked_number("case_weight", case_weight)
    high = _with_event(table.events, table.non_events, weight)
    low = 1.0 - _with_event(table.non_events[::-1], table.events[::-1], weight)[::-1]
    first, last = np.append(True, np.diff(low) > 0.0), np.append(np.diff(high) > 0.0, True)
    return VennAbersMap(
        low_from=table.forecast[first],
        low=low[first],
        high_to=table.forecast[last],
        high=high[last],
        case_weight=weight,
    )


def _with_event(events: Floats, non_events: Floats, weight: float) -> Floats:
    r"""Return the isotonic rate of each row after an event of this weight is added to it.

    Let :math:`P_j = (W_j, E_j)` be the cumulative weights and events. The rate of row i is the slope of the common
    lower tangent to the points before the row and to the points after it, shifted by (w, w). As i grows, the slope
    grows and both tangent points move to the right, so they are found in one pass.
    """
    x = np.append(0.0, np.cumsum(events + non_events)).tolist()
    y = np.append(0.0, np.cumsum(events)).tolist()
    after = _next_on_hull(x, y)
    left: list[int] = []  # The lower convex hull of the points before the row.
    at, touch = 0, 1
    rates: list[float] = []
    for new in range(len(events)):
        xn, yn = x[new], y[new]
        while len(left) >= 2:
            one, two = left[-2], left[-1]
            if (y[two] - y[one]) * (xn - x[two]) < (yn - y[two]) * (x[two] - x[one]):
                break  # The middle point is below the line through the other two.
            left.pop()
        left.append(new)
        at, touch = min(at, len(left) - 1), max(touch, new + 1)
        while True:
            x0, y0 = x[left[at]], y[left[at]]  # The weight is added last, because it may be lost in the sums.
            slope = (y[touch] - y0 + weight) / (x[touch] - x0 + weight)
            ahead = after[touch]
            while ahead and y[ahead] - y[touch] <= slope * (x[ahead] - x[touch]):
                touch, ahead = ahead, after[ahead]
                slope = (y[touch] - y0 + weight) / (x[touch] - x0 + weight)
            if at + 1 == len(left):
                break
            one, other = left[at], left[at + 1]
            if y[other] - y[one] >= slope * (x[other] - x[one]):
                break
            at += 1
        rates.append(slope)
    # Rates are shares that increase from row to row, except for rounding error.
    return np.maximum.accumulate(np.clip(rates, 0.0, 1.0))


def _next_on_hull(x: list[float], y: list[float]) -> list[int]:
    """Return, for each point, the next point on the lower convex hull of itself and later points; 0 for the last."""
    after = [0] * len(x)
    for point in range(len(x) - 2, -1, -1):
        xp, yp = x[point], y[point]
        ahead = point + 1
        behind = after[ahead]
        while behind and (y[ahead] - yp) * (x[behind] - x[ahead]) >= (y[behind] - y[ahead]) * (x[ahead] - xp):
            ahead, behind = behind, after[behind]
        after[point] = ahead
    return after
