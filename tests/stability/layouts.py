"""The same cases in other containers, kinds of numbers, layouts and labels."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

WHOLE = ("y", "grade", "group", "cluster")
REAL = ("p", "q", "rows")


def changed(d: Any, *, whole: Callable = lambda a: a, real: Callable = lambda a: a) -> Any:
    """Return the cases with a function applied to whole and to real numbers, weights among them."""
    columns = {name: whole(getattr(d, name)) for name in WHOLE} | {name: real(getattr(d, name)) for name in REAL}
    options = {
        kind: getattr(d, kind) | {"sample_weight": real(weight)}
        for kind in ("binary", "classes")
        if (weight := getattr(d, kind).get("sample_weight")) is not None
    }
    return replace(d, **columns, **options)


def strided(a: np.ndarray) -> np.ndarray:
    """Return a view that skips every other entry of another array, along every axis."""
    wide = np.repeat(np.repeat(a, 2, axis=0), 2, axis=-1) if a.ndim == 2 else np.repeat(a, 2)
    return wide[::2, ::2] if a.ndim == 2 else wide[::2]


def backwards(a: np.ndarray) -> np.ndarray:
    """Return a view with negative strides."""
    return np.ascontiguousarray(a[::-1])[::-1]


def read_only(a: np.ndarray) -> np.ndarray:
    """Return a copy that cannot be written to."""
    held = a.copy()
    held.flags.writeable = False
    return held


def unaligned(a: np.ndarray) -> np.ndarray:
    """Return an array that begins at an odd address."""
    room = np.empty(a.nbytes + 1, dtype=np.uint8)[1:]
    held = room.view(a.dtype).reshape(a.shape)
    held[...] = a
    return held


def in_pandas(a: np.ndarray, dtype: str | None = None) -> Any:
    return pd.DataFrame(a, dtype=dtype) if a.ndim == 2 else pd.Series(a, dtype=dtype)


def in_polars(a: np.ndarray) -> Any:
    return pl.DataFrame(a, schema=[str(k) for k in range(a.shape[1])]) if a.ndim == 2 else pl.Series(a)


def in_arrow(a: np.ndarray) -> Any:
    if a.ndim == 2:
        return pa.table({str(k): column for k, column in enumerate(a.T)})
    half = len(a) // 2
    return pa.chunked_array([a[:half], a[half:]])


def each(function: Callable[..., Any], *given: Any) -> Callable[[Any], Any]:
    """Return what changes all columns of the cases alike."""
    return lambda d: changed(d, whole=lambda a: function(a, *given), real=lambda a: function(a, *given))


CONTAINERS: dict[str, Callable[[Any], Any]] = {
    "32 bits": lambda d: changed(d, whole=lambda a: a.astype(np.int32), real=lambda a: a.astype(np.float32)),
    "big-endian": lambda d: changed(d, whole=lambda a: a.astype(">i8"), real=lambda a: a.astype(">f8")),
    "big-endian 32 bits": lambda d: changed(d, whole=lambda a: a.astype(">i4"), real=lambda a: a.astype(">f4")),
    "Fortran order": each(np.asfortranarray),
    "strided": each(strided),
    "backwards": each(backwards),
    "read-only": each(read_only),
    "unaligned": each(unaligned),
    "objects as labels": lambda d: changed(d, whole=lambda a: a.astype(object)),
    "lists": each(lambda a: a.tolist()),
    "pandas": each(in_pandas),
    "pandas nullable": lambda d: changed(
        d, whole=lambda a: in_pandas(a, "Int64"), real=lambda a: in_pandas(a, "Float64")
    ),
    "pandas on Arrow": lambda d: changed(
        d, whole=lambda a: in_pandas(a, "int64[pyarrow]"), real=lambda a: in_pandas(a, "double[pyarrow]")
    ),
    "Polars": each(in_polars),
    "PyArrow": each(in_arrow),
}
KINDS: dict[str, Callable[[np.ndarray], Any]] = {
    **{f"{sign}int{bits}": np.dtype(f"{sign}int{bits}").type for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "float32": np.float32,
    "float64": np.float64,
}
