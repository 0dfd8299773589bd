"""The cases in which segments are searched: arrays, frames or a lazy frame, with their numbers cut."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import narwhals as nw
from numpy.typing import NDArray

from propriety.errors import InputTypeError, InputValueError, ProprietyError, Wording
from propriety.inference.segment_columns import Cut, cut_arrays, cut_of_numbers
from propriety.ledger.ledger import Ledger
from propriety.ledger.moments import TAKEN
from propriety.ledger.sources import check_apart, columns_of_models, key_columns, open_ledger
from propriety.tables import laws
from propriety.tables.arrays import read_array
from propriety.tables.cases import Cases
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.frames import known
from propriety.tables.key_columns import KeyColumn
from propriety.tables.labels import Labels
from propriety.tables.lazy_cases import LazyCases
from propriety.tables.lazy_reading import read_lazy_cases
from propriety.tables.queries import count_rows, fetched, sampled_rows
from propriety.tables.validation import Missing

COARSE = 16
SAMPLED = 2**17  # Rows of an engine whose numbers give the quantiles.


def segment_source(
    y_true: Any,
    forecasts: Any,
    by: Any,
    quantiles: int,
    seed: int,
    outcome: str | None,
    pos_label: Hashable | None,
    labels: Labels | None,
    missing: Missing,
) -> tuple[Cases | LazyCases, Ledger, dict[str, Cut]]:
    """Return the cases with their keys, a ledger of them, and the cuts of the keys that are numbers."""
    options: dict[str, Any] = {"pos_label": pos_label, "labels": labels, "missing": missing}
    if isinstance(y_true, Ledger | ForecastTable):
        law = "segments are searched in cases; a ledger has no columns beyond its keys"
        hint = Wording("pass the frame, its columns and {outcome=}; for the keys of a ledger use slices.")
        raise InputTypeError(law, hint=hint)
    frame = None if outcome is None else known(y_true)
    if isinstance(frame, nw.LazyFrame) and outcome is not None:
        return _of_engine(frame, forecasts, _names(by, outcome), quantiles, seed, outcome, options)
    ledger, cuts = cut_ledger(y_true, forecasts, by, quantiles, outcome=outcome, **options)
    cases = _checked(ledger)
    return cases if isinstance(cases, LazyCases) else with_names(cases, by), ledger, cuts


def cut_ledger(
    y_true: Any, forecasts: Any, by: Any, quantiles: int, *, outcome: str | None, finite: bool = False, **options: Any
) -> tuple[Ledger, dict[str, Cut]]:
    """Return the ledger of cases in memory with numbers cut, and the cuts; `with_names` names the keys of its cases."""
    source, columns, cuts = _cut_source(y_true, by, quantiles, outcome, finite=finite)
    try:
        return open_ledger(source, forecasts, outcome=outcome, by=columns, **options), cuts
    except ProprietyError as error:
        names = by if isinstance(by, Mapping) else key_columns(by)
        renamed = [(own, name) for own, name in zip(columns, names, strict=True) if own != name]
        error.aliases |= {f"by[{own!r}]": Wording("by[{key!r}]", key=name) for own, name in renamed}
        raise


def _cut_source(
    y_true: Any, by: Any, quantiles: int, outcome: str | None, *, finite: bool
) -> tuple[Any, Any, dict[str, Cut]]:
    """Return the outcomes or the frame and its keys, with the parts of numbers in their place, and the cuts.

    In a frame, the parts are columns of their own, because a column of numbers may also hold the forecasts, clusters or
    times. So are columns with a name that ledgers use for something else. `with_names` gives the keys their names back.
    """
    if outcome is None:
        if not isinstance(by, Mapping) or not by:
            got = "it is empty" if isinstance(by, Mapping) else f"got {type(by).__name__}"
            hint = Wording("pass {by=dict(frame)}.") if hasattr(by, "columns") else ""
            raise InputTypeError("must be a mapping of names to arrays", argument="by", offender=got, hint=hint)
        columns, cuts = cut_arrays(dict(by), quantiles, finite=finite)
        for name in cuts:
            whole = read_array(by[name], laws.named_key(name), role="keys")
            columns[name] = replace(whole, values=columns[name], missing=None)  # With the index of the numbers.
        renamed = _renamed([name for name in columns if name in TAKEN], columns)
        return y_true, {renamed.get(name, name): column for name, column in columns.items()}, cuts
    frame, names = known(y_true), _names(by, outcome)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    given = {name: frame.get_column(name) for name in names if name in frame.columns}
    columns, cuts = cut_arrays(given, quantiles, finite=finite)
    parts = _renamed([name for name in given if name in cuts or name in TAKEN], frame.columns)
    made = [
        nw.new_series(own, columns[name], backend=frame.implementation) if name in cuts else given[name].alias(own)
        for name, own in parts.items()
    ]
    return frame.with_columns(*made).to_native(), [parts.get(name, name) for name in names], cuts


def _renamed(names: list[str], others: Iterable[object]) -> dict[str, str]:
    """Return new names, which none of the others has."""
    longer = "_" * (1 + max((len(str(name)) for name in others), default=0))
    return {name: f"{longer}{place}" for place, name in enumerate(names)}


def with_names(cases: Cases, by: Any) -> Cases:
    """Return the cases with the keys named as by the user, also those that are parts of numbers."""
    names = by if isinstance(by, Mapping) else key_columns(by)
    return replace(cases, keys=dict(zip(names, cases.keys.values(), strict=True)))


def _names(by: Any, outcome: str) -> list[str]:
    names = key_columns(by)
    check_apart(outcome, "by", names)
    if not names:
        raise InputTypeError("must name one column or more", argument="by", offender="got none")
    return names


def _of_engine(
    frame: nw.LazyFrame[Any],
    forecasts: Any,
    names: list[str],
    quantiles: int,
    seed: int,
    outcome: str,
    options: dict[str, Any],
) -> tuple[LazyCases, Ledger, dict[str, Cut]]:
    """Return the same for a lazy frame. A ledger without keys, on a coarse grid, checks and counts the rows."""
    ledger = open_ledger(frame.to_native(), forecasts, outcome=outcome, cells=COARSE, **options)
    _checked(ledger)
    models = {model: own[0] if len(own) == 1 else own for model, own in columns_of_models(forecasts).items()}
    cases = read_lazy_cases(frame, models, outcome=outcome, by=names, **options)
    schema = frame.collect_schema()
    kept = {name: f"key_{place}" for place, name in enumerate(names) if _is_number(schema[name])}
    if not kept:
        return cases, ledger, {}
    numbers = {key: nw.col(key).cast(nw.Float64) for key in kept.values()}
    table = fetched(sampled_rows(cases.frame.select(**numbers), SAMPLED / max(count_rows(frame), 1), seed))
    found = {name: cut_of_numbers(_numbers(table.column(key)), quantiles) for name, key in kept.items()}
    cuts = {name: cut for name, cut in found.items() if cut is not None}
    # Only the keys are replaced: the same column may hold the forecasts.
    parts = {
        kept[name]: cut.expression(numbers[kept[name]], nw.col(kept[name]).is_null()) for name, cut in cuts.items()
    }
    if parts:
        kinds = {**cases.key_kinds, **{key: KeyColumn("by", nw.col(key)) for key in parts}}
        cases = replace(cases, frame=cases.frame.with_columns(**parts), key_kinds=kinds)
    return cases, ledger, cuts


def _is_number(kind: nw.dtypes.DType) -> bool:
    """Whether the values of a column may be cut; decimal numbers are labels, as in memory."""
    return kind.is_numeric() and kind != nw.Decimal


def _numbers(column: Any) -> NDArray[Any]:
    """Return the numbers of a column that are not missing."""
    values: NDArray[Any] = column.drop_null().to_numpy()
    return values


def _checked(ledger: Ledger) -> Cases | LazyCases:
    """Return the cases of a ledger of one event, forecast by one model."""
    if ledger.censoring is not None:
        raise InputTypeError("segments need known outcomes; those by a horizon are weighted for censoring")
    if ledger.labels is not None:
        raise InputValueError("segments are searched for one event; these are forecasts of classes")
    if len(ledger.models) != 1:
        raise InputValueError("must be those of one model", argument="forecasts", offender=f"got {len(ledger.models)}")
    assert isinstance(ledger.source, Cases | LazyCases)  # noqa: S101  (for the type checker; a ledger is not accepted)
    return ledger.source
