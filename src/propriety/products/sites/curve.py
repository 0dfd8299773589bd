"""`pooled_curve`: the calibration curve of the mean site with its band, and the range of that of a further site."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, stdtrit

from propriety.calibration.logistic import OUTER_KNOT, natural_spline_basis
from propriety.checks import check_level
from propriety.errors import InputValueError
from propriety.inference.events_by_group import EventsByGroup
from propriety.inference.group_rows import texts_of_labels
from propriety.ledger.ledger import Ledger
from propriety.products.sites.pooling import by_site
from propriety.result import Floats, Names, Result
from propriety.tables.laws import weighted_quantile

KNOTS, POINTS = 4, 101
TAIL = 0.01  # Share of the cases beyond either end of the curve, where a few of them would determine it.
STEPS, CLOSE = 50, 1e-6
FEWEST_SITES = 4  # The range has two degrees of freedom fewer than sites.
START = np.array([-1.5, 0.0, -2.0])  # Logarithms of standard deviations, and a covariance, that sites often have.


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class PooledCurve(Result):
    """Calibration curve over sites; see `propriety.pooled_curve`.

    Parameters
    ----------
    forecast, event_rate : ndarray of shape (points,)
        The curve of the mean site.
    low, high : ndarray of shape (points,)
        Its pointwise confidence limits.
    further_low, further_high : ndarray of shape (points,)
        Pointwise limits of the curve of a further site.
    tau_level, tau_slope : float
        Standard deviations between sites, of the log-odds of the event at the mean forecast and of the slope.
    site : ndarray of str of shape (sites,)
        The labels of the sites.
    site_rate : ndarray of shape (sites, points)
        The curve of each site, drawn towards the mean by as much as its cases leave open.
    level : float
        Level of the limits.
    n : int
        Number of cases.
    """

    facts: ClassVar[tuple[str, ...]] = ("tau_level", "tau_slope", "level", "n")

    forecast: Floats
    event_rate: Floats
    low: Floats
    high: Floats
    further_low: Floats
    further_high: Floats
    tau_level: float
    tau_slope: float
    site: Names
    site_rate: Floats
    level: float
    n: int


def pooled_curve(
    ledger: Ledger, model: str | None = None, *, by: str | None = None, level: float = 0.95
) -> PooledCurve:
    r"""Fit one calibration curve to all sites of a ledger, of which each has a level and a slope of its own.

    With the log-odds x of a forecast, the log-odds of the event in site i are

    .. math:: s(x) + a_i + b_i x, \qquad (a_i, b_i) \sim N(0, D),

    where s is a natural spline with four knots. The tables of the sites are all that is needed.

    Parameters
    ----------
    ledger : Ledger
        A ledger from `propriety.condense`, with a key of sites.
    model : str, optional
        The model, by default the only one.
    by : str, optional
        The key whose labels are the sites, by default the only one.
    level : float
        Level of the limits.

    Returns
    -------
    PooledCurve
        The curve of the mean site in log-odds with its band, and the range of that of a further site.

    Notes
    -----
    The fit is a penalized quasi-likelihood with D by restricted maximum likelihood, and a prior that keeps D from being
    estimated as 0. Limits have as many degrees of freedom as sites less one, those of a further site less two.
    Simulations: `studies/pooled_curves.py`.

    References
    ----------
    Breslow & Clayton (1993), doi:10.1080/01621459.1993.10594284; Chung et al. (2015), doi:10.3102/1076998615570945, for
    the prior; Barreñada et al. (2025), arXiv:2503.08389, for pooled curves from cases.

    Examples
    --------
    >>> import propriety as pr
    >>> rng = np.random.default_rng(1)
    >>> site, p = np.arange(3000) % 10, rng.beta(2, 5, 3000)
    >>> y = rng.random(3000) < expit(logit(p) + rng.normal(0, 0.3, 10)[site])
    >>> curve = pooled_curve(pr.condense(y, p, by={"site": site}))
    >>> [round(float(column[50]), 2) for column in (curve.forecast, curve.event_rate, curve.low, curve.high)]
    [0.19, 0.2, 0.16, 0.24]
    """
    check_level(level)
    whole = by_site(ledger, by)
    if whole.labels is not None:
        raise InputValueError("a pooled curve needs a ledger of one event; this one has classes", argument="ledger")
    if (sites := len(whole.index)) < FEWEST_SITES:
        law = f"must have at least {FEWEST_SITES} sites for a pooled curve"
        raise InputValueError(law, argument="ledger", offender=f"it has {sites}")
    events = EventsByGroup.of(whole, whole.one_model(model))
    keyed, weight = events.keyed, events.keyed.events + events.keyed.non_events
    inside = (keyed.forecast > 0.0) & (keyed.forecast < 1.0)
    scale = _Scale.of(logit(keyed.forecast[inside]), weight[inside])
    factor = 1.0 / _variance_factor(events)[keyed.entry[inside]]
    basis = scale.basis(logit(keyed.forecast[inside]))
    rows = _Rows(basis, keyed.events[inside] * factor, weight[inside] * factor, keyed.entry[inside], sites)
    fit, odds = _fitted(rows), np.linspace(*scale.ends, POINTS)
    design = scale.basis(odds)
    centre, square = design @ fit.mean, _variances(design, fit.covariance)
    further = square + _variances(design[:, :2], fit.between)
    upper = (1.0 + level) / 2.0
    margin, wide = stdtrit(sites - 1, upper) * np.sqrt(square), stdtrit(sites - 2, upper) * np.sqrt(further)
    return PooledCurve(
        forecast=expit(odds),
        event_rate=expit(centre),
        low=expit(centre - margin),
        high=expit(centre + margin),
        further_low=expit(centre - wide),
        further_high=expit(centre + wide),
        tau_level=float(np.sqrt(fit.between[0, 0])),
        tau_slope=float(np.sqrt(fit.between[1, 1])) / scale.unit,
        site=np.array(texts_of_labels(whole.index.column(whole.index.names[0])), dtype=object),
        site_rate=expit(centre + fit.deviations @ design[:, :2].T),
        level=level,
        n=whole.n,
    )


class _Scale(NamedTuple):
    """The mean and the standard deviation of the log-odds, the knots on this scale, and the ends of the curve."""

    middle: float
    unit: float
    knots: Floats
    ends: tuple[float, float]

    @classmethod
    def of(cls, odds: Floats, weight: Floats) -> _Scale:
        """Return the scale of some log-odds."""
        order = np.argsort(odds, kind="stable")
        odds, weight = odds[order], weight[order]
        if not len(odds) or odds[0] == odds[-1]:
            raise InputValueError("a pooled curve needs different forecasts other than 0 and 1")
        middle = float((weight * odds).sum() / weight.sum())
        unit = float(np.sqrt((weight * (odds - middle) ** 2).sum() / weight.sum()))
        outer = OUTER_KNOT[KNOTS]
        knots = np.unique(weighted_quantile(odds, weight, np.linspace(outer, 1.0 - outer, KNOTS)))
        low, high = weighted_quantile(odds, weight, np.array([TAIL, 1.0 - TAIL])).tolist()
        return cls(middle, unit, (knots - middle) / unit, (low, high))

    def basis(self, odds: Floats) -> Floats:
        """Return the columns of the curve: a constant, the log-odds, and the bends of the spline."""
        return np.column_stack([np.ones(len(odds)), natural_spline_basis((odds - self.middle) / self.unit, self.knots)])


class _Rows(NamedTuple):
    """Rows of forecasts: the columns of the curve, events and cases divided by the variance factor, and the site."""

    basis: Floats
    events: Floats
    cases: Floats
    site: NDArray[np.intp]
    sites: int

    def summed(self, values: Floats) -> Floats:
        """Return the sums of columns by site."""
        return np.stack([np.bincount(self.site, column, minlength=self.sites) for column in values.T], axis=1)


class _Fit(NamedTuple):
    """Coefficients of the mean curve with their covariance, deviations of the sites, and the covariance of these."""

    mean: Floats
    covariance: Floats
    deviations: Floats
    between: Floats


def _variance_factor(events: EventsByGroup) -> Floats:
    """Return the variance of the number of events of each site relative to that of its weight in independent cases."""
    keyed = events.keyed
    plain = events.summed((keyed.events + keyed.non_events) * keyed.forecast * (1.0 - keyed.forecast))
    return np.divide(events.variances(keyed.forecast), plain, out=np.ones(len(plain)), where=plain > 0.0)


def _variances(design: Floats, covariance: Floats) -> Floats:
    found: Floats = ((design @ covariance) * design).sum(axis=1)
    return found


def _fitted(rows: _Rows) -> _Fit:
    """Fit the curve by weighted least squares of working answers, around the curves of the sites of the last step."""
    from scipy.optimize import minimize  # Imported here, because it is slow to import.

    columns, root = rows.basis.shape[1], START
    share = (rows.events.sum() + 0.5) / (rows.cases.sum() + 1.0)
    fit = _Fit(np.eye(1, columns)[0] * logit(share), np.eye(columns), np.zeros((rows.sites, 2)), np.eye(2))
    for _ in range(STEPS):
        odds = rows.basis @ fit.mean + (rows.basis[:, :2] * fit.deviations[rows.site]).sum(axis=1)
        rate = expit(odds)
        weight = rows.cases * rate * (1.0 - rate)
        products = (rows.basis[:, :, None] * rows.basis[:, None, :]).reshape(len(odds), -1) * weight[:, None]
        answers = rows.basis * (weight * odds + rows.events - rows.cases * rate)[:, None]
        sums = _Sums(rows.summed(products).reshape(rows.sites, columns, columns), rows.summed(answers))
        root = minimize(sums.deviance, root, method="Nelder-Mead", options={"xatol": 1e-4, "fatol": 1e-4}).x
        last, fit = fit, sums.solved(root)
        if np.abs(fit.mean - last.mean).max() < CLOSE:
            break
    return fit


class _Sums(NamedTuple):
    """Sums of each site over its rows, on which the fit depends: of products of columns, and of columns and answers."""

    information: Floats
    score: Floats

    def normal(self, root: Floats) -> tuple[Floats, Floats, Floats, float]:
        """Return the shrinkage of the sites, the normal equations of the mean curve, and a logarithm of determinants.

        `root` has the Cholesky root of the covariance between sites, with logarithms on its diagonal.
        """
        lower = _lower(root)
        inner = np.eye(2) + lower.T @ self.information[:, :2, :2] @ lower
        shrinkage = lower @ np.linalg.inv(inner) @ lower.T
        cross = self.information[:, :, :2]
        total = (self.information - cross @ shrinkage @ cross.transpose(0, 2, 1)).sum(axis=0)
        right = (self.score - (cross @ shrinkage @ self.score[:, :2, None])[:, :, 0]).sum(axis=0)
        return shrinkage, total, right, float(np.linalg.slogdet(inner)[1].sum())

    def deviance(self, root: Floats) -> float:
        """Return minus twice the restricted log-likelihood and the log-prior, which is half the log-determinant."""
        shrinkage, total, right, determinants = self.normal(root)
        own = float((self.score[:, None, :2] @ shrinkage @ self.score[:, :2, None]).sum())
        restricted = determinants + float(np.linalg.slogdet(total)[1])
        return float(restricted - own - right @ np.linalg.solve(total, right) - 2.0 * (root[0] + root[2]))

    def solved(self, root: Floats) -> _Fit:
        """Return the fit for a covariance between sites."""
        shrinkage, total, right, _ = self.normal(root)
        covariance, lower = np.linalg.inv(total), _lower(root)
        mean = covariance @ right
        remaining = self.score[:, :2] - self.information[:, :2, :] @ mean
        return _Fit(
            mean,
            np.asarray(covariance, dtype=np.float64),
            (shrinkage @ remaining[:, :, None])[:, :, 0],
            lower @ lower.T,
        )


def _lower(root: Floats) -> Floats:
    return np.array([[np.exp(root[0]), 0.0], [root[1], np.exp(root[2])]])
