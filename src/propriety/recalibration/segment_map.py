"""The map of a recalibration by segment: a map for all cases, and shifts of the log-odds in segments."""

from __future__ import annotations

import itertools
import math
import reprlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from numbers import Real
from operator import add, and_
from typing import Any, ClassVar, TypeAlias, cast

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from propriety import demands
from propriety.errors import InputTypeError, InputValueError, UnsupportedOperationError, Wording
from propriety.recalibration.maps import EventMap, RecalibrationMap, checked_floor, checked_number, log_odds
from propriety.recalibration.written_maps import (
    Column,
    Written,
    expit_of,
    farthest_of,
    is_number,
    log_odds_of,
)
from propriety.result import Floats
from propriety.tables import laws
from propriety.tables.arguments import check_indices
from propriety.tables.arrays import Reading, is_missing_value, read_array, read_forecasts
from propriety.tables.validation import read_event_forecast

Label: TypeAlias = str | int | float | bool | tuple[float | None, float | None]
LARGEST = 2**63  # Whole numbers beyond it are not labels of an engine.
NESTED = 100  # Labels in one nested CASE; engines limit the depth of expressions.


@dataclass(frozen=True, slots=True)
class SegmentEffect:
    """The shift of the log-odds in one segment.

    Parameters
    ----------
    places : tuple of tuple
        The columns of the segment, each with its label. A part of the numbers of a column is a pair (low, high),
        without the lower limit; None is no limit.
    log_odds : float
        The shift.

    Examples
    --------
    >>> SegmentEffect((("country", "FR"), ("age", (None, 30.0))), 0.2).words
    'country = FR and age up to 30'
    """

    places: tuple[tuple[str, Label], ...]
    log_odds: float

    @property
    def words(self) -> str:
        """The segment in words."""
        return " and ".join(f"{column} {_in_words(label)}" for column, label in self.places)

    def to_dict(self) -> dict[str, Any]:
        """Return the effect as plain data."""
        plain = [[column, list(label) if isinstance(label, tuple) else label] for column, label in self.places]
        return {"places": plain, "log_odds": self.log_odds}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class SegmentMap(EventMap):
    r"""A map for all cases, with shifts of the log-odds in segments.

    .. math:: \operatorname{logit} q = \operatorname{logit} g(p) + \sum u

    A case has the shifts of all segments that contain it. Labels that were not seen, and missing ones, have none.

    Parameters
    ----------
    whole : RecalibrationMap
        The map g for all cases.
    effects : tuple of SegmentEffect
        The shifts u.
    floor : float
        Floor under g(p) and 1 - g(p); see `floor_of`.

    Examples
    --------
    >>> from propriety.recalibration import IdentityMap
    >>> effects = (SegmentEffect((("country", "FR"),), 0.5),)
    >>> own = SegmentMap(whole=IdentityMap(), effects=effects, floor=1e-6)
    >>> own([0.2, 0.2], by={"country": ["FR", "DE"]}).round(3)
    array([0.292, 0.2  ])
    """

    kind: ClassVar[str] = "segments"

    whole: RecalibrationMap
    effects: tuple[SegmentEffect, ...]
    floor: float

    def __post_init__(self) -> None:
        whole = RecalibrationMap.from_dict(self.whole) if isinstance(self.whole, Mapping) else self.whole
        if not isinstance(whole, RecalibrationMap):
            raise InputTypeError("must be a map", argument="whole", got_type=whole)
        if not isinstance(self.effects, list | tuple):
            raise InputTypeError("must be a list", argument="effects", got_type=self.effects)
        effects = tuple(_checked_effect(one) for one in self.effects)
        self.settle(whole=whole, effects=effects, floor=checked_floor(self.floor, positive=True))

    @property
    def by(self) -> tuple[str, ...]:
        """The columns that the map needs."""
        return tuple(dict.fromkeys(column for one in self.effects for column, _ in one.places))

    def texts(self, schema: Mapping[str, nw.dtypes.DType], *, convert: bool) -> dict[str, nw.Expr]:
        """Return the columns of a frame that must be converted to text, because their labels are texts.

        If they should not be converted, this is an error, as if the map were called.
        """
        kinds = {name: kind for name, kind in _kinds(self.effects).items() if kind == {"texts"}}
        other = [name for name in kinds if schema[name] not in (nw.String, nw.Categorical, nw.Enum)]
        if other and not convert:
            raise _other_kind(other[0], kinds[other[0]], f"got values of dtype {schema[other[0]]}")
        return {name: nw.col(name).cast(nw.String) for name in other}

    def __call__(self, y_proba: object, by: Mapping[str, object]) -> Floats:
        """Return the recalibrated forecasts of forecasts in [0, 1] and the columns of their cases."""
        forecast = read_event_forecast(y_proba)
        if not isinstance(by, Mapping):
            law, hint = "must be a mapping of names to arrays", Wording("pass {by=dict(frame)}.")
            raise InputTypeError(law, argument="by", got_type=by, hint=hint)
        if absent := [name for name in self.by if name not in by]:
            raise InputValueError(f"must have the column {absent[0]!r}", argument="by")
        given = {name: read_array(by[name], laws.named_key(name), role="keys") for name in self.by}
        if np.ndim(y_proba):  # type: ignore[arg-type]  # anything
            check_indices(read_forecasts(y_proba), *given.values())
        columns = {name: _values(reading) for name, reading in given.items()}
        for name, values in columns.items():
            if values.shape != forecast.shape:
                law = Wording("must have the shape of {y_proba}, {shape}", shape=forecast.shape)
                raise InputValueError(law, argument=laws.named_key(name), offender=f"has {values.shape}")
        _check_kinds(columns, self.effects)
        shift = np.zeros(forecast.shape)
        for group in _by_column(self.effects):
            if len(group[0].places) > 1:
                tests = [_inside(columns[column], column, label) for column, label in group[0].places]
                shift += group[0].log_odds * np.logical_and.reduce(tests)
                continue
            name = group[0].places[0][0]
            parts = {one.places[0][1]: one.log_odds for one in group}
            if isinstance(next(iter(parts)), tuple):
                for label, own in parts.items():
                    shift += own * _inside(columns[name], name, label)
            else:
                listed = columns[name].reshape(-1).tolist()
                shift += np.array([parts.get(one, 0.0) for one in listed]).reshape(forecast.shape)
        return expit(log_odds(self.whole.recalibrated(forecast), self.floor) + shift)

    def written(self, p: Column, ops: Written) -> Column:
        """Return the map applied to a column, in operations that engines support."""
        groups = _by_column(self.effects)
        parts = [group[start : start + NESTED] for group in groups for start in range(0, len(group), NESTED)]
        shifts = [_written_group(part, ops) for part in parts]
        base = log_odds_of(self.whole.written(p, ops), self.floor, ops)
        farthest = farthest_of(self.floor) + sum(abs(one.log_odds) for one in self.effects)
        return expit_of(reduce(add, shifts, base), farthest, ops)

    def to_onnx(self) -> Any:
        """Reject the conversion."""
        raise UnsupportedOperationError("a map by segment cannot be written as ONNX", hint="use to_sql.")

    def to_sklearn(self) -> Any:
        """Reject the conversion: a transformer of probabilities has no columns of segments."""
        law = "a map by segment cannot be a scikit-learn transformer, which has no columns of segments"
        raise UnsupportedOperationError(law, hint="call it with the forecasts and the columns.")

    @property
    def formula(self) -> str:
        """The map in one line."""
        number = "1 segment" if len(self.effects) == 1 else f"{len(self.effects)} segments"
        return f"log-odds of the map for all cases ({self.whole.formula}), shifted in {number}"


def _values(column: Reading) -> NDArray[Any]:
    """Return a column as an array, with None or NaN for missing labels."""
    if column.missing is None:
        return column.values
    values: NDArray[Any] = column.values.astype(object)
    values[column.missing] = None
    return values


def _check_kinds(columns: Mapping[str, NDArray[Any]], effects: Sequence[SegmentEffect]) -> None:
    """Raise an error if a column holds texts and the map has labels that are numbers, or the other way round.

    They never match, so that all cases would silently have the map for all cases.
    """
    for column, kinds in _kinds(effects).items():
        values = columns[column].reshape(-1)
        if values.dtype != object:  # All are of one kind.
            values = values[values == values][:1]  # noqa: PLR0124  (not NaN)
        wrong = next((one for one in values.tolist() if not is_missing_value(one) and _kind(one) not in kinds), None)
        if wrong is not None:
            raise _other_kind(column, kinds, f"one is {reprlib.repr(wrong)}")


def _kinds(effects: Sequence[SegmentEffect]) -> dict[str, set[str]]:
    """Return the kinds of the labels of each column."""
    found: dict[str, set[str]] = {}
    for column, label in itertools.chain(*(one.places for one in effects)):
        found.setdefault(column, set()).add("numbers" if isinstance(label, tuple) else _kind(label))
    return found


def _other_kind(column: str, kinds: set[str], offender: str) -> InputTypeError:
    law = f"must hold {' or '.join(sorted(kinds))}, like the column to which the map was fitted"
    return InputTypeError(law, argument=laws.named_key(column), offender=offender, hint="convert the column.")


def _kind(label: object) -> str:
    return "texts" if isinstance(label, str) else "numbers" if isinstance(label, Real | Decimal) else "others"


def _by_column(effects: Sequence[SegmentEffect]) -> list[list[SegmentEffect]]:
    """Return the effects of labels of the same column together, and every other effect by itself."""
    groups: dict[object, list[SegmentEffect]] = {}
    for place, one in enumerate(effects):
        (column, label), *others = one.places
        key = place if others else (column, isinstance(label, tuple))
        own = groups.setdefault(key, [])
        if not others and any(_overlap(label, other.places[0][1]) for other in own):
            own = groups.setdefault(place, [])  # A second effect of the same cases is added to the first.
        own.append(one)
    return list(groups.values())


def _overlap(one: Label, other: Label) -> bool:
    if not isinstance(one, tuple) or not isinstance(other, tuple):
        return one == other
    (low, high), (low_of_other, high_of_other) = _limits(one), _limits(other)
    return max(low, low_of_other) < min(high, high_of_other)


def _written_group(effects: Sequence[SegmentEffect], ops: Any) -> Column:
    found = 0.0
    for one in reversed(effects):
        tests = [_written_test(column, label, ops) for column, label in one.places]
        found = ops.where(reduce(and_, tests), one.log_odds, found)
    return found


def _written_test(column: str, label: Label, ops: Any) -> Column:
    if not isinstance(label, tuple):
        return ops.is_label(column, label)
    number, (low, high) = ops.column(column), _limits(label)
    return (number > low) & (number <= high) & is_number(number, ops)


def _limits(label: tuple[float | None, float | None]) -> tuple[float, float]:
    """Return finite limits: engines order NaN above all numbers, and it is in no part."""
    low, high = label
    return -sys.float_info.max if low is None else low, sys.float_info.max if high is None else high


def _inside(values: NDArray[Any], column: str, label: Label) -> NDArray[np.bool_]:
    if isinstance(label, tuple):
        low, high = _limits(label)
        try:
            numbers = values.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise InputTypeError(demands.NUMBERS, argument=laws.named_key(column)) from error
        return (numbers > low) & (numbers <= high)
    return np.array([one == label for one in values.reshape(-1).tolist()], dtype=np.bool_).reshape(values.shape)


def _checked_effect(given: Any) -> SegmentEffect:
    try:
        pairs = given["places"] if isinstance(given, Mapping) else given.places
        value = given["log_odds"] if isinstance(given, Mapping) else given.log_odds
        places = tuple((column, label) for column, label in pairs)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputValueError("must be a list of places and log_odds", argument="effects") from error
    if not places or not all(isinstance(column, str) for column, _ in places):
        raise InputValueError("must have names of columns", argument="effects", offender=f"got {reprlib.repr(pairs)}")
    checked = tuple((column, checked_label(label, column)) for column, label in places)
    return SegmentEffect(checked, checked_number("log_odds", value))


def checked_label(label: Any, column: str) -> Label:
    """Return a label that can be stored: a text, a finite number, or the limits of a part of the numbers."""
    if isinstance(label, np.generic):
        label = label.item()
    if isinstance(label, list | tuple) and len(label) == 2:
        low, high = (None if one is None else checked_number("limit", one) for one in label)
        if low is None or high is None or low < high:
            return (low, high)
    is_whole = isinstance(label, int) and -LARGEST <= label < LARGEST
    if isinstance(label, str) or is_whole or (isinstance(label, float) and math.isfinite(label)):
        return cast("Label", label)
    law = "must have labels that are texts or finite numbers, to be stored with a map"
    hint = "convert the column to text."
    raise InputValueError(law, argument=laws.named_key(column), offender=f"one is {reprlib.repr(label)}", hint=hint)


def _in_words(label: Label) -> str:
    if not isinstance(label, tuple):
        return f"= {label}"
    low, high = label
    if low is None and high is None:
        return "of any value"
    if low is None or high is None:
        return f"up to {high:.6g}" if high is not None else f"above {low:.6g}"
    return f"from {low:.6g} to {high:.6g}"
