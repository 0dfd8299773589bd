"""The cases in which segments are searched, with their numbers cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from propriety import demands
from propriety.errors import InputTypeError, InputValueError, Wording
from propriety.ledger.ledger import Ledger
from propriety.products.segments.columns import Cut, cut_of_numbers
from propriety.tables import laws
from propriety.tables.cases import Cases
from propriety.tables.frames import known
from propriety.tables.key_columns import KeyColumn
from propriety.tables.keys import Keys
from propriety.tables.lazy_cases import LazyCases
from propriety.tables.queries import count_rows, fetched, sampled_rows

COARSE = 16
SAMPLED = 2**17  # Rows of an engine whose numbers give the quantiles.


def segment_source(
    cases: object, by: str | Sequence[str] | None, quantiles: int, seed: int
) -> tuple[Cases | LazyCases, Ledger, dict[str, Cut]]:
    """Return the cases with the keys searched, a ledger of them, and the cuts of the keys that are numbers."""
    if not isinstance(cases, Cases | LazyCases):
        hint = Wording("pass propriety.cases(y_true, forecasts, {by=}columns).")
        raise InputTypeError("segments are searched in cases, by their keys", got_type=cases, hint=hint)
    if isinstance(cases, LazyCases):
        return _of_engine(cases.confirmed().with_keys(names_of_keys(cases, by)), quantiles, seed)
    cut, cuts = cut_cases(cases.expanded().with_keys(names_of_keys(cases, by)), quantiles)
    ledger = Ledger.of_cases(cut.with_keys(()))
    _check(ledger)
    return cut, ledger, cuts


def names_of_keys(cases: Cases | LazyCases, by: str | Sequence[str] | None) -> list[str]:
    """Return the names of some keys of cases, by default of all."""
    names = list(cases.keys) if by is None else [by] if isinstance(by, str) else list(by)
    for name in names:
        if name not in cases.keys:
            offender = f"there are {list(cases.keys)}" if len(cases.keys) else "the cases have none"
            raise InputValueError(f"must name keys of the cases; {name!r} is none", argument="by", offender=offender)
    if not names:
        hint = Wording("pass {by=} when the cases are read.")
        raise InputTypeError("must name one key or more", argument="by", offender="got none", hint=hint)
    return names


def cut_cases(cases: Cases, quantiles: int, *, finite: bool = False) -> tuple[Cases, dict[str, Cut]]:
    """Return cases with the numbers among their keys replaced by the index of their part, and the cuts.

    Infinite numbers are in the outermost parts, or refused with `finite`.
    """
    keys, cuts = dict(cases.keys), {}
    for name, key in cases.keys.items():
        labels = np.asarray(key.labels)
        if len(labels) != len(key.labels) or labels.ndim != 1:  # Labels are tuples.
            continue
        cut = cut_of_numbers(labels[key.codes], quantiles)
        if cut is None:
            continue
        if finite and labels.dtype.kind == "f" and np.isinf(labels).any():
            law = "must be finite, because limits of parts are stored with a map"
            row = int(np.isinf(labels)[key.codes].argmax())
            offender = f"is {key.labels[key.codes[row]]!r}"
            raise InputValueError(law, argument=laws.named_key(name), row=row, offender=offender)
        parts, codes = np.unique(cut.codes(labels)[key.codes], return_inverse=True)
        cuts[name], keys[name] = cut, Keys(tuple(parts.tolist()), codes.reshape(-1))
    return replace(cases, keys=keys), cuts


def _of_engine(cases: LazyCases, quantiles: int, seed: int) -> tuple[LazyCases, Ledger, dict[str, Cut]]:
    """Return the same for a lazy frame. A ledger without keys, on a coarse grid, checks and counts the rows."""
    ledger = Ledger.of_cases(cases.with_keys(()), cells=COARSE)
    _check(ledger)
    schema = known(cases.given["y_true"]).collect_schema()
    kept = {name: f"key_{place}" for place, name in enumerate(cases.keys) if _is_number(schema[name])}
    if not kept:
        return cases, ledger, {}
    numbers = {key: nw.col(key).cast(nw.Float64) for key in kept.values()}
    table = fetched(
        sampled_rows(cases.lawful_rows().select(**numbers), SAMPLED / max(count_rows(cases.frame), 1), seed)
    )
    found = {name: cut_of_numbers(_numbers(table.column(key)), quantiles) for name, key in kept.items()}
    cuts = {name: cut for name, cut in found.items() if cut is not None}
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


def _check(ledger: Ledger) -> None:
    """Raise an error unless a ledger is of one event with known outcomes, forecast by one model."""
    if ledger.censoring is not None:
        raise InputTypeError(demands.KNOWN_OUTCOMES, argument="y_true")
    if ledger.is_weighted:
        raise InputValueError("segments are searched in cases without weights, because the search counts events")
    if ledger.labels is not None:
        raise InputValueError("segments are searched for one event; these are forecasts of classes")
    if len(ledger.models) != 1:
        raise InputValueError(demands.ONE_MODEL, argument="forecasts", offender=f"got {len(ledger.models)} models")
