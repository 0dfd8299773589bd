"""Judge probability forecasts by what they are for: honest probabilities and good decisions."""

from __future__ import annotations

from importlib.metadata import version

from propriety import errors
from propriety.results import Result, Score
from propriety.rules.audit import AuditReport, audit
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
from propriety.tables.forecast_table import ForecastTable

__version__ = version("propriety")

__all__ = [
    "AuditReport",
    "BetaRegret",
    "BinaryRule",
    "BoundedBrier",
    "BoundedLog",
    "BoundedNetBenefit",
    "Brier",
    "ClassRule",
    "Elementary",
    "ForecastTable",
    "Log",
    "Misclassification",
    "PenalizedBrier",
    "PenalizedLog",
    "Properties",
    "Pseudospherical",
    "RankedLog",
    "RankedProbability",
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
    "case_scores",
    "errors",
    "log_score",
    "mean_score",
    "penalized_brier_score",
    "penalized_log_score",
    "ranked_probability_score",
    "skill_score",
    "spherical_score",
    "squared_absolute_ranked_probability_score",
]
