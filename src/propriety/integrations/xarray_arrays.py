"""Named arrays: outcomes, forecasts and weights with the same dimensions and coordinates.

Dimensions are matched by name. An array that lacks some is repeated along them, as an observation is for every lead
time. Coordinates must be equal, unless ``join="inner"`` is passed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from propriety import checks
from propriety.errors import InputValueError
from propriety.integrations import load_library
from propriety.tables.labels import Labels

if TYPE_CHECKING:
    from xarray import DataArray, Dataset

xr = load_library("xarray", extra="xarray")

Dimensions: TypeAlias = Hashable | Sequence[Hashable] | None
Join: TypeAlias = Literal["exact", "inner"]


class Point(NamedTuple):
    """The values of the cases of one point, or of a block of points."""

    outcome: NDArray[Any]
    forecasts: Mapping[str, NDArray[Any]]
    weight: NDArray[Any] | None

    def has_cases(self, missing: str) -> bool:
        """Whether any case has a weight and, if cases with missing values are dropped, none of those."""
        if self.weight is None and missing != "drop":
            return self.outcome.size > 0
        counts = np.ones(self.outcome.shape, dtype=bool) if self.weight is None else self.weight != 0.0
        if missing == "drop":
            for values in (self.outcome, *self.forecasts.values(), *([] if self.weight is None else [self.weight])):
                known = xr.Variable(range(values.ndim), values).notnull().values
                counts &= known.all(axis=tuple(range(counts.ndim, values.ndim)))
        return bool(counts.any())


class Layout(NamedTuple):
    """What the blocks of some arrays hold, without the arrays, which would be copied to every worker of Dask."""

    forecasts: tuple[str, ...]
    weighted: bool

    def point(self, values: Sequence[NDArray[Any]]) -> Point:
        """Return the values of a block with their names."""
        outcome, *rest = values
        weight = rest.pop() if self.weighted else None
        return Point(outcome, dict(zip(self.forecasts, rest, strict=True)), weight)


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
    over : list of names
        The dimensions of the cases of a point.
    reading : dict
        How the values are read: `pos_label`, `labels`, `missing` and so on.
    """

    y_true: DataArray
    forecasts: Mapping[str, DataArray]
    sample_weight: DataArray | None
    class_dim: Hashable | None
    over: list[Hashable]
    reading: dict[str, Any]

    @property
    def all(self) -> list[DataArray]:
        """The outcomes, the forecasts, and the weights if there are any."""
        return [self.y_true, *self.forecasts.values(), *([] if self.sample_weight is None else [self.sample_weight])]

    @property
    def is_lazy(self) -> bool:
        """Whether any of the arrays is one of Dask."""
        return any(array.chunks is not None for array in self.all)

    def core_dims(self, over: Sequence[Hashable]) -> list[list[Hashable]]:
        """Return the dimensions that a function needs whole, for each of `all`: `over` and that of the classes."""
        return [[*over, *(dim for dim in array.dims if dim == self.class_dim)] for array in self.all]

    @property
    def classes(self) -> int | None:
        """Number of classes; None for one event, whose probabilities may have one column or two."""
        forecast = next(iter(self.forecasts.values()))
        size = 0 if self.class_dim is None else forecast.sizes[self.class_dim]
        return size if size > 2 else None

    def coordinate(self, dim: Hashable) -> NDArray[Any]:
        """Return the coordinate of a dimension, which only some of the arrays may have; numbers without one."""
        indexed = next((array for array in self.all if dim in array.coords), self.y_true)
        return indexed[dim].values

    @property
    def layout(self) -> Layout:
        """What a function of blocks of `all` needs to know of them."""
        return Layout(tuple(self.forecasts), self.sample_weight is not None)


def at_points(function: Callable[[Point], Sequence[Any]], arrays: Arrays, absent: Mapping[str, Any]) -> Dataset:
    """Apply a function to the cases of every point; the result is lazy if any of the arrays is.

    Parameters
    ----------
    function : callable
        What to compute from a point: a value for each of the names.
    arrays : Arrays
        The arrays. A chunk of points then holds all of their cases.
    absent : mapping of str to object
        The names, and their values at points without cases.
    """
    block = points_block(function, arrays, absent)
    parts = xr.apply_ufunc(
        block,
        *arrays.all,
        input_core_dims=arrays.core_dims(arrays.over),
        output_core_dims=[[] for _ in absent],
        dask="parallelized",
        dask_gufunc_kwargs={"allow_rechunk": True},
        output_dtypes=[_dtype(value) for value in absent.values()],
        keep_attrs=False,
    )
    return xr.Dataset(dict(zip(absent, parts if len(absent) > 1 else [parts], strict=True)))


def points_block(
    function: Callable[[Point], Sequence[Any]], arrays: Arrays, absent: Mapping[str, Any]
) -> Callable[..., Any]:
    """Return the function of the values of a block, with the cases last, that applies another one at each point."""
    layout, cases, missing = arrays.layout, len(arrays.over), arrays.reading["missing"]

    def block(*values: NDArray[Any]) -> Any:
        axes = values[0].ndim
        shape = values[0].shape[: axes - cases]
        count, size = (int(np.prod(lengths, dtype=np.intp)) for lengths in (shape, values[0].shape[len(shape) :]))
        rows = [array.reshape(count, size, *array.shape[axes:]) for array in values]
        results: list[NDArray[Any]] = [np.full(count, value, dtype=_dtype(value)) for value in absent.values()]
        for row in range(count):
            point = layout.point([array[row] for array in rows])
            if point.has_cases(missing):
                for result, value in zip(results, function(point), strict=True):
                    result[row] = value
        made = tuple(result.reshape(shape) for result in results)
        return made if len(made) > 1 else made[0]

    return block


def _dtype(value: Any) -> type:
    return type(value) if isinstance(value, int | float) else object


def read_arrays(
    y_true: object,
    forecasts: Mapping[str, object],
    sample_weight: object,
    reading: dict[str, Any],
    *,
    dim: Dimensions,
    join: Join,
    class_dim: Hashable | None = None,
) -> Arrays:
    """Read arrays, check their dimensions and coordinates, and repeat them along the dimensions that they lack.

    Parameters
    ----------
    y_true, sample_weight : DataArray
        Outcomes, and weights if there are any.
    forecasts : mapping of str to DataArray
        Forecasts by their name in errors.
    reading : dict
        How values are read. Labels must be those of the coordinate of the classes.
    dim, class_dim : name, optional
        Dimensions of the cases of a point, all by default, and of the classes.
    join : {"exact", "inner"}
        Whether coordinates must be equal, or only those that all arrays have are kept.
    """
    arrays: dict[str, Any] = {"y_true": y_true, **forecasts}
    arrays |= {} if sample_weight is None else {"sample_weight": sample_weight}
    for argument, array in arrays.items():
        hint = "functions of propriety itself take arrays without names."
        checks.instance(array, argument, xr.DataArray, "an xarray.DataArray", hint=hint)
    _check_classes(arrays, forecasts, class_dim)
    dims = _check_dims({name: array for name, array in arrays.items() if name != "sample_weight"}, arrays, class_dim)
    aligned = align_arrays(arrays, join, class_dim=class_dim)
    _check_other_coordinates(aligned)
    wide: Iterable[Any] = aligned.values()
    if any(set(dims).difference(array.dims) for array in wide):
        wide = xr.broadcast(*wide, exclude=() if class_dim is None else (class_dim,))
    ordered = dict(zip(aligned, (_in_order(array, dims) for array in wide), strict=True))
    return Arrays(
        y_true=ordered["y_true"],
        forecasts={name: ordered[name] for name in forecasts},
        sample_weight=ordered.get("sample_weight"),
        class_dim=class_dim,
        over=named_dims(dim, dims),
        reading=reading | {"labels": _class_labels(ordered.values(), class_dim, reading["labels"])},
    )


def _class_labels(arrays: Iterable[Any], class_dim: Hashable | None, labels: Labels | None) -> Labels | None:
    """Return the labels of the classes after checking them against the coordinate of their dimension."""
    indexed = next((array for array in arrays if class_dim in array.coords), None)
    if indexed is None:
        return labels
    named: list[Any] = indexed[class_dim].values.tolist()
    if labels is not None and list(labels) != named:
        law = f"must be those of the coordinate {class_dim!r}, {named}"
        raise InputValueError(law, argument="labels", offender=f"got {list(labels)}")
    return named


def _in_order(array: Any, dims: tuple[Hashable, ...]) -> Any:
    return array if array.dims[: len(dims)] == dims else array.transpose(*dims, ...)


def named_dims(dim: Dimensions, dims: tuple[Hashable, ...], argument: str = "dim") -> list[Hashable]:
    """Return the dimensions that the user names after checking that they exist; all of them by default."""
    if dim is None or dim is ...:
        return list(dims)
    names = [dim] if isinstance(dim, str) or not isinstance(dim, Iterable) else list(dict.fromkeys(dim))
    return [checks.choice(name, argument, dims) for name in names]


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
    checks.choice(join, "join", get_args(Join))
    found = dict(arrays)
    if join == "inner":
        exclude = () if class_dim is None else (class_dim,)
        found = dict(zip(arrays, xr.align(*arrays.values(), join="inner", exclude=exclude), strict=True))
    empty = any(size == 0 for array in found.values() for size in array.sizes.values())
    _check_coordinates(arrays if empty else found, class_dim)
    return found


def _check_other_coordinates(arrays: Mapping[str, Any]) -> None:
    """Raise an error if the outcomes are of another place or time than a forecast, by a coordinate without index.

    Two forecasts may differ in such a coordinate, as those of two lead times do.
    """
    y_true = arrays["y_true"]
    for argument, array in arrays.items():
        for name in set(y_true.coords) & set(array.coords) - set(y_true.indexes) - set(array.indexes):
            ours, theirs = y_true[name], array[name]
            compared = ours.dims == theirs.dims and ours.chunks is None and theirs.chunks is None
            if compared and not ours.variable.equals(theirs.variable):
                hint = f"if they may differ, pass y_true.drop_vars({name!r})."
                raise InputValueError(f"y_true and {argument} must have an equal coordinate {name!r}", hint=hint)


def _check_coordinates(arrays: Mapping[str, Any], class_dim: Hashable | None) -> None:
    """Raise an error for the first dimension along which two arrays have different coordinates."""
    for dim in dict.fromkeys(dim for array in arrays.values() for dim in array.dims):
        having = [(argument, array) for argument, array in arrays.items() if dim in array.dims]
        having.sort(key=lambda entry: dim not in entry[1].indexes)
        first, one = having[0]
        for second, two in having[1:]:
            if dim in two.indexes and not one.indexes[dim].equals(two.indexes[dim]):
                indexes = {first: one.indexes[dim], second: two.indexes[dim]}
                raise _unequal(dim, indexes, classes=dim == class_dim)
            if one.sizes[dim] != two.sizes[dim]:
                law = f"{first} and {second} must have the same length along {dim!r}"
                raise InputValueError(law, offender=f"they have {one.sizes[dim]:,} and {two.sizes[dim]:,}")


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
