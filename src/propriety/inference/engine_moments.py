"""Moments of losses computed where the cases lie: each rule's own formula as an expression of the engine."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from propriety.errors import InputValueError, UnsupportedOperationError, sentence
from propriety.inference.moments import LossMoments
from propriety.results import Floats
from propriety.rules.operations import JUDGED, Column, Operations
from propriety.rules.rule import BinaryRule, ClassRule, Rule, check_rule
from propriety.tables.class_source import ClassSource
from propriety.tables.engine_source import Lazy, Source, collected

__all__ = ["moments_of_source"]

# Engines add one number after another, but for a whole column of Polars, and a sum of m terms is off by up to m
# roundings. Where no groups or clusters keep m small, cells of the forecast do; their sums are added up afterwards.
PART = "by_part"
PARTS = 2.0**10

ROUNDING = np.finfo(np.float64).eps  # Of a sum for each of its terms, at the worst, which equal terms come near to.


def moments_of_source(
    source: Source, rules: Sequence[Rule], *, group: bool = False, cluster: bool = False, dropped: int = 0
) -> tuple[LossMoments, ...]:
    r"""Return the moments of each rule for all models of a source whose rows were judged, in one query.

    The first label of a row is its group, if `group`, and the last its cluster, if `cluster`.

    Notes
    -----
    The engine returns :math:`\sum w x, \sum w^2 x, \sum w^2 x^2`, from which means and spreads are made. A spread loses
    as many digits as the squared mean exceeds the variance; losses of forecasts vary about as much as they are
    large, and differences of losses are series of their own, so that nothing is lost there. A spread that is no larger
    than the rounding error of its sums is none: the losses are all the same.
    """
    keys = [name for name, used in (("group", group), ("cluster", cluster)) if used]
    names = source.models if isinstance(source, ClassSource) else tuple(str(name) for name in source.names)
    try:
        query = _query(source, rules, len(names))
    except (NotImplementedError, RuntimeError) as error:  # The latter is how Dask says it, through narwhals.
        law = f"{source.engine} cannot compute these losses: {', '.join(map(repr, rules))}"
        raise UnsupportedOperationError(sentence(law, offender=str(error).rstrip("."))) from error
    table = collected(query)
    if PART in table.column_names:
        table = _whole(table, list(source.by))
    labels = {key: _labels(table.column(name)) for key, name in zip(keys, source.by, strict=True)}
    columns = {
        name: table.column(name).to_numpy().astype(np.float64) for name in table.column_names if name not in source.by
    }
    return tuple(_moments(columns, place, len(names), names, rule, labels, dropped) for place, rule in enumerate(rules))


def _query(source: Source, rules: Sequence[Rule], models: int) -> Any:
    """Build the query: lawful rows, their losses, the differences, their products with the weights, the sums."""
    parted = all(name == "class" for name in source.by) and (source.engine != "polars" or bool(source.by))
    by = {name: nw.col(name) for name in (*source.by, *([PART] if parted else []))}
    weight = nw.col("weight")
    weights = {"weight": weight} if source.weighted else {}
    kept = by | weights
    if parted:
        kept[PART] = (source.forecast(0) * PARTS).floor()
    if isinstance(source, ClassSource):
        rows, losses = _of_classes(source, rules, kept)
    else:
        rows, losses = _of_events(source, rules, kept)
    if source.engine.startswith("ibis"):
        # Ibis writes constants as decimal numbers and takes them for floats; what a float multiplies is one.
        losses = {name: loss * nw.col("float_one") for name, loss in losses.items()}
    rows = rows.select(**by, **weights, **losses)
    if source.weighted:
        rows = rows.filter(weight > 0.0)  # A case without weight does not count, even where its loss is infinite.
    series = {name: nw.col(name) for name in losses}
    for place in range(len(rules)):
        for pair, (one, other) in enumerate(itertools.combinations(range(models), 2), models):
            series[f"x_{place}_{pair}"] = nw.col(f"x_{place}_{one}") - nw.col(f"x_{place}_{other}")
    rows = rows.select(**by, **weights, **series)
    products: dict[str, nw.Expr] = {}
    for name in series:
        x = nw.col(name)
        if source.weighted:
            products |= {f"s{name}": weight * x, f"t{name}": weight * weight * x, f"u{name}": weight * x * (weight * x)}
        else:
            products |= {f"s{name}": x, f"u{name}": x * x}
    if source.weighted:
        products["squares"] = weight * weight
    rows = rows.select(**by, **weights, **products)
    sums = [nw.len().alias("n"), *(nw.col(name).sum() for name in (*weights, *products))]
    return rows.group_by(*by).agg(*sums) if by else rows.select(*sums)


def _whole(table: Any, by: list[str]) -> Any:
    """Add up the parts of the sums."""
    sums = [name for name in table.column_names if name not in (*by, PART)]
    whole = table.group_by(by, use_threads=False).aggregate([(name, "sum") for name in sums])
    return whole.select([*by, *(f"{name}_sum" for name in sums)]).rename_columns([*by, *sums])


def _of_events(source: Source, rules: Sequence[Rule], kept: dict[str, nw.Expr]) -> tuple[Lazy, dict[str, nw.Expr]]:
    """Return the lawful rows of forecasts of an event, and the losses of the models under each rule."""
    models = range(len(source.names))
    rows = _lawful(source, models).select(
        **kept,
        event=source.event(0),
        float_one=source.forecast(0) * 0.0 + 1.0,
        **{f"p_{position}": source.forecast(position) for position in models},
    )
    losses = {
        f"x_{place}_{position}": nw.when(nw.col("event") > 0.5)
        .then(rule.loss(nw.col(f"p_{position}"), event=True, ops=JUDGED))
        .otherwise(rule.loss(nw.col(f"p_{position}"), event=False, ops=JUDGED))
        for place, rule in enumerate(map(_binary, rules))
        for position in models
    }
    return rows, losses


def _of_classes(
    source: ClassSource, rules: Sequence[Rule], kept: dict[str, nw.Expr]
) -> tuple[Lazy, dict[str, nw.Expr]]:
    """Return the like of rows of classes."""
    models, places = range(len(source.models)), range(source.classes)
    rows = _lawful(source, [source.first_event(model) for model in models]).select(
        **kept,
        float_one=source.columns(0)[0] * 0.0 + 1.0,
        **{f"y_{place}": source.happened(place) for place in places},
        **{f"p_{model}_{place}": source.columns(model)[place] for model in models for place in places},
        **{f"top_{model}": nw.col(f"highest_{model}") for model in models},
    )
    outcome = [nw.col(f"y_{place}") for place in places]
    losses = {}
    for model in models:
        p = [nw.col(f"p_{model}_{place}") for place in places]
        ops = cast("Operations", _WithTop(p, nw.col(f"top_{model}")))
        for place, rule in enumerate(map(_by_class, rules)):
            losses[f"x_{place}_{model}"] = rule.class_loss(p, outcome=outcome, ops=ops)
    return rows, losses


@dataclass(frozen=True, slots=True, eq=False)
class _WithTop:
    """The operations of engines, where the largest forecast of a row is a column already.

    So it is computed once for all rules; and Dask, which cannot put the largest of some columns into a formula, can
    compute them.
    """

    p: Sequence[nw.Expr]
    top: nw.Expr

    def maximum(self, *columns: Column) -> Column:
        """Return the largest of the columns."""
        known = len(columns) == len(self.p) and all(one is own for one, own in zip(columns, self.p, strict=True))
        return self.top if known else JUDGED.maximum(*columns)

    def __getattr__(self, name: str) -> Any:
        return getattr(JUDGED, name)


def _lawful(source: Source, positions: Iterable[int]) -> Lazy:
    if not source.drop:
        return source.frame  # All of its rows were judged lawful.
    laws = [law for position in positions for law in source.laws(position).values()]
    return source.frame.filter(*(~missing & lawful for missing, lawful, _, _ in laws))


def _moments(
    columns: dict[str, Floats],
    place: int,
    models: int,
    names: tuple[str, ...],
    rule: Rule,
    labels: dict[str, NDArray[np.object_]],
    dropped: int,
) -> LossMoments:
    series = [f"x_{place}_{number}" for number in range(models + models * (models - 1) // 2)]
    n = columns["n"]
    weight = columns.get("weight", n)
    occupied = n > 0.0
    if not occupied.any():
        raise InputValueError(sentence("no row has a positive weight and keeps every law"))
    squares = columns.get("squares", n)
    plain = np.stack([columns[f"s{name}"] for name in series], axis=1)[occupied]
    tilted = np.stack([columns.get(f"t{name}", columns[f"s{name}"]) for name in series], axis=1)[occupied]
    squared = np.stack([columns[f"u{name}"] for name in series], axis=1)[occupied]
    weight, squares = weight[occupied], squares[occupied]
    with np.errstate(invalid="ignore"):
        mean = plain / weight[:, None]
        lean = tilted - mean * squares[:, None]
        spread = squared - mean * (2.0 * tilted - mean * squares[:, None])
        same = spread <= ROUNDING * n[occupied][:, None] * squared
        lean, spread = np.where(same, 0.0, lean), np.where(same, 0.0, spread)
    cells = LossMoments(
        n=n[occupied].astype(np.int64),
        weight=weight,
        weight_squares=squares,
        mean=mean,
        lean=lean,
        spread=spread,
        models=names,
        rule=repr(rule),
        dropped=dropped,
        **{key: found[occupied] for key, found in labels.items()},
    )
    return LossMoments.merge([cells])  # In the order of the labels; an engine may return a cell in parts.


def _labels(column: Any) -> NDArray[np.object_]:
    found = np.empty(len(column), dtype=object)
    found[:] = column.to_pylist()
    return found


def _binary(rule: Rule) -> BinaryRule:
    check_rule(rule)
    if not isinstance(rule, BinaryRule):
        law = f"{rule!r} scores rows with one column per class; got the forecast of one event"
        raise InputValueError(sentence(law))
    return rule


def _by_class(rule: Rule) -> ClassRule:
    check_rule(rule)
    if not isinstance(rule, ClassRule):
        law = f"{rule!r} scores the forecast of one event; got rows of probabilities"
        raise InputValueError(sentence(law))
    return rule
