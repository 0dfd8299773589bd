"""Named arrays: outcomes, forecasts and weights with the same dimensions and coordinates.

Dimensions are matched by name. An array that lacks some is repeated along them, as an observation is for every lead
time. Coordinates must be equal, unless ``join="inner"`` is passed.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from propriety.checks import check_choice
from propriety.errors import InputTypeError, InputValueError
from propriety.integrations.libraries import load_library
from propriety.tables.labels import Labels

if TYPE_CHECKING:
    from xarray import DataArray

xr = load_library("xarray", extra="xarray")

Dimensions: TypeAlias = Hashable | Sequence[Hashable] | None
Join: TypeAlias = Literal["exact", "inner"]


class Layout(NamedTuple):
    """What the blocks of some arrays hold, without the arrays, which would be copied to every worker of Dask."""

    forecasts: tuple[str, ...]
    weighted: bool
    class_dim: Hashable | None

    def split(self, values: Sequence[NDArray[Any]]) -> tuple[NDArray[Any], list[NDArray[Any]], NDArray[Any] | None]:
        """Return the outcomes, the forecasts and the weights of a block."""
        outcome, *rest = values
        return (outcome, rest[:-1], rest[-1]) if self.weighted else (outcome, rest, None)


@dataclass(frozen=True, slots=True, eq=False)
class Arrays:
    """Arrays with the same dimensions in one order, and the classes last.

    Parameters
    ----------
    y_true : DataArray
        Outcomes.
    forecasts : mapping of str to DataArray
        Forecasts by name.
    sample_weight : DataArray, optional
        Weights.
    class_dim : name, optional
        Dimension of the classes, which only the forecasts have.
    """

    y_true: DataArray
    forecasts: Mapping[str, DataArray]
    sample_weight: DataArray | None
    class_dim: Hashable | None

    @property
    def dims(self) -> tuple[Hashable, ...]:
        """Dimensions of the cases."""
        return self.y_true.dims

    @property
    def all(self) -> list[DataArray]:
        """The outcomes, the forecasts, and the weights if there are any."""
        return [self.y_true, *self.forecasts.values(), *([] if self.sample_weight is None else [self.sample_weight])]

    def core_dims(self, over: Sequence[Hashable] = ()) -> list[list[Hashable]]:
        """Return the dimensions that a function needs whole, for each of `all`: `over` and that of the classes."""
        classes = [] if self.class_dim is None else [self.class_dim]
        weights = [] if self.sample_weight is None else [[*over]]
        return [[*over], *([*over, *classes] for _ in self.forecasts), *weights]

    @property
    def classes(self) -> int | None:
        """Number of classes; None for one event, whose probabilities may have one column or two."""
        forecast = next(iter(self.forecasts.values()))
        size = 0 if self.class_dim is None else forecast.sizes[self.class_dim]
        return size if size > 2 else None

    @property
    def layout(self) -> Layout:
        """What a function of blocks of `all` needs to know of them."""
        return Layout(tuple(self.forecasts), self.sample_weight is not None, self.class_dim)

    def labels(self, labels: Labels | None) -> Labels | None:
        """Return the labels of the classes after checking them against the coordinate of their dimension."""
        forecast = next((one for one in self.forecasts.values() if self.class_dim in one.coords), None)
        if forecast is None:
            return labels
        named: list[Any] = forecast[self.class_dim].values.tolist()
        if labels is not None and list(labels) != named:
            law = f"must be those of the coordinate {self.class_dim!r}, {named}"
            raise InputValueError(law, argument="labels", offender=f"got {list(labels)}")
        return named


def read_arrays(
    y_true: object,
    forecasts: Mapping[str, object],
    sample_weight: object = None,
    *,
    class_dim: Hashable | None = None,
    join: Join = "exact",
) -> Arrays:
    """Read arrays, check their dimensions and coordinates, and repeat them along the dimensions that they lack.

    Parameters
    ----------
    y_true, sample_weight : DataArray
        Outcomes, and weights if there are any.
    forecasts : mapping of str to DataArray
        Forecasts by their name in errors.
    class_dim : name, optional
        Dimension of the classes.
    join : {"exact", "inner"}
        Whether coordinates must be equal, or only those that all arrays have are kept.
    """
    arrays: dict[str, Any] = {"y_true": y_true, **forecasts}
    arrays |= {} if sample_weight is None else {"sample_weight": sample_weight}
    for argument, array in arrays.items():
        if not isinstance(array, xr.DataArray):
            raise InputTypeError(
                "must be an xarray.DataArray",
                argument=argument,
                offender=f"got {type(array).__name__}",
                hint="functions of propriety itself take arrays without names.",
            )
    _check_classes(arrays, forecasts, class_dim)
    dims = _check_dims({name: array for name, array in arrays.items() if name != "sample_weight"}, arrays, class_dim)
    aligned = align_arrays(arrays, join, class_dim=class_dim)
    aligned["y_true"] = _with_indexes(aligned["y_true"], aligned.values())
    wide: Iterable[Any] = aligned.values()
    if any(set(dims).difference(array.dims) for array in wide):
        wide = xr.broadcast(*wide, exclude=() if class_dim is None else (class_dim,))
    ordered = dict(zip(aligned, (_in_order(array, dims) for array in wide), strict=True))
    return Arrays(
        ordered["y_true"], {name: ordered[name] for name in forecasts}, ordered.get("sample_weight"), class_dim
    )


def _in_order(array: Any, dims: tuple[Hashable, ...]) -> Any:
    return array if array.dims[: len(dims)] == dims else array.transpose(*dims, ...)


def named_dims(dim: Dimensions, dims: tuple[Hashable, ...], argument: str = "dim") -> list[Hashable]:
    """Return the dimensions that the user names after checking that they exist; all of them by default."""
    if dim is None or dim is ...:
        return list(dims)
    names = [dim] if isinstance(dim, str) or not isinstance(dim, Iterable) else list(dict.fromkeys(dim))
    unknown = [name for name in names if name not in dims]
    if unknown:
        law = f"must name dimensions of the cases, {dims}"
        raise InputValueError(law, argument=argument, offender=f"got {unknown[0]!r}")
    return names


def has_cases(
    outcome: NDArray[Any], forecasts: Sequence[NDArray[Any]], weight: NDArray[Any] | None, *, drop: bool
) -> bool:
    """Whether any case of these has a weight and, if cases with missing values are dropped, none of those."""
    if weight is None and not drop:
        return outcome.size > 0
    counts = np.ones(outcome.shape, dtype=bool) if weight is None else weight != 0.0
    if drop:
        for values in (outcome, *forecasts, *(() if weight is None else (weight,))):
            known = xr.Variable(range(values.ndim), values).notnull().values
            counts &= known.all(axis=tuple(range(outcome.ndim, values.ndim)))
    return bool(counts.any())


def _check_classes(arrays: Mapping[str, Any], forecasts: Mapping[str, object], class_dim: Hashable | None) -> None:
    if class_dim is None:
        return
    for argument, array in arrays.items():
        if (class_dim in array.dims) != (argument in forecasts):
            law = f"must {'' if argument in forecasts else 'not '}have the dimension of the classes, {class_dim!r}"
            raise InputValueError(law, argument=argument, offender=f"it has {array.dims}")


def _check_dims(
    cases: Mapping[str, Any], arrays: Mapping[str, Any], class_dim: Hashable | None
) -> tuple[Hashable, ...]:
    """Return the dimensions of the cases: those of the array that has most, which must have those of all others."""
    own = {name: [dim for dim in array.dims if dim != class_dim] for name, array in arrays.items()}
    widest = max(cases, key=lambda name: len(own[name]))
    for argument, dims in own.items():
        extra = [dim for dim in dims if dim not in own[widest]]
        if extra:
            lacking = [dim for dim in own[widest] if dim not in dims]
            size = arrays[argument].sizes[extra[0]]
            likely = [dim for dim in lacking if arrays[widest].sizes[dim] == size] or lacking
            hints = [f"rename {extra[0]!r} if it is {likely[0]!r}"] if likely else []
            hints += ["class_dim= names the dimension of classes"] if class_dim is None else []
            raise InputValueError(
                f"must have no dimension that {widest} lacks, which has {tuple(own[widest])}",
                argument=argument,
                offender=f"it has {extra}",
                hint=f"{'; '.join(hints)}." if hints else "",
            )
    return tuple(own[widest])


def align_arrays(arrays: Mapping[str, Any], join: Join, *, class_dim: Hashable | None = None) -> dict[str, Any]:
    """Return arrays with equal coordinates; those of the classes must be equal with any `join`."""
    check_choice("join", join, get_args(Join))
    found = dict(arrays)
    if join == "inner":
        exclude = () if class_dim is None else (class_dim,)
        found = dict(zip(arrays, xr.align(*arrays.values(), join="inner", exclude=exclude), strict=True))
    empty = any(size == 0 for array in found.values() for size in array.sizes.values())
    _check_coordinates(arrays if empty else found, class_dim)
    return found


def _with_indexes(array: Any, others: Iterable[Any]) -> Any:
    """Return an array with the coordinates of its dimensions that only others have."""
    for other in others:
        for dim in array.dims:
            if dim not in array.indexes and dim in other.indexes:
                index = other.indexes[dim]
                # `Coordinates.from_xindex` is of a later version than the oldest that is supported.
                several = index.nlevels > 1
                own = xr.Coordinates.from_pandas_multiindex(index, dim) if several else {dim: other[dim].variable}
                array = array.assign_coords(own)
    return array


def _check_coordinates(arrays: Mapping[str, Any], class_dim: Hashable | None) -> None:
    """Raise an error for the first dimension along which two arrays have different coordinates."""
    seen: dict[Hashable, tuple[str, Any]] = {}
    for argument, array in arrays.items():
        for dim in array.dims:
            other, first = seen.setdefault(dim, (argument, array))
            one, two = first.indexes.get(dim), array.indexes.get(dim)
            if one is None or two is None:
                if first.sizes[dim] != array.sizes[dim]:
                    law = f"{other} and {argument} must have the same length along {dim!r}"
                    raise InputValueError(law, offender=f"they have {first.sizes[dim]:,} and {array.sizes[dim]:,}")
                if one is None:
                    seen[dim] = (argument, array)
            elif not one.equals(two):
                raise _unequal(dim, {other: one, argument: two}, classes=dim == class_dim)


def _unequal(dim: Hashable, indexes: Mapping[str, Any], *, classes: bool) -> InputValueError:
    """Return the error for two different coordinates, with what would make them equal."""
    (first, one), (second, two) = indexes.items()
    shared = len(one.intersection(two))
    offender = f"they have {len(one):,} and {len(two):,} values, {shared:,} in common"
    if len(one) == len(two) and shared == len(one.unique()) == len(two.unique()):
        offender = "they have the same values in another order"
        hint = f'sort both with .sortby({dim!r}), or pass join="inner".'
        if classes:  # Sorting would change scores of ordered classes.
            hint = f"{second}.sel({{{dim!r}: {first}[{dim!r}]}}) has the order of {first}."
    elif len(one) == len(two) and one.dtype.kind == two.dtype.kind == "f" and np.allclose(one, two):
        offender = "they differ only by rounding"
        hint = f"{second}.assign_coords({{{dim!r}: {first}[{dim!r}]}}) makes them equal."
    elif shared:
        hint = "" if classes else f'join="inner" keeps the {shared:,} in common.'
    elif len(one) == 0 or len(two) == 0:
        hint = ""
    else:
        hint = f"{first} begins with {one[0]} and {second} with {two[0]}: do they mean the same?"
    return InputValueError(
        f"{first} and {second} must have equal coordinates along {dim!r}", offender=offender, hint=hint
    )
