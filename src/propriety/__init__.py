"""Judge probability forecasts by what they are for: honest probabilities and good decisions."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from propriety import errors
from propriety.calibration.bands import Band
from propriety.calibration.classical import ClassicalDecomposition, classical_decomposition
from propriety.calibration.decomposition import Decomposition, decompose
from propriety.calibration.miscalibration import MiscalibrationTest, miscalibration_test
from propriety.calibration.reliability import ReliabilityCurve, reliability_curve
from propriety.calibration.summary import CalibrationSummary, calibration_summary
from propriety.results import Result, Score
from propriety.rules.audit import AuditReport, Finding, audit
from propriety.rules.bounded import BoundedBrier, BoundedLog, BoundedNetBenefit
from propriety.rules.elementary import BetaRegret, Elementary, ShiftedBrier
from propriety.rules.families import Brier, Log, Pseudospherical, Spherical, Tsallis
from propriety.rules.ordinal import RankedLog, RankedProbability, SquaredAbsoluteRankedProbability
from propriety.rules.penalized import Misclassification, PenalizedBrier, PenalizedLog
from propriety.rules.rule import BinaryRule, ClassRule, Properties, Rule
from propriety.rules.scores import (
    bounded_brier_score,
    bounded_log_score,
    bounded_net_benefit,
    brier_score,
    log_score,
    penalized_brier_score,
    penalized_log_score,
    ranked_probability_score,
    spherical_score,
    squared_absolute_ranked_probability_score,
)
from propriety.rules.scoring import case_scores, mean_score, skill_score
from propriety.rules.search import Counterexample
from propriety.tables.forecast_table import ForecastTable

if TYPE_CHECKING:
    from propriety import plots as plots
    from propriety.plots import ReliabilityDisplay as ReliabilityDisplay

__version__ = version("propriety")

__all__ = [
    "AuditReport",
    "Band",
    "BetaRegret",
    "BinaryRule",
    "BoundedBrier",
    "BoundedLog",
    "BoundedNetBenefit",
    "Brier",
    "CalibrationSummary",
    "ClassRule",
    "ClassicalDecomposition",
    "Counterexample",
    "Decomposition",
    "Elementary",
    "Finding",
    "ForecastTable",
    "Log",
    "MiscalibrationTest",
    "Misclassification",
    "PenalizedBrier",
    "PenalizedLog",
    "Properties",
    "Pseudospherical",
    "RankedLog",
    "RankedProbability",
    "ReliabilityCurve",
    "Result",
    "Rule",
    "Score",
    "ShiftedBrier",
    "Spherical",
    "SquaredAbsoluteRankedProbability",
    "Tsallis",
    "audit",
    "bounded_brier_score",
    "bounded_log_score",
    "bounded_net_benefit",
    "brier_score",
    "calibration_summary",
    "case_scores",
    "classical_decomposition",
    "decompose",
    "errors",
    "log_score",
    "mean_score",
    "miscalibration_test",
    "penalized_brier_score",
    "penalized_log_score",
    "ranked_probability_score",
    "reliability_curve",
    "skill_score",
    "spherical_score",
    "squared_absolute_ranked_probability_score",
]


def __getattr__(name: str) -> Any:
    """Import what draws when it is first asked for; so it is no part of `__all__`, and needs matplotlib only then."""
    if name == "plots":
        return import_module("propriety.plots")
    if name == "ReliabilityDisplay":
        return import_module("propriety.plots").ReliabilityDisplay
    message = f"module 'propriety' has no attribute {name!r}"
    raise AttributeError(message)
