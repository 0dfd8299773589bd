"""Resampling with replacement, in bounded memory: counts of table cells or losses, of cases, clusters or periods."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from propriety import checks
from propriety.checks import check_resamples
from propriety.errors import UNDEFINED
from propriety.progress import mapped
from propriety.result import Floats
from propriety.tables.cases import Cases
from propriety.tables.forecast_table import ForecastTable

CELLS = 2**10  # Cells of the deviations, if there are more than twice as many units.
BLOCK = 2**5  # Draws that share a stream of random numbers, which also bounds the memory.

Draw: TypeAlias = Callable[[np.random.Generator, int], Floats]
DrawTables: TypeAlias = Callable[[np.random.Generator], tuple[ForecastTable, ...]]


class Drawing(NamedTuple):
    """Options of the draws: their number and seed, the number of threads, and whether to show a progress bar."""

    n_resamples: int = 1000
    seed: int = 0
    workers: int = 1
    progress: bool = False


def in_blocks(draw: Draw, drawing: Drawing) -> Floats:
    """Make draws in blocks, each with its own random stream, so that the result does not depend on the workers.

    Parameters
    ----------
    draw : callable
        Makes a number of draws with a generator, one row each.
    drawing : Drawing
        Number and seed of the draws, threads, and whether to show a progress bar.

    Examples
    --------
    >>> one, two = (
    ...     in_blocks(lambda rng, size: rng.random(size), Drawing(n_resamples=100, seed=1, workers=workers))
    ...     for workers in (1, 2)
    ... )
    >>> bool((one == two).all())
    True
    """
    n_resamples, seed, workers, progress = drawing
    check_resamples(n_resamples)
    checks.whole(workers, "workers", least=1)
    sizes = [min(BLOCK, n_resamples - start) for start in range(0, n_resamples, BLOCK)]
    seeds = np.random.SeedSequence(seed).spawn(len(sizes))

    def block(at: int) -> Floats:
        return draw(np.random.default_rng(seeds[at]), sizes[at])

    places = range(len(sizes))
    done = mapped(block, places, total=len(sizes), workers=workers, label="resampling", progress=progress)
    return np.concatenate(list(done))


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    r"""The independent units (cases or clusters) of a weighted mean, from which its error is computed.

    Parameters
    ----------
    mean : float
        The weighted mean :math:`m`.
    deviation : ndarray of shape (entries,)
        :math:`e_g = \sum_{i \in g} w_i (x_i - m)` of each unit.
    weight : ndarray of shape (entries,)
        :math:`W_g = \sum_{i \in g} w_i` of each unit.
    count : ndarray of shape (entries,)
        Number of units that an entry represents.
    noise : ndarray of shape (entries,), optional
        Variance of the deviations among the units of an entry; zero if they are equal.
    """

    mean: float
    deviation: Floats
    weight: Floats
    count: NDArray[np.int64]
    noise: Floats | None = None

    @classmethod
    def of(
        cls,
        values: Floats,
        *,
        weight: Floats | None = None,
        count: NDArray[np.int64] | None = None,
        codes: NDArray[np.intp] | None = None,
    ) -> Units:
        """Sum values by unit: the clusters numbered by `codes`, or each case by itself.

        A case of zero weight is not a unit. `count` says how many cases an entry of `values` represents.
        """
        w = np.ones(len(values)) if weight is None else weight
        n = np.ones(len(values), dtype=np.int64) if count is None else count
        present = w > 0.0
        if not present.all():
            values, w, n = values[present], w[present], n[present]
            codes = None if codes is None else codes[present]
        total = float((w * n).sum())
        with np.errstate(invalid="ignore"):  # Infinite values.
            # Not a dot product, here and below, because its last bits depend on the number of BLAS threads.
            mean = float((w * n * values).sum()) / total
            deviation = w * (values - mean)
        if codes is None:
            return cls(mean, deviation, w, n)
        occupied = np.bincount(codes) > 0
        sums, weights = (
            np.bincount(codes, n * column).astype(np.float64, copy=False)[occupied] for column in (deviation, w)
        )
        return cls(mean, sums, weights, np.ones(len(sums), dtype=np.int64))

    @property
    def number(self) -> int:
        """Number of units."""
        return int(self.count.sum())

    @property
    def share_inside(self) -> float:
        """Share of the variance within the cells of `in_cells`, which is drawn as normal noise."""
        if self.noise is None:
            return 0.0
        inside = float((self.count * self.noise).sum())
        whole = inside + float((self.count * self.deviation**2).sum())
        return inside / whole if whole > 0.0 else 0.0

    def in_cells(self, cells: int = CELLS) -> Units:
        """Group units of nearly equal deviation in cells, if there are more than twice as many units as cells.

        The cells have equal width. Draws from them have the same mean and variance as draws of the units themselves,
        because the spread within cells is kept and drawn as normal noise.
        """
        low, high = float(self.deviation.min()), float(self.deviation.max())
        if len(self.deviation) <= 2 * cells or not 0.0 < high - low < np.inf:
            return self
        place = ((self.deviation - low) * (cells / (high - low))).astype(np.intp)
        np.minimum(place, cells - 1, out=place)
        number = np.bincount(place, self.count, minlength=cells)
        occupied = number > 0.0
        number = number[occupied]

        def mean(column: Floats) -> Floats:
            found: Floats = np.bincount(place, self.count * column, minlength=cells)[occupied] / number
            return found

        middle = mean(self.deviation)
        spread = np.zeros(cells)
        spread[occupied] = middle
        noise = mean((self.deviation - spread[place]) ** 2)
        return Units(self.mean, middle, mean(self.weight), number.astype(np.int64), noise)

    def resampled(self, drawing: Drawing) -> Floats:
        """Return the mean of each draw of the same number of units, with replacement."""
        share = self.count / self.number

        def draw(generator: np.random.Generator, size: int) -> Floats:
            drawn = generator.multinomial(self.number, share, size=size).astype(np.float64)
            with np.errstate(invalid="ignore"):  # Infinite deviations.
                shift: Floats = (drawn * self.deviation).sum(axis=1)
            if self.noise is not None:
                shift += generator.standard_normal(size) * np.sqrt((drawn * self.noise).sum(axis=1))
            means: Floats = self.mean + shift / (drawn * self.weight).sum(axis=1)
            return means

        return in_blocks(draw, drawing)


def canonical_order(cases: Cases, within: Sequence[NDArray[np.intp]] = ()) -> NDArray[np.intp]:
    """Return the order of cases by their values; cases with the same values in the order of further columns."""
    columns = [np.asarray(cases.forecasts[model]) for model in cases.models]
    flat = [column if column.ndim == 1 else place for column in columns for place in np.atleast_2d(column.T)]
    extra = [one.codes for one in (cases.cluster, cases.period) if one is not None]
    weight = [] if cases.weight is None else [np.asarray(cases.weight)]
    return np.lexsort([*within, *extra, *weight, np.asarray(cases.outcome), *flat[::-1]])


def in_canonical_order(cases: Cases) -> Cases:
    """Return the cases of positive weight sorted by their values, so that draws do not depend on the row order."""
    order = canonical_order(cases)
    if cases.weight is not None:
        order = order[np.asarray(cases.weight)[order] > 0.0]
    return cases.where(order)


def draw_from_table(table: ForecastTable) -> DrawTables:
    """Return a function that draws cases of an unweighted table, with replacement."""
    cells = np.rint(np.concatenate([table.events, table.non_events])).astype(np.int64)
    occupied = np.flatnonzero(cells)
    share, rows = cells[occupied] / table.n, len(table)

    def draw(generator: np.random.Generator) -> tuple[ForecastTable, ...]:
        counts = np.zeros(2 * rows)
        counts[occupied] = generator.multinomial(table.n, share)
        return (_table_of(table, counts[:rows], counts[rows:]),)

    return draw


def draw_from_cases(cases: Cases, tables: tuple[ForecastTable, ...]) -> DrawTables:
    """Return a function that draws cases, clusters or periods with replacement and makes the table of every model.

    `cases` are in canonical order, and `tables` are their tables, one per model.
    """
    event = cases.outcomes()
    weight = np.ones(len(cases)) if cases.weight is None else np.asarray(cases.weight, dtype=np.float64)
    rows = [
        np.searchsorted(table.forecast, cases.gathered(model).forecast)
        for model, table in zip(cases.models, tables, strict=True)
    ]
    codes, units = None, len(cases)
    if cases.units is not None:
        occupied, codes = np.unique(cases.units.codes, return_inverse=True)
        units = len(occupied)
    share = np.full(units, 1.0 / units)

    def draw(generator: np.random.Generator) -> tuple[ForecastTable, ...]:
        drawn = generator.multinomial(units, share)
        times = drawn if codes is None else drawn[codes.reshape(-1)]
        columns = [times * weight * outcome for outcome in (event, ~event)]
        squares = [times * weight * weight * outcome for outcome in (event, ~event)]
        n, n_events = int(times.sum()), int(times[event].sum())
        found = []
        for table, row in zip(tables, rows, strict=True):
            summed = [np.bincount(row, one, minlength=len(table)).astype(np.float64) for one in (*columns, *squares)]
            found.append(_table_of(table, *summed, n=n, n_events=n_events))
        return tuple(found)

    return draw


def values_of_draws(
    draw_tables: DrawTables, statistic: Callable[[tuple[ForecastTable, ...]], Floats], size: int, drawing: Drawing
) -> Floats:
    """Return numbers of drawn tables, of shape (draws, size); NaN if undefined, such as an AUC without events."""

    def draw(generator: np.random.Generator, number: int) -> Floats:
        return np.stack([_defined(statistic, draw_tables(generator), size) for _ in range(number)])

    return in_blocks(draw, drawing)


def _table_of(
    table: ForecastTable,
    events: Floats,
    non_events: Floats,
    event_squares: Floats | None = None,
    non_event_squares: Floats | None = None,
    **counts: int,
) -> ForecastTable:
    kept = events + non_events > 0.0
    squares: dict[str, Any] = (
        {}
        if event_squares is None or non_event_squares is None
        else {"event_squares": event_squares[kept], "non_event_squares": non_event_squares[kept]}
    )
    return ForecastTable(
        forecast=table.forecast[kept],
        events=events[kept],
        non_events=non_events[kept],
        **squares,
        **counts,  # type: ignore[arg-type]  # n and n_events
        cells=table.cells,
    )


def _defined(
    statistic: Callable[[tuple[ForecastTable, ...]], Floats], tables: tuple[ForecastTable, ...], size: int
) -> Floats:
    try:
        return statistic(tables)
    except UNDEFINED:
        return np.full(size, np.nan)
