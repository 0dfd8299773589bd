"""Recalibration: maps from forecast to forecast, fitted to a table of one event, and their gain out of sample."""

from propriety.recalibration.isotonic_map import IsotonicMap, fit_isotonic, fit_isotonic_corrected
from propriety.recalibration.logistic_maps import (
    BetaMap,
    LogisticMap,
    QuadraticMap,
    fit_beta,
    fit_intercept,
    fit_logistic,
    fit_quadratic,
    fit_slope,
)
from propriety.recalibration.maps import IdentityMap, RecalibrationMap, fit_floored, fit_none, floor_of
from propriety.recalibration.methods import METHODS
from propriety.recalibration.prior_correction import OddsMap, prior_correction
from propriety.recalibration.spline_map import SplineMap, fit_shrunk_spline, fit_spline
from propriety.recalibration.venn_abers import VennAbersMap, fit_venn_abers

__all__ = [
    "METHODS",
    "BetaMap",
    "IdentityMap",
    "IsotonicMap",
    "LogisticMap",
    "OddsMap",
    "QuadraticMap",
    "RecalibrationMap",
    "SplineMap",
    "VennAbersMap",
    "fit_beta",
    "fit_floored",
    "fit_intercept",
    "fit_isotonic",
    "fit_isotonic_corrected",
    "fit_logistic",
    "fit_none",
    "fit_quadratic",
    "fit_shrunk_spline",
    "fit_slope",
    "fit_spline",
    "fit_venn_abers",
    "floor_of",
    "prior_correction",
]
