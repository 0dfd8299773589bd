"""Maps that are lines or simple curves in log-odds: intercept, slope, logistic, beta, and corrections of the prior."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from scipy.special import expit, logit

from propriety import checks
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
)
from propriety.recalibration.written_maps import Column, Written, expit_of, farthest_of, log_odds_of
from propriety.result import Floats
from propriety.tables.forecast_table import ForecastTable

LARGEST = 1e9  # Largest absolute value of a coefficient, so that no log-odds overflow.
LARGEST_SHIFT = 700.0  # Of the log-odds, so that the factor of the odds does not overflow.


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class OddsMap(RecalibrationMap):
    r"""A line in log-odds, or a curve with other slopes near 0 and 1.

    .. math:: \operatorname{logit} q = c + a \log p - b \log(1 - p)

    With :math:`a = b` this is a line, :math:`\operatorname{logit} q = c + a \operatorname{logit} p`. With a slope of 1
    it multiplies the odds by :math:`e^c`, a prior shift; with an intercept of 0 it is temperature scaling with a
    temperature of :math:`1 / a`; with both free it is Platt scaling of the log-odds. With :math:`a \ne b` it is beta
    calibration.

    Parameters
    ----------
    intercept, slope : float
        c and a.
    slope_at_1 : float, optional
        b, the slope where p is close to 1, with a the slope close to 0; by default the same. Different slopes must not
        be negative.
    floor : float
        Forecasts closer to 0 or 1 than this are moved to this distance; see `floor_of`.

    References
    ----------
    Cox (1958), doi:10.1093/biomet/45.3-4.562; Platt (1999), Probabilistic outputs for support vector machines; Guo,
    Pleiss, Sun & Weinberger (2017), arXiv:1706.04599, for the temperature; Kull, Silva Filho & Flach (2017),
    doi:10.1214/17-EJS1338SI, for beta calibration.

    Examples
    --------
    >>> OddsMap(slope=0.5, floor=1e-6)([0.2, 0.5, 0.8]).round(3)
    array([0.333, 0.5  , 0.667])
    >>> OddsMap(intercept=np.log(0.25))([0.0, 0.5, 0.8, 1.0])
    array([0. , 0.2, 0.5, 1. ])
    """

    kind: ClassVar[str] = "odds"

    intercept: float = 0.0
    slope: float = 1.0
    slope_at_1: float | None = field(default=None, metadata={"optional": True})
    floor: float = 0.0

    def __post_init__(self) -> None:
        numbers = self.parameters.items()
        self.settle(**{name: checked_number(name, value, low=-LARGEST, high=LARGEST) for name, value in numbers})
        checked_floor(self.floor)
        if self.slope_at_1 is not None and min(self.slopes) < 0.0:
            law = "slope and slope_at_1 must not be negative"
            raise InputValueError(law, offender=f"got {self.slope!r} and {self.slope_at_1!r}")

    @property
    def slopes(self) -> tuple[float, float]:
        """The slopes close to 0 and close to 1."""
        return self.slope, self.slope if self.slope_at_1 is None else self.slope_at_1

    def recalibrated(self, forecast: Floats) -> Floats:
        """Return the recalibrated forecasts."""
        p, (a, b) = floored(forecast, self.floor), self.slopes
        if self.is_shift:
            return self._shifted(p)
        with np.errstate(divide="ignore"):  # Forecasts of 0 and 1, if the floor does not exclude them.
            up, down = (np.maximum(one, -FARTHEST) for one in (np.log(p), np.log1p(-p)))
        return expit(self.intercept + a * up - b * down)

    def written(self, p: Column, ops: Written) -> Column:
        """Return the map applied to a column; with the log-odds x it is c + a x + (a - b) log(1 - p)."""
        a, b = self.slopes
        inside = ops.clip(p, self.floor, 1.0 - self.floor) if self.floor else p
        if self.is_shift:
            return self._shifted(inside)
        line = self.intercept + a * log_odds_of(p, self.floor, ops)
        reach = abs(self.intercept) + max(abs(a), abs(b)) * farthest_of(self.floor)
        return expit_of(line if a == b else line + (a - b) * ops.log(1.0 - inside), reach, ops)

    def _shifted(self, p: Column) -> Column:
        raised = self.factor * p
        return raised / (raised + (1.0 - p))

    @property
    def is_shift(self) -> bool:
        """Whether the map multiplies all odds by a factor, which needs no logarithms."""
        return self.slopes == (1.0, 1.0) and abs(self.intercept) <= LARGEST_SHIFT

    @property
    def is_monotone(self) -> bool:
        """Whether the slope is nonnegative."""
        return self.slope >= 0.0

    @property
    def factor(self) -> float:
        """What odds of 1 are multiplied by; all odds, if the slope is 1."""
        return math.exp(self.intercept)

    @property
    def formula(self) -> str:
        """The map in one line."""
        a, b = self.slopes
        if self.is_shift:
            return f"q / (1 - q) = {self.factor:.4g} p / (1 - p)"
        if a == b:
            return f"logit q = {self.intercept:.4g} + {a:.4g} logit p"
        return f"logit q = {self.intercept:.4g} + {a:.4g} log p - {b:.4g} log(1 - p)"


def fit_intercept(table: ForecastTable, *, floor: float | None = None) -> OddsMap:
    """Fit the intercept by maximum likelihood, with a slope of 1.

    Parameters
    ----------
    table : ForecastTable
        Cases with and without the event; a weight of w counts as w cases.
    floor : float, optional
        Forecasts are kept this far from 0 and 1; by default computed from the table, see `floor_of`.

    Returns
    -------
    OddsMap
        The map.

    Examples
    --------
    >>> table = ForecastTable(forecast=[0.1, 0.8], events=[10, 30], non_events=[30, 10])
    >>> fit_intercept(table)
    OddsMap(intercept=0.405465, slope=1, floor=0.05)
    """
    inside, least = _inside(table, floor)
    (intercept,) = cox_line(inside, slope=False).coefficients.tolist()
    return OddsMap(intercept=intercept, slope=1.0, floor=least)


def fit_slope(table: ForecastTable, *, floor: float | None = None) -> OddsMap:
    """Fit the slope by maximum likelihood, with an intercept of 0.

    Parameters
    ----------
    table : ForecastTable
        Cases with and without the event; a weight of w counts as w cases.
    floor : float, optional
        Forecasts are kept this far from 0 and 1; by default computed from the table, see `floor_of`.

    Returns
    -------
    OddsMap
        The map.

    Examples
    --------
    >>> table = ForecastTable(forecast=[0.1, 0.8], events=[10, 30], non_events=[30, 10])
    >>> fit_slope(table)
    OddsMap(intercept=0, slope=0.590432, floor=0.05)
    """
    inside, least = _inside(table, floor)
    (slope,) = _coefficients(inside, logit(inside.forecast))
    return OddsMap(intercept=0.0, slope=slope, floor=least)


def fit_logistic(table: ForecastTable, *, floor: float | None = None) -> OddsMap:
    """Fit intercept and slope by maximum likelihood.

    Parameters
    ----------
    table : ForecastTable
        Cases with and without the event; a weight of w counts as w cases.
    floor : float, optional
        Forecasts are kept this far from 0 and 1; by default computed from the table, see `floor_of`.

    Returns
    -------
    OddsMap
        The map.

    Examples
    --------
    >>> table = ForecastTable(forecast=[0.1, 0.8], events=[10, 30], non_events=[30, 10])
    >>> fit_logistic(table)([0.1, 0.8])
    array([0.25, 0.75])
    """
    inside, least = _inside(table, floor)
    slope, intercept = cox_line(inside, slope=True).coefficients.tolist()
    return OddsMap(intercept=intercept, slope=slope, floor=least)


def fit_beta(table: ForecastTable, *, floor: float | None = None) -> OddsMap:
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
    OddsMap
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
    return OddsMap(intercept=c, slope=a, slope_at_1=b, floor=least)


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


def prior_correction(
    *,
    prior: float | None = None,
    sampled_at: float | None = None,
    event_weight: float | None = None,
    non_events_kept: float | None = None,
) -> OddsMap:
    r"""Return the map that undoes class weights or the sampling of cases by their outcome.

    For a model that was trained at an event rate of :math:`\tau` and is used at an event rate of :math:`\pi`, Bayes'
    theorem gives the corrected odds

    .. math:: \frac{q}{1 - q} = \frac{p}{1 - p} \cdot \frac{\pi / (1 - \pi)}{\tau / (1 - \tau)},

    provided that sampling and weights depended only on the outcome. Giving events w times the weight of non-events
    multiplies the odds by w, and so does keeping a share of 1 / w of the non-events. The map divides the odds by w.

    Parameters
    ----------
    prior : float
        The event rate among the cases for which the forecasts are used.
    sampled_at : float
        The event rate in training, as sampled and weighted.
    event_weight : float
        Instead of the rates: the weight of an event in training relative to that of a non-event, such as
        ``scale_pos_weight``, a ratio of class weights, or the number of copies of each event.
    non_events_kept : float
        Instead of the rates: the share of the non-events kept in training. It can be combined with `event_weight`.

    Returns
    -------
    OddsMap
        The map. It can be called with forecasts or written as an expression or SQL; there is nothing to fit.

    Notes
    -----
    The map corrects only the effect of the sampling. Evaluate the corrected forecasts on cases that were not sampled;
    see `evaluate` and `recalibrate`.

    References
    ----------
    Elkan (2001), The foundations of cost-sensitive learning; Saerens, Latinne & Decaestecker (2002),
    doi:10.1162/089976602753284446; King & Zeng (2001), doi:10.1093/oxfordjournals.pan.a004868.

    Examples
    --------
    >>> fix = prior_correction(prior=0.01, sampled_at=0.5)
    >>> fix([0.5, 0.99]).round(3)
    array([0.01, 0.5 ])
    >>> prior_correction(non_events_kept=0.1)
    OddsMap(intercept=-2.30259, slope=1, floor=0)
    """
    rates, scheme = (prior, sampled_at), (event_weight, non_events_kept)
    if any(one is None for one in rates) if scheme == (None, None) else rates != (None, None):
        law = "pass prior= and sampled_at=, or else event_weight=, non_events_kept=, or both"
        raise InputValueError(law, hint="for example prior=0.01, sampled_at=0.5.")
    if prior is not None and sampled_at is not None:
        checks.number(prior, "prior", above=0.0, below=1.0)
        checks.number(sampled_at, "sampled_at", above=0.0, below=1.0)
        return OddsMap(intercept=float(logit(prior) - logit(sampled_at)))
    weight = 1.0 if event_weight is None else checks.number(event_weight, "event_weight", above=0.0, below=math.inf)
    kept = 1.0 if non_events_kept is None else checks.number(non_events_kept, "non_events_kept", above=0.0, most=1.0)
    return OddsMap(intercept=math.log(kept) - math.log(weight))
