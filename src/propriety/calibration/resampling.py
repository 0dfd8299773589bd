"""Resampled reliability curves: counts are drawn for the rows of a table, never for its cases."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from propriety.progress import track
from propriety.result import Floats
from propriety.tables.pooling import isotonic_starts

BLOCK = 2**21  # Table cells drawn at a time, which bounds the memory.


def resampled_curves(
    forecast: Floats, weight: Floats, rate: Floats, *, cases: int, n_resamples: int, seed: int, progress: bool = False
) -> Floats:
    """Draw samples and return their recalibrated rates at the forecasts, of shape (n_resamples, rows).

    Each sample has `cases` cases, drawn with replacement from the forecasts in proportion to `weight`; the event
    happens with probability `rate`.
    """
    generator = np.random.default_rng(seed)
    share = weight / weight.sum()
    block = max(BLOCK // len(forecast), 1)
    curves = np.empty((n_resamples, len(forecast)))
    starts = range(0, n_resamples, block)
    for start in track(starts, total=len(starts), label="resampling", enabled=progress):
        size = min(block, n_resamples - start)
        drawn = generator.multinomial(cases, share, size=size)
        events = generator.binomial(drawn, rate)
        curves[start : start + size] = pav_of_draws(forecast, drawn, events)
    return curves


def pav_of_draws(forecast: Floats, drawn: NDArray[np.integer], events: NDArray[np.integer]) -> Floats:
    """Return the recalibrated rate of each draw (a row of counts) at every forecast.

    At a forecast that was not drawn, the curve is interpolated linearly between those that were, and is NaN outside
    their range. A draw of a single forecast is constant.
    """
    draws, columns = np.nonzero(drawn)
    counts, happened = (some[draws, columns].astype(np.float64) for some in (drawn, events))
    start = isotonic_starts(happened, counts - happened, draws)
    rate = np.add.reduceat(happened, start[:-1]) / np.add.reduceat(counts, start[:-1])
    curves = np.full(drawn.shape, np.nan)
    curves[draws, columns] = np.repeat(rate, np.diff(start))
    return curves if len(draws) == drawn.size else _interpolated(forecast, curves)


def quantiles(curves: Floats, levels: tuple[float, float]) -> tuple[Floats, Floats]:
    """Return two quantiles of each column, linear between order statistics (type 7), ignoring NaN."""
    ordered = np.sort(curves, axis=0)
    last = np.count_nonzero(~np.isnan(curves), axis=0) - 1
    columns = np.arange(curves.shape[1])

    def at(level: float) -> Floats:
        position = np.maximum(last, 0) * level
        below = np.floor(position).astype(np.intp)
        above = np.minimum(below + 1, np.maximum(last, 0))
        low, high = ordered[below, columns], ordered[above, columns]
        return low + (position - below) * (high - low)

    return at(levels[0]), at(levels[1])


def _interpolated(forecast: Floats, curves: Floats) -> Floats:
    """Interpolate the gaps of each curve from its neighbours on both sides."""
    known = ~np.isnan(curves)
    columns = np.arange(curves.shape[1])
    before = np.maximum.accumulate(np.where(known, columns, -1), axis=1)
    after = np.minimum.accumulate(np.where(known, columns, len(columns))[:, ::-1], axis=1)[:, ::-1]
    draw, gap = np.nonzero(~known & (before >= 0) & (after < len(columns)))
    left, right = before[draw, gap], after[draw, gap]
    part = (forecast[gap] - forecast[left]) / (forecast[right] - forecast[left])
    curves[draw, gap] = (1.0 - part) * curves[draw, left] + part * curves[draw, right]
    single = known.sum(axis=1) == 1
    curves[single] = np.nanmax(curves[single], axis=1, keepdims=True) if single.any() else 0.0
    return curves
