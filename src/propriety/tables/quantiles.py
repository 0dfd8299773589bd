"""Quantiles of weighted values."""

from __future__ import annotations

import numpy as np

from propriety.result import Floats

ROUNDING = 1e-12


def weighted_quantile(values: Floats, weight: Floats, levels: Floats) -> Floats:
    """Return weighted quantiles: the smallest values that at least the given shares of the weight do not exceed.

    If a value is not exceeded by exactly that share, it is the mean of this value and the next, so that the quantiles
    of mirrored values are the mirrored quantiles (type 2 of Hyndman & Fan 1996, doi:10.2307/2684934).

    Examples
    --------
    >>> weighted_quantile(np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 2.0]), np.array([0.25, 0.5, 0.9]))
    array([1.5, 2. , 3. ])
    """
    order = np.argsort(values, kind="stable")
    return quantile_of_sorted(values[order], np.cumsum(weight[order]), levels)


def quantile_of_sorted(values: Floats, share: Floats, levels: Floats) -> Floats:
    """Return the same for sorted values, given the cumulative weights."""
    # Rounding may put a share that is met exactly on either side of the level.
    sides = levels * share[-1] * np.array([[1.0 - ROUNDING], [1.0 + ROUNDING]])
    reached = np.minimum(np.searchsorted(share, sides), len(values) - 1)
    quantile: Floats = values[reached].mean(axis=0)
    return quantile
