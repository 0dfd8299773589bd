"""What a recalibration map of one event is: a function from forecast to forecast that is fitted, called and stored."""

from __future__ import annotations

import math
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

__all__ = [
    "IdentityMap",
    "RecalibrationMap",
    "checked_column",
    "checked_floor",
    "checked_number",
    "fit_floored",
    "fit_none",
    "floor_of",
    "floored",
    "log_odds",
]

LOWEST = 1e-6  # No floor under the log-odds is lower.


class RecalibrationMap(StoredMap):
    """Base of the maps of one event: frozen dataclasses whose fields are their parameters.

    A map is called with forecasts and returns what to forecast in their place. `to_dict` stores it as plain data, and
    `RecalibrationMap.from_dict` makes it again, whatever its kind.
    """

    __slots__ = ()

    def __call__(self, y_proba: object) -> Floats:
        """Return the recalibrated forecasts of array-like forecasts, or of one, in [0, 1]."""
        return self.recalibrated(read_event_forecast(y_proba))

    @abstractmethod
    def recalibrated(self, forecast: Floats) -> Floats:
        """Return the recalibrated forecasts of an array of valid ones."""

    @abstractmethod
    def written(self, p: Column, ops: Written) -> Column:
        """Return the map of a column, written in operations that engines have."""

    @property
    @abstractmethod
    def is_monotone(self) -> bool:
        """Whether a higher forecast never becomes a lower one."""

    def expression(self, column: str | nw.Expr) -> nw.Expr:
        """Return the map of a column as a narwhals expression, for any engine that narwhals knows.

        Rows that hold no forecast, missing or not in [0, 1], become null.

        Examples
        --------
        >>> import polars as pl
        >>> frame = nw.from_native(pl.DataFrame({"p": [0.0, 0.5, None]}))
        >>> frame.select(IdentityMap(floor=0.01).expression("p").alias("q"))["q"].to_list()
        [0.01, 0.5, None]
        """
        return written_expression(self.written, column)

    def to_sql(self, column: str, *, dialect: Dialect = "duckdb") -> str:
        """Return the map of a column as SQL for DuckDB, PostgreSQL, Spark, BigQuery or Snowflake.

        Rows that hold no forecast, missing or not in [0, 1], become NULL. Dialects other than DuckDB need SQLGlot.

        Examples
        --------
        >>> print(IdentityMap().to_sql("p"))
        CASE WHEN ((CAST("p" AS DOUBLE) >= CAST('0.0' AS DOUBLE)) AND (CAST("p" AS DOUBLE) <= CAST('1.0' AS DOUBLE)))
        THEN CAST("p" AS DOUBLE) END
        """
        return sql_of(self.written, column, dialect)

    def to_onnx(self) -> Any:
        """Return the map as an ONNX model, which runtimes in other languages compute.

        The model has one input, `forecast`, and one output, `recalibrated`, both arrays of doubles of shape (cases,).
        What is no forecast, NaN or not in [0, 1], becomes NaN. It needs the extra `onnx`.

        Returns
        -------
        onnx.ModelProto
            The model, of opset 13; its `SerializeToString()` is what files hold.
        """
        from propriety.recalibration.onnx_maps import onnx_model

        return onnx_model(self)

    def to_sklearn(self) -> Any:
        """Return the map as a transformer of scikit-learn; see `propriety.integrations.sklearn.MapTransformer`."""
        from propriety.integrations.recalibrated_classifier import MapTransformer

        return MapTransformer(self)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class IdentityMap(RecalibrationMap):
    r"""The forecasts as they are, or kept from certainty: :math:`\min(\max(p, \epsilon), 1 - \epsilon)`.

    Parameters
    ----------
    floor : float
        The floor :math:`\epsilon`; 0 leaves every forecast as it is.

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
        """Return the forecasts, not below the floor nor above one minus it."""
        return floored(forecast, self.floor)

    def written(self, p: Column, ops: Written) -> Column:
        """Return the map of a column."""
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
        Any; it does not matter.

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
    """Keep the forecasts from certainty, at the floor of the table; see `floor_of`.

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
    """Return what forecasts of 0 count as in log-odds: half the smallest distance of the others to 0 or 1.

    It is at least 1e-6. Forecasts of 1 count as one minus it, and forecasts in between are moved inside. Where
    forecasts are 0 or 1, this number matters more than the method.

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
    """Return the forecasts, not below the floor nor above one minus it."""
    return np.minimum(np.maximum(forecast, floor), 1.0 - floor)


def log_odds(forecast: Floats, floor: float) -> Floats:
    """Return the log-odds of the floored forecasts."""
    found: Floats = logit(floored(forecast, floor))
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
    if not real or not math.isfinite(cast("float", value)) or not low <= cast("float", value) <= high:
        limits = "" if math.isinf(low) and math.isinf(high) else f" in [{low:g}, {high:g}]"
        raise InputValueError(f"must be a finite number{limits}", argument=name, offender=f"got {value!r}")
    return float(cast("float", value))


def checked_column(
    name: str, values: object, *, size: int | None = None, strictly: bool | None = None, low: float, high: float
) -> Floats:
    """Return parameters as a read-only array; they must be within the limits and rise, strictly or not, if asked."""
    found = column(name, values).copy()
    if not len(found) or (size is not None and len(found) != size):
        raise InputValueError(f"must have {size or 'some'} entries", argument=name, offender=f"it has {len(found)}")
    within = (found >= low) & (found <= high)  # What is not a number is not.
    law = f"must be finite numbers in [{low:g}, {high:g}]"
    if within.all() and strictly is not None:
        steps = np.diff(found, prepend=-np.inf)
        within, law = (steps > 0.0, "must rise") if strictly else (steps >= 0.0, "must not fall")
    if not within.all():
        row = int(within.argmin())
        raise InputValueError(law, argument=name, row=row, offender=f"is {found[row].item()!r}")
    found.flags.writeable = False
    return found
