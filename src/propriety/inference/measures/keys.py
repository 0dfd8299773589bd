"""One table from short names to measures, which every way in takes wherever it takes a measure."""

from __future__ import annotations

import re
from collections.abc import Callable
from difflib import get_close_matches

from propriety.errors import InputValueError
from propriety.inference.measures.answers import (
    Accuracy,
    AccuracyAtCoverage,
    AreaUnderGeneralizedRiskCoverage,
    AreaUnderRiskCoverage,
    CoverageAtAccuracy,
)
from propriety.inference.measures.line import CalibrationIntercept, CalibrationSlope
from propriety.inference.measures.measure import Measure
from propriety.inference.measures.of_means import MeanScore, NetBenefit, Regret, Skill
from propriety.inference.measures.parts import (
    BinnedCalibrationError,
    Discrimination,
    IntegratedCalibrationIndex,
    Miscalibration,
)
from propriety.inference.measures.ranking import AreaUnderRoc, PartialArea
from propriety.inference.measures.ratios import (
    NormalizedEntropy,
    ObservedExpected,
    PredictedActual,
    StandardizedNetBenefit,
)
from propriety.rules.class_rules import RankedProbability
from propriety.rules.families import Brier, Log, Spherical

RULES = (Brier(), Log(), Spherical(), RankedProbability())
PROPER_PARTS = (Brier(), Log(), Spherical())

MEASURES: dict[str, Measure] = {
    measure.key: measure
    for measure in (
        *map(MeanScore, RULES),
        *map(Skill, RULES),
        *map(Miscalibration, PROPER_PARTS),
        *map(Discrimination, PROPER_PARTS),
        *(ObservedExpected(), PredictedActual(), CalibrationIntercept(), CalibrationSlope()),
        *(IntegratedCalibrationIndex(), BinnedCalibrationError(), NormalizedEntropy()),
        *(AreaUnderRoc(), Accuracy(), AreaUnderRiskCoverage(), AreaUnderGeneralizedRiskCoverage()),
    )
}

# Names with numbers: where each number stands, and the measure of these numbers.
WITH_NUMBERS: dict[str, Callable[..., Measure]] = {
    "regret_at_0.1": Regret,
    "regret_from_0.1_to_0.3": lambda low, high: Regret((low, high)),
    "net_benefit_at_0.1": NetBenefit,
    "net_benefit_from_0.1_to_0.3": lambda low, high: NetBenefit((low, high)),
    "net_benefit_over_all_at_0.1": lambda threshold: NetBenefit(threshold, over_all=True),
    "standardized_net_benefit_at_0.1": StandardizedNetBenefit,
    "partial_auc_from_0.0_to_0.5": PartialArea,
    "accuracy_at_coverage_0.8": AccuracyAtCoverage,
    "coverage_at_accuracy_0.9": CoverageAtAccuracy,
}
NUMBER = r"(\d*\.?\d+(?:e-?\d+)?)"
PATTERNS = {re.compile(re.sub(r"\d\.\d", lambda _: NUMBER, name)): made for name, made in WITH_NUMBERS.items()}


def measure_of(key: str, argument: str = "measure") -> Measure:
    """Return the measure with a short name.

    Examples
    --------
    >>> measure_of("auc"), measure_of("net_benefit_at_0.2"), measure_of("regret_from_0.1_to_0.3")
    (AreaUnderRoc(), NetBenefit(thresholds=0.2, over_all=False), Regret(thresholds=(0.1, 0.3)))
    """
    if key in MEASURES:
        return MEASURES[key]
    for pattern, made in PATTERNS.items():
        found = pattern.fullmatch(key)
        if found is not None:
            return made(*map(float, found.groups()))
    known = [*MEASURES, *WITH_NUMBERS]
    near = get_close_matches(key, known, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"the names are {', '.join(known)}."
    raise InputValueError("must be the short name of a measure", argument=argument, got=key, hint=hint)
