"""Every rule of the package, in one literal tuple; the tests check each declared property of each rule."""

from __future__ import annotations

from propriety.rules.bounded import BoundedBrier, BoundedLog, BoundedNetBenefit
from propriety.rules.elementary import BetaRegret, Elementary, ShiftedBrier
from propriety.rules.families import Brier, Log, Pseudospherical, Spherical, Tsallis
from propriety.rules.ordinal import RankedLog, RankedProbability, SquaredAbsoluteRankedProbability
from propriety.rules.penalized import Misclassification, PenalizedBrier, PenalizedLog
from propriety.rules.rule import Rule

RULES: tuple[Rule, ...] = (
    Brier(),
    Brier(scale="half"),
    Log(),
    Log(clip=0.05),
    Spherical(),
    Pseudospherical(order=3.0),
    Tsallis(order=1.5),
    Misclassification(),
    Elementary(threshold=0.3),
    BoundedBrier(low=0.05, high=0.2),
    BoundedBrier(low=0.2, high=0.8, normalize="width"),
    BoundedLog(low=0.05, high=0.2),
    BoundedLog(low=0.0, high=1.0, normalize="none"),
    BoundedNetBenefit(low=0.05, high=0.2),
    BetaRegret(alpha=2.0, beta=8.0),
    ShiftedBrier(mu=0.2),
    ShiftedBrier(mu=0.2, weighted=False),
    PenalizedBrier(),
    PenalizedBrier(ties="first"),
    PenalizedBrier(ties="correct"),
    PenalizedLog(),
    PenalizedLog(ties="first"),
    PenalizedLog(ties="correct"),
    RankedProbability(),
    SquaredAbsoluteRankedProbability(),
    RankedLog(),
)
