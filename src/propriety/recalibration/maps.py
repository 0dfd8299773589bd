"""Base class of recalibration maps for binary forecasts, the identity map, and the floor under forecasts."""

from __future__ import annotations

import math
import reprlib
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from propriety.calibration.blocks import pool_adjacent_violators
from propriety.errors import InputValueError
from propriety.recalibration.onnx_maps import onnx_model
from propriety.recalibration.stored_maps import StoredMap
from propriety.recalibration.written_maps import EXPRESSIONS, Column, Dialect, Written, sql_of, written
from propriety.result import Floats
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.table_laws import column
from propriety.tables.validation import read_event_forecast

LOWEST = 1e-6  # The lowest floor.
FARTHEST = 1e100  # The log-odds of 1, if the floor does not exclude it.


class EventMap(StoredMap):
    """Base class of maps of one column of forecasts."""

    __slots__ = ()

    @abstractmethod
    def written(self, p: Column, ops: Written) -> Column:
        """Return the map applied to a column, in operations that engines support."""

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
        return written(self._written, [column], EXPRESSIONS)[0]

    def to_sql(self, column: str, *, dialect: Dialect = "duckdb") -> str:
        """Return the map applied to a column as SQL for DuckDB, PostgreSQL, Spark, BigQuery or Snowflake.

        Values that are missing or outside [0, 1] become NULL. Dialects other than DuckDB need SQLGlot.

        Examples
        --------
        >>> print(IdentityMap().to_sql("p"))
        CASE WHEN (((CAST("p" AS DOUBLE) >= CAST('0.0' AS DOUBLE)) AND (CAST("p" AS DOUBLE) <= CAST('1.0' AS DOUBLE)))
        AND (EXP((CAST("p" AS DOUBLE) * CAST('0.0' AS DOUBLE))) <= CAST('2.0' AS DOUBLE))) THEN CAST("p" AS DOUBLE) END
        """
        return sql_of(self._written, [column], dialect)[0]

    def _written(self, p: Sequence[Column], ops: Written) -> list[Column]:
        return [self.written(p[0], ops)]


class RecalibrationMap(EventMap):
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

    @property
    def is_monotone(self) -> bool:
        """Whether the map is nondecreasing, as all kinds are but a logistic map with a negative slope."""
        return True

    def to_onnx(self) -> Any:
        """Return the map as an ONNX model, for runtimes in other languages.

        The model has one input, `forecast`, and one output, `recalibrated`, both arrays of doubles of shape (cases,).
        Values that are NaN or outside [0, 1] become NaN. This needs the extra `onnx`.

        Returns
        -------
        onnx.ModelProto
            The model, with opset 13; `SerializeToString()` returns the contents of a model file.
        """
        return onnx_model(self._written, None, self.formula)


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
        self.settle(floor=checked_floor(self.floor))

    def recalibrated(self, forecast: Floats) -> Floats:
        """Return the forecasts, clipped to [floor, 1 - floor]."""
        return floored(forecast, self.floor)

    def written(self, p: Column, ops: Written) -> Column:
        """Return the map applied to a column."""
        return ops.clip(p, self.floor, 1.0 - self.floor) if self.floor else p

    @property
    def formula(self) -> str:
        """The map in one line."""
        return "p" if self.floor == 0.0 else f"min(max(p, {self.floor:.4g}), 1 - {self.floor:.4g})"


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
    return np.clip(logit(floored(forecast, floor)), -FARTHEST, FARTHEST)


def checked_floor(value: object, *, positive: bool = False) -> float:
    """Return a floor, which must lie in [0, 0.5), or in (0, 0.5) where probabilities of 0 have no logarithm."""
    found = checked_number("floor", value, low=0.0)
    if not found < 0.5:
        raise InputValueError("must lie in [0, 0.5)", argument="floor", got=found)
    if positive and found == 0.0:
        law = "must be above 0, because a probability of 0 has no logarithm"
        raise InputValueError(law, argument="floor", got=value, hint="use a floor such as 1e-12.")
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class IsotonicMap(RecalibrationMap):
    """A nondecreasing piecewise linear map, constant before the first point and after the last.

    Parameters
    ----------
    forecast : array of shape (points,)
        Forecasts, strictly increasing: the first and the last of each pooled block.
    event_rate : array of shape (points,)
        Their recalibrated forecasts, nondecreasing.

    Examples
    --------
    >>> IsotonicMap(forecast=[0.2, 0.6], event_rate=[0.1, 0.5])([0.0, 0.4, 0.9])
    array([0.1, 0.3, 0.5])
    """

    kind: ClassVar[str] = "isotonic"

    forecast: Floats
    event_rate: Floats

    def __post_init__(self) -> None:
        forecast = checked_column("forecast", self.forecast, strictly=True, low=0.0, high=1.0)
        rate = checked_column("event_rate", self.event_rate, size=len(forecast), strictly=False, low=0.0, high=1.0)
        self.settle(forecast=forecast, event_rate=rate)

    def recalibrated(self, forecast: Floats) -> Floats:
        """Return the recalibrated forecasts. Between points too close for a slope, the map is that of the first."""
        found: Floats = np.interp(forecast, self.forecast, self.event_rate)
        if np.isinf(found).any():
            place = np.searchsorted(self.forecast, forecast, side="right") - 1
            found = np.where(np.isinf(found), self.event_rate[place], found)
        return found

    def written(self, p: Column, ops: Written) -> Column:
        """Return the map applied to a column."""
        with np.errstate(over="ignore"):
            slopes = np.diff(self.event_rate) / np.diff(self.forecast)
        slopes = np.concatenate([[0.0], np.where(np.isinf(slopes), 0.0, slopes), [0.0]])
        starts, rates = (np.append(points[0], points) for points in (self.forecast, self.event_rate))

        def line(start: Column, slope: Column, rate: Column) -> Column:
            return rate if isinstance(slope, float) and slope == 0.0 else slope * (p - start) + rate

        return ops.piecewise(p, self.forecast, np.column_stack([starts, slopes, rates]), line)

    @property
    def formula(self) -> str:
        """The map in one line."""
        return f"a nondecreasing piecewise linear function with {len(self.forecast):,} points"


def fit_isotonic(table: ForecastTable) -> IsotonicMap:
    """Fit isotonic regression: the reliability curve, which is optimal in the sample under every proper rule.

    Forecasts of 0 and 1 are treated like any other. If all cases of the first or last block have the same outcome,
    their forecasts become 0 or 1, and the log score of new cases can be infinite.

    Parameters
    ----------
    table : ForecastTable
        Any; a weight of w counts as w cases.

    Returns
    -------
    IsotonicMap
        The map.

    References
    ----------
    Zadrozny & Elkan (2002), doi:10.1145/775047.775151.

    Examples
    --------
    >>> table = ForecastTable.from_predictions([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8])
    >>> fit_isotonic(table)([0.1, 0.2, 0.35, 0.9])
    array([0.  , 0.25, 0.5 , 1.  ])
    """
    blocks = pool_adjacent_violators(table)
    return _through(table, blocks.start, blocks.event_rate)


def _through(table: ForecastTable, start: NDArray[np.intp], rate: Floats) -> IsotonicMap:
    """Return the piecewise linear map through the first and the last forecast of each block."""
    first, last = start[:-1], start[1:] - 1
    places = np.column_stack([first, last]).ravel()
    kept = np.append(True, np.diff(places) > 0)
    return IsotonicMap(forecast=table.forecast[places[kept]], event_rate=np.repeat(rate, 2)[kept])
