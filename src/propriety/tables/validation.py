"""The door: the only judge of user input.

`read_predictions` takes whatever the user holds and returns predictions whose kinds, shapes, lengths and
labels are settled; the numbers themselves are checked by `propriety.tables.laws` as they are handed out in
chunks, so that no argument is scanned twice. Nothing is clipped, renormalised, dropped or guessed.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Sequence
from numbers import Real
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from propriety.errors import InputTypeError, InputValueError, sentence
from propriety.tables import laws
from propriety.tables.arrays import Reading, read_array
from propriety.tables.predictions import BinaryPredictions, ClassPredictions, Predictions

__all__ = [
    "TOLERANCE",
    "Labels",
    "Missing",
    "check_reading",
    "distinct_labels",
    "labels_of_columns",
    "labels_of_event",
    "read_binary",
    "read_classes",
    "read_predictions",
    "read_rates",
]

Missing: TypeAlias = Literal["raise", "drop"]
Labels: TypeAlias = Sequence[Any] | NDArray[Any]

TOLERANCE = 1e-6  # How far a row of class probabilities may be from summing to one.
MATRIX = 2  # The dimensions of rows of probabilities.
TINY = float(np.finfo(np.float64).tiny)  # Floats below it have fewer digits.
FEW_LABELS = 8  # Up to so many, a pass for each label is faster than a sort.


def read_predictions(
    y_true: object,
    y_proba: object,
    *,
    sample_weight: object = None,
    pos_label: object = None,
    labels: Labels | None = None,
    missing: Missing = "raise",
    tolerance: float = TOLERANCE,
) -> Predictions:
    """Judge predictions: binary where `y_proba` is 1-D, K classes where it is a matrix of rows.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Outcomes.
    y_proba : array-like of shape (n,) or (n, K)
        Probability of the event, or of each class in the order of `labels`.
    sample_weight : array-like of shape (n,), optional
        Weights, finite and not negative.
    pos_label : label, optional
        The label whose probability a 1-D `y_proba` gives. Needed unless the labels are 0/1 or boolean.
    labels : sequence, optional
        The label of each column in order; of a 1-D `y_proba` the two labels, the event last.
        Needed for rows unless the labels are 0, ..., K - 1.
    missing : {"raise", "drop"}
        What to do about NaN, None, NA and masked entries in any argument.
    tolerance : float
        How far a row may be from summing to one.
    """
    check_reading(missing, tolerance)
    outcome, forecast, weight = _read_arguments(y_true, y_proba, sample_weight)
    readings = [reading for reading in (outcome, forecast, weight) if reading is not None]
    rows, dropped = _settle_missing(readings, drop=missing == "drop")
    truth = _narrowed(outcome.values if rows is None else outcome.values[rows])
    proba = _numbers(forecast, rows)
    weights = None if weight is None else _numbers(weight, rows)
    if labels is not None or pos_label is not None:
        # A NaN equals no label, so it would pass for "the other one".
        laws.refuse_missing_floats("y_true", truth)
    if weights is not None:
        _check_total(weights)
    if proba.ndim == 1:
        event = _events(truth, pos_label, labels, rows)
        return BinaryPredictions(event, proba, weights, dropped=dropped, rows=rows)
    columns = labels_of_columns(proba.shape[1], labels, pos_label, forecast.names)
    index = truth if labels is None else _indices(truth, columns, rows)
    if index.dtype.kind not in "biuf":
        law = f"y_true holds {_kind(index)}, which cannot be matched to the columns of y_proba"
        raise InputValueError(sentence(law, hint="pass labels=, the label of each column in order."))
    return ClassPredictions(index, proba, columns, tolerance, weights, dropped=dropped, rows=rows)


def check_reading(missing: object, tolerance: object) -> None:
    """Refuse ways to read predictions that there are not."""
    if not isinstance(missing, str) or missing not in ("raise", "drop"):
        raise InputValueError(sentence(f'missing must be "raise" or "drop"; got {missing!r}'))
    if not isinstance(tolerance, float | int) or not 0.0 <= tolerance < 1.0:
        raise InputValueError(sentence(f"tolerance must lie in [0, 1); got {tolerance!r}"))


def read_binary(y_true: object, y_proba: object, **options: Any) -> BinaryPredictions:
    """Judge predictions that must be binary: a 1-D `y_proba`."""
    predictions = read_predictions(y_true, y_proba, **options)
    if isinstance(predictions, BinaryPredictions):
        return predictions
    law = f"y_proba must be 1-D, the probability of one event; got shape {predictions.forecast.shape}"
    hint = "pass the column of the event, such as y_proba[:, 1]."
    raise InputValueError(sentence(law, hint=hint))


def read_classes(y_true: object, y_proba: object, **options: Any) -> ClassPredictions:
    """Judge predictions that must be rows of K probabilities."""
    predictions = read_predictions(y_true, y_proba, **options)
    if isinstance(predictions, ClassPredictions):
        return predictions
    law = f"y_proba must have one column per class; got shape {predictions.forecast.shape}"
    hint = "pass rows of probabilities, such as predict_proba(X)."
    raise InputValueError(sentence(law, hint=hint))


def _read_arguments(y_true: object, y_proba: object, sample_weight: object) -> tuple[Reading, Reading, Reading | None]:
    if y_proba is None:
        raise InputTypeError(sentence("y_proba is needed beside y_true", hint="or pass one ForecastTable."))
    outcome = read_array(y_true, "y_true")
    forecast = read_array(y_proba, "y_proba")
    weight = None if sample_weight is None else read_array(sample_weight, "sample_weight")
    _check_shapes(outcome, forecast, weight)
    readings = [outcome, forecast] if weight is None else [outcome, forecast, weight]
    for one, other in itertools.combinations(readings, 2):
        _check_same_index(one, other)
    return outcome, forecast, weight


def _check_shapes(outcome: Reading, forecast: Reading, weight: Reading | None) -> None:
    for reading in (outcome, weight):
        if reading is not None and reading.values.ndim != 1:
            law = f"{reading.argument} must be 1-D, one entry per case; got shape {reading.values.shape}"
            hint = f"pass {reading.argument} as a single column, such as values.ravel()"
            hint += ", or .argmax(axis=1) of one-hot rows." if reading is outcome else "."
            raise InputValueError(sentence(law, hint=hint))
    shape = forecast.values.shape
    if len(shape) > MATRIX or (len(shape) == MATRIX and shape[1] < MATRIX):
        law = f"y_proba must be of shape (n,) or (n, K) with K >= 2; got {shape}"
        raise InputValueError(sentence(law, hint="pass a single column as 1-D, such as values.ravel()."))
    for reading in (forecast, weight):
        if reading is not None and len(reading.values) != len(outcome.values):
            law = f"y_true and {reading.argument} must be equally long"
            offender = f"y_true has {len(outcome.values):,} rows and {reading.argument} {len(reading.values):,}"
            raise InputValueError(sentence(law, offender=offender))
    if len(outcome.values) == 0:
        raise InputValueError(sentence("y_true and y_proba must hold at least one case; both are empty"))


def _check_same_index(one: Reading, other: Reading) -> None:
    if one.index is None or other.index is None or one.index.equals(other.index):
        return
    law = f"{one.argument} and {other.argument} carry different indices, so their rows may not belong together"
    hint = f"align them by label, or call .to_numpy() on {other.argument} to go by position."
    raise InputValueError(sentence(law, hint=hint))


def _settle_missing(readings: list[Reading], *, drop: bool) -> tuple[NDArray[np.intp] | None, int]:
    """Refuse or drop missing values; return the rows kept (None for all) and the number dropped."""
    if not drop:
        for reading in readings:
            if reading.missing is not None:
                laws.refuse_missing(reading.argument, reading.missing)
        return None, 0
    gone = np.zeros(len(readings[0].values), dtype=bool)
    for reading in readings:
        values = reading.values
        for missing in (reading.missing, np.isnan(values) if values.dtype.kind in "fc" else None):
            if missing is not None:
                gone |= missing if missing.ndim == 1 else missing.any(axis=1)
    if not gone.any():
        return None, 0
    if gone.all():
        law = 'missing="drop" leaves no case: every row has a missing value'
        raise InputValueError(sentence(law, count=f"{len(gone):,} rows"))
    return np.flatnonzero(~gone), int(gone.sum())


def _numbers(reading: Reading, rows: NDArray[np.intp] | None) -> NDArray[Any]:
    """Return the values of a numeric argument, which must be of a real dtype."""
    values = reading.values if rows is None else reading.values[rows]
    if rows is not None:
        values = _narrowed(values)
    if values.dtype.kind in "biuf":
        return values
    law = f"{reading.argument} must hold real numbers; got {_kind(values)}"
    hint = f"convert it with numpy.asarray({reading.argument}, dtype=float) and look at what fails."
    raise InputTypeError(sentence(law, hint=hint))


def _narrowed(values: NDArray[Any]) -> NDArray[Any]:
    """Return numbers that were held as objects, beside missing values or as categories, in an array of numbers."""
    if values.dtype != object:
        return values
    kinds = set(map(type, values.ravel().tolist()))
    if not all(issubclass(kind, bool | int | float | np.bool_ | np.integer | np.floating) for kind in kinds):
        return values
    narrowed = np.asarray(values.tolist())
    return values if narrowed.dtype == object else narrowed


def _check_total(weights: NDArray[Any]) -> None:
    """Refuse weights that are all zero, or so large or small that squares of them are not numbers, or lose digits."""
    if not (weights != 0).any():
        law = "sample_weight must be positive for at least one case; all are 0"
        raise InputValueError(sentence(law, count=f"{len(weights):,} rows"))
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        weights = weights.astype(np.float64)
        squares, squared = float(np.dot(weights, weights)), float(np.square(weights.sum()))
    if squares < TINY or (max(squares, squared) == np.inf and np.isfinite(weights).all()):
        law = "sample_weight must have squares whose sum is positive and finite"
        raise InputValueError(sentence(law, hint="divide the weights by their mean."))


def _kind(values: NDArray[Any]) -> str:
    names = {"O": "objects", "U": "strings", "S": "bytes", "T": "strings", "c": "complex numbers"}
    return names.get(values.dtype.kind, f"values of dtype {values.dtype}")


def _events(
    outcome: NDArray[Any], pos_label: object, labels: Labels | None, rows: NDArray[np.intp] | None
) -> NDArray[Any]:
    """Resolve binary labels: boolean events, or numbers still to be checked to be 0 and 1."""
    if labels is not None:
        names, event = labels_of_event(labels, pos_label)
        return np.equal(_indices(outcome, names, rows), names.index(event))
    if pos_label is not None:
        return _events_against_rest(outcome, pos_label)
    if outcome.dtype.kind in "biuf":
        return outcome
    law = f"y_true must hold 0 and 1 (or False and True) where no pos_label is given; got {_kind(outcome)}"
    raise InputValueError(sentence(law, hint="pass pos_label=, the label whose probability y_proba gives."))


def _events_against_rest(outcome: NDArray[Any], pos_label: object) -> NDArray[np.bool_]:
    if not isinstance(pos_label, Hashable) or np.ndim(pos_label) != 0:  # type: ignore[arg-type]  # any label
        raise InputTypeError(sentence(f"pos_label must be a single label; got {type(pos_label).__name__}"))
    event = _equals(outcome, pos_label)
    if event.all():
        return event
    if not event.any() and not isinstance(pos_label, Real | np.bool_ if outcome.dtype.kind in "biuf" else str):
        law = f"y_true must hold labels of the kind of pos_label={pos_label!r}; got {_kind(outcome)}"
        raise InputValueError(sentence(law, hint="pass labels=[other, event] to name both."))
    other = outcome[~event][0]
    third = ~(event | _equals(outcome, other))
    if third.any():
        shown = [value.item() if isinstance(value, np.generic) else value for value in (other, outcome[third][0])]
        law = f"y_true must hold pos_label={pos_label!r} and one other label; got both {shown[0]!r} and {shown[1]!r}"
        raise InputValueError(sentence(law, hint=f"pass y_true == {pos_label!r} to score one class against the rest."))
    return event


def labels_of_event(labels: Labels, pos_label: object) -> tuple[tuple[Any, Any], Any]:
    """Return the two labels of a binary outcome as they were given, and that of the event, the last by default."""
    names = distinct_labels(labels)
    if len(names) != 2:
        law = f"labels must name the two classes of a 1-D y_proba; got {len(names)} labels"
        raise InputValueError(sentence(law, hint="pass rows with one column per class for more."))
    event = names[1] if pos_label is None else pos_label
    if event not in names:
        raise InputValueError(sentence(f"pos_label must be one of labels; got {pos_label!r}"))
    return (names[0], names[1]), event


def labels_of_columns(
    classes: int, labels: Labels | None, pos_label: object, names: tuple[Any, ...] | None = None
) -> tuple[Any, ...]:
    """Return the label of each column of rows; `names` are those that the columns have in a frame."""
    if pos_label is not None:
        law = "pos_label belongs to a 1-D y_proba; rows of probabilities name their columns by labels="
        raise InputValueError(sentence(law))
    if labels is None:
        _check_column_names(names, tuple(range(classes)))
        return tuple(range(classes))
    columns = distinct_labels(labels)
    if len(columns) != classes:
        law = f"labels must name the columns of y_proba; got {len(columns)} labels for {classes} columns"
        raise InputValueError(sentence(law))
    _check_column_names(names, columns)
    return columns


def _check_column_names(names: tuple[Any, ...] | None, columns: tuple[Any, ...]) -> None:
    """Refuse a frame whose columns are named as the labels are, and stand in another order."""
    if names is None or names == columns:
        return
    texts = [str(name) for name in names], [str(column) for column in columns]
    if set(names) == set(columns) or (set(texts[0]) == set(texts[1]) and texts[0] != texts[1]):
        law = "labels must be in the order of the columns of y_proba"
        raise InputValueError(sentence(law, offender=f"labels are {list(columns)} and columns {list(names)}"))


def distinct_labels(labels: Labels) -> tuple[Any, ...]:
    """Return labels in their order; they must have one, and differ."""
    if isinstance(labels, str | bytes | set | frozenset | dict) or not isinstance(labels, Iterable):
        law = f"labels must be a list of labels in the order of the columns; got {type(labels).__name__}"
        raise InputTypeError(sentence(law))
    names = tuple(label.item() if isinstance(label, np.generic) else label for label in labels)
    try:
        distinct = len(set(names)) == len(names)
    except TypeError as error:
        raise InputTypeError(sentence("labels must be single values", offender=str(error))) from error
    if not distinct:
        raise InputValueError(sentence(f"labels must be distinct; got {list(names)}"))
    return names


def _equals(outcome: NDArray[Any], label: object) -> NDArray[np.bool_]:
    if outcome.dtype == object:
        # As an object, because NumPy would cut zeros off the end of a text that it reads itself.
        held = np.empty((), dtype=object)
        held[()] = label
        label = held
    try:
        equal = np.asarray(outcome == label, dtype=bool)
    except (TypeError, ValueError, OverflowError):  # A label of another kind, or beyond the range of the outcomes.
        equal = np.zeros(0, dtype=bool)
    return equal if equal.shape == outcome.shape else np.zeros(len(outcome), dtype=bool)


def _indices(outcome: NDArray[Any], labels: tuple[Any, ...], rows: NDArray[np.intp] | None) -> NDArray[np.intp]:
    """Return the position of each outcome among the labels."""
    if outcome.dtype.kind != "O" and len(labels) > FEW_LABELS:
        values, inverse = np.unique(outcome, return_inverse=True)
        place = {label: position for position, label in enumerate(labels)}
        index = np.array([place.get(value, -1) for value in values.tolist()], dtype=np.intp)[inverse]
    else:
        index = np.full(len(outcome), -1, dtype=np.intp)
        for position, label in enumerate(labels):
            index[_equals(outcome, label)] = position
    if (index < 0).any():
        law = f"y_true must hold only the labels {list(labels)}"
        laws.refuse(law, index < 0, outcome, rows, "name every class in labels=, also one without cases.")
    return index


def read_rates(values: object, predictions: Predictions) -> NDArray[Any] | None:
    """Read a constant forecast for predictions: one rate, or one for each class; None if it is not constant."""
    shape = predictions.forecast.shape[1:]
    if np.ndim(values) == 0 and not shape and not isinstance(values, str | bytes):  # type: ignore[arg-type]  # anything
        reading = Reading("reference", np.asarray(values))
    else:
        reading = read_array(values, "reference")
        if not shape or reading.values.shape != shape:
            return None
    if reading.missing is not None:
        laws.refuse_missing("reference", reading.missing)
    if isinstance(predictions, ClassPredictions) and reading.index is not None:
        names = tuple(reading.index)
        if set(names) == set(predictions.labels) and names != predictions.labels:
            law = f"reference must be in the order of the labels {list(predictions.labels)}; got {list(names)}"
            raise InputValueError(sentence(law))
    return _numbers(reading, None)
