"""Moments of losses as plain data and as Parquet files, for shards and days that are merged later."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from propriety.errors import InputValueError, sentence
from propriety.inference.moments import LossMoments
from propriety.results import Floats
from propriety.tables import frames
from propriety.tables.table_laws import ROUNDING, weights_agree

if TYPE_CHECKING:
    from os import PathLike

__all__ = ["read_moments", "stored", "unstored", "write_moments"]

SCHEMA, VERSION = "propriety.loss_moments", 1
PER_CELL, PER_SERIES, KEYS = ("n", "weight", "weight_squares"), ("mean", "lean", "spread"), ("group", "cluster")
FACTS = ("models", "rule", "dropped")
MOST = 2.0**63  # Cases that no integer counts are none.
LARGEST = 1e140  # Of a loss by its weight; the sums of squares of all cases are numbers then.


def write_moments(moments: LossMoments, path: str | PathLike[str]) -> None:
    """Write one row per cell: its labels, numbers, and a list with an entry per series for each of the moments."""
    data = stored(moments)
    columns = {name: data.pop(name) for name in (*PER_CELL, *PER_SERIES, *KEYS) if data.get(name) is not None}
    frames.write_parquet(path, columns, {name: data[name] for name in ("schema", "version", *FACTS)})


def read_moments(path: str | PathLike[str]) -> LossMoments:
    """Read what `write_moments` wrote."""
    data = frames.read_parquet(path)
    columns = {name: data[name].tolist() for name in (*PER_SERIES, *KEYS) if hasattr(data.get(name), "tolist")}
    return unstored(dict.fromkeys(KEYS) | data | columns)


def stored(moments: LossMoments) -> dict[str, Any]:
    """Return the moments as plain data, with the schema and its version.

    Examples
    --------
    >>> from propriety.inference.moments import loss_moments
    >>> data = stored(loss_moments([0, 1], {"a": [0.5, 0.5]}))
    >>> data["schema"], data["version"], data["mean"]
    ('propriety.loss_moments', 1, [[0.25]])
    """
    columns = {name: getattr(moments, name).tolist() for name in (*PER_CELL, *PER_SERIES)}
    labels = {name: None if getattr(moments, name) is None else getattr(moments, name).tolist() for name in KEYS}
    facts = {"models": list(moments.models), "rule": moments.rule, "dropped": moments.dropped}
    return {"schema": SCHEMA, "version": VERSION, **facts, **columns, **labels}


def unstored(data: Mapping[str, Any]) -> LossMoments:
    """Make moments from what `stored` returned; what does not fit together is refused.

    Examples
    --------
    >>> from propriety.inference.moments import loss_moments
    >>> unstored(stored(loss_moments([0, 1], {"a": [0.5, 0.5]})))
    LossMoments(models=['a'], rule=Brier(), n=2)
    """
    found = frames.checked_schema(data, SCHEMA, VERSION, [*FACTS, *PER_CELL, *PER_SERIES, *KEYS])
    models, rule, dropped = (found[name] for name in FACTS)
    if not isinstance(rule, str) or not _is_count(dropped) or not _are_names(models):
        raise InputValueError(sentence(f"{SCHEMA} must name its models and its rule, and count what was dropped"))
    columns: dict[str, Any] = {name: _numbers(name, found[name]) for name in (*PER_CELL, *PER_SERIES)}
    cells, series = columns["n"].size, len(models) * (len(models) + 1) // 2
    for name in (*PER_CELL, *PER_SERIES):
        shape = (cells,) if name in PER_CELL else (cells, series)
        if columns[name].shape != shape or cells == 0:
            law = f"{name} of {SCHEMA} must be of shape {shape} with at least one cell; got {columns[name].shape}"
            raise InputValueError(sentence(law))
    _check_cells(columns["n"], columns["weight"], columns["weight_squares"])
    _check_spread(columns["weight_squares"][:, None], columns["mean"], columns["lean"], columns["spread"])
    labels: dict[str, Any] = {name: None if found[name] is None else _objects(found[name], cells) for name in KEYS}
    columns["n"] = columns["n"].astype(np.int64)
    return LossMoments(models=tuple(models), rule=rule, dropped=dropped, **columns, **labels)


def _are_names(models: object) -> bool:
    if not isinstance(models, list | tuple) or not all(isinstance(name, str) for name in models):
        return False
    return 0 < len(models) == len(set(models))


def _is_count(number: object) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and 0 <= number < MOST


def _numbers(name: str, values: object) -> Floats:
    law = f"{name} of {SCHEMA} must hold numbers"
    try:
        found = np.asarray(values)
    except (TypeError, ValueError) as error:
        raise InputValueError(sentence(law, offender=str(error))) from error
    if found.dtype.kind not in "biuf":
        raise InputValueError(sentence(law, offender=f"got {found.dtype}"))
    return found.astype(np.float64)


def _check_cells(n: Floats, weight: Floats, squares: Floats) -> None:
    if not ((n >= 1.0) & (n < MOST) & (n == np.floor(n)) & (weight > 0.0)).all():
        raise InputValueError(sentence(f"every cell of {SCHEMA} must hold a case with a positive weight"))
    sound = (squares > 0.0) & (squares < np.inf)
    if not weights_agree(n, weight, np.where(sound, squares, np.nan)).all():
        law = f"the weights of every cell of {SCHEMA} must be finite and agree with their squares and number"
        raise InputValueError(sentence(law))


def _check_spread(squares: Floats, mean: Floats, lean: Floats, spread: Floats) -> None:
    """Refuse moments that no losses have: by Cauchy and Schwarz the square of `lean` is at most `squares * spread`."""
    bad = spread < 0.0  # What is not a number comes of infinite losses.
    root = np.sqrt(squares)
    with np.errstate(over="ignore", invalid="ignore"):
        for moment, size in ((mean, root * (1.0 + np.abs(mean))), (lean, np.sqrt(np.abs(lean))), (spread, spread**0.5)):
            if ((size > LARGEST) & np.isfinite(moment)).any():
                law = f"mean, lean and spread of {SCHEMA} must be small enough for sums of squares"
                raise InputValueError(sentence(law, offender=f"a loss by its weight is {size.max():g}"))
        limit = root * np.sqrt(np.where(bad, 0.0, spread)) * (1.0 + ROUNDING)
        bad |= np.abs(lean) > limit + ROUNDING * squares * (1.0 + np.abs(mean))
    if bad.any():
        raise InputValueError(sentence(f"mean, lean and spread of {SCHEMA} must be those of some losses"))


def _objects(labels: Any, cells: int) -> Any:
    if not isinstance(labels, list) or len(labels) != cells:
        raise InputValueError(sentence(f"{SCHEMA} must have one label per cell; there are {cells} cells"))
    try:
        set(labels)
    except TypeError as error:
        raise InputValueError(sentence(f"the labels of {SCHEMA} must be single values", offender=str(error))) from error
    held = np.empty(cells, dtype=object)
    held[:] = labels
    return held
