"""Forecast tables by fold. Folds are drawn at random, computed from a hash of an identifier, or given."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from operator import add
from typing import Any, Literal, NamedTuple, TypeVar

import narwhals as nw
import numpy as np
from narwhals.dependencies import is_into_dataframe
from numpy.typing import NDArray
from scipy.special import expit

from propriety import checks
from propriety.errors import InputTypeError, InputValueError, ProprietyError, Wording
from propriety.inference.bootstrap import canonical_order
from propriety.inference.measures.of_means import MeanScore
from propriety.ledger.engine_moments import MAX_TABLE_ROWS
from propriety.ledger.ledger import Ledger
from propriety.ledger.sources import open_ledger
from propriety.recalibration.class_rows import ClassRows
from propriety.result import Floats
from propriety.rules.rule import BinaryRule, ClassRule
from propriety.rules.scoring import mean_score
from propriety.tables.arrays import read_array
from propriety.tables.cases import Cases, check_nothing_beside
from propriety.tables.events import Event
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.frames import checked_columns, known
from propriety.tables.keys import Keys, code_keys
from propriety.tables.laws import named_key
from propriety.tables.lazy_cases import LazyCases
from propriety.tables.queries import Lazy, count_rows, fetched

FOLD, ID = "fold", "id"
CELLS = 2**16  # Of the tables of an engine with many rows.
DEFAULT_FOLDS, MOST_FOLDS = 10, 100
OF_CASES = ("outcome", "cluster", "period", "sample_weight", "pos_label", "labels")


class Source(NamedTuple):
    """The ledger of the cases as they were given, and the model."""

    ledger: Ledger
    model: str

    @property
    def pair(self) -> tuple[tuple[Any, Any], int] | None:
        """The labels of two columns, if forecasts were given so, and which of these is the event's; else None."""
        return None if self.ledger.source is None else self.ledger.source.pair

    def score(self, rule: Any) -> float:
        """Return the mean score: of the cases, if they are in memory, as `mean_score` does."""
        ledger, model = self
        if isinstance(ledger.source, Cases):
            return float(mean_score(ledger.source.of(model), rule=rule))
        if ledger.has_moments(rule):
            return float(ledger.moments(rule).means[ledger.models.index(model)])
        return float(MeanScore(rule).value(ledger.table(model)))


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
    dependence : {"cluster", "period"}, optional
        Whether cases may be correlated within clusters or within periods.
    words : str
        How the folds were made.
    dropped : int
        Rows left out because of missing values.
    source : Source
        The cases as they were given; the tables may have grouped forecasts.
    again : callable, optional
        Draws other folds, given how often they were drawn before; None if they were not drawn at random.
    whole : ForecastTable
        The table of all cases, merged from those of the folds.
    """

    tables: tuple[ForecastTable, ...]
    cases: Cases | None = None
    codes: NDArray[np.intp] | None = None
    dependence: Literal["cluster", "period"] | None = None
    words: str = ""
    dropped: int = 0
    source: Source
    again: Callable[[int], Any] | None = None
    whole: ForecastTable = field(init=False)

    def __post_init__(self) -> None:
        if len(self.tables) < 2:
            raise InputValueError(f"cross-fitting needs at least two folds with cases; got {len(self.tables)}")
        object.__setattr__(self, "whole", replace(ForecastTable.merge(self.tables), dropped=self.dropped))

    def __len__(self) -> int:
        return len(self.tables)

    @property
    def has_certain(self) -> bool:
        """Whether a forecast is 0 or 1."""
        return any(table.forecast[0] == 0.0 or table.forecast[-1] == 1.0 for table in self.tables)

    @property
    def original(self) -> ForecastTable:
        """The table of the cases, with their forecasts as they are."""
        return replace(self.source.ledger.table(self.source.model), dropped=self.dropped)

    def before(self, rule: BinaryRule) -> float:
        """Return the mean score of the cases, as `mean_score` does."""
        return self.source.score(rule)

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
    **options: Any,
) -> Folds | ClassFolds:
    """Split the data into folds; see `propriety.recalibrate` for the arguments.

    Folds are a key of a ledger. A lazy frame is counted by fold on its engine. The cases of an unweighted ledger are
    assigned to folds at random, which is equivalent to assigning the original cases. Forecasts of classes need the
    cases themselves.
    """
    number = _number(folds)
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
) -> Folds | ClassFolds:
    """Split arrays or a frame; see `folds_of`."""
    key = _key_of(folds if number is None else None, id, given=number is None, **options)
    frame = known(y_true) if options.get("outcome") is not None and not _is_eager(y_true) else None
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


def _of_read(cases: Cases, folds: object, number: int, model: str | None) -> Folds | ClassFolds:
    """Split cases that were read before: by the folds given, by their identifiers, or as those of a ledger."""
    if folds is not None:
        key = _given_folds(cases, folds)
        return _of_key(Ledger.of_cases(replace(cases, keys={FOLD: key})), FOLD, model)
    ledger = Ledger.of_cases(cases.with_keys(()))
    assert isinstance(ledger.source, Cases)  # noqa: S101  (for the type checker; they are in memory)
    ids = ledger.source.id
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


def _number(folds: object) -> int | None:
    """Return the number of folds; None if the argument gives the folds themselves."""
    return checks.whole(folds, "folds", least=2, most=MOST_FOLDS) if checks.is_whole(folds) else None


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


def _is_eager(frame: object) -> bool:
    return bool(is_into_dataframe(frame))


def _of_ledger(ledger: Ledger, number: int, model: str | None) -> Folds | ClassFolds:
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


def folds_of_cases(ledger: Ledger, cases: Cases, number: int, model: str | None, draw: int = 0) -> Folds | ClassFolds:
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
    return Folds(tables=tables, words=words, dropped=ledger.dropped, source=source, again=again)


def _of_key(ledger: Ledger, name: object, model: str | None, words: str = "folds as given") -> Folds | ClassFolds:
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
    return Folds(tables=tables, dependence=own.dependence, words=words, dropped=own.dropped, source=source)


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
) -> Folds | ClassFolds:
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
        return ClassFolds(
            cases=own.with_keys(()), whole=rows, codes=keys.codes, words=words, dropped=ledger.dropped, again=again
        )
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
        source=Source(ledger, name),
        again=again,
    )


def _of_lazy(
    frame: nw.LazyFrame[Any],
    forecasts: object,
    number: int,
    id: object,  # noqa: A002  (as above)
    **options: Any,
) -> Folds | ClassFolds:
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


HALF = 2**31
MULTIPLIERS = (0.5118216247002567, 0.9504636963259353, 0.14415961271963373)  # Random, and the same always.
STRETCH = 2.0**20  # Large enough that the fractional part of a stretched square is uniform.
Numbers = TypeVar("Numbers", Floats, nw.Expr)


def hashed_folds(labels: Iterable[object], folds: int) -> NDArray[np.intp]:
    r"""Return the fold of each label: in which of `folds` equal parts of [0, 1) its hash is.

    A label stays in its fold when others are added. With few labels, a fold may be empty. Then the folds are equal
    shares of the labels in the order of their hashes, or single labels if there are fewer of them than folds.

    Examples
    --------
    >>> hashed_folds(range(8), 4).tolist()
    [2, 1, 3, 1, 0, 2, 3, 0]
    """
    hashes = hash_of_labels(labels)
    limits = _limits(hashes, folds)
    found = np.floor(hashes * folds) if limits is None else np.searchsorted(limits, hashes, side="right")
    return found.astype(np.intp)


def hash_of_labels(labels: Iterable[object]) -> Floats:
    r"""Return the hash of each label, the fractional part of :math:`2^{20} \{a l + b h + c\}^2`.

    Here :math:`\{\}` is the fractional part, and :math:`2^{31} h + l` is a whole-number label of 64 bits, or the CRC-32
    of the text of any other label. The numbers a, b and c are fixed. Labels are split into h and l before they become
    floats, which could not tell large ones apart.

    References
    ----------
    Knuth (1998), The Art of Computer Programming 3, section 6.4, on multiplicative hashing.
    """
    halves = np.array([divmod(_whole(label), HALF) for label in labels], dtype=np.float64).reshape(-1, 2)
    return _hash(halves[:, 1], halves[:, 0], np.floor)


def _whole(label: object) -> int:
    """Return the whole number that a label is hashed by."""
    whole = isinstance(label, int | np.integer) and not isinstance(label, bool)
    if whole and -(2**63) <= label < 2**64:  # type: ignore[operator]  # a whole number
        return int(label)  # type: ignore[call-overload]  # as above
    return zlib.crc32(str(label).encode("utf-8", "surrogatepass"))


def with_hashed_folds(frame: Lazy, unit: str, folds: int, name: str) -> Lazy:
    """Add a column of the folds of whole numbers, computed by the engine; some folds may be empty."""
    return frame.with_columns((_hash_of_column(frame, unit) * float(folds)).floor().cast(nw.Int64).alias(name))


def with_ranked_folds(frame: Lazy, unit: str, folds: int, name: str) -> Lazy | None:
    """Add a column of the folds of few whole numbers if some would be empty otherwise; None if none would be.

    Their hashes are fetched from the engine; see `hashed_folds`.
    """
    hashes = frame.with_columns(_hash_of_column(frame, unit).alias(name))
    distinct = fetched(hashes.select(nw.col(name)).drop_nulls().unique()).column(name)
    limits = _limits(distinct.to_numpy(), folds)
    if limits is None:
        return None
    above = [nw.when(nw.col(name) >= limit).then(1).otherwise(0) for limit in limits.tolist()]
    return hashes.with_columns(reduce(add, above).alias(name))


def _hash_of_column(frame: Lazy, unit: str) -> nw.Expr:
    whole = nw.col(unit) if frame.collect_schema()[unit] == nw.UInt64 else nw.col(unit).cast(nw.Int64)
    low = (whole % HALF).cast(nw.Float64)
    # The difference may be rounded to a float, but by less than half of what separates two values of h.
    high = ((whole.cast(nw.Float64) - low) / float(HALF) + 0.5).floor()
    return _hash(low, high, nw.Expr.floor)


def _hash(low: Numbers, high: Numbers, floor: Callable[[Numbers], Numbers]) -> Numbers:
    a, b, c = MULTIPLIERS
    turned = low * a + high * b + c
    part = turned - floor(turned)
    stretched = part * part * STRETCH
    return stretched - floor(stretched)


def _limits(hashes: Floats, folds: int) -> Floats | None:
    """Return the lowest hash of each fold but the first if folds are shares of labels; None if they are of [0, 1)."""
    distinct = np.unique(hashes)
    filled = min(folds, len(distinct))
    if len(np.unique(np.floor(distinct * folds))) == filled:
        return None
    return distinct[-(-np.arange(1, filled) * len(distinct) // filled)]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ClassFolds:
    """Cases with class probabilities of one model, and their folds; class maps cannot be fitted to binary tables.

    Parameters
    ----------
    cases : Cases
        The cases, all with a positive weight.
    whole : ClassRows
        Their rows.
    codes : array of shape (cases,)
        The fold of each case, counted from 0; at least two folds.
    words : str
        How the folds were made.
    dropped : int
        Rows left out because of missing values.
    again : callable, optional
        Draws other folds, given how often they were drawn before; None if they were not drawn at random.
    """

    cases: Cases
    whole: ClassRows
    codes: NDArray[np.intp]
    words: str = ""
    dropped: int = 0
    again: Callable[[int], Any] | None = None

    def __post_init__(self) -> None:
        if len(self) < 2:
            raise InputValueError(f"cross-fitting needs at least two folds with cases; got {len(self)}")

    def __len__(self) -> int:
        return int(self.codes.max()) + 1

    @property
    def has_certain(self) -> bool:
        """Whether a probability is 0."""
        return bool((self.whole.forecast == 0.0).any())

    def before(self, rule: ClassRule) -> float:
        """Return the mean score of the cases, as `mean_score` does."""
        return float(mean_score(self.cases, rule=rule))

    def without(self, fold: int) -> ClassRows:
        """Return the rows of the cases of all other folds."""
        return self.whole.where(self.codes != fold)


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
