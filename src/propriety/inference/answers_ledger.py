"""Class probabilities as answers with a confidence: the most likely class, and its probability."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.errors import InputTypeError, InputValueError
from propriety.inference.measures.measure import HALF, Measure
from propriety.ledger.ledger import Ledger
from propriety.result import Floats
from propriety.tables.events import TOP, Event


def as_measured(ledger: Ledger, measure: Measure, model: str | None = None) -> Ledger:
    """Return the ledger that a measure needs: for a measure of answers and class probabilities, the answers.

    If several classes have the highest probability, the first is the answer. With `model`, only its answers are
    computed; without cases, they are those of its table.
    """
    if ledger.labels is None or not measure.of_answers:
        return ledger
    if measure.threshold != HALF:
        law = f"must be {HALF} for class probabilities, whose answer is the most likely class"
        raise InputValueError(law, argument="threshold", got=measure.threshold)
    cases = ledger.cases
    if cases is None and model is not None and TOP in ledger.events:
        return answers_of_table(ledger, model)
    if cases is None:
        law = f"{measure.label} of class probabilities needs {ledger.where_cases_are}"
        raise InputValueError(law, hint="make a ledger of the answers: condense(was_right, confidence).")
    right, confidence = {}, {}
    for name in cases.models if model is None else (model,):
        confidence[name], right[name], _ = cases.event(TOP, name).gathered()
    event, forecasts = forecasts_of_answers(right, confidence)
    found = replace(cases, outcome=event, forecasts=forecasts, labels=None)
    return Ledger.of_source(found, (Event("event"),))


def compared_answers(ledger: Ledger, measure: Measure) -> tuple[Ledger, Any]:
    """Return the ledger and the measure by which models are compared if their outcomes are by model.

    The outcomes say whether the answer of each model was right, and the forecasts are the confidences in it.
    """
    cases = ledger.cases
    if cases is None or not cases.has_outcomes_by_model:
        return ledger, measure
    if not measure.of_answers:
        law = "must be a measure of abstention for outcomes by model, which are of different events"
        hint = "pass measures.AreaUnderRiskCoverage(), measures.AccuracyAtCoverage(0.8), ..."
        raise InputTypeError(law, argument="measure", offender=f"got {measure.label}", hint=hint)
    answers = {model: cases.gathered(model) for model in cases.models}
    right = {model: chunk.outcome for model, chunk in answers.items()}
    event, forecasts = forecasts_of_answers(right, {model: chunk.forecast for model, chunk in answers.items()})
    of_first = replace(cases, outcome=event, forecasts=forecasts)
    return Ledger.of_source(of_first, ledger.events), _read_at(measure, HALF)


def _read_at(measure: Measure, threshold: float) -> Measure:
    """Return a measure of answers that reads forecasts at another threshold."""
    found = copy(measure)
    found.declare(threshold=threshold)
    return found


def answers_of_one(ledger: Ledger, model: str | None, measure: Measure) -> tuple[Ledger, Any]:
    """Return the ledger and the measure of one model if the outcomes are by model."""
    cases = ledger.cases
    if cases is None or not cases.has_outcomes_by_model:
        return ledger, measure
    own = Ledger.of_source(cases.of(ledger.one_model(model)), ledger.events)
    return own, _read_at(measure, 0.0) if measure.of_answers else measure


def answers_of_table(ledger: Ledger, model: str) -> Ledger:
    """Return the answers of a model from its table of the top class, ranked as in `forecasts_of_answers`.

    On a grid of cells, the confidence c becomes (1 + c) / 2.
    """
    top, event = ledger.keyed_tables(model, TOP), Event("event")
    forecast = _ranked(top.forecast) if top.cells is None else 0.5 + top.forecast / 2.0
    tables = {(model, event): replace(top, forecast=forecast, cells=None if top.cells is None else 2 * top.cells)}
    own = {"models": (model,), "events": (event,), "labels": None, "source": None}
    return replace(ledger, **own, _tables=tables, _whole={}, _moments={}, _collected={})  # type: ignore[arg-type]


def forecasts_of_answers(
    right: Mapping[str, NDArray[np.bool_]], confidence: Mapping[str, Any]
) -> tuple[NDArray[np.bool_], dict[str, Floats]]:
    """Return answers of several models as forecasts of one event, "the first model is right".

    The forecast is above one half if the model and the first model are both right or both wrong, and below otherwise.
    The higher the confidence, the further the forecast is from one half. Measures with a threshold of one half
    therefore recover the answers, in the same order. The distance is by rank, because confidences such as probabilities
    of long texts can differ by less than floats do between one half and one.

    Examples
    --------
    >>> right = {"a": np.array([True, False, True]), "b": np.array([True, True, True])}
    >>> confidence = {"a": np.array([1.0, 1e-30, 1e-20]), "b": np.array([0.2, 0.3, 0.9])}
    >>> event, forecasts = forecasts_of_answers(right, confidence)
    >>> event, forecasts["a"], forecasts["b"]
    (array([ True, False,  True]), array([0.875, 0.625, 0.75 ]), array([0.625, 0.25 , 0.875]))
    """
    event = next(iter(right.values()))
    forecasts = {}
    for model, own in right.items():
        probability = _ranked(np.asarray(confidence[model]))
        forecasts[model] = np.where(own == event, probability, 1.0 - probability)
    return event, forecasts


def _ranked(confidence: NDArray[Any]) -> Floats:
    """Return forecasts between one half and one, in the order of the confidences."""
    distinct, rank = np.unique(confidence, return_inverse=True)
    ranked: Floats = 0.5 + (rank + 1) / (2 * (len(distinct) + 1))
    return ranked
