"""Quantiles of weighted values."""

from __future__ import annotations

import numpy as np

from propriety.result import Floats

__all__ = ["quantile_of_sorted", "weighted_quantile"]


def weighted_quantile(values: Floats, weight: Floats, levels: Floats) -> Floats:
    """Return weighted quantiles: the smallest values that at least the given shares of the weight do not exceed.

    Examples
    --------
    >>> weighted_quantile(np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 2.0]), np.array([0.25, 0.5, 0.9]))
    array([1., 2., 3.])
    """
    order = np.argsort(values, kind="stable")
    return quantile_of_sorted(values[order], np.cumsum(weight[order]), levels)


def quantile_of_sorted(values: Floats, share: Floats, levels: Floats) -> Floats:
    """Return the same for sorted values, given the cumulative weights."""
    # A share that is met exactly must not be missed by rounding, so the levels are reduced slightly.
    reached = np.searchsorted(share, levels * share[-1] * (1.0 - 1e-12))
    quantile: Floats = values[reached]
    return quantile
