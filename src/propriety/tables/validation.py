"""Reading and checking user input; data are validated nowhere else.

`read_cases` takes any supported input and returns `Cases` with checked types, shapes, lengths and labels. The numbers
are checked by `propriety.tables.laws` as chunks are read, so that no argument is scanned twice. Nothing is clipped,
renormalised, dropped or guessed.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propriety.checks import check_options
from propriety.errors import InputTypeError, InputValueError, Wording
from propriety.result import Floats, Result
from propriety.tables import laws
from propriety.tables.arguments import Arguments, ForecastKind, about, check_kind, check_rows, numbers_of
from propriety.tables.arrays import Reading, read_array
from propriety.tables.cases import TOLERANCE, Cases, checked_forecast
from propriety.tables.keys import read_keys
from propriety.tables.labels import Labels, class_labels, distinct_labels, happened_of, places_of

__all__ = [
    "TOLERANCE",
    "Forecasts",
    "Labels",
    "Missing",
    "check_names",
    "distinct_labels",
    "read_cases",
    "read_event_forecast",
    "read_forecast",
    "read_outcomes",
    "read_rates",
]

Missing: TypeAlias = Literal["raise", "drop"]
# The forecasts of one model, or of several by name; for a frame, the names of its columns.
Forecasts: TypeAlias = ArrayLike | Mapping[str, ArrayLike]


def read_cases(  # noqa: PLR0913  (the data, what the cases belong to, and how they are to be read)
    y_true: object,
    forecasts: Mapping[str, object] | object,
    *,
    by: Mapping[str, object] | object = None,
    cluster: object = None,
    time: object = None,
    sample_weight: object = None,
    pos_label: object = None,
    labels: Labels | None = None,
    missing: Missing = "raise",
    tolerance: float = TOLERANCE,
    fewest: int = 1,
    kind: ForecastKind = "any",
) -> Cases:
    """Read outcomes and the forecasts of some models: of one event if they are 1-D, of K classes if they are 2-D.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Outcomes.
    forecasts : mapping of str to array-like of shape (n,) or (n, K), or array-like
        Probability of the event, or of each class in the order of `labels`, by model. The model of a single array-like
        is called "forecast", and its forecasts are called y_proba in errors.
    by : array-like of shape (n,), or mapping of str to array-like, optional
        Groups to report on; the key of a single array-like is called "group".
    cluster, time : array-like of shape (n,), optional
        Clusters or times within which cases may be correlated.
    sample_weight : array-like of shape (n,), optional
        Weights, finite and not negative.
    pos_label : label, optional
        The label whose probability a 1-D forecast gives. Needed unless the labels are 0/1 or boolean.
    labels : sequence, optional
        The label of each column in order; for a 1-D forecast the two labels, the event last. Needed for class
        probabilities unless the labels are 0, ..., K - 1.
    missing : {"raise", "drop"}
        What to do about NaN, None, NA and masked entries in the outcomes, forecasts and weights. A case with a missing
        value in any model is dropped for all. Keys must be known for every case that is kept.
    tolerance : float
        Allowed deviation of a row of class probabilities from summing to one.
    fewest : int
        Smallest allowed number of models.
    kind : {"any", "event", "classes"}
        Required kind of forecasts.

    Examples
    --------
    >>> read_cases([0, 1, 1], {"a": [0.2, 0.7, 0.4], "b": [0.1, None, 0.3]}, missing="drop")
    Cases(models=['a', 'b'], cases=2, dropped=1)
    >>> read_cases([0, 1, 1], [0.2, 0.7, 0.4], by=["x", "y", "x"]).keys["group"].labels
    ('x', 'y')
    """
    check_options(missing, tolerance)
    models, names = _models(y_true, forecasts, fewest)
    given = _arguments(y_true, models, sample_weight, names)
    given.check(kind)
    rows = given.settle_missing(drop=missing == "drop")
    numbers, weights = given.numbers(rows), given.weights(rows)
    outcome, columns = _settle_labels(given, rows, labels, pos_label)
    key = partial(read_keys, beside=given, rows=rows)
    groups: Mapping[str, object] = by if isinstance(by, Mapping) else {} if by is None else {"group": by}
    return Cases(
        outcome=outcome,
        forecasts=numbers,
        labels=columns,
        weight=weights,
        keys={name: key(values, "by" if values is by else laws.named_key(name)) for name, values in groups.items()},
        cluster=None if cluster is None else key(cluster, "cluster"),
        time=None if time is None else key(time, "time"),
        tolerance=tolerance,
        dropped=0 if rows is None else len(given) - len(rows),
        rows=rows,
        arguments=names,
    )


def read_outcomes(
    y_true: object,
    classes: int,
    *,
    beside: Reading,
    labels: Labels | None = None,
    sample_weight: object = None,
    missing: Missing = "raise",
    tolerance: float = TOLERANCE,
) -> Cases:
    """Read outcomes of K classes given with something other than forecasts, such as decisions.

    Examples
    --------
    >>> read_outcomes(["b", "a"], 2, beside=read_array([0, 1], "y_pred"), labels=["a", "b"]).outcomes()
    array([1, 0])
    """
    check_options(missing, tolerance)
    given = _arguments(y_true, {"beside": beside}, sample_weight, {"beside": "y_proba"})
    given.check("any")
    rows = given.settle_missing(drop=missing == "drop")
    weights, columns = given.weights(rows), class_labels(classes, labels)
    truth = given.truth(rows, labelled=labels is not None)
    return Cases(
        outcome=places_of(truth, columns, rows, labelled=labels is not None),
        forecasts={},
        labels=columns,
        weight=weights,
        dropped=0 if rows is None else len(given) - len(rows),
        rows=rows,
    )


def read_forecast(
    y_proba: object, *, labels: Labels | None = None, tolerance: float = TOLERANCE
) -> tuple[Floats, tuple[Any, ...]]:
    """Read class probabilities without outcomes; return them in shape (K, n) with the labels of the classes.

    Examples
    --------
    >>> read_forecast([[0.2, 0.8]], labels=["no", "yes"])
    (array([[0.2], [0.8]]), ('no', 'yes'))
    """
    check_options("raise", tolerance)
    reading = read_array(y_proba, "y_proba")
    check_rows(reading)
    check_kind(reading.values.shape, "y_proba", "classes")
    if len(reading.values) == 0:
        raise InputValueError("must hold at least one case", argument="y_proba", offender="it is empty")
    if reading.missing is not None:
        laws.refuse_missing("y_proba", reading.missing)
    values = numbers_of(reading, None)
    columns = class_labels(values.shape[1], labels)
    _check_column_names(reading.names, columns)
    return checked_forecast(values, argument="y_proba", tolerance=tolerance), columns


def read_event_forecast(y_proba: object) -> Floats:
    """Read probabilities of one event without outcomes: an array of any length, or one number.

    Examples
    --------
    >>> read_event_forecast([0.2, 1]), read_event_forecast(0.5)
    (array([0.2, 1. ]), array(0.5))
    """
    if np.ndim(y_proba) == 0 and not isinstance(y_proba, str | bytes):  # type: ignore[arg-type]  # anything
        reading = Reading("y_proba", np.asarray(y_proba))
        values = numbers_of(reading, None).astype(np.float64)
    else:
        reading = read_array(y_proba, "y_proba")
        check_kind(reading.values.shape, "y_proba", "event")
        if reading.missing is not None:
            laws.refuse_missing("y_proba", reading.missing)
        values = numbers_of(reading, None)
    laws.refuse_missing_floats("y_proba", np.atleast_1d(values))
    found = checked_forecast(np.atleast_1d(values), argument="y_proba", tolerance=None) if values.size else values
    return found.astype(np.float64, copy=False).reshape(values.shape)


def read_rates(values: object, cases: Cases) -> NDArray[Any] | None:
    """Read a constant forecast for all cases: one rate, or one per class; None if it is not constant."""
    shape = () if cases.classes is None else (cases.classes,)
    if np.ndim(values) == 0 and not shape and not isinstance(values, str | bytes):  # type: ignore[arg-type]  # anything
        reading = Reading("reference", np.asarray(values))
    else:
        reading = read_array(values, "reference")
        if not shape or reading.values.shape != shape:
            return None
    if reading.missing is not None:
        laws.refuse_missing("reference", reading.missing)
    if cases.labels is not None and reading.index is not None:
        names = tuple(reading.index)
        if set(names) == set(cases.labels) and names != cases.labels:
            law = f"must be in the order of the labels {list(cases.labels)}"
            raise InputValueError(law, argument="reference", offender=f"got {list(names)}")
    return numbers_of(reading, None)


def check_names(forecasts: object, fewest: int = 1) -> None:
    """Raise an error unless `forecasts` maps valid model names to forecasts of at least `fewest` models.

    Examples
    --------
    >>> check_names({"a": [0.2, 0.7]})
    """
    if not isinstance(forecasts, Mapping) or not all(isinstance(name, str) for name in forecasts):
        hint = 'pass {"a": p, "b": q}.'
        raise InputTypeError("must map the names of models to their forecasts", argument="forecasts", hint=hint)
    for name in forecasts:
        if any(unicodedata.category(character) == "Cc" for character in name):
            law = f"names of models must be free of control characters such as line ends; got {name!r}"
            raise InputValueError(law)
    if len(forecasts) < fewest:
        number = "two models" if fewest == 2 else "one model"
        raise InputValueError(f"must hold {number} or more", argument="forecasts", offender=f"got {len(forecasts)}")


def _models(y_true: object, forecasts: object, fewest: int) -> tuple[Mapping[str, object], dict[str, str]]:
    """Return the forecasts by model, and their names in errors."""
    several = isinstance(forecasts, Mapping) or fewest > 1
    if isinstance(y_true, Result):
        need = "several models need predictions, {y_true} and {forecasts}" if several else "{y_true} must hold outcomes"
        kind = type(y_true).__name__
        raise InputTypeError(Wording(need + "; a {kind} holds no individual cases", kind=kind))
    if several:
        check_names(forecasts, fewest)
    models: Mapping[str, object] = forecasts if isinstance(forecasts, Mapping) else {"forecast": forecasts}
    return models, {model: laws.named_forecast(model) if several else "y_proba" for model in models}


def _arguments(
    y_true: object, forecasts: Mapping[str, object], sample_weight: object, names: Mapping[str, str]
) -> Arguments:
    """Read each argument once."""
    for model, values in forecasts.items():
        if values is None:
            with about(names[model]):
                raise InputTypeError(
                    Wording("is required with {y_true}"), argument="y_proba", hint="or pass one ForecastTable."
                )
    outcome = read_array(y_true, "y_true", role="outcomes")
    readings = {}
    for model, values in forecasts.items():
        with about(names[model]):
            readings[model] = read_array(values, "y_proba")
    weight = None if sample_weight is None else read_array(sample_weight, "sample_weight")
    return Arguments(outcome, readings, weight, names)


def _settle_labels(
    given: Arguments, rows: NDArray[np.intp] | None, labels: Labels | None, pos_label: object
) -> tuple[NDArray[Any], tuple[Any, ...] | None]:
    """Return the events, or the class indices and the class labels."""
    truth = given.truth(rows, labelled=labels is not None or pos_label is not None)
    first = next(iter(given.forecasts))
    shape = given.forecasts[first].values.shape
    with about(given.names[first]):
        if len(shape) == 1:
            return happened_of(truth, pos_label, labels, rows), None
        columns = class_labels(shape[1], labels, pos_label)
    for model, reading in given.forecasts.items():
        with about(given.names[model]):
            _check_column_names(reading.names, columns)
    with about(given.names[first]):
        return places_of(truth, columns, rows, labelled=labels is not None), columns


def _check_column_names(names: tuple[Any, ...] | None, columns: tuple[Any, ...]) -> None:
    """Raise an error if the columns of a frame are named as the labels but are in another order."""
    if names is None or names == columns:
        return
    texts = [str(name) for name in names], [str(column) for column in columns]
    if set(names) == set(columns) or (set(texts[0]) == set(texts[1]) and texts[0] != texts[1]):
        law = Wording("must be in the order of the columns of {y_proba}")
        offender = f"labels are {list(columns)} and columns {list(names)}"
        raise InputValueError(law, argument="labels", offender=offender)
