"""Reading answers with a confidence, with errors that name the arguments of functions of answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety.errors import InputTypeError, InputValueError, ProprietyError, Wording
from propriety.result import Floats
from propriety.tables import laws
from propriety.tables.arguments import check_indices
from propriety.tables.arrays import read_array, read_forecasts
from propriety.tables.frames import check_names
from propriety.tables.validation import read_cases

RANKS_HINT = "only their order matters; pass scipy.stats.rankdata(score) / len(score) of scores on another scale."
ONE_NUMBER_HINT = "pass the confidence of each answer, such as the highest probability of its row."
WORDS = {
    laws.NAMED_FORECAST: "confidence",
    laws.OUTCOME_LAW.template: "must hold 0 and 1 (or False and True) unless {pos_label} is given",
    laws.EVENT_LABEL_HINT.template: "pass {pos_label=}, the label of right answers.",
    laws.LABELLED_HINT.template: "pass {pos_label=} of that type, the label of right answers.",
    laws.LABELS_HINT.template: ONE_NUMBER_HINT,
    laws.EVENT_OF_CLASSES.template: "belongs to a binary outcome; {y_proba} must be one number per case",
    laws.EVENT_HINT.template: ONE_NUMBER_HINT,
}
WITHOUT_DROPPING = {laws.MISSING_HINT.template: "leave such cases out, for all models."}


@contextmanager
def about_answers(correct: str = "correct", confidence: str = "confidence", *, drops: bool = True) -> Iterator[None]:
    """Let errors name the arguments of functions of answers; `drops` says whether these can drop missing values."""
    try:
        yield
    except ProprietyError as error:
        error.aliases |= {"y_true": correct, "y_proba": confidence, "forecasts": correct} | WORDS
        error.aliases |= {} if drops else WITHOUT_DROPPING
        if error.law == laws.UNIT_LAW and not isinstance(error.hint, Wording):  # Rounding errors have a hint of theirs.
            error.hint = RANKS_HINT
        raise


class Answers(NamedTuple):
    """Which answers of each model were right, the confidences, and the pandas index that any of these carry."""

    right: dict[str, NDArray[np.bool_]]
    confidence: dict[str, Floats]
    index: Any


def read_answers(correct: Any, confidence: Any, pos_label: object) -> Answers:
    """Read the answers of several models.

    Examples
    --------
    >>> read_answers({"a": ["C", "I"], "b": ["I", "I"]}, {"a": [0.9, 0.2], "b": [0.4, 0.3]}, "C").right
    {'a': array([ True, False]), 'b': array([False, False])}
    """
    answers, confidences = _by_model(correct, "correct"), _by_model(confidence, "confidence")
    with about_answers():
        check_names(answers, fewest=2)
    if list(answers) != list(confidences):
        told = f"they have {list(answers)} and {list(confidences)}"
        raise InputValueError("correct and confidence must have the same models in the same order", offender=told)
    right, found, readings = {}, {}, []
    for model, own in answers.items():
        names = [Wording(f"{argument}[{{model!r}}]", model=model) for argument in ("correct", "confidence")]
        with about_answers(*names, drops=False):
            outcome = read_array(own, "y_true", role="outcomes")
            forecast = confidences[model] if confidences[model] is None else read_forecasts(confidences[model])
            cases = read_cases(outcome, forecast, pos_label=pos_label, kind="event", snapshot=False).gathered()
        right[model], found[model] = cases.outcome, cases.forecast
        readings += [replace(outcome, argument=names[0]), replace(forecast, argument=names[1])]
    check_indices(*readings)
    sizes = {name: len(own) for name, own in right.items()}
    if len(set(sizes.values())) > 1:
        law = "all models must have answered the same cases"
        raise InputValueError(law, offender=f"their numbers of cases are {sizes}")
    return Answers(right, found, next((reading.index for reading in readings if reading.index is not None), None))


def _by_model(given: Any, argument: str) -> Mapping[str, Any]:
    """Return arrays by model from a mapping, or from a data frame with one column per model."""
    if not hasattr(given, "items"):
        hint = 'pass {"a": ..., "b": ...}; for a single model, use risk_coverage_curve.'
        offender = f"got {type(given).__name__}"
        raise InputTypeError("must map the names of models to arrays", argument=argument, offender=offender, hint=hint)
    return dict(given.items())
