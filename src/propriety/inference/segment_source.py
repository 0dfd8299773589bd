"""The cases in which segments are searched: arrays, frames or a lazy frame, with their numbers cut."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import narwhals as nw
from numpy.typing import NDArray

from propriety.errors import InputTypeError, InputValueError, Wording
from propriety.inference.segment_columns import Cut, cut_arrays, cut_of_numbers
from propriety.ledger.ledger import Ledger
from propriety.ledger.sources import columns_of_models, key_columns, open_ledger
from propriety.tables.cases import Cases
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.frames import known
from propriety.tables.lazy_cases import LazyCases
from propriety.tables.lazy_reading import read_lazy_cases
from propriety.tables.queries import count_rows, engine_of, fetched, is_missing
from propriety.tables.sampling import sampled_rows
from propriety.tables.validation import Labels, Missing

__all__ = ["cut_source", "segment_source"]

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
        return _of_engine(frame, forecasts, _names(by), quantiles, seed, outcome, options)
    source, columns, cuts = cut_source(y_true, by, quantiles, outcome)
    ledger = open_ledger(source, forecasts, outcome=outcome, by=columns, **options)
    return _checked(ledger), ledger, cuts


def cut_source(y_true: Any, by: Any, quantiles: int, outcome: str | None) -> tuple[Any, Any, dict[str, Cut]]:
    """Return the outcomes or the frame and its keys, in which numbers are replaced by their parts, and the cuts."""
    if outcome is None:
        if not isinstance(by, Mapping) or not by:
            got = "it is empty" if isinstance(by, Mapping) else f"got {type(by).__name__}"
            raise InputTypeError("must be a mapping of names to arrays", argument="by", offender=got)
        return y_true, *cut_arrays(dict(by), quantiles)
    frame, names = known(y_true), _names(by)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    columns, cuts = cut_arrays({name: frame.get_column(name) for name in names if name in frame.columns}, quantiles)
    cut = frame.with_columns(*(nw.new_series(name, columns[name], backend=frame.implementation) for name in cuts))
    return cut.to_native(), names, cuts


def _names(by: Any) -> list[str]:
    names = key_columns(by)
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
    schema = frame.collect_schema()
    numbers, cuts = [name for name in names if name in schema and schema[name].is_numeric()], {}
    if numbers:
        rows = sampled_rows(frame.select(*numbers), SAMPLED / max(count_rows(frame), 1), seed)
        table = fetched(rows)
        found = {name: cut_of_numbers(_numbers(table.column(name)), quantiles) for name in numbers}
        cuts = {name: cut for name, cut in found.items() if cut is not None}
    engine = engine_of(frame)
    coded = {
        name: own.expression(
            nw.col(name), is_missing(nw.col(name), engine) if schema[name].is_float() else nw.col(name).is_null()
        )
        for name, own in cuts.items()
    }
    cut = frame.with_columns(**coded) if coded else frame
    models = {model: own[0] if len(own) == 1 else own for model, own in columns_of_models(forecasts).items()}
    cases = read_lazy_cases(cut, models, outcome=outcome, by=names, **options)
    return cases, ledger, cuts


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
