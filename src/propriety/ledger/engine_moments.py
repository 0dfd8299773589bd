"""Moments of losses computed on an engine: the formula of each rule as an expression."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias, cast

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from propriety import demands
from propriety.checks import check_cells
from propriety.errors import InputValueError, UnsupportedOperationError
from propriety.ledger.engine_pair_sums import (
    imagined_outcomes,
    other_differences,
    other_losses,
    pair_sums_of_columns,
    terms_of_pairs,
)
from propriety.ledger.key_index import KeyIndex
from propriety.ledger.keyed_tables import COLUMNS, KeyedTables, add_up
from propriety.ledger.moments import OUTCOME, Moments
from propriety.ledger.pair_sums import UNITS
from propriety.result import Floats
from propriety.rules.operations import CHECKED, QUIET, Column, Operations
from propriety.rules.rule import ClassRule, Rule, binary_rule, check_rule
from propriety.tables import laws
from propriety.tables.cases import Cases
from propriety.tables.engine_laws import checked_counts
from propriety.tables.engines import Counted, Counts, count, count_groups
from propriety.tables.events import Event
from propriety.tables.keys import Keys, check_period_labels
from propriety.tables.labels import code_labels
from propriety.tables.lazy_cases import LazyCases
from propriety.tables.queries import Lazy, computed_once, fetched, row_by_row

Dependent: TypeAlias = Literal["cluster", "period"] | None
# Engines add numbers one after another, except for a whole column in Polars, so a sum of m terms has an error of up to
# m roundings. If no groups or clusters keep m small, cells of the forecast do, and their sums are added afterwards. One
# column encodes both cell and class, because engines group faster by one column than by two.
PART = "part"
FEWEST_PARTS = 2**6  # The sums of more parts do not fit in the processor's cache.
MOST_TERMS = 2**20  # Average number of terms of a part.
EPSILON = np.finfo(np.float64).eps  # Worst rounding error per term of a sum; equal terms come close to it.


class RuleSums(NamedTuple):
    """Moments of the losses under one rule, of shape (cells, series); see `Moments`."""

    mean: Floats
    lean: Floats
    spread: Floats


class LossSums(NamedTuple):
    """Result of one query for the losses of all models under some rules, a row per cell of cases.

    A series is the loss of a model or, after those, the difference of two models, first minus second. The cells are in
    no particular order, and an engine may return one in several parts.

    Parameters
    ----------
    keys : dict
        Label of every cell, by key.
    classes : list of int or None
        Index of the class that happened, or whether the event did, if the cells are split by class.
    units : list or None
        Labels of the clusters or periods, if the cells are split by one of them.
    n, weight, weight_squares : ndarray of shape (cells,)
        Number of cases with a positive weight, sum of their weights, and sum of the squared weights.
    rules : tuple of RuleSums
        Moments of the series under each rule.
    columns : dict
        The sums themselves, by the names of their terms.
    """

    keys: dict[str, list[Any]]
    classes: list[int] | None
    units: list[Any] | None
    n: NDArray[np.int64]
    weight: Floats
    weight_squares: Floats
    rules: tuple[RuleSums, ...]
    columns: dict[str, Floats]


def moments_of_engine(
    cases: LazyCases, rules: Sequence[Rule], *, rows: int = 2**30, dropped: int = 0
) -> dict[Rule, Moments]:
    """Return the moments of each function for all models, by outcome, key, and cluster or period, in one query.

    The rows must have been checked; about `rows` of them are used, and `dropped` were left out.
    """
    dependent: Dependent = "cluster" if cases.cluster is not None else "period" if cases.period is not None else None
    sums = sums_of_lazy(cases, rules, keys=cases.keys, dependent=dependent, by_class=True, rows=rows)
    labels: dict[str, list[Any]] = {OUTCOME: sums.classes or [], **sums.keys}
    if dependent is not None:
        labels[dependent] = sums.units or []
    _check_labels(labels, sums.n)
    orders = dict(zip(cases.keys, cases.orders(cases.key_columns(cases.keys)), strict=True))
    if dependent is not None:
        orders |= {dependent: cases.key_kinds[dependent].order}
    index = KeyIndex.of_columns(labels, orders)
    if dependent == "period":
        check_period_labels(index.labels[-1])
    shared = {"n": sums.n, "weight": sums.weight, "weight_squares": sums.weight_squares, "index": index}
    of_pairs, codes = index.only([name for name in index.names if name not in UNITS])
    found = {}
    for place, (rule, own) in enumerate(zip(rules, sums.rules, strict=True)):
        pairs = None
        if _has_pairs(cases):
            pairs = pair_sums_of_columns(sums.columns, rules, place, len(cases.models), of_pairs, codes)
        cells = Moments(**shared, **own._asdict(), models=cases.models, rule=rule, dropped=dropped, pair_sums=pairs)  # type: ignore[arg-type]  # by name
        found[rule] = Moments.merge([cells])  # Sorted by label, with the parts of each cell merged.
    return found


def _check_labels(labels: dict[str, list[Any]], n: NDArray[np.int64]) -> None:
    """Reject keys, clusters or periods that are missing for some case, as is done in memory."""
    for name, own in labels.items():
        absent = [place for place, label in enumerate(own) if label is None]
        if absent:
            argument = name if name in ("cluster", "period") else laws.named_key(name)
            count = f"{n[absent].sum():,} of {n.sum():,} rows"
            raise laws.unknown_key(argument, count)


def sums_of_lazy(
    cases: LazyCases,
    rules: Sequence[Rule],
    *,
    keys: Sequence[str] = (),
    dependent: Dependent = None,
    by_class: bool = False,
    rows: int = 2**30,
) -> LossSums:
    r"""Return the moments of the losses of all models under all rules, in one query of checked rows.

    Parameters
    ----------
    cases : LazyCases
        The cases.
    rules : sequence of Rule
        Rules for one event or for classes, as the cases are.
    keys : sequence of str
        The keys by which the cells are split.
    dependent : {"cluster", "period"}, optional
        Whether cells are also split by cluster or by period.
    by_class : bool
        Whether cells are also split by the class that happened.
    rows : int
        Approximate number of rows, or an upper bound: more rows are summed in more parts.

    Notes
    -----
    The engine returns :math:`\sum w x, \sum w^2 x, \sum w^2 x^2`, from which means and spreads are computed. A spread
    loses as many digits as the squared mean exceeds the variance. Losses vary about as much as they are large, and
    differences of losses are series of their own, so that no digits are lost there. A spread no larger than the
    rounding error of its sums is set to 0: the losses are all equal.
    """
    by = {name: nw.col(name) for name in cases.key_columns(keys)}
    if by_class:
        by["class"] = cases.place
    if dependent is not None:
        by[dependent] = nw.col(dependent)
    is_small = bool(keys) or dependent is not None or (cases.engine == "polars" and not by_class)
    try:
        parts = 0 if is_small else max(FEWEST_PARTS, 1 << (rows // MOST_TERMS).bit_length())
        query = _query(cases, rules, by, parts)
    except (NotImplementedError, RuntimeError) as error:  # Dask raises the latter through narwhals.
        law = f"{cases.engine} cannot compute these losses: {', '.join(map(repr, rules))}"
        raise UnsupportedOperationError(law, offender=str(error).rstrip(".")) from error
    table = fetched(query)
    if not is_small:
        table = _whole(table, _places(cases) if by_class else None)
    columns = {name: table.column(name).to_numpy().astype(np.float64) for name in table.column_names if name not in by}
    occupied = columns["n"] > 0.0
    if not occupied.any():
        raise InputValueError("no valid row has a positive weight")
    columns = {name: column[occupied] for name, column in columns.items()}
    labels = {name: _labels(cases, name, table.column(name).filter(occupied)) for name in by}
    return LossSums(
        keys=dict(zip(keys, map(labels.__getitem__, cases.key_columns(keys)), strict=True)),
        classes=[int(place) for place in labels["class"]] if by_class else None,
        units=None if dependent is None else labels[dependent],
        n=columns["n"].astype(np.int64),
        weight=columns.get("weight", columns["n"]),
        weight_squares=columns.get("squares", columns["n"]),
        rules=tuple(_moments(columns, place, len(cases.models)) for place in range(len(rules))),
        columns=columns,
    )


def _labels(cases: LazyCases, name: str, found: Any) -> list[Any]:
    """Return the label of every cell: a class index, or a key as the user gave it."""
    if name not in cases.key_kinds:
        return list(found.to_pylist())
    labels, codes = cases.coded(name, found)
    return [labels[code] for code in codes.tolist()]


def _query(cases: LazyCases, rules: Sequence[Rule], labels: dict[str, nw.Expr], parts: int) -> Lazy:
    """Build the query: valid rows, their losses, the differences, their products with the weights, and the sums."""
    weight = nw.col("weight")
    weights = {"weight": weight} if cases.weighted else {}
    models, pairs = len(cases.models), "class" in labels and _has_pairs(cases)
    careful = cases.engine == "ibis on postgres"
    if parts:
        part = (cases.forecast(0, cases.events[0]) * float(parts)).floor()
        labels = {PART: part * float(_places(cases)) + labels["class"] if labels else part}
    by = {name: nw.col(name) for name in labels}
    kept = labels | weights
    columns, losses = _of_event(cases, rules) if cases.labels is None else _of_classes(cases, rules)
    if cases.engine.startswith("ibis"):
        # Ibis writes constants as decimals and treats them as floats; multiplying by a float makes them floats.
        losses = {name: loss * nw.col("float_one") for name, loss in losses.items()}
    differences = _differences(len(cases.models), len(rules))
    products = _products(weight if cases.weighted else None, list(losses), list(differences))
    stages: list[dict[str, nw.Expr]] = []
    if pairs:
        products |= terms_of_pairs(rules, models, weight if cases.weighted else None, careful=careful)
        losses |= other_losses(rules, models, _operations(cases), careful=careful)
        differences |= other_differences(rules, models)
        stages = imagined_outcomes(rules, models, _operations(cases))

    def of_rows(rows: Lazy) -> Lazy:
        rows = rows.select(**kept, **columns).select(**by, **weights, **losses)
        if cases.weighted:
            rows = rows.filter(weight > 0.0)  # A case of zero weight does not count, even if its loss is infinite.
        rows = computed_once(rows).select(**by, **weights, **{name: nw.col(name) for name in losses}, **differences)
        for stage in stages:
            rows = computed_once(rows).with_columns(**stage)
        return rows.select(**by, **weights, **products)

    rows = row_by_row(cases.lawful_rows(), of_rows)
    sums = [nw.len().alias("n"), *(nw.col(name).sum() for name in (*weights, *products))]
    return rows.group_by(*by).agg(*sums) if by else rows.select(*sums)


def _products(weight: nw.Expr | None, losses: list[str], differences: list[str]) -> dict[str, nw.Expr]:
    """Return the terms that are summed: products of losses, and of their differences, with the weights."""
    products: dict[str, nw.Expr] = {}
    for name in losses + differences:
        x = nw.col(name)
        if weight is None:
            products |= {f"s{name}": x, f"u{name}": x * x}
        else:
            products |= {f"s{name}": weight * x, f"t{name}": weight * weight * x, f"u{name}": weight * x * (weight * x)}
    return products if weight is None else products | {"squares": weight * weight}


def _has_pairs(cases: LazyCases) -> bool:
    """Whether there are sums of pairs."""
    return cases.labels is None and len(cases.models) > 1


def _places(cases: LazyCases) -> int:
    """Return the number of classes; 2 for an event."""
    return 2 if cases.labels is None else len(cases.labels)


def _differences(models: int, rules: int) -> dict[str, nw.Expr]:
    """Return the difference of the losses of each pair under each rule."""
    pairs = list(enumerate(itertools.combinations(range(models), 2), models))
    return {
        f"x_{place}_{pair}": nw.col(f"x_{place}_{one}") - nw.col(f"x_{place}_{other}")
        for place, (pair, (one, other)) in itertools.product(range(rules), pairs)
    }


def _whole(table: Any, places: int | None) -> Any:
    """Add up the parts of the sums, by class if the parts are by class."""
    sums = [name for name in table.column_names if name != PART]
    by = [] if places is None else ["class"]
    if places is not None:
        table = table.append_column("class", [np.mod(table.column(PART).to_numpy().astype(np.float64), places)])
    whole = table.group_by(by, use_threads=False).aggregate([(name, "sum") for name in sums])
    return whole.select([*by, *(f"{name}_sum" for name in sums)]).rename_columns([*by, *sums])


def _of_event(cases: LazyCases, rules: Sequence[Rule]) -> tuple[dict[str, nw.Expr], dict[str, nw.Expr]]:
    """Return columns of the forecasts of an event and, as expressions of these, the losses by model and rule."""
    models = range(len(cases.models))
    (event,), ops = cases.events, _operations(cases)
    columns = {
        "event": cases.happened(event),
        "float_one": cases.forecast(0, event) * 0.0 + 1.0,
        **{f"p_{model}": cases.forecast(model, event) for model in models},
    }
    losses = {}
    for (place, rule), model in itertools.product(enumerate(map(binary_rule, rules)), models):
        p = nw.col(f"p_{model}")
        losses[f"x_{place}_{model}"] = rule.case_loss(p, nw.col("event") > 0.5, ops=ops)
    return columns, losses


def _of_classes(cases: LazyCases, rules: Sequence[Rule]) -> tuple[dict[str, nw.Expr], dict[str, nw.Expr]]:
    """Return columns of forecasts of classes and, as expressions of these, the losses of the models under each rule."""
    models, places = range(len(cases.models)), range(len(cases.labels or ()))
    columns = {
        "float_one": cases.forecasts(0)[0] * 0.0 + 1.0,
        **{f"y_{place}": cases.happened(Event("class", place)) for place in places},
        **{f"p_{model}_{place}": own for model in models for place, own in enumerate(cases.forecasts(model))},
        **{f"top_{model}": nw.col(f"highest_{model}") for model in models},
    }
    outcome = [nw.col(f"y_{place}") for place in places]
    losses = {}
    for model in models:
        p = [nw.col(f"p_{model}_{place}") for place in places]
        ops = cast("Operations", _WithTop(p, nw.col(f"top_{model}"), _operations(cases)))
        for place, rule in enumerate(map(_by_class, rules)):
            losses[f"x_{place}_{model}"] = rule.class_loss(p, outcome=outcome, ops=ops)
    return columns, losses


def _operations(cases: LazyCases) -> Operations:
    return QUIET if cases.engine == "dask" else CHECKED


@dataclass(frozen=True, slots=True, eq=False)
class _WithTop:
    """The operations of engines when the largest forecast of a row is already a column.

    It is then computed once for all rules. Dask, which cannot take the maximum of columns within a formula, can then
    evaluate them.
    """

    p: Sequence[nw.Expr]
    top: nw.Expr
    others: Operations

    def maximum(self, *columns: Column) -> Column:
        """Return the largest of the columns."""
        known = len(columns) == len(self.p) and all(one is own for one, own in zip(columns, self.p, strict=True))
        return self.top if known else self.others.maximum(*columns)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.others, name)


def _moments(columns: dict[str, Floats], place: int, models: int) -> RuleSums:
    """Return the moments of one rule, given by its position, from the sums."""
    series = [f"x_{place}_{number}" for number in range(models + models * (models - 1) // 2)]
    n = columns["n"][:, None]
    weight, squares = (columns.get(name, columns["n"])[:, None] for name in ("weight", "squares"))
    plain = np.stack([columns[f"s{name}"] for name in series], axis=1)
    tilted = np.stack([columns.get(f"t{name}", columns[f"s{name}"]) for name in series], axis=1)
    squared = np.stack([columns[f"u{name}"] for name in series], axis=1)
    with np.errstate(invalid="ignore"):
        mean = plain / weight
        lean = tilted - mean * squares
        spread = squared - mean * (2.0 * tilted - mean * squares)
        same = spread <= EPSILON * n * squared
    return RuleSums(mean, np.where(same, 0.0, lean), np.where(same, 0.0, spread))


def _by_class(rule: Rule) -> ClassRule:
    check_rule(rule)
    if not isinstance(rule, ClassRule):
        raise InputValueError(demands.rule_of_one_event(rule))
    return rule


MAX_TABLE_ROWS = 2**22  # Most rows of all tables of an engine together.
MOST_CELLS = 2**20
FEWEST_CELLS = 2**4
CASES_OF_A_CELL = 2**4


@dataclass(frozen=True, slots=True)
class Filled:
    """The tables of every model and event by combination of keys, and the number of rows dropped."""

    index: KeyIndex
    tables: dict[tuple[str, Event], KeyedTables]
    dropped: int


def tables_of_engine(cases: LazyCases, *, cells: int | None = None) -> Filled:
    """Count the cases of every key by forecast, or by cell of a grid; the number of cells takes a query of its own."""
    if cells is None:
        cells = _cells_of(cases)
    else:
        check_cells(cells)
    counted = count(cases, None if cells is None else cells.bit_length() - 1, keys=cases.keys)
    assert counted is not None  # noqa: S101  (for the type checker; there is a table of each model and event)
    if not len(counted.columns["key"]):
        raise InputValueError(demands.NO_CASE)
    lawful, dropped = _lawful(cases, counted)
    if not lawful.all():
        rows_kept = np.flatnonzero(lawful)
        columns = {name: column[rows_kept] for name, column in counted.columns.items()}
        counted = Counted(counted.tables, counted.labels.take(rows_kept), columns)
    index, entry = _index(cases, counted)
    belongs = _tables_of(counted)
    found = {
        (cases.models[model], event): _keyed(counted, belongs == place, entry, len(index), cells)
        for place, (model, event) in enumerate(counted.tables)
    }
    return _occupied(index, found, dropped)


def _cells_of(cases: LazyCases) -> int | None:
    """Return the number of cells that suits the number of rows and of keys; None to count every forecast."""
    sizes = count_groups(cases, cases.keys)
    rows = sum(sizes.values())
    if rows * len(cases.tables) <= MAX_TABLE_ROWS:
        return None
    return cells_for(rows, max(len(sizes), 1), len(cases.tables))


def cells_for(rows: int, keys: int, tables: int) -> int:
    """Return the number of cells of each table: at most one for 16 cases of a key, at most 2**20, at most 2**22 in all.

    A table has never fewer than 16 cells.

    Examples
    --------
    >>> cells_for(36_500_000, 18_250, 2), cells_for(10_000_000, 1, 1), cells_for(10**9, 10, 1)
    (64, 524288, 262144)
    >>> cells_for(10_000_000, 1_000_000, 1)
    16
    """
    most = min(MOST_CELLS, MAX_TABLE_ROWS // (keys * tables), rows // keys // CASES_OF_A_CELL)
    return max(1 << max(int(most).bit_length() - 1, 0), FEWEST_CELLS)


def _lawful(cases: LazyCases, counted: Counted) -> tuple[NDArray[np.bool_], int]:
    """Return a mask of the valid rows and the number of dropped cases; raise an error for invalid rows."""
    key, dropped = counted.columns["key"], 0
    lawful = key >= -1.0
    if lawful.all() and not cases.weighted:
        return lawful, dropped
    belongs = _tables_of(counted)
    for place, (model, event) in enumerate(counted.tables):
        own = belongs == place
        columns = {name: column[own] for name, column in counted.columns.items()}
        # All groups are checked together, so that a group of zero weight is left out instead of rejected.
        _, dropped = checked_counts(cases, Counts(model, event, (), **columns), ())
    return lawful, dropped


def _tables_of(counted: Counted) -> NDArray[np.intp]:
    if len(counted.tables) == 1:
        return np.zeros(counted.labels.num_rows if counted.labels.num_columns else len(counted.columns["key"]), np.intp)
    return np.asarray(counted.labels.column("table").to_numpy()).astype(np.intp)


def _index(cases: LazyCases, lawful: Counted) -> tuple[KeyIndex, NDArray[np.intp]]:
    """Return the combinations of labels that occur, and the entry of each valid row."""
    if not cases.keys:
        return KeyIndex.keyless(), np.zeros(len(lawful.columns["key"]), dtype=np.intp)
    labels, codes = [], []
    for name, column in zip(cases.keys, cases.key_columns(cases.keys), strict=True):
        own, code = cases.coded(column, lawful.labels.column(column))
        if None in own:
            _refuse_missing(laws.named_key(name), lawful, code == own.index(None))
        labels.append(own)
        codes.append(code)
    return KeyIndex(cases.keys, tuple(labels), np.stack(codes, axis=1)).distinct()


def _refuse_missing(key: str, lawful: Counted, missing: NDArray[np.bool_]) -> None:
    many, rows = len(lawful.tables), lawful.columns["cases"]
    absent, all_cases = int(rows[missing].sum()) // many, int(rows.sum()) // many
    raise laws.unknown_key(key, f"{absent:,} of {all_cases:,} rows")


def _keyed(
    lawful: Counted, own: NDArray[np.bool_], entry: NDArray[np.intp], entries: int, cells: int | None
) -> KeyedTables:
    """Make the tables of one model and event from the rows that an engine counted; it may return a row in parts."""
    rows = np.flatnonzero(own)
    columns, at = {name: column[rows] for name, column in lawful.columns.items()}, entry[rows]
    counts: dict[str, Any] = {
        name: np.bincount(at, columns[number], minlength=entries).astype(np.int64)
        for name, number in (("n", "positive"), ("n_events", "positive_events"))
    }
    weighty = columns["events"] + columns["non_events"] > 0.0
    if not weighty.all():
        columns, at = {name: column[weighty] for name, column in columns.items()}, at[weighty]
    sums = {name: columns[name] for name in ("events", "non_events")}
    sums |= {name: columns.get(name, columns[name.replace("_squares", "s")]) for name in COLUMNS[3:]}
    if cells is not None:
        sums["forecasts"] = columns["forecasts"]
    return KeyedTables(**add_up(at, columns["key"] + 0.0, sums, cells), **counts, cells=cells)


def _occupied(index: KeyIndex, tables: dict[tuple[str, Event], KeyedTables], dropped: int) -> Filled:
    """Leave out combinations whose cases have zero weight."""
    occupied = next(iter(tables.values())).n > 0
    if occupied.all():
        return Filled(index, tables, dropped)
    return Filled(index.where(occupied), {place: one.where(occupied) for place, one in tables.items()}, dropped)


MAX_VALUES_IN_MEMORY = 2**22  # Most values (rows times columns) loaded into memory.


def cases_of_engine(lazy: LazyCases, dropped: int) -> Cases | None:
    """Return the cases of a frame whose rows have been checked; None if there are too many for memory."""
    try:
        columns = lazy.collected(MAX_VALUES_IN_MEMORY)
    except InputValueError:
        return None

    def keys(column: str, labels: Sequence[Any]) -> Keys:
        return Keys(*code_labels(labels, lazy.key_kinds[column].order))

    cases = Cases(
        outcome=columns.outcome == 1 if lazy.labels is None else columns.outcome,
        forecasts=columns.forecasts,
        labels=lazy.labels,
        weight=columns.weight,
        keys={
            name: keys(column, columns.keys[name])
            for name, column in zip(lazy.keys, lazy.key_columns(lazy.keys), strict=True)
        },
        cluster=None if columns.cluster is None else keys("cluster", columns.cluster),
        period=None if columns.period is None else keys("period", columns.period),
        tolerance=lazy.tolerance,
        dropped=dropped,
        event_note=lazy.event_note,
    )
    return cases if columns.weight is None or columns.weight.all() else cases.where(columns.weight > 0.0)
