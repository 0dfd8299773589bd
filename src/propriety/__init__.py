"""Judge probability forecasts by what they are for: honest probabilities and good decisions."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from propriety import errors
from propriety.results import Result, Score
from propriety.tables.forecast_table import ForecastTable

if TYPE_CHECKING:
    from propriety import plots as plots
    from propriety import recalibration as recalibration
    from propriety.calibration.bands import Band
    from propriety.calibration.bracket import CalibrationBracket, calibration_bracket
    from propriety.calibration.classical import ClassicalDecomposition, classical_decomposition
    from propriety.calibration.decomposition import Decomposition, decompose
    from propriety.calibration.miscalibration import MiscalibrationTest, miscalibration_test
    from propriety.calibration.reliability import ReliabilityCurve, reliability_curve
    from propriety.decisions.advice import Advice, advise
    from propriety.decisions.agreement import quadratic_weighted_kappa
    from propriety.decisions.expected_cost import bayes_decisions, expected_cost
    from propriety.decisions.murphy import MurphyCurve, murphy_curve
    from propriety.decisions.net_benefit import DecisionCurve, decision_curve
    from propriety.decisions.ranking_map import RankedInterval, RankingMap, ranking_map
    from propriety.decisions.regret import CostCurve, RegretCurve, cost_curve, regret_curve
    from propriety.decisions.roc import RocCurve, roc_curve
    from propriety.decisions.top_k import TopK, top_k
    from propriety.decisions.weighted_regret import WeightedRegret, h_measure, weighted_regret
    from propriety.diagnostics.probability_groups import ProbabilityGroups
    from propriety.diagnostics.probability_means import MeanSpectrum, ProbabilityMeans, probability_means
    from propriety.diagnostics.retention import RetentionAreas, RetentionCurve, retention_curve
    from propriety.diagnostics.worst_cases import WorstCases, worst_cases
    from propriety.evaluation.evaluate import evaluate
    from propriety.evaluation.evaluation import Evaluation
    from propriety.evaluation.scores import Scores
    from propriety.inference.calibration_measures import (
        CalibrationIntercept,
        CalibrationSlope,
        IntegratedCalibrationIndex,
        ObservedExpected,
    )
    from propriety.inference.calibration_monitor import MonitoredCalibration, monitor_calibration
    from propriety.inference.calibration_summary import CalibrationSummary, calibration_summary
    from propriety.inference.comparison import Comparison, compare
    from propriety.inference.comparison_monitor import MonitoredComparison, monitor_comparison
    from propriety.inference.e_process import EProcess
    from propriety.inference.estimates import Estimate
    from propriety.inference.estimation import estimate
    from propriety.inference.measures import (
        Discrimination,
        Influence,
        MeanScore,
        Measure,
        Miscalibration,
        NetBenefit,
        Regret,
        Skill,
    )
    from propriety.inference.ranking_measures import AreaUnderRoc, PartialArea, TopKNetBenefit
    from propriety.inference.slice_table import Slices
    from propriety.inference.slices import slices
    from propriety.inference.verdicts import Standings
    from propriety.ledger.condense import condense
    from propriety.ledger.ledger import Ledger
    from propriety.ledger.moments import Moments
    from propriety.plots import DecisionCurveDisplay as DecisionCurveDisplay
    from propriety.plots import ReliabilityDisplay as ReliabilityDisplay
    from propriety.recalibration.recalibrate import recalibrate
    from propriety.recalibration.result import Recalibration
    from propriety.rules.audit import AuditReport, Finding, audit
    from propriety.rules.bounded import BoundedBrier, BoundedLog, BoundedNetBenefit
    from propriety.rules.custom_weights import CustomWeight, PointsWeight
    from propriety.rules.elementary import BetaRegret, Elementary, ShiftedBrier
    from propriety.rules.families import Brier, Log, Pseudospherical, Spherical, Tsallis
    from propriety.rules.ordinal import RankedLog, RankedProbability, SquaredAbsoluteRankedProbability
    from propriety.rules.penalized import Misclassification, PenalizedBrier, PenalizedLog
    from propriety.rules.registry import register_rule
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
    from propriety.rules.weights import BetaWeight, LogOddsWeight, NetBenefitWeight, ThresholdWeight, UniformWeight

# Rules and analyses are imported when they are first asked for, so that `import propriety` stays light as it grows.
_ON_DEMAND: dict[str, tuple[str, ...]] = {
    "propriety.calibration.bands": ("Band",),
    "propriety.calibration.bracket": ("CalibrationBracket", "calibration_bracket"),
    "propriety.calibration.classical": ("ClassicalDecomposition", "classical_decomposition"),
    "propriety.calibration.decomposition": ("Decomposition", "decompose"),
    "propriety.calibration.miscalibration": ("MiscalibrationTest", "miscalibration_test"),
    "propriety.calibration.reliability": ("ReliabilityCurve", "reliability_curve"),
    "propriety.decisions.advice": ("Advice", "advise"),
    "propriety.decisions.agreement": ("quadratic_weighted_kappa",),
    "propriety.decisions.expected_cost": ("bayes_decisions", "expected_cost"),
    "propriety.decisions.murphy": ("MurphyCurve", "murphy_curve"),
    "propriety.decisions.net_benefit": ("DecisionCurve", "decision_curve"),
    "propriety.decisions.ranking_map": ("RankedInterval", "RankingMap", "ranking_map"),
    "propriety.decisions.regret": ("CostCurve", "RegretCurve", "cost_curve", "regret_curve"),
    "propriety.decisions.roc": ("RocCurve", "roc_curve"),
    "propriety.decisions.top_k": ("TopK", "top_k"),
    "propriety.decisions.weighted_regret": ("WeightedRegret", "h_measure", "weighted_regret"),
    "propriety.diagnostics.probability_groups": ("ProbabilityGroups",),
    "propriety.diagnostics.probability_means": ("MeanSpectrum", "ProbabilityMeans", "probability_means"),
    "propriety.diagnostics.retention": ("RetentionAreas", "RetentionCurve", "retention_curve"),
    "propriety.diagnostics.worst_cases": ("WorstCases", "worst_cases"),
    "propriety.evaluation.evaluate": ("evaluate",),
    "propriety.evaluation.evaluation": ("Evaluation",),
    "propriety.evaluation.scores": ("Scores",),
    "propriety.inference.calibration_summary": ("CalibrationSummary", "calibration_summary"),
    "propriety.inference.calibration_measures": (
        "CalibrationIntercept",
        "CalibrationSlope",
        "IntegratedCalibrationIndex",
        "ObservedExpected",
    ),
    "propriety.inference.calibration_monitor": ("MonitoredCalibration", "monitor_calibration"),
    "propriety.inference.comparison": ("Comparison", "compare"),
    "propriety.inference.comparison_monitor": ("MonitoredComparison", "monitor_comparison"),
    "propriety.inference.e_process": ("EProcess",),
    "propriety.inference.estimates": ("Estimate",),
    "propriety.inference.estimation": ("estimate",),
    "propriety.inference.measures": (
        "Discrimination",
        "Influence",
        "MeanScore",
        "Measure",
        "Miscalibration",
        "NetBenefit",
        "Regret",
        "Skill",
    ),
    "propriety.inference.ranking_measures": ("AreaUnderRoc", "PartialArea", "TopKNetBenefit"),
    "propriety.inference.slice_table": ("Slices",),
    "propriety.inference.slices": ("slices",),
    "propriety.inference.verdicts": ("Standings",),
    "propriety.ledger.condense": ("condense",),
    "propriety.ledger.ledger": ("Ledger",),
    "propriety.ledger.moments": ("Moments",),
    "propriety.recalibration.recalibrate": ("recalibrate",),
    "propriety.recalibration.result": ("Recalibration",),
    "propriety.rules.audit": ("AuditReport", "Finding", "audit"),
    "propriety.rules.bounded": ("BoundedBrier", "BoundedLog", "BoundedNetBenefit"),
    "propriety.rules.custom_weights": ("CustomWeight", "PointsWeight"),
    "propriety.rules.elementary": ("BetaRegret", "Elementary", "ShiftedBrier"),
    "propriety.rules.families": ("Brier", "Log", "Pseudospherical", "Spherical", "Tsallis"),
    "propriety.rules.ordinal": ("RankedLog", "RankedProbability", "SquaredAbsoluteRankedProbability"),
    "propriety.rules.penalized": ("Misclassification", "PenalizedBrier", "PenalizedLog"),
    "propriety.rules.registry": ("register_rule",),
    "propriety.rules.rule": ("BinaryRule", "ClassRule", "Properties", "Rule"),
    "propriety.rules.scores": (
        "bounded_brier_score",
        "bounded_log_score",
        "bounded_net_benefit",
        "brier_score",
        "log_score",
        "penalized_brier_score",
        "penalized_log_score",
        "ranked_probability_score",
        "spherical_score",
        "squared_absolute_ranked_probability_score",
    ),
    "propriety.rules.scoring": ("case_scores", "mean_score", "skill_score"),
    "propriety.rules.search": ("Counterexample",),
    "propriety.rules.weights": (
        "BetaWeight",
        "LogOddsWeight",
        "NetBenefitWeight",
        "ThresholdWeight",
        "UniformWeight",
    ),
    "propriety.plots": ("DecisionCurveDisplay", "ReliabilityDisplay"),
}
_MODULE_OF = {name: module for module, names in _ON_DEMAND.items() for name in names}

__all__ = [
    "Advice",
    "AreaUnderRoc",
    "AuditReport",
    "Band",
    "BetaRegret",
    "BetaWeight",
    "BinaryRule",
    "BoundedBrier",
    "BoundedLog",
    "BoundedNetBenefit",
    "Brier",
    "CalibrationBracket",
    "CalibrationIntercept",
    "CalibrationSlope",
    "CalibrationSummary",
    "ClassRule",
    "ClassicalDecomposition",
    "Comparison",
    "CostCurve",
    "Counterexample",
    "CustomWeight",
    "DecisionCurve",
    "Decomposition",
    "Discrimination",
    "EProcess",
    "Elementary",
    "Estimate",
    "Evaluation",
    "Finding",
    "ForecastTable",
    "Influence",
    "IntegratedCalibrationIndex",
    "Ledger",
    "Log",
    "LogOddsWeight",
    "MeanScore",
    "MeanSpectrum",
    "Measure",
    "Miscalibration",
    "MiscalibrationTest",
    "Misclassification",
    "Moments",
    "MonitoredCalibration",
    "MonitoredComparison",
    "MurphyCurve",
    "NetBenefit",
    "NetBenefitWeight",
    "ObservedExpected",
    "PartialArea",
    "PenalizedBrier",
    "PenalizedLog",
    "PointsWeight",
    "ProbabilityGroups",
    "ProbabilityMeans",
    "Properties",
    "Pseudospherical",
    "RankedInterval",
    "RankedLog",
    "RankedProbability",
    "RankingMap",
    "Recalibration",
    "Regret",
    "RegretCurve",
    "ReliabilityCurve",
    "Result",
    "RetentionAreas",
    "RetentionCurve",
    "RocCurve",
    "Rule",
    "Score",
    "Scores",
    "ShiftedBrier",
    "Skill",
    "Slices",
    "Spherical",
    "SquaredAbsoluteRankedProbability",
    "Standings",
    "ThresholdWeight",
    "TopK",
    "TopKNetBenefit",
    "Tsallis",
    "UniformWeight",
    "WeightedRegret",
    "WorstCases",
    "advise",
    "audit",
    "bayes_decisions",
    "bounded_brier_score",
    "bounded_log_score",
    "bounded_net_benefit",
    "brier_score",
    "calibration_bracket",
    "calibration_summary",
    "case_scores",
    "classical_decomposition",
    "compare",
    "condense",
    "cost_curve",
    "decision_curve",
    "decompose",
    "errors",
    "estimate",
    "evaluate",
    "expected_cost",
    "h_measure",
    "log_score",
    "mean_score",
    "miscalibration_test",
    "monitor_calibration",
    "monitor_comparison",
    "murphy_curve",
    "penalized_brier_score",
    "penalized_log_score",
    "probability_means",
    "quadratic_weighted_kappa",
    "ranked_probability_score",
    "ranking_map",
    "recalibrate",
    "register_rule",
    "regret_curve",
    "reliability_curve",
    "retention_curve",
    "roc_curve",
    "skill_score",
    "slices",
    "spherical_score",
    "squared_absolute_ranked_probability_score",
    "top_k",
    "weighted_regret",
    "worst_cases",
]


def __getattr__(name: str) -> Any:
    """Import what is asked for the first time; what draws is no part of `__all__`, and needs matplotlib."""
    if name == "__version__":
        return import_module("importlib.metadata").version("propriety")
    if name in ("plots", "recalibration"):
        return import_module(f"propriety.{name}")
    if name not in _MODULE_OF:
        message = f"module 'propriety' has no attribute {name!r}"
        raise AttributeError(message)
    value = globals()[name] = getattr(import_module(_MODULE_OF[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULE_OF, "__version__", "plots", "recalibration"})
