"""The recalibration methods for binary forecasts, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

from propriety.recalibration.logistic_maps import fit_beta, fit_intercept, fit_logistic, fit_slope
from propriety.recalibration.maps import RecalibrationMap, fit_floored, fit_isotonic, fit_none
from propriety.recalibration.spline_map import fit_shrunk_spline, fit_spline
from propriety.recalibration.venn_abers import fit_venn_abers
from propriety.tables.forecast_table import ForecastTable

Fit: TypeAlias = Callable[[ForecastTable], RecalibrationMap]

# From the simplest to the most flexible; among methods with similar scores, the first is chosen.
METHODS: Mapping[str, Fit] = MappingProxyType(
    {
        "none": fit_none,
        "floored": fit_floored,
        "auto": fit_shrunk_spline,
        "intercept": fit_intercept,
        "slope": fit_slope,
        "logistic": fit_logistic,
        "beta": fit_beta,
        "spline": fit_spline,
        "venn-abers": fit_venn_abers,
        "isotonic": fit_isotonic,
    }
)
