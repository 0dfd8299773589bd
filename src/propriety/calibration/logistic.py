"""Logistic recalibration: the log-odds of the event as a linear or smooth function of the forecast's log-odds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from propriety.errors import InputValueError
from propriety.result import Floats
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.laws import weighted_quantile

MAX_STEPS = 50
FEW_ROWS = 2**12  # A fit of more rows starts from that of this many runs of them.
# A fit has converged when the next step moves no row's log-odds by more than this share of the largest.
LAST_STEP = 1e-10
# Log-odds that a separating direction may move the wrong way, as a share of its largest move.
SEPARATION = 1e-3
RANK = 1e-12
RIDGE = 1e-14
TINY = 1e-290
GRID_POINTS = 201
# Harrell's outermost knots; the others are at equally spaced quantile levels between them.
OUTER_KNOT = {3: 0.1, 4: 0.05, 5: 0.05, 6: 0.05, 7: 0.025}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LogisticFit:
    """Maximum-likelihood fit of a logistic regression.

    Parameters
    ----------
    coefficients : array of shape (columns,)
        One for each column of the design.
    covariance : array of shape (columns, columns)
        Inverse of the Fisher information, in which a weight of w counts as w cases.
    converged : bool
        Whether the iterations converged.
    """

    coefficients: Floats
    covariance: Floats
    converged: bool


def fit_logistic(design: Floats, events: Floats, non_events: Floats, offset: Floats | None = None) -> LogisticFit:
    r"""Fit a logistic regression to grouped outcomes by iteratively reweighted least squares.

    It maximises the log-likelihood of :math:`e_i` events and :math:`f_i` non-events in row :math:`i`,

    .. math:: \sum_i e_i \log \mu_i + f_i \log (1 - \mu_i), \qquad
              \operatorname{logit} \mu_i = o_i + x_i^\top \beta .

    Parameters
    ----------
    design : array of shape (rows, columns)
        The rows :math:`x_i`; include a constant column for an intercept.
    events, non_events : array of shape (rows,)
        Weights :math:`e_i` and :math:`f_i`.
    offset : array of shape (rows,), optional
        Log-odds :math:`o_i` with a fixed coefficient of one; zero by default.

    Returns
    -------
    LogisticFit
        Coefficients, their covariance, and whether the iterations converged.

    Raises
    ------
    InputValueError
        If the likelihood has no maximum, because all outcomes are of one class or the design separates the two, or no
        unique maximum, because columns are linearly dependent.

    References
    ----------
    Albert & Anderson (1984), doi:10.1093/biomet/71.1.1, for when there is a maximum.

    Examples
    --------
    >>> fit = fit_logistic(np.ones((2, 1)), np.array([1.0, 2.0]), np.array([5.0, 4.0]))
    >>> fit.coefficients.round(6), fit.covariance.round(6)
    (array([-1.098612]), array([[0.444444]]))
    """
    if not (events.any() and non_events.any()):
        law = f"a logistic fit needs outcomes of both classes; all are {'events' if events.any() else 'non-events'}"
        raise InputValueError(law)
    total = float(events.sum() + non_events.sum())
    events, non_events = events / total, non_events / total
    basis, back = _orthonormal(design, events + non_events)
    fixed = np.zeros(len(design)) if offset is None else offset
    start = np.zeros(len(basis))
    if len(design) >= 2 * FEW_ROWS:
        # A fit to runs of neighbouring rows is close, and saves most of the steps.
        first = np.arange(FEW_ROWS) * len(design) // FEW_ROWS
        size = np.diff(first, append=len(design))
        near = _ascent(
            np.add.reduceat(basis, first, axis=1) / size,
            np.add.reduceat(events, first),
            np.add.reduceat(non_events, first),
            np.add.reduceat(fixed, first) / size,
            start,
        )
        start = near.coefficients if near.converged else start
    found = _ascent(basis, events, non_events, fixed, start)
    if not found.converged and _separates(found.move, events, non_events, slack=SEPARATION):
        law = "a logistic fit needs outcomes that the forecasts do not separate into events and non-events"
        hint = 'such data have no finite slope; for a curve use method="corp", in recalibrate use method="auto".'
        raise InputValueError(law, hint=hint)
    root = back @ np.linalg.inv(np.linalg.cholesky(_information(basis, found.fitted))).T
    return LogisticFit(
        coefficients=back @ found.coefficients, covariance=root @ root.T / total, converged=found.converged
    )


def natural_spline_basis(x: Floats, knots: Floats) -> Floats:
    r"""Natural (restricted) cubic spline basis: cubic between knots, linear outside, smooth everywhere.

    In addition to :math:`x` it has, for each of the first :math:`k - 2` of the knots :math:`t_1 < \dots < t_k`,

    .. math:: \frac{(x - t_j)_+^3
              - (x - t_{k-1})_+^3 \frac{t_k - t_j}{t_k - t_{k-1}}
              + (x - t_k)_+^3 \frac{t_{k-1} - t_j}{t_k - t_{k-1}}}{(t_k - t_1)^2} .

    Parameters
    ----------
    x : array of shape (n,)
        Points.
    knots : array of shape (k,)
        Knots, strictly increasing; with two or fewer the basis is a straight line.

    Returns
    -------
    array of shape (n, max(k - 1, 1))
        The basis without the constant.

    References
    ----------
    Harrell (2015), Regression Modeling Strategies, section 2.4.5, doi:10.1007/978-3-319-19425-7.

    Examples
    --------
    >>> natural_spline_basis(np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.0, 1.0, 2.0]))
    array([[0.  , 0.  ],
           [1.  , 0.25],
           [2.  , 1.5 ],
           [3.  , 3.  ]])
    """
    if len(knots) < 3:
        return x[:, None]
    cubes = np.maximum(x[:, None] - knots, 0.0) ** 3
    first, before_last, last = knots[:-2], knots[-2], knots[-1]
    bend_before_last = (last - first) / (last - before_last)
    bend_last = (before_last - first) / (last - before_last)
    bends = cubes[:, :-2] - cubes[:, -2:-1] * bend_before_last + cubes[:, -1:] * bend_last
    return np.column_stack([x, bends / (last - knots[0]) ** 2])


def smooth_recalibration(table: ForecastTable, knots: int = 4) -> tuple[Floats, Floats]:
    r"""Fit the event rate as a smooth function of the forecast: a natural spline on the log-odds scale.

    .. math:: \operatorname{logit} P(Y = 1 \mid p) = s(\operatorname{logit} p) .

    Parameters
    ----------
    table : ForecastTable
        Forecasts strictly between 0 and 1, with outcomes of both classes.
    knots : int
        Number of knots, 3 to 7, at the weighted quantiles of the forecasts that Harrell recommends: 0.05, 0.35, 0.65
        and 0.95 for four. Equal quantiles give one knot, and a table of k distinct forecasts has at most k knots. Fewer
        than three knots give a straight line, and a single forecast a constant.

    Returns
    -------
    forecast, event_rate : array of shape (points,)
        The curve at each distinct forecast, or at 201 equally spaced points if there are more.

    References
    ----------
    Austin & Steyerberg (2014), doi:10.1002/sim.5941; Harrell (2015), Regression Modeling Strategies,
    doi:10.1007/978-3-319-19425-7.

    Examples
    --------
    >>> table = ForecastTable.from_predictions([0, 0, 1, 0, 1, 1], [0.2, 0.2, 0.2, 0.8, 0.8, 0.8])
    >>> smooth_recalibration(table)[1].round(6)
    array([0.333333, 0.666667])
    """
    if knots not in OUTER_KNOT:
        raise InputValueError("must be a whole number from 3 to 7", argument="knots", got=knots)
    certain = (table.forecast == 0.0) | (table.forecast == 1.0)
    if certain.any():
        law = "a smooth curve needs forecasts strictly between 0 and 1, because 0 and 1 have no log-odds"
        offender = f"the table has forecasts of exactly {' and '.join(f'{p:g}' for p in table.forecast[certain])}"
        raise InputValueError(law, offender=offender, hint='use method="corp".')
    x = logit(table.forecast)
    places = _knots(x, table.weights, min(knots, len(table)))
    columns = slice(len(table))  # With a single forecast only the constant, the first column, is fitted.
    fit = fit_logistic(_spline_design(x, places)[:, columns], table.events, table.non_events)
    if not fit.converged:
        law = f"the smooth curve did not converge in {MAX_STEPS} steps"
        raise InputValueError(law, hint='use fewer knots, or method="corp".')
    forecast = table.forecast
    if len(table) > GRID_POINTS:
        forecast = np.linspace(forecast[0], forecast[-1], GRID_POINTS)
    return forecast, expit(_spline_design(logit(forecast), places)[:, columns] @ fit.coefficients)


def _knots(x: Floats, weight: Floats, number: int) -> Floats:
    """Return the distinct knots; they are data points, so that the coefficients of the spline are identified."""
    if number < 3:
        return x[:0]
    outer = OUTER_KNOT[number]
    return np.unique(weighted_quantile(x, weight, np.linspace(outer, 1.0 - outer, number)))


def _spline_design(x: Floats, knots: Floats) -> Floats:
    return np.column_stack([np.ones(len(x)), natural_spline_basis(x, knots)])


def _orthonormal(design: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Return an orthonormal basis of the columns under the weights, one per row, and the map back to coefficients."""
    scale = np.sqrt(weight / weight.sum())
    columns = np.ascontiguousarray(design.T)
    triangle = np.linalg.qr((scale * columns).T, mode="r")
    size = np.linalg.norm(triangle, axis=0)
    # Singular values of columns scaled to unit length do not depend on the units of the columns.
    spread = np.linalg.svd(triangle / np.where(size > 0.0, size, 1.0), compute_uv=False)
    if len(design) < design.shape[1] or spread[-1] <= RANK * spread[0]:
        law = "a logistic fit needs linearly independent columns"
        raise InputValueError(law, hint="are all forecasts equal? Then there is no slope to fit.")
    back = np.linalg.inv(triangle)
    return back.T @ columns, back


@dataclass(frozen=True, slots=True, eq=False)
class _Fitted:
    """Log-odds of the rows, the variance of their outcomes, and events minus the expected number of events."""

    log_odds: Floats
    variance: Floats
    residual: Floats

    @classmethod
    def at(cls, log_odds: Floats, events: Floats, non_events: Floats) -> _Fitted:
        # Both probabilities are computed, because one minus the other is inaccurate if it is almost zero. NumPy's
        # exponential takes a fraction of the time of SciPy's `expit`.
        small = np.exp(-np.abs(log_odds))
        large = 1.0 / (1.0 + small)
        small *= large
        likely = log_odds >= 0.0
        event, non_event = np.where(likely, large, small), np.where(likely, small, large)
        variance = (events + non_events) * event * non_event
        return cls(log_odds, variance, events * non_event - non_events * event)


class _Ascent(NamedTuple):
    """Where Newton's method ended: the coefficients of the basis, the last move of the rows, and their fit."""

    coefficients: Floats
    move: Floats
    fitted: _Fitted
    converged: bool


def _ascent(basis: Floats, events: Floats, non_events: Floats, offset: Floats, start: Floats) -> _Ascent:
    """Climb the likelihood from a start, until a step is small or the likelihood is seen to have no maximum."""
    coefficients, move = start.copy(), np.zeros(len(offset))
    fitted = _Fitted.at(offset + start @ basis, events, non_events)
    for _ in range(MAX_STEPS):
        step = _newton_step(basis, fitted)
        move = step @ basis
        converged = bool(np.abs(move).max() <= LAST_STEP * max(1.0, np.abs(fitted.log_odds).max()))
        if not converged and _separates(move, events, non_events):
            break
        share, fitted = _climb(fitted, move, events, non_events)
        coefficients += share * step
        if converged:
            return _Ascent(coefficients, move, fitted, converged=True)
    return _Ascent(coefficients, move, fitted, converged=False)


def _information(basis: Floats, fitted: _Fitted) -> Floats:
    """Return the Fisher information, with a ridge that matters only if all fitted rates are almost 0 or 1."""
    information: Floats = (basis * fitted.variance) @ basis.T
    np.fill_diagonal(information, information.diagonal() + RIDGE * information.trace() + TINY)
    return information


def _newton_step(basis: Floats, fitted: _Fitted) -> Floats:
    step = np.linalg.solve(_information(basis, fitted), basis @ fitted.residual)
    return np.asarray(step, dtype=np.float64)


def _climb(fitted: _Fitted, move: Floats, events: Floats, non_events: Floats) -> tuple[float, _Fitted]:
    """Take a step, shortened if it overshoots the maximum by far; return the share of the step taken."""
    longest = 10.0 + 2.0 * float(np.abs(fitted.log_odds).max())
    share = min(1.0, longest / max(float(np.abs(move).max()), 1.0))
    # The slope detects an overshoot more accurately than a difference of likelihoods, which is mostly rounding error
    # near the maximum. At the maximum the slope is rounding error too, and need not be positive.
    slope = float(move @ fitted.residual)
    while True:
        there = _Fitted.at(fitted.log_odds + share * move, events, non_events)
        if slope <= 0.0 or move @ there.residual >= -slope / 2.0:
            return share, there
        share /= 2.0


def _separates(move: Floats, events: Floats, non_events: Floats, slack: float = 0.0) -> bool:
    """Whether a step raises all events and lowers all non-events, so that the likelihood has no maximum."""
    against = slack * np.abs(move).max()
    return bool((move[events > 0.0] >= -against).all() and (move[non_events > 0.0] <= against).all())
