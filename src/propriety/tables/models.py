"""The forecasts of several models for the same cases, and the groups, clusters or times that the cases belong to."""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import narwhals as nw
import numpy as np
from narwhals.dependencies import is_into_dataframe, is_into_series
from numpy.typing import NDArray

from propriety.errors import InputTypeError, InputValueError, MissingValuesError, ProprietyError, sentence
from propriety.tables.arrays import read_array
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.predictions import BinaryPredictions, Predictions
from propriety.tables.validation import read_predictions

__all__ = ["Keys", "check_tables", "read_binary_models", "read_keys", "read_models"]


@dataclass(frozen=True, slots=True, eq=False)
class Keys:
    """What each case belongs to: `labels[code]` is the label of a case with this code; the labels are in order."""

    labels: tuple[Any, ...]
    codes: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.labels)


def read_models(
    y_true: object, forecasts: Mapping[str, object], *, fewest: int = 1, **options: Any
) -> tuple[Predictions, ...]:
    """Judge the forecasts of every model, on the cases that all of them have; the options are those of the door.

    Examples
    --------
    >>> [len(one) for one in read_models([0, 1], {"a": [0.2, 0.7], "b": [0.1, None]}, missing="drop")]
    [1, 1]
    """
    if isinstance(y_true, ForecastTable):
        law = "several models need predictions, y_true and forecasts; a ForecastTable no longer knows its cases"
        raise InputTypeError(sentence(law))
    if not isinstance(forecasts, Mapping) or not all(isinstance(name, str) for name in forecasts):
        hint = 'pass {"a": p, "b": q}.'
        raise InputTypeError(sentence("forecasts must map the names of models to their forecasts", hint=hint))
    for name in forecasts:
        if any(unicodedata.category(character) == "Cc" for character in name):
            law = f"names of models must be free of control characters such as line ends; got {name!r}"
            raise InputValueError(sentence(law))
    if len(forecasts) < fewest:
        number = "two models" if fewest == 2 else "one model"
        raise InputValueError(sentence(f"forecasts must hold {number} or more; got {len(forecasts)}"))
    _check_indices(forecasts)
    predictions = []
    for name, forecast in forecasts.items():
        try:
            predictions.append(replace(read_predictions(y_true, forecast, **options), argument=f"forecasts[{name!r}]"))
        except ProprietyError as error:
            error.add_note(f"y_proba is forecasts[{name!r}].")
            raise
    _check_kinds(tuple(forecasts), predictions)
    return _same_cases(tuple(predictions))


def read_binary_models(
    y_true: object, forecasts: Mapping[str, object], *, fewest: int = 1, **options: Any
) -> tuple[BinaryPredictions, ...]:
    """Judge the forecasts of one event by every model; see `read_models`."""
    predictions = read_models(y_true, forecasts, fewest=fewest, **options)
    binary = tuple(one for one in predictions if isinstance(one, BinaryPredictions))
    if len(binary) < len(predictions):
        law = f"{predictions[0].argument} must be the forecast of one event; got shape {predictions[0].forecast.shape}"
        raise InputValueError(sentence(law, hint="pass the column of the event, such as y_proba[:, 1]."))
    return binary


def read_keys(
    values: object,
    argument: str,
    predictions: Predictions,
    *,
    beside: object = None,
    forecasts: Iterable[object] = (),
) -> Keys:
    """Read the group, cluster or time of each case that the predictions kept.

    `beside` are the outcomes and `forecasts` the forecasts that they belong to, whose pandas indices must be the same.
    The labels are in their own order, or in that of the categories if these are ordered.

    Examples
    --------
    >>> (predictions,) = read_models([0, 1, 1], {"a": [0.2, 0.7, 0.9]})
    >>> read_keys(["b", "a", "b"], "by", predictions)
    Keys(labels=('a', 'b'), codes=array([1, 0, 1]))
    """
    reading = read_array(values, argument)
    cases = len(predictions) + predictions.dropped
    if reading.values.shape != (cases,):
        law = f"{argument} must have one entry per case, {cases:,} in all; got shape {reading.values.shape}"
        raise InputValueError(sentence(law))
    if reading.index is not None:
        _check_index(reading.index, argument, beside, forecasts)
    rows = np.arange(cases) if predictions.rows is None else predictions.rows
    kept = reading.values if predictions.rows is None else reading.values[rows]
    missing = np.zeros(cases, dtype=bool) if reading.missing is None else reading.missing
    if kept.dtype.kind in "fmM":
        missing = missing | np.isnan(reading.values)
    absent = rows[missing[rows]]
    if len(absent):
        law = f"{argument} must be known of every case"
        count = f"{len(absent):,} of {len(rows):,} rows"
        hint = f"leave these rows out of every argument, or give each of them a label of its own in {argument}."
        raise MissingValuesError(sentence(law, offender=f"row {absent[0]:,} is missing", count=count, hint=hint))
    categories = _ordered_categories(values)
    if categories is not None:
        held = set(kept.tolist())
        return _coded(kept, [label for label in categories if label in held])
    try:
        labels, codes = np.unique(kept, return_inverse=True)
    except TypeError:  # Labels of several kinds have no order of their own.
        return _coded(kept, sorted(set(kept.tolist()), key=repr))
    return Keys(tuple(_plain(labels)), codes.reshape(-1))


def _ordered_categories(values: object) -> list[Any] | None:
    """Return the categories in their order, of a series that has such."""
    if not is_into_series(values):
        return None
    series = nw.from_native(values, series_only=True)
    if series.dtype != nw.Enum:  # As which ordered categories of pandas count too.
        return None
    return list(series.dtype.categories)


def _coded(kept: NDArray[Any], ordered: list[Any]) -> Keys:
    place = {label: code for code, label in enumerate(ordered)}
    return Keys(tuple(ordered), np.array([place[label] for label in kept.tolist()], dtype=np.intp))


def _plain(labels: NDArray[Any]) -> list[Any]:
    """Return labels as Python has them; of times finer than it has, which would be bare numbers, to a microsecond."""
    found: list[Any] = labels.tolist()
    if labels.dtype.kind not in "mM" or not isinstance(found[0], int):
        return found
    coarse = labels.astype(f"{labels.dtype.kind}8[us]")
    exact = np.datetime_data(labels.dtype)[0] == "ns" and bool((coarse == labels).all())
    return coarse.tolist() if exact else list(labels)


def check_tables(tables: Mapping[str, ForecastTable]) -> None:
    """Refuse tables of models that cannot be of the same cases."""
    if not isinstance(tables, Mapping) or not all(isinstance(one, ForecastTable) for one in tables.values()):
        raise InputTypeError(sentence("tables must map the names of models to their ForecastTable"))
    if not tables:
        raise InputValueError(sentence("tables must hold one model or more; got none"))
    first_name, first = next(iter(tables.items()))
    for name, table in tables.items():
        if table.n != first.n or not np.isclose(table.event_rate, first.event_rate, rtol=1e-9, atol=0.0):
            told = f"{first_name!r} has {first.n:,} with event rate {first.event_rate:.6g}"
            law = f"tables must be of the same cases; {told} and {name!r} {table.n:,} with {table.event_rate:.6g}"
            raise InputValueError(sentence(law))


def _check_index(index: Any, argument: str, beside: object, forecasts: Iterable[object]) -> None:
    """Refuse labels whose pandas index differs from that of the outcomes, or of the forecasts."""
    for name, other in (("y_true", beside), *(("the forecasts", one) for one in forecasts)):
        known = _index_of(other)
        if known is not None and not index.equals(known):
            law = f"{name} and {argument} carry different indices, so their rows may not belong together"
            raise InputValueError(sentence(law, hint=f"align them by label, or call .to_numpy() on {argument}."))


def _index_of(values: object) -> Any:
    if is_into_series(values):
        return nw.maybe_get_index(nw.from_native(values, series_only=True))
    return nw.maybe_get_index(nw.from_native(values, eager_only=True)) if is_into_dataframe(values) else None


def _check_indices(forecasts: Mapping[str, object]) -> None:
    """Refuse models whose pandas indices differ; the door compares each with `y_true` alone."""
    series = [(name, values) for name, values in forecasts.items() if is_into_series(values)]
    indices = [(name, nw.maybe_get_index(nw.from_native(values, series_only=True))) for name, values in series]
    for (one, index), (other, another) in itertools.pairwise(indices):
        if index is not None and another is not None and not index.equals(another):
            law = f"forecasts {one!r} and {other!r} carry different indices, so their rows may not belong together"
            raise InputValueError(sentence(law, hint="align them by label, or call .to_numpy() to go by position."))


def _check_kinds(names: tuple[str, ...], predictions: list[Predictions]) -> None:
    """Refuse models that forecast different things."""
    shapes = [one.forecast.shape[1:] for one in predictions]
    for name, shape in zip(names, shapes, strict=True):
        if shape != shapes[0]:
            told = ["one event" if not one else f"{one[0]} classes" for one in (shapes[0], shape)]
            law = f"forecasts must be of one kind; {names[0]!r} forecasts {told[0]} and {name!r} {told[1]}"
            raise InputValueError(sentence(law))


def _same_cases(predictions: tuple[Predictions, ...]) -> tuple[Predictions, ...]:
    """Leave out the cases that were dropped for any model."""
    if not any(one.dropped for one in predictions):
        return predictions
    total = len(predictions[0]) + predictions[0].dropped
    kept = [np.arange(total) if one.rows is None else one.rows for one in predictions]
    rows = reduce(np.intersect1d, kept)
    return tuple(_only(one, own, rows, total) for one, own in zip(predictions, kept, strict=True))


def _only(one: Predictions, own: NDArray[np.intp], rows: NDArray[np.intp], total: int) -> Predictions:
    use = np.isin(own, rows, assume_unique=True)
    weight = None if one.weight is None else one.weight[use]
    if not use.any() or not (weight is None or weight.any()):
        law = 'missing="drop" leaves no case: every row with weight has a missing value in some model'
        raise InputValueError(sentence(law, count=f"{total:,} rows"))
    return replace(
        one,
        outcome=one.outcome[use],
        forecast=one.forecast[use],
        weight=weight,
        dropped=total - len(rows),
        rows=rows,
    )
