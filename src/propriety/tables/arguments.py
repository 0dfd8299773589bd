"""Outcomes, forecasts and weights read together, and checks that they describe the same cases."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from propriety import demands
from propriety.errors import InputTypeError, InputValueError, ProprietyError, Wording
from propriety.tables import laws
from propriety.tables.arrays import PAIR, Reading, classes_of, missing_cases
from propriety.tables.labels import is_rounded, kind_in_words

ForecastKind: TypeAlias = Literal["any", "event", "classes"]

FORECAST = "y_proba"
REAL = (bool, int, float, np.bool_, np.integer, np.floating, Decimal)


@dataclass(frozen=True, slots=True, eq=False)
class Arguments:
    """The outcomes, the forecasts of each model and the weights, as read from the user's arguments.

    `names` gives the name of each model's forecasts in error messages.
    """

    outcome: Reading
    forecasts: Mapping[str, Reading]
    weight: Reading | None
    names: Mapping[str, str]

    def __len__(self) -> int:
        return len(self.outcome.values)

    @property
    def classes(self) -> int | None:
        """Number of classes; None for one event."""
        return classes_of(next(iter(self.forecasts.values())).values.shape)

    def check(self, kind: ForecastKind) -> None:
        """Raise an error if shapes, lengths or indices disagree, or if the forecasts are of another kind."""
        self._check_columns()
        for model, forecast in self.forecasts.items():
            with about(self.names[model]):
                check_rows(forecast)
                self._check_length(forecast)
        if self.weight is not None:
            self._check_length(self.weight)
        if len(self) == 0:
            raise InputValueError(demands.NO_CASE)
        self._check_kinds(kind)
        self._check_indices()

    def check_keys(self, keys: Iterable[Reading]) -> None:
        """Raise an error unless groups, clusters and periods have an entry per case, and the index of all arguments."""
        arguments = [("y_true", self.outcome), *(("the forecasts", forecast) for forecast in self.forecasts.values())]
        arguments += [] if self.weight is None else [("sample_weight", self.weight)]
        for key in keys:
            if key.values.shape != (len(self),):
                law = f"must have one entry per case, {len(self):,} in all"
                several = key.argument == "by" and key.values.ndim > 1
                hint = Wording("pass several columns as {by=dict(frame)}.") if several else ""
                raise InputValueError(law, argument=key.argument, offender=f"got shape {key.values.shape}", hint=hint)
            for name, other in arguments:
                if not _have_same_index(key, other):
                    raise _different_indices(name, key.argument)
            arguments.append((key.argument, key))

    def settle_missing(self, *, drop: bool) -> NDArray[np.intp] | None:
        """Reject or drop rows with missing values; return the numbers of the rows kept, or None if all are kept."""
        if not drop:
            self._refuse_missing()
            return None
        shared = missing_cases(self.outcome)
        if self.weight is not None:
            shared = shared | missing_cases(self.weight)
        own = [missing_cases(forecast) for forecast in self.forecasts.values()]
        gone = np.logical_or.reduce([shared, *own])
        if not gone.any():
            return None
        if gone.all():
            alone = any((shared | one).all() for one in own)
            raise laws.none_left(len(gone), models=1 if alone else len(own))
        return np.flatnonzero(~gone)

    def truth(self, rows: NDArray[np.intp] | None, *, labelled: bool) -> NDArray[Any]:
        """Return the outcomes of the rows kept; `rows` is None if all are kept."""
        truth = _narrowed(self.outcome.values if rows is None else self.outcome.values[rows], exact=True)
        if labelled:
            # NaN equals no label, so it would be read as "the other label".
            laws.refuse_missing_floats("y_true", truth)
        return truth

    def weights(self, rows: NDArray[np.intp] | None) -> NDArray[Any] | None:
        """Return the weights of the rows kept. At least one must be positive."""
        if self.weight is None:
            return None
        weights = numbers_of(self.weight, rows)
        if rows is not None and len(self.forecasts) > 1 and not (weights != 0).any():
            raise laws.none_left(len(self), models=len(self.forecasts))
        _check_total(weights)
        return weights

    def numbers(self, rows: NDArray[np.intp] | None) -> dict[str, NDArray[Any]]:
        """Return the forecasts of each model for the rows kept."""
        found = {}
        for model, forecast in self.forecasts.items():
            with about(self.names[model]):
                found[model] = numbers_of(forecast, rows)
        return found

    def _check_columns(self) -> None:
        for reading in (self.outcome, self.weight):
            if reading is not None and reading.values.ndim != 1:
                hint = "pass {argument} as a single column, such as values.ravel()"
                if reading is self.outcome:
                    hint += ", or .argmax(axis=1) of one-hot rows; for gridded data use propriety.integrations.xarray"
                offender = f"got shape {reading.values.shape}"
                hint = Wording(f"{hint}.")
                raise InputValueError(demands.ONE_COLUMN, argument=reading.argument, offender=offender, hint=hint)

    def _check_length(self, reading: Reading) -> None:
        if len(reading.values) != len(self):
            rows, other = f"{len(self):,}", f"{len(reading.values):,}"
            offender = Wording("{y_true} has {rows} rows and {argument} {other}", rows=rows, other=other)
            models = len(reading.values) < 10 and reading.values.ndim == 2 and reading.values.shape[1] == len(self)
            hint = "pass several models as a mapping, {name: forecasts}." if models else ""
            raise InputValueError(demands.SAME_LENGTH, argument=reading.argument, offender=offender, hint=hint)

    def _check_kinds(self, kind: ForecastKind) -> None:
        """Raise an error if the models forecast different things, or classes where one event is expected."""
        counts = {model: classes_of(forecast.values.shape) for model, forecast in self.forecasts.items()}
        for model, count in counts.items():
            first = next(iter(counts))
            if count != counts[first]:
                said = ["one event" if one is None else f"{one} classes" for one in (counts[first], count)]
                law = f"must be of one kind; {first!r} forecasts {said[0]} and {model!r} {said[1]}"
                raise InputValueError(law, argument="forecasts")
        if kind == "event":
            for model, forecast in self.forecasts.items():
                check_event(forecast.values.shape, self.names[model])

    def _check_indices(self) -> None:
        indexed = [model for model, forecast in self.forecasts.items() if forecast.index is not None]
        for one, other in itertools.pairwise(indexed):
            if not _have_same_index(self.forecasts[one], self.forecasts[other]):
                law = f"forecasts {one!r} and {other!r} carry different indices, so their rows may not belong together"
                raise InputValueError(law, hint="align them by label, or call .to_numpy() to go by position.")
        for model, forecast in self.forecasts.items():
            with about(self.names[model]):
                _check_same_index(self.outcome, forecast)
                _check_same_index(forecast, self.weight)
        _check_same_index(self.outcome, self.weight)

    def _refuse_missing(self) -> None:
        for name, reading in [(FORECAST, self.outcome), *((self.names[m], one) for m, one in self.forecasts.items())]:
            if reading.missing is not None:
                with about(name):
                    laws.refuse_missing(reading.argument, reading.missing)
        if self.weight is not None and self.weight.missing is not None:
            laws.refuse_missing(self.weight.argument, self.weight.missing)


class about:  # noqa: N801  (read as a statement: with about(name))
    """Let errors, which call the forecasts y_proba, use the name that the user knows."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        """Nothing is done until an error is raised."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Tell an error of the package the name."""
        if isinstance(error, ProprietyError) and self.name != FORECAST:
            error.names.setdefault(FORECAST, self.name)


def check_rows(forecast: Reading) -> None:
    """Raise an error unless the forecasts are of shape (n,), or (n, K) with K >= 1."""
    shape = forecast.values.shape
    if len(shape) > PAIR or 0 in shape[1:]:
        law = "must be of shape (n,), (n, 1), (n, 2) or (n, K)"
        hint = "pass the probability of the event, or one row of probabilities per case."
        raise InputValueError(law, argument=FORECAST, offender=f"got {shape}", hint=hint)


def check_event(shape: tuple[int, ...], name: str) -> None:
    """Raise an error for rows of three or more classes where one event is expected."""
    if classes_of(shape) is not None:
        law = "must be the forecast of one event, of shape (n,), (n, 1) or (n, 2)"
        raise InputValueError(law, argument=name, offender=f"got shape {shape}", hint=demands.EVENT_HINT)


def check_indices(*readings: Reading) -> None:
    """Raise an error if two of the arguments carry different indices."""
    for one, other in itertools.pairwise(one for one in readings if one.index is not None):
        _check_same_index(one, other)


def numbers_of(reading: Reading, rows: NDArray[np.intp] | None) -> NDArray[Any]:
    """Return the rows kept of a numeric argument. Its dtype must be real."""
    values = reading.values if rows is None else _narrowed(reading.values[rows])
    if values.dtype.kind in "biuf":
        return values
    of_period = {"m": demands.DURATION_HINT, "M": demands.MOMENT_HINT}.get(values.dtype.kind)
    hint = of_period or demands.NUMBERS_HINT
    raise InputTypeError(demands.NUMBERS, argument=reading.argument, offender=f"got {kind_in_words(values)}", hint=hint)


def _narrowed(values: NDArray[Any], *, exact: bool = False) -> NDArray[Any]:
    """Convert numbers held as objects (next to missing values, or as categories) to a numeric array.

    With `exact`, whole numbers that float64 would round stay objects.
    """
    if values.dtype != object:
        return values
    kinds = set(map(type, values.ravel().tolist()))
    if not all(issubclass(kind, REAL) for kind in kinds):
        return values
    plain = values.tolist()
    if Decimal in kinds:
        decimals = [value for value in plain if isinstance(value, Decimal)]
        convert = int if all(value == value.to_integral_value() for value in decimals) else float
        plain = [convert(value) if isinstance(value, Decimal) else value for value in plain]
    numbers = np.asarray(plain)
    return values if (exact and is_rounded(numbers)) or numbers.dtype == object else numbers


def _have_same_index(one: Reading, other: Reading) -> bool:
    return one.index is None or other.index is None or bool(one.index.equals(other.index))


def _check_same_index(one: Reading, other: Reading | None) -> None:
    if other is None or _have_same_index(one, other):
        return
    raise _different_indices(one.argument, other.argument)


def _different_indices(one: str, other: str) -> InputValueError:
    first = one if isinstance(one, Wording) else Wording(f"{{{one}}}")
    law = Wording(demands.SAME_INDEX, "same-index", first=first)
    return InputValueError(law, argument=other, hint=demands.SAME_INDEX_HINT)


def _check_total(weights: NDArray[Any]) -> None:
    """Reject weights that are all zero, or so large or small that their powers overflow or lose digits."""
    if not (weights != 0).any():
        raise InputValueError(demands.NO_WEIGHT, argument="sample_weight", count=f"{len(weights):,} rows")
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        weights = weights.astype(np.float64)
        squares = float(np.dot(weights, weights))
    if squares < demands.LEAST_SQUARES or (squares > demands.MOST_SQUARES and np.isfinite(weights).all()):
        raise InputValueError(demands.WEIGHT_SIZE, argument="sample_weight", hint=demands.WEIGHT_SIZE_HINT)
