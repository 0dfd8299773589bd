"""Reliability curves: the event rate as a function of the forecast."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from propriety import checks, demands
from propriety.calibration.bands import Band, BandMethod, band_around_curve, band_around_diagonal, simultaneous_band
from propriety.calibration.blocks import Blocks, Strategy, bin_starts, pool_adjacent_violators
from propriety.calibration.calibration_errors import ForecastHistogram, forecast_histogram, is_discrete
from propriety.calibration.decomposition import Decomposition, decompose_table
from propriety.calibration.logistic import smooth_recalibration
from propriety.calibration.smooth_calibration import SmoothCalibration, SmoothMethod, smooth_calibration_of
from propriety.errors import InputTypeError, InputValueError
from propriety.result import Floats, Result
from propriety.rules.families import Brier
from propriety.rules.scoring import mean_score
from propriety.tables.censored_outcomes import check_known
from propriety.tables.forecast_table import ForecastTable, Outcomes
from propriety.tables.labels import Labels
from propriety.tables.pooling import running_sum

CurveMethod: TypeAlias = Literal["corp", "bins", "smooth"]
BINS = 10


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ReliabilityCurve(Result):
    """Event rate against forecast, one row per pooled block of forecasts.

    Parameters
    ----------
    forecast_min, forecast_max, forecast_mean : array of shape (rows,)
        Smallest, largest and mean forecast of the row.
    event_rate : array of shape (rows,)
        Event rate of the row.
    weight : array of shape (rows,)
        Weight of the cases of the row; NaN on a smooth curve, whose rows are points.
    method : {"corp", "bins", "smooth"}
        How the rows were computed.
    discrete : bool
        Whether no two forecasts are closer than 0.01.
    n, dropped : int
        Number of cases, and of rows left out because of missing values.
    decomposition : Decomposition
        Miscalibration, discrimination and uncertainty of the Brier score.
    histogram : ForecastHistogram
        Histogram of the forecasts.
    bands : tuple of Band
        Bands added by the `with_...` methods.
    """

    forecast_min: Floats
    forecast_max: Floats
    forecast_mean: Floats
    event_rate: Floats
    weight: Floats
    method: CurveMethod
    discrete: bool
    n: int
    dropped: int
    decomposition: Decomposition
    histogram: ForecastHistogram
    bands: tuple[Band, ...] = ()
    table: ForecastTable = field(metadata={"hidden": True})
    blocks: Blocks = field(metadata={"hidden": True})

    def at(self, forecast: ArrayLike) -> Floats:
        """Return the event rate at any forecast: linear between blocks, NaN outside their range.

        Examples
        --------
        >>> import propriety as pr
        >>> pr.reliability_curve([0, 0, 1, 1], [0.1, 0.2, 0.6, 0.8]).at([0.15, 0.4, 0.7, 0.9])
        array([0. , 0.5, 1. , nan])
        """
        if self.method == "bins":
            ends, rates = self.forecast_mean, self.event_rate
        else:
            ends = np.stack([self.forecast_min, self.forecast_max], axis=1).ravel()
            rates = np.repeat(self.event_rate, 2)
        try:
            places = np.asarray(forecast, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputTypeError(demands.NUMBERS, argument="forecast", offender=str(error)) from error
        return np.interp(places, ends, rates, left=np.nan, right=np.nan)

    def with_consistency_band(
        self,
        *,
        level: float = 0.9,
        method: BandMethod = "auto",
        n_resamples: int = 1000,
        seed: int | None = None,
        progress: bool = False,
    ) -> ReliabilityCurve:
        """Add the pointwise band around the diagonal, which contains a calibrated curve at each forecast separately.

        The whole curve leaves it somewhere far more often than the level suggests, calibrated or not. To assess the
        whole curve, use `propriety.check_calibration`, or see whether the diagonal leaves `with_simultaneous_band`.

        Parameters
        ----------
        level : float
            Coverage probability of the band at each forecast separately.
        method : {"auto", "resampling", "discrete", "continuous"}
            "auto" resamples in small samples and uses asymptotics in large ones, as published: resampling up to
            max(1000, min(5000, 50 k)) cases with k distinct forecasts, discrete asymptotics from 8 k^2 cases, and
            continuous asymptotics in between.
        n_resamples : int
            Number of samples drawn. If there are many distinct forecasts, neighbours are pooled into groups of a tenth
            of n^(2/3) cases, far smaller than the blocks of the curve.
        seed : int, optional
            Seed of the draws. By default a new seed is drawn and stored in the band.
        progress : bool
            Whether to show a progress bar.

        Notes
        -----
        Weighted cases count as the number of cases without weights that have the same variance, which depends on the
        forecast if events and non-events have different weights.

        References
        ----------
        Bröcker & Smith (2007), doi:10.1175/WAF993.1; Dimitriadis, Gneiting & Jordan (2021),
        doi:10.1073/pnas.2016191118.

        Examples
        --------
        >>> import numpy as np
        >>> import propriety as pr
        >>> p = np.linspace(0.05, 0.95, 10).repeat(100)
        >>> y = np.tile(np.arange(100), 10) < 100 * p
        >>> curve = pr.reliability_curve(y, p).with_consistency_band(seed=1)
        >>> curve.bands[0].method, bool((curve.bands[0].low < curve.at(p[::100])).all())
        ('resampling', True)
        """
        band = band_around_diagonal(
            self.table, level=level, method=method, n_resamples=n_resamples, seed=seed, progress=progress
        )
        return self._with_band(band)

    def with_confidence_band(self, *, level: float = 0.9) -> ReliabilityCurve:
        """Add the pointwise band around the curve, which contains the true event rate at each forecast separately.

        It is for reading off a single rate. For a statement about the whole curve use `with_simultaneous_band`.

        Parameters
        ----------
        level : float
            Coverage probability of the band at each forecast separately, from 0.5 to 0.999.

        Notes
        -----
        The limits are Clopper-Pearson limits for the events and cases of the pooled blocks, with a critical value that
        allows for the choice of the blocks by the outcomes (1.9 instead of 1.64 at 90%); see
        `propriety.calibration.bands`. They assume that the rate does not decrease with the forecast, and need only
        the table: no draws, no seed.

        In simulations, 90% limits covered the true rate 0.89 to 0.97 of the time, and more if events are few or the
        rate is close to 0 or 1, because Clopper-Pearson limits are wide there (`studies/pointwise.py`).

        A block of weighted cases counts as the number of cases without weights whose rate has the same variance. If it
        has few events or non-events, their weights are taken to be closer to those of the other cases. Cases are
        assumed to be independent; with clusters the band is too narrow.

        References
        ----------
        Deng, Han & Zhang (2021), doi:10.1214/20-AOS2025.

        Examples
        --------
        >>> import propriety as pr
        >>> y, p = [0, 1, 0, 1, 1] * 20, [0.1, 0.3, 0.5, 0.7, 0.9] * 20
        >>> band = pr.reliability_curve(y, p).with_confidence_band(level=0.8).bands[0]
        >>> band.label
        '80% pointwise confidence band'
        >>> band.forecast, band.low.round(2)
        (array([0.1, 0.3, 0.5, 0.7, 0.9]), array([0.  , 0.37, 0.37, 0.93, 0.93]))
        """
        return self._with_band(band_around_curve(self.table, self.blocks, level=level))

    def with_simultaneous_band(self, *, level: float = 0.9) -> ReliabilityCurve:
        """Add the band that contains the whole true curve at once, assuming only that it does not decrease.

        Where the diagonal leaves it, the forecasts are miscalibrated, and this conclusion is wrong with a probability
        of at most 1 - level, however many forecasts there are. See `propriety.calibration.bands` for the
        construction. It needs no draws. It is wider than the other bands, because it makes a statement about all
        forecasts together.

        References
        ----------
        Dimitriadis, Dümbgen, Henzi, Puke & Ziegel (2023), doi:10.1093/biomet/asac068.

        Examples
        --------
        >>> import propriety as pr
        >>> y, p = [0, 1, 0, 1, 1] * 20, [0.1, 0.3, 0.5, 0.7, 0.9] * 20
        >>> pr.reliability_curve(y, p).with_simultaneous_band().bands[0].kind
        'simultaneous'
        """
        forecast, lower, upper = simultaneous_band(self.table, level=level)
        band = Band(forecast=forecast, low=lower, high=upper, kind="simultaneous", level=level, method="union bound")
        return self._with_band(band)

    def smooth(
        self,
        *,
        method: SmoothMethod = "spline",
        level: float = 0.95,
        n_resamples: int = 1000,
        seed: int | None = None,
    ) -> SmoothCalibration:
        """Return a smooth curve of the same cases with its band, and the distances ICI, E50, E90 and Emax.

        The distances are the mean (integrated calibration index), median, 90% quantile and maximum over the cases of
        the absolute difference between forecast and curve. Noise inflates them. Forecasts of exactly 0 or 1 have no
        log-odds; they are left out, and `note` says how many.

        Parameters
        ----------
        method : {"spline", "loess"}
            "spline" is a logistic regression on a natural spline of the forecast's log-odds with five knots. "loess" is
            the curve of `rms::val.prob` in R, local linear regression without limits or test, and with the distances
            that it calls Eavg, E90 and Emax, for comparison with results from R.
        level : float
            Level of all limits.
        n_resamples, seed : int, optional
            Number and seed of the draws of the coefficients; without a seed, a new one is drawn and stored.

        Notes
        -----
        In simulations with 300 to 5,000 cases, calibrated or with a wrong intercept or slope, 95% limits covered the
        truth in 95 to 98% of the samples for ICI, 95 to 99% for E50 and 91 to 98% for E90. With event rates that wave
        about the forecasts, coverage was 93 to 98% up to 2,000 cases; with 5,000, which show that the spline does not
        follow the wave exactly, it was 89, 96 and 83%. The limits fail if forecasts are wrong only in a small part of
        their range: if event rates stop rising above a forecast, coverage was 47 to 86% for ICI, 67 to 91% for E50 and
        5 to 94% for E90, lowest with 5,000 cases, because the spline cannot follow the bend and the values are
        too high (`studies/smooth_calibration.py`). The limits also assume independent cases.

        References
        ----------
        Austin & Steyerberg (2019), doi:10.1002/sim.8281; Harrell (2015), Regression Modeling Strategies,
        doi:10.1007/978-3-319-19425-7.

        Examples
        --------
        >>> import propriety as pr
        >>> y, p = ([0] * 9 + [1]) * 20 + ([0] * 4 + [1] * 6) * 20, [0.2] * 200 + [0.4] * 200
        >>> found = pr.reliability_curve(y, p).smooth(seed=1)
        >>> round(found.ici, 3), found.p_value < 0.05
        (0.15, True)
        """
        return smooth_calibration_of(self.table, method=method, level=level, n_resamples=n_resamples, seed=seed)

    def _with_band(self, band: Band) -> ReliabilityCurve:
        others = tuple(other for other in self.bands if other.kind != band.kind)
        return replace(self, bands=(*others, band))

    def _facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = {"method": self.method, "rows": len(self.event_rate), "n": self.n}
        facts["miscalibration"] = self.decomposition.miscalibration
        return facts | ({"bands": ", ".join(band.kind for band in self.bands)} if self.bands else {})


def reliability_curve(
    y_true: Outcomes,
    y_proba: ArrayLike | None = None,
    *,
    method: CurveMethod = "corp",
    bins: int | None = None,
    strategy: Strategy | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Hashable | None = None,
    labels: Labels | None = None,
) -> ReliabilityCurve:
    """Estimate the event rate as a function of the forecast, by default with the CORP approach.

    Parameters
    ----------
    y_true, y_proba, sample_weight, pos_label, labels
        As in `propriety.mean_score`: binary outcomes and the probability of the event, or a ledger of one model.
    method : {"corp", "bins", "smooth"}
        "corp" pools adjacent violators: consistent, optimally binned, reproducible, and without tuning parameters. For
        comparison there are "bins", which depend on their number and position, and "smooth", a logistic recalibration
        with a natural spline, which assumes that the curve is smooth.
    bins, strategy : optional
        For ``method="bins"``: the number of bins, 10 by default, and their kind, "uniform" (the default) or "quantile".

    References
    ----------
    Dimitriadis, Gneiting & Jordan (2021), doi:10.1073/pnas.2016191118.

    Examples
    --------
    >>> import propriety as pr
    >>> curve = pr.reliability_curve([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8])
    >>> curve
    ReliabilityCurve(method=corp, rows=3, n=4, miscalibration=0.05)
    >>> curve.event_rate
    array([0. , 0.5, 1. ])
    """
    checks.choice(method, "method", get_args(CurveMethod))
    for name, given in (("bins", bins), ("strategy", strategy)):
        if given is not None and method != "bins":
            offender, hint = f"the method is {method!r}", f'pass method="bins" too, or leave {name} out.'
            raise InputValueError(demands.only_with('method="bins"'), argument=name, offender=offender, hint=hint)
    table = ForecastTable.of(y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label, labels=labels)
    blocks = pool_adjacent_violators(table)
    if method == "smooth":
        forecast, rate = smooth_recalibration(table)
        rows = (forecast, forecast, forecast, rate, np.full(len(forecast), np.nan))
    elif method == "bins":
        number, kind = BINS if bins is None else bins, "uniform" if strategy is None else strategy
        rows = _rows(table, bin_starts(table, bins=number, strategy=kind))
    else:
        rows = _rows(table, blocks.start[:-1])
    forecast_min, forecast_max, forecast_mean, event_rate, weight = rows
    return ReliabilityCurve(
        forecast_min=forecast_min,
        forecast_max=forecast_max,
        forecast_mean=forecast_mean,
        event_rate=event_rate,
        weight=weight,
        method=method,
        discrete=is_discrete(table),
        n=table.n,
        dropped=table.dropped,
        decomposition=decompose_table(table, Brier(), blocks),
        histogram=forecast_histogram(table),
        table=table,
        blocks=blocks,
    )


def _rows(table: ForecastTable, start: Any) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Return smallest, largest and mean forecast, event rate and weight of runs of rows."""
    last = np.append(start[1:], len(table)) - 1
    weight = np.add.reduceat(table.weights, start)
    mean = np.add.reduceat(table.weights * table.forecast, start) / weight
    rate = np.add.reduceat(table.events, start) / weight
    return table.forecast[start], table.forecast[last], mean, rate, weight


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ClassicalDecomposition(Result):
    """Brier score = reliability - resolution + uncertainty + within_bin.

    Parameters
    ----------
    score : float
        Brier score of the forecasts.
    reliability : float
        Weighted mean squared distance between the mean forecast and the event rate of a bin; lower is better.
    resolution : float
        Weighted variance of the event rates of the bins; higher is better.
    uncertainty : float
        Variance of the outcomes.
    within_bin : float
        Variance of the forecasts within bins minus twice their covariance with the outcomes there.
    strategy : {"uniform", "quantile", "distinct"}
        How the bins are formed.
    bins, n, dropped : int
        Number of non-empty bins, of cases, and of rows left out because of missing values.
    """

    score: float
    reliability: float
    resolution: float
    uncertainty: float
    within_bin: float
    strategy: str
    bins: int
    n: int
    dropped: int = 0


def classical_decomposition(
    y_true: Outcomes,
    y_proba: ArrayLike | None = None,
    *,
    bins: int = 10,
    strategy: Strategy | Literal["distinct"] = "uniform",
    sample_weight: ArrayLike | None = None,
    pos_label: Hashable | None = None,
    labels: Labels | None = None,
) -> ClassicalDecomposition:
    r"""Decompose the Brier score into reliability, resolution and uncertainty of binned forecasts.

    With the weight :math:`w_k`, mean forecast :math:`\bar p_k` and event rate :math:`\bar y_k` of bin :math:`k`,

    .. math:: \mathrm{BS} = \sum_k w_k (\bar p_k - \bar y_k)^2 - \sum_k w_k (\bar y_k - \bar y)^2
              + \bar y (1 - \bar y) + \sum_{k,\, i \in k} w_i \bigl[(p_i - \bar p_k)^2
              - 2 (p_i - \bar p_k) (y_i - \bar y_k)\bigr] .

    The parts depend on the bins: narrow bins with few cases inflate both reliability and resolution by the same amount.
    `decompose` needs no bins and is preferable.

    Parameters
    ----------
    y_true, y_proba, sample_weight, pos_label, labels
        As in `propriety.mean_score`: binary predictions, or a ledger of one model.
    bins : int
        Number of bins, for the first two strategies.
    strategy : {"uniform", "quantile", "distinct"}
        Bins of equal width, of about equal weight, or one for each distinct forecast, so that within_bin is 0.

    References
    ----------
    Murphy (1973), doi:10.1175/1520-0450(1973)012<0595:ANVPOT>2.0.CO;2; Stephenson, Coelho & Jolliffe (2008),
    doi:10.1175/2007WAF2006116.1, for the terms within bins.

    Examples
    --------
    >>> import propriety as pr
    >>> pr.classical_decomposition([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8], strategy="distinct")
    ClassicalDecomposition(score=0.175, reliability=0.175, resolution=0.25, uncertainty=0.25, within_bin=0,
                           strategy=distinct, bins=4, n=4, dropped=0)
    """
    table = ForecastTable.of(y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label, labels=labels)
    checks.choice(strategy, "strategy", (*get_args(Strategy), "distinct"))
    start = np.arange(len(table)) if strategy == "distinct" else bin_starts(table, bins=bins, strategy=strategy)
    share = table.weights / table.weight
    size = np.add.reduceat(share, start)
    forecast = np.add.reduceat(share * table.forecast, start) / size
    rate = np.add.reduceat(table.events, start) / np.add.reduceat(table.weights, start)
    rows = np.diff(start, append=len(table))
    gap, lift = table.forecast - np.repeat(forecast, rows), table.event_rates - np.repeat(rate, rows)
    return ClassicalDecomposition(
        score=float(mean_score(table, rule=Brier())),
        reliability=float(size @ (forecast - rate) ** 2),
        resolution=float(size @ (rate - table.event_rate) ** 2),
        uncertainty=table.event_rate * float(table.non_events.sum()) / table.weight,
        within_bin=float(share @ (gap * (gap - 2.0 * lift))),
        strategy=strategy,
        bins=len(start),
        n=table.n,
        dropped=table.dropped,
    )


FEWEST = 50.0  # Variance of the events from which the limit distributions are close.


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class CumulativeCalibrationError(Result):
    """Cumulative differences between outcomes and forecasts, one row per forecast.

    See `cumulative_calibration_error`.

    Parameters
    ----------
    forecast : array of shape (rows,)
        Distinct forecasts, increasing.
    coverage : array of shape (rows,)
        Share of the cases with at most this forecast.
    difference : array of shape (rows,)
        Sum of outcome minus forecast of these cases, divided by the number of all cases.
    kuiper, kuiper_p_value : float
        Range of the differences (ECCE-R), including 0, and the p-value for calibrated forecasts.
    kolmogorov_smirnov, kolmogorov_smirnov_p_value : float
        Largest absolute difference (ECCE-MAD), and its p-value.
    sigma : float
        Standard deviation of the last difference for calibrated forecasts, the scale of both statistics.
    n, dropped : int
        Number of cases, and of rows left out because of missing values.
    note : str
        A caveat, if the p-values are approximate.
    """

    forecast: Floats
    coverage: Floats
    difference: Floats
    kuiper: float
    kuiper_p_value: float
    kolmogorov_smirnov: float
    kolmogorov_smirnov_p_value: float
    sigma: float
    n: int
    dropped: int = 0
    note: str = ""


def cumulative_calibration_error(
    y_true: Outcomes,
    y_proba: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Hashable | None = None,
    labels: Labels | None = None,
) -> CumulativeCalibrationError:
    r"""Compute the cumulative calibration error, ECCE, which needs no bins.

    .. math::

       C_k = \frac1n \sum_{j=1}^{k} (y_j - p_j), \qquad
       \mathrm{Kuiper} = \max_{0 \le k \le n} C_k - \min_{0 \le k \le n} C_k, \qquad
       \mathrm{KS} = \max_k |C_k|

    in the order of the forecasts. Kuiper's statistic is the largest difference, in absolute value, between events and
    expected events in any range of forecasts, per case. Equal forecasts are one step, so the order of the rows does not
    matter. For calibrated forecasts and many cases, the statistics divided by
    :math:`\sigma = \sqrt{\sum p (1 - p)} / n` are the range and the largest absolute value of Brownian motion on
    [0, 1], from which the p-values follow.

    Parameters
    ----------
    y_true, y_proba, sample_weight, pos_label, labels
        As in `propriety.mean_score`; a ledger of one model replaces predictions.

    Notes
    -----
    Without ties, `kuiper` is ``ecce`` and `kuiper / sigma` is ``ecce_sigma`` of MCGrad. Among equal forecasts, MCGrad
    takes a step for each row, so its values depend on the order of the rows and are at least as large as these.

    Steps of discrete forecasts make the p-values conservative. Cases are independent, and weights carry no information
    about outcomes. The test of `propriety.check_calibration` also allows for clusters, periods and weights of cases
    and controls, and says in which direction the forecasts are wrong.

    References
    ----------
    Arrieta-Ibarra et al. (2022), arXiv:2205.09680; Feller (1951), doi:10.1214/aoms/1177729589, for the range.

    Examples
    --------
    >>> import numpy as np
    >>> import propriety as pr
    >>> rng = np.random.default_rng(1)
    >>> p = rng.random(2000)
    >>> found = pr.cumulative_calibration_error(rng.random(2000) < p**1.2, p)
    >>> round(found.kuiper, 4), found.kuiper_p_value < 0.001, round(found.kuiper / found.sigma, 2)
    (0.0375, True, 4.1)
    """
    check_known(y_true, hint="use check_calibration.")
    table = ForecastTable.of(y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label, labels=labels)
    difference = running_sum(table.events - table.weights * table.forecast) / table.weight
    squares = table.event_squares + table.non_event_squares
    variance = float(squares @ (table.forecast * (1.0 - table.forecast)))
    sigma = math.sqrt(variance) / table.weight
    kuiper = float(max(difference.max(), 0.0) - min(difference.min(), 0.0))
    largest = float(np.abs(difference).max())
    spread = float(table.weights @ (table.forecast * (1.0 - table.forecast)))
    independent = spread**2 / variance if variance > 0.0 else 0.0  # In units of cases.
    return CumulativeCalibrationError(
        forecast=table.forecast,
        coverage=running_sum(table.weights) / table.weight,
        difference=difference,
        kuiper=kuiper,
        kuiper_p_value=_p_value(kuiper, sigma, range_exceeds),
        kolmogorov_smirnov=largest,
        kolmogorov_smirnov_p_value=_p_value(largest, sigma, absolute_exceeds),
        sigma=sigma,
        n=table.n,
        dropped=table.dropped,
        note="" if independent >= FEWEST else "based on few uncertain outcomes: the p-values are approximate",
    )


def _p_value(statistic: float, sigma: float, exceeds: Callable[[float], float]) -> float:
    if sigma == 0.0:  # All forecasts are certain.
        return 1.0 if statistic == 0.0 else 0.0
    return exceeds(statistic / sigma)


def range_exceeds(size: float) -> float:
    """Return the probability that the range of Brownian motion on [0, 1] exceeds a number.

    Examples
    --------
    >>> round(range_exceeds(2.4977), 4)
    0.05
    """
    if size < 0.5:
        return 1.0  # Up to 1e-7.
    k = np.arange(1, 41)
    return float(np.clip(8.0 * ((-1.0) ** (k - 1) * k * ndtr(-k * size)).sum(), 0.0, 1.0))


def absolute_exceeds(size: float) -> float:
    """Return the probability that the largest absolute value of Brownian motion on [0, 1] exceeds a number.

    Examples
    --------
    >>> round(absolute_exceeds(2.2414), 4)
    0.05
    """
    if size < 0.2:
        return 1.0  # Up to 1e-13.
    k = np.arange(100)
    return float(np.clip(4.0 * ((-1.0) ** k * ndtr(-(2 * k + 1) * size)).sum(), 0.0, 1.0))
