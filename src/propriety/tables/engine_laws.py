"""Errors for the violations that a query counted, worded as for arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import narwhals as nw
import numpy as np

from propriety import demands
from propriety.errors import InputValueError, MissingValuesError
from propriety.tables import laws
from propriety.tables.engines import Counts
from propriety.tables.lazy_cases import Broken, LazyCases
from propriety.tables.queries import fetched

MISSING = {
    Broken.OUTCOME_MISSING: "y_true",
    Broken.FORECAST_MISSING: "",  # The name of the model's argument is filled in.
    Broken.WEIGHT_MISSING: "sample_weight",
}


def checked_counts(
    cases: LazyCases, counts: Counts, keys: Sequence[str] = (), *, weightless: bool = False
) -> tuple[Counts, int]:
    """Return the valid rows and the number of dropped rows, or raise the error of the first broken law.

    The weights may all be zero only where this is allowed, as for one group among several.
    """
    broken = np.maximum(-counts.key - 1.0, 0.0).astype(np.int64)
    total = int(counts.cases.sum())
    if total == 0:
        raise InputValueError(demands.NO_CASE)
    dropped = 0
    argument = cases.arguments[counts.model]
    for bit, name in MISSING.items():
        missing = int(counts.cases[(broken & bit) > 0].sum())
        if missing and not cases.drop:
            count = _count(missing, total)
            raise MissingValuesError(demands.MISSING, argument=name or argument, count=count, hint=demands.MISSING_HINT)
    if cases.drop:
        gone = (broken & Broken.MISSING) > 0
        dropped = int(counts.cases[gone].sum())
        if dropped == total:
            raise laws.none_left(total)
        counts, broken = counts.where(~gone), broken[~gone]
    if not (weightless and counts.positive.sum() == 0):
        _check_weights(cases, counts)
    order = (Broken.FORECAST, Broken.ROW_SUM, Broken.OUTCOME, Broken.WEIGHT)
    if cases.is_labelled:
        order = (Broken.OUTCOME, Broken.FORECAST, Broken.ROW_SUM, Broken.WEIGHT)
    for bit in order:
        bad = int(counts.cases[(broken & bit) > 0].sum())
        if bad:
            _refuse(cases, counts, keys, bit, _count(bad, total - dropped))
    return counts, dropped


def _check_weights(cases: LazyCases, counts: Counts) -> None:
    """Reject weights that are all zero, or so large or small that their powers overflow or vanish."""
    lawful = counts.key >= -1.0
    if not cases.weighted or not lawful.all():
        return
    if counts.positive.sum() == 0:
        raise InputValueError(demands.NO_WEIGHT, argument="sample_weight", count=f"{int(counts.cases.sum()):,} rows")
    if not demands.LEAST_SQUARES <= counts.squares.sum() <= demands.MOST_SQUARES:
        raise InputValueError(demands.WEIGHT_SIZE, argument="sample_weight", hint=demands.WEIGHT_SIZE_HINT)


def _refuse(cases: LazyCases, counts: Counts, keys: Sequence[str], bit: int, count: str) -> NoReturn:
    """Raise the error of a broken law, with an example and a fitting hint."""
    low, high = _ends(cases, counts, keys, bit)
    argument = cases.arguments[counts.model]
    law: str
    hint: str
    verb = "is"
    if bit == Broken.FORECAST:
        law, shown = demands.UNIT, high if high > 1.0 else low
        hint = laws.forecast_hint(low, high)
    elif bit == Broken.ROW_SUM:
        law, hint = laws.row_sum_law(cases.tolerance), demands.ROW_SUM_HINT
        shown, verb = high if high > 1.0 else low, "sums to"
    elif bit == Broken.WEIGHT:
        argument, law, hint = "sample_weight", demands.WEIGHT, demands.WEIGHT_HINT
        shown = low if low < 0.0 else high
    else:
        _refuse_outcome(cases, low, high, count)
    raise InputValueError(law, argument=argument, offender=f"one {verb} {shown!r}", count=count, hint=hint)


def _refuse_outcome(cases: LazyCases, low: Any, high: Any, count: str) -> NoReturn:
    law: str
    hint: str
    if cases.labels is not None and not cases.named:
        law, hint = laws.place_law(len(cases.labels)), demands.LABELS_HINT
    elif cases.held is None:
        law, hint = demands.OUTCOME, laws.outcome_hint(fraction=0.0 < low < 1.0 or 0.0 < high < 1.0)
    elif cases.pos_label is not None:
        raise laws.third_label(cases.pos_label, _outcome(cases.held[0]), _outcome(low))
    else:
        law, hint = laws.labels_law(map(_outcome, cases.named)), demands.EVERY_CLASS_HINT
    raise InputValueError(law, argument="y_true", offender=f"one is {_outcome(low)!r}", count=count, hint=hint)


def _ends(cases: LazyCases, counts: Counts, keys: Sequence[str], bit: int) -> tuple[Any, Any]:
    """Ask the engine for the smallest and the largest offending value."""
    law = next(law for law in cases.laws(counts.model).values() if law.broken_bit == bit)
    rows = cases.frame.filter(~law.missing & ~law.lawful)
    for column, label in zip(cases.key_columns(keys), counts.group, strict=True):
        rows = rows.filter(nw.col(column).is_null() if label is None else nw.col(column) == label)
    ends = fetched(rows.select(low=nw.col(law.lowest).min(), high=nw.col(law.highest).max()))
    return ends.column("low")[0].as_py(), ends.column("high")[0].as_py()


def _outcome(value: Any) -> Any:
    """Return an outcome as the user wrote it: engines return whole numbers as floats."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _count(bad: int, total: int) -> str:
    return f"{bad:,} of {total:,} rows"
