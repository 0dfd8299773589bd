"""The meaning of outcomes: labels converted to events, or to the indices of classes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from propriety.errors import InputTypeError, InputValueError, Wording
from propriety.tables import laws
from propriety.tables.label_codes import WHOLE, is_rounded

Labels: TypeAlias = Sequence[Any] | NDArray[Any]

FEW_LABELS = 8  # Up to this number, one pass per label is faster than a sort.


def distinct_labels(labels: Labels) -> tuple[Any, ...]:
    """Return the labels as a tuple after checking that they are ordered and distinct."""
    if isinstance(labels, str | bytes | set | frozenset | dict) or not isinstance(labels, Iterable):
        law = "must be a list of labels in the order of the columns"
        raise InputTypeError(law, argument="labels", offender=f"got {type(labels).__name__}")
    names = tuple(label.item() if isinstance(label, np.generic) else label for label in labels)
    try:
        distinct = len(set(names)) == len(names)
    except TypeError as error:
        raise InputTypeError("must be single values", argument="labels", offender=str(error)) from error
    if not distinct:
        raise InputValueError("must be distinct", argument="labels", offender=f"got {list(names)}")
    return names


def class_labels(classes: int, labels: Labels | None) -> tuple[Any, ...]:
    """Return the label of each class: those given, or 0, ..., K - 1."""
    if labels is None:
        return tuple(range(classes))
    columns = distinct_labels(labels)
    if len(columns) != classes:
        offender = f"got {len(columns)} labels for {classes} columns"
        raise InputValueError(Wording("must name the columns of {y_proba}"), argument="labels", offender=offender)
    return columns


def labels_of_event(labels: Labels, pos_label: object) -> tuple[tuple[Any, Any], Any]:
    """Return the two labels of a binary outcome, as given, and that of the event, by default the last."""
    names = distinct_labels(labels)
    if len(names) != 2:
        law = Wording("must name the two outcomes of a binary {y_proba}")
        hint = "pass rows with one column per class for more."
        raise InputValueError(law, argument="labels", offender=f"got {len(names)} labels", hint=hint)
    event = names[1] if pos_label is None else pos_label
    if event not in names:
        raise InputValueError(Wording("must be one of {labels}"), argument="pos_label", offender=f"got {pos_label!r}")
    return (names[0], names[1]), event


def happened_of(
    outcome: NDArray[Any], pos_label: object, labels: Labels | None, rows: NDArray[np.intp] | None
) -> NDArray[Any]:
    """Convert binary labels to events: booleans, or numbers that are still to be checked to be 0 or 1."""
    if labels is not None:
        names, event = labels_of_event(labels, pos_label)
        return np.equal(_labelled(outcome, names, rows), names.index(event))
    if pos_label is not None:
        return _events_against_rest(outcome, pos_label)
    if outcome.dtype.kind in "biuf":
        return outcome
    raise laws.unnamed_event(kind_in_words(outcome))


def places_of(
    outcome: NDArray[Any], columns: tuple[Any, ...], rows: NDArray[np.intp] | None, *, labelled: bool
) -> NDArray[Any]:
    """Return the class index of each outcome; without labels, numbers that are still to be checked."""
    if labelled:
        return _labelled(outcome, columns, rows)
    if outcome.dtype.kind in "biuf":
        return outcome
    raise laws.unnamed_classes(kind_in_words(outcome))


def kind_in_words(values: NDArray[Any]) -> str:
    """Describe the content of an array that does not hold numbers.

    Examples
    --------
    >>> kind_in_words(np.array(["a"])), kind_in_words(np.array(["a", None], dtype=object))
    ('strings', 'strings')
    """
    if values.dtype.kind == "O" and {type(one) for one in values.ravel().tolist()} <= {str, type(None)}:
        return "strings"
    names = {"O": "objects", "U": "strings", "S": "bytes", "T": "strings", "c": "complex numbers"}
    return names.get(values.dtype.kind, f"values of dtype {values.dtype}")


def check_float_label(label: object) -> None:
    """If the outcomes are floats, reject a label too large for a float to represent exactly."""
    if isinstance(label, int) and abs(label) >= WHOLE:
        law = f"must hold integers for the label {label!r}"
        offender = "it holds floats, which cannot represent it exactly"
        hint = 'keep large labels as integers (in pandas of dtype "Int64" if values are missing) or as text.'
        raise InputValueError(law, argument="y_true", offender=offender, hint=hint)


def _events_against_rest(outcome: NDArray[Any], pos_label: object) -> NDArray[np.bool_]:
    if not isinstance(pos_label, Hashable) or np.ndim(pos_label) != 0:  # type: ignore[arg-type]  # any label
        raise InputTypeError("must be a single label", argument="pos_label", offender=f"got {type(pos_label).__name__}")
    event = _equals(outcome, pos_label)
    if event.all():
        return event
    if not event.any() and not isinstance(pos_label, Real | np.bool_ if outcome.dtype.kind in "biuf" else str):
        raise laws.other_kind(pos_label, kind_in_words(outcome))
    other = outcome[~event][0]
    third = ~(event | _equals(outcome, other))
    if third.any():
        shown = [value.item() if isinstance(value, np.generic) else value for value in (other, outcome[third][0])]
        raise laws.third_label(pos_label, *shown)
    return event


def _equals(outcome: NDArray[Any], label: object) -> NDArray[np.bool_]:
    if outcome.dtype.kind in "iu" and isinstance(label, float) and label.is_integer():
        label = int(label)  # Compared with a float, NumPy would convert the outcomes to floats and merge large ones.
    if outcome.dtype.kind == "m" and isinstance(label, int | float):
        return np.zeros(len(outcome), dtype=bool)  # A number has no unit; NumPy would give it one.
    if is_rounded(outcome):
        check_float_label(label)
    if outcome.dtype == object:
        # As an object, because NumPy would strip trailing null characters from a text.
        held = np.empty((), dtype=object)
        held[()] = label
        label = held
    try:
        equal = np.asarray(outcome == label, dtype=bool)
    except (TypeError, ValueError, OverflowError):  # A label of another type, or outside the range of the outcomes.
        equal = np.zeros(0, dtype=bool)
    return equal if equal.shape == outcome.shape else np.zeros(len(outcome), dtype=bool)


def _labelled(outcome: NDArray[Any], labels: tuple[Any, ...], rows: NDArray[np.intp] | None) -> NDArray[np.intp]:
    """Return the index of each outcome among the labels."""
    if outcome.dtype.kind != "O" and len(labels) > FEW_LABELS:
        for label in labels if is_rounded(outcome) else ():
            check_float_label(label)
        values, inverse = np.unique(outcome, return_inverse=True)
        place = {label: position for position, label in enumerate(labels)}
        index = np.array([place.get(value, -1) for value in values.tolist()], dtype=np.intp)[inverse]
    else:
        index = np.full(len(outcome), -1, dtype=np.intp)
        for position, label in enumerate(labels):
            index[_equals(outcome, label)] = position
    if (index < 0).any():
        laws.refuse("y_true", laws.labels_law(labels), index < 0, outcome, rows, hint=laws.EVERY_CLASS_HINT)
    return index
