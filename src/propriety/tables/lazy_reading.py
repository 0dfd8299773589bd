"""Reading cases from a lazy frame: columns are cast and labels resolved; rows are checked when they are counted."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import reduce
from numbers import Real
from operator import add
from typing import Any, Literal, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from propriety import checks, demands
from propriety.errors import InputTypeError, InputValueError, Wording
from propriety.tables import frames, laws
from propriety.tables.arguments import about
from propriety.tables.arrays import PAIR
from propriety.tables.events import CUMULATIVE_DECIMALS, events_of
from propriety.tables.forecast_columns import (
    columns_of_classes,
    event_in_words,
    have_numbers,
    places_of_columns,
    two_labels,
)
from propriety.tables.frames import first_repeated
from propriety.tables.key_columns import KeyColumn, key_column
from propriety.tables.labels import Labels, check_float_label, class_labels, distinct_labels, labels_of_event
from propriety.tables.lazy_cases import LazyCases
from propriety.tables.probabilities import TOLERANCE
from propriety.tables.queries import Lazy, engine_of, fetched, flag, is_missing, named_columns, row_by_row, unsupported
from propriety.tables.validation import Missing

LARGEST = sys.float_info.max
WHOLE = 2.0**52  # Floats above this are whole, so adding it rounds half to even, as NumPy does.


class _Cast(NamedTuple):
    """The cast columns of a lazy frame; `outcomes` says how outcomes are stored now, `kind` is their original dtype."""

    frame: Lazy
    engine: str
    outcomes: Literal["text", "whole", "real"]
    kind: nw.dtypes.DType
    key_kinds: dict[str, KeyColumn]


def read_lazy_cases(  # noqa: PLR0913  (the columns, the labels, and how they are read)
    frame: Lazy,
    forecasts: Mapping[str, str | Sequence[str]],
    *,
    outcome: str,
    weight: str | None = None,
    by: str | Sequence[str] | None = None,
    cluster: str | None = None,
    period: str | None = None,
    ordered: bool = False,
    pos_label: object = None,
    labels: Labels | None = None,
    missing: Missing = "raise",
) -> LazyCases:
    """Cast the columns of a lazy frame and resolve the labels.

    The rows themselves are checked when they are counted. A query here finds the labels that occur, if `labels` are not
    given and the columns must be matched to them; with `pos_label` and one column it finds only the other label.

    Parameters
    ----------
    frame : narwhals.LazyFrame
        The frame.
    forecasts : mapping
        For each model, the column of the event's probability, or the columns of both outcomes or of all classes.
    outcome, weight, cluster, period : str
        Names of columns.
    by : str or sequence of str, optional
        Names of the key columns.
    ordered : bool
        Whether the classes are ordered, so that each cut point is also an event.
    pos_label, labels, missing
        As in `propriety.mean_score`.
    """
    checks.choice(missing, "missing", ("raise", "drop"))
    columns = {model: (own,) if isinstance(own, str) else tuple(own) for model, own in forecasts.items()}
    classes = _number_of_classes(columns)
    if ordered and classes is None:
        raise InputValueError(demands.ORDERED_EVENT, argument="ordered")
    if classes is not None and pos_label is not None:
        raise laws.event_of_classes()
    named = () if labels is None else distinct_labels(labels)
    keys = _distinct(frames.group_keys(by))
    arguments = tuple("y_proba" if len(forecasts) == 1 else laws.named_forecast(model) for model in forecasts)
    others = {"cluster": cluster, "period": period}
    cast = _cast(
        frame,
        outcome=outcome,
        named=named if labels is not None or pos_label is None else (pos_label,),
        weight=weight,
        forecasts=_forecast_columns(columns, arguments),
        keys={f"key_{place}": key for place, key in enumerate(keys)}
        | {name: column for name, column in others.items() if column is not None},
    )
    known, note, pair = None, "", None
    held: tuple[Any, ...] | None
    if classes is not None:
        known = _class_labels(cast, columns, classes, labels, dict(zip(columns, arguments, strict=True)))
        if known != tuple(range(classes)):
            named = known
        held = _held_classes(known, cast, labelled=bool(named))
        places = _places(columns, known, arguments, in_order=labels is not None)
        found = _with_derived(_reordered(cast.frame, places), len(columns), held, cut_points=ordered)
    elif any(len(own) == PAIR for own in columns.values()):
        sides, event = _two_sides(cast, columns, labels, pos_label)
        plain = labels is None and pos_label is None and sides == (0, 1) and cast.outcomes != "text"
        held = None if plain else _held_event(cast, event, sides)
        named = () if plain else sides
        note = event_in_words(event, sides, next(own for own in columns.values() if len(own) == PAIR))
        pair = (sides, sides.index(event))
        pairs = {model: own for model, own in columns.items() if len(own) == PAIR}
        of_pairs = [argument for model, argument in zip(columns, arguments, strict=True) if model in pairs]
        places = _places(pairs, sides, of_pairs, in_order=labels is not None)
        found = _with_event(cast.frame, list(columns), dict(zip(pairs, places, strict=True)), sides.index(event))
    else:
        held, found = _held_event(cast, pos_label, labels), cast.frame
    return LazyCases(
        frame=found,
        models=tuple(columns),
        labels=known,
        events=events_of(classes, ordered=ordered),
        keys=keys,
        cluster=cluster,
        period=period,
        weighted=weight is not None,
        drop=missing == "drop",
        tolerance=TOLERANCE,
        in_rows=tuple(len(own) > 1 for own in columns.values()),
        engine=cast.engine,
        arguments=arguments,
        held=held,
        named=named,
        pos_label=None if named else pos_label,
        key_kinds=cast.key_kinds,
        event_note=note,
        pair=pair,
    )


def _number_of_classes(forecasts: Mapping[str, tuple[str, ...]]) -> int | None:
    """Return the number of classes, or None for one event; raise an error if the models forecast different things."""
    names = list(forecasts)
    told = ["one event" if len(own) <= PAIR else f"{len(own)} classes" for own in forecasts.values()]
    if not names or not all(forecasts.values()):
        law = "must name columns of the frame: a list, or a mapping of models to their columns"
        raise InputTypeError(law, argument="forecasts", offender=f"it is {dict(forecasts)!r}")
    for name, what in zip(names, told, strict=True):
        if what != told[0]:
            law = f"must be of one kind; {names[0]!r} forecasts {told[0]} and {name!r} {what}"
            raise InputValueError(law, argument="forecasts")
    number = len(forecasts[names[0]])
    return None if number <= PAIR else number


def _distinct(keys: Sequence[str]) -> tuple[str, ...]:
    twice = first_repeated(keys)
    if twice is not None:
        raise InputValueError(demands.named_once("column", twice), argument="by")
    return tuple(keys)


def _forecast_columns(forecasts: Mapping[str, tuple[str, ...]], arguments: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Map the names of the cast columns to the original columns and the arguments that named them."""
    return {
        f"forecast_{model}" if len(own) == 1 else f"forecast_{model}_{place}": (column, arguments[model])
        for model, own in enumerate(forecasts.values())
        for place, column in enumerate(own)
    }


def _cast(
    frame: Lazy,
    *,
    outcome: str,
    named: tuple[Any, ...],
    weight: str | None,
    forecasts: Mapping[str, tuple[str, str]],
    keys: Mapping[str, str],
) -> _Cast:
    own = [column for column, _ in forecasts.values()]
    engine = engine_of(frame)
    plain, known = named_columns(frame, [outcome, *own, *([] if weight is None else [weight]), *keys.values()])
    truth, outcomes = known[outcome], _held_as(known[outcome].kind, named)
    columns = {name: known[column].number(argument) for name, (column, argument) in forecasts.items()}
    if outcomes == "text":
        columns["outcome"] = truth.values.cast(nw.String)
    elif outcomes == "whole":
        columns["outcome"] = truth.values if truth.kind == nw.UInt64 else truth.values.cast(nw.Int64)
    else:
        columns["outcome"] = truth.number("y_true")
    if weight is not None:
        columns["weight"] = known[weight].number("sample_weight")
    kinds = {
        name: key_column(known[column], name if name in ("cluster", "period") else "by")
        for name, column in keys.items()
    }
    columns |= {name: kind.held for name, kind in kinds.items()}
    try:
        return _Cast(plain.select(**columns), engine, outcomes, truth.kind, kinds)
    except NotImplementedError as error:
        raise unsupported(engine, "a cast of the columns", error) from error


def _held_as(kind: nw.dtypes.DType, labels: tuple[Any, ...]) -> Literal["text", "whole", "real"]:
    """Return how outcomes of a dtype are stored: as integers if the labels are, because floats would merge some."""
    if kind in (nw.String, nw.Categorical, nw.Enum):
        return "text"
    if not labels or not kind.is_integer() or kind in (nw.Int128, nw.UInt128):
        return "real"
    low, high = (0, 2**64) if kind == nw.UInt64 else (-(2**63), 2**63)
    whole = all(_is_number(label) and low <= label < high and int(label) == label for label in labels)
    return "whole" if whole else "real"


def _class_labels(
    cast: _Cast,
    columns: Mapping[str, tuple[str, ...]],
    classes: int,
    labels: Labels | None,
    arguments: Mapping[str, str],
) -> tuple[Any, ...]:
    """Return the labels of classes: those given, the names of columns if the outcomes are among them, or numbers."""
    if labels is None and (cast.outcomes == "text" or any(map(have_numbers, columns.values()))):
        labels, _ = columns_of_classes(columns, _occurring(cast, classes), classes, None, arguments)
    return class_labels(classes, labels)


def _two_sides(
    cast: _Cast, columns: Mapping[str, tuple[str, ...]], labels: Labels | None, pos_label: object
) -> tuple[tuple[Any, Any], Any]:
    """Return the labels of two columns in order, and that of the event."""
    pairs = [own for own in columns.values() if len(own) == PAIR]
    if labels is None:
        seen = cast.outcomes == "text" or pos_label is not None or any(map(have_numbers, pairs))
        present = _occurring(cast, PAIR) if seen else np.zeros(0)
        labels = two_labels(present, pairs, None, pos_label)
    return labels_of_event(labels, pos_label)


def _occurring(cast: _Cast, classes: int) -> NDArray[Any]:
    """Return the distinct outcomes, or one more than there are classes."""
    outcome = nw.col("outcome")
    known = ~(is_missing(outcome, cast.engine) if cast.outcomes == "real" else outcome.is_null())
    found = fetched(cast.frame.filter(known).select("outcome").unique().head(classes + 1))
    values = found.column("outcome").to_pylist()
    return np.array(values, dtype=object if cast.outcomes == "text" else None)


def _places(
    columns: Mapping[str, tuple[str, ...]], labels: tuple[Any, ...], arguments: Sequence[str], *, in_order: bool
) -> list[tuple[int, ...]]:
    """Return for each model the position of each label among its columns."""
    found = []
    for own, argument in zip(columns.values(), arguments, strict=True):
        with about(argument):
            found.append(places_of_columns(own, labels, listed=True, in_order=in_order) or tuple(range(len(own))))
    return found


def _reordered(frame: Lazy, places: Sequence[tuple[int, ...]]) -> Lazy:
    """Put columns that are named like the classes in the order of the labels."""
    moved = {}
    for model, own in enumerate(places):
        for place, source in enumerate(own):
            if place != source:
                moved[f"forecast_{model}_{place}"] = nw.col(f"forecast_{model}_{source}")
    return row_by_row(frame, lambda rows: rows.with_columns(**moved)) if moved else frame


def _with_event(frame: Lazy, models: Sequence[str], places: Mapping[str, tuple[int, ...]], event: int) -> Lazy:
    """Add the event's column of each model given in two columns, and the sum and extremes of both."""
    added: dict[str, nw.Expr] = {}
    for model, name in enumerate(models):
        if name in places:
            pair = [nw.col(f"forecast_{model}_{side}") for side in range(PAIR)]
            added |= {f"forecast_{model}": pair[places[name][event]], **_of_row(model, pair)}
    return row_by_row(frame, lambda rows: rows.with_columns(**added))


def _of_row(model: int, own: Sequence[nw.Expr]) -> dict[str, nw.Expr]:
    """Return the sum and the extremes of the columns of a model."""
    lowest, highest = nw.min_horizontal(*own), nw.max_horizontal(*own)
    return {f"total_{model}": reduce(add, own), f"lowest_{model}": lowest, f"highest_{model}": highest}


def _held_event(cast: _Cast, pos_label: object, labels: Labels | None) -> tuple[Any, Any] | None:
    """Return the other label and that of the event as the engine stores them; None if the outcomes are 0 and 1."""
    if labels is not None:
        names, event = labels_of_event(labels, pos_label)
        other = names[0] if event == names[1] else names[1]
        return _held(other, cast), _held(event, cast)
    if pos_label is None:
        if cast.outcomes == "text":
            raise laws.unnamed_event("strings")
        return None
    event, outcome = _held(pos_label, cast), nw.col("outcome")
    known = ~(is_missing(outcome, cast.engine) if cast.outcomes == "real" else outcome.is_null())
    found = fetched(cast.frame.filter(known & (outcome != event)).select("outcome").head(1))
    others = found.column("outcome").to_pylist()
    return (others[0] if others else event), event


def _held(label: Any, cast: _Cast) -> Any:
    """Return a label of an event as the cast column stores it."""
    if cast.outcomes == "text" and isinstance(label, str):
        return label
    if cast.outcomes != "text" and _is_number(label) and -LARGEST <= label <= LARGEST:
        return int(label) if cast.outcomes == "whole" else _real(label, cast)
    raise laws.other_kind(label, f"values of dtype {cast.kind}")


def _is_number(label: object) -> bool:
    return isinstance(label, Real | np.bool_ | Decimal)


def _real(label: Any, cast: _Cast) -> float:
    """Return a label as a float, after checking that this does not merge it with another value of the column."""
    wide = cast.kind.is_decimal() or cast.kind in (nw.Int128, nw.UInt128)
    if abs(label) < (2**128 if wide else 2**64 if cast.kind.is_integer() else LARGEST):
        check_float_label(int(label) if isinstance(label, Decimal) else label)
    return float(label)


def _held_classes(labels: tuple[Any, ...], cast: _Cast, *, labelled: bool) -> tuple[Any, ...]:
    """Return the labels of the classes as the cast column stores them."""
    if cast.outcomes == "text" and not labelled:
        raise laws.unnamed_classes("strings")
    if not all(isinstance(label, str) if cast.outcomes == "text" else _is_number(label) for label in labels):
        raise InputValueError(
            laws.labels_law(labels),
            argument="y_true",
            offender=f"got values of dtype {cast.kind}",
            hint=Wording("name every class in {labels=}, as {y_true} holds it."),
        )
    if cast.outcomes == "text":
        return labels
    return tuple(int(label) if cast.outcomes == "whole" else _real(label, cast) for label in labels)


def _with_derived(frame: Lazy, models: int, labels: tuple[Any, ...], *, cut_points: bool) -> Lazy:
    """Add columns derived from each row: the class index, and for each model sums, extremes and the top class."""
    # Indices are counted from 1, so that an outcome that is no label ends as -1.
    places = [flag(nw.col("outcome") == label) * float(place) for place, label in enumerate(labels, 1)]
    columns, tops = {"class": reduce(add, places) - 1.0}, {}
    for model in range(models):
        own = [nw.col(f"forecast_{model}_{place}") for place in range(len(labels))]
        columns |= _of_row(model, own)
        highest = nw.col(f"highest_{model}")
        first = [nw.when(one == highest).then(float(place)).otherwise(float(len(own))) for place, one in enumerate(own)]
        tops[f"top_{model}"] = nw.min_horizontal(*first)
        if cut_points:
            heads = itertools.accumulate(own[:-1], add)
            columns |= {f"head_{model}_{place}": _rounded(head) for place, head in enumerate(heads)}
    return row_by_row(frame, lambda rows: rows.with_columns(**columns).with_columns(**tops))


def _rounded(head: nw.Expr) -> nw.Expr:
    """Round a cumulative forecast as `Cases.events` does, to the same last bit as NumPy."""
    scale = 10.0**CUMULATIVE_DECIMALS
    # Polars multiplies by the reciprocal of a constant, which is off in the last bit; it divides by a column exactly.
    return (((head * scale + WHOLE) - WHOLE) / (head * 0.0 + scale)).clip(0.0, 1.0)
