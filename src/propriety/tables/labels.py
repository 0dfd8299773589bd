"""The meaning of outcomes: labels converted to events, or to the indices of classes."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Collection, Hashable, Iterable, Sequence
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from propriety import checks, demands
from propriety.errors import InputTypeError, InputValueError, Wording
from propriety.tables import laws

Labels: TypeAlias = Sequence[Any] | NDArray[Any]
FEW_LABELS = 8  # Up to this number, one pass per label is faster than a sort.


def distinct_labels(labels: Labels) -> tuple[Any, ...]:
    """Return the labels as a tuple after checking that they are ordered and distinct."""
    if isinstance(labels, str | bytes | set | frozenset | dict) or not isinstance(labels, Iterable):
        raise InputTypeError("must be a list of labels in the order of the columns", argument="labels", got_type=labels)
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
        hint = "pass rows with one column per class for more."
        raise InputValueError(demands.TWO_OUTCOMES, argument="labels", offender=f"got {len(names)} labels", hint=hint)
    return (names[0], names[1]), checks.choice(names[1] if pos_label is None else pos_label, "pos_label", names)


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
        raise InputTypeError("must be a single label", argument="pos_label", got_type=pos_label)
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
        laws.refuse("y_true", laws.labels_law(labels), index < 0, outcome, rows, hint=demands.EVERY_CLASS_HINT)
    return index


WHOLE = 2.0**53  # Above this, one float may stand for several whole numbers.
PLAIN = {str, bytes, bool, int, float, type(None)}
OF_PANDAS = {"Timestamp": ("nanosecond", "to_pydatetime"), "Timedelta": ("nanoseconds", "to_pytimedelta")}


class ZonedTime(dt.datetime):
    """A time on a clock that shows it twice, when daylight saving ends; it is compared with others as an instant.

    Times of one zone are compared by what the clock shows, so that two hours would be one label.

    Examples
    --------
    >>> from zoneinfo import ZoneInfo
    >>> first = dt.datetime(2026, 10, 25, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"))
    >>> second = first.replace(fold=1)
    >>> first == second, ZonedTime.of(first) < ZonedTime.of(second)
    (True, True)
    >>> print(ZonedTime.of(second))
    2026-10-25 02:30:00+01:00
    """

    @classmethod
    def of(cls, time: dt.datetime) -> dt.datetime:
        """Return a time with a zone as one that is compared as an instant, unless its clock shows it only once."""
        if time.utcoffset() == time.replace(fold=1 - time.fold).utcoffset():
            return time
        shown = (time.year, time.month, time.day, time.hour, time.minute, time.second, time.microsecond)
        return cls(*shown, tzinfo=time.tzinfo, fold=time.fold)

    def _instant(self) -> dt.datetime:
        """Return the same instant as a plain time in UTC."""
        shown = (self.year, self.month, self.day, self.hour, self.minute, self.second, self.microsecond)
        return dt.datetime(*shown, tzinfo=dt.UTC) - (self.utcoffset() or dt.timedelta())

    def __eq__(self, other: object) -> bool:
        return self._instant() == (other._instant() if isinstance(other, ZonedTime) else other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: Any) -> bool:
        return bool(self._instant() < (other._instant() if isinstance(other, ZonedTime) else other))

    def __gt__(self, other: Any) -> bool:
        return bool(self._instant() > (other._instant() if isinstance(other, ZonedTime) else other))

    def __le__(self, other: Any) -> bool:
        return self == other or bool(self < other)

    def __ge__(self, other: Any) -> bool:
        return self == other or bool(self > other)

    def __hash__(self) -> int:
        return hash(self._instant())


def is_rounded(numbers: NDArray[Any]) -> bool:
    """Whether an array holds floats so large that one may stand for several whole numbers.

    Examples
    --------
    >>> is_rounded(np.array([0.5, 2.0**53])), is_rounded(np.array([0.5, np.inf])), is_rounded(np.array([2**53]))
    (True, False, False)
    """
    if numbers.dtype.kind != "f":
        return False
    size = np.abs(numbers.astype(np.float64, copy=False))
    return bool(((size >= WHOLE) & (size < np.inf)).any())


def plain_labels(labels: NDArray[Any] | Sequence[Any]) -> list[Any]:
    """Convert labels to Python objects; times finer than a microsecond, which Python lacks, stay NumPy's.

    Examples
    --------
    >>> plain_labels([np.int64(3), "0e1", None])
    [3, '0e1', None]
    """
    if isinstance(labels, np.ndarray) and labels.dtype.kind in "mM":
        return _plain_times(labels)
    found = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
    if isinstance(labels, np.ndarray) and labels.dtype != object:
        return found
    if set(map(type, found)) <= PLAIN:
        return found
    plain = [_plain(label) for label in found]
    fine = next((label for label in plain if isinstance(label, np.datetime64 | np.timedelta64)), None)
    if fine is None:
        return plain
    # All of one type, so that they can be compared.
    if isinstance(fine, np.datetime64):
        return [np.datetime64(label, "ns") if isinstance(label, dt.datetime) else label for label in plain]
    return [np.timedelta64(label, "ns") if isinstance(label, dt.timedelta) else label for label in plain]


def _plain(label: Any) -> Any:
    if isinstance(label, np.datetime64 | np.timedelta64):
        return _plain_times(np.asarray([label]))[0]
    if isinstance(label, np.generic):
        return label.item()
    if isinstance(label, dt.datetime | dt.timedelta) and type(label).__name__ in OF_PANDAS:
        # pandas has subclasses of Python's times. They are recognized by name, so that pandas need not be imported.
        finer, convert = OF_PANDAS[type(label).__name__]
        if getattr(label, finer):
            zoned = isinstance(label, dt.datetime) and label.tzinfo is not None  # NumPy has no time zones.
            return label if zoned else getattr(label, "to_numpy")()  # noqa: B009  (a method of pandas)
        label = getattr(label, convert)()
    return ZonedTime.of(label) if isinstance(label, dt.datetime) and label.tzinfo is not None else label


def _plain_times(labels: NDArray[Any]) -> list[Any]:
    found: list[Any] = labels.tolist()
    if not found or not isinstance(found[0], int):
        return found
    coarse = labels.astype(f"{labels.dtype.kind}8[us]")
    exact = np.datetime_data(labels.dtype)[0] == "ns" and bool((coarse == labels).all())
    return coarse.tolist() if exact else list(labels)


def ordered_labels(labels: Iterable[Any]) -> tuple[Any, ...]:
    """Return the distinct labels sorted, or in order of appearance if they cannot be sorted; a missing one is last.

    Examples
    --------
    >>> ordered_labels([2, 1, 2]), ordered_labels(["b", 1])
    ((1, 2), ('b', 1))
    >>> ordered_labels([frozenset("ab"), frozenset("c"), None, frozenset("a")])[2:]
    (frozenset({'a'}), None)
    """
    distinct = dict.fromkeys(labels)
    missing = (None,) if None in distinct else ()
    known = [label for label in distinct if label is not None]
    found = known
    try:
        found = sorted(known)
        # Sets are ordered by inclusion, which is only partial, so sorting them would be meaningless.
        is_total = all(one < other for one, other in itertools.pairwise(found))
    except (TypeError, ValueError):
        is_total = False
    return (*(found if is_total else known), *missing)


def ordered_groups(
    groups: Collection[tuple[Any, ...]], orders: Sequence[Sequence[Any] | None] | None = None
) -> list[tuple[Any, ...]]:
    """Return combinations of labels in lexicographic order.

    Examples
    --------
    >>> ordered_groups([("b", 2), ("a", None), ("b", 1)])
    [('a', None), ('b', 1), ('b', 2)]
    """
    columns = list(zip(*groups, strict=True))
    codes = [
        code_labels(column, order)[1] for column, order in zip(columns, orders or [None] * len(columns), strict=True)
    ]
    places = dict(zip(groups, zip(*(own.tolist() for own in codes), strict=True), strict=True)) if columns else {}
    return sorted(groups, key=lambda group: places.get(group, ()))


def in_order(distinct: Iterable[Any], order: Sequence[Any] | None = None) -> tuple[Any, ...]:
    """Return distinct labels in the given order, then those that it does not list; without an order, sorted.

    Examples
    --------
    >>> in_order(["mid", "low"], order=["low", "mid", "high"])
    ('low', 'mid')
    """
    known = dict.fromkeys(ordered_labels(distinct))
    if order is None:
        return tuple(known)
    first = dict.fromkeys(label for label in order if label in known)
    return (*first, *(label for label in known if label not in first))


def code_labels(labels: Sequence[Any], order: Sequence[Any] | None = None) -> tuple[tuple[Any, ...], NDArray[np.intp]]:
    """Return the distinct labels, sorted or in the given order, and the code of each label.

    Examples
    --------
    >>> code_labels(["mid", "low", "mid"], order=["low", "mid", "high"])
    (('low', 'mid'), array([1, 0, 1]))
    """
    known = in_order(labels, order)
    place = {label: code for code, label in enumerate(known)}
    return known, np.fromiter(map(place.__getitem__, labels), dtype=np.intp, count=len(labels))
