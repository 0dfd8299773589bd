"""What is asked of both versions: each question calls one public function through the `Cases` of its version."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from calls import IN_MEMORY, WAYS, Asked

GRID = np.linspace(0.02, 0.98, 25)
EITHER = ("event", "two columns")
ANY = ("event", "two columns", "classes", "grades")
ROWS = ("classes", "grades")
ASKED: dict[str, Asked] = {}
QUESTIONS: dict[str, Callable[[Any, Any, int], Any]] = {}
ONE = (1,)
SEED = {"n_resamples": 40, "seed": 7}


def question(**asked: Any) -> Callable[[Callable[[Any, Any, int], Any]], Callable[[Any, Any, int], Any]]:
    """Register a question."""

    def register(ask: Callable[[Any, Any, int], Any]) -> Callable[[Any, Any, int], Any]:
        ASKED[ask.__name__] = Asked(**asked)
        QUESTIONS[ask.__name__] = ask
        return ask

    return register


def _pick(options: Any, choice: int) -> Any:
    return options[choice % len(options)]


PLAIN = {"ways": IN_MEMORY, "outcomes": EITHER}


# Scores.
@question(**PLAIN, often=3)
def event_score(pr: Any, x: Any, choice: int) -> Any:
    name, options = _pick(
        [
            ("brier_score", {}),
            ("log_score", {}),
            ("spherical_score", {}),
            ("bounded_brier_score", {"thresholds": (0.1, 0.3)}),
            ("bounded_log_score", {"thresholds": (0.05, 0.4)}),
            ("bounded_net_benefit", {"thresholds": (0.1, 0.3)}),
            ("h_measure", {}),
            ("weighted_regret", {"weight": pr.weights.BetaWeight(2, 3)}),
        ],
        choice,
    )
    return x.score(name, **options)


@question(ways=IN_MEMORY, outcomes=ROWS, often=2)
def class_score(pr: Any, x: Any, choice: int) -> Any:
    names = (
        *("brier_score", "log_score", "spherical_score", "penalized_brier_score", "penalized_log_score"),
        *("ranked_probability_score", "squared_absolute_ranked_probability_score"),
    )
    return x.score(_pick(names, choice))


@question(ways=IN_MEMORY, outcomes=ANY, often=2)
def rule_score(pr: Any, x: Any, choice: int) -> Any:
    rules = [pr.Brier(), pr.Log(), pr.Spherical(), pr.Tsallis(1.5), pr.Pseudospherical(3.0)]
    name = _pick(("mean_score", "skill_score", "case_scores"), choice // 7)
    return x.score(name, rule=_pick(rules, choice))


# Curves and decompositions of one event.
@question(**PLAIN, often=4)
def curve(pr: Any, x: Any, choice: int) -> Any:
    name, options = _pick(
        [
            ("reliability_curve", {}),
            ("reliability_curve", {"method": "binned", "bins": 5}),
            ("roc_curve", {}),
            ("decision_curve", {"grid": GRID}),
            ("regret_curve", {"grid": GRID}),
            ("cost_curve", {"grid": GRID}),
            ("murphy_curve", {"grid": GRID}),
            ("decompose", {"rule": pr.Brier()}),
            ("decompose", {"rule": pr.Log()}),
            ("classical_decomposition", {"bins": 5}),
            ("expected_calibration_error", {"bins": 7}),
            ("cumulative_calibration_error", {}),
            ("probability_means", {}),
            ("top_k", {"k": [3, 10]}),
        ],
        choice,
    )
    return x.plain(name, **options)


@question(**PLAIN, weights=False)
def worst(pr: Any, x: Any, choice: int) -> Any:
    return x.plain("worst_cases", rule=pr.Brier(), n=5)


@question(ways=IN_MEMORY, outcomes=ROWS)
def retention(pr: Any, x: Any, choice: int) -> Any:
    return x.plain("retention_curve", rule=pr.Brier())


@question(**PLAIN, models=(2, 3))
def ranking(pr: Any, x: Any, choice: int) -> Any:
    return x.plain("ranking_map", grid=np.linspace(0.1, 0.9, 9))


@question(**PLAIN, most=600)
def band(pr: Any, x: Any, choice: int) -> Any:
    curve = x.plain("reliability_curve")
    if choice % 2:
        return curve.with_consistency_band(method="resampling", **SEED)
    return curve.with_confidence_band()


def _measures(pr: Any) -> list[Any]:
    m = pr.measures
    return [
        pr.Brier(),
        pr.Log(),
        pr.BoundedBrier(0.1, 0.3),
        m.AreaUnderRoc(),
        m.NetBenefit(0.2),
        m.Regret(0.2),
        m.StandardizedNetBenefit(0.3),
        m.Skill(pr.Brier()),
        m.Skill(pr.Log()),
        m.ObservedExpected(),
        m.PredictedActual(),
        m.CalibrationIntercept(),
        m.CalibrationSlope(),
        m.NormalizedEntropy(),
        m.PartialArea(0.0, 0.3),
        m.Regret(0.05),
        m.Miscalibration(),
        m.Discrimination(),
        m.IntegratedCalibrationIndex(),
    ]


def _drawn(measure: Any) -> dict[str, Any]:
    return (
        dict(SEED)
        if type(measure).__name__ in ("PartialArea", "Miscalibration", "Discrimination", "IntegratedCalibrationIndex")
        else {}
    )


# Inference.
@question(outcomes=EITHER, units=True, often=8)
def estimate(pr: Any, x: Any, choice: int) -> Any:
    measure = _pick(_measures(pr), choice)
    return x.door("estimate", measure=measure, **_drawn(measure))


@question(outcomes=EITHER, models=(2, 3), units=True, often=6)
def compare(pr: Any, x: Any, choice: int) -> Any:
    measure = _pick(_measures(pr)[:14], choice)
    return x.door("compare", measure=measure)


@question(outcomes=EITHER, models=(1, 2), units=True, keys=(1,), least=150, often=5)
def slices(pr: Any, x: Any, choice: int) -> Any:
    measure = _pick([*_measures(pr)[:8], pr.measures.ObservedExpected(), pr.measures.CalibrationSlope()], choice)
    return x.door("slices", measure=measure, smallest=5)


@question(outcomes=ROWS, models=(1, 2), units=True, often=3)
def class_inference(pr: Any, x: Any, choice: int) -> Any:
    name = "compare" if len(x.models) > 1 else "estimate"
    rule = _pick([pr.Brier(), pr.Log(), pr.PenalizedBrier(), pr.measures.Skill(pr.Brier())], choice)
    return x.door(name, measure=rule)


@question(outcomes=EITHER, units=True, often=4, ways=(*IN_MEMORY, "ledger"))
def calibration(pr: Any, x: Any, choice: int) -> Any:
    return x.calibration(**SEED)


@question(outcomes=("classes",), units=True, most=600, often=2, ways=(*IN_MEMORY, "pandas frame", "ledger"))
def class_calibration(pr: Any, x: Any, choice: int) -> Any:
    return x.class_calibration(**SEED)


@question(outcomes=EITHER, models=(1, 2), units=True, keys=(0, 1), most=600, often=4)
def evaluate(pr: Any, x: Any, choice: int) -> Any:
    thresholds = _pick([{}, {"thresholds": 0.2}, {"thresholds": (0.1, 0.4)}], choice)
    return x.door("evaluate", **thresholds, **SEED)


@question(outcomes=ROWS, models=(1, 2), keys=(0, 1), most=150, often=2)
def evaluate_classes(pr: Any, x: Any, choice: int) -> Any:
    return x.door("evaluate", ordered=x.ordered, **SEED)


# Ledgers.
@question(outcomes=ANY, models=(1, 2), units=True, keys=(0, 1, 2), often=6)
def ledger(pr: Any, x: Any, choice: int) -> Any:
    return x.ledger(ordered=x.ordered)


@question(models=(1, 2), keys=(1,), often=2, weights=False)
def prevalence(pr: Any, x: Any, choice: int) -> Any:
    measure, name = _pick(_measures(pr)[:14], choice), "compare" if len(x.models) > 1 else "estimate"
    return x.of_ledger(name, pr.at_prevalence(x.ledger(), 0.1), measure=measure)


@question(keys=(1,), least=150, weights=False, often=2)
def sites(pr: Any, x: Any, choice: int) -> Any:
    measures = [_pick([pr.Brier(), pr.measures.AreaUnderRoc(), pr.measures.ObservedExpected()], choice)]
    return x.sites(measures=measures)


@question(keys=(2,), least=600, weights=False, often=2)
def monitor(pr: Any, x: Any, choice: int) -> Any:
    return x.monitor(reference_days=2)


# Recalibration, censored and late outcomes, segments, planning.
@question(outcomes=EITHER, least=40, most=600, units=True, often=4)
def recalibrate(pr: Any, x: Any, choice: int) -> Any:
    method = _pick(("auto", "intercept", "slope", "logistic", "isotonic", "spline", "venn-abers", "beta"), choice)
    return x.recalibration(method, seed=7)


@question(outcomes=("classes",), least=40, most=150, often=2, ways=(*IN_MEMORY, "pandas frame"))
def recalibrate_classes(pr: Any, x: Any, choice: int) -> Any:
    return x.recalibration(_pick(("auto", "temperature", "vector", "matrix"), choice), seed=7)


@question(models=(1, 2), least=150, codes=False, missing=False, often=4, ways=("arrays", "pandas"))
def censored(pr: Any, x: Any, choice: int) -> Any:
    measure = _pick(
        [pr.Brier(), pr.measures.AreaUnderRoc(), pr.measures.ObservedExpected(), pr.measures.Skill(pr.Brier())], choice
    )
    return x.censored(measure, several=choice % 3 == 0)


@question(models=ONE, least=150, weights=False, codes=False, missing=False, ways=("arrays",))
def late(pr: Any, x: Any, choice: int) -> Any:
    d = x.data
    place = np.arange(len(d.y))
    reported = np.where(d.y == 1, place % 20 + place % 7, np.nan)
    return x.function("late_labels")(d.forecasts["a"], made=place % 20, reported=reported, now=19)


@question(
    models=ONE,
    keys=(2,),
    least=150,
    most=600,
    codes=False,
    missing=False,
    weights=False,
    ways=("arrays", "pandas frame"),
)
def segments(pr: Any, x: Any, choice: int) -> Any:
    return x.segments(n_resamples=60, seed=7)


@question(models=(1, 2), least=150, most=600, often=2, ways=("arrays", "pandas frame", "lazy polars"))
def decisions(pr: Any, x: Any, choice: int) -> Any:
    return x.uncertain_decisions(grid=[0.1, 0.3], **SEED)


@question(models=ONE, least=150, ways=("arrays",), weights=False, codes=False, missing=False)
def plan(pr: Any, x: Any, choice: int) -> Any:
    return x.function("plan")(x.data.forecasts["a"], slope=0.8, **SEED)


@question(models=ONE, ways=("arrays",), codes=False, missing=False, often=2)
def answers(pr: Any, x: Any, choice: int) -> Any:
    return x.risk_coverage()


assert set(ASKED) == set(QUESTIONS)  # noqa: S101
assert set(WAYS) >= set(IN_MEMORY)  # noqa: S101
