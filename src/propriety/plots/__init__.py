"""One drawing function per result type. It does not compute or change settings, and draws on the caller's axes."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from propriety.errors import MissingDependencyError

if find_spec("matplotlib") is None:
    _hint = 'pip install "propriety[plot]".'
    raise MissingDependencyError("Figures need matplotlib", hint=_hint)

from propriety.plots import (  # noqa: F401  (their drawing functions are found by type)
    confusion,
    decision_uncertainty,
    findings,
    operating_points,
    probability_means,
    ranking,
    recalibration,
    retention,
    smooth_calibration,
    top_k,
)
from propriety.plots.cut_points import plot_cut_point_decompositions, plot_cut_point_reliability
from propriety.plots.decomposition import plot_decompositions
from propriety.plots.display import DecisionCurveDisplay, ReliabilityDisplay
from propriety.plots.drawing import draw
from propriety.plots.evaluation import plot_evaluation
from propriety.plots.gains import plot_gains, plot_lifts, plot_precision_recall
from propriety.plots.reliability import plot_curves, plot_grid
from propriety.plots.risk_coverage import plot_risk_coverage_curves
from propriety.plots.roc import plot_roc_curves
from propriety.plots.threshold_curves import plot_threshold_curves
from propriety.upward import brought

for _module, _ in brought("pictures"):
    import_module(_module)  # Its drawing functions are found by type, too.

__all__ = [
    "DecisionCurveDisplay",
    "ReliabilityDisplay",
    "draw",
    "plot_curves",
    "plot_cut_point_decompositions",
    "plot_cut_point_reliability",
    "plot_decompositions",
    "plot_evaluation",
    "plot_gains",
    "plot_grid",
    "plot_lifts",
    "plot_precision_recall",
    "plot_risk_coverage_curves",
    "plot_roc_curves",
    "plot_threshold_curves",
]
