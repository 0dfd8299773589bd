"""Draws with replacement: counts for the cells of a table or of a loss, for cases or clusters, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from propriety.calibration.resampling import check_resamples
from propriety.errors import InputValueError, sentence
from propriety.progress import track
from propriety.results import Floats

__all__ = ["Units", "in_blocks", "resampled_means"]

CELLS = 2**10  # Cells of the deviations, once the units outnumber them twice.
BLOCK = 2**5  # Draws that share a stream of random numbers; also bounds the memory.

Draw: TypeAlias = Callable[[np.random.Generator, int], Floats]


def in_blocks(draw: Draw, *, n_resamples: int, seed: int, workers: int = 1, progress: bool = False) -> Floats:
    """Make draws in blocks, each with a stream of its own, so that the answer is the same for any number of workers.

    Parameters
    ----------
    draw : callable
        Makes so many draws with a generator, one row each.
    n_resamples, seed : int
        Number and seed of the draws.
    workers : int
        Number of threads.
    progress : bool
        Whether to show a bar.

    Examples
    --------
    >>> one, two = (
    ...     in_blocks(lambda rng, size: rng.random(size), n_resamples=100, seed=1, workers=workers)
    ...     for workers in (1, 2)
    ... )
    >>> bool((one == two).all())
    True
    """
    check_resamples(n_resamples)
    if not isinstance(workers, int | np.integer) or isinstance(workers, bool) or workers < 1:
        raise InputValueError(sentence(f"workers must be a positive whole number; got {workers!r}"))
    sizes = [min(BLOCK, n_resamples - start) for start in range(0, n_resamples, BLOCK)]
    seeds = np.random.SeedSequence(seed).spawn(len(sizes))

    def block(at: int) -> Floats:
        return draw(np.random.default_rng(seeds[at]), sizes[at])

    with _mapped(block, range(len(sizes)), workers) as blocks:
        done = list(track(blocks, total=len(sizes), label="resampling", enabled=progress))
    return np.concatenate(done)


@contextmanager
def _mapped(work: Callable[[int], Floats], items: Iterable[int], workers: int) -> Iterator[Iterable[Floats]]:
    """Give the results in order, made one by one or by threads."""
    if workers == 1:
        yield map(work, items)
        return
    with ThreadPoolExecutor(workers) as pool:
        yield pool.map(work, items)


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    r"""What the error of a weighted mean is made of: the independent units, cases or clusters, that it was drawn from.

    Parameters
    ----------
    mean : float
        The weighted mean :math:`m`.
    deviation : ndarray of shape (entries,)
        :math:`e_g = \sum_{i \in g} w_i (x_i - m)` of each unit.
    weight : ndarray of shape (entries,)
        :math:`W_g = \sum_{i \in g} w_i` of each unit.
    count : ndarray of shape (entries,)
        Number of units that an entry stands for.
    noise : ndarray of shape (entries,), optional
        Variance of the deviations among the units of an entry; zero where they are alike.
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
        """Sum up values by unit: the clusters that `codes` number, or each case by itself.

        A case without weight is no unit. `count` says how many cases an entry of `values` stands for.
        """
        w = np.ones(len(values)) if weight is None else weight
        n = np.ones(len(values), dtype=np.int64) if count is None else count
        present = w > 0.0
        if not present.all():
            values, w, n = values[present], w[present], n[present]
            codes = None if codes is None else codes[present]
        total = float((w * n).sum())
        with np.errstate(invalid="ignore"):  # Of infinite values.
            # Not a dot product, here and below: its last bits change with the threads that BLAS may use.
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
    def total(self) -> float:
        """Weight of all units."""
        return float((self.count * self.weight).sum())

    @property
    def standard_error(self) -> float:
        r"""Standard error of the mean, :math:`\frac1W \sqrt{\frac{G}{G - 1} \sum_g e_g^2}`; NaN for a single unit."""
        if self.number == 1:
            return np.nan
        squares = float((self.count * self.deviation**2).sum())
        return float(np.sqrt(squares * self.number / (self.number - 1))) / self.total

    @property
    def share_inside(self) -> float:
        """Share of the variance that lies inside the cells of `in_cells`, and is drawn as normal noise."""
        if self.noise is None:
            return 0.0
        inside = float((self.count * self.noise).sum())
        whole = inside + float((self.count * self.deviation**2).sum())
        return inside / whole if whole > 0.0 else 0.0

    def in_cells(self, cells: int = CELLS) -> Units:
        """Put units of nearly equal deviation together, where there are more than twice as many as cells.

        The cells are of equal width. Mean and variance of what is drawn from them are those of draws of the units
        themselves, because the spread inside the cells is kept and drawn as normal noise.
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

    def resampled(self, *, n_resamples: int, seed: int, workers: int = 1, progress: bool = False) -> Floats:
        """Return the mean of each draw of as many units, with replacement."""
        share = self.count / self.number

        def draw(generator: np.random.Generator, size: int) -> Floats:
            drawn = generator.multinomial(self.number, share, size=size).astype(np.float64)
            with np.errstate(invalid="ignore"):  # Of infinite deviations.
                shift: Floats = (drawn * self.deviation).sum(axis=1)
            if self.noise is not None:
                shift += generator.standard_normal(size) * np.sqrt((drawn * self.noise).sum(axis=1))
            means: Floats = self.mean + shift / (drawn * self.weight).sum(axis=1)
            return means

        return in_blocks(draw, n_resamples=n_resamples, seed=seed, workers=workers, progress=progress)


def resampled_means(
    values: Floats,
    *,
    n_resamples: int,
    seed: int,
    weight: Floats | None = None,
    codes: NDArray[np.intp] | None = None,
    workers: int = 1,
    progress: bool = False,
) -> Floats:
    r"""Return the weighted means of `values` in draws of the cases, or of the clusters, with replacement.

    With many units the draws are counts for 1,024 cells of equal width of the deviations from the mean, so that the
    time does not grow with them; see `Units.in_cells` for what that changes: nothing in mean and variance, and in
    what is beyond them only the spread inside cells, each a thousandth of the range.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Losses or differences of losses, finite.
    n_resamples, seed : int
        Number and seed of the draws.
    weight : ndarray of shape (n,), optional
        Weights of the cases.
    codes : ndarray of shape (n,), optional
        Number of the cluster of each case, from 0.
    workers, progress
        As in `in_blocks`.

    References
    ----------
    Efron (1979), doi:10.1214/aos/1176344552; Davison & Hinkley (1997), doi:10.1017/CBO9780511802843.

    Examples
    --------
    >>> means = resampled_means(np.arange(100.0), n_resamples=2000, seed=1)
    >>> round(float(means.std()), 1)
    2.9
    """
    units = Units.of(values, weight=weight, codes=codes).in_cells()
    return units.resampled(n_resamples=n_resamples, seed=seed, workers=workers, progress=progress)
