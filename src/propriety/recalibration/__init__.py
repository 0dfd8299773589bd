"""Recalibration maps for binary forecasts and for class probabilities."""

from propriety.recalibration.class_fits import fit_shrunk_classes, fit_structured_matrix, fit_temperature, fit_vector
from propriety.recalibration.class_maps import ClassIdentityMap, ClassMap, MatrixMap
from propriety.recalibration.class_rows import ClassRows, floor_of_classes
from propriety.recalibration.maps import IdentityMap, IsotonicMap, RecalibrationMap, fit_isotonic, floor_of
from propriety.recalibration.methods import CLASS_METHODS, METHODS, OneVsRestMap, fit_one_vs_rest
from propriety.recalibration.odds_maps import (
    OddsMap,
    fit_beta,
    fit_intercept,
    fit_logistic,
    fit_slope,
    prior_correction,
)
from propriety.recalibration.segment_map import SegmentEffect, SegmentMap
from propriety.recalibration.spline_map import SplineMap, fit_shrunk_spline, fit_spline
from propriety.recalibration.venn_abers import VennAbersMap, fit_venn_abers

__all__ = [
    "CLASS_METHODS",
    "METHODS",
    "ClassIdentityMap",
    "ClassMap",
    "ClassRows",
    "IdentityMap",
    "IsotonicMap",
    "MatrixMap",
    "OddsMap",
    "OneVsRestMap",
    "RecalibrationMap",
    "SegmentEffect",
    "SegmentMap",
    "SplineMap",
    "VennAbersMap",
    "fit_beta",
    "fit_intercept",
    "fit_isotonic",
    "fit_logistic",
    "fit_one_vs_rest",
    "fit_shrunk_classes",
    "fit_shrunk_spline",
    "fit_slope",
    "fit_spline",
    "fit_structured_matrix",
    "fit_temperature",
    "fit_vector",
    "fit_venn_abers",
    "floor_of",
    "floor_of_classes",
    "prior_correction",
]
