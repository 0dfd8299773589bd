"""What the facts, tables and moments of a stored ledger must be, so that cases can have them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np

from propriety.checks import check_cells
from propriety.errors import InputValueError
from propriety.ledger.key_index import KeyIndex
from propriety.ledger.keyed_tables import COLUMNS, KeyedTables
from propriety.ledger.moments import OUTCOME, Moments, Sums
from propriety.result import Floats
from propriety.rules.catalogue import RULES
from propriety.tables.events import TOP, Event, events_of
from propriety.tables.frames import are_names
from propriety.tables.table_laws import ROUNDING_OF_SUMS, weights_agree

SCHEMA = "propriety.ledger"
LARGEST = 1e140  # Bound on a weighted loss, so that sums of squares over all cases are finite.
SAME_WEIGHT = 1e-9  # Relative difference of sums of the same weights in another order.
RESTORE = "restore the folder from a copy, or condense the cases again."
Scalar = str | int | float
# Names of columns, which no key can have.
RESERVED = {
    "model",
    "event",
    "place",
    "rule",
    OUTCOME,
    "cluster",
    "period",
    "cells",
    "n_events",
    *COLUMNS,
    *Sums._fields,
}


def check_facts(facts: Mapping[str, Any]) -> None:
    """Raise an error if the facts are not those of a ledger."""
    models, labels, keys = facts["models"], facts["labels"], facts["keys"]
    sound = are_names(models) and len(models) > 0
    sound &= labels is None or (_are_labels(labels) and len(labels) > 1)
    sound = sound and isinstance(keys, dict) and all(name.strip() for name in keys)
    sound = sound and all(order is None or _are_labels(order) for order in keys.values())
    sound &= facts["dependence"] in (None, "cluster", "period") and isinstance(facts["is_weighted"], bool)
    sound &= isinstance(facts["rules"], list) and all(isinstance(rule, dict) for rule in facts["rules"])
    sound &= isinstance(facts["partition"], list) and all(isinstance(name, str) for name in facts["partition"])
    sound &= isinstance(facts["types"], dict) and all(isinstance(kind, str) for kind in facts["types"].values())
    if not sound or not set(facts["partition"]) <= set(keys) or set(keys) & RESERVED:
        refuse("its facts must name the models, labels, keys and rules that it is about")
    classes = None if labels is None else len(labels)
    wanted = [[list(event) for event in events_of(classes, ordered=ordered)] for ordered in (False, True)]
    if facts["events"] not in wanted:
        refuse("its events must be those of its labels")


def check_tables(tables: Mapping[tuple[str, Event], KeyedTables], *, is_weighted: bool) -> None:
    """Raise an error if no cases can have these tables, or if two models do not have the same cases."""
    first, *_ = tables.values()
    of_event: dict[Event, KeyedTables] = {}
    for (_, event), one in tables.items():
        weights = (one.events, one.non_events, one.event_squares, one.non_event_squares)
        if not all((column >= 0.0).all() and (column < np.inf).all() for column in weights):
            refuse("the weights of its tables must be finite and not negative")
        if not ((one.forecast >= 0.0).all() and (one.forecast <= 1.0).all()):
            refuse("the forecasts of its tables must lie in [0, 1]")
        if not (one.events + one.non_events > 0.0).all():
            refuse("every row of its tables must have a weight")
        if not ((one.n >= 1).all() and (one.n_events >= 0).all() and (one.n_events <= one.n).all()):
            refuse("every table must hold a case")
        if not np.array_equal(one.n, first.n) or one.cells != first.cells:
            refuse("its tables must all be of the same cases, on the same grid")
        if one.cells is not None:
            check_cells(one.cells)
        _check_sums(one, is_weighted=is_weighted)
        if event != TOP:  # Whether the class with the highest probability is right depends on the model.
            _check_same(one, of_event.setdefault(event, one))


def _check_sums(one: KeyedTables, *, is_weighted: bool) -> None:
    """Raise an error if the rows of a table do not add up to its numbers of events and non-events."""
    for weight, number in zip(_weights_of(one), (one.n_events, one.n - one.n_events), strict=True):
        if not np.array_equal(weight > 0.0, number > 0) if is_weighted else not np.array_equal(weight, number):
            refuse("the rows of every table must add up to its numbers of events and non-events")


def _check_same(one: KeyedTables, other: KeyedTables) -> None:
    """Raise an error if the tables of two models of one event are not of the same outcomes and weights."""
    if one is other:
        return
    agree = (_agree(*pair) for pair in zip(_weights_of(one), _weights_of(other), strict=True))
    if not np.array_equal(one.n_events, other.n_events) or not all(agree):
        refuse("the tables of all models must be of the same outcomes")


def _weights_of(one: KeyedTables) -> tuple[Floats, Floats]:
    """Return the weight of the events and of the non-events of each entry."""
    events, others = (np.bincount(one.entry, column, minlength=len(one.n)) for column in (one.events, one.non_events))
    return events.astype(np.float64), others.astype(np.float64)


def _agree(one: Floats, other: Floats) -> bool:
    return bool(np.allclose(one, other, rtol=SAME_WEIGHT, atol=0.0))


def check_moments(
    moments: Moments, index: KeyIndex, tables: Mapping[tuple[str, Event], KeyedTables], classes: int | None
) -> None:
    """Raise an error if no losses can have these moments, or if they are not of the cases of the tables."""
    outcomes = 2 if classes is None else classes
    column = moments.index.column(OUTCOME)
    if not all(isinstance(place, int) and 0 <= place < outcomes for place in column):
        refuse(f"its outcomes must be places of {outcomes} classes")
    entry, outcome, n = index.entry_of(moments.index), np.array(column, dtype=np.intp), next(iter(tables.values())).n
    counted = np.bincount(entry, moments.n, minlength=len(index))
    if not np.array_equal(counted, n):
        refuse("its moments must be of the cases of its tables")
    for (_, event), one in tables.items():
        if event.kind in ("event", "class"):
            own = outcome == (1 if event.kind == "event" else event.place)
            n_events, weight = (np.bincount(entry[own], v[own], minlength=len(n)) for v in (moments.n, moments.weight))
            if not np.array_equal(n_events, one.n_events) or not _agree(weight.astype(np.float64), _weights_of(one)[0]):
                refuse("its moments must be of the outcomes of its tables")
    _check_cells(*(getattr(moments, name).astype(np.float64) for name in ("n", "weight", "weight_squares")))
    _check_spread(moments.weight_squares[:, None], moments.mean, moments.lean, moments.spread)
    _check_range(moments, classes)
    too_large = np.abs([moments.even_squares, moments.even_cubes]) > LARGEST**2  # To be added.
    if (moments.even_squares < 0.0).any() or too_large.any():
        refuse("even_squares and even_cubes must be those of some losses")


def _check_range(moments: Moments, classes: int | None) -> None:
    """Raise an error if the mean loss of a model is no number, or outside the range of a rule of the catalogue."""
    mean = moments.mean[:, : len(moments.models)]
    if np.isnan(mean).any():
        refuse("the mean loss of every model must be a number")
    if isinstance(moments.rule, tuple({type(rule) for rule in RULES})):
        claimed = moments.rule.properties(classes)
        best = -np.inf if claimed.best is None else claimed.best
        worst = np.inf if claimed.worst is None else claimed.worst
        slack = ROUNDING_OF_SUMS * (1.0 + np.abs(mean))
        if ((mean < best - slack) | (mean > worst + slack)).any():
            refuse(f"the mean losses must lie in the range of {moments.rule!r}, {best:g} to {worst:g}")


def _check_cells(n: Floats, weight: Floats, squares: Floats) -> None:
    if not ((n >= 1.0) & (weight > 0.0)).all():
        refuse("every cell of its moments must hold a case with a positive weight")
    sound = (squares > 0.0) & (squares < np.inf)
    if not weights_agree(n, weight, np.where(sound, squares, np.nan)).all():
        refuse("the weights of every cell must be finite and agree with their squares and number")


def _check_spread(squares: Floats, mean: Floats, lean: Floats, spread: Floats) -> None:
    """Raise an error if the Cauchy-Schwarz inequality is violated: lean**2 is at most squares * spread."""
    bad = spread < 0.0  # NaN results from infinite losses.
    root = np.sqrt(squares)
    with np.errstate(over="ignore", invalid="ignore"):
        for moment, size in ((mean, root * (1.0 + np.abs(mean))), (lean, np.sqrt(np.abs(lean))), (spread, spread**0.5)):
            if ((size > LARGEST) & np.isfinite(moment)).any():
                refuse("mean, lean and spread must be small enough for sums of squares")
        limit = root * np.sqrt(np.where(bad, 0.0, spread)) * (1.0 + ROUNDING_OF_SUMS)
        bad |= np.abs(lean) > limit + ROUNDING_OF_SUMS * squares * (1.0 + np.abs(mean))
    if bad.any():
        refuse("mean, lean and spread must be those of some losses")


def _are_labels(labels: object) -> bool:
    if not isinstance(labels, list) or not all(isinstance(label, Scalar) for label in labels):
        return False
    return len(labels) == len(set(labels))


def refuse(law: str) -> NoReturn:
    """Raise the error that a stored ledger is not valid."""
    raise InputValueError(f"this is not a valid {SCHEMA}: {law}", hint=RESTORE)
