"""What an evaluation is about, what it lacks, and the outcome of its tests of calibration, in plain words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from propriety.inference.calibration_summary import CalibrationOutcome, jointly_tested
from propriety.inference.comparison_words import listed
from propriety.inference.estimates import counted
from propriety.number_words import capitalized, percent

if TYPE_CHECKING:
    from propriety.evaluation.evaluation import Evaluation
    from propriety.inference.calibration_summary import CalibrationSummary
    from propriety.inference.class_calibration import ClassCalibration

MOST_EVENTS = 100  # With more classes or cut points, calibration is not tested for each by default.
MOST_NAMED = 8
# Of all cut points together, the first of these that one of them has: one that cannot be told leaves the model open.
DECISIVE: tuple[CalibrationOutcome, ...] = (
    "miscalibrated",
    "too few events",
    "not tested",
    "immaterial",
    "consistent",
)


def cases_words(evaluation: Evaluation) -> str:
    """Say what was evaluated."""
    models, n = counted(len(evaluation.models), "model"), counted(evaluation.n, "case")
    censoring, rates = evaluation.ledger.censoring, evaluation.rates
    if censoring is not None:
        unknown = censoring.n - evaluation.n - evaluation.dropped
        horizon = f"{censoring.horizon:g}"
        parts = [
            f"{models}, {counted(censoring.n, 'case')}",
            f"{unknown:,} of them censored before {horizon}, the others weighted to represent them",
            f"{'weighted ' * censoring.is_weighted}event rate by {horizon}: {percent(rates['event'])}",
        ]
    elif evaluation.kind == "binary":
        table = evaluation.tables[evaluation.models[0]]["event"]
        rate = percent(rates["event"])
        events = (
            f"weighted event rate {rate}" if evaluation.is_weighted else f"{counted(table.n_events, 'event')} ({rate})"
        )
        note = evaluation.ledger.event_note
        parts = [f"{models}, {n}, {events}", *([f"event: {note}"] if note else [])]
    else:
        parts = [f"{models}, {n}, {len(rates):,} {'grades' if evaluation.kind == 'ordinal' else 'classes'}"]
    if evaluation.dependence is not None:
        parts.append(f"cases may be correlated within {evaluation.dependence}")
    if evaluation.dropped:
        dropped = evaluation.dropped
        parts.append(f"{counted(dropped, 'row')} with missing values {'was' if dropped == 1 else 'were'} left out")
    if evaluation.thresholds is not None:
        parts.append(f"act {thresholds_words(evaluation)}")
    return "; ".join(parts)


def thresholds_words(evaluation: Evaluation) -> str:
    """Say at which threshold, or from which to which, somebody would act."""
    if evaluation.problem.interval is not None:
        low, high = evaluation.problem.interval
        return f"from {percent(low)} to {percent(high)}"
    return f"at {percent(evaluation.problem.threshold or 0.0)}"


def uncompared_words(evaluation: Evaluation) -> Iterator[str]:
    """Say if models and groups are not compared, because the ledger lacks the sums for it."""
    compared = ["models"] * (len(evaluation.models) > 1) + ["groups"] * bool(evaluation.ledger.index.names)
    headline = evaluation.problem.headline
    if compared and not evaluation.ledger.has_moments(headline.rule):
        needs = f"this needs the individual cases, or a ledger that was condensed for the {headline.label}"
        yield f"{capitalized(listed(compared))} are not compared: {needs}."


def absent_words(evaluation: Evaluation) -> Iterator[str]:
    """Say what is not available because it needs the cases."""
    if evaluation.ledger.cases is not None:
        return
    own = {one.measure.label for found in evaluation.estimates.values() for one in found.values() if one.is_without}
    absent = [f"the interval{'s' * (len(own) > 1)} of {listed(sorted(own))}"] if own else []
    # Without weights and dependence the tables tell it.
    if (evaluation.is_weighted or evaluation.dependence is not None) and evaluation.recalibration.reasons:
        absent.append("the gain of recalibration")
    if evaluation.kind == "binary" and len(evaluation.models) > 1 and evaluation.ranking is None:
        absent.append("the ranking map")
    if evaluation.kind != "binary":
        absent.append("the confusion matrix")
    if absent:
        needs = "need" if max(len(absent), len(own)) > 1 else "needs"
        yield f"{capitalized(listed(absent))} {needs} {evaluation.ledger.where_cases_are}."


def verdict_of(evaluation: Evaluation, model: str) -> CalibrationSummary | ClassCalibration | None:
    """Return the verdict on the calibration of a model; None for cut points, each of which has one."""
    if evaluation.kind == "binary":
        return evaluation.calibration[model]["event"]
    return evaluation.class_calibration[model] if evaluation.kind == "multiclass" else None


def calibration_words(evaluation: Evaluation) -> Iterator[str]:
    """Report the test of calibration of each model; with classes or cut points, of all of them together."""
    for model in evaluation.models:
        verdict = verdict_of(evaluation, model)
        yield cut_points_words(evaluation, model, model) if verdict is None else verdict.summary(model)


def drawn_words(evaluation: Evaluation) -> str:
    """Say which classes, or cut points, are drawn, and of which model."""
    shown, events = len(evaluation.drawn_classes), len(evaluation.tables[evaluation.best])
    what = "cut points" if evaluation.kind == "ordinal" else "classes"
    of_best = f" for {evaluation.best}, which has the best score" if len(evaluation.models) > 1 else ""
    if shown == events:
        return f"The curves of all {what} are drawn{of_best}."
    said = f"The curves are those of the {shown} {what} with the strongest evidence of miscalibration, of {events:,}"
    return f"{said}{of_best}; all are in the table."


def calibration_outcome(evaluation: Evaluation, model: str) -> CalibrationOutcome:
    """Return the outcome of the test of calibration of a model; of cut points, one for all of them together."""
    if evaluation.kind == "multiclass":
        return evaluation.class_calibration[model].outcome
    outcomes = _outcomes(evaluation, model).values()
    return next((outcome for outcome in DECISIVE if outcome in outcomes), "not tested")


def _outcomes(evaluation: Evaluation, model: str) -> dict[Any, CalibrationOutcome]:
    """Return the outcome of each event, adjusted for their number; empty if there are more than `MOST_EVENTS`."""
    own = evaluation.calibration[model]
    if len(own) > MOST_EVENTS:
        return {}
    together = jointly_tested(list(own.values()))
    return {label: one.outcome for label, (one, _) in zip(own, together, strict=True)}


def cut_points_words(evaluation: Evaluation, model: str, name: str) -> str:
    """Say for which cut points a model, under the given name, is miscalibrated."""
    what = "cut points"
    outcomes = _outcomes(evaluation, model)
    if not outcomes:
        events = len(evaluation.calibration[model])
        return f"{name}: calibration is not tested for {events:,} {what} at once; use calibration_summary for one."
    labels: dict[CalibrationOutcome, list[Any]] = {}
    for label, outcome in outcomes.items():
        labels.setdefault(outcome, []).append(label)
    if "not tested" in labels:
        return f"{name}: calibration was not tested ({evaluation.calibration[model][labels['not tested'][0]].note})."
    claims: dict[CalibrationOutcome, str] = {
        "miscalibrated": "is miscalibrated for",
        "immaterial": "is miscalibrated, but not materially, for",
        "consistent": "is consistent with calibration for",
        "too few events": "has too few events to tell whether it is calibrated for",
    }
    said = []
    for outcome, claim in claims.items():
        found = labels.get(outcome, [])
        if outcome == "consistent" and "miscalibrated" in labels:
            continue
        if len(found) == len(outcomes):
            said.append(f"{claim} each of {len(outcomes)} {what}")
        elif found:
            named = ", ".join(map(str, found[:MOST_NAMED])) + ", ..." * (len(found) > MOST_NAMED)
            said.append(f"{claim} {len(found)} of {len(outcomes)} {what}: {named}")
    return f"{name} {'; '.join(said)}."
