"""A lazy frame as the queries see it: its columns cast, its labels settled, and the laws as expressions."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from numbers import Real
from operator import or_
from typing import Any, NamedTuple, TypeAlias

import narwhals as nw
import numpy as np

from propriety.errors import InputTypeError, InputValueError, UnsupportedOperationError, sentence
from propriety.tables import frames
from propriety.tables.validation import Labels, Missing, check_options, distinct_labels

__all__ = [
    "Broken",
    "Cast",
    "Group",
    "Law",
    "Lazy",
    "Source",
    "cast_columns",
    "collected",
    "flag",
    "read_source",
    "unsupported",
]

Group: TypeAlias = tuple[Any, ...]
Lazy: TypeAlias = nw.LazyFrame[Any]
Law: TypeAlias = tuple[nw.Expr, nw.Expr, int, int]  # What is missing, what is lawful, and the bits of either fault.

# Parquet files leave NaN out of their statistics, and DuckDB goes by these where it compares numbers or asks whether
# one is NaN (its issue 25521), so that a NaN would pass for a lawful number.
FORGETFUL = ("duckdb", "ibis on duckdb")


class Broken:
    """Bits of the laws that a row can break; its key is -1 less their sum, and -1 for a forecast of 0 beside cells."""

    OUTCOME_MISSING, FORECAST_MISSING, WEIGHT_MISSING = 1, 2, 4
    OUTCOME, FORECAST, WEIGHT, ROW_SUM = 8, 16, 32, 64
    MISSING = OUTCOME_MISSING | FORECAST_MISSING | WEIGHT_MISSING


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A lazy frame with the columns `outcome`, `weight`, `forecast_0`, ... and `by_0`, ..., cast and still unjudged.

    `labels` are all labels and `events` that of each forecast's event, None where the outcomes are 0 and 1; `named` and
    `pos_label` are what the user called them. `arguments` are the names that the forecasts have in errors, `names`
    those of their tables. `one_key` says that a group is known by one label. Rows of classes, which `tolerance` is
    for, are those of a `ClassSource`.
    """

    frame: Lazy
    names: tuple[Any, ...]
    arguments: tuple[str, ...]
    by: tuple[str, ...]
    one_key: bool
    labels: tuple[Any, ...] | None
    events: tuple[Any, ...]
    named: tuple[Any, ...]
    pos_label: object
    weighted: bool
    drop: bool
    tolerance: float | None
    engine: str

    def label(self, group: Group) -> Any:
        """Return the key of a group: a label, or a tuple where `by` is a list."""
        return group[0] if self.one_key else group

    def forecast(self, position: int) -> nw.Expr:
        """Forecast of a model."""
        return nw.col(f"forecast_{position}")

    def event(self, position: int) -> nw.Expr:
        """1 where the event of a forecast happened, 0 where it did not."""
        outcome = nw.col("outcome")
        return outcome if self.labels is None else flag(outcome == self.events[position])

    def laws(self, position: int, *, zero: bool = True) -> dict[str, Law]:
        """Return for each column what is missing, what is lawful, and the bits of either fault.

        Without `zero` a forecast of 0 is not lawful, so that it gets no cell.
        """
        outcome, forecast = nw.col("outcome"), self.forecast(position)
        if self.labels is None:
            # Of finite numbers only 0 and 1 are their own squares; one comparison costs engines less than an `or`.
            known = (outcome * outcome == outcome) & (outcome <= 1.0)
        else:
            known = reduce(or_, [outcome == label for label in self.labels])
        # With several models a row is dropped for all of them, so that they are judged on the same cases.
        absent = range(len(self.names)) if self.drop else [position]
        forecast_missing = reduce(or_, [self.is_missing(self.forecast(other)) for other in absent])
        inside = (forecast >= 0.0 if zero else forecast > 0.0) & (forecast <= 1.0)
        return {
            "outcome": self.outcome_law(known),
            f"forecast_{position}": (
                forecast_missing,
                self.surely(f"forecast_{position}", inside),
                Broken.FORECAST_MISSING,
                Broken.FORECAST,
            ),
            **self.weight_laws(),
        }

    def outcome_law(self, known: nw.Expr) -> Law:
        """Return the law of the outcomes, of which those that `known` marks are lawful."""
        outcome = nw.col("outcome")
        missing = outcome.is_null() if self._is_text else self.is_missing(outcome)
        lawful = known if self._is_text else self.surely("outcome", known)
        return missing, lawful, Broken.OUTCOME_MISSING, Broken.OUTCOME

    def weight_laws(self) -> dict[str, Law]:
        """Return the law of the weights, if there are any."""
        if not self.weighted:
            return {}
        weight = nw.col("weight")
        finite = self.surely("weight", (weight >= 0.0) & (weight <= sys.float_info.max))
        return {"weight": (self.is_missing(weight), finite, Broken.WEIGHT_MISSING, Broken.WEIGHT)}

    def ends(self, name: str) -> tuple[str, str]:
        """Return the columns in which the smallest and the largest offender against the law of this name are found."""
        return name, name

    @property
    def place_law(self) -> tuple[str, str] | None:
        """The law of outcomes that are places of classes, with its hint; None where they are not."""
        return None

    @property
    def is_labelled(self) -> bool:
        """Whether the user named labels; they are judged first then."""
        return bool(self.named) or self.pos_label is not None

    def is_missing(self, column: nw.Expr) -> nw.Expr:
        """Whether a number is null or NaN."""
        return _is_missing(column, self.engine)

    def surely(self, name: str, law: nw.Expr) -> nw.Expr:
        """Make a law of numbers hold for no NaN on an engine that may not see it in a comparison."""
        return law & _is_finite(nw.col(name), self.engine) if self.engine in FORGETFUL else law

    @property
    def _is_text(self) -> bool:
        return self.labels is not None and isinstance(self.labels[0], str)


class Cast(NamedTuple):
    """The columns of a lazy frame, cast, with what they are: `kind` is that of the outcomes as they were."""

    frame: Lazy
    engine: str
    by: tuple[str, ...]
    is_text: bool
    kind: nw.dtypes.DType


def cast_columns(
    frame: Lazy,
    *,
    outcome: str,
    forecasts: Mapping[str, tuple[str, str]],
    weight: str | None,
    by: str | Sequence[str] | None,
) -> Cast:
    """Cast the columns of a lazy frame; `forecasts` maps new names to columns and the arguments they came by."""
    keys = frames.group_keys(by)
    own = [column for column, _ in forecasts.values()]
    schema = frames.checked_columns(frame, [outcome, *own, *([] if weight is None else [weight]), *keys])
    engine, text = _engine(frame), _is_text(schema[outcome])
    columns = {name: _number(column, schema, argument) for name, (column, argument) in forecasts.items()}
    columns["outcome"] = nw.col(outcome).cast(nw.String) if text else _number(outcome, schema, "y_true")
    if weight is not None:
        columns["weight"] = _number(weight, schema, "sample_weight")
    groups = {f"by_{place}": _group_column(column, schema, engine) for place, column in enumerate(keys)}
    try:
        cast = frame.select(**columns, **groups)
    except NotImplementedError as error:
        raise unsupported(engine, "a cast of the columns", error) from error
    return Cast(cast, engine, tuple(groups), text, schema[outcome])


def read_source(
    frame: Lazy,
    *,
    outcome: str,
    forecasts: Mapping[Any, str],
    weight: str | None = None,
    by: str | Sequence[str] | None = None,
    pos_label: object = None,
    labels: Labels | None = None,
    missing: Missing = "raise",
    tolerance: float | None = None,
) -> Source:
    """Cast the columns of a lazy frame and settle the labels; `forecasts` maps the names of models to columns.

    With `tolerance`, by which rows may be off, it maps the labels of the classes to the columns of one model.
    The rows themselves are judged as they are counted. Only `pos_label` without `labels` asks the engine something
    here: which other label there is, a query that ends at the first one found.
    """
    if tolerance is not None:
        from propriety.tables.class_source import read_class_source

        classes: dict[str, Any] = {"forecasts": {"": list(forecasts.values())}, "labels": list(forecasts)}
        return read_class_source(
            frame, outcome=outcome, weight=weight, by=by, missing=missing, tolerance=tolerance, **classes
        )
    check_options(missing)
    arguments = tuple("y_proba" if len(forecasts) == 1 else f"forecasts[{name!r}]" for name in forecasts)
    given = zip(forecasts.values(), arguments, strict=True)
    columns = {f"forecast_{position}": one for position, one in enumerate(given)}
    cast = cast_columns(frame, outcome=outcome, forecasts=columns, weight=weight, by=by)
    known = _labels(cast, pos_label, labels)
    return Source(
        frame=cast.frame,
        names=tuple(forecasts),
        arguments=arguments,
        by=cast.by,
        one_key=isinstance(by, str),
        labels=known,
        events=(known or ())[-1:] * len(forecasts),
        named=() if labels is None else tuple(labels),
        pos_label=None if labels is not None else pos_label,
        weighted=weight is not None,
        drop=missing == "drop",
        tolerance=None,
        engine=cast.engine,
    )


def collected(query: Lazy) -> Any:
    """Run a query and return a PyArrow table."""
    frames.pyarrow()
    return query.collect(backend="pyarrow").to_native()


def _engine(frame: Lazy) -> str:
    """Return the name of the engine, for Ibis with that of the database behind it."""
    name = str(frame.implementation.value)
    return f"ibis on {frame.to_native().get_backend().name}" if frame.implementation.is_ibis() else name


def _labels(cast: Cast, pos_label: object, labels: Labels | None) -> tuple[Any, ...] | None:
    """Return the other label and that of the event as the engine holds them; None for outcomes 0 and 1."""
    text, kind = cast.is_text, cast.kind
    if labels is not None:
        names = distinct_labels(labels)
        if len(names) != 2:
            law = f"labels must name the two classes of a 1-D y_proba; got {len(names)} labels"
            raise InputValueError(sentence(law, hint="pass rows with one column per class for more."))
        event = names[1] if pos_label is None else pos_label
        if event not in names:
            raise InputValueError(sentence(f"pos_label must be one of labels; got {pos_label!r}"))
        other = names[0] if event == names[1] else names[1]
        return _held(other, text=text, kind=kind), _held(event, text=text, kind=kind)
    if pos_label is None:
        if text:
            law = "y_true must hold 0 and 1 (or False and True) where no pos_label is given; got strings"
            raise InputValueError(sentence(law, hint="pass pos_label=, the label whose probability y_proba gives."))
        return None
    event = _held(pos_label, text=text, kind=kind)
    outcome = nw.col("outcome")
    known = ~outcome.is_null() if text else ~_is_missing(outcome, cast.engine)
    found = collected(cast.frame.filter(known & (outcome != event)).select("outcome").head(1))
    others = found.column("outcome").to_pylist()
    return (others[0] if others else event), event


def _held(label: Any, *, text: bool, kind: nw.dtypes.DType) -> Any:
    """Return a label as the cast column holds it: a string or a float."""
    if text and isinstance(label, str):
        return label
    if not text and isinstance(label, Real | np.bool_) and abs(float(label)) <= sys.float_info.max:
        return float(label)
    law = f"y_true must hold labels of the kind of pos_label={label!r}; got values of dtype {kind}"
    raise InputValueError(sentence(law, hint="pass labels=[other, event] to name both."))


def _number(column: str, schema: Mapping[str, nw.dtypes.DType], argument: str) -> nw.Expr:
    kind = schema[column]
    if kind == nw.Boolean:
        return nw.col(column).cast(nw.Int32).cast(nw.Float64)
    if not kind.is_numeric():
        law = f"{argument} must hold real numbers; got values of dtype {kind}"
        raise InputTypeError(sentence(law, hint=f"cast {column!r} first."))
    return nw.col(column).cast(nw.Float64)


def _group_column(column: str, schema: Mapping[str, nw.dtypes.DType], engine: str) -> nw.Expr:
    kind = schema[column]
    if kind in (nw.Categorical, nw.Enum):
        return nw.col(column).cast(nw.String)
    if kind.is_float():  # A missing label is null in every engine.
        return nw.when(~_is_missing(nw.col(column), engine)).then(nw.col(column))
    return nw.col(column)


def _is_text(kind: nw.dtypes.DType) -> bool:
    return kind in (nw.String, nw.Categorical, nw.Enum)


def _is_missing(column: nw.Expr, engine: str) -> nw.Expr:
    if engine in FORGETFUL:
        return column.is_null() | ~(_is_finite(column, engine) | _is_finite(1.0 / column, engine))
    return column.is_null() | column.is_nan()


def _is_finite(column: nw.Expr, engine: str) -> nw.Expr:
    """Whether a number is finite, in a form that no statistics answer."""
    return column.is_finite() if engine == "duckdb" else (column * 0.0).exp() <= 2.0


def flag(condition: nw.Expr) -> nw.Expr:
    """1 where a condition holds, else 0."""
    # By way of whole numbers, because PostgreSQL takes 1.0 for a decimal number.
    return nw.when(condition).then(nw.lit(1)).otherwise(nw.lit(0)).cast(nw.Float64)


def unsupported(engine: str, what: str, error: Exception) -> UnsupportedOperationError:
    """Return the error that names the engine and what it lacks."""
    return UnsupportedOperationError(sentence(f"{engine} cannot do {what}", offender=str(error).rstrip(".")))
