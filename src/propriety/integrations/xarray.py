"""xarray: scores and reliability over some dimensions of labelled arrays, at every point along the others.

Dimensions and coordinates are matched by name and must agree. Nothing is aligned, broadcast or dropped implicitly,
except that weights may lack dimensions, as the area of a cell does. Lazy arrays are computed.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from propriety.calibration import reliability
from propriety.calibration.decomposition import PARTS
from propriety.calibration.reliability import ReliabilityCurve
from propriety.errors import InputTypeError, InputValueError
from propriety.integrations.libraries import load_library
from propriety.result import Floats
from propriety.rules.rule import Rule
from propriety.rules.scoring import losses_by_chunk
from propriety.tables.validation import TOLERANCE, Labels, Missing, read_cases

if TYPE_CHECKING:
    from xarray import DataArray, Dataset

__all__ = ["Dimensions", "mean_score", "reliability_curve"]

xr = load_library("xarray", extra="xarray")

Dimensions: TypeAlias = Hashable | Sequence[Hashable] | None

COLUMNS = ("forecast_min", "forecast_max", "forecast_mean", "event_rate", "weight")


def mean_score(
    y_true: DataArray,
    y_proba: DataArray,
    *,
    rule: Rule,
    dim: Dimensions = None,
    class_dim: Hashable | None = None,
    sample_weight: DataArray | None = None,
    pos_label: object = None,
    labels: Labels | None = None,
    missing: Missing = "raise",
    tolerance: float = TOLERANCE,
) -> DataArray:
    r"""Weighted mean loss over some dimensions, at every point along the others; lower is better.

    At each point it is :math:`\sum_i w_i S(p_i, y_i) / \sum_i w_i` over the cases :math:`i` along `dim`, where
    :math:`S` is the rule's loss.

    Parameters
    ----------
    y_true : DataArray
        Outcomes.
    y_proba : DataArray
        Probability of the event, with the dimensions of `y_true`; or of each class, with the additional `class_dim`.
    rule : Rule
        The scoring rule.
    dim : name or list of names, optional
        The dimensions to average over; by default all of them, with ``[]`` none.
    class_dim : name, optional
        The dimension of `y_proba` for the classes. Its coordinate, if it has one, holds their labels.
    sample_weight : DataArray, optional
        Weights, finite and not negative, with dimensions of `y_true`.
    pos_label, labels, tolerance
        As in `propriety.mean_score`.
    missing : {"raise", "drop"}
        Whether missing values raise an error, or their cases are left out; without cases the mean is NaN.

    Returns
    -------
    DataArray
        Named after the rule; its attributes hold the rule and its scale.

    Examples
    --------
    >>> import propriety as pr
    >>> import xarray as xr
    >>> y = xr.DataArray([[0, 1], [1, 1]], dims=("time", "site"), coords={"site": ["a", "b"]})
    >>> p = xr.DataArray([[0.0, 0.5], [0.5, 0.5]], dims=("time", "site"), coords={"site": ["a", "b"]})
    >>> mean_score(y, p, rule=pr.Brier(), dim="time").values
    array([0.125, 0.25 ])
    """
    cases = _read(y_true, y_proba, sample_weight, class_dim)
    over = _named(dim, cases.dims)
    judged = read_cases(
        cases.y_true.values.ravel(),
        cases.forecast(),
        sample_weight=None if cases.sample_weight is None else cases.sample_weight.values.ravel(),
        pos_label=pos_label,
        labels=cases.labels(labels),
        missing=missing,
        tolerance=tolerance,
    )
    chunks = list(losses_by_chunk(judged, rule))
    kept = slice(None) if judged.rows is None else judged.rows
    loss, weight = np.zeros(y_true.size), np.zeros(y_true.size)
    loss[kept] = np.concatenate([losses for losses, _ in chunks])
    weight[kept] = np.concatenate([np.ones(len(losses)) if w is None else w for losses, w in chunks])
    # A case of zero weight does not count, even if its loss is infinite.
    weighted = np.multiply(loss, weight, where=weight > 0.0, out=np.zeros(y_true.size))
    total = cases.like_outcomes(weight).sum(over)
    score = cases.like_outcomes(weighted).sum(over) / total.where(total > 0.0)
    return score.rename(rule.name).assign_attrs(rule=repr(rule), scale=rule.units(judged.classes))


def reliability_curve(
    y_true: DataArray,
    y_proba: DataArray,
    *,
    dim: Dimensions = None,
    sample_weight: DataArray | None = None,
    missing: Missing = "raise",
    **options: Any,
) -> Dataset:
    """Event rate as a function of the forecast, from the cases along some dimensions, at every point along the others.

    At each point it is the curve of `propriety.reliability_curve`, which documents the formula and reference.

    Parameters
    ----------
    y_true, y_proba, dim, sample_weight, missing
        As in `mean_score`, for one event.
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
    cases = _read(y_true, y_proba, sample_weight, None)
    over = _named(dim, cases.dims)
    places = [name for name in cases.dims if name not in over]
    outcome, forecast = (_by_place(array, places, over) for array in (cases.y_true, cases.y_proba))
    weight = repeat(None) if cases.sample_weight is None else _by_place(cases.sample_weight, places, over)
    curves = [_curve(*case, missing=missing, options=options) for case in zip(outcome, forecast, weight, strict=False)]
    return _dataset(curves, cases.y_true.isel(dict.fromkeys(over, 0), drop=True), places)


@dataclass(frozen=True, slots=True, eq=False)
class _Cases:
    """Arrays with matching names, with the dimensions in one order and the classes last."""

    y_true: DataArray
    y_proba: DataArray
    sample_weight: DataArray | None
    class_dim: Hashable | None

    @property
    def dims(self) -> tuple[Hashable, ...]:
        return self.y_true.dims

    def forecast(self) -> NDArray[Any]:
        values = self.y_proba.values
        return values.ravel() if self.class_dim is None else values.reshape(-1, values.shape[-1])

    def like_outcomes(self, values: Floats) -> DataArray:
        return self.y_true.drop_attrs().copy(data=values.reshape(self.y_true.shape))

    def labels(self, labels: Labels | None) -> Labels | None:
        """Return the labels of the classes after checking them against the coordinate of their dimension."""
        if self.class_dim is None or self.class_dim not in self.y_proba.coords:
            return labels
        named: list[Any] = self.y_proba[self.class_dim].values.tolist()
        if labels is not None and list(labels) != named:
            law = f"must be those of the coordinate {self.class_dim!r}, {named}"
            raise InputValueError(law, argument="labels", offender=f"got {list(labels)}")
        return named


def _read(y_true: object, y_proba: object, sample_weight: object, class_dim: Hashable | None) -> _Cases:
    given = {"y_true": y_true, "y_proba": y_proba} | ({} if sample_weight is None else {"sample_weight": sample_weight})
    for argument, array in given.items():
        if not isinstance(array, xr.DataArray):
            law = "must be an xarray.DataArray"
            raise InputTypeError(
                law,
                argument=argument,
                offender=f"got {type(array).__name__}",
                hint="propriety.mean_score takes arrays without names.",
            )
    arrays: dict[str, Any] = dict(given)
    dims = arrays["y_true"].dims
    _check_dims("y_proba", arrays["y_proba"], (*dims, *(() if class_dim is None else (class_dim,))))
    _check_coordinates(arrays)
    arrays["y_proba"] = arrays["y_proba"].transpose(*dims, ...)
    if sample_weight is not None:
        extra = [name for name in arrays["sample_weight"].dims if name not in dims]
        if extra:
            raise InputValueError(
                f"must have dimensions of y_true, {dims}", argument="sample_weight", offender=f"it has {extra}"
            )
        arrays["sample_weight"] = arrays["sample_weight"].broadcast_like(arrays["y_true"]).transpose(*dims)
    return _Cases(arrays["y_true"], arrays["y_proba"], arrays.get("sample_weight"), class_dim)


def _check_dims(argument: str, array: Any, dims: tuple[Hashable, ...]) -> None:
    if set(array.dims) != set(dims):
        law = f"must have the dimensions {dims}"
        raise InputValueError(
            law,
            argument=argument,
            offender=f"got {array.dims}",
            hint="name the dimension of the classes with class_dim=.",
        )


def _check_coordinates(arrays: dict[str, Any]) -> None:
    try:
        xr.align(*arrays.values(), join="exact", copy=False)
    except ValueError as error:
        law = f"{' and '.join(arrays)} must have equal coordinates along the dimensions that they share"
        raise InputValueError(law, hint="align them with xarray.align.") from error


def _named(dim: Dimensions, dims: tuple[Hashable, ...]) -> list[Hashable]:
    """Return the dimensions to reduce after checking that they exist."""
    if dim is None:
        return list(dims)
    names = [dim] if isinstance(dim, str) or not isinstance(dim, Iterable) else list(dict.fromkeys(dim))
    unknown = [name for name in names if name not in dims]
    if unknown:
        raise InputValueError(f"must name dimensions of y_true, {dims}", argument="dim", offender=f"got {unknown[0]!r}")
    return names


def _by_place(array: DataArray, places: list[Hashable], over: list[Hashable]) -> NDArray[Any]:
    """Return the values with one row per point."""
    ordered = array.transpose(*places, *over)
    count = int(np.prod(ordered.shape[: len(places)], dtype=np.intp))
    return ordered.values.reshape(count, -1)


def _curve(
    outcome: NDArray[Any], forecast: NDArray[Any], weight: NDArray[Any] | None, *, missing: Missing, options: Any
) -> ReliabilityCurve | None:
    """Return the curve of one point, or None if no case counts."""
    counts = np.ones(len(outcome), dtype=bool) if weight is None else weight != 0.0
    if missing == "drop":
        for values in (outcome, forecast) if weight is None else (outcome, forecast, weight):
            counts &= xr.DataArray(values).notnull().values
    if not counts.any():
        return None
    return reliability.reliability_curve(outcome, forecast, sample_weight=weight, missing=missing, **options)


def _dataset(curves: list[ReliabilityCurve | None], at: Any, places: list[Hashable]) -> Dataset:
    shape = [at.sizes[name] for name in places]
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
    curves_by_place: Dataset = xr.Dataset(variables | {"n": (places, n.reshape(shape))}, coords=at.coords)
    return curves_by_place
