"""Class probabilities as answers with a confidence: the most likely class, and its probability."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.errors import InputValueError
from propriety.ledger.ledger import Ledger
from propriety.result import Floats
from propriety.tables.events import Event

__all__ = ["as_measured", "forecasts_of_answers"]


def as_measured(ledger: Ledger, measure: object, model: str | None = None) -> Ledger:
    """Return the ledger that a measure needs: for a measure of answers and class probabilities, the answers.

    If several classes have the highest probability, the first is the answer. With `model`, only its answers are
    computed.
    """
    if ledger.labels is None or not getattr(measure, "of_answers", False):
        return ledger
    cases = ledger.cases
    if cases is None:
        law = f"{getattr(measure, 'label', measure)} of class probabilities needs {ledger.where_cases_are}"
        raise InputValueError(law, hint="make a ledger of the answers: condense(was_right, confidence).")
    right, confidence = {}, {}
    for name in cases.models if model is None else (model,):
        confidence[name], right[name], _ = cases.answers(name).gathered()
    event, forecasts = forecasts_of_answers(right, confidence)
    found = replace(cases, outcome=event, forecasts=forecasts, labels=None)
    return Ledger.of_source(found, (Event("event"),))


def forecasts_of_answers(
    right: Mapping[str, NDArray[np.bool_]], confidence: Mapping[str, Any]
) -> tuple[NDArray[np.bool_], dict[str, Floats]]:
    """Return answers of several models as forecasts of one event, "the first model is right".

    The forecast is above one half if the model and the first model are both right or both wrong, and below otherwise.
    The higher the confidence, the further the forecast is from one half. Measures with a threshold of one half
    therefore recover the answers, in the same order.

    Examples
    --------
    >>> right = {"a": np.array([True, False]), "b": np.array([True, True])}
    >>> event, forecasts = forecasts_of_answers(right, {"a": np.array([1.0, 0.0]), "b": np.array([0.0, 1.0])})
    >>> event, forecasts["a"], forecasts["b"]
    (array([ True, False]), array([1.  , 0.75]), array([0.75, 0.  ]))
    """
    event = next(iter(right.values()))
    forecasts = {}
    for model, own in right.items():
        probability = 0.75 + np.asarray(confidence[model], dtype=np.float64) / 4.0
        forecasts[model] = np.where(own == event, probability, 1.0 - probability)
    return event, forecasts
