"""Draws of outcomes from class probabilities."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from propriety.result import Floats

FEW_CLASSES = 16  # With more classes, outcomes are found by bisection.


def drawn_outcomes(p: Floats, generator: np.random.Generator, draws: int) -> NDArray[np.intp]:
    """Draw classes with the probabilities `p` of shape (K, cases); return their indices, of shape (cases, draws).

    Examples
    --------
    >>> drawn_outcomes(np.array([[0.0, 1.0], [1.0, 0.0]]), np.random.default_rng(1), 3)
    array([[1, 1, 1],
           [0, 0, 0]])
    """
    heads = np.cumsum(p, axis=0)
    chance = generator.random((p.shape[1], draws)) * heads[-1][:, None]
    if len(p) <= FEW_CLASSES:
        drawn = np.zeros(chance.shape, dtype=np.intp)
        for head in heads[:-1]:
            drawn += chance >= head[:, None]
        return drawn
    found = [np.searchsorted(head, own, side="right") for head, own in zip(heads.T.copy(), chance, strict=True)]
    bisected: NDArray[np.intp] = np.minimum(np.stack(found), len(p) - 1)
    return bisected
