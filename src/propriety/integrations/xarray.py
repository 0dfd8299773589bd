"""xarray: scores, intervals, comparisons and reliability over some dimensions of arrays, at every point of the others.

Dimensions are matched by name: observations are repeated for every lead time, and a climatology for every day.
Coordinates must be equal, unless ``join="inner"`` is passed. Dask arrays stay lazy.
"""

from __future__ import annotations

from propriety.integrations.xarray_curves import decompose, reliability_by, reliability_curve
from propriety.integrations.xarray_members import exceedance
from propriety.integrations.xarray_points import compare, estimate
from propriety.integrations.xarray_scores import mean_score, skill_score

__all__ = [
    "compare",
    "decompose",
    "estimate",
    "exceedance",
    "mean_score",
    "reliability_by",
    "reliability_curve",
    "skill_score",
]
