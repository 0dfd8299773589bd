"""Sums over the cases of two models, from which limits and tests of their difference are computed. They add."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propriety.ledger.key_index import KeyIndex
from propriety.result import Floats

POWERS = ((1, 0), (1, 1), (2, 0), (2, 1), (2, 2), (3, 0), (3, 1), (3, 2), (3, 3))  # Of the weight and of the loss.
UNITS = ("cluster", "period")  # The sums are not split by these: a case is imagined by itself.
LARGEST_LOSS = 1e100  # Sums of cubes of losses below it are finite.


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairSums:
    r"""Sums over the cases of each pair of models: of what happened, and of what might have happened.

    The losses of the first model exceed those of the second by :math:`L_1` if the event happens and by :math:`L_0` if
    it does not. The case favours neither model if the event has the probability :math:`q = -L_0 / (L_1 - L_0)`, which
    is clipped to the range of the two forecasts; it is their mean if :math:`L_1 = L_0`. An imagined outcome is drawn
    with :math:`q_1 = q` and :math:`q_0 = 1 - q`.

    Cells are split by outcome and keys, not by cluster or period, so their number does not grow with that of the
    clusters. A case of weight zero adds nothing.

    Parameters
    ----------
    imagined : ndarray of shape (cells, pairs, 2, 9)
        :math:`\sum w^j q_o L_o^k` by imagined outcome o, first without the event, then with it. The last axis has the
        powers (j, k) of `POWERS`. A case adds nothing if one of its losses is infinite or exceeds 1e100.
    cubes : ndarray of shape (cells, pairs, 4)
        :math:`\sum w^3 x^k` of the observed differences x, for k = 0, ..., 3.
    differ : ndarray of shape (cells, pairs)
        Number of cases in which :math:`L_1` or :math:`L_0` is not 0.
    index : KeyIndex
        Labels of the cells: the outcome and the keys.
    """

    imagined: Floats
    cubes: Floats
    differ: NDArray[np.int64]
    index: KeyIndex

    def over(self, *kept: str) -> PairSums:
        """Return the sums of the cells that share these labels; clusters and periods are ignored."""
        index, codes = self.index.only([name for name in kept if name not in UNITS])
        return self._added(index, codes)

    def where(self, entries: NDArray[Any]) -> PairSums:
        """Return some of the cells."""
        return PairSums(
            imagined=self.imagined[entries],
            cubes=self.cubes[entries],
            differ=self.differ[entries],
            index=self.index.where(entries),
        )

    @staticmethod
    def merge(parts: Sequence[PairSums | None]) -> PairSums | None:
        """Return the sums of the cases of all parts; None if a part has none."""
        known = [one for one in parts if one is not None]
        if not known or len(known) < len(parts):
            return None
        index = KeyIndex.joined([one.index for one in known])
        whole = PairSums(
            imagined=np.concatenate([one.imagined for one in known]),
            cubes=np.concatenate([one.cubes for one in known]),
            differ=np.concatenate([one.differ for one in known]),
            index=index,
        )
        return whole._added(*index.distinct())

    def weighted(self, factor: Floats) -> PairSums:
        """Return the sums after the weights of the cases of each cell were multiplied by a factor."""
        powers = np.array([weight for weight, _ in POWERS])
        by_power = np.stack([factor, factor**2, factor**3], axis=1)
        imagined = self.imagined * by_power[:, None, None, powers - 1]
        return replace(self, imagined=imagined, cubes=self.cubes * by_power[:, 2][:, None, None])

    def moved(self, slope: float, level: ArrayLike = 0.0) -> PairSums:
        r"""Return the sums of :math:`a L_o + b_o` in place of :math:`L_o`, with the same imagined outcomes.

        Parameters
        ----------
        slope : float
            The slope a.
        level : array-like, of a shape that broadcasts to (cells, pairs, 2)
            The level :math:`b_o`, without the event and with it. The observed differences of a cell have the level of
            its outcome.

        Notes
        -----
        :math:`\sum w^j q_o (a L_o + b_o)^k = \sum_i \binom{k}{i} a^i b_o^{k - i} \sum w^j q_o L_o^i`. The number of
        cases that differ is left as it is.
        """
        levels = np.broadcast_to(np.asarray(level, dtype=np.float64), (*self.differ.shape, 2))
        imagined, cubes = np.empty_like(self.imagined), np.empty_like(self.cubes)
        for place, (weight, power) in enumerate(POWERS):
            own = {k: self.imagined[..., at] for at, (j, k) in enumerate(POWERS) if j == weight}
            imagined[..., place] = _power_of_sum(own, power, slope, levels)
        observed = {k: self.cubes[..., k] for k in range(4)}
        for power in range(4):
            cubes[..., power] = _power_of_sum(observed, power, slope, self._of_outcome(levels))
        return replace(self, imagined=imagined, cubes=cubes)

    def _of_outcome(self, levels: Floats) -> Floats:
        """Return the levels of the outcome that happened, shape (cells, pairs)."""
        without, happened = levels[..., 0], levels[..., 1]
        if np.array_equal(without, happened):  # The cells need not be split by outcome.
            return without
        return np.where(np.array(self.index.column("outcome"))[:, None] == 1, happened, without)

    def _added(self, index: KeyIndex, codes: NDArray[np.intp]) -> PairSums:
        """Add the cells with the same code; every entry of the index occurs."""
        order = np.argsort(codes, kind="stable")
        columns: list[Any] = [column[order] for column in (self.imagined, self.cubes, self.differ)]
        if len(codes) > len(index):
            starts = np.searchsorted(codes[order], np.arange(len(index)))
            with np.errstate(invalid="ignore"):  # Infinite losses.
                columns = [np.add.reduceat(one, starts, axis=0) for one in columns]
        return PairSums(imagined=columns[0], cubes=columns[1], differ=columns[2], index=index)


def _power_of_sum(sums: dict[int, Floats], power: int, slope: float, level: Floats) -> Floats:
    """Return the sum of a power of `slope * x + level`, from the sums of the powers of x."""
    moved: Floats = slope**power * sums[power]
    for own in range(power):
        with np.errstate(invalid="ignore"):  # Infinite losses.
            term = math.comb(power, own) * slope**own * level ** (power - own) * sums[own]
        moved = moved + np.where(level == 0.0, 0.0, term)
    return moved
