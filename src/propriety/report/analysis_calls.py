"""The calls below tables and figures: of the analysis itself, or of the evaluation where a ledger requires it."""

from __future__ import annotations

from typing import Any

from propriety.evaluation.calls import EACH, written
from propriety.evaluation.evaluation import Evaluation
from propriety.evaluation.problem import RANKED
from propriety.inference.finding import Findings
from propriety.rules.families import BRIER

# Analyses of class probabilities for which a ledger has the tables but no function accepts them.
OF_CLASSES = {"decompose": "decompositions", "probability_means": "probability_means"}


def call_for_each(function: str, evaluation: Evaluation, **options: Any) -> str:
    """Return the call of an analysis for each model, or for the only model."""
    if evaluation.calls.data == "ledger" and evaluation.kind != "binary":
        name = "name" if len(evaluation.models) > 1 else repr(evaluation.models[0])
        return f"pr.evaluate(ledger).{OF_CLASSES[function]}[{name}]"
    return evaluation.call(function, EACH if len(evaluation.models) > 1 else evaluation.models[0], **options)


def call_for_class(evaluation: Evaluation, model: str, label: object) -> str:
    """Return the call of the reliability curve of a class, or of a cut point."""
    if evaluation.calls.data != "arrays":
        ledger = "ledger" if evaluation.calls.data == "ledger" else "pr.condense(cases)"
        return f"pr.reliability_curve({ledger}.table({model!r}, {written(label)}))"
    ordered = {"ordered": True} if evaluation.kind == "ordinal" else {}
    return f"pr.reliability_curve({evaluation.call('condense', model, **ordered)}.table(event={written(label)}))"


def call_for_classes(evaluation: Evaluation) -> str:
    """Return the call of the table of classes, whose tests may draw outcomes."""
    drawn = {"n_resamples": evaluation.n_resamples, "seed": evaluation.seed}
    return f"{call_for_evaluation(evaluation, **drawn)}.classes"


def call_for_top(evaluation: Evaluation) -> str:
    """Return the call of the reliability curve of the most likely class, for each model or for the only one."""
    name = "name" if len(evaluation.models) > 1 else repr(evaluation.models[0])
    return f"{call_for_evaluation(evaluation)}.top_reliability[{name}].plot()"


def call_for_abstention(evaluation: Evaluation) -> str:
    """Return the call of the risk-coverage curve, for each model or for the only one."""
    name = "name" if len(evaluation.models) > 1 else repr(evaluation.models[0])
    return f"{call_for_evaluation(evaluation)}.risk_coverage[{name}]"


def call_for_cut_points(evaluation: Evaluation) -> str:
    """Return the call that draws the parts of the score by cut point."""
    if evaluation.calls.data == "ledger":
        return "pr.plots.plot_cut_point_decompositions(pr.evaluate(ledger).decompositions)"
    each = evaluation.call("decompose", EACH, rule=RANKED)
    models = "cases.models" if evaluation.calls.data == "cases" else "forecasts"
    return f"pr.plots.plot_cut_point_decompositions({{name: {each} for name in {models}}})"


def call_for_decomposition(evaluation: Evaluation) -> str:
    """Return the call of the parts of the score of each model."""
    if evaluation.kind == "multiclass":
        name = "name" if len(evaluation.models) > 1 else repr(evaluation.models[0])
        return f"{call_for_evaluation(evaluation)}.decompositions[{name}]"
    return call_for_each("decompose", evaluation, rule=RANKED if evaluation.kind == "ordinal" else BRIER)


def call_for_groups(evaluation: Evaluation, found: Findings) -> str:
    """Return the call of the groups; with several keys it is `evaluate`, because `propriety.slices` crosses keys."""
    if len(found.case_keys) > 1:
        return f"{call_for_evaluation(evaluation)}.{'slices' if found is evaluation.slices else 'group_skill'}"
    threshold = evaluation.problem.threshold
    return evaluation.call(
        "slices", measure=found.measure[0], **({} if threshold is None else {"thresholds": threshold})
    )


def call_for_group_calibration(evaluation: Evaluation) -> str:
    """Return the call of the calibration of the groups."""
    return f"{call_for_evaluation(evaluation)}.group_calibration"


def call_for_ranking(evaluation: Evaluation) -> str:
    """Return the call of the ranking map."""
    interval = evaluation.problem.interval
    if evaluation.calls.data == "ledger" or evaluation.ledger.dependence is not None:
        return f"{call_for_evaluation(evaluation)}.ranking"
    return evaluation.call("ranking_map", **({} if interval is None else {"thresholds": interval}))


def call_for_evaluation(evaluation: Evaluation, **options: Any) -> str:
    """Return the call of the whole evaluation."""
    given: dict[str, Any] = {} if evaluation.thresholds is None else {"thresholds": evaluation.thresholds}
    if evaluation.kind == "ordinal" and evaluation.calls.data == "arrays":
        given["ordered"] = True
    return evaluation.call("evaluate", **given, **options)
