"""Logistic recalibration: log-odds of the event as a smooth function of those of the forecast, or as Cox's line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from propriety.calibration.calibration_errors import starts_by_share
from propriety.errors import InputValueError
from propriety.ledger.keyed_tables import KeyedTables
from propriety.result import Floats
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.identity_cache import IdentityCache
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
GROUPS_OF_LINE = 2**12  # Rows of the first fit, whose coefficients are off by a millionth of their standard errors.
MOST_STEPS_OF_LINE = 20
LAST_STEP_OF_LINE = 1e-8
_KNOWN: IdentityCache[dict[bool, CoxLine]] = IdentityCache()


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


@dataclass(frozen=True, slots=True, eq=False)
class CoxLine:
    r"""Fit of :math:`\operatorname{logit} P(Y = 1) = a + b x` with :math:`x = \operatorname{logit} p`.

    Parameters
    ----------
    coefficients : ndarray
        The slope b and the intercept a; or, with the slope fixed at 1, only the intercept.
    covariance : ndarray
        Inverse of the Fisher information, in which a weight of w counts as w cases.
    converged : bool
        Whether the iterations converged.
    """

    coefficients: Floats
    covariance: Floats
    converged: bool = True


def cox_line(table: ForecastTable, *, slope: bool) -> CoxLine:
    """Fit the line to a table, with a free slope or a slope of 1; the fit of a table is cached.

    Newton's method starts from the fit to at most 4,096 groups of neighbouring forecasts, so that only a few passes
    over a large table are needed. Forecasts of exactly 0 or 1, which have no log-odds, are left out. If they are right,
    no line changes their likelihood.

    References
    ----------
    Cox (1958), doi:10.1093/biomet/45.3-4.562.

    Examples
    --------
    >>> table = ForecastTable(forecast=[0.1, 0.8], events=[10, 30], non_events=[30, 10])
    >>> cox_line(table, slope=True).coefficients.round(3)
    array([0.613, 0.249])
    """
    known = _KNOWN.setdefault(table, {})
    if slope not in known:
        known[slope] = _fitted(table, slope=slope)
    return known[slope]


def _fitted(table: ForecastTable, *, slope: bool) -> CoxLine:
    what = "slope" if slope else "intercept"
    inside = (table.forecast > 0.0) & (table.forecast < 1.0)
    if not inside.any():
        law = f"a calibration {what} needs log-odds, which forecasts of exactly 0 or 1 do not have"
        raise InputValueError(law, offender="all forecasts are 0 or 1")
    forecast, events, non_events = table.forecast[inside], table.events[inside], table.non_events[inside]
    if not (events.any() and non_events.any()):
        among = "" if inside.all() else " among the forecasts other than 0 and 1"
        raise InputValueError(f"a calibration {what} needs cases with and without the event{among}")
    if slope and len(forecast) == 1:
        raise InputValueError("a calibration slope needs forecasts that differ; all are equal")
    x = logit(forecast)
    start = _whole_fit(*_grouped(forecast, x, events, non_events), slope=slope)
    if len(forecast) <= GROUPS_OF_LINE:
        return start
    climbed = _climbed(x, events, non_events, start.coefficients, slope=slope)
    return _whole_fit(x, events, non_events, slope=slope) if climbed is None else climbed


def _whole_fit(x: Floats, events: Floats, non_events: Floats, *, slope: bool) -> CoxLine:
    constant = np.ones(len(x))
    design = np.column_stack([x, constant]) if slope else constant[:, None]
    fit = fit_logistic(design, events, non_events, None if slope else x)
    return CoxLine(fit.coefficients, fit.covariance, fit.converged)


def _grouped(forecast: Floats, x: Floats, events: Floats, non_events: Floats) -> tuple[Floats, Floats, Floats]:
    """Group neighbouring rows with about equal variance of their events; their log-odds are averaged."""
    if len(x) <= GROUPS_OF_LINE:
        return x, events, non_events
    weight = (events + non_events) * forecast * (1.0 - forecast)
    start = starts_by_share((np.cumsum(weight) - weight / 2.0) / weight.sum(), GROUPS_OF_LINE)
    mean = np.add.reduceat(weight * x, start) / np.add.reduceat(weight, start)
    return mean, np.add.reduceat(events, start), np.add.reduceat(non_events, start)


def _climbed(x: Floats, events: Floats, non_events: Floats, start: Floats, *, slope: bool) -> CoxLine | None:
    """Maximise the likelihood by Newton's method; None if it does not converge."""
    weight = events + non_events
    coefficients = start.copy()
    for _ in range(MOST_STEPS_OF_LINE):
        rate = expit(coefficients[0] * x + coefficients[1] if slope else x + coefficients[0])
        score, curve = events - weight * rate, weight * rate * (1.0 - rate)
        if slope:
            curve_x = curve * x
            cross = float(curve_x.sum())
            gradient = np.array([float((score * x).sum()), float(score.sum())])
            information = np.array([[float((curve_x * x).sum()), cross], [cross, float(curve.sum())]])
        else:
            gradient, information = np.array([float(score.sum())]), np.array([[float(curve.sum())]])
        try:
            covariance = np.linalg.inv(information)
        except np.linalg.LinAlgError:
            return None
        step = covariance @ gradient
        coefficients = coefficients + step
        # Newton's method squares the error: after this step it is far below rounding error.
        if np.abs(step).max() <= LAST_STEP_OF_LINE * max(1.0, np.abs(coefficients).max()):
            return CoxLine(coefficients, covariance)
    return None


MAX_SLOPE_STEPS, LAST_SLOPE_STEP = 40, 1e-6
LONGEST = 2.0  # A step of Newton's method changes no log-odds of a typical forecast by more.


def fitted_slopes(keyed: KeyedTables, wanted: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    r"""Fit the line :math:`a + b x` to the log-odds of the event in each wanted table; return the slopes and errors.

    The log-odds x are those of the forecasts other than 0 and 1. Newton's method starts at a slope of 0 for all tables
    together. The standard errors are those of independent cases at the fitted rates. Where the slope is not determined,
    and in tables that are not wanted, the slope is NaN and its error infinite.

    Examples
    --------
    >>> from propriety.tables.forecast_table import ForecastTable
    >>> table = ForecastTable(forecast=[0.1, 0.8], events=[10, 30], non_events=[30, 10])
    >>> slope, error = fitted_slopes(KeyedTables.of_tables([table]), np.array([True]))
    >>> slope.round(3), error.round(3)
    (array([0.613]), array([0.144]))
    """
    tables = len(keyed.n)
    used = np.flatnonzero(wanted[keyed.entry] & (keyed.forecast > 0.0) & (keyed.forecast < 1.0))
    entry, events, non_events = keyed.entry[used], keyed.events[used], keyed.non_events[used]
    weight, squares = events + non_events, keyed.event_squares[used] + keyed.non_event_squares[used]

    def summed(values: Floats) -> Floats:
        return np.bincount(entry, values, minlength=tables).astype(np.float64)

    x = logit(keyed.forecast[used])
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        x -= (summed(weight * x) / summed(weight))[entry]
        scale = np.sqrt(summed(weight * x**2) / summed(weight))
        level, slope = logit(summed(events) / summed(weight)), np.zeros(tables)
        longest = np.full(tables, np.inf)
        for _ in range(MAX_SLOPE_STEPS):
            rate = expit(level[entry] + slope[entry] * x)
            residual, curve = events - weight * rate, weight * rate * (1.0 - rate)
            first, mixed, second = summed(curve), summed(curve * x), summed(curve * x**2)
            determinant = first * second - mixed**2
            of_level, of_slope = summed(residual), summed(residual * x)
            up = (second * of_level - mixed * of_slope) / determinant
            along = (first * of_slope - mixed * of_level) / determinant
            longest = np.maximum(np.abs(up), np.abs(along) * scale)
            shorter = np.minimum(1.0, LONGEST / longest)
            level, slope = level + shorter * up, slope + shorter * along
            if ((longest <= LAST_SLOPE_STEP) | ~np.isfinite(longest)).all():
                break
        rate = expit(level[entry] + slope[entry] * x)
        curve, spread = weight * rate * (1.0 - rate), squares * rate * (1.0 - rate)
        first, mixed, second = summed(curve), summed(curve * x), summed(curve * x**2)
        parts = summed(spread), summed(spread * x), summed(spread * x**2)
        variance = mixed**2 * parts[0] - 2.0 * first * mixed * parts[1] + first**2 * parts[2]
        variance /= (first * second - mixed**2) ** 2
        error = np.sqrt(variance)
    known = (longest <= LAST_SLOPE_STEP) & np.isfinite(slope) & ~_are_separate(entry, x, events, non_events, tables)
    return np.where(known, slope, np.nan), np.where(known, error, np.inf)


def _are_separate(
    entry: NDArray[np.intp], x: Floats, events: Floats, non_events: Floats, tables: int
) -> NDArray[np.bool_]:
    """Whether all events of a table have forecasts at least as high, or at most as high, as its non-events.

    The best slope is then infinite; whether Newton's method notices depends on rounding.
    """
    ends = []
    for weight in (events, non_events):
        happened = weight > 0.0
        low, high = np.full(tables, np.inf), np.full(tables, -np.inf)
        np.minimum.at(low, entry[happened], x[happened])
        np.maximum.at(high, entry[happened], x[happened])
        ends.append((low, high))
    (low, high), (lowest, highest) = ends
    return np.asarray((low >= highest) | (high <= lowest))
