"""The shape of forecasts: a column is about the event, two columns are about the event too, more are classes.

Two columns are the probabilities of the two outcomes, as scikit-learn's `predict_proba` returns them. The event is the
second class, or `pos_label`. After the rows are checked, only the column of the event is kept, so that both shapes give
the same results.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety import demands
from propriety.errors import InputValueError, Wording
from propriety.tables import laws
from propriety.tables.arguments import Arguments, about
from propriety.tables.arrays import PAIR
from propriety.tables.labels import Labels, class_labels, happened_of, labels_of_event, places_of
from propriety.tables.probabilities import checked_forecast

PLACES = ("first", "second")


class ColumnsRead(NamedTuple):
    """Outcomes and forecasts after the columns have been matched to the outcomes.

    Parameters
    ----------
    outcome : array of shape (n,)
        Whether the event happened, or the index of the class.
    forecasts : dict
        The probability of the event, of shape (n,), or of each class, of shape (n, K), by model.
    labels : tuple or None
        The labels of the classes; None for one event.
    sides : tuple
        For one event, the labels of the other outcome and of the event.
    event_note : str
        Which of two columns is the event's; empty for other shapes.
    pair : tuple, optional
        If the forecasts were given in two columns, the labels of these in order, and which of the two is the event's.
    """

    outcome: NDArray[Any]
    forecasts: dict[str, NDArray[Any]]
    labels: tuple[Any, ...] | None = None
    sides: tuple[Any, Any] = (0, 1)
    event_note: str = ""
    pair: tuple[tuple[Any, Any], int] | None = None


def read_columns(
    given: Arguments, rows: NDArray[np.intp] | None, *, labels: Labels | None, pos_label: object, tolerance: float
) -> ColumnsRead:
    """Match the columns of checked arguments to the outcomes of the rows kept."""
    numbers = given.numbers(rows)
    truth = given.truth(rows, labelled=labels is not None or pos_label is not None)
    reader = _Reader(given, rows, truth, tolerance)
    with about(given.names[next(iter(numbers))]):
        if given.classes is None:
            return reader.event(numbers, labels, pos_label)
        if pos_label is not None:
            raise laws.event_of_classes()
        return reader.classes(numbers, given.classes, labels)


class _Reader(NamedTuple):
    given: Arguments
    rows: NDArray[np.intp] | None
    truth: NDArray[Any]
    tolerance: float

    def event(self, numbers: dict[str, NDArray[Any]], labels: Labels | None, pos_label: object) -> ColumnsRead:
        pairs = {model: self.given.forecasts[model].names for model, own in numbers.items() if own.ndim == PAIR}
        if not pairs:
            names, event = ((0, 1), 1) if labels is None else labels_of_event(labels, pos_label)
            happened = happened_of(self.truth, pos_label, labels, self.rows)
            return ColumnsRead(happened, numbers, sides=_event_last(names, event))
        for model, own in pairs.items():
            self._check_rows(model, numbers[model], named=own is not None)
        sides = two_labels(self.truth, pairs.values(), labels, pos_label)
        sides, event = labels_of_event(sides, pos_label)
        plain = labels is None and pos_label is None and sides == (0, 1) and self.truth.dtype.kind in "biuf"
        happened = self.truth if plain else happened_of(self.truth, event, sides, self.rows)
        found = dict(numbers)
        for model in pairs:
            places = self._places(model, sides, labels) or (0, 1)
            found[model] = numbers[model][:, places[sides.index(event)]]
        note = event_in_words(event, sides, next(iter(pairs.values())))
        pair = (sides, sides.index(event))
        return ColumnsRead(happened, found, sides=_event_last(sides, event), event_note=note, pair=pair)

    def classes(self, numbers: dict[str, NDArray[Any]], classes: int, labels: Labels | None) -> ColumnsRead:
        names = {model: self.given.forecasts[model].names for model in numbers}
        known, places = columns_of_classes(names, self.truth, classes, labels, self.given.names)
        for model, order in places.items():
            if order is None and names[model] is not None:
                self._check_rows(model, numbers[model], named=True)
        columns = class_labels(classes, None) if known is None else known
        outcome = places_of(self.truth, columns, self.rows, labelled=known is not None)
        found = dict(numbers)
        for model, values in numbers.items():
            order = self._places(model, columns, labels)
            found[model] = values if order is None or order == tuple(range(classes)) else values[:, order]
        return ColumnsRead(outcome, found, columns)

    def _places(self, model: str, labels: tuple[Any, ...], given: Labels | None) -> tuple[int, ...] | None:
        """Return the position of each label among the columns of a model; None if they are in that order."""
        forecast = self.given.forecasts[model]
        if forecast.names is None:
            return None
        with about(self.given.names[model]):
            return places_of_columns(forecast.names, labels, listed=forecast.listed, in_order=given is not None)

    def _check_rows(self, model: str, values: NDArray[Any], *, named: bool) -> None:
        """Check rows of probabilities now; the columns of a frame that do not sum to one may be models."""
        hint, argument = demands.MODELS_HINT if named else demands.ROW_SUM_HINT, self.given.names[model]
        checked_forecast(values, argument=argument, tolerance=self.tolerance, rows=self.rows, hint=hint)


def columns_of_classes(
    names: Mapping[str, tuple[Any, ...] | None],
    truth: NDArray[Any],
    classes: int,
    labels: Labels | None,
    arguments: Mapping[str, str],
) -> tuple[tuple[Any, ...] | None, dict[str, tuple[int, ...] | None]]:
    """Return the labels of classes, if any, and for each model the position of each label among its named columns.

    The labels are those given, or the names of the columns of a model. Every model must then have columns of these
    names, unless the labels are numbers. Without either, the labels are 0, ..., K - 1.
    """
    known = None if labels is None else class_labels(classes, labels)
    if known is None:
        known = next(filter(None, (labels_named(own, truth) for own in names.values())), None)
    columns = class_labels(classes, None) if known is None else known
    places = {model: None if own is None else places_named(own, columns) for model, own in names.items()}
    unnamed = next((model for model, own in places.items() if own is None), None)
    if unnamed is not None and labels is None and known is not None and isinstance(known[0], str):
        with about(arguments[unnamed]):
            raise laws.unnamed_classes("strings")
    return known, places


def two_labels(
    truth: NDArray[Any], names: Iterable[tuple[Any, ...] | None], labels: Labels | None, pos_label: object
) -> tuple[Any, Any]:
    """Return the labels of two columns in order: those given, the names of a frame, or the outcomes in order.

    Examples
    --------
    >>> two_labels(np.array([0, 1]), [None], None, None)
    (0, 1)
    >>> two_labels(np.array(["b", "a", "b"]), [None], None, None)
    ('a', 'b')
    """
    if labels is not None:
        return labels_of_event(labels, pos_label)[0]
    found = _labels_found(truth, names, pos_label)
    if pos_label is not None and pos_label not in found:
        law = Wording("must be one of the labels that {y_true} holds")
        raise InputValueError(law, argument="pos_label", offender=f"got {pos_label!r}; the labels are {list(found)}")
    return found


def _labels_found(truth: NDArray[Any], names: Iterable[tuple[Any, ...] | None], pos_label: object) -> tuple[Any, Any]:
    named = next(filter(None, (labels_named(own, truth) for own in names)), None)
    if named is not None:
        return min(named), max(named)
    if truth.dtype.kind in "biuf" and (pos_label is None or bool(np.isin(truth, (0, 1)).all())):
        return 0, 1
    present = _distinct(truth)
    try:
        low, high = sorted(present)
    except (ValueError, TypeError):
        law = Wording("must hold two labels, one for each of the two columns of {y_proba}, unless {labels} are given")
        shown = ", ".join(map(repr, present[:3]))
        offender = f"got {len(present)}: {shown}{', ...' if len(present) > 3 else ''}"
        raise InputValueError(law, argument="y_true", offender=offender, hint=demands.LABELS_HINT) from None
    return low, high


def labels_named(names: tuple[Any, ...] | None, truth: NDArray[Any]) -> tuple[Any, ...] | None:
    """Return the labels that columns are named after, if the outcomes are among them; else None.

    Numbers are in increasing order, and also match names such as "0". Other labels are in the order of the columns. The
    names may share a beginning or an end, as "p_yes" and "p_no" do.

    Examples
    --------
    >>> labels_named(("2", "0", "1"), np.array([0, 2])), labels_named(("p_b", "p_a"), np.array(["a"]))
    ((0, 1, 2), ('b', 'a'))
    >>> labels_named(("model_1", "model_2"), np.array([0, 1]))
    """
    if names is None:
        return None
    present = set(_distinct(truth))
    for stems in _stems(names):
        if truth.dtype.kind in "biuf":
            numbers = [_plain(stem) for stem in stems]
            labels = tuple(sorted(numbers)) if all(isinstance(number, Real) for number in numbers) else ()
        else:
            labels = tuple(stem if isinstance(stem, str) else str(stem) for stem in stems)
        if len(set(labels)) == len(names) and present <= set(labels):
            return labels
    return None


def places_named(names: tuple[Any, ...], labels: tuple[Any, ...]) -> tuple[int, ...] | None:
    """Return the position among the columns of each label; None if the columns are not named like the labels.

    The names may share a beginning or an end.

    Examples
    --------
    >>> places_named(("1", "0"), (0, 1)), places_named(("p_yes", "p_no"), ("no", "yes"))
    ((1, 0), (1, 0))
    >>> places_named(("a", "c"), ("a", "b"))
    """
    for stems in _stems(names):
        plain = tuple(map(_plain, stems)), tuple(map(_plain, labels))
        for known, wanted in ((stems, labels), plain):
            place = {name: position for position, name in enumerate(known)}
            if len(place) == len(names) and set(place) == set(wanted):
                return tuple(place[label] for label in wanted)
    return None


def places_of_columns(
    names: tuple[Any, ...],
    labels: tuple[Any, ...],
    *,
    listed: bool = False,
    in_order: bool = False,
    what: str = "columns",
) -> tuple[int, ...] | None:
    """Return the position of each label among named columns; None if the columns are in the order of the labels.

    They are if they only have numbers, in order, or if the caller `listed` both the columns and the labels, `in_order`.
    Other names that match no label are refused, because nothing says that the columns of a frame have that order. The
    error calls what is named `what`.

    Examples
    --------
    >>> places_of_columns(("p_yes", "p_no"), ("no", "yes")), places_of_columns((0, 1), ("no", "yes"))
    ((1, 0), None)
    >>> places_of_columns(("pos", "neg"), ("no", "yes"))
    Traceback (most recent call last):
    propriety.errors.InputValueError: y_proba must have columns that are named like the labels ['no', 'yes']; got ...
    """
    places = places_named(names, labels)
    if places is not None or are_numbered(names):
        return places
    moved = any(name in labels and name != label for name, label in zip(names, labels, strict=False))
    if moved or not (listed and in_order):
        raise laws.unmatched_names(names, labels, what, listed=listed)
    return None


def are_numbered(names: tuple[Any, ...]) -> bool:
    """Whether columns have no names but their numbers, in order, as libraries number those of an array.

    Examples
    --------
    >>> are_numbered((0, 1)), are_numbered(("column_0", "column_1")), are_numbered((1, 0)), are_numbered(("a", "b"))
    (True, True, False, False)
    """
    return any(tuple(map(_plain, stems)) == tuple(range(len(names))) for stems in _stems(names))


def have_numbers(names: tuple[Any, ...]) -> bool:
    """Whether the names of columns are numbers other than 0, ..., K - 1, perhaps with a common beginning or end.

    Examples
    --------
    >>> have_numbers(("1", "2")), have_numbers(("p_1", "p_2")), have_numbers(("1", "0")), have_numbers(("a", "b"))
    (True, True, False, False)
    """
    for stems in _stems(names):
        numbers = [_plain(stem) for stem in stems]
        if all(isinstance(number, Real) for number in numbers):
            return set(numbers) != set(range(len(names)))
    return False


def _stems(names: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Yield the names, and then what is left of them without a common beginning, or without a common end."""
    yield names
    if not all(isinstance(name, str) and name for name in names):
        return
    for size in range(min(map(len, names)) - 1, 0, -1):
        for cut in (slice(0, size), slice(-size, None)):
            stems = tuple(name[size:] if cut.start == 0 else name[:-size] for name in names)
            if len({name[cut] for name in names}) == 1 and not _cuts_number(names[0][cut], stems, first=cut.start == 0):
                yield stems


def _cuts_number(common: str, stems: tuple[str, ...], *, first: bool) -> bool:
    """Whether the text that names have in common, at their beginning or end, has digits of the numbers that differ."""
    inner, outer = (-1, 0) if first else (0, -1)
    return common[inner].isdigit() and any(stem[outer].isdigit() for stem in stems)


def event_in_words(event: object, sides: tuple[Any, Any], names: tuple[Any, ...] | None) -> str:
    """Say which of two columns is the event's.

    Examples
    --------
    >>> event_in_words("yes", ("no", "yes"), None), event_in_words("yes", ("no", "yes"), ("yes", "no"))
    ("'yes', the second of two columns", "'yes', the column of that name")
    >>> event_in_words("yes", ("no", "yes"), ("p_yes", "p_no"))
    "'yes', the column 'p_yes'"
    """
    places = None if names is None else places_named(names, sides)
    if names is not None and places is not None:
        name = names[places[sides.index(event)]]
        return (
            f"{event!r}, the column of that name"
            if _plain(name) == _plain(event)
            else f"{event!r}, the column {name!r}"
        )
    return f"{event!r}, the {PLACES[sides.index(event)]} of two columns"


def _event_last(sides: tuple[Any, Any], event: object) -> tuple[Any, Any]:
    return sides if event == sides[1] else (sides[1], sides[0])


def _distinct(truth: NDArray[Any]) -> list[Any]:
    found: list[Any] = list(dict.fromkeys(truth.tolist())) if truth.dtype == object else np.unique(truth).tolist()
    return found


def _plain(name: Any) -> Any:
    """Return a name or label as a number if it is one, also as text; any other as it is."""
    if isinstance(name, str):
        if name in ("False", "True"):
            return int(name == "True")
        for number in (int, float):
            try:
                if str(number(name)) == name:
                    name = number(name)
                    break
            except ValueError:
                pass
    if isinstance(name, np.generic):
        name = name.item()
    if isinstance(name, bool) or (isinstance(name, float) and name.is_integer()):
        return int(name)
    return name
