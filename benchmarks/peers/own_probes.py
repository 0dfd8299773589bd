"""The other functions of propriety that are probed with bad input.

Few of them have a definition of one line. Their right answer is what they say of the same cases in plain lists.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import propriety as pr
from propriety.errors import ProprietyError
from propriety.tables.forecast_table import ForecastTable

__all__ = ["ABOUT_FORECASTS", "OF_ROWS", "WITHOUT_WEIGHTS", "WITH_WEIGHTS", "answer_of"]

TIMES = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
ENDS = [1, 0, 1, 1, 0, 1, 1, 1]
GROUPS = list("aabbaabb")
HALF = [0.5] * 8
DAYS = [1, 1, 2, 2, 3, 3, 4, 4]
REPORTED = [2, None, 3, None, 4, 5, None, None]
TABLE = {"forecast": [0.2, 0.4], "events": [1, 3], "non_events": [5, 2]}
Call = Callable[[Any, Any, Any], Any]


def by_horizon(outcomes, p):
    return pr.brier_score(outcomes, p)


def bracket(found):
    return pr.calibration_bracket(found).miscalibration_low


# Functions of outcomes, forecasts and weights.
WITH_WEIGHTS: dict[str, Call] = {
    "bounded_brier_score": lambda y, p, w: pr.bounded_brier_score(y, p, thresholds=(0.1, 0.5), sample_weight=w),
    "bounded_log_score": lambda y, p, w: pr.bounded_log_score(y, p, thresholds=(0.1, 0.5), sample_weight=w),
    "bounded_net_benefit": lambda y, p, w: pr.bounded_net_benefit(y, p, thresholds=(0.1, 0.5), sample_weight=w),
    "calibration_bracket": lambda y, p, w: bracket(pr.condense(y, p, sample_weight=w).table()),
    "check_calibration": lambda y, p, w: pr.check_calibration(y, p, sample_weight=w, seed=1)[0].p,
    "classical_decomposition": lambda y, p, w: pr.classical_decomposition(y, p, sample_weight=w).resolution,
    "compare": lambda y, p, w: pr.compare(y, {"a": p, "b": [0.5] * len(y)}, sample_weight=w).differences[0].value,
    "condense": lambda y, p, w: pr.condense(y, p, sample_weight=w).table().event_rate,
    "cost_curve": lambda y, p, w: pr.cost_curve(y, p, sample_weight=w).prevalence,
    "cumulative_calibration_error": lambda y, p, w: pr.cumulative_calibration_error(y, p, sample_weight=w).kuiper,
    "estimate": lambda y, p, w: pr.estimate(y, p, sample_weight=w).high,
    "evaluate": lambda y, p, w: pr.evaluate(y, {"a": p}, sample_weight=w, seed=1).scores.value[0],
    "expected_calibration_error": lambda y, p, w: pr.expected_calibration_error(y, p, sample_weight=w).value,
    "h_measure": lambda y, p, w: pr.h_measure(y, p, sample_weight=w),
    "murphy_curve": lambda y, p, w: pr.murphy_curve(y, p, sample_weight=w).area(),
    "probability_means": lambda y, p, w: pr.probability_means(y, p, sample_weight=w).accuracy,
    "ranking_map": lambda y, p, w: pr.ranking_map(y, {"a": p, "b": [0.5] * len(y)}, sample_weight=w).n,
    "recalibrate": lambda y, p, w: pr.recalibrate(y, p, method="isotonic", folds=2, sample_weight=w)(0.3),
    "regret_curve": lambda y, p, w: pr.regret_curve(y, p, sample_weight=w).value.sum(),
    "risk_coverage_curve": lambda y, p, w: pr.risk_coverage_curve(y, p, sample_weight=w).risk.sum(),
    "skill_score": lambda y, p, w: pr.skill_score(y, p, rule=pr.Brier(), sample_weight=w),
    "slices": lambda y, p, w: pr.slices(y, p, by=GROUPS, sample_weight=w).value[0],
    "spherical_score": lambda y, p, w: pr.spherical_score(y, p, sample_weight=w),
    "weighted_regret": lambda y, p, w: pr.weighted_regret(y, p, weight=pr.weights.BetaWeight(2, 3), sample_weight=w),
}
# Functions of outcomes and forecasts.
WITHOUT_WEIGHTS: dict[str, Call] = {
    "at_prevalence": lambda y, p, _: pr.at_prevalence(pr.condense(y, p), 0.2).table().event_rate,
    "case_scores": lambda y, p, _: pr.case_scores(y, p, rule=pr.Brier()).sum(),
    "censored": lambda y, p, _: by_horizon(pr.censored(TIMES, y, horizons=4.0), p),
    "decision_uncertainty": lambda y, p, _: pr.decision_uncertainty(y, {"a": p}, seed=1).n,
    "estimate_prevalence": lambda y, p, _: pr.estimate_prevalence(y, p, unlabelled=HALF).value,
    "find_segments": lambda y, p, _: pr.find_segments(pr.cases(y, p, by={"group": GROUPS}), seed=1).n_cases,
    "pool_sites": lambda y, p, _: pr.pool_sites(pr.condense(y, p, by={"site": GROUPS})).value[1],
    "monitor": lambda y, p, _: pr.monitor(pr.condense(y, p, by={"day": DAYS})).days().n.sum(),
    "monitor of single cases": lambda y, p, _: pr.monitor(y, p).p[-1],
    "retention_curve": lambda y, p, _: pr.retention_curve(y, p).n,
    "top_k": lambda y, p, _: pr.top_k(y, p, k=3).precision,
    "worst_cases": lambda y, p, _: pr.worst_cases(y, p).n,
}
# Functions of forecasts alone, or with outcomes that are given here.
ABOUT_FORECASTS: dict[str, Call] = {
    "a map": lambda _, p, __: pr.recalibration.fit_isotonic(ForecastTable(**TABLE))(p).sum(),
    "bayes_decisions": lambda _, p, __: pr.bayes_decisions(p).sum(),
    "before_labels": lambda _, p, __: pr.before_labels(p).n,
    "brier_score by a horizon": lambda _, p, __: by_horizon(pr.censored(TIMES, ENDS, horizons=4.0), p),
    "late_labels": lambda _, p, __: pr.late_labels(p, made=DAYS, reported=REPORTED, now=5).score[0],
    "plan": lambda _, p, __: pr.plan(p).required,
    "prior_correction": lambda _, p, __: pr.prior_correction(prior=0.2, sampled_at=0.5)(p).sum(),
}
# Functions of outcomes, rows of probabilities and weights.
CLASSES = {"labels": (0, 1, 2)}
OF_ROWS: dict[str, Call] = {
    "check_calibration": lambda y, p, w: pr.check_calibration(y, p, sample_weight=w, seed=1, **CLASSES)[0].p,
    "expected_cost": lambda y, p, w: pr.expected_cost(y, p, sample_weight=w, **CLASSES),
    "penalized_brier_score": lambda y, p, w: pr.penalized_brier_score(y, p, sample_weight=w, **CLASSES),
    "penalized_log_score": lambda y, p, w: pr.penalized_log_score(y, p, sample_weight=w, **CLASSES),
}


def answer_of(call: Call) -> Callable[[list[float], Any, list[float]], float | None]:
    """Return the answer to the same cases in plain lists; None if the function refuses them."""

    def answer(y, p, w):
        try:
            return float(call([int(one) for one in y], list(p), None if set(w) == {1.0} else list(w)))
        except ProprietyError:
            return None

    return answer
