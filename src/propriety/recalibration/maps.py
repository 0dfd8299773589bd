"""Base class of recalibration maps for binary forecasts, the identity map, and the floor under forecasts."""

from __future__ import annotations

import math
import reprlib
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import narwhals as nw
import numpy as np
from scipy.special import logit

from propriety.errors import InputValueError
from propriety.recalibration.stored_maps import StoredMap
from propriety.recalibration.written_maps import Column, Dialect, Written, sql_of, written_expression
from propriety.result import Floats
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.table_laws import column
from propriety.tables.validation import read_event_forecast

LOWEST = 1e-6  # The lowest floor.
FARTHEST = 1e100  # The log-odds of 1, if the floor does not exclude it.


class RecalibrationMap(StoredMap):
    """Base class of the maps for binary forecasts: frozen dataclasses whose fields are their parameters.

    A map is called with forecasts and returns the recalibrated forecasts. `to_dict` stores it as plain data, and
    `RecalibrationMap.from_dict` restores a map of any kind.
    """

    __slots__ = ()

    def __call__(self, y_proba: object) -> Floats:
        """Return the recalibrated forecasts of an array-like of forecasts in [0, 1], or of a single one."""
        return self.recalibrated(read_event_forecast(y_proba))

    @abstractmethod
    def recalibrated(self, forecast: Floats) -> Floats:
        """Return the recalibrated forecasts of an array of valid forecasts."""

    @abstractmethod
    def written(self, p: Column, ops: Written) -> Column:
        """Return the map applied to a column, in operations that engines support."""

    @property
    @abstractmethod
    def is_monotone(self) -> bool:
        """Whether the map is nondecreasing."""

    def expression(self, column: str | nw.Expr) -> nw.Expr:
        """Return the map applied to a column as a narwhals expression, for any engine that narwhals supports.

        Values that are missing or outside [0, 1] become null.

        Examples
        --------
        >>> import polars as pl
        >>> frame = nw.from_native(pl.DataFrame({"p": [0.0, 0.5, None]}))
        >>> frame.select(IdentityMap(floor=0.01).expression("p").alias("q"))["q"].to_list()
        [0.01, 0.5, None]
        """
        return written_expression(self.written, column)

    def to_sql(self, column: str, *, dialect: Dialect = "duckdb") -> str:
        """Return the map applied to a column as SQL for DuckDB, PostgreSQL, Spark, BigQuery or Snowflake.

        Values that are missing or outside [0, 1] become NULL. Dialects other than DuckDB need SQLGlot.

        Examples
        --------
        >>> print(IdentityMap().to_sql("p"))
        CASE WHEN (((CAST("p" AS DOUBLE) >= CAST('0.0' AS DOUBLE)) AND (CAST("p" AS DOUBLE) <= CAST('1.0' AS DOUBLE)))
        AND (EXP((CAST("p" AS DOUBLE) * CAST('0.0' AS DOUBLE))) <= CAST('2.0' AS DOUBLE))) THEN CAST("p" AS DOUBLE) END
        """
        return sql_of(self.written, column, dialect)

    def to_onnx(self) -> Any:
        """Return the map as an ONNX model, for runtimes in other languages.

        The model has one input, `forecast`, and one output, `recalibrated`, both arrays of doubles of shape (cases,).
        Values that are NaN or outside [0, 1] become NaN. This needs the extra `onnx`.

        Returns
        -------
        onnx.ModelProto
            The model, with opset 13; `SerializeToString()` returns the contents of a model file.
        """
        from propriety.recalibration.onnx_maps import onnx_model

        return onnx_model(self)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class IdentityMap(RecalibrationMap):
    r"""The forecasts as they are, or with a floor: :math:`\min(\max(p, \epsilon), 1 - \epsilon)`.

    Parameters
    ----------
    floor : float
        The floor :math:`\epsilon`; 0 leaves all forecasts unchanged.

    Examples
    --------
    >>> IdentityMap(floor=0.01)([0.0, 0.5, 1.0])
    array([0.01, 0.5 , 0.99])
    """

    kind: ClassVar[str] = "identity"

    floor: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "floor", checked_floor(self.floor))

    def recalibrated(self, forecast: Floats) -> Floats:
        """Return the forecasts, clipped to [floor, 1 - floor]."""
        return floored(forecast, self.floor)

    def written(self, p: Column, ops: Written) -> Column:
        """Return the map applied to a column."""
        return ops.clip(p, self.floor, 1.0 - self.floor) if self.floor else p

    @property
    def is_monotone(self) -> bool:
        """True."""
        return True

    @property
    def formula(self) -> str:
        """The map in one line."""
        return "p" if self.floor == 0.0 else f"min(max(p, {self.floor:.4g}), 1 - {self.floor:.4g})"


def fit_none(table: ForecastTable) -> IdentityMap:
    """Leave the forecasts as they are.

    Parameters
    ----------
    table : ForecastTable
        Ignored.

    Returns
    -------
    IdentityMap
        The map.

    Examples
    --------
    >>> fit_none(ForecastTable(forecast=[0.0, 0.02], events=[0, 1], non_events=[9, 5]))([0.0, 0.3])
    array([0. , 0.3])
    """
    del table
    return IdentityMap()


def fit_floored(table: ForecastTable) -> IdentityMap:
    """Clip the forecasts at the floor computed from the table; see `floor_of`.

    Parameters
    ----------
    table : ForecastTable
        Any.

    Returns
    -------
    IdentityMap
        The map.

    Examples
    --------
    >>> fit_floored(ForecastTable(forecast=[0.0, 0.02], events=[0, 1], non_events=[9, 5]))([0.0, 0.3])
    array([0.01, 0.3 ])
    """
    return IdentityMap(floor=floor_of(table))


def floor_of(table: ForecastTable) -> float:
    """Return the value that replaces forecasts of 0 in log-odds: half the smallest distance of the others to 0 or 1.

    It is at least 1e-6. Forecasts are clipped to the range from this value to one minus it. If some forecasts are 0 or
    1, this value matters more than the method.

    Parameters
    ----------
    table : ForecastTable
        Any.

    Returns
    -------
    float
        The floor.

    Examples
    --------
    >>> floor_of(ForecastTable(forecast=[0.0, 0.02, 0.7], events=[0, 1, 3], non_events=[9, 5, 1]))
    0.01
    """
    distance = np.minimum(table.forecast, 1.0 - table.forecast)
    inside = distance[distance > 0.0]
    return max(LOWEST, float(inside.min()) / 2.0) if len(inside) else LOWEST


def floored(forecast: Floats, floor: float) -> Floats:
    """Return the forecasts, clipped to [floor, 1 - floor]."""
    return np.minimum(np.maximum(forecast, floor), 1.0 - floor)


def log_odds(forecast: Floats, floor: float) -> Floats:
    """Return the log-odds of the floored forecasts; those of 0 and 1 are finite, so that a slope of 0 ignores them."""
    found: Floats = np.clip(logit(floored(forecast, floor)), -FARTHEST, FARTHEST)
    return found


def checked_floor(value: object, *, positive: bool = False) -> float:
    """Return a floor, which must lie in [0, 0.5), or in (0, 0.5) where probabilities of 0 have no logarithm."""
    found = checked_number("floor", value, low=0.0)
    if not found < 0.5:
        raise InputValueError("must lie in [0, 0.5)", argument="floor", offender=f"got {found!r}")
    if positive and found == 0.0:
        law = "must be above 0, because a probability of 0 has no logarithm"
        raise InputValueError(law, argument="floor", offender=f"got {value!r}", hint="use a floor such as 1e-12.")
    return found


def checked_number(name: str, value: object, *, low: float = -math.inf, high: float = math.inf) -> float:
    """Return a parameter as a plain float; it must be finite and within the limits."""
    real = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    try:
        found = float(cast("float", value)) if real else math.nan
    except OverflowError:  # A whole number beyond the largest float.
        found = math.inf
    if not math.isfinite(found) or not low <= found <= high:
        limits = "" if math.isinf(low) and math.isinf(high) else f" in [{low:g}, {high:g}]"
        raise InputValueError(f"must be a finite number{limits}", argument=name, offender=f"got {reprlib.repr(value)}")
    return found


def checked_column(
    name: str, values: object, *, size: int | None = None, strictly: bool | None = None, low: float, high: float
) -> Floats:
    """Return parameters as a read-only array; they must be within the limits and, if requested, increasing."""
    found = column(name, values)
    if not len(found) or (size is not None and len(found) != size):
        raise InputValueError(f"must have {size or 'some'} entries", argument=name, offender=f"it has {len(found)}")
    within = (found >= low) & (found <= high)  # False for NaN.
    law = f"must be finite numbers in [{low:g}, {high:g}]"
    if within.all() and strictly is not None:
        steps = np.diff(found, prepend=-np.inf)
        within, law = (steps > 0.0, "must rise") if strictly else (steps >= 0.0, "must not fall")
    if not within.all():
        row = int(within.argmin())
        raise InputValueError(law, argument=name, row=row, offender=f"is {found[row].item()!r}")
    found.flags.writeable = False
    return found
