"""Bands around a reliability diagram: what noise alone would do, and where the truth may lie.

A consistency band stands around the diagonal: it holds the curve of a calibrated forecast with the stated
probability at each forecast. A confidence band stands around the curve and holds the true event rate.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

import numpy as np
from scipy import special

from propriety.calibration.chernoff import chernoff_quantile
from propriety.calibration.density import beta_kernel_density
from propriety.calibration.grouping import neighbours_pooled
from propriety.calibration.pav import Blocks
from propriety.calibration.resampling import check_level, check_resamples, fresh_seed, quantiles, resampled_curves
from propriety.errors import InputValueError, sentence
from propriety.results import Floats, Result
from propriety.tables.forecast_table import ForecastTable

__all__ = ["Band", "BandMethod", "band_around_curve", "band_around_diagonal"]

BandMethod: TypeAlias = Literal["auto", "resampling", "discrete", "continuous"]

FEW = 5.0  # Events, or non-events, of a block below which its draws vary too little.
TINY = 1e-12
POINTS = 101  # Of the continuous asymptotic band, evenly over the range of the forecasts.


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Band(Result):
    """Lower and upper limits at forecasts, and how they were made.

    Parameters
    ----------
    forecast, lower, upper : array of shape (points,)
        The limits between the points are linear; those of a simultaneous band are steps, the lower one holding up to
        the next forecast, the upper one from the forecast before.
    kind : {"consistency", "confidence", "simultaneous"}
        Around the diagonal; around the curve; around the curve and for all forecasts at once.
    level : float
        Probability with which the band holds, at each forecast or at all.
    method : str
        "resampling", "discrete" or "continuous" asymptotics, or "union bound".
    n_resamples, seed : int, optional
        Of a resampled band.
    """

    forecast: Floats
    lower: Floats
    upper: Floats
    kind: str
    level: float
    method: str
    n_resamples: int | None = None
    seed: int | None = None


def band_around_diagonal(
    table: ForecastTable, *, level: float, method: BandMethod, n_resamples: int, seed: int | None, progress: bool
) -> Band:
    """Make the consistency band of a table."""
    _check(level, method, n_resamples)
    chosen = _method_around_diagonal(table) if method == "auto" else method
    if chosen == "resampling":
        pooled = neighbours_pooled(table)
        return _resampled(
            pooled, pooled.forecast, "consistency", level, n_resamples, fresh_seed(seed), progress=progress
        )
    if chosen == "discrete":
        half = _normal_half_width(table, table.forecast, level)
        return _band(table.forecast, table.forecast, half, kind="consistency", level=level, method=chosen)
    grid = _grid(table)
    half = _chernoff_half_width(table, grid, grid, level)
    return _band(grid, grid, half, kind="consistency", level=level, method=chosen)


def band_around_curve(
    table: ForecastTable,
    blocks: Blocks,
    *,
    level: float,
    method: BandMethod,
    n_resamples: int,
    seed: int | None,
    progress: bool,
) -> Band:
    """Make the confidence band of a table with its pooled blocks."""
    _check(level, method, n_resamples)
    rate = blocks.per_row()
    chosen = "resampling" if method == "auto" else method
    if chosen == "resampling":
        pooled = neighbours_pooled(table)
        centre = np.interp(pooled.forecast, table.forecast, rate)
        band = _resampled(pooled, centre, "confidence", level, n_resamples, fresh_seed(seed), progress=progress)
        return _widened(band, table, blocks)
    if chosen == "discrete":
        half = _normal_half_width(table, rate, level)
        band = _band(table.forecast, rate, half, kind="confidence", level=level, method=chosen)
        return _widened(band, table, blocks)
    grid = _grid(table)
    centre = np.interp(grid, table.forecast, rate)
    band = _band(
        grid, centre, _chernoff_half_width(table, grid, centre, level), kind="confidence", level=level, method=chosen
    )
    return _widened(band, table, blocks)


def _grid(table: ForecastTable) -> Floats:
    """Return points over the range of the forecasts; one if they are all the same."""
    return np.unique(np.linspace(table.forecast[0], table.forecast[-1], POINTS))


def _method_around_diagonal(table: ForecastTable) -> BandMethod:
    """Choose as Dimitriadis, Gneiting & Jordan (2021) do, by the number of cases and of distinct forecasts."""
    n, distinct = table.effective_n, len(table)
    if n <= max(1000, min(5000, 50 * distinct)):
        return "resampling"
    return "discrete" if n >= 8 * distinct**2 else "continuous"


def _resampled(
    table: ForecastTable, rate: Floats, kind: str, level: float, n_resamples: int, seed: int, *, progress: bool
) -> Band:
    curves = resampled_curves(
        table.forecast,
        table.weights,
        rate,
        cases=max(round(table.effective_n), 1),
        n_resamples=n_resamples,
        seed=seed,
        progress=progress,
    )
    lower, upper = quantiles(curves, (0.5 - level / 2.0, 0.5 + level / 2.0))
    return Band(
        forecast=table.forecast,
        lower=lower,
        upper=upper,
        kind=kind,
        level=level,
        method="resampling",
        n_resamples=n_resamples,
        seed=seed,
    )


def _normal_half_width(table: ForecastTable, centre: Floats, level: float) -> Floats:
    cases = table.weights * (table.effective_n / table.weight)
    half: Floats = special.ndtri(0.5 + level / 2.0) * np.sqrt(centre * (1.0 - centre) / cases)
    return half


def _chernoff_half_width(table: ForecastTable, at: Floats, centre: Floats, level: float) -> Floats:
    """Half-width for a rate that rises with slope one, by Chernoff's distribution (Wright 1981)."""
    n = table.effective_n
    density = beta_kernel_density(at, table.forecast, table.weights, n=n)
    half: Floats = chernoff_quantile(0.5 + level / 2.0) * np.cbrt(4.0 * centre * (1.0 - centre) / (n * density))
    return half


def _band(forecast: Floats, centre: Floats, half: Floats, *, kind: str, level: float, method: str) -> Band:
    lower, upper = np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)
    return Band(forecast=forecast, lower=lower, upper=upper, kind=kind, level=level, method=method)


def _widened(band: Band, table: ForecastTable, blocks: Blocks) -> Band:
    """Widen a confidence band where a block has few events, or few non-events, to their binomial limits.

    Draws at a rate near 0 or 1 hardly vary, and at 0 or 1 not at all, although the true rate may well be another. So
    the limits of such a block are at least as wide as Clopper and Pearson's for its counts; and because rates do
    not fall, a lower limit holds for all higher forecasts, an upper one for all lower.
    """
    cases = table.effective_n / table.weight
    events, non_events = blocks.events * cases, blocks.non_events * cases
    tail = 0.5 - band.level / 2.0
    highest = 1.0 - _least_rate(non_events, events, tail)
    lowest = _least_rate(events, non_events, tail)
    block = np.searchsorted(table.forecast[blocks.start[:-1]], band.forecast, side="right") - 1
    upper = np.where(events < FEW, highest, 0.0)[block]
    lower = np.where(non_events < FEW, lowest, 1.0)[block]
    return replace(
        band,
        lower=np.maximum.accumulate(np.minimum(band.lower, lower)),
        upper=np.minimum.accumulate(np.maximum(band.upper, upper)[::-1])[::-1],
    )


def _least_rate(hits: Floats, misses: Floats, tail: float) -> Floats:
    """Return Clopper and Pearson's lower limit of a rate; 0 without a hit."""
    limit = special.betaincinv(np.maximum(hits, TINY), misses + 1.0, tail)
    return np.where(hits > 0.0, limit, 0.0)


def _check(level: float, method: str, n_resamples: int) -> None:
    check_level(level)
    check_resamples(n_resamples)
    if method not in get_args(BandMethod):
        raise InputValueError(sentence(f"method must be one of {get_args(BandMethod)}; got {method!r}"))
