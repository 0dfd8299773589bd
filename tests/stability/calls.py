"""Every public function on one set of cases, and what its answer is down to the last bit."""

import inspect
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

import numpy as np

import propriety as pr
from propriety.public_names import public_names
from propriety.tables.forecast_table import ForecastTable

DRAWS = 40  # More than one block of the bootstrap, so that workers have something to share.
CLASSES = 4


@dataclass(frozen=True, kw_only=True)
class Data:
    """Cases of a binary event with two forecasts of it, and of ordered classes with one, in any container."""

    y: Any
    p: Any
    q: Any
    grade: Any
    rows: Any
    group: Any
    cluster: Any
    binary: dict[str, Any] = field(default_factory=dict)
    classes: dict[str, Any] = field(default_factory=dict)

    @property
    def models(self) -> dict[str, Any]:
        return {"p": self.p, "q": self.q}


def cases(n: int, seed: int = 1, *, weighted: bool = False) -> Data:
    """Draw cases whose numbers fit 32 bits, with many ties, so that a narrower copy of them is the same numbers."""
    generator = np.random.default_rng(seed)
    risk = np.round(generator.beta(0.7, 1.4, n), 2)
    rows = generator.dirichlet(np.ones(CLASSES), n).astype(np.float32)
    weight = generator.gamma(2.0, size=n).astype(np.float32).astype(np.float64)
    options = {"sample_weight": weight} if weighted else {}
    return Data(
        y=(generator.random(n) < risk).astype(np.int64),
        p=_narrow(np.clip(risk, 0.01, 0.99)),
        q=_narrow(np.clip(0.2 + 0.7 * risk + generator.normal(0.0, 0.1, n), 0.01, 0.99)),
        grade=(generator.random(n)[:, None] > rows.cumsum(axis=1)[:, :-1]).sum(axis=1),
        rows=rows.astype(np.float64),
        group=generator.integers(0, 3, n),
        cluster=generator.integers(0, max(n // 8, 2), n),
        binary=options,
        classes=dict(options),
    )


def _narrow(values: np.ndarray) -> np.ndarray:
    return values.astype(np.float32).astype(np.float64)


def table(d: Data) -> ForecastTable:
    """Return the table of the first forecast."""
    return ForecastTable.from_predictions(d.y, d.p, **d.binary)


def _no_weight(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name != "sample_weight"}


def _late(d: Data) -> Any:
    """Return the evaluation of a stream of 20 days in which every third case is an event that is reported late."""
    place = np.arange(len(np.asarray(d.p)))
    reported = np.where(place % 3 == 0, place % 20 + place % 7, np.nan)
    return pr.late_labels(d.p, made=place % 20, reported=reported, now=19)


def _censored(d: Data) -> pr.results.CensoredOutcomes:
    """Return outcomes by two horizons, of cases of which a third leave at different times."""
    place = np.arange(len(np.asarray(d.p)))
    return pr.censored(place % 29 + 1.0, place % 3 > 0, horizons=[10.0, 20.0])


def _monitored(d: Data) -> Any:
    place = np.arange(len(np.asarray(d.p)))
    keys = {"day": place * 12 // len(place), "group": d.group}
    ledger = pr.condense(d.y, {"p": d.p}, by=keys, cells=64, **_no_weight(d.binary))
    return pr.monitor(ledger, reference_days=4)


def _unweighted(d: Data) -> pr.Ledger:
    """Return the ledger of the cases without their weights."""
    return pr.condense(d.y, d.models, **_no_weight(d.binary))


# What takes binary cases, or a ForecastTable in their place.
OF_AN_EVENT: dict[str, Callable[..., Any]] = {
    "bounded_brier_score": lambda *given, **options: pr.bounded_brier_score(*given, thresholds=(0.1, 0.3), **options),
    "bounded_log_score": lambda *given, **options: pr.bounded_log_score(*given, thresholds=(0.1, 0.3), **options),
    "bounded_net_benefit": lambda *given, **options: pr.bounded_net_benefit(*given, thresholds=(0.1, 0.3), **options),
    "brier_score": pr.brier_score,
    "classical_decomposition": pr.classical_decomposition,
    "cost_curve": pr.cost_curve,
    "cumulative_calibration_error": pr.cumulative_calibration_error,
    "decision_curve": pr.decision_curve,
    "decompose": lambda *given, **options: pr.decompose(*given, rule=pr.Log(), **options),
    "expected_calibration_error": pr.expected_calibration_error,
    "h_measure": pr.h_measure,
    "log_score": pr.log_score,
    "mean_score": lambda *given, **options: pr.mean_score(*given, rule=pr.Tsallis(1.5), **options),
    "murphy_curve": pr.murphy_curve,
    "probability_means": pr.probability_means,
    "regret_curve": pr.regret_curve,
    "reliability_curve": pr.reliability_curve,
    "risk_coverage_curve": pr.risk_coverage_curve,
    "roc_curve": pr.roc_curve,
    "skill_score": lambda *given, **options: pr.skill_score(*given, rule=pr.Brier(), **options),
    "spherical_score": pr.spherical_score,
    "top_k": lambda *given, **options: pr.top_k(*given, k=[10, 50], **options),
    "weighted_regret": lambda *given, **options: pr.weighted_regret(
        *given, weight=pr.weights.BetaWeight(2, 3), **options
    ),
}
# The same, with draws; those of weighted cases need the cases.
DRAWN: dict[str, Callable[..., Any]] = {
    "ReliabilityCurve.with_consistency_band": lambda *given, **options: pr.reliability_curve(
        *given, **options
    ).with_consistency_band(method="resampling", n_resamples=DRAWS, seed=7),
    "ReliabilityCurve.smooth": lambda *given, **options: pr.reliability_curve(*given, **options).smooth(
        n_resamples=DRAWS, seed=7
    ),
    "estimate": lambda *given, **options: pr.estimate(*given, n_resamples=DRAWS, seed=7, **options),
    "estimate of a part": lambda *given, **options: pr.estimate(
        *given, measure=pr.measures.Miscalibration(), n_resamples=DRAWS, seed=7, **options
    ),
    "estimate of a number of the table": lambda *given, **options: pr.estimate(
        *given, measure=lambda found: found.mean_forecast, n_resamples=DRAWS, seed=7, **options
    ),
}
OF_MODELS: dict[str, Callable[[Data], Any]] = {
    "at_prevalence": lambda d: pr.at_prevalence(pr.condense(d.y, d.models, by=d.group, **d.binary), 0.1),
    "before_labels": lambda d: pr.before_labels(
        d.q, past=pr.condense(d.y, d.p, by={"day": d.group}, **d.binary), measures=[pr.Brier(), pr.Log()]
    ),
    "calibration_bracket": lambda d: pr.calibration_bracket(table(d).grid(64)),
    "cases": lambda d: pr.compare(pr.cases(d.y, d.models, by=d.group, **d.binary)),
    "compare": lambda d: pr.compare(d.y, d.models, **d.binary),
    "compare with clusters": lambda d: pr.compare(d.y, d.models, cluster=d.cluster, **d.binary),
    "compare over time": lambda d: pr.compare(
        d.y, d.models, period=d.cluster, method="block bootstrap", n_resamples=DRAWS, seed=7, **d.binary
    ),
    "compare of a ledger": lambda d: pr.compare(
        pr.condense(d.y, d.models, period=d.cluster, **d.binary), method="block bootstrap", n_resamples=DRAWS, seed=7
    ),
    "compare with outcomes by model": lambda d: pr.compare(
        {"p": d.y, "q": d.y}, d.models, pr.measures.AreaUnderGeneralizedRiskCoverage(), cluster=d.cluster, **d.binary
    ),
    "compare of areas": lambda d: pr.compare(d.y, d.models, pr.measures.AreaUnderRoc(), cluster=d.cluster, **d.binary),
    "compare of skill": lambda d: pr.compare(d.y, d.models, pr.measures.Skill(pr.Log()), **d.binary),
    "compare by drawing": lambda d: pr.compare(
        d.y, d.models, pr.measures.IntegratedCalibrationIndex(), n_resamples=DRAWS, seed=7, **d.binary
    ),
    "condense": lambda d: pr.condense(d.y, d.models, by=d.group, cluster=d.cluster, **d.binary),
    "condense and add": lambda d: sum([pr.condense(d.y, d.models, by=d.group, **d.binary)] * 2),
    "estimate_prevalence": lambda d: pr.estimate_prevalence(table(d), unlabelled=d.q, method="em"),
    "decision_uncertainty": lambda d: pr.decision_uncertainty(
        d.y, d.models, grid=[0.1, 0.3], n_resamples=DRAWS, seed=7, **d.binary
    ),
    "evaluate of tables": lambda d: pr.evaluate(pr.Ledger.of_tables({"p": table(d)}), n_resamples=DRAWS, seed=7),
    "evaluate": lambda d: pr.evaluate(d.y, d.models, by=d.group, n_resamples=DRAWS, seed=7, **d.binary),
    "estimate with clusters": lambda d: pr.estimate(d.y, d.p, cluster=d.cluster, n_resamples=DRAWS, seed=7, **d.binary),
    "estimate of an area": lambda d: pr.estimate(d.y, d.p, pr.measures.AreaUnderRoc(), period=d.cluster, **d.binary),
    "estimate of a slope": lambda d: pr.estimate(
        d.y, d.p, pr.measures.CalibrationSlope(), cluster=d.cluster, **d.binary
    ),
    "coarsen": lambda d: pr.coarsen(_unweighted(d)).to_dict(),
    "measure_bounds": lambda d: pr.measure_bounds(pr.coarsen(_unweighted(d)), model="p"),
    "pool_sites": lambda d: pr.pool_sites(
        pr.condense(d.y, d.models, by={"site": d.group}, **d.binary), measures=[pr.Brier(), pr.measures.AreaUnderRoc()]
    ),
    "pooled_curve": lambda d: pr.pooled_curve(
        pr.condense(d.y, d.models, by={"site": d.cluster}, **d.binary), model="p"
    ),
    "ranking_map": lambda d: pr.ranking_map(d.y, d.models, grid=np.linspace(0.05, 0.95, 10), **d.binary),
    "recalibrate": lambda d: pr.recalibrate(d.y, d.p, **d.binary),
    "check_calibration": lambda d: pr.check_calibration(
        d.y, d.models, by=d.group, n_resamples=DRAWS, seed=7, **d.binary
    ),
    "slices": lambda d: pr.slices(d.y, d.models, by=d.group, smallest=5, **d.binary),
    "slices by area": lambda d: pr.slices(
        d.y, d.models, pr.measures.AreaUnderRoc(), by=d.group, smallest=5, **d.binary
    ),
}
OF_CLASSES: dict[str, Callable[[Data], Any]] = {
    "RetentionCurve.with_interval": lambda d: pr.retention_curve(d.grade, d.rows, **d.classes).with_interval(
        n_resamples=DRAWS, seed=7
    ),
    "evaluate of grades": lambda d: pr.evaluate(
        d.grade, {"rows": d.rows}, ordered=True, n_resamples=DRAWS, seed=7, **d.classes
    ),
    "check_calibration of grades": lambda d: pr.check_calibration(
        d.grade, {"rows": d.rows}, ordered=True, n_resamples=DRAWS, seed=7, **d.classes
    ),
    "check_calibration of classes": lambda d: pr.check_calibration(
        d.grade, d.rows, n_resamples=DRAWS, seed=7, **d.classes
    ),
    "condense grades": lambda d: pr.condense(d.grade, {"rows": d.rows}, ordered=True, by=d.group, **d.classes),
    "expected_cost": lambda d: pr.expected_cost(d.grade, d.rows, **d.classes),
    "penalized_brier_score": lambda d: pr.penalized_brier_score(d.grade, d.rows, **d.classes),
    "penalized_log_score": lambda d: pr.penalized_log_score(d.grade, d.rows, **d.classes),
    "quadratic_weighted_kappa": lambda d: pr.quadratic_weighted_kappa(d.grade, d.rows, **d.classes),
    "ranked_probability_score": lambda d: pr.ranked_probability_score(d.grade, d.rows, **d.classes),
    "retention_curve": lambda d: pr.retention_curve(d.grade, d.rows, **d.classes),
    "squared_absolute_ranked_probability_score": lambda d: pr.squared_absolute_ranked_probability_score(
        d.grade, d.rows, **d.classes
    ),
}
# Answers about single cases, or about cases in their order.
OF_CASES_IN_ORDER: dict[str, Callable[[Data], Any]] = {
    "bayes_decisions": lambda d: pr.bayes_decisions(d.rows, cost="quadratic"),
    "case_scores": lambda d: pr.case_scores(d.grade, d.rows, rule=pr.Log(), **_no_weight(d.classes)),
    "censored": lambda d: [one.weight for one in _censored(d).known],
    "find_segments": lambda d: pr.find_segments(
        # As text: numbers are ranges, unless they are objects.
        pr.cases(*(d.y, d.p), by={"group": d.group, "ward": np.asarray(d.cluster).astype(str)}, **_no_weight(d.binary)),
        n_resamples=2 * DRAWS,
        seed=7,
    ),
    "recalibrate_segments": lambda d: pr.recalibrate_segments(
        pr.cases(d.y, d.p, by={"group": d.group}, **_no_weight(d.binary)), method="logistic", folds=3
    ),
    "horizon_curve": lambda d: pr.horizon_curve(_censored(d), np.column_stack([d.p, d.p])),
    "late_labels": _late,
    "monitor": _monitored,
    "monitor of single cases": lambda d: pr.monitor(d.y, {"p": d.p, "q": d.q}, **_no_weight(d.binary)),
    "worst_cases": lambda d: pr.worst_cases(d.grade, d.rows, most=5, **_no_weight(d.classes)),
}
OF_NO_CASES: dict[str, Callable[[Data], Any]] = {
    "advise": lambda d: pr.advise(thresholds=(0.05, 0.2), rare=True),
    "audit": lambda d: pr.audit(pr.PenalizedLog(), classes=3, seed=7),
    "check": lambda d: pr.measures.check(pr.measures.AreaUnderRoc()),
    "plan": lambda d: pr.plan(d.p, slope=0.8, n_resamples=DRAWS, seed=7),
    "prior_correction": lambda d: pr.prior_correction(prior=0.1, sampled_at=0.5).to_dict(),
    "register_rule": lambda d: pr.register_rule(pr.Brier).__name__,
}


def _on_cases(call: Callable[..., Any]) -> Callable[[Data], Any]:
    return lambda d: call(d.y, d.p, **d.binary)


EVERY: dict[str, Callable[[Data], Any]] = {
    **{name: _on_cases(call) for name, call in (OF_AN_EVENT | DRAWN).items()},
    **OF_MODELS,
    **OF_CLASSES,
    **OF_CASES_IN_ORDER,
    **OF_NO_CASES,
}
# Of files and frames, and fits of learners to features; their own tests cover them.
READERS = {"match_answers", "read_inspect", "read_lm_eval", "validate"}


def public_calls() -> set[str]:
    """Return every public function by name, and every public method that draws."""
    found = set()
    for path in (path for path, source in public_names().items() if source != "propriety.plots"):
        name, thing = path.rpartition(".")[2], attrgetter(path)(pr)
        if inspect.isfunction(thing) and name not in READERS:
            found.add(name)
        elif inspect.isclass(thing):
            found |= {f"{name}.{method}" for method in _drawing_methods(thing)}
    return found


def _drawing_methods(kind: type) -> Iterator[str]:
    for name, method in inspect.getmembers(kind, inspect.isroutine):
        if not name.startswith("_") and _parameters(method) & {"seed", "random_state", "workers", "n_jobs"}:
            yield name


def _parameters(function: Any) -> set[str]:
    try:
        return set(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # Properties take nothing, and some methods of C types do not tell.
        return set()


PRESENT = public_calls()  # Not those of a product that was cut out.
CALLS = {name: call for name, call in EVERY.items() if name.split(" ")[0] in PRESENT}
# What makes many analyses takes as long as all the rest.
QUICK = tuple(name for name in CALLS if not name.startswith(("audit", "evaluate")))
# Their draws are of cases one by one, so that the order of the cases is part of what is given.
DRAWS_OF_CASES = ("RetentionCurve.with_interval",)
DRAWS_OF_WEIGHTED_CASES = ("evaluate",)


def parts(answer: Any) -> Any:
    """Return an answer as plain data; of an evaluation, which computes when it is asked, all that it says."""
    if isinstance(answer, pr.results.Evaluation):
        curves = [parts(curve) for own in answer.reliability.values() for curve in own.values()]
        made = [parts(one) for one in (answer.scores, answer.ranking, answer.comparison, answer.slices)]
        return [*made, *curves, str(answer)]
    if isinstance(answer, pr.Ledger):
        facts = [answer.models, answer.kind, answer.n, answer.keys, [*answer.rates.values()]]
        moments = [answer.moments(rule).to_dict() for rule in answer.rules]
        return [*facts, moments, answer.to_frame(backend="pyarrow").to_pydict()]
    if isinstance(answer, pr.results.Result | pr.results.Score):
        return answer.to_dict()
    return answer.tolist() if isinstance(answer, np.ndarray) else answer


def exact(answer: Any) -> str:
    """Return an answer as text that differs when a single bit does: Python writes the shortest exact decimals."""
    return json.dumps(parts(answer), default=str)


def answers(d: Data, names: Any = CALLS) -> dict[str, str]:
    """Return the exact answer of every call."""
    return {name: exact(CALLS[name](d)) for name in names}


def flat(answer: str) -> tuple[dict[str, float], dict[str, Any]]:
    """Return the entries of an exact answer by their path, the numbers apart from all else."""
    entries = dict(_entries(json.loads(answer), ""))
    numbers = {path: entry for path, entry in entries.items() if isinstance(entry, float)}
    return numbers, {path: entry for path, entry in entries.items() if path not in numbers}


def _entries(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    held = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if held is None:
        yield path, value
        return
    for key, entry in held:
        yield from _entries(entry, f"{path}/{key}")
