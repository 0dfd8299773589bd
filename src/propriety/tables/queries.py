"""Queries of lazy frames: expressions that mean the same on every engine, and fetching of results."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from propriety import demands
from propriety.errors import InputTypeError, InputValueError, UnsupportedOperationError, Wording
from propriety.storage.files import pyarrow
from propriety.tables import frames

Lazy: TypeAlias = nw.LazyFrame[Any]
# Parquet files leave NaN out of their statistics, and DuckDB relies on these when it compares numbers or tests for NaN
# (DuckDB issue 25521), so that NaN would pass as a valid number.
OVERLOOKS_NAN = ("duckdb", "ibis on duckdb")
ALL_ROWS = 2**62  # More than any table has.


def engine_of(frame: Lazy) -> str:
    """Return the name of the engine, for Ibis with the database behind it."""
    name = str(frame.implementation.value)
    return f"ibis on {frame.to_native().get_backend().name}" if frame.implementation.is_ibis() else name


def fetched(query: Lazy) -> Any:
    """Run a query and return a PyArrow table."""
    pyarrow()
    if query.implementation.is_ibis():
        query = nw.from_native(_with_natural_logarithms(query.to_native()))
    return query.collect(backend="pyarrow").to_native()


def count_rows(frame: Lazy) -> int:
    """Return the number of rows of a frame."""
    return int(fetched(frame.select(rows=nw.len())).column("rows")[0].as_py())


def _with_natural_logarithms(table: Any) -> Any:
    """Return an Ibis table with ln(x) for the logarithm of x to base e.

    narwhals writes the base as a decimal number. PostgreSQL then computes in decimal arithmetic, which takes a hundred
    times as long.
    """
    from ibis.expr import operations as ops

    def replaced(node: Any, changed: dict[str, Any] | None) -> Any:
        new = node.__recreate__(changed) if changed else node
        is_natural = isinstance(new, ops.Log) and isinstance(new.base, ops.Literal) and new.base.value == math.e
        return ops.Ln(new.arg) if is_natural else new

    return table.op().replace(replaced).to_expr()


def row_by_row(frame: Lazy, build: Callable[[Lazy], Lazy]) -> Lazy:
    """Return what `build` makes of the rows of a frame, each row by itself.

    On Dask `build` is called once per partition, because Dask would otherwise create tasks for every column of every
    partition.
    """
    if not frame.implementation.is_dask():
        return build(frame)

    def of_partition(part: Any) -> Any:
        return build(nw.from_native(part).lazy()).collect().to_native()

    native = frame.to_native()
    shape = of_partition(native._meta)  # noqa: SLF001  # its documented name; otherwise Dask computes it repeatedly
    rows: Lazy = nw.from_native(native.map_partitions(of_partition, meta=shape, clear_divisions=True))
    return rows


def computed_once(rows: Lazy) -> Lazy:
    """Return the rows for a next stage of a query that uses their columns several times.

    PostgreSQL would replace each column by its formula, and the query would grow exponentially with the number of
    stages. It does not do so across a limit.
    """
    return rows.head(ALL_ROWS) if engine_of(rows) == "ibis on postgres" else rows


def encoded(column: Any) -> tuple[list[Any], NDArray[np.intp]]:
    """Return the distinct values of a PyArrow column, possibly with None, and the index of each row's value."""
    pa, _ = pyarrow()
    column = column.combine_chunks() if hasattr(column, "combine_chunks") else column
    if pa.types.is_dictionary(column.type):
        return _encoded_again(column)
    try:
        found = column.dictionary_encode(null_encoding="encode")
    except pa.ArrowNotImplementedError:  # Raised for intervals, which DuckDB returns.
        values = column.to_pylist()
        place = {value: code for code, value in enumerate(dict.fromkeys(values))}
        return list(place), np.array([place[value] for value in values], dtype=np.intp)
    return found.dictionary.to_pylist(), found.indices.to_numpy().astype(np.intp)


def _encoded_again(column: Any) -> tuple[list[Any], NDArray[np.intp]]:
    """Do the same for a dictionary-encoded column, whose dictionary may hold unused or repeated values."""
    if column.null_count or column.dictionary.null_count:
        return encoded(column.dictionary_decode())
    values, place = encoded(column.dictionary)
    places = place[column.indices.to_numpy()]
    held = np.bincount(places, minlength=len(values)) > 0
    return [value for value, one in zip(values, held.tolist(), strict=True) if one], (np.cumsum(held) - 1)[places]


def flag(condition: nw.Expr) -> nw.Expr:
    """1 where a condition holds, else 0."""
    # From integers, because PostgreSQL reads 1.0 as a decimal number.
    return nw.when(condition).then(nw.lit(1)).otherwise(nw.lit(0)).cast(nw.Float64)


def is_missing(column: nw.Expr, engine: str) -> nw.Expr:
    """Whether a number is null or NaN."""
    if engine in OVERLOOKS_NAN:
        return column.is_null() | ~(_is_finite(column, engine) | _is_finite(1.0 / column, engine))
    return column.is_null() | column.is_nan()


def excluding_nan(condition: nw.Expr, column: nw.Expr, engine: str) -> nw.Expr:
    """Return a condition on a number that is false for NaN, even on an engine that overlooks NaN in comparisons."""
    return condition & _is_finite(column, engine) if engine in OVERLOOKS_NAN else condition


def _is_finite(column: nw.Expr, engine: str) -> nw.Expr:
    """Whether a number is finite, in a form that file statistics cannot answer."""
    return column.is_finite() if engine == "duckdb" else (column * 0.0).exp() <= 2.0


def unsupported(engine: str, what: str, error: Exception) -> UnsupportedOperationError:
    """Return the error that names the engine and the operation it does not support."""
    return UnsupportedOperationError(f"{engine} cannot do {what}", offender=str(error).rstrip("."))


class Column(NamedTuple):
    """A column of a lazy frame: its name, its dtype, and its values in a frame without special names."""

    frame: Lazy
    name: str
    kind: nw.dtypes.DType
    values: nw.Expr

    def number(self, argument: str) -> nw.Expr:
        """Return the values as floating-point numbers; raise an error if they are neither numbers nor booleans."""
        if self.kind == nw.Boolean:
            return self.values.cast(nw.Int32).cast(nw.Float64)
        if not self.kind.is_numeric():
            offender = f"got values of dtype {self.kind}"
            hint = Wording(demands.CAST_HINT, "cast-hint", column=self.name)
            raise InputTypeError(demands.NUMBERS, argument=argument, offender=offender, hint=hint)
        return self.values.cast(nw.Float64)

    @property
    def native_kind(self) -> str:
        """The name of the column's type in the engine itself."""
        native, engine = self.frame.to_native(), self.frame.implementation
        if engine.is_duckdb():
            return str(native.types[native.columns.index(self.name)]).lower()
        if engine.is_ibis():
            return str(native.schema()[self.name]).lower()
        if engine.is_spark_like():
            return str(native.schema[self.name].dataType.simpleString())
        return str(native.dtypes[self.name]) if engine.is_dask() else "object"


def named_columns(frame: Lazy, names: Sequence[str]) -> tuple[Lazy, dict[str, Column]]:
    """Return a frame in which every column can be referred to by name, and the named columns.

    Some names have a special meaning to an engine: a dot, a backtick or a star to Spark, which also does not
    distinguish "p" from "P", and a star or a regular expression to Polars.
    """
    schema = frames.checked_columns(frame, names)
    if "" in names and frame.implementation.is_ibis():
        raise InputValueError("columns must have names; Ibis cannot refer to a column with an empty name")
    if not any(_has_meaning(frame, name) for name in names):
        return frame, {name: Column(frame, name, schema[name], nw.col(name)) for name in names}
    places = {name: place for place, name in enumerate(schema)}
    plain = {name: f"column_{places[name]}" for name in schema}
    columns = {name: Column(frame, name, schema[name], nw.col(plain[name])) for name in names}
    return _renamed(frame, plain), columns


def _has_meaning(frame: Lazy, name: str) -> bool:
    engine = frame.implementation
    if engine.is_spark_like():
        alike = [other for other in frame.collect_schema() if other.lower() == name.lower()]
        return "." in name or "`" in name or name == "*" or len(alike) > 1
    pattern = engine.is_polars() and name.startswith("^") and name.endswith("$")
    return pattern or (name == "*" and (engine.is_polars() or engine.is_duckdb()))


def _renamed(frame: Lazy, plain: dict[str, str]) -> Lazy:
    """Rename all columns without referring to them in an expression."""
    native, engine = frame.to_native(), frame.implementation
    if engine.is_spark_like():
        native = native.toDF(*plain.values())
    elif engine.is_duckdb():
        quoted = [f'"{name.replace(chr(34), 2 * chr(34))}" AS {new}' for name, new in plain.items()]
        native = native.project(", ".join(quoted))
    else:
        native = native.rename(plain)
    renamed: Lazy = nw.from_native(native)
    return renamed


def sampled_rows(frame: Lazy, share: float, seed: int) -> Lazy:
    """Return a frame of about a share of the rows, each kept independently; all of them if the share is 1 or more.

    Engines draw with their own generators. Those that read in parallel, and databases behind Ibis, may draw other rows
    from the same seed.
    """
    if share >= 1.0:
        return frame
    native: Any = frame.to_native()
    kind = frame.implementation
    if kind.is_duckdb():
        percent = f"{100.0 * share:.10f}"
        drawn = native.query("cases", f"SELECT * FROM cases USING SAMPLE {percent} PERCENT (bernoulli, {seed % 2**31})")  # noqa: S608  # nosec B608  (numbers)
    elif kind.is_polars():
        import polars as pl

        drawn = native.filter(pl.int_range(pl.len()).hash(seed) < round(share * 2**64))
    elif kind.is_dask():
        drawn = native.sample(frac=share, random_state=seed % 2**32)
    elif kind.is_ibis():
        drawn = native.sample(share)
    else:
        drawn = native.sample(share, seed=seed)
    rows: Lazy = nw.from_native(drawn)
    return rows
