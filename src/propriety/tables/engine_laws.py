"""Violations that a query counted, told in the sentences of the door."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import narwhals as nw
import numpy as np

from propriety.errors import InputValueError, MissingValuesError, sentence
from propriety.tables import laws
from propriety.tables.engines import Counts
from propriety.tables.lazy_cases import Broken, LazyCases
from propriety.tables.queries import fetched

__all__ = ["judged"]

MISSING = {
    Broken.OUTCOME_MISSING: "y_true",
    Broken.FORECAST_MISSING: "",  # The argument of the model.
    Broken.WEIGHT_MISSING: "sample_weight",
}


def judged(
    cases: LazyCases, counts: Counts, keys: Sequence[str] = (), *, weightless: bool = False
) -> tuple[Counts, int]:
    """Return the rows that keep every law and the number dropped, or raise the error of the first broken law.

    All of them may be without weight only where that is allowed, as one group among others may.
    """
    fault = np.maximum(-counts.key - 1.0, 0.0).astype(np.int64)
    total = int(counts.cases.sum())
    if total == 0:
        raise InputValueError(sentence("y_true and y_proba must hold at least one case; both are empty"))
    dropped = 0
    argument = cases.arguments[counts.model]
    for bit, name in MISSING.items():
        missing = int(counts.cases[(fault & bit) > 0].sum())
        if missing and not cases.drop:
            law = f"{name or argument} must not hold missing values (NaN, None, NA or masked)"
            hint = 'drop such rows yourself, or pass missing="drop" to drop and count them.'
            raise MissingValuesError(sentence(law, count=_count(missing, total), hint=hint))
    if cases.drop:
        gone = (fault & Broken.MISSING) > 0
        dropped = int(counts.cases[gone].sum())
        if dropped == total:
            law = 'missing="drop" leaves no case: every row has a missing value'
            raise InputValueError(sentence(law, count=f"{total:,} rows"))
        counts, fault = counts.where(~gone), fault[~gone]
    if not (weightless and counts.positive.sum() == 0):
        _check_weights(cases, counts)
    order = (Broken.FORECAST, Broken.ROW_SUM, Broken.OUTCOME, Broken.WEIGHT)
    if cases.is_labelled:
        order = (Broken.OUTCOME, Broken.FORECAST, Broken.ROW_SUM, Broken.WEIGHT)
    for bit in order:
        bad = int(counts.cases[(fault & bit) > 0].sum())
        if bad:
            _refuse(cases, counts, keys, bit, _count(bad, total - dropped))
    return counts, dropped


def _check_weights(cases: LazyCases, counts: Counts) -> None:
    """Refuse weights that are all zero, or so large or small that their squares are not numbers."""
    lawful = counts.key >= -1.0
    if not cases.weighted or not lawful.all():
        return
    if counts.positive.sum() == 0:
        raise InputValueError(sentence(laws.NO_WEIGHT, count=f"{int(counts.cases.sum()):,} rows"))
    if not 0.0 < counts.squares.sum() < np.inf:
        law = "sample_weight must have squares whose sum is positive and finite"
        raise InputValueError(sentence(law, hint="divide the weights by their mean."))


def _refuse(cases: LazyCases, counts: Counts, keys: Sequence[str], bit: int, count: str) -> NoReturn:
    """Raise the error of a law, with an example and the hint that the offenders call for."""
    low, high = _ends(cases, counts, keys, bit)
    argument = cases.arguments[counts.model]
    if bit == Broken.FORECAST:
        law, shown = f"{argument} must lie in [0, 1]", high if high > 1.0 else low
        hint = laws.forecast_hint(argument, low, high)
    elif bit == Broken.ROW_SUM:
        law, shown = f"the rows of {argument} must sum to 1 within {cases.tolerance:g}", high if high > 1.0 else low
        raise InputValueError(sentence(law, offender=f"one sums to {shown!r}", count=count, hint=laws.ROW_SUM_HINT))
    elif bit == Broken.WEIGHT:
        law, shown, hint = laws.WEIGHT_LAW, low if low < 0.0 else high, laws.WEIGHT_HINT
    elif cases.place_law is not None:
        (law, hint), shown = cases.place_law, _outcome(low)
    elif cases.held is None:
        law, shown = laws.OUTCOME_LAW, _outcome(low)
        hint = laws.outcome_hint(fraction=0.0 < low < 1.0 or 0.0 < high < 1.0)
    elif cases.pos_label is not None:
        law = f"y_true must hold pos_label={cases.pos_label!r} and one other label"
        law += f"; got both {_outcome(cases.held[0])!r} and {_outcome(low)!r}"
        raise InputValueError(
            sentence(law, hint=f"pass y_true == {cases.pos_label!r} to score one class against the rest.")
        )
    else:
        law, shown = f"y_true must hold only the labels {list(map(_outcome, cases.named))}", _outcome(low)
        hint = "name every class in labels=, also one without cases."
    raise InputValueError(sentence(law, offender=f"one is {shown!r}", count=count, hint=hint))


def _ends(cases: LazyCases, counts: Counts, keys: Sequence[str], bit: int) -> tuple[Any, Any]:
    """Ask the engine for the smallest and the largest offender."""
    law = next(law for law in cases.laws(counts.model).values() if law.broken_bit == bit)
    rows = cases.frame.filter(~law.missing & ~law.lawful)
    for column, label in zip(cases.key_columns(keys), counts.group, strict=True):
        rows = rows.filter(nw.col(column).is_null() if label is None else nw.col(column) == label)
    ends = fetched(rows.select(low=nw.col(law.lowest).min(), high=nw.col(law.highest).max()))
    return ends.column("low")[0].as_py(), ends.column("high")[0].as_py()


def _outcome(value: Any) -> Any:
    """Return an outcome as the user knows it: numbers are floats in the engine, whole ones were not."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _count(bad: int, total: int) -> str:
    return f"{bad:,} of {total:,} rows"
