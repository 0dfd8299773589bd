"""Maps that are lines or simple curves in log-odds: intercept, slope, logistic and beta."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np
from scipy.special import expit, logit

from propriety.calibration.logistic import cox_line
from propriety.calibration.logistic import fit_logistic as fit_regression
from propriety.errors import InputValueError
from propriety.recalibration.maps import (
    FARTHEST,
    RecalibrationMap,
    checked_floor,
    checked_number,
    floor_of,
    floored,
    log_odds,
)
from propriety.recalibration.written_maps import Column, Written, expit_of, farthest_of, log_odds_of
from propriety.result import Floats
from propriety.tables.forecast_table import ForecastTable

LARGEST = 1e9  # Largest absolute value of a coefficient, so that no log-odds overflow.


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class LogisticMap(RecalibrationMap):
    r"""A line in log-odds, :math:`\operatorname{logit} q = a + b \operatorname{logit} p`.

    With :math:`b = 1` it is a prior shift, with :math:`a = 0` temperature scaling with a temperature of :math:`1 / b`,
    and with both free it is Platt scaling of the log-odds.

    Parameters
    ----------
    intercept, slope : float
        a and b.
    floor : float
        Forecasts closer to 0 or 1 than this are moved to this distance; see `floor_of`.

    References
    ----------
    Cox (1958), doi:10.1093/biomet/45.3-4.562; Platt (1999), Probabilistic outputs for support vector machines; Guo,
    Pleiss, Sun & Weinberger (2017), arXiv:1706.04599, for the temperature.

    Examples
    --------
    >>> LogisticMap(intercept=0.0, slope=0.5, floor=1e-6)([0.2, 0.5, 0.8]).round(3)
    array([0.333, 0.5  , 0.667])
    """

    kind: ClassVar[str] = "logistic"

    intercept: float
    slope: float
    floor: float

    def __post_init__(self) -> None:
        _settle(self)

    def recalibrated(self, forecast: Floats) -> Floats:
        """Return the recalibrated forecasts."""
        return expit(self.intercept + self.slope * log_odds(forecast, self.floor))

    def written(self, p: Column, ops: Written) -> Column:
        """Return the map applied to a column."""
        reach = abs(self.intercept) + abs(self.slope) * farthest_of(self.floor)
        return expit_of(self.intercept + self.slope * log_odds_of(p, self.floor, ops), reach, ops)

    @property
    def is_monotone(self) -> bool:
        """Whether the slope is nonnegative."""
        return self.slope >= 0.0

    @property
    def formula(self) -> str:
        """The map in one line."""
        return f"logit q = {self.intercept:.4g} + {self.slope:.4g} logit p"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class BetaMap(RecalibrationMap):
    r"""Beta calibration, :math:`\operatorname{logit} q = c + a \log p - b \log(1 - p)` with nonnegative a and b.

    Parameters
    ----------
    a, b, c : float
        The coefficients.
    floor : float
        Forecasts closer to 0 or 1 than this are moved to this distance; see `floor_of`.

    References
    ----------
    Kull, Silva Filho & Flach (2017), doi:10.1214/17-EJS1338SI.

    Examples
    --------
    >>> BetaMap(a=1.0, b=1.0, c=0.0, floor=1e-6)([0.2, 0.5, 0.8])
    array([0.2, 0.5, 0.8])
    """

    kind: ClassVar[str] = "beta"

    a: float
    b: float
    c: float
    floor: float

    def __post_init__(self) -> None:
        _settle(self)
        if self.a < 0.0 or self.b < 0.0:
            raise InputValueError("a and b must not be negative", offender=f"got {self.a!r} and {self.b!r}")

    def recalibrated(self, forecast: Floats) -> Floats:
        """Return the recalibrated forecasts."""
        p = floored(forecast, self.floor)
        with np.errstate(divide="ignore"):  # Forecasts of 0 and 1, if the floor does not exclude them.
            up, down = (np.maximum(one, -FARTHEST) for one in (np.log(p), np.log1p(-p)))
        return expit(self.c + self.a * up - self.b * down)

    def written(self, p: Column, ops: Written) -> Column:
        """Return the map applied to a column; with the log-odds x it is c + a x + (a - b) log(1 - p)."""
        x = log_odds_of(p, self.floor, ops)
        inside = ops.clip(p, self.floor, 1.0 - self.floor)
        reach = abs(self.c) + (self.a + self.b) * farthest_of(self.floor)
        return expit_of(self.c + self.a * x + (self.a - self.b) * ops.log(1.0 - inside), reach, ops)

    @property
    def formula(self) -> str:
        """The map in one line."""
        return f"logit q = {self.c:.4g} + {self.a:.4g} log p - {self.b:.4g} log(1 - p)"


def fit_intercept(table: ForecastTable, *, floor: float | None = None) -> LogisticMap:
    """Fit the intercept by maximum likelihood, with a slope of 1.

    Parameters
    ----------
    table : ForecastTable
        Cases with and without the event; a weight of w counts as w cases.
    floor : float, optional
        Forecasts are kept this far from 0 and 1; by default computed from the table, see `floor_of`.

    Returns
    -------
    LogisticMap
        The map.

    Examples
    --------
    >>> table = ForecastTable(forecast=[0.1, 0.8], events=[10, 30], non_events=[30, 10])
    >>> fit_intercept(table)
    LogisticMap(intercept=0.405465, slope=1, floor=0.05)
    """
    inside, least = _inside(table, floor)
    (intercept,) = cox_line(inside, slope=False).coefficients.tolist()
    return LogisticMap(intercept=intercept, slope=1.0, floor=least)


def fit_slope(table: ForecastTable, *, floor: float | None = None) -> LogisticMap:
    """Fit the slope by maximum likelihood, with an intercept of 0.

    Parameters
    ----------
    table : ForecastTable
        Cases with and without the event; a weight of w counts as w cases.
    floor : float, optional
        Forecasts are kept this far from 0 and 1; by default computed from the table, see `floor_of`.

    Returns
    -------
    LogisticMap
        The map.

    Examples
    --------
    >>> table = ForecastTable(forecast=[0.1, 0.8], events=[10, 30], non_events=[30, 10])
    >>> fit_slope(table)
    LogisticMap(intercept=0, slope=0.590432, floor=0.05)
    """
    inside, least = _inside(table, floor)
    (slope,) = _coefficients(inside, logit(inside.forecast))
    return LogisticMap(intercept=0.0, slope=slope, floor=least)


def fit_logistic(table: ForecastTable, *, floor: float | None = None) -> LogisticMap:
    """Fit intercept and slope by maximum likelihood.

    Parameters
    ----------
    table : ForecastTable
        Cases with and without the event; a weight of w counts as w cases.
    floor : float, optional
        Forecasts are kept this far from 0 and 1; by default computed from the table, see `floor_of`.

    Returns
    -------
    LogisticMap
        The map.

    Examples
    --------
    >>> table = ForecastTable(forecast=[0.1, 0.8], events=[10, 30], non_events=[30, 10])
    >>> fit_logistic(table)([0.1, 0.8])
    array([0.25, 0.75])
    """
    inside, least = _inside(table, floor)
    slope, intercept = cox_line(inside, slope=True).coefficients.tolist()
    return LogisticMap(intercept=intercept, slope=slope, floor=least)


def fit_beta(table: ForecastTable, *, floor: float | None = None) -> BetaMap:
    """Fit beta calibration by maximum likelihood under its constraints.

    A coefficient that would be negative is set to 0, and the others are fitted again.

    Parameters
    ----------
    table : ForecastTable
        Cases with and without the event; a weight of w counts as w cases.
    floor : float, optional
        Forecasts are kept this far from 0 and 1; by default computed from the table, see `floor_of`.

    Returns
    -------
    BetaMap
        The map.

    Examples
    --------
    >>> table = ForecastTable(forecast=[0.1, 0.5, 0.8], events=[10, 20, 30], non_events=[30, 20, 10])
    >>> fit_beta(table)([0.1, 0.5, 0.8])
    array([0.25, 0.5 , 0.75])
    """
    inside, least = _inside(table, floor)
    up, down, constant = np.log(inside.forecast), -np.log1p(-inside.forecast), np.ones(len(inside))
    a, b, c = _coefficients(inside, up, down, constant)
    if a < 0.0 or b < 0.0:
        # The likelihood is concave, so its constrained maximum is on a bound that the unconstrained maximum violates.
        tried = [(0.0, 0.0, *_coefficients(inside, constant))]
        if b < 0.0:
            slope, level = _coefficients(inside, up, constant)
            tried += [(slope, 0.0, level)] if slope >= 0.0 else []
        if a < 0.0:
            slope, level = _coefficients(inside, down, constant)
            tried += [(0.0, slope, level)] if slope >= 0.0 else []
        a, b, c = max(tried, key=lambda one: _likelihood(inside, one[0] * up + one[1] * down + one[2]))
    return BetaMap(a=a, b=b, c=c, floor=least)


def log_likelihood(log_odds_of_rows: Floats, events: Floats, non_events: Floats) -> float:
    """Return the log-likelihood of rows of events and non-events, accurately for rates close to 0 and 1."""
    far = np.abs(log_odds_of_rows)
    lost = (events + non_events) * np.log1p(np.exp(-far)) + np.where(log_odds_of_rows < 0.0, events, non_events) * far
    return -float(lost.sum())


def _inside(table: ForecastTable, floor: float | None) -> tuple[ForecastTable, float]:
    """Return the table with floored forecasts, and the floor."""
    least = floor_of(table) if floor is None else checked_floor(floor)
    moved = floored(table.forecast, least)
    return (table if np.array_equal(moved, table.forecast) else table.moved(moved)), least


def _coefficients(table: ForecastTable, *columns: Floats) -> list[float]:
    fit = fit_regression(np.column_stack(columns), table.events, table.non_events)
    if not fit.converged:
        raise InputValueError("the fit of a recalibration map did not converge")
    return fit.coefficients.tolist()


def _likelihood(table: ForecastTable, log_odds_of_rows: Floats) -> float:
    return log_likelihood(log_odds_of_rows, table.events, table.non_events)


def _settle(fitted: LogisticMap | BetaMap) -> None:
    """Check the parameters and convert them to plain floats."""
    for field in fields(fitted):
        object.__setattr__(
            fitted, field.name, checked_number(field.name, getattr(fitted, field.name), low=-LARGEST, high=LARGEST)
        )
    checked_floor(fitted.floor)
