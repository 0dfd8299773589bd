"""Forecast tables by fold. Folds are drawn at random, computed from a hash of an identifier, or given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import narwhals as nw
import numpy as np
from narwhals.dependencies import is_into_dataframe
from numpy.typing import NDArray

from propriety.errors import InputTypeError, InputValueError, ProprietyError, Wording
from propriety.inference.bootstrap import canonical_order
from propriety.ledger.engine_filling import BUDGET
from propriety.ledger.ledger import Ledger
from propriety.ledger.sources import check_condensed, open_ledger
from propriety.recalibration.class_folds import ClassFolds
from propriety.recalibration.class_rows import ClassRows
from propriety.recalibration.grouped_forecasts import grouped_tables, grouping_of
from propriety.recalibration.hashed_folds import hashed_folds, with_hashed_folds, with_ranked_folds
from propriety.tables.cases import Cases, Keys
from propriety.tables.events import Event
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.frames import checked_columns, known
from propriety.tables.laws import named_key
from propriety.tables.queries import count_rows

FOLD, ID = "fold", "id"
CELLS = 2**16  # Of the tables of an engine with many rows.
DEFAULT_FOLDS, MOST = 10, 100
OF_CASES = ("outcome", "cluster", "time", "sample_weight", "pos_label", "labels")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Folds:
    """The table of each fold and, if available, the cases with their folds.

    Parameters
    ----------
    tables : tuple of ForecastTable
        One for each fold with cases; two or more.
    cases : Cases, optional
        The cases of one model; None if only tables are available.
    codes : array of shape (cases,), optional
        Index of each case's fold among the tables.
    dependence : {"cluster", "time"}, optional
        Whether cases may be correlated within clusters or within times.
    words : str
        How the folds were made.
    dropped : int
        Rows left out because of missing values.
    whole : ForecastTable
        The table of all cases, merged from those of the folds.
    """

    tables: tuple[ForecastTable, ...]
    cases: Cases | None = None
    codes: NDArray[np.intp] | None = None
    dependence: Literal["cluster", "time"] | None = None
    words: str = ""
    dropped: int = 0
    whole: ForecastTable = field(init=False)

    def __post_init__(self) -> None:
        if len(self.tables) < 2:
            law = f"cross-fitting needs at least two folds with cases; got {len(self.tables)}"
            raise InputValueError(law)
        object.__setattr__(self, "whole", replace(ForecastTable.merge(self.tables), dropped=self.dropped))

    def __len__(self) -> int:
        return len(self.tables)

    @property
    def has_certain(self) -> bool:
        """Whether a forecast is 0 or 1."""
        return any(table.forecast[0] == 0.0 or table.forecast[-1] == 1.0 for table in self.tables)

    def without(self, fold: int) -> ForecastTable:
        """Return the table of the cases of all other folds."""
        return ForecastTable.merge(table for place, table in enumerate(self.tables) if place != fold)


def folds_of(
    y_true: object,
    forecasts: object,
    *,
    folds: object,
    id: object,  # noqa: A002  (what users call it)
    model: str | None,
    seed: int,
    **options: Any,
) -> Folds | ClassFolds:
    """Split the data into folds; see `propriety.recalibrate` for the arguments.

    Folds are a key of a ledger. A lazy frame is counted by fold on its engine. The cases of an unweighted table are
    assigned to folds at random, which is equivalent to assigning the original cases. Forecasts of classes need the
    cases themselves.
    """
    number = _number(folds)
    beside = {"forecasts": forecasts, "id": id, **{name: options.get(name) for name in OF_CASES}}
    if isinstance(y_true, Mapping) and y_true and all(isinstance(one, ForecastTable) for one in y_true.values()):
        given = {"folds": None if number == DEFAULT_FOLDS else folds, "model": model}
        check_condensed("a mapping of ForecastTables", beside | given)
        tables = grouped_tables(y_true.values())
        return Folds(tables=tables, words=f"{len(tables)} folds as given", dropped=sum(one.dropped for one in tables))
    if isinstance(y_true, Ledger):
        check_condensed("a Ledger", beside)
        return _of_key(y_true, folds, model) if number is None else _of_ledger(y_true, number, model, seed)
    if isinstance(y_true, ForecastTable):
        check_condensed("a ForecastTable", beside | {"folds": None if number is not None else folds})
    key = _key_of(folds if number is None else None, id, given=number is None, **options)
    frame = known(y_true) if options.get("outcome") is not None and not _is_eager(y_true) else None
    if number is not None and isinstance(frame, nw.LazyFrame):
        return _of_lazy(frame, forecasts, number, id, seed, **options)
    try:
        ledger = open_ledger(y_true, forecasts, by=key, **options)
    except ProprietyError as error:
        if isinstance(key, Mapping) and error.argument == named_key(next(iter(key))):
            error.argument = "id" if number is not None else "folds"
        raise
    if number is None:
        return _of_key(ledger, ledger.index.names[0], model)
    if id is not None and isinstance(ledger.source, Cases):
        (ids,), name = ledger.source.keys.values(), id if isinstance(id, str) else ID
        return _of_cases(ledger, hashed_folds(ids.labels, number, seed)[ids.codes], model, f"folds by a hash of {name}")
    return _of_ledger(ledger, number, model, seed)


def assign_folds(counts: NDArray[Any], folds: int, seed: int | None) -> NDArray[np.intp]:
    """Assign units with given numbers of cases to folds of about equal size: at random with a seed, else in order.

    Examples
    --------
    >>> assign_folds(np.array([2, 1, 1, 2]), 3, None)
    array([0, 1, 1, 2])
    """
    order = np.arange(len(counts)) if seed is None else np.random.default_rng(seed).permutation(len(counts))
    share = (np.cumsum(counts[order]) - counts[order] / 2.0) / counts.sum()
    found = np.empty(len(counts), dtype=np.intp)
    found[order] = np.minimum(np.floor(folds * share), folds - 1).astype(np.intp)
    return found


def split_into_folds(table: ForecastTable, folds: int, seed: int) -> tuple[ForecastTable, ...]:
    """Assign the cases of a table to folds at random; unweighted cases with the same row and outcome are identical."""
    if table.is_weighted:
        law = "a table of weighted cases does not identify them, so they cannot be assigned to folds"
        raise InputValueError(law, hint=Wording("give the fold of each case by {folds=} or {id=}."))
    generator = np.random.default_rng(seed)
    chance = np.full(folds, 1.0 / folds)
    events, others = (generator.multinomial(one.astype(np.int64), chance) for one in (table.events, table.non_events))
    parts = []
    for fold in range(folds):
        rows = (events[:, fold] + others[:, fold]) > 0
        if rows.any():
            columns = {"events": events[rows, fold], "non_events": others[rows, fold]}
            # A refined table cannot be added to others, so its parts are plain tables of their rows.
            cells = None if table.refined else table.cells
            parts.append(ForecastTable(forecast=table.forecast[rows], **columns, cells=cells))
    return tuple(parts)


def _number(folds: object) -> int | None:
    """Return the number of folds; None if the argument gives the folds themselves."""
    if not isinstance(folds, int | np.integer) or isinstance(folds, bool):
        return None
    if not 2 <= folds <= MOST:
        raise InputValueError(f"must be a whole number from 2 to {MOST}", argument="folds", offender=f"got {folds!r}")
    return int(folds)


def _key_of(folds: object, id: object, *, given: bool, **options: Any) -> object:  # noqa: A002  (as above)
    """Return the key that cases are split by, if any: folds if they are given, or identifiers."""
    named = options.get("outcome") is not None
    if id is not None and (given or options.get("cluster") is not None or options.get("time") is not None):
        law = Wording("{id=} determines the folds, and so do {folds=}, {cluster=} and {time=}")
        raise InputValueError(law, hint="pass only one of them.")
    if id is None and not given:
        return None
    argument, value = ("folds", folds) if given else ("id", id)
    number = f"a whole number from 2 to {MOST} or " if given else ""
    if named and not isinstance(value, str):
        law = Wording(f"must be {number}the name of a column, as {{outcome=}} says that there is a frame")
        raise InputTypeError(law, argument=argument, offender=f"got {type(value).__name__}")
    if not named and (value is None or isinstance(value, int | float | np.generic)):
        law = Wording(f"must be {number}an array with one entry per case")
        raise InputTypeError(law, argument=argument, offender=f"got {type(value).__name__}")
    return value if named else {FOLD if given else ID: value}


def _is_eager(frame: object) -> bool:
    return bool(is_into_dataframe(frame))


def _of_ledger(ledger: Ledger, number: int, model: str | None, seed: int) -> Folds | ClassFolds:
    """Split the cases of a ledger: by its clusters or times, or at random."""
    if ledger.labels is None and ledger.dependence is None and not ledger.is_weighted:
        return _of_table(ledger.table(model), number, seed, ledger.dropped)
    cases = ledger.cases
    if cases is None:
        _check_event(ledger)
        if ledger.dependence is not None:
            law = f"whole {ledger.dependence}s must be in one fold, and the ledger does not hold them"
            hint = Wording("condense it by a key of folds, and pass its name as {folds=}.")
            raise InputValueError(law, hint=hint)
        return _of_table(ledger.table(model), number, seed, ledger.dropped)
    return folds_of_cases(ledger, cases, number, model, seed)


def folds_of_cases(ledger: Ledger, cases: Cases, number: int, model: str | None, seed: int) -> Folds | ClassFolds:
    """Split the cases of a ledger: by their clusters or times, or at random."""
    units = cases.units
    if units is None:
        # The folds do not depend on the order of the rows, so that engines and arrays have the same.
        order = canonical_order(cases.of(ledger.one_model(model)), within=[one.codes for one in cases.keys.values()])
        codes = np.empty(len(cases), dtype=np.intp)
        codes[order] = assign_folds(np.ones(len(cases)), number, seed)
        return _of_cases(ledger, codes, model, "random folds")
    counts = np.bincount(units.codes, minlength=len(units)).astype(np.float64)
    words = "folds of neighbouring times" if cases.time else "random folds of whole clusters"
    return _of_cases(ledger, assign_folds(counts, number, None if cases.time else seed)[units.codes], model, words)


def _of_table(table: ForecastTable, number: int, seed: int, dropped: int) -> Folds:
    """Assign the cases of a table to folds at random."""
    (grouped,) = grouped_tables([table])
    tables = split_into_folds(grouped, number, seed)
    empty = number - len(tables)
    unused = f" ({empty} of the {number} {'is' if empty == 1 else 'are'} empty)" if empty else ""
    return Folds(tables=tables, words=f"{len(tables)} random folds{unused}", dropped=dropped)


def _of_key(ledger: Ledger, name: object, model: str | None, words: str = "folds as given") -> Folds | ClassFolds:
    """Split the cases by a key; other keys are added up. `words` follow the number of folds."""
    if not isinstance(name, str):
        law = "must be a number, or the name of a key of the ledger"
        raise InputTypeError(law, argument="folds", offender=f"got {type(name).__name__}")
    ledger.index.place(name)
    own = ledger.over(*(other for other in ledger.index.names if other != name))
    if (own.dependence is not None or own.labels is not None) and own.cases is not None:
        codes = own.cases.keys[name].codes
        _check_whole(own.cases, codes)
        return _of_cases(own, codes, model, words)
    _check_event(own)
    keyed = own.keyed_tables(own.one_model(model), Event("event"))
    tables = grouped_tables(keyed.at(entry) for entry in range(len(own.index)))
    words = f"{len(tables)} {words}"
    return Folds(tables=tables, dependence=own.dependence, words=words, dropped=own.dropped)


def _check_whole(cases: Cases, folds: NDArray[np.intp]) -> None:
    """Raise an error if a cluster or time is in several folds: a map would be tested on what it has seen."""
    units = cases.units
    if units is None:
        return
    several = np.bincount(np.unique(np.stack([units.codes, folds]), axis=1)[0], minlength=len(units)) > 1
    if several.any():
        kind = "cluster" if cases.time is None else "time"
        example = units.labels[int(np.argmax(several))]
        offender = f"{kind} {example!r} is in several ({np.count_nonzero(several):,} of {len(units):,} {kind}s are)"
        hint = Wording("leave out {folds=}; whole " + kind + "s are then assigned to folds.")
        raise InputValueError(f"must keep each {kind} in one fold", argument="folds", offender=offender, hint=hint)


def _of_cases(ledger: Ledger, codes: NDArray[np.intp], model: str | None, words: str) -> Folds | ClassFolds:
    """Split cases by their folds; folds without cases are left out. `words` follow the number of folds."""
    cases = ledger.cases
    assert cases is not None  # noqa: S101  (for the type checker; such ledgers have cases)
    name = ledger.one_model(model)
    own = cases.of(name)
    present, places = np.unique(codes, return_inverse=True)
    words = f"{len(present)} {words}"
    keys = Keys(tuple(present.tolist()), places.reshape(-1).astype(np.intp))
    if own.labels is not None:
        rows = ClassRows.of_cases(own)
        return ClassFolds(cases=own.with_keys(()), whole=rows, codes=keys.codes, words=words, dropped=ledger.dropped)
    grouping = grouping_of(ledger.table(name))
    if grouping is not None:
        own = replace(own, forecasts={name: grouping.moved(own.gathered().forecast)})
    keyed = Ledger.of_source(replace(own, keys={FOLD: keys}), (Event("event"),))
    assert isinstance(keyed.source, Cases)  # noqa: S101  (for the type checker; they are in memory)
    tables = keyed.keyed_tables(keyed.models[0], Event("event"))
    return Folds(
        tables=tuple(tables.at(entry) for entry in range(len(keyed.index))),
        cases=replace(keyed.source, keys={}),
        codes=keyed.source.keys[FOLD].codes,
        dependence=keyed.dependence,
        words=words,
        dropped=ledger.dropped,
    )


def _of_lazy(
    frame: nw.LazyFrame[Any],
    forecasts: object,
    number: int,
    id: object,  # noqa: A002  (as above)
    seed: int,
    **options: Any,
) -> Folds | ClassFolds:
    """Split the rows of a lazy frame on its engine, by a hash of their identifier or cluster; else split its table."""
    unit = id if id is not None else options.get("cluster")
    if options.get("time") is not None:
        law = "times of a lazy frame cannot be split into folds"
        hint = Wording("add a column with the fold of each row, and pass its name as {folds=}.")
        raise InputValueError(law, hint=hint)
    if unit is None:
        ledger = open_ledger(frame.to_native(), forecasts, **options)
        if ledger.labels is not None:
            return _of_ledger(ledger, number, None, seed)
        return _of_table(ledger.table(), number, seed, ledger.dropped)
    schema = frame.collect_schema() if not isinstance(unit, str) else checked_columns(frame, [unit])
    if not isinstance(unit, str) or not schema[unit].is_integer():
        law = "the folds of a lazy frame need a column of whole numbers"
        made = "add one, such as a hash of the identifier computed by the engine."
        raise InputTypeError(law, offender=f"got {unit!r}", hint=made)
    name = next(one for one in (FOLD, *(f"{FOLD}_{n}" for n in range(len(schema) + 1))) if one not in schema)
    rows = count_rows(frame)
    if rows > BUDGET and _is_one_column(forecasts):
        # Fewer cells than a ledger would have are enough for maps, and the engine need not count each fold before.
        options["cells"] = CELLS
    keyed = open_ledger(with_hashed_folds(frame, unit, number, seed, name).to_native(), forecasts, by=name, **options)
    if len(keyed.index) < number:
        ranked = with_ranked_folds(frame, unit, number, seed, name)
        keyed = keyed if ranked is None else open_ledger(ranked.to_native(), forecasts, by=name, **options)
    return _of_key(keyed, name, None, f"folds by a hash of {unit}")


def _is_one_column(forecasts: object) -> bool:
    """Whether the forecasts are one column of a frame, by its name; classes have several."""
    columns = list(forecasts.values()) if isinstance(forecasts, Mapping) else forecasts
    return isinstance(columns, str) or (isinstance(columns, list | tuple) and [type(one) for one in columns] == [str])


def _check_event(ledger: Ledger) -> None:
    """Reject a ledger of classes that does not have its cases."""
    if ledger.labels is not None:
        law = f"recalibration of {len(ledger.labels)} classes needs {ledger.where_cases_are}"
        raise InputValueError(law, hint="fit the map to the frame itself; see propriety.recalibration.LazyClassRows.")
