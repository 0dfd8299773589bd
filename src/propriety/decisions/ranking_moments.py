"""Sums over cases of the regrets of models, and of their differences, on the cells between thresholds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety.result import Floats
from propriety.rules.weights import IntervalWeight
from propriety.tables.cases import Chunk


class _Placed(NamedTuple):
    """Forecasts on the grid: the cell of each, its integral of regret, and the parts of the cell below and above it."""

    cell: NDArray[np.intp]
    value: Floats
    above: Floats
    below: Floats


class Cells:
    """The cells between neighbouring thresholds of a grid, with a weight on thresholds."""

    def __init__(self, grid: Floats, weight: IntervalWeight) -> None:
        self.grid, self.weight, self.size = grid, weight, len(grid) - 1
        self.edges = np.stack([weight.cost(grid[0], grid, event=event) for event in (False, True)])
        self.width = np.diff(self.edges)
        self.below = np.tri(self.size, k=-1)  # [j, a] is 1 where cell a lies below cell j.

    def place(self, forecast: Floats, event: NDArray[np.bool_]) -> _Placed:
        """Return the positions of forecasts on the grid."""
        clipped = np.clip(forecast, self.grid[0], self.grid[-1])
        cell = np.minimum(np.searchsorted(self.grid, clipped, side="right") - 1, self.size - 1)
        regrets = (self.weight.cost(self.grid[0], clipped, event=happened) for happened in (True, False))
        value = np.where(event, *regrets)
        kind = event.astype(np.intp)
        return _Placed(cell, value, self.edges[kind, cell + 1] - value, value - self.edges[kind, cell])


class ModelMoments:
    """Sums over cases of each model's loss on each cell."""

    def __init__(self, models: int, grid: Floats, weight: IntervalWeight) -> None:
        self.cells = Cells(grid, weight)
        self.n, self.weight = 0, 0.0
        self.loss = np.zeros((models, 2, 2, self.cells.size))

    def add(self, chunks: Sequence[Chunk]) -> None:
        """Add the same cases, with the forecasts of each model."""
        event, weight = chunks[0].outcome, chunks[0].weight
        self.n += len(event) if weight is None else int(np.count_nonzero(weight))
        self.weight += float(len(event) if weight is None else weight.sum())
        for place, chunk in enumerate(chunks):
            one = self.cells.place(chunk.forecast, event)
            key, part = event * self.cells.size + one.cell, np.where(event, one.above, one.below)
            self.loss[place] += _grouped(key, (1.0, part), weight, (2, self.cells.size))

    def regrets(self) -> Floats:
        """Return the mean regret of each model, summed over the cells of each interval."""
        count, part = self.loss[:, 0], self.loss[:, 1]
        width, below = self.cells.width, self.cells.below
        whole = width[1] * (count[:, 1] @ below.T) + width[0] * (count[:, 0] @ below)
        return _sum_cells(part.sum(axis=1) + whole) / self.weight


class PairMoments:
    """Sums over cases of the differences between the losses of two models on the cells, for some pairs of models.

    Of two forecasts, the lower lies in cell a and the higher in cell b. The losses differ on the part x of a above the
    lower one, the part z of b below the higher one, and all cells between. It therefore suffices to sum 1, x, z, x^2, x
    z and z^2 over the cases for each a and b, each sign of the difference and each outcome.
    """

    def __init__(self, pairs: Sequence[tuple[int, int]], grid: Floats, weight: IntervalWeight) -> None:
        self.cells, self.pairs = Cells(grid, weight), pairs
        self.n, self.weight, self.weight_squares = 0, 0.0, 0.0
        grouped = (2, 2, self.cells.size, self.cells.size)
        self.plain = np.zeros((len(pairs), 3, *grouped))
        self.squared = np.zeros((len(pairs), 6, *grouped))
        self.differing = np.zeros((len(pairs), *grouped[1:]))

    def add(self, chunks: Mapping[int, Chunk]) -> None:
        """Add the same cases, with the forecasts of each model of a pair."""
        event, weight = next((chunk.outcome, chunk.weight) for chunk in chunks.values())
        self.n += len(event) if weight is None else int(np.count_nonzero(weight))
        self.weight += float(len(event) if weight is None else weight.sum())
        self.weight_squares += float(len(event) if weight is None else (weight * weight).sum())
        placed = {model: self.cells.place(chunk.forecast, event) for model, chunk in chunks.items()}
        size, shape = self.cells.size, self.squared.shape[2:]
        for place, (first, second) in enumerate(self.pairs):
            one, other = placed[first], placed[second]
            lower = one.value < other.value
            together = one.cell == other.cell
            x = np.where(together, np.abs(one.value - other.value), np.where(lower, one.above, other.above))
            z = np.where(together, 0.0, np.where(lower, other.below, one.below))
            a, b = np.minimum(one.cell, other.cell), np.maximum(one.cell, other.cell)
            key = ((2 * (lower == event) + event) * size + a) * size + b
            parts = (1.0, x, z, x * x, x * z, z * z)
            squared = _grouped(key, parts, None if weight is None else weight * weight, shape)
            self.squared[place] += squared
            self.plain[place] += squared[:3] if weight is None else _grouped(key, parts[:3], weight, shape)
            differs = (one.value != other.value) if weight is None else (one.value != other.value) & (weight > 0.0)
            end = np.where(together | (z > 0.0), b, b - 1)  # The higher forecast may be at the lower edge of its cell.
            self.differing[place] += _grouped((event * size + a) * size + end, (differs,), None, shape[1:])[0]

    def differences(self) -> tuple[Floats, Floats]:
        """Return the mean difference of each pair on each interval, and its standard error."""
        mean = _sum_cells(self._by_cell(self.plain)) / self.weight
        if self.n == 1:
            return mean, np.full_like(mean, np.nan)
        squares = _sum_blocks(self._products()) + mean**2 * self.weight_squares
        squares -= 2.0 * mean * _sum_cells(self._by_cell(self.squared[:, :3]))
        return mean, np.sqrt(np.maximum(squares, 0.0) * (self.n / (self.n - 1))) / self.weight

    def fewest(self) -> Floats:
        """Return the number of events, or if smaller of non-events, whose losses differ on each interval."""
        first, last = np.triu_indices(self.cells.size)
        begun = np.cumsum(self.differing.sum(axis=-1), axis=-1)  # Differences that begin in a cell, or below it.
        ended = np.cumsum(self.differing.sum(axis=-2), axis=-1)
        before = np.concatenate([np.zeros_like(ended[..., :1]), ended[..., :-1]], axis=-1)
        return np.asarray((begun[..., last] - before[..., first]).min(axis=1))

    def _by_cell(self, sums: Floats) -> Floats:
        """Return the sum of the differences on each cell."""
        one, x, z = np.moveaxis(sums[:, :, 1] - sums[:, :, 0], 1, 0)
        below = self.cells.below
        across = np.diagonal(below @ one @ below, axis1=-2, axis2=-1)
        return np.asarray((self.cells.width * across + x.sum(axis=-1) + z.sum(axis=-2)).sum(axis=1))

    def _products(self) -> Floats:
        """Return the sums of products of the differences on each pair of cells, as an upper triangle."""
        one, x, z, xx, xz, zz = np.moveaxis(self.squared.sum(axis=2), 1, 0)
        width, below = self.cells.width, self.cells.below
        right, left = width[:, None, :], width[:, :, None]
        both = np.triu(left * (below @ one @ below) * right)
        mixed = np.triu(xz + (x @ below) * right + left * (below @ z), 1)
        ends = (xx.sum(axis=-1) + zz.sum(axis=-2))[..., None] * np.eye(self.cells.size)
        return np.asarray((both + mixed + ends).sum(axis=1))


def _grouped(key: NDArray[np.intp], parts: Sequence[Any], weight: Floats | None, shape: tuple[int, ...]) -> Floats:
    """Sum each part, times the weight, over the cases of each key."""
    weights = [part if weight is None else part * weight for part in parts]
    sums = [np.bincount(key, np.broadcast_to(one, key.shape), minlength=math.prod(shape)) for one in weights]
    return np.reshape(sums, (len(parts), *shape))


def _sum_cells(cells: Floats) -> Floats:
    """Sum the cells of every interval, from shape (..., cells)."""
    size = cells.shape[-1]
    from_each = np.triu(np.broadcast_to(cells[..., None, :], (*cells.shape, size)))
    return np.cumsum(from_each, axis=-1)[..., *np.triu_indices(size)]


def _sum_blocks(upper: Floats) -> Floats:
    """Sum symmetric products over all pairs of cells of every interval, from their upper triangle."""
    doubled = upper + np.triu(upper, 1)
    columns = np.cumsum(doubled[..., ::-1, :], axis=-2)[..., ::-1, :]
    return np.cumsum(columns, axis=-1)[..., *np.triu_indices(upper.shape[-1])]
