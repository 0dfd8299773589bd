"""What an evaluation is about, what it lacks, and the verdicts on its calibration, in plain words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from propriety.inference.calibration_words import calibration_words, is_shown, own_sizes, whole_row
from propriety.inference.finding import Finding, Verdict
from propriety.number_words import capitalized, counted, listed, percent

if TYPE_CHECKING:
    from propriety.evaluation.evaluation import Evaluation


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
    own = {
        one.measure.label
        for found in evaluation.estimates.values()
        for one in found.values()
        if one.note("needs-cases")
    }
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


def calibration_row(evaluation: Evaluation, model: str) -> Finding:
    """Return the test of the calibration of a model on all cases, whose verdict is that on the model."""
    return whole_row(evaluation.calibration, model)


def verdict_of(evaluation: Evaluation, model: str) -> Verdict:
    """Return the verdict on the calibration of a model."""
    return calibration_row(evaluation, model).verdict or "not tested"


def sizes_of_event(evaluation: Evaluation, model: str) -> dict[str, Finding]:
    """Return observed/expected, slope and miscalibration of a model on all cases, by the key of the measure."""
    found = evaluation.calibration.where(model=model, keys={})
    return own_sizes(found, calibration_row(evaluation, model))


def calibration_sentences(evaluation: Evaluation) -> Iterator[str]:
    """Report the calibration of each model; with classes or cut points, of all of them together."""
    for model in evaluation.models:
        yield sentence_of(evaluation, model, model)


def sentence_of(evaluation: Evaluation, model: str, name: str) -> str:
    """Report the calibration of a model under a name, with the gain of recalibration if an error is shown."""
    shown = evaluation.kind == "binary" and is_shown(calibration_row(evaluation, model))
    gain = evaluation.recalibration.gain(model) if shown else None
    return calibration_words(evaluation.calibration, model, name, gain)


def drawn_words(evaluation: Evaluation) -> str:
    """Say which classes, or cut points, are drawn, and of which model."""
    shown, events = len(evaluation.drawn_classes), len(evaluation.tables[evaluation.best])
    what = "cut points" if evaluation.kind == "ordinal" else "classes"
    of_best = f" for {evaluation.best}, which has the best score" if len(evaluation.models) > 1 else ""
    if shown == events:
        return f"The curves of all {what} are drawn{of_best}."
    said = f"The curves are those of the {shown} {what} with the strongest evidence of miscalibration, of {events:,}"
    return f"{said}{of_best}; all are in the table."
