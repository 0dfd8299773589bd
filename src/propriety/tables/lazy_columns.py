"""Access to the columns of a lazy frame, whatever their names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import narwhals as nw

from propriety.errors import InputTypeError, InputValueError, Wording
from propriety.tables import frames, laws
from propriety.tables.queries import Lazy


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
            hint = Wording(laws.CAST_HINT, column=self.name)
            raise InputTypeError(laws.NUMBERS_LAW, argument=argument, offender=offender, hint=hint)
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
