"""Plain values in everything that a user may hold them in, and what each container then says it holds."""

from __future__ import annotations

import decimal
import fractions
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

__all__ = ["LABELS", "MATRICES", "NONSENSE", "NUMBERS", "index_of", "seen", "seen_column", "seen_rows"]

Maker = Callable[[list[Any]], Any]


def _masked(values: list[Any]) -> Any:
    """Hide every missing value and every third of the others."""
    hidden = [value is None or place % 3 == 2 for place, value in enumerate(values)]
    return np.ma.array([0.0 if value is None else value for value in values], mask=hidden)


def _floats(values: list[Any]) -> list[float]:
    return [np.nan if value is None else value for value in values]


def _numpy(dtype: Any) -> Maker:
    return lambda values: np.array(_floats(values)).astype(dtype)


def _pandas(dtype: Any) -> Maker:
    return lambda values: pd.Series(values, dtype=dtype)


def _polars(dtype: Any) -> Maker:
    return lambda values: pl.Series("v", values, dtype=dtype)


# Real numbers, one to a case.
NUMBERS: dict[str, Maker] = {
    "list": list,
    "float64": _numpy(np.float64),
    "tuple": tuple,
    "float32": _numpy(np.float32),
    "float16": _numpy(np.float16),
    "big-endian": _numpy(">f8"),
    "long double": _numpy(np.longdouble),
    "every other": lambda values: np.repeat(np.array(_floats(values), dtype=np.float64), 2)[::2],
    "objects": lambda values: np.array(values, dtype=object),
    "masked": _masked,
    "int8": _numpy(np.int8),
    "uint64": _numpy(np.uint64),
    "booleans": _numpy(np.bool_),
    "pandas": _pandas("float64"),
    "pandas nullable": _pandas("Float64"),
    "pandas of Arrow": _pandas("double[pyarrow]"),
    "pandas category": _pandas("category"),
    "pandas objects": _pandas(object),
    "pandas backwards": lambda values: pd.Series(values, dtype=float, index=range(len(values))[::-1]),
    "Polars": _polars(pl.Float64),
    "Polars singles": _polars(pl.Float32),
    "Arrow": lambda values: pa.array(values, type=pa.float64()),
    "Arrow chunks": lambda values: pa.chunked_array([values[:1], values[1:]], type=pa.float64()),
    "decimals": lambda values: [None if value is None else decimal.Decimal(value) for value in values],
    "fractions": lambda values: [None if value is None else fractions.Fraction(value) for value in values],
    "complex": _numpy(np.complex128),
    "strings": lambda values: [str(value) for value in values],
    "bytes": lambda values: np.array([str(value).encode() for value in values]),
    "times": lambda values: np.array([int(value or 0) for value in values], dtype="timedelta64[s]"),
    "dates": lambda values: np.array([int(value or 0) for value in values], dtype="datetime64[D]"),
    "records": lambda values: np.array([(value,) for value in _floats(values)], dtype=[("p", float)]),
    "column": lambda values: np.array(_floats(values))[:, None],
    "lists": lambda values: [[value] for value in values],
}
# Labels of outcomes, one to a case.
LABELS: dict[str, Maker] = {
    "list": list,
    "natural": np.asarray,
    "objects": lambda values: np.array(values, dtype=object),
    "tuple": tuple,
    "masked": _masked,
    "float64": _numpy(np.float64),
    "int8": _numpy(np.int8),
    "uint8": _numpy(np.uint8),
    "booleans": _numpy(np.bool_),
    "text": lambda values: np.array(list(map(str, values))),
    "bytes": lambda values: np.array([str(value).encode() for value in values]),
    "variable text": lambda values: np.array(values, dtype=np.dtypes.StringDType(na_object=None)),
    "days": lambda values: np.array([None if v is None else int(v) for v in values], dtype="datetime64[D]"),
    "pandas": pd.Series,
    "pandas objects": _pandas(object),
    "pandas category": _pandas("category"),
    "pandas Int64": _pandas("Int64"),
    "pandas boolean": _pandas("boolean"),
    "pandas text": _pandas("string"),
    "pandas backwards": lambda values: pd.Series(values, index=range(len(values))[::-1]),
    "Polars": lambda values: pl.Series("v", values),
    "Polars category": _polars(pl.Categorical),
    "Polars Int128": _polars(getattr(pl, "Int128", pl.Int64)),  # Polars has not always had it.
    "Arrow": pa.array,
    "Arrow dictionary": lambda values: pa.array(values).dictionary_encode(),
    "Arrow decimals": lambda values: pa.array(values, type=pa.decimal128(9, 2)),
}
# Rows of probabilities.
MATRICES: dict[str, Maker] = {
    "list": list,
    "float64": lambda rows: np.array([_floats(row) for row in rows]),
    "float32": lambda rows: np.array([_floats(row) for row in rows], dtype=np.float32),
    "Fortran": lambda rows: np.asfortranarray([_floats(row) for row in rows]),
    "objects": lambda rows: np.array(rows, dtype=object),
    "masked": lambda rows: np.ma.masked_invalid([_floats(row) for row in rows]),
    "pandas": lambda rows: pd.DataFrame(rows, dtype=float),
    "pandas nullable": lambda rows: pd.DataFrame(rows).astype("Float64"),
    "pandas backwards": lambda rows: pd.DataFrame(rows, dtype=float, columns=range(len(rows[0]))[::-1]),
    "Polars": lambda rows: pl.DataFrame(rows, orient="row", schema=[f"p{place}" for place in range(len(rows[0]))]),
    "Arrow": lambda rows: pa.table({f"p{place}": list(column) for place, column in enumerate(zip(*rows, strict=True))}),
    "cube": lambda rows: np.array([_floats(row) for row in rows])[:, None, :],
    "ragged": lambda rows: [*rows[:-1], rows[-1][:-1]],
    "text": lambda rows: [[str(value) for value in row] for row in rows],
}
# What is no column of values at all.
NONSENSE: tuple[Any, ...] = (
    *(None, 0.5, 1, "0101", b"01", {}, {"a": 1}, {0, 1}, [], (), [[]], object(), float, [[0, 1], [1]], np.array(0.5)),
    *(range(3), np.zeros((2, 0)), np.zeros((0, 2)), pd.DataFrame(), pl.DataFrame(), pl.LazyFrame({"a": [1]})),
    *(pl.Series([[1, 2], [3]]), pd.Series([{}, []]), pa.array([{"a": 1}]), pa.nulls(2), np.array([np.nan] * 2)),
    *(pd.DataFrame([[1, 2]], columns=["a", "a"]), pd.Series(pd.to_datetime(["2020-01-01", None])), iter([0, 1])),
    *(np.zeros(2, dtype="V8"), [object(), object()], [np.array([1, 2]), np.array([1])], [None, None], ["", None]),
)


def seen(held: Any) -> list[Any]:
    """Return what a container of one value per case says that it holds, None where it is missing."""
    if isinstance(held, pa.Array | pa.ChunkedArray):
        held = held.to_pylist()
    return [_plain(value) for value in (held if isinstance(held, list | tuple | pl.Series) else held.tolist())]


def seen_column(held: Any) -> list[Any]:
    """Return what forecasts of one event say that they hold; they may be rows of one entry each."""
    values = seen(held)
    rows = [value for value in values if isinstance(value, list) and len(value) == 1]
    return [_plain(row[0]) for row in rows] if len(rows) == len(values) else values


def seen_rows(held: Any) -> list[list[Any]]:
    """Return what a container of rows says that it holds."""
    if isinstance(held, pd.DataFrame):
        return [[_plain(value) for value in row] for row in held.itertuples(index=False)]
    if isinstance(held, pl.DataFrame):
        return [[_plain(value) for value in row] for row in held.rows()]
    if isinstance(held, pa.Table):
        return [[_plain(value) for value in row.values()] for row in held.to_pylist()]
    return [seen(row) for row in (held if isinstance(held, list) else held.tolist())]


def index_of(held: Any) -> Sequence[Any] | None:
    """Return the labels of the rows, where a container has any."""
    return list(held.index) if isinstance(held, pd.Series | pd.DataFrame) else None


def _plain(value: Any) -> Any:
    if value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, np.generic):
        value = value.item()
    return float(value) if isinstance(value, decimal.Decimal | np.longdouble) else value
