"""Reliability curves and decompositions from the forecast table of every point of named arrays.

The tables of the chunks of a Dask array are made separately and merged, so that no chunk needs to fit in memory with
another. They are small if forecasts repeat, as those of an ensemble do.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import partial
from importlib import import_module
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from propriety.calibration import reliability
from propriety.calibration.decomposition import PARTS, decompose_table
from propriety.calibration.reliability import ReliabilityCurve
from propriety.errors import InputValueError
from propriety.integrations import load_library
from propriety.integrations.xarray_arrays import (
    Arrays,
    Dimensions,
    Join,
    Point,
    at_points,
    named_dims,
    points_block,
    read_arrays,
)
from propriety.rules.families import BRIER
from propriety.rules.rule import Rule, check_rule
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.frames import first_repeated
from propriety.tables.labels import Labels
from propriety.tables.validation import Missing

if TYPE_CHECKING:
    from xarray import DataArray, Dataset

xr = load_library("xarray", extra="xarray")

COLUMNS = ("forecast_min", "forecast_max", "forecast_mean", "event_rate", "weight")


def reliability_curve(
    y_true: DataArray,
    y_proba: DataArray,
    *,
    dim: Dimensions = None,
    sample_weight: DataArray | None = None,
    join: Join = "exact",
    pos_label: object = None,
    labels: Labels | None = None,
    missing: Missing = "raise",
    **options: Any,
) -> Dataset:
    """Event rate as a function of the forecast, from the cases along some dimensions, at every point along the others.

    At each point it is the curve of `propriety.reliability_curve`, which documents the formula and reference. Dask
    arrays are computed once, because the number of blocks depends on the values.

    Parameters
    ----------
    y_true, y_proba, dim, sample_weight, join, pos_label, labels, missing
        As in `propriety.integrations.xarray.mean_score`, for one event.
    **options
        Options of `propriety.reliability_curve`, such as `method`.

    Returns
    -------
    Dataset
        The columns of `ReliabilityCurve` along the dimension "block", padded with NaN at points with fewer blocks; the
        parts of the Brier score; and `n`, the number of cases. A point without cases has n = 0 and NaN elsewhere.

    Examples
    --------
    >>> import xarray as xr
    >>> y = xr.DataArray([[0, 1], [1, 1], [0, 0]], dims=("time", "site"))
    >>> p = xr.DataArray([[0.1, 0.9], [0.3, 0.5], [0.5, 0.1]], dims=("time", "site"))
    >>> curves = reliability_curve(y, p, dim="time")
    >>> curves["event_rate"].values
    array([[0. , 0.5],
           [0. , 1. ]])
    >>> curves["miscalibration"].values.round(3)
    array([0.083, 0.09 ])
    """
    reading = {"pos_label": pos_label, "labels": labels, "missing": missing}
    arrays = read_arrays(y_true, {"y_proba": y_proba}, sample_weight, reading, dim=dim, join=join)
    tables = _tables(arrays).compute()
    return _dataset(tables, [None if table is None else _curve(table, options) for table in tables.values.ravel()])


def reliability_by(
    y_true: DataArray,
    y_proba: DataArray,
    by: Dimensions,
    *,
    sample_weight: DataArray | None = None,
    join: Join = "exact",
    pos_label: object = None,
    labels: Labels | None = None,
    missing: Missing = "raise",
    **options: Any,
) -> dict[str, ReliabilityCurve]:
    """Return the reliability curves at every point along some dimensions, for small multiples.

    Parameters
    ----------
    y_true, y_proba, sample_weight, join, pos_label, labels, missing, **options
        As in `reliability_curve`.
    by : name or list of names
        The dimensions to keep, such as the lead time; cases are pooled over all others. Coordinates along them must
        differ.

    Returns
    -------
    dict of str to ReliabilityCurve
        By the names and coordinates of the point, such as "lead 24"; points without cases are left out.
        `propriety.plots.plot_grid` draws them side by side.

    Examples
    --------
    >>> import xarray as xr
    >>> y = xr.DataArray([0, 1, 1], dims="time")
    >>> p = xr.DataArray([[0.2, 0.4, 0.9], [0.5, 0.4, 0.6]], dims=("lead", "time"), coords={"lead": [24, 72]})
    >>> curves = reliability_by(y, p, "lead")
    >>> {lead: round(curve.decomposition.miscalibration, 3) for lead, curve in curves.items()}
    {'lead 24': 0.137, 'lead 72': 0.09}
    """
    reading = {"pos_label": pos_label, "labels": labels, "missing": missing}
    arrays = read_arrays(y_true, {"y_proba": y_proba}, sample_weight, reading, dim=None, join=join)
    kept = named_dims(by, arrays.y_true.dims, "by")
    points = product(*(_point_names(arrays, name) for name in kept))
    pooled = replace(arrays, over=[name for name in arrays.over if name not in kept])
    tables = _tables(pooled).transpose(*kept).compute()
    return {
        ", ".join(name): _curve(table, options)
        for name, table in zip(points, tables.values.ravel(), strict=True)
        if table is not None
    }


def decompose(
    y_true: DataArray,
    y_proba: DataArray,
    *,
    rule: Rule = BRIER,
    dim: Dimensions = None,
    sample_weight: DataArray | None = None,
    join: Join = "exact",
    pos_label: object = None,
    labels: Labels | None = None,
    missing: Missing = "raise",
) -> Dataset:
    """Miscalibration, discrimination and uncertainty of a score, at every point.

    At each point it is the result of `propriety.decompose`, which documents the formula and reference. Dask arrays stay
    lazy.

    Parameters
    ----------
    y_true, y_proba, dim, sample_weight, join, pos_label, labels, missing
        As in `propriety.integrations.xarray.mean_score`, for one event.
    rule : Rule
        Any proper rule for one event.

    Returns
    -------
    Dataset
        `score`, `miscalibration`, `discrimination` and `uncertainty`, NaN at points without cases; and `n`.

    Examples
    --------
    >>> import xarray as xr
    >>> y = xr.DataArray([0, 1, 1], dims="time")
    >>> p = xr.DataArray([[0.2, 0.4, 0.9], [0.5, 0.4, 0.6]], dims=("lead", "time"), coords={"lead": [24, 72]})
    >>> decompose(y, p, dim="time")["discrimination"].values.round(3)
    array([0.222, 0.056])
    """
    check_rule(rule)
    reading = {"pos_label": pos_label, "labels": labels, "missing": missing}
    arrays = read_arrays(y_true, {"y_proba": y_proba}, sample_weight, reading, dim=dim, join=join)

    def parts_of(table: ForecastTable | None) -> tuple[Any, ...]:
        if table is None:
            return *(np.nan for _ in PARTS), 0
        parts = decompose_table(table, rule)
        return *(getattr(parts, part) for part in PARTS), table.n

    parts = xr.apply_ufunc(
        parts_of,
        _tables(arrays),
        output_core_dims=[[] for _ in (*PARTS, "n")],
        vectorize=True,
        dask="parallelized",
        output_dtypes=[*(np.float64 for _ in PARTS), np.int64],
    )
    return xr.Dataset(dict(zip((*PARTS, "n"), parts, strict=True)), attrs={"rule": repr(rule)})


def _tables(arrays: Arrays) -> DataArray:
    """Return the forecast table of every point, None without cases; lazy if any of the arrays is."""
    reading = arrays.reading

    def table(point: Point) -> list[ForecastTable]:
        (forecast,) = point.forecasts.values()
        return [ForecastTable.from_predictions(point.outcome, forecast, sample_weight=point.weight, **reading)]

    absent = {"table": None}
    if not arrays.is_lazy:
        return at_points(table, arrays, absent)["table"]
    axes = tuple(range(arrays.y_true.ndim - len(arrays.over), arrays.y_true.ndim))
    block = points_block(table, arrays, absent)
    return xr.apply_ufunc(
        partial(_lazy_tables, block=lambda *values: np.expand_dims(block(*values), axes), axes=axes),
        *xr.unify_chunks(*(array if array.chunks is not None else array.chunk() for array in arrays.all)),
        input_core_dims=arrays.core_dims(arrays.over),
        dask="allowed",
        keep_attrs=False,
    )


def _lazy_tables(*values: Any, block: Callable[..., NDArray[Any]], axes: tuple[int, ...]) -> Any:
    """Return the merged tables of the chunks of some Dask arrays."""
    da: Any = import_module("dask.array")  # Its types are incomplete.
    ndim = values[0].ndim
    chunks = tuple((1,) * len(sizes) if axis in axes else sizes for axis, sizes in enumerate(values[0].chunks))
    tables = da.map_blocks(block, *values, chunks=chunks, dtype=object, meta=np.empty((0,) * ndim, dtype=object))
    if not axes:
        return tables
    meta = np.empty((0,) * (ndim - len(axes)), dtype=object)
    return da.reduction(tables, chunk=_merged, aggregate=_merged, axis=axes, dtype=object, meta=meta)


def _merged(tables: NDArray[Any], axis: tuple[int, ...], keepdims: bool) -> NDArray[Any]:  # noqa: FBT001  (Dask's names)
    """Return the tables of the union of the cases along some axes."""
    kept = [place for place in range(tables.ndim) if place not in axis]
    rows = tables.transpose(*kept, *axis)
    merged = np.full(rows.shape[: len(kept)], None, dtype=object)
    for place in np.ndindex(merged.shape):
        known = [table for table in rows[place].flat if table is not None]
        if known:
            merged[place] = ForecastTable.merge(known)
    return np.expand_dims(merged, axis) if keepdims else merged


def _curve(table: ForecastTable, options: dict[str, Any]) -> ReliabilityCurve:
    return reliability.reliability_curve(table, **options)


def _point_names(arrays: Arrays, dim: Hashable) -> list[str]:
    """Return the name of each point along a dimension, such as "lead 24", which must differ."""
    names = [f"{dim} {_shown(at)}" for at in arrays.coordinate(dim)]
    if (repeated := first_repeated(names)) is not None:
        raise InputValueError(
            "must name dimensions without repeated coordinates",
            argument="by",
            offender=f"{repeated!r} occurs {names.count(repeated):,} times",
            hint="give every point its own coordinate with .assign_coords().",
        )
    return names


def _shown(at: Any) -> str:
    """Return a coordinate as text; lead times that are durations in their largest whole unit."""
    if isinstance(at, np.timedelta64):
        whole = next((unit for unit in ("D", "h", "m", "s") if not (at % np.timedelta64(1, unit)).astype(int)), None)
        return str(at) if whole is None else str(at.astype(f"timedelta64[{whole}]"))
    if isinstance(at, np.datetime64):
        return str(at).removesuffix("T00:00:00.000000000")
    return str(at)


def _dataset(tables: DataArray, curves: list[ReliabilityCurve | None]) -> Dataset:
    places, shape = list(tables.dims), tables.shape
    length = max((len(curve.event_rate) for curve in curves if curve is not None), default=0)
    blocks = np.full((len(COLUMNS), len(curves), length), np.nan)
    parts = np.full((len(PARTS), len(curves)), np.nan)
    for place, curve in enumerate(curves):
        if curve is not None:
            blocks[:, place, : len(curve.event_rate)] = [getattr(curve, column) for column in COLUMNS]
            parts[:, place] = [getattr(curve.decomposition, part) for part in PARTS]
    n = np.array([0 if curve is None else curve.n for curve in curves])
    variables = {
        column: ([*places, "block"], values.reshape(*shape, length))
        for column, values in zip(COLUMNS, blocks, strict=True)
    }
    variables |= {part: (places, values.reshape(shape)) for part, values in zip(PARTS, parts, strict=True)}
    return xr.Dataset(variables | {"n": (places, n.reshape(shape))}, coords=tables.coords)
