"""Opening a ledger from user input: cases, arrays, a data frame, forecast tables or a ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from narwhals.typing import IntoFrame
from numpy.typing import ArrayLike

from propriety.errors import InputTypeError
from propriety.ledger.case_moments import moments_of_cases
from propriety.ledger.key_index import KeyIndex
from propriety.ledger.keyed_tables import KeyedTables
from propriety.ledger.ledger import Kind, Ledger
from propriety.rules.families import Brier, Log
from propriety.rules.functions import Excess
from propriety.rules.ordinal import RankedProbability
from propriety.rules.penalized import Misclassification, PenalizedBrier
from propriety.rules.rule import Rule
from propriety.tables.cases import Cases, check_nothing_beside
from propriety.tables.censored_outcomes import CensoredOutcomes
from propriety.tables.events import Event
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.frames import check_number_of_models
from propriety.tables.lazy_cases import LazyCases
from propriety.tables.models import check_tables
from propriety.tables.reading import read_source

# What is given in place of outcomes to functions that read cases, frames and ledgers.
Data: TypeAlias = (
    ArrayLike | IntoFrame | Mapping[str, ArrayLike] | Cases | LazyCases | CensoredOutcomes | ForecastTable | Ledger
)


def open_ledger(
    y_true: object,
    forecasts: object = None,
    *,
    by: object = None,
    fewest: int = 1,
    cells: int | None = None,
    rules: Sequence[Rule] | None = None,
    by_model: bool = False,
    **reading: Any,
) -> Ledger:
    """Make a ledger from user input; see `propriety.cases` for the arguments. Results are computed on demand.

    Beside a ledger or cases, `by` names those of their keys that are kept, by default all. With `rules`, rows that
    stand for several cases are not expanded: the ledger has the moments of these rules and the usual ones, and no
    cases. `by_model` allows outcomes by model.
    """
    ledger, kept = _condensed(y_true, forecasts, reading), by
    if ledger is None:
        kept, by = (by, None) if isinstance(y_true, Cases | LazyCases) else (None, by)
        read = read_source(y_true, forecasts, by=by, fewest=fewest, by_model=by_model, **reading)
        if rules is not None and isinstance(read, Cases) and read.is_counted:
            ledger = counted_ledger(read, rules)
        else:
            ledger = Ledger.of_cases(read, cells=cells)
    check_number_of_models(len(ledger.models), fewest)
    return ledger if kept is None else ledger.over(*other_keys(ledger, kept))


def other_keys(ledger: Ledger, by: object) -> list[str]:
    """Return the keys of a ledger that are not among some names."""
    names: list[Any] = [by] if isinstance(by, str) else list(by) if isinstance(by, list | tuple) else [by]
    for name in names:
        if not isinstance(name, str):
            raise InputTypeError("must name keys of the cases, which were read before", argument="by", got_type=name)
        ledger.index.place(name)
    return [name for name in ledger.index.names if name not in names]


def _condensed(y_true: object, forecasts: object, reading: Mapping[str, Any]) -> Ledger | None:
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
    usual = {"missing": "raise", "ordered": False}
    given = {name: value for name, value in reading.items() if name not in usual or value is not usual[name]}
    check_nothing_beside(what, {"forecasts": forecasts, **given})
    return found


def usual_rules(kind: Kind) -> tuple[Rule, ...]:
    """Return the functions whose moments a ledger holds by default."""
    if kind == "binary":
        return (Brier(), Log(), Excess())
    if kind == "ordinal":
        return (RankedProbability(), Log(), Brier(), Misclassification())
    return (Brier(), Log(), PenalizedBrier(), Misclassification())


def counted_ledger(cases: Cases, more: Sequence[Rule]) -> Ledger:
    """Make the ledger of the cases that rows stand for, with the moments of more rules; it keeps no cases."""
    rows = Ledger.of_cases(replace(cases, is_counted=False))
    assert isinstance(rows.source, Cases)  # noqa: S101  (for the type checker; the rows are in memory)
    cases = rows.source  # Without rows that stand for no case.
    counts = cases.checked().weights()
    counts = np.ones(len(cases)) if counts is None else counts
    index, entry = KeyIndex.of_cases(cases.keys, len(cases))
    plain = replace(cases, weight=None)

    def keyed(model: str, event: Event) -> KeyedTables:
        weighted = KeyedTables.of_cases(cases, model, event, entry, len(index))
        happened = plain.event(event, model).outcomes()
        numbers: dict[str, Any] = {
            name: np.bincount(entry, column, minlength=len(index)).astype(np.int64)
            for name, column in (("n", counts), ("n_events", counts * happened))
        }
        return replace(weighted, event_squares=weighted.events, non_event_squares=weighted.non_events, **numbers)

    rules = dict.fromkeys([*usual_rules(rows.kind), *more])
    return replace(
        rows,
        source=None,
        is_weighted=False,
        index=index,
        _tables={(model, event): keyed(model, event) for model in rows.models for event in rows.events},
        _moments={rule: moments_of_cases(plain, rule, counts=counts.astype(np.int64)) for rule in rules},
    )
