"""Forecast tables by fold. Folds are drawn at random, computed from a hash of an identifier, or given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from narwhals.dependencies import is_into_dataframe
from numpy.typing import NDArray
from scipy.special import expit

from propriety import checks
from propriety.errors import InputTypeError, InputValueError, ProprietyError, Wording
from propriety.inference.bootstrap import canonical_order
from propriety.ledger.engine_moments import MAX_TABLE_ROWS
from propriety.ledger.ledger import Ledger
from propriety.ledger.sources import open_ledger
from propriety.recalibration.class_rows import ClassRows
from propriety.recalibration.cross_fitting import FOLD, Folds, Source
from propriety.recalibration.hashed_folds import hashed_folds, with_hashed_folds, with_ranked_folds
from propriety.result import Floats
from propriety.tables.arrays import read_array
from propriety.tables.cases import Cases, check_nothing_beside
from propriety.tables.events import Event
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.frames import checked_columns, known
from propriety.tables.keys import Keys, code_keys
from propriety.tables.laws import named_key
from propriety.tables.lazy_cases import LazyCases
from propriety.tables.queries import count_rows

ID = "id"
CELLS = 2**16  # Of the tables of an engine with many rows.
DEFAULT_FOLDS, MOST_FOLDS = 10, 100
OF_CASES = ("outcome", "cluster", "period", "sample_weight", "pos_label", "labels")


def folds_of(
    y_true: object,
    forecasts: object,
    *,
    folds: object,
    id: object,  # noqa: A002  (what users call it)
    model: str | None,
    **options: Any,
) -> Folds:
    """Split the data into folds; see `propriety.recalibrate` for the arguments.

    Folds are a key of a ledger. A lazy frame is counted by fold on its engine. The cases of an unweighted ledger are
    assigned to folds at random, which is equivalent to assigning the original cases. Forecasts of classes need the
    cases themselves.
    """
    number = checks.whole(folds, "folds", least=2, most=MOST_FOLDS) if checks.is_whole(folds) else None
    beside = {"forecasts": forecasts, "id": id, **{name: options.get(name) for name in OF_CASES}}
    if isinstance(y_true, Cases | LazyCases):
        check_nothing_beside("cases", beside)
    if isinstance(y_true, Cases):
        y_true.check_one_outcome()
        return _of_read(y_true.expanded(), None if number is not None else folds, number or 0, model)
    if isinstance(y_true, LazyCases):
        given = dict(y_true.confirmed().given)
        y_true, forecasts, id = given.pop("y_true"), given.pop("forecasts"), given.pop("id")  # noqa: A001  (as above)
        del given["by"]
        options = {**options, **given}
    elif isinstance(y_true, Ledger):
        check_nothing_beside("a Ledger", beside)
        return _of_key(y_true, folds, model) if number is None else _of_ledger(y_true, number, model)
    return _of_arguments(y_true, forecasts, folds, number, id, model, options)


def _of_arguments(
    y_true: object,
    forecasts: object,
    folds: object,
    number: int | None,
    id: object,  # noqa: A002  (as above)
    model: str | None,
    options: dict[str, Any],
) -> Folds:
    """Split arrays or a frame; see `folds_of`."""
    key = _key_of(folds if number is None else None, id, given=number is None, **options)
    frame = known(y_true) if options.get("outcome") is not None and not is_into_dataframe(y_true) else None
    if number is not None and isinstance(frame, nw.LazyFrame):
        return _of_lazy(frame, forecasts, number, id, **options)
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
        return _of_cases(ledger, hashed_folds(ids.labels, number)[ids.codes], model, f"folds by a hash of {name}")
    return _of_ledger(ledger, number, model)


def _of_read(cases: Cases, folds: object, number: int, model: str | None) -> Folds:
    """Split cases that were read before: by the folds given, by their identifiers, or as those of a ledger."""
    if folds is not None:
        key = _given_folds(cases, folds)
        return _of_key(Ledger.of_cases(replace(cases, keys={FOLD: key})), FOLD, model)
    ledger = Ledger.of_cases(cases.with_keys(()))
    ids = _held(ledger.source).id
    if ids is None:
        return _of_ledger(ledger, number, model)
    if ledger.dependence is not None:
        raise InputValueError(Wording("{id=} determines the folds, and so do {cluster=} and {period=}"))
    return _of_cases(ledger, hashed_folds(ids.labels, number)[ids.codes], model, "folds by a hash of id")


def _given_folds(cases: Cases, folds: object) -> Keys:
    """Return the fold of each case: a key of the cases, or an array."""
    if isinstance(folds, str):
        if folds not in cases.keys:
            offender = f"there are {list(cases.keys)}" if cases.keys else "the cases have none"
            raise InputValueError(
                f"must name a key of the cases; {folds!r} is none", argument="folds", offender=offender
            )
        return cases.keys[folds]
    if folds is None or isinstance(folds, int | float | np.generic):
        law = Wording(f"must be a whole number from 2 to {MOST_FOLDS} or an array with one entry per case")
        raise InputTypeError(law, argument="folds", got_type=folds)
    values = read_array(folds, "folds", role="keys").values
    if len(values) == len(cases) + cases.dropped and cases.rows is not None:
        values = values[cases.rows]
    if len(values) != len(cases):
        raise InputValueError(f"must have an entry for each of the {len(cases):,} cases", argument="folds")
    return code_keys(values, "folds")


def assign_folds(counts: NDArray[Any], folds: int, draw: int | None) -> NDArray[np.intp]:
    """Assign units with given numbers of cases to folds of about equal size: at random by `draw`, else in order.

    Examples
    --------
    >>> assign_folds(np.array([2, 1, 1, 2]), 3, None)
    array([0, 1, 1, 2])
    """
    order = np.arange(len(counts)) if draw is None else np.random.default_rng(draw).permutation(len(counts))
    share = (np.cumsum(counts[order]) - counts[order] / 2.0) / counts.sum()
    found = np.empty(len(counts), dtype=np.intp)
    found[order] = np.minimum(np.floor(folds * share), folds - 1).astype(np.intp)
    return found


def split_into_folds(table: ForecastTable, folds: int, draw: int) -> tuple[ForecastTable, ...]:
    """Assign the cases of a table to folds at random; unweighted cases with the same row and outcome are identical."""
    if table.is_weighted:
        law = "a table of weighted cases does not identify them, so they cannot be assigned to folds"
        raise InputValueError(law, hint=Wording("give the fold of each case by {folds=} or {id=}."))
    generator = np.random.default_rng(draw)
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


def _key_of(folds: object, id: object, *, given: bool, **options: Any) -> object:  # noqa: A002  (as above)
    """Return the key that cases are split by, if any: folds if they are given, or identifiers."""
    named = options.get("outcome") is not None
    if id is not None and (given or options.get("cluster") is not None or options.get("period") is not None):
        law = Wording("{id=} determines the folds, and so do {folds=}, {cluster=} and {period=}")
        raise InputValueError(law, hint="pass only one of them.")
    if id is None and not given:
        return None
    argument, value = ("folds", folds) if given else ("id", id)
    number = f"a whole number from 2 to {MOST_FOLDS} or " if given else ""
    if named and not isinstance(value, str):
        law = Wording(f"must be {number}the name of a column, as {{outcome=}} says that there is a frame")
        raise InputTypeError(law, argument=argument, got_type=value)
    if not named and (value is None or isinstance(value, int | float | np.generic)):
        law = Wording(f"must be {number}an array with one entry per case")
        raise InputTypeError(law, argument=argument, got_type=value)
    return value if named else {FOLD if given else ID: value}


def _of_ledger(ledger: Ledger, number: int, model: str | None) -> Folds:
    """Split the cases of a ledger: by its clusters or periods, or at random."""
    if ledger.labels is None and ledger.dependence is None and not ledger.table(model).is_weighted:
        return _of_table(ledger, number, model)
    cases = ledger.cases
    if cases is None:
        _check_event(ledger)
        if ledger.dependence is not None:
            law = f"whole {ledger.dependence}s must be in one fold, and the ledger does not hold them"
            raise InputValueError(law, hint=Wording("condense it by a key of folds, and pass its name as {folds=}."))
        return _of_table(ledger, number, model)
    return folds_of_cases(ledger, cases, number, model)


def folds_of_cases(ledger: Ledger, cases: Cases, number: int, model: str | None, draw: int = 0) -> Folds:
    """Split the cases of a ledger: by their clusters or periods, or at random, which depends on `draw`.

    Folds depend on the cases and not on the order of the rows, so that engines and arrays have the same.
    """
    again = None if cases.period is not None else partial(folds_of_cases, ledger, cases, number, model)
    units = cases.units
    if units is None:
        order = canonical_order(cases.of(ledger.one_model(model)), within=[one.codes for one in cases.keys.values()])
        codes = np.empty(len(cases), dtype=np.intp)
        codes[order] = assign_folds(np.ones(len(cases)), number, draw)
        return _of_cases(ledger, codes, model, "random folds", again)
    counts = np.bincount(units.codes, minlength=len(units)).astype(np.float64)
    words = "folds of neighbouring periods" if cases.period else "random folds of whole clusters"
    codes = assign_folds(counts, number, None if cases.period else draw)[units.codes]
    return _of_cases(ledger, codes, model, words, again)


def _of_table(ledger: Ledger, number: int, model: str | None = None, draw: int = 0) -> Folds:
    """Assign the cases of the table of a ledger to folds at random, which depends on `draw`."""
    (grouped,) = grouped_tables([ledger.table(model)])
    tables = split_into_folds(grouped, number, draw)
    empty = number - len(tables)
    unused = f" ({empty} of the {number} {'is' if empty == 1 else 'are'} empty)" if empty else ""
    words = f"{len(tables)} random folds{unused}"
    again = partial(_of_table, ledger, number, model)
    source = Source(ledger, ledger.one_model(model))
    whole = _merged(tables, ledger.dropped)
    return Folds(whole=whole, tables=tables, words=words, dropped=ledger.dropped, source=source, again=again)


def _of_key(ledger: Ledger, name: object, model: str | None, words: str = "folds as given") -> Folds:
    """Split the cases by a key; other keys are added up. `words` follow the number of folds."""
    if not isinstance(name, str):
        raise InputTypeError("must be a number, or the name of a key of the ledger", argument="folds", got_type=name)
    ledger.index.place(name)
    own = ledger.over(*(other for other in ledger.index.names if other != name))
    if (own.dependence is not None or own.labels is not None) and own.cases is not None:
        codes = own.cases.keys[name].codes
        _check_whole(own.cases, codes)
        return _of_cases(own, codes, model, words)
    _check_event(own)
    source = Source(own, own.one_model(model))
    keyed = own.keyed_tables(source.model, Event("event"))
    tables = grouped_tables(keyed.at(entry) for entry in range(len(own.index)))
    words = f"{len(tables)} {words}"
    whole = _merged(tables, own.dropped)
    return Folds(whole=whole, tables=tables, dependence=own.dependence, words=words, dropped=own.dropped, source=source)


def _check_whole(cases: Cases, folds: NDArray[np.intp]) -> None:
    """Raise an error if a cluster or period is in several folds: a map would be tested on what it has seen."""
    units = cases.units
    if units is None:
        return
    several = np.bincount(np.unique(np.stack([units.codes, folds]), axis=1)[0], minlength=len(units)) > 1
    if several.any():
        kind = "cluster" if cases.period is None else "period"
        example = units.labels[int(np.argmax(several))]
        offender = f"{kind} {example!r} is in several ({np.count_nonzero(several):,} of {len(units):,} {kind}s are)"
        hint = Wording("leave out {folds=}; whole " + kind + "s are then assigned to folds.")
        raise InputValueError(f"must keep each {kind} in one fold", argument="folds", offender=offender, hint=hint)


def _of_cases(
    ledger: Ledger,
    codes: NDArray[np.intp],
    model: str | None,
    words: str,
    again: Callable[[int], Any] | None = None,
) -> Folds:
    """Split cases by their folds; folds without cases are left out. `words` follow the number of folds."""
    name = ledger.one_model(model)
    own = _held(ledger.cases).of(name)
    present, places = np.unique(codes, return_inverse=True)
    keys = Keys(tuple(present.tolist()), places.reshape(-1).astype(np.intp))
    shared: dict[str, Any] = {"source": Source(ledger, name), "dropped": ledger.dropped, "again": again}
    shared["words"] = f"{len(present)} {words}"
    if own.labels is not None:
        rows = ClassRows.of_cases(own)
        return Folds(whole=rows, rows=rows.forecast, cases=own.with_keys(()), codes=keys.codes, **shared)
    grouping = grouping_of(ledger.table(name))
    if grouping is not None:
        own = replace(own, forecasts={name: grouping.moved(own.gathered().forecast)})
    keyed = Ledger.of_source(replace(own, keys={FOLD: keys}), (Event("event"),))
    found = keyed.keyed_tables(keyed.models[0], Event("event"))
    tables = tuple(found.at(entry) for entry in range(len(keyed.index)))
    cases, codes = _held(keyed.cases), _held(keyed.cases).keys[FOLD].codes
    return Folds(
        whole=_merged(tables, ledger.dropped),
        tables=tables,
        rows=cases.gathered().forecast,
        cases=replace(cases, keys={}),
        codes=codes,
        dependence=keyed.dependence,
        **shared,
    )


def _merged(tables: Sequence[ForecastTable], dropped: int) -> ForecastTable:
    return replace(ForecastTable.merge(tables), dropped=dropped)


def _held(cases: Cases | LazyCases | None) -> Cases:
    """Return cases that are in memory."""
    if not isinstance(cases, Cases):
        raise InputTypeError("folds need the cases in memory", argument="cases", got_type=cases)
    return cases


def _of_lazy(
    frame: nw.LazyFrame[Any],
    forecasts: object,
    number: int,
    id: object,  # noqa: A002  (as above)
    **options: Any,
) -> Folds:
    """Split the rows of a lazy frame on its engine, by a hash of their identifier or cluster; else split its table."""
    unit = id if id is not None else options.get("cluster")
    if options.get("period") is not None:
        hint = Wording("add a column with the fold of each row, and pass its name as {folds=}.")
        raise InputValueError("periods of a lazy frame cannot be split into folds", hint=hint)
    if unit is None:
        ledger = open_ledger(frame.to_native(), forecasts, **options)
        if ledger.labels is not None:
            return _of_ledger(ledger, number, None)
        return _of_table(ledger, number)
    schema = frame.collect_schema() if not isinstance(unit, str) else checked_columns(frame, [unit])
    if not isinstance(unit, str) or not schema[unit].is_integer():
        law = "the folds of a lazy frame need a column of whole numbers"
        made = "add one, such as a hash of the identifier computed by the engine."
        raise InputTypeError(law, got=unit, hint=made)
    name = next(one for one in (FOLD, *(f"{FOLD}_{n}" for n in range(len(schema) + 1))) if one not in schema)
    rows = count_rows(frame)
    if rows > MAX_TABLE_ROWS and _is_one_column(forecasts):
        # Fewer cells than a ledger would have are enough for maps, and the engine need not count each fold before.
        options["cells"] = CELLS
    keyed = open_ledger(with_hashed_folds(frame, unit, number, name).to_native(), forecasts, by=name, **options)
    if len(keyed.index) < number:
        ranked = with_ranked_folds(frame, unit, number, name)
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
        raise InputValueError(law, hint="pass a random sample of the rows; a million fix a temperature to about 0.002.")


MOST_ROWS = 2**12  # Tables with at most this many rows are not grouped.
GROUPS = 2**11  # With equal shares of the weight times the standard deviation of the outcome.
WIDTH = 1.0 / 16.0  # Largest width of a group in log-odds.
STEPS = np.append(expit(WIDTH * np.arange(-745 * 16, 37 * 16)), [5e-324, 1.0])  # From the smallest double to 1.


class Grouping(NamedTuple):
    """Groups of neighbouring forecasts: the lowest forecast and the mean of each group."""

    low: Floats
    mean: Floats

    def moved(self, forecast: Floats) -> Floats:
        """Return the group mean of each forecast."""
        # A case with a weight of 0 may have a forecast below all those of the table.
        place = np.maximum(np.searchsorted(self.low, forecast, side="right") - 1, 0)
        return self.mean[place]


def grouping_of(table: ForecastTable) -> Grouping | None:
    r"""Return about 2,048 groups of the forecasts of a table; None if it has at most 4,096 rows.

    Groups have equal shares of :math:`\sum w \sqrt{p (1 - p)}`, so they are narrow where the score varies most. They
    are also cut at every 1/16 of log-odds, so they are narrow near 0 and 1. Forecasts of 0 and 1 are groups of their
    own.

    Examples
    --------
    >>> table = ForecastTable.from_predictions([0, 1] * 5000, np.linspace(0.1, 0.9, 10_000))
    >>> found = grouping_of(table)
    >>> len(found.mean), float(np.abs(found.moved(table.forecast) - table.forecast).max().round(5))
    (2098, 0.00028)
    """
    if len(table) <= MOST_ROWS:
        return None
    p, weights = table.forecast, table.weights
    spread = weights * np.sqrt(p * (1.0 - p))
    share = np.cumsum(spread)
    # The rows are sorted, so a group starts at the row that contains its limit.
    limits = np.arange(GROUPS) / GROUPS * share[-1]
    start = np.union1d(np.searchsorted(share - spread / 2.0, limits), np.searchsorted(p, STEPS))
    start = np.union1d(start[start < len(p)], 0)
    mean = np.add.reduceat(weights * p, start) / np.add.reduceat(weights, start)
    return Grouping(p[start], mean)


def grouped_tables(tables: Iterable[ForecastTable]) -> tuple[ForecastTable, ...]:
    """Return the tables with each forecast replaced by the mean of its group, formed from all tables together."""
    parts = tuple(tables)
    grouping = grouping_of(ForecastTable.merge(parts)) if sum(map(len, parts)) > MOST_ROWS else None
    return parts if grouping is None else tuple(one.moved(grouping.moved(one.forecast)) for one in parts)
