"""Opening a ledger from user input: arrays, a data frame, forecast tables or a ledger."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np
from narwhals.dependencies import is_into_dataframe, is_into_series

from propriety.errors import InputTypeError, InputValueError, Wording, parameter
from propriety.ledger.ledger import Ledger
from propriety.tables import laws
from propriety.tables.arguments import about
from propriety.tables.arrays import read_array
from propriety.tables.cases import TOLERANCE
from propriety.tables.events import events_of
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.frames import check_key_names, check_names, checked_columns, columns_of, first_repeated, known
from propriety.tables.labels import Labels
from propriety.tables.lazy_reading import read_lazy_cases
from propriety.tables.models import check_tables
from propriety.tables.validation import Missing, read_cases


def open_ledger(  # noqa: PLR0913  (the data, what the cases share, and how they are read)
    y_true: object,
    forecasts: object = None,
    *,
    outcome: str | None = None,
    by: object = None,
    cluster: object = None,
    time: object = None,
    sample_weight: object = None,
    ordered: bool = False,
    pos_label: object = None,
    labels: Labels | None = None,
    missing: Missing = "raise",
    tolerance: float = TOLERANCE,
    fewest: int = 1,
    cells: int | None = None,
) -> Ledger:
    """Make a ledger from user input; see `propriety.condense` for the arguments. Results are computed on demand."""
    shared = {"by": by, "cluster": cluster, "time": time, "sample_weight": sample_weight}
    options: dict[str, Any] = {"pos_label": pos_label, "labels": labels, "missing": missing, "tolerance": tolerance}
    condensed = _condensed(y_true, forecasts, {**shared, "outcome": outcome, "pos_label": pos_label, "labels": labels})
    if condensed is not None:
        _check_number(len(condensed.models), fewest)
        return condensed
    if cluster is not None and time is not None:
        hint = (
            "pass only {cluster=} to allow for any correlation within a cluster, also over time; "
            "pass only {time=} to allow for any correlation between cases of the same time."
        )
        raise InputValueError(Wording("cases have {cluster=} or {time=}, not both"), hint=Wording(hint))
    if outcome is None:
        _check_columns(y_true, forecasts)
        return _of_arrays(y_true, forecasts, shared, options, ordered=ordered, fewest=fewest)
    columns = _column_names({"outcome": outcome, "cluster": cluster, "time": time, "sample_weight": sample_weight})
    models = columns_of_models(forecasts)
    _check_number(len(models), fewest)
    keys = key_columns(by)
    roles = {"forecasts": [name for own in models.values() for name in own], "by": keys}
    roles |= {role: [name] for role, name in columns.items() if role != "outcome" and name is not None}
    for role, names in roles.items():
        check_apart(outcome, role, names)
    frame = known(y_true)
    if isinstance(frame, nw.LazyFrame):
        cases = read_lazy_cases(
            frame,
            {model: own[0] if len(own) == 1 else own for model, own in models.items()},
            outcome=outcome,
            weight=columns["sample_weight"],
            by=keys or None,
            cluster=columns["cluster"],
            time=columns["time"],
            ordered=ordered,
            **options,
        )
        _check_ordered(cases.labels, ordered=ordered)
        return Ledger.of_source(cases, cases.events, cells=cells)
    arguments = _of_frame(y_true, models, {"y_true": outcome, **columns}, keys)
    given = {name: arguments.get(name) for name in ("cluster", "time", "sample_weight")}
    given["by"] = {name: arguments[f"by {name}"] for name in keys} or None
    return _of_arrays(
        arguments["y_true"],
        {model: arguments[f"forecasts {model}"] for model in models},
        given,
        options,
        ordered=ordered,
        fewest=fewest,
    )


def _of_arrays(
    y_true: object,
    forecasts: object,
    shared: Mapping[str, Any],
    options: Mapping[str, Any],
    *,
    ordered: bool,
    fewest: int,
) -> Ledger:
    cases = read_cases(y_true, forecasts, **shared, **options, fewest=fewest)
    _check_ordered(cases.labels, ordered=ordered)
    return Ledger.of_source(cases, events_of(cases.classes, ordered=ordered))


def _condensed(y_true: object, forecasts: object, beside: Mapping[str, Any]) -> Ledger | None:
    """Return the ledger that was passed, or that of the tables passed; None if there are cases."""
    if isinstance(y_true, Ledger):
        what, found = "a Ledger", y_true
    elif isinstance(y_true, ForecastTable):
        what, found = "a ForecastTable", Ledger.of_tables({"forecast": y_true})
    elif isinstance(y_true, Mapping) and y_true and all(isinstance(one, ForecastTable) for one in y_true.values()):
        check_tables(y_true)
        what, found = "ForecastTables", Ledger.of_tables(y_true)
    else:
        return None
    check_condensed(what, {"forecasts": forecasts, **beside})
    return found


def check_condensed(what: str, beside: Mapping[str, Any]) -> None:
    """Raise an error if condensed data are passed beside arguments that describe cases."""
    given = [name for name, value in beside.items() if value is not None]
    if given:
        law = "{what} holds outcomes, forecasts, weights and keys already; pass it without {name}"
        raise InputTypeError(Wording(law, what=what, name=parameter(given[0])))


def _is_frame(value: object) -> bool:
    """Whether a value is a frame, eager or lazy. What is usual is recognized first, as narwhals takes its time."""
    if isinstance(value, np.ndarray | list | tuple) or is_into_series(value):
        return False
    return is_into_dataframe(value) or isinstance(nw.from_native(value, pass_through=True), nw.LazyFrame)


def _check_number(models: int, fewest: int) -> None:
    if models < fewest:
        number = "two models" if fewest == 2 else "one model"
        raise InputValueError(f"must hold {number} or more", argument="forecasts", offender=f"got {models}")


def _check_ordered(labels: tuple[Any, ...] | None, *, ordered: bool) -> None:
    if ordered and labels is None:
        raise InputValueError("belongs to three or more classes; the forecasts are of one event", argument="ordered")


def refuse_frame(y_true: object, y_proba: object) -> None:
    """Raise an error for a frame, or names of columns, where a function reads arrays only."""
    if isinstance(y_proba, str) or _is_frame(y_true):
        law = Wording("{y_true} and {y_proba} must be arrays, not a frame or names of columns")
        raise InputTypeError(law, hint="pass its columns, such as frame['y'] and frame['p'].")


def _check_columns(y_true: object, forecasts: object) -> None:
    """Raise an error if there is a frame, or column names, but no outcome column."""
    framed, names = _is_frame(y_true), isinstance(forecasts, str)
    if isinstance(forecasts, list | tuple) and forecasts:
        names = all(isinstance(one, str) for one in forecasts)
    if framed or names:
        law = (
            "a frame needs {outcome=}, the column of the outcomes" if framed else "{forecasts} names columns of a frame"
        )
        hint = Wording('pass a frame, its columns and {outcome=}: (frame, ["a", "b"], {outcome=}"y").')
        raise InputTypeError(Wording(law), hint=hint)


def _column_names(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Check that every other argument of a frame is a column name."""
    for argument, column in columns.items():
        if column is not None and not isinstance(column, str):
            law = Wording("must be the name of a column, as {outcome=} says that there is a frame")
            raise InputTypeError(law, argument=argument, offender=f"it is {type(column).__name__}")
    return {name: column for name, column in columns.items() if name != "outcome"}


def key_columns(by: object) -> list[str]:
    """Return the key columns of a frame."""
    if by is None:
        return []
    keys: list[Any] = list(by) if isinstance(by, list | tuple) else [by]
    wrong = next((key for key in keys if not isinstance(key, str)), None)
    if wrong is not None:
        law = Wording("must name columns, as {outcome=} says that there is a frame")
        raise InputTypeError(law, argument="by", offender=f"it is {type(wrong).__name__}")
    _check_once("by", keys)
    check_key_names(keys)
    return keys


def columns_of_models(forecasts: object) -> dict[str, tuple[str, ...]]:
    """Return the columns of each model: one for the event, or one per class."""
    if isinstance(forecasts, str):
        forecasts = [forecasts]
    elif hasattr(forecasts, "tolist") and getattr(forecasts, "ndim", 0) == 1:  # Such as the columns of a pandas frame.
        forecasts = forecasts.tolist()
    if isinstance(forecasts, Mapping):
        columns = {model: [own] if isinstance(own, str) else own for model, own in forecasts.items()}
        named = {model: tuple(own) if isinstance(own, Sequence) else () for model, own in columns.items()}
    elif isinstance(forecasts, Sequence) and all(isinstance(name, str) for name in forecasts):
        _check_once("forecasts", forecasts)
        named = {name: (name,) for name in forecasts}
    else:
        named = {}
    if not named or not all(own and all(isinstance(name, str) for name in own) for own in named.values()):
        law = "must name columns of the frame: a list, or a mapping of models to their columns"
        raise InputTypeError(law, argument="forecasts", offender=f"it is {forecasts!r}")
    check_names(named)
    for own in named.values():
        _check_once("forecasts", own)
    return named


def check_apart(outcome: str, argument: str, names: Iterable[object]) -> None:
    """Raise an error if the column of the outcomes also has another role, which would tell what is to be forecast."""
    if outcome in names:
        raise InputValueError(f"must not name {outcome!r}, the column of the outcomes", argument=argument)


def _check_once(argument: str, names: Sequence[object]) -> None:
    twice = first_repeated(names)
    if twice is not None:
        law = f"must name each column once; {twice!r} occurs twice"
        hint = 'to give a model another name pass {"model": "column"}.' if argument == "forecasts" else ""
        raise InputValueError(law, argument=argument, hint=hint)


def _of_frame(
    frame: object, models: Mapping[str, tuple[str, ...]], columns: Mapping[str, str | None], keys: Sequence[str]
) -> dict[str, Any]:
    """Return the arguments, the keys and the forecasts of each model from the columns of an eager frame."""
    wanted: dict[str, str] = {argument: column for argument, column in columns.items() if column is not None}
    wanted |= {f"by {name}": name for name in keys}
    wanted |= {f"forecasts {model}": own[0] for model, own in models.items() if len(own) == 1}
    rows = {model: own for model, own in models.items() if len(own) > 1}
    table = known(frame)
    checked_columns(table, [*wanted.values(), *(name for own in rows.values() for name in own)])
    found = columns_of(frame, wanted)
    for model, own in rows.items():
        with about(laws.named_forecast(model)):
            found[f"forecasts {model}"] = replace(read_array(table.select(*own).to_native(), "y_proba"), listed=True)
    return found
