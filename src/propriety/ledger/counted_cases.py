"""The ledger of counted cases: each row stands for a number of equal cases."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np

from propriety.errors import InputValueError, ProprietyError, Wording
from propriety.ledger.case_moments import moments_of_cases
from propriety.ledger.key_index import KeyIndex
from propriety.ledger.keyed_tables import KeyedTables
from propriety.ledger.ledger import Kind, Ledger
from propriety.ledger.sources import columns_of_models, key_columns, open_ledger
from propriety.result import Floats
from propriety.rules.rule import Rule
from propriety.tables import laws
from propriety.tables.cases import Cases
from propriety.tables.events import Event
from propriety.tables.frames import checked_columns, known

MOST = 2.0**53  # Sums up to here are exact as floats.


def counted_ledger(
    y_true: object, forecasts: object, counts: object, rules: Callable[[Kind], Iterable[Rule]], **options: Any
) -> Ledger:
    """Make the ledger of the cases that rows stand for; it keeps no cases. `rules` returns those of its moments."""
    if options["outcome"] is not None:
        columns = [options["outcome"], options["cluster"], options["time"], counts]
        y_true = _collected(y_true, forecasts, options["by"], *columns)
    try:
        # Counts are weights in everything but what is summed, so they are read and checked as such.
        rows = open_ledger(y_true, forecasts, sample_weight=counts, **options)
        return _of_counts(rows, rules(rows.kind))
    except ProprietyError as error:
        error.aliases["sample_weight"] = "counts"
        raise


def _collected(frame: object, forecasts: object, by: object, *others: object) -> object:
    """Return the columns of a lazy frame that are needed, in memory; an eager frame as it is."""
    lazy = known(frame)
    if not isinstance(lazy, nw.LazyFrame):
        return frame
    models = [name for own in columns_of_models(forecasts).values() for name in own]
    columns = dict.fromkeys([*models, *key_columns(by), *(name for name in others if isinstance(name, str))])
    checked_columns(lazy, list(columns))
    return lazy.select(*columns).collect().to_native()


def _of_counts(rows: Ledger, rules: Iterable[Rule]) -> Ledger:
    """Return the ledger of all cases, given that of rows with their counts as weights."""
    cases = rows.source
    assert isinstance(cases, Cases)  # noqa: S101  (for the type checker; the rows are in memory)
    counts = cases.checked().weights()
    assert counts is not None  # noqa: S101  (for the type checker; the counts are the weights)
    _check_counts(counts, cases)
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

    return replace(
        rows,
        source=None,
        is_weighted=False,
        index=index,
        _tables={(model, event): keyed(model, event) for model in rows.models for event in rows.events},
        _moments={rule: moments_of_cases(plain, rule, counts=counts.astype(np.int64)) for rule in rules},
    )


def _check_counts(counts: Floats, cases: Cases) -> None:
    broken = counts != np.floor(counts)
    if broken.any():
        hint = Wording("pass weights as {sample_weight=}.")
        laws.refuse("counts", "must be whole numbers", broken, counts, cases.rows, hint=hint)
    if counts.sum() > MOST:
        raise InputValueError("must add up to at most 2**53", argument="counts", offender=f"got {counts.sum():.6g}")
