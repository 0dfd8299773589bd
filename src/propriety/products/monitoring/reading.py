"""What a monitor reads: a ledger with the periods as a key, from a ledger, cases, frames or arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from propriety import demands
from propriety.errors import InputTypeError, InputValueError, Wording
from propriety.ledger.ledger import Ledger
from propriety.ledger.sources import open_ledger
from propriety.products.monitoring.rows import EXTRA
from propriety.products.monitoring.times import check_texts
from propriety.tables.cases import Cases
from propriety.tables.lazy_cases import LazyCases
from propriety.tables.reading import key_columns

CASES, UNNAMED = "case", "time"  # Names of the periods of arrays: of cases one by one, and without a name.
USUAL = "day"


def read_ledger(
    y_true: Any, forecasts: Any, period: Any, by: Any, reading: Mapping[str, Any], *, known: str = "", first: int = 1
) -> tuple[Ledger, str]:
    """Return the ledger by period and keys, and the name of the periods, which is `known` if a monitor is continued."""
    if isinstance(y_true, Cases) and y_true.period is not None and period is None and not known:
        key = y_true.columns.get("period", UNNAMED)
        y_true = replace(y_true, keys={**y_true.keys, key: y_true.period}, period=None)
        period = key
    if isinstance(y_true, Ledger | Cases | LazyCases):
        ledger = open_ledger(y_true, forecasts, **reading)
        key = _name(ledger, known or period)
        if by is not None:
            kept = [by, key] if isinstance(by, str) else [*by, key]
            ledger = open_ledger(ledger, by=kept)
            ledger = ledger.over(*(name for name in ledger.index.names if name not in kept))
    elif reading["outcome"] is not None:
        key = known if period is None else period
        if not isinstance(key, str) or not key:
            raise InputTypeError(Wording("of a frame must be the name of a column"), argument="period", got_type=key)
        ledger = open_ledger(y_true, forecasts, by=[*key_columns(by), key], **reading)
    else:
        key, labels = _of_arrays(y_true, period, known, first)
        groups = dict(by) if isinstance(by, Mapping) else {} if by is None else {"group": by}
        ledger = open_ledger(y_true, forecasts, by={**groups, key: labels}, **reading)
    _check(ledger, key)
    return ledger, key


def _of_arrays(y_true: Any, period: Any, known: str, first: int) -> tuple[str, Any]:
    """Return the name and the labels of the periods of arrays."""
    if period is None:
        if known not in ("", CASES):
            law = "must be the period of each case, because the monitor has periods"
            raise InputValueError(law, argument="period", offender=f"its periods are {known!r}")
        return CASES, np.arange(first, first + len(y_true))
    if isinstance(period, str):
        raise InputTypeError("must be the period of each case", argument="period", got_type=period)
    name = getattr(period, "name", None)
    return known or (name if isinstance(name, str) and name else UNNAMED), period


def _name(ledger: Ledger, period: Any) -> str:
    """Return the key of the periods: the one that is named, the only one, or "day"."""
    keys = tuple(ledger.keys)
    if period is None:  # A single key is not that of periods if it is a crossed one, such as "day, site".
        period = USUAL if USUAL in keys else keys[0] if len(keys) == 1 and "," not in keys[0] else None
    if not isinstance(period, str) or period not in keys:
        listed = ", ".join(map(repr, keys)) or "no keys"
        hint = "condense with the days as a key of their own; at the command line, repeat --by for every key."
        law: str | Wording = f"the cases have no key {period!r}; period must be the name of one"
        if period is None:
            law = Wording("the cases have several keys, so that {period=} must name one")
            law = law if len(keys) > 1 else "the cases have no key of periods, such as days"
        raise InputValueError(law, offender=f"they have {listed}", hint=hint)
    return period


def _check(ledger: Ledger, period: str) -> None:
    taken = next((key for key in ledger.keys if key in EXTRA), None)
    if taken is not None:
        law = f"a monitored key must not be called {taken!r}, which is a column of the result"
        raise InputValueError(law, hint="give the key another name.")
    check_texts(ledger.keys[period], period)
    if ledger.labels is not None:
        raise InputValueError(
            demands.one_event("monitor"), hint="condense the forecasts of one class, with its outcomes as 0 and 1."
        )
    if ledger.is_weighted:
        raise InputValueError("monitor needs cases without weights, because it counts cases")
    if ledger.dependence is not None:
        law = f"monitor needs cases without {ledger.dependence}s, which may reach across the periods of {period!r}"
        raise InputValueError(law, hint="leave them out: cases of one period may be correlated in any way.")


def chosen(ledger: Ledger, period: str, labels: set[Any]) -> Ledger:
    """Return the ledger of some periods."""
    kept = [label for label in ledger.keys[period] if label in labels]
    return ledger if len(kept) == len(ledger.keys[period]) else ledger.where(**{period: kept})
