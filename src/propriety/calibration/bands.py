"""Bands in a reliability diagram: consistency bands around the diagonal and confidence bands around the curve.

A consistency band contains the curve of calibrated forecasts with the stated probability, at each forecast separately.
A confidence band contains the true event rate, at each forecast separately (pointwise) or at all forecasts together
(simultaneous). A curve leaves a pointwise band somewhere far more often than the level suggests; only a simultaneous
band can be read as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
from scipy import special

from propriety.calibration.chernoff import chernoff_quantile
from propriety.calibration.density import beta_kernel_density
from propriety.calibration.grouping import neighbours_pooled
from propriety.calibration.pav import Blocks
from propriety.calibration.pointwise import pointwise_limits, usual_weights
from propriety.calibration.resampling import quantiles, resampled_curves
from propriety.checks import check_choice, check_level, check_resamples, fresh_seed
from propriety.result import Floats, Result
from propriety.tables.forecast_table import ForecastTable

BandMethod: TypeAlias = Literal["auto", "resampling", "discrete", "continuous"]

FEW = 5  # Clopper-Pearson limits are clearly too wide with fewer events or non-events.
POINTS = 101  # Points of the continuous asymptotic band, evenly spaced.


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Band(Result):
    """Lower and upper limits at given forecasts, and the method by which they were computed.

    Parameters
    ----------
    forecast, low, high : array of shape (points,)
        Limits are linear between the points, except for a simultaneous band, whose limits are steps: the lower limit
        holds up to the next forecast, the upper one from the previous forecast.
    kind : {"consistency", "confidence", "simultaneous"}
        Pointwise around the diagonal; pointwise around the curve; around the curve for all forecasts at once.
    level : float
        Coverage probability: at each forecast separately or, if simultaneous, at all forecasts together.
    method : str
        "resampling", "discrete" or "continuous" asymptotics, "pooled blocks", or "union bound".
    n_resamples, seed : int, optional
        Number and seed of the draws of a resampled band.
    note : str
        A caveat, if any.
    """

    forecast: Floats
    low: Floats
    high: Floats
    kind: str
    level: float
    method: str
    n_resamples: int | None = None
    seed: int | None = None
    note: str = ""

    @property
    def label(self) -> str:
        """Level and kind as text, which says whether the band is pointwise.

        Examples
        --------
        >>> Band(forecast=[0.5], low=[0.4], high=[0.6], kind="confidence", level=0.9, method="pooled blocks").label
        '90% pointwise confidence band'
        """
        pointwise = "" if self.kind == "simultaneous" else "pointwise "
        return f"{100 * self.level:g}% {pointwise}{self.kind} band"


def band_around_diagonal(
    table: ForecastTable, *, level: float, method: BandMethod, n_resamples: int, seed: int | None, progress: bool
) -> Band:
    """Make the consistency band of a table."""
    _check(level, method, n_resamples)
    chosen = _method_around_diagonal(table) if method == "auto" else method
    if chosen == "resampling":
        return _resampled(neighbours_pooled(table), level, n_resamples, fresh_seed(seed), progress=progress)
    if chosen == "discrete":
        return _band(table.forecast, _normal_half_width(table, level), level=level, method=chosen)
    grid = _grid(table)
    return _band(grid, _chernoff_half_width(table, grid, level), level=level, method=chosen)


def band_around_curve(table: ForecastTable, blocks: Blocks, *, level: float) -> Band:
    """Make the pointwise confidence band of a table from its pooled blocks, at the ends of each block."""
    lower, upper = pointwise_limits(table, blocks, level)
    first, last = blocks.start[:-1], blocks.start[1:] - 1
    ends, block = np.unique(np.concatenate([first, last]), return_index=True)
    block %= len(blocks)
    return Band(
        forecast=table.forecast[ends],
        low=lower[block],
        high=upper[block],
        kind="confidence",
        level=level,
        method="pooled blocks",
        note=_wide(blocks, table.effective_n / table.weight),
    )


def _wide(blocks: Blocks, cases_per_weight: float) -> str:
    """Say in how many blocks the limits are too wide because they contain few events or non-events."""
    rarest = np.minimum(blocks.events, blocks.non_events) * cases_per_weight
    few = int(np.count_nonzero(rarest < FEW))
    if not few:
        return ""
    blocks_of = f"{few} of {len(blocks)} pooled blocks {'has' if few == 1 else 'have'}"
    return f"{blocks_of} fewer than {FEW} events or non-events: the limits there are wider than needed"


def _grid(table: ForecastTable) -> Floats:
    """Return evenly spaced points over the range of the forecasts; one if they are all equal."""
    return np.unique(np.linspace(table.forecast[0], table.forecast[-1], POINTS))


def _method_around_diagonal(table: ForecastTable) -> BandMethod:
    """Choose the method as Dimitriadis, Gneiting & Jordan (2021) do, by the numbers of cases and distinct forecasts."""
    n, distinct = table.effective_n, len(table)
    if n <= max(1000, min(5000, 50 * distinct)):
        return "resampling"
    return "discrete" if n >= 8 * distinct**2 else "continuous"


def _cases(table: ForecastTable) -> Floats:
    r"""Return the cases in each row, with weights the cases without weights that have the same variance.

    With the mean squares :math:`a_1 = \sum w^2 / \sum w` of the events and :math:`a_0` of the non-events, the weighted
    rate of calibrated forecasts p has the variance :math:`p (1 - p) \{(1 - p) a_1 + p a_0\} / W`.
    """
    if not table.is_weighted:
        return table.weights
    events, non_events = usual_weights(table)
    return np.asarray(table.weights / ((1.0 - table.forecast) * events + table.forecast * non_events))


def _resampled(table: ForecastTable, level: float, n_resamples: int, seed: int, *, progress: bool) -> Band:
    effective = _cases(table)
    curves = resampled_curves(
        table.forecast,
        effective,
        table.forecast,
        cases=max(round(float(effective.sum())), 1),
        n_resamples=n_resamples,
        seed=seed,
        progress=progress,
    )
    lower, upper = quantiles(curves, (0.5 - level / 2.0, 0.5 + level / 2.0))
    return Band(
        forecast=table.forecast,
        low=lower,
        high=upper,
        kind="consistency",
        level=level,
        method="resampling",
        n_resamples=n_resamples,
        seed=seed,
    )


def _normal_half_width(table: ForecastTable, level: float) -> Floats:
    variance = table.forecast * (1.0 - table.forecast) / _cases(table)
    half: Floats = special.ndtri(0.5 + level / 2.0) * np.sqrt(variance)
    return half


def _chernoff_half_width(table: ForecastTable, at: Floats, level: float) -> Floats:
    """Return the half-width for a rate that rises with slope one, from Chernoff's distribution (Wright 1981)."""
    cases = _cases(table)
    n = float(cases.sum())
    density = beta_kernel_density(at, table.forecast, cases, n=n)
    half: Floats = chernoff_quantile(0.5 + level / 2.0) * np.cbrt(4.0 * at * (1.0 - at) / (n * density))
    return half


def _band(forecast: Floats, half: Floats, *, level: float, method: str) -> Band:
    lower, upper = np.maximum(forecast - half, 0.0), np.minimum(forecast + half, 1.0)
    return Band(forecast=forecast, low=lower, high=upper, kind="consistency", level=level, method=method)


def _check(level: float, method: str, n_resamples: int) -> None:
    check_level(level)
    check_resamples(n_resamples)
    check_choice("method", method, get_args(BandMethod))
