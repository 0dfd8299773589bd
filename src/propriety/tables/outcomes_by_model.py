"""Outcomes by model: whether the answer of each model was right, in the same cases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from propriety import demands
from propriety.errors import InputTypeError, InputValueError, ProprietyError, Wording
from propriety.tables import laws
from propriety.tables.arguments import check_indices
from propriety.tables.arrays import Reading, read_array, read_forecasts
from propriety.tables.cases import Cases
from propriety.tables.frames import check_names
from propriety.tables.validation import read_cases


def read_by_model(
    outcomes: Mapping[str, object],
    forecasts: object,
    shared: Mapping[str, Any],
    options: Mapping[str, Any],
    *,
    ordered: bool,
    fewest: int,
) -> Cases:
    """Read cases whose outcomes are by model; a case with a missing value in any model may be dropped for all.

    `shared` holds the weights, keys, clusters, periods and identifiers, and `options` says how outcomes are read; see
    `propriety.cases`.

    Examples
    --------
    >>> right, confidence = {"a": [1, 0, 1], "b": [1, 1, None]}, {"a": [0.9, 0.2, 0.7], "b": [0.6, 0.8, 0.5]}
    >>> read = read_by_model(right, confidence, {}, {"missing": "drop"}, ordered=False, fewest=1)
    >>> read.of("b").gathered().outcome
    array([ True,  True])
    """
    if not isinstance(forecasts, Mapping):
        law, hint = Wording("must map the models of {y_true} to their forecasts"), 'pass {"a": p, "b": q}.'
        raise InputTypeError(law, argument="forecasts", got_type=forecasts, hint=hint)
    check_names(forecasts, fewest)
    if ordered:
        raise InputValueError(demands.ORDERED_EVENT, argument="ordered")
    if set(outcomes) != set(forecasts):
        found = f"they have {list(outcomes)} and {list(forecasts)}"
        raise InputValueError(Wording("{y_true} and {forecasts} must have the same models"), offender=found)
    own: dict[str, Cases] = {}
    readings: list[Reading] = []
    for model, forecast in forecasts.items():
        with _named(model):
            happened = read_array(outcomes[model], "y_true", role="outcomes")
            probability = read_forecasts(forecast)
            own[model] = read_cases(happened, probability, **options, kind="event").checked()
        readings.append(replace(happened, argument=_outcome_of(model)))
        readings.append(replace(probability, argument=laws.named_forecast(model)))
    check_indices(*readings)
    sizes = {model: len(cases) + cases.dropped for model, cases in own.items()}
    if len(set(sizes.values())) > 1:
        same = "must hold outcomes of the same cases for all models"
        raise InputValueError(same, argument="y_true", offender=f"the numbers of cases are {sizes}")
    size = sizes[next(iter(sizes))]
    kept = {model: np.arange(size) if cases.rows is None else cases.rows for model, cases in own.items()}
    known = np.logical_and.reduce([np.bincount(rows, minlength=size) > 0 for rows in kept.values()])
    # What the models share is read beside an outcome that is missing wherever that of any model is.
    index = next((reading.index for reading in readings if reading.index is not None), None)
    beside = Reading("y_true", np.zeros(size), missing=None if known.all() else ~known, index=index, is_new=True)
    cases = read_cases(beside, np.zeros(size), **shared, missing=options.get("missing", "raise"))
    rows = np.arange(size) if cases.rows is None else cases.rows
    places = {model: np.searchsorted(of_model, rows) for model, of_model in kept.items()}
    chunks = {model: one.gathered() for model, one in own.items()}
    together = replace(
        cases,
        outcome=np.stack([chunks[model].outcome[places[model]] for model in chunks], axis=1),
        forecasts={model: chunk.forecast[places[model]] for model, chunk in chunks.items()},
        arguments={model: laws.named_forecast(model) for model in chunks},
        pos_label=options.get("pos_label"),
    )
    return together.of(together.models[0]) if len(together.models) == 1 else together


def _outcome_of(model: str) -> Wording:
    """Return how errors name the outcomes of a model."""
    return Wording("{y_true}[{model!r}]", model=model)


@contextmanager
def _named(model: str) -> Iterator[None]:
    """Let errors name the outcomes and forecasts of a model."""
    try:
        yield
    except ProprietyError as error:
        error.names |= {"y_true": _outcome_of(model), "y_proba": laws.named_forecast(model)}
        raise
