"""A lazy frame as the queries see it: its columns cast, its labels settled, and the laws as expressions."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add, or_
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np

from propriety.errors import InputTypeError, InputValueError, UnsupportedOperationError, sentence
from propriety.tables import frames
from propriety.tables.validation import Labels, Missing

__all__ = ["Broken", "Group", "Lazy", "Source", "collected", "flag", "read_source", "unsupported"]

Group: TypeAlias = tuple[Any, ...]
Lazy: TypeAlias = nw.LazyFrame[Any]

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
    `pos_label` are what the user called them. With `tolerance` the forecasts are the classes of one model, whose sum is
    the column `total`. `arguments` are the names that the forecasts have in errors, `names` those of their
    tables. `one_key` says that a group is known by one label.
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

    def laws(self, position: int, *, zero: bool = True) -> dict[str, tuple[nw.Expr, nw.Expr, int, int]]:
        """Return for each column what is missing, what is lawful, and the bits of either fault.

        Without `zero` a forecast of 0 is not lawful, so that it gets no cell.
        """
        outcome, forecast, weight = nw.col("outcome"), self.forecast(position), nw.col("weight")
        if self.labels is None:
            # Of finite numbers only 0 and 1 are their own squares; one comparison costs engines less than an `or`.
            known = (outcome * outcome == outcome) & (outcome <= 1.0)
        else:
            known = reduce(or_, [outcome == label for label in self.labels])
        outcome_missing = outcome.is_null() if self._is_text else self.is_missing(outcome)
        # With several models a row is dropped for all of them, so that they are judged on the same cases.
        absent = range(len(self.names)) if self.drop or self.tolerance is not None else [position]
        forecast_missing = reduce(or_, [self.is_missing(self.forecast(other)) for other in absent])
        inside = (forecast >= 0.0 if zero else forecast > 0.0) & (forecast <= 1.0)
        found = {
            "outcome": (outcome_missing, known, Broken.OUTCOME_MISSING, Broken.OUTCOME),
            f"forecast_{position}": (forecast_missing, inside, Broken.FORECAST_MISSING, Broken.FORECAST),
        }
        if self.weighted:
            finite = (weight >= 0.0) & (weight <= sys.float_info.max)
            found["weight"] = (self.is_missing(weight), finite, Broken.WEIGHT_MISSING, Broken.WEIGHT)
        if self.tolerance is not None:
            # A missing term is told as a missing forecast, which needs no second bit.
            near = (nw.col("total") - 1.0).abs() <= self.tolerance
            found["total"] = (self.is_missing(nw.col("total")), near, 0, Broken.ROW_SUM)
        return {
            name: (absent, self._surely(name, law), one, other) for name, (absent, law, one, other) in found.items()
        }

    def is_missing(self, column: nw.Expr) -> nw.Expr:
        """Whether a number is null or NaN."""
        return _is_missing(column, self.engine)

    def _surely(self, name: str, law: nw.Expr) -> nw.Expr:
        """Make a law hold for no NaN on an engine that may not see it in a comparison."""
        blind = self.engine in FORGETFUL and not (name == "outcome" and self._is_text)
        return law & _is_finite(nw.col(name), self.engine) if blind else law

    @property
    def _is_text(self) -> bool:
        return self.labels is not None and isinstance(self.labels[0], str)


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
    if not isinstance(missing, str) or missing not in ("raise", "drop"):
        raise InputValueError(sentence(f'missing must be "raise" or "drop"; got {missing!r}'))
    keys = frames.group_keys(by)
    names = [outcome, *forecasts.values(), *([] if weight is None else [weight]), *keys]
    schema = frames.checked_columns(frame, names)
    one_model = len(forecasts) == 1 or tolerance is not None
    arguments = tuple("y_proba" if one_model else f"forecasts[{name!r}]" for name in forecasts)
    engine = _engine(frame)
    columns: dict[str, nw.Expr] = {
        f"forecast_{i}": _number(column, schema, argument)
        for i, (column, argument) in enumerate(zip(forecasts.values(), arguments, strict=True))
    }
    text = _is_text(schema[outcome])
    columns["outcome"] = nw.col(outcome).cast(nw.String) if text else _number(outcome, schema, "y_true")
    if weight is not None:
        columns["weight"] = _number(weight, schema, "sample_weight")
    if tolerance is not None:
        columns["total"] = reduce(add, [columns[f"forecast_{i}"] for i in range(len(forecasts))])
        labels = list(forecasts)
    columns |= {f"by_{i}": _group_column(column, schema, engine) for i, column in enumerate(keys)}
    try:
        cast = frame.select(**columns)
        if tolerance is None:
            known = _labels(cast, pos_label, labels, text=text, kind=schema[outcome])
        else:
            known = tuple(_held(label, text=text, kind=schema[outcome]) for label in forecasts)
    except NotImplementedError as error:
        raise unsupported(engine, "a cast of the columns", error) from error
    return Source(
        frame=cast,
        names=tuple(forecasts),
        arguments=arguments,
        by=tuple(f"by_{i}" for i in range(len(keys))),
        one_key=isinstance(by, str),
        labels=known,
        events=known if tolerance is not None and known is not None else (known or ())[-1:] * len(forecasts),
        named=() if labels is None else tuple(labels),
        pos_label=None if labels is not None else pos_label,
        weighted=weight is not None,
        drop=missing == "drop",
        tolerance=tolerance,
        engine=engine,
    )


def collected(query: Lazy) -> Any:
    """Run a query and return a PyArrow table."""
    frames.pyarrow()
    return query.collect(backend="pyarrow").to_native()


def _engine(frame: Lazy) -> str:
    """Return the name of the engine, for Ibis with that of the database behind it."""
    name = str(frame.implementation.value)
    return f"ibis on {frame.to_native().get_backend().name}" if frame.implementation.is_ibis() else name


def _labels(
    frame: Lazy, pos_label: object, labels: Labels | None, *, text: bool, kind: nw.dtypes.DType
) -> tuple[Any, ...] | None:
    """Return the other label and that of the event as the engine holds them; None for outcomes 0 and 1."""
    if labels is not None:
        names = [label.item() if isinstance(label, np.generic) else label for label in labels]
        if len(names) != 2 or names[0] == names[1]:
            law = f"labels must name the two classes of a 1-D y_proba; got {len(names)} labels"
            raise InputValueError(sentence(law, hint="they must be distinct."))
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
    known = ~outcome.is_null() if text else ~_is_missing(outcome, _engine(frame))
    others = collected(frame.filter(known & (outcome != event)).select("outcome").head(1)).column("outcome").to_pylist()
    return (others[0] if others else event), event


def _held(label: Any, *, text: bool, kind: nw.dtypes.DType) -> Any:
    """Return a label as the cast column holds it: a string or a float."""
    if isinstance(label, str) == text:
        return label if text else float(label)
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
