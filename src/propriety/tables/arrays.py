"""Conversion of user input to NumPy arrays: lists, arrays, and pandas, Polars or PyArrow through narwhals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Literal, TypeAlias

import narwhals as nw
import numpy as np
from narwhals.dependencies import get_pandas, get_pyarrow, is_into_dataframe, is_into_lazyframe, is_into_series
from numpy.typing import NDArray

from propriety import demands
from propriety.errors import InputTypeError, InputValueError, Wording
from propriety.tables.labels import is_rounded

# How an argument is used: "numbers" are computed with, "outcomes" are labels or numbers, and "keys" are labels, which
# may be tuples.
Role: TypeAlias = Literal["numbers", "outcomes", "keys"]

NESTED = (nw.List, nw.Array, nw.Struct)
BFLOAT16 = 2.0**-7  # Its machine epsilon; NumPy has no such type.
NEVER_MISSING = {str, bytes, bool, int}
PAIR = 2  # Columns of a binary outcome, and dimensions of rows.


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """An argument as an array, with what its container knows about it.

    `missing` marks the entries that the container calls missing (None, NA, a mask). A NaN in a plain float array is not
    marked; it is found when the numbers are checked. `eps` is the machine epsilon of the original type if NumPy lacks
    that type, else 0. `is_new` says that the array was made when the argument was read, so that nobody else holds it;
    `listed`, that the caller listed the columns of a frame by name.
    """

    argument: str
    values: NDArray[Any]
    missing: NDArray[np.bool_] | None = None
    names: tuple[Any, ...] | None = None
    index: Any = None
    eps: float = 0.0
    is_new: bool = False
    listed: bool = False


def owned(values: NDArray[Any], reading: Reading) -> NDArray[Any]:
    """Return an array made of an argument, copied if the caller still holds its memory and could change it later.

    Examples
    --------
    >>> forecasts = np.array([0.2, 0.7])
    >>> kept = owned(forecasts, read_array(forecasts, "y_proba"))
    >>> forecasts[:] = 0.0
    >>> kept
    array([0.2, 0.7])
    """
    shared = not reading.is_new and np.may_share_memory(values, reading.values)
    return values.copy(order="K") if shared else values


def read_array(values: object, argument: str, *, role: Role = "numbers") -> Reading:  # noqa: PLR0911  (one per type)
    """Convert `values` to a `Reading`, unless it is one already. The content is not checked here.

    Whole numbers stay whole next to missing values, and labels keep their type: decimals, zoned times, categories.
    """
    if isinstance(values, Reading):
        return values
    if isinstance(values, np.ma.MaskedArray) and values.ndim:
        data, mask = _as_array(values.data, argument, role), np.ma.getmaskarray(values)
        hidden = _missing_objects(data) if data.dtype == object else None
        mask = mask if hidden is None else mask | hidden
        data = decimals_as_floats(data) if role == "numbers" else data
        return Reading(argument, data, mask if mask.any() else None)
    if _is_tensor(values):
        return _read_tensor(values, argument, role)
    if isinstance(values, np.ndarray | list | tuple):  # First, because narwhals is slow to reject them.
        return _read_plain(values, argument, role)
    series = series_of(values)
    if series is not None:
        # Polars would read some series names as patterns.
        series = series.alias("values")
        has_columns = role != "keys" and series.dtype == nw.Struct
        reading = _read_struct(series, argument) if has_columns else _read_series(series, argument, role)
        return reading if is_into_series(values) else replace(reading, index=None)
    if is_into_dataframe(values):
        try:
            frame = nw.from_native(values, eager_only=True)
        except nw.exceptions.DuplicateError as error:
            raise InputValueError(demands.DISTINCT_COLUMNS, argument=argument, offender=str(error)) from error
        return _read_frame(frame, argument)
    if is_into_lazyframe(values):
        law = "must be an array, a series or an eager frame"
        raise InputTypeError(
            law, argument=argument, offender=f"got a lazy {type(values).__name__}", hint="collect the column first."
        )
    return _read_plain(values, argument, role)


def series_of(values: object) -> nw.Series[Any] | None:
    """Return a series, or an array or index of pandas or PyArrow, as a narwhals series; None for anything else.

    NumPy would lose time zones, the order of categories and, next to missing values, digits of whole numbers.
    """
    pandas, pyarrow = get_pandas(), get_pyarrow()
    if pyarrow is not None and isinstance(values, pyarrow.Array):
        values = pyarrow.chunked_array([values])
    elif pandas is not None and isinstance(values, pandas.api.extensions.ExtensionArray | pandas.Index):
        values = values if isinstance(values, pandas.MultiIndex) else pandas.Series(values)
    return nw.from_native(values, series_only=True) if is_into_series(values) else None


def read_forecasts(values: object, argument: str = "y_proba") -> Reading:
    """Convert forecasts to a `Reading`; a single column of shape (n, 1) becomes 1-D.

    Examples
    --------
    >>> read_forecasts([[0.2], [0.8]]).values
    array([0.2, 0.8])
    """
    reading = read_array(values, argument)
    if reading.values.ndim != PAIR or reading.values.shape[1] != 1:
        return reading
    missing = None if reading.missing is None else reading.missing[:, 0]
    return replace(reading, values=reading.values[:, 0], missing=missing, names=None)


def classes_of(shape: tuple[int, ...]) -> int | None:
    """Return the number of classes of forecasts of this shape; None for one event, in one column or two.

    Examples
    --------
    >>> classes_of((100,)), classes_of((100, 2)), classes_of((100, 3))
    (None, None, 3)
    """
    return None if len(shape) == 1 or shape[1] <= PAIR else shape[1]


def _is_tensor(values: object) -> bool:
    """Whether a value is a PyTorch tensor; recognized by name, so that PyTorch need not be imported."""
    return type(values).__module__.partition(".")[0] == "torch" and hasattr(values, "detach")


def _read_tensor(tensor: Any, argument: str, role: Role) -> Reading:
    """Convert a tensor, with or without gradients, to an array; bfloat16, which NumPy lacks, becomes float32."""
    plain = tensor.detach().cpu()
    if str(plain.dtype) != "torch.bfloat16":
        return _read_plain(plain.numpy(), argument, role)
    return replace(_read_plain(plain.float().numpy(), argument, role), eps=BFLOAT16)


def missing_cases(reading: Reading) -> NDArray[np.bool_]:
    """Return a mask of the cases with a missing entry, NaN and NaT among them.

    Examples
    --------
    >>> missing_cases(read_array([[0.2, 0.8], [float("nan"), 1.0]], "y_proba"))
    array([False,  True])
    """
    values = reading.values
    missing = np.zeros(values.shape, dtype=bool) if reading.missing is None else reading.missing
    missing = missing | np.isnan(values) if values.dtype.kind in "fcmM" else missing
    return missing if missing.ndim == 1 else np.any(missing, axis=1)


def _read_plain(values: object, argument: str, role: Role) -> Reading:
    array = _as_array(values, argument, role)
    missing = _missing_objects(array) if array.dtype == object else None
    numbers = decimals_as_floats(array) if role == "numbers" else array
    return Reading(argument, numbers, missing, is_new=isinstance(values, list | tuple))


def _read_series(series: nw.Series[Any], argument: str, role: Role) -> Reading:
    missing = series.is_null().to_numpy().astype(bool)
    values = _numbers(series) if role == "numbers" else _labels(series, argument)
    if values.dtype == object:
        hidden = _missing_objects(values)
        missing = missing if hidden is None else missing | hidden
    return Reading(argument, values, missing if missing.any() else None, index=nw.maybe_get_index(series))


def _read_frame(frame: nw.DataFrame[Any], argument: str) -> Reading:
    columns = {name: frame.get_column(name) for name in frame.columns}
    return replace(_read_columns(columns, argument), index=nw.maybe_get_index(frame))


def _read_struct(series: nw.Series[Any], argument: str) -> Reading:
    """Read a column of structs as the frame of their fields, which name the columns."""
    kind: Any = series.dtype
    columns = {field.name: series.struct.field(field.name) for field in kind.fields}
    return replace(_read_columns(columns, argument), index=nw.maybe_get_index(series))


def _read_columns(columns: Mapping[Any, nw.Series[Any]], argument: str) -> Reading:
    if not columns:
        raise InputValueError("must have columns; the frame has none", argument=argument)
    plain = [column.alias("values") for column in columns.values()]
    missing = np.column_stack([column.is_null().to_numpy().astype(bool) for column in plain])
    numbers = np.column_stack([_numbers(column) for column in plain])
    return Reading(argument, numbers, missing if missing.any() else None, names=tuple(columns), is_new=True)


def _numbers(series: nw.Series[Any]) -> NDArray[Any]:
    if series.dtype == nw.Decimal:
        series = series.cast(nw.Float64)
    return _whole(series) if _is_whole(series.dtype) else decimals_as_floats(_plain(series))


def _labels(series: nw.Series[Any], argument: str) -> NDArray[Any]:
    kind = series.dtype
    if kind in NESTED:
        law = "must hold single labels"
        raise InputTypeError(
            law, argument=argument, offender=f"got values of dtype {kind}", hint="turn them into text first."
        )
    if _is_whole(kind):
        return _whole(series)
    zoned = isinstance(kind, nw.Datetime) and kind.time_zone is not None
    # A NumPy array would have lost the time zone, or turned a decimal into a float.
    return _objects(series.to_list()) if zoned or kind in (nw.Decimal, nw.Time, nw.Unknown) else _plain(series)


def _is_whole(kind: nw.dtypes.DType) -> bool:
    return kind == nw.Boolean or (kind.is_integer() and kind not in (nw.Int128, nw.UInt128))


def _whole(series: nw.Series[Any]) -> NDArray[Any]:
    """Return whole numbers in their own integer type; NumPy would turn them into floats next to missing values."""
    filler = False if series.dtype == nw.Boolean else 0
    values = np.asarray((series.fill_null(filler) if series.is_null().any() else series).to_numpy())
    return _objects(series.to_list()) if values.dtype.kind not in "biu" else values


def _plain(series: nw.Series[Any]) -> NDArray[Any]:
    if series.dtype in (nw.Categorical, nw.Enum, nw.String):
        # Text of a fixed width, as from Polars, would lose trailing NUL characters and be as long as the longest one.
        try:
            return _objects(series.to_list())
        except UnicodeDecodeError as error:
            raise InputValueError("text must be valid UTF-8", offender=str(error)) from error
    if series.dtype in (nw.Int128, nw.UInt128):
        if series.drop_nulls().is_between(-(2**63), 2**63 - 1).all():
            return _whole(series.cast(nw.Int64))
        return _objects(series.to_list())
    return np.asarray(series.to_numpy())


def _objects(values: Sequence[Any]) -> NDArray[np.object_]:
    """Return an object array with these entries, even if they are sequences themselves."""
    return np.fromiter(values, dtype=object, count=len(values))


def _as_array(values: object, argument: str, role: Role) -> NDArray[Any]:
    if role == "keys" and isinstance(values, list | tuple) and any(isinstance(label, tuple) for label in values):
        return _objects(values)
    try:
        array = np.asarray(values)
    except (ValueError, TypeError, RuntimeError) as error:
        ragged = "inhomogeneous" in str(error)
        law = f"{argument} must be a 1-D array or an array of rows that are equally long"
        raise (InputValueError if ragged else InputTypeError)(law, offender=str(error)) from error
    lossy = array.dtype.kind in "US" or (role != "numbers" and is_rounded(array))
    if lossy and not isinstance(values, np.ndarray):
        # NumPy turns a list of strings and NaN or None into strings such as "nan", and a list of whole numbers and NaN
        # into floats, which cannot distinguish large labels. Objects keep both.
        array = np.array(values, dtype=object)
    if array.dtype.kind == "T":  # Text of any length in NumPy; its missing entries are None or NaN only as objects.
        array = array.astype(object)
    if array.ndim == 0:
        offender = f"got a single {type(values).__name__}"
        hint = "put it into a list, [{argument}], or into an array."
        if isinstance(values, str) and role == "keys":
            hint = "a column name needs a frame as the first argument; beside arrays pass the column itself."
        if hasattr(values, "toarray"):  # A sparse matrix of SciPy.
            offender, hint = f"got {type(values).__name__}", "pass {argument}.toarray()."
        raise InputTypeError(demands.ONE_ENTRY, argument=argument, offender=offender, hint=Wording(hint))
    return array


def _missing_objects(array: NDArray[np.object_]) -> NDArray[np.bool_] | None:
    values = array.ravel().tolist()
    if set(map(type, values)) <= NEVER_MISSING:
        return None
    missing = np.array([is_missing_value(value) for value in values], dtype=bool).reshape(array.shape)
    return missing if missing.any() else None


def decimals_as_floats(array: NDArray[Any]) -> NDArray[Any]:
    """Return decimals that are held as objects, as SQL drivers return them, as floats, and missing ones as NaN.

    Other arrays are returned unchanged.

    Examples
    --------
    >>> decimals_as_floats(np.array([Decimal("0.1"), None]))
    array([0.1, nan])
    """
    if array.dtype != object:
        return array
    values = array.ravel().tolist()
    kinds = {type(value) for value in values if not is_missing_value(value)}
    if Decimal not in kinds or not all(issubclass(kind, Decimal | float | int) for kind in kinds):
        return array
    floats = [np.nan if is_missing_value(value) else float(value) for value in values]
    return np.array(floats, dtype=np.float64).reshape(array.shape)


def is_missing_value(value: object) -> bool:
    """Whether a value stands for none: None, NaN, NaT, or what pandas has for them; or a tuple with a NaN or NaT."""
    # pandas.NA and NaT are recognized by name, so that pandas need not be imported.
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return True
    if isinstance(value, Decimal):
        return value.is_nan()
    if isinstance(value, tuple):  # As a label it would equal no other; None equals itself.
        return any(entry is not None and is_missing_value(entry) for entry in value)
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    return isinstance(value, float | np.floating) and bool(np.isnan(value))
