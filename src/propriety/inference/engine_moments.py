"""Moments of losses computed where the cases lie: each rule's own formula as an expression of the engine."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from propriety.errors import InputValueError, UnsupportedOperationError, sentence
from propriety.inference.moments import LossMoments
from propriety.results import Floats
from propriety.rules.operations import NARWHALS
from propriety.rules.rule import BinaryRule, Rule, check_rule
from propriety.tables.engine_source import Source, collected

__all__ = ["moments_of_source"]


def moments_of_source(
    source: Source, rules: Sequence[Rule], *, group: bool = False, cluster: bool = False, dropped: int = 0
) -> tuple[LossMoments, ...]:
    r"""Return the moments of each rule for all models of a source whose rows were judged, in one query.

    The first label of a row is its group, if `group`, and the last its cluster, if `cluster`.

    Notes
    -----
    The engine returns :math:`\sum w x, \sum w^2 x, \sum w^2 x^2`, from which means and spreads are made. A spread loses
    as many digits as the squared mean exceeds the variance; losses of forecasts vary about as much as they are
    large, and differences of losses are series of their own, so that nothing is lost there.
    """
    binary = [_binary(rule) for rule in rules]
    keys = [name for name, used in (("group", group), ("cluster", cluster)) if used]
    names = tuple(str(name) for name in source.names)
    try:
        query = _query(source, binary)
    except (NotImplementedError, RuntimeError) as error:  # The latter is how Dask says it, through narwhals.
        law = f"{source.engine} cannot compute these losses: {', '.join(map(repr, binary))}"
        raise UnsupportedOperationError(sentence(law, offender=str(error).rstrip("."))) from error
    table = collected(query)
    labels = {key: _labels(table.column(name)) for key, name in zip(keys, source.by, strict=True)}
    columns = {
        name: table.column(name).to_numpy().astype(np.float64) for name in table.column_names if "by_" not in name
    }
    return tuple(
        _moments(columns, place, len(source.names), names, rule, labels, dropped) for place, rule in enumerate(binary)
    )


def _query(source: Source, rules: Sequence[BinaryRule]) -> Any:
    """Build the query: lawful rows, their losses, the differences, their products with the weights, the sums."""
    models = range(len(source.names))
    by = {name: nw.col(name) for name in source.by}
    weight = nw.col("weight")
    weights = {"weight": weight} if source.weighted else {}
    lawful = [~missing & law for position in models for missing, law, _, _ in source.laws(position).values()]
    rows = source.frame.filter(*lawful).select(
        **by,
        **weights,
        event=source.event(0),
        **{f"p_{position}": source.forecast(position) for position in models},
    )
    losses = {
        f"x_{place}_{position}": NARWHALS.where(
            nw.col("event") > 0.5,
            rule.loss(nw.col(f"p_{position}"), event=True, ops=NARWHALS),
            rule.loss(nw.col(f"p_{position}"), event=False, ops=NARWHALS),
        )
        for place, rule in enumerate(rules)
        for position in models
    }
    if source.engine.startswith("ibis"):
        # Ibis writes constants as decimal numbers and takes them for floats; what a float multiplies is one.
        float_one = nw.col("p_0") * 0.0 + 1.0
        losses = {name: loss * float_one for name, loss in losses.items()}
    rows = rows.select(**by, **weights, **losses)
    if source.weighted:
        rows = rows.filter(weight > 0.0)  # A case without weight does not count, even where its loss is infinite.
    series = {name: nw.col(name) for name in losses}
    for place in range(len(rules)):
        for pair, (one, other) in enumerate(itertools.combinations(models, 2), len(models)):
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
    return rows.group_by(*source.by).agg(*sums) if source.by else rows.select(*sums)


def _moments(
    columns: dict[str, Floats],
    place: int,
    models: int,
    names: tuple[str, ...],
    rule: BinaryRule,
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
        spread = np.maximum(squared - mean * (2.0 * tilted - mean * squares[:, None]), 0.0)
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
        law = f"{rule!r} scores rows with one column per class; engines score the forecast of one event"
        raise InputValueError(sentence(law))
    return rule
