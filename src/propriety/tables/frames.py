"""Columns of data frames, eager or lazy, and the names of columns, models and keys."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Required, TypedDict, TypeVar

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from propriety import demands
from propriety.errors import InputTypeError, InputValueError, ProprietyError, Wording
from propriety.tables.arrays import missing_cases, read_array
from propriety.tables.keys import code_keys, ordered_categories

if TYPE_CHECKING:
    from propriety.tables.labels import Labels
    from propriety.tables.validation import Missing


Made = TypeVar("Made")


class Options(TypedDict, total=False):
    """Arguments of `ForecastTable.from_frame` other than the frame and its groups."""

    outcome: Required[str]
    forecast: Required[str]
    weight: str | None
    pos_label: object
    labels: Labels | None
    missing: Missing
    exact: bool
    budget: int
    cells: int | None


def known(frame: object) -> nw.DataFrame[Any] | nw.LazyFrame[Any]:
    """Return a frame as a narwhals frame, eager or lazy."""
    try:
        found: nw.DataFrame[Any] | nw.LazyFrame[Any] = nw.from_native(frame)
    except TypeError as error:
        law = "must be a data frame that narwhals knows"
        raise InputTypeError(law, argument="frame", got_type=frame, hint="use from_predictions for arrays.") from error
    except nw.exceptions.DuplicateError as error:
        raise InputValueError(demands.DISTINCT_COLUMNS, argument="frame", offender=str(error)) from error
    return found


def checked_columns(frame: nw.DataFrame[Any] | nw.LazyFrame[Any], names: Sequence[str]) -> nw.Schema:
    """Return the schema of a frame after checking that it has the named columns."""
    schema = frame.collect_schema()
    absent = [name for name in names if name not in schema]
    if absent:
        law = f"must have the columns {list(names)}"
        hint = Wording("its columns are {columns}.", "columns-hint", columns=list(schema))
        alike = next((name for name in absent if _composed(name) in map(_composed, schema)), None)
        if alike is not None:
            told = "{hint} {name!r} is among them in another Unicode form (NFC or NFD), which looks the same."
            hint = Wording(told, hint=hint, name=alike)
        raise InputValueError(
            law, argument="frame", offender=Wording("it lacks {absent}", "lacking", absent=absent), hint=hint
        )
    return schema


def _composed(name: object) -> object:
    """Return the name of a column with its accents in their composed form, NFC."""
    return unicodedata.normalize("NFC", name) if isinstance(name, str) else name


def columns_of(frame: object, columns: Mapping[str, str | None]) -> dict[str, Any]:
    """Return columns of the frame as keyword arguments; `columns` maps each argument to a column name."""
    return _arguments(_eager(frame, [name for name in columns.values() if name is not None]), columns)


def group_keys(by: str | Sequence[str] | None) -> list[str]:
    """Return the names of the columns that define the groups; an empty list for None."""
    keys = [] if by is None else [by] if isinstance(by, str) else list(by)
    if by is not None and not keys:
        raise InputValueError("must name at least one column", argument="by", offender="got none")
    return keys


def groups_of(
    frame: object, columns: Mapping[str, str | None], *, by: str | Sequence[str]
) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield the label of each group in order (a tuple if `by` names several columns) with its keyword arguments."""
    keys = group_keys(by)
    eager = _eager(frame, [name for name in [*columns.values(), *keys] if name is not None])
    labels, codes = zip(*(_coded(eager.get_column(key), key) for key in keys), strict=True)
    groups, entry = np.unique(np.stack(codes, axis=1), axis=0, return_inverse=True)
    order = np.argsort(entry.reshape(-1), kind="stable")
    starts = np.cumsum(np.bincount(entry.reshape(-1), minlength=len(groups)))[:-1]
    for group, rows in zip(groups.tolist(), np.split(order, starts), strict=True):
        key = tuple(own[code] for own, code in zip(labels, group, strict=True))
        yield (key[0] if isinstance(by, str) else key), _arguments(eager, columns, rows)


def _coded(series: nw.Series[Any], key: str) -> tuple[tuple[Any, ...], NDArray[np.intp]]:
    """Return the labels of a column in order (a missing one last, as None) and the code of each row."""
    argument, native = Wording("by={key!r}", "by-column", key=key), series.to_native()
    reading = read_array(native, argument, role="keys")
    absent = missing_cases(reading)
    known = code_keys(reading.values[~absent], argument, ordered_categories(native))
    codes = np.full(len(absent), len(known), dtype=np.intp)
    codes[~absent] = known.codes
    return (*known.labels, *([None] if absent.any() else [])), codes


def made_of_groups(
    make: Callable[..., Made],
    frame: object,
    columns: Mapping[str, str | None],
    *,
    by: str | Sequence[str],
    **options: Any,
) -> dict[Any, Made]:
    """Call a function for each group; a group whose weights are all 0 is checked and left out."""
    made = {}
    for group, arguments in groups_of(frame, columns, by=by):
        weightless = arguments.get("sample_weight") is not None and _is_weightless(arguments)
        if weightless:  # Equal weights instead, so that everything else is checked.
            absent = missing_cases(read_array(arguments["sample_weight"], "sample_weight"))
            arguments["sample_weight"] = np.where(absent, np.nan, 1.0)
        found = in_group(group, make, **arguments, **options)
        if not weightless:
            made[group] = found
    if not made:
        raise InputValueError(demands.NO_WEIGHT, argument="sample_weight")
    return made


def _is_weightless(arguments: Mapping[str, Any]) -> bool:
    """Whether the cases without missing values all have a weight of 0; False if there are no such cases."""
    readings = {argument: read_array(values, argument) for argument, values in arguments.items()}
    absent = np.logical_or.reduce([missing_cases(reading) for reading in readings.values()])
    weights = readings["sample_weight"].values[~absent]
    return len(weights) > 0 and bool((weights == 0).all())


def in_group(group: object, make: Callable[..., Made], *arguments: Any, **options: Any) -> Made:
    """Call a function for one group and name the group in its errors."""
    try:
        return make(*arguments, **options)
    except ProprietyError as error:
        error.groups = (group, *error.groups)
        raise


def _arguments(
    frame: nw.DataFrame[Any], columns: Mapping[str, str | None], rows: NDArray[np.intp] | None = None
) -> dict[str, Any]:
    found = {argument: frame.get_column(name) for argument, name in columns.items() if name is not None}
    return {argument: (one if rows is None else one[rows]).to_native() for argument, one in found.items()}


def _eager(frame: object, names: Sequence[str]) -> nw.DataFrame[Any]:
    """Return an eager frame after checking that it has the named columns."""
    table = known(frame)
    if isinstance(table, nw.LazyFrame):
        law = "must be eager so far"
        raise InputTypeError(
            law, argument="frame", offender=f"got a lazy {type(frame).__name__}", hint="collect the columns first."
        )
    checked_columns(table, names)
    return table


Name = TypeVar("Name", bound=Hashable)
UNPRINTABLE = ("Cc", "Cs")  # Control characters, and lone surrogates, which no file can hold.


def is_name(name: object) -> bool:
    """Whether a value is a text that can be printed as the name of a model or a key.

    Examples
    --------
    >>> is_name("a"), is_name(""), is_name(1)
    (True, False, False)
    """
    if not isinstance(name, str) or not name.strip():
        return False
    return not any(unicodedata.category(character) in UNPRINTABLE for character in name)


def are_names(names: object) -> bool:
    """Whether a value is a list of different names."""
    return isinstance(names, list) and all(map(is_name, names)) and len(names) == len(set(names))


def first_repeated(names: Iterable[Name]) -> Name | None:
    """Return the first name that occurred before, or None if all differ.

    Examples
    --------
    >>> first_repeated(["a", "b", "c", "b", "a"])
    'b'
    """
    seen = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def check_names(forecasts: object, fewest: int = 1, *, argument: str = "forecasts") -> None:
    """Raise an error unless `forecasts` maps valid model names to forecasts of at least `fewest` models.

    Examples
    --------
    >>> check_names({"a": [0.2, 0.7]})
    """
    wrong = [name for name in forecasts if not isinstance(name, str)] if isinstance(forecasts, Mapping) else []
    if wrong or not isinstance(forecasts, Mapping):
        law, hint = "must map the names of models to their forecasts", 'pass {"a": p, "b": q}.'
        offender = f"the name {wrong[0]!r} is of type {type(wrong[0]).__name__}" if wrong else ""
        raise InputTypeError(law, argument=argument, offender=offender, hint=hint)
    for name in forecasts:
        if not name.strip():
            raise InputValueError(f"names of models must not be empty; got {name!r}")
        if not is_name(name):
            raise InputValueError(f"names of models must be free of control characters such as line ends; got {name!r}")
    check_number_of_models(len(forecasts), fewest, argument=argument)


def check_number_of_models(models: int, fewest: int, *, argument: str = "forecasts") -> None:
    """Raise an error for fewer models than `fewest`, which is one or two."""
    if models < fewest:
        number = "two models" if fewest == 2 else "one model"
        raise InputValueError(f"must hold {number} or more", argument=argument, offender=f"got {models}")


def check_key_names(names: Iterable[object]) -> None:
    """Raise an error unless the names of keys are valid."""
    for name in names:
        if not isinstance(name, str) or not name.strip():
            raise InputValueError("must name its keys by texts that are not empty", argument="by", got=name)
