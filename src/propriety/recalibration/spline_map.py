"""A monotone spline in log-odds, fitted with a light penalty, and its shrunken version, the default map."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.special import expit

from propriety.calibration.calibration_errors import starts_by_share
from propriety.errors import InputValueError
from propriety.recalibration.maps import (
    RecalibrationMap,
    checked_column,
    checked_floor,
    checked_number,
    floor_of,
    log_odds,
)
from propriety.recalibration.newton import Sums, expected_ratio, newton, penalised, share_kept
from propriety.recalibration.odds_maps import log_likelihood
from propriety.recalibration.written_maps import Column, Written, expit_of, farthest_of, log_odds_of
from propriety.result import Floats
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.laws import weighted_quantile

KNOTS = 4  # At the quantiles 0.05, 0.35, 0.65 and 0.95 of the log-odds.
OUTER = 0.05
BEND, LINE = 4.0, 0.25  # Penalties on changes of slope between knots, and on level and mean slope.
GROUPS = 2**12  # Number of rows in the first fit to a large table.
CLOSEST = 1e-200  # Distance of knots, so that the curvature between them does not overflow.


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class SplineMap(RecalibrationMap):
    r"""A curve in log-odds, :math:`\operatorname{logit} q = g(\operatorname{logit} p)`, with a piecewise linear slope.

    The slope :math:`g'` is linear between knots and constant beyond them, so g is a quadratic spline that is linear at
    both ends. It is nondecreasing if and only if all slopes at the knots are nonnegative. With :math:`g(t_1) = v`,
    slopes :math:`d_j` at the knots :math:`t_j`, and :math:`h_j = t_{j+1} - t_j`,

    .. math:: g(x) = g(t_j) + d_j (x - t_j) + \frac{d_{j+1} - d_j}{2 h_j} (x - t_j)^2, \quad t_j \le x \le t_{j+1}.

    Parameters
    ----------
    knots : array of shape (k,)
        :math:`t_j`, strictly increasing.
    level : float
        :math:`v`, the value at the first knot.
    slopes : array of shape (k,)
        :math:`d_j`, nonnegative.
    floor : float
        Forecasts closer to 0 or 1 than this are moved to this distance; see `floor_of`.
    shrinkage : float
        Position of the map between the forecasts (0) and the fitted curve (1), in log-odds.

    Examples
    --------
    >>> SplineMap(knots=[-1.0, 1.0], level=-1.0, slopes=[1.0, 0.5], floor=0.01)([0.2, 0.5, 0.8]).round(3)
    array([0.2  , 0.469, 0.667])
    """

    kind: ClassVar[str] = "spline"

    knots: Floats
    level: float
    slopes: Floats
    floor: float
    shrinkage: float = 1.0

    def __post_init__(self) -> None:
        knots = checked_column("knots", self.knots, strictly=True, low=-1e3, high=1e3)
        if len(knots) > 1 and np.diff(knots).min() < CLOSEST:
            raise InputValueError(f"must be at least {CLOSEST:g} apart", argument="knots")
        slopes = checked_column("slopes", self.slopes, size=len(knots), low=0.0, high=1e9)
        level = checked_number("level", self.level, low=-1e9, high=1e9)
        shrinkage = checked_number("shrinkage", self.shrinkage, low=0.0, high=1.0)
        self.settle(knots=knots, slopes=slopes, level=level, floor=checked_floor(self.floor), shrinkage=shrinkage)

    def recalibrated(self, forecast: Floats) -> Floats:
        """Return the recalibrated forecasts."""
        return expit(_curve(log_odds(forecast, self.floor), self.knots, self.level, self.slopes))

    def written(self, p: Column, ops: Written) -> Column:
        """Return the map applied to a column: a parabola in log-odds between knots, and a line at each end."""
        x, far = log_odds_of(p, self.floor, ops), farthest_of(self.floor)
        values, bends = _pieces(self.knots, self.level, self.slopes)
        bounds = np.concatenate([[-far], self.knots, [far]])
        table = np.column_stack([self.knots, values, self.slopes, bends])
        table = np.concatenate([[[*table[0, :3], 0.0]], table])  # Before the first knot it is a line.
        reached = (bounds[:-1] < far) & (bounds[1:] > -far)

        def parabola(knot: Column, value: Column, slope: Column, bend: Column) -> Column:
            beyond = x - knot
            return value + beyond * (slope if isinstance(bend, float) and bend == 0.0 else slope + beyond * bend)

        curve = ops.piecewise(p, expit(bounds[:-1][reached][1:]), table[reached], parabola)
        reach = float(np.abs(_curve(np.array([-far, far]), self.knots, self.level, self.slopes)).max())
        return expit_of(curve, reach, ops)

    @property
    def formula(self) -> str:
        """The map in one line."""
        slopes = ", ".join(f"{slope:.4g}" for slope in self.slopes)
        ends = expit(self.knots[[0, -1]])
        return f"logit q = g(logit p) with slopes {slopes} from p = {ends[0]:.3g} to {ends[1]:.3g}"

    def shrunk(self, share: float) -> SplineMap:
        """Return the map shrunk towards the forecasts, in log-odds; a share of 1 changes nothing, 0 is the identity."""
        first = float(self.knots[0])
        return replace(
            self,
            level=first + share * (self.level - first),
            slopes=1.0 + share * (self.slopes - 1.0),
            shrinkage=share * self.shrinkage,
        )


def fit_spline(table: ForecastTable, *, floor: float | None = None) -> SplineMap:
    r"""Fit a monotone spline by penalised maximum likelihood.

    The penalty, :math:`2 \sum_j (d_{j+1} - d_j)^2 + \frac18 ((\bar d - 1)^2 + \delta^2)`, favours slopes that change
    little between knots and a line close to the identity, with :math:`\delta` the shift at the mean of the log-odds. It
    is worth a few cases. With it the fit always exists, even if all outcomes are equal, the forecasts separate the
    outcomes, or all forecasts are equal. The knots are at the weighted quantiles 0.05, 0.35, 0.65 and 0.95 of the
    log-odds; equal quantiles are one knot.

    Parameters
    ----------
    table : ForecastTable
        Any. Weights are relative: the penalty does not depend on their unit.
    floor : float, optional
        Forecasts are kept this far from 0 and 1; by default computed from the table, see `floor_of`.

    Returns
    -------
    SplineMap
        The map.

    Examples
    --------
    >>> table = ForecastTable(forecast=[0.1, 0.5, 0.8], events=[10, 12, 30], non_events=[30, 28, 10])
    >>> fit_spline(table)([0.1, 0.5, 0.8]).round(3)
    array([0.21 , 0.403, 0.688])
    """
    return _fitted(table, floor, unit=table.weight_squares / table.weight).curve


def fit_shrunk_spline(table: ForecastTable, *, floor: float | None = None, design_effect: float = 1.0) -> SplineMap:
    r"""Fit a monotone spline and shrink it towards the forecasts according to the evidence of miscalibration.

    Let :math:`\Lambda` be the likelihood ratio, twice the gain in log-likelihood over the original forecasts, and
    :math:`\nu` its expected value if the forecasts are calibrated. The map in log-odds is

    .. math:: x + \alpha (g(x) - x), \qquad \alpha = \max\left(0, 1 - \tfrac54 \nu / \Lambda\right) .

    If there is little evidence of miscalibration, the map leaves the forecasts as they are, except for the floor. There
    is nothing to tune, and nothing is random. The expectation :math:`\nu` uses the squared weights, so the result does
    not depend on the scale of the weights.

    Parameters
    ----------
    table : ForecastTable
        Any.
    floor : float, optional
        Forecasts are kept this far from 0 and 1; by default computed from the table, see `floor_of`.
    design_effect : float
        Number of correlated cases that are worth one independent case, which multiplies :math:`\nu`.

    Returns
    -------
    SplineMap
        The map.

    References
    ----------
    Van Houwelingen & Le Cessie (1990), doi:10.1002/sim.4780091109, for shrinkage by the likelihood ratio.

    Examples
    --------
    >>> table = ForecastTable(forecast=[0.1, 0.5, 0.8], events=[4, 21, 31], non_events=[36, 19, 9])
    >>> fit_shrunk_spline(table).shrinkage
    0.0
    """
    found = _fitted(table, floor, unit=design_effect * table.weight_squares / table.weight)
    gain = found.likelihood - found.likelihood_of_forecasts
    return found.curve.shrunk(share_kept(gain, design_effect * found.expected_ratio))


class _Fitted(NamedTuple):
    """A fitted curve, the two log-likelihoods, and twice their expected difference under calibration."""

    curve: SplineMap
    likelihood: float
    likelihood_of_forecasts: float
    expected_ratio: float


def _fitted(table: ForecastTable, floor: float | None, unit: float) -> _Fitted:
    """Fit the spline, with penalties in units of a case."""
    least = floor_of(table) if floor is None else checked_floor(floor)
    x, weights = log_odds(table.forecast, least), table.weights
    knots = np.unique(weighted_quantile(x, weights, np.linspace(OUTER, 1.0 - OUTER, KNOTS)))
    centre = float((weights * x).sum()) / table.weight
    penalty = unit * _penalty(len(knots))
    departure = np.zeros(1 + len(knots))
    if len(table) > GROUPS:
        start = starts_by_share((np.cumsum(weights) - weights / 2.0) / table.weight, GROUPS)
        mean = np.add.reduceat(weights * x, start) / np.add.reduceat(weights, start)
        events, others = (np.add.reduceat(one, start) for one in (table.events, table.non_events))
        departure = _climb(_basis(mean, knots, centre), mean, events, others, penalty, departure)
    basis = _basis(x, knots, centre)
    departure = _climb(basis, x, table.events, table.non_events, penalty, departure)
    spread = expit(x) * expit(-x)
    information, noise = ((basis * (one * spread)[:, None]).T @ basis
                          for one in (weights, table.event_squares + table.non_event_squares))  # fmt: skip
    slopes = np.maximum(1.0 + departure[1:], 0.0)
    at_first = _basis(knots[:1], knots, centre)[0]
    curve = SplineMap(knots=knots, level=float(knots[0] + at_first @ departure), slopes=slopes, floor=least)
    return _Fitted(
        curve,
        log_likelihood(x + basis @ departure, table.events, table.non_events),
        log_likelihood(x, table.events, table.non_events),
        expected_ratio(information, noise, penalty),
    )


def _curve(x: Floats, knots: Floats, level: float, slopes: Floats) -> Floats:
    """Return the values of the spline; see `SplineMap`."""
    values, bends = _pieces(knots, level, slopes)
    place = np.maximum(np.searchsorted(knots, x, side="right") - 1, 0)
    beyond = x - knots[place]
    return values[place] + beyond * (slopes[place] + np.maximum(beyond, 0.0) * bends[place])


def _pieces(knots: Floats, level: float, slopes: Floats) -> tuple[Floats, Floats]:
    """Return the values at the knots, and the quadratic coefficient of the piece after each."""
    steps = np.diff(knots)
    values = level + np.concatenate([[0.0], np.cumsum(steps * (slopes[:-1] + slopes[1:]) / 2.0)])
    return values, np.append(np.diff(slopes) / (2.0 * steps), 0.0)


def _basis(x: Floats, knots: Floats, centre: float) -> Floats:
    """Return the derivatives of the curve by its level at the centre and by the slope at each knot."""
    points = np.append(x, centre)
    columns = [_curve(points, knots, 0.0, one) for one in np.eye(len(knots))]
    return np.column_stack([np.ones(len(x)), *(column[:-1] - column[-1] for column in columns)])


def _penalty(knots: int) -> Floats:
    """Return the penalty matrix for the differences of level and slopes from the identity."""
    found = np.zeros((1 + knots, 1 + knots))
    found[0, 0] = LINE
    found[1:, 1:] = LINE / knots**2
    changes = np.diff(np.eye(knots), axis=0)
    found[1:, 1:] += BEND * changes.T @ changes
    return found


def _climb(basis: Floats, x: Floats, events: Floats, non_events: Floats, penalty: Floats, start: Floats) -> Floats:
    """Return the changes of level and slopes that maximise the penalised likelihood with nonnegative slopes."""

    def sums(departure: Floats) -> Sums:
        log_odds_now = x + basis @ departure
        event, non_event = expit(log_odds_now), expit(-log_odds_now)
        hessian = (basis * ((events + non_events) * event * non_event)[:, None]).T @ basis
        gradient = basis.T @ (non_events * event - events * non_event)
        return Sums(-log_likelihood(log_odds_now, events, non_events), gradient, hessian)

    lowest = np.append(-np.inf, np.full(len(start) - 1, -1.0))
    found = newton(penalised(sums, penalty, np.zeros(len(start))), start, lowest)
    if found is None:
        raise InputValueError("the spline did not converge")
    return found
