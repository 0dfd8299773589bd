"""Moments of losses as plain data and as Parquet files, for shards and days that are merged later."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from propriety.errors import InputValueError, sentence
from propriety.inference.moments import LossMoments
from propriety.tables import frames

if TYPE_CHECKING:
    from os import PathLike

__all__ = ["read_moments", "stored", "unstored", "write_moments"]

SCHEMA, VERSION = "propriety.loss_moments", 1
PER_CELL, PER_SERIES, KEYS = ("n", "weight", "weight_squares"), ("mean", "lean", "spread"), ("group", "cluster")
FACTS = ("models", "rule", "dropped")
MOST = 2.0**63  # Cases that no integer counts are none.


def write_moments(moments: LossMoments, path: str | PathLike[str]) -> None:
    """Write one row per cell: its labels, numbers, and a list with an entry per series for each of the moments."""
    data = stored(moments)
    columns = {name: data.pop(name) for name in (*PER_CELL, *PER_SERIES, *KEYS) if data.get(name) is not None}
    frames.write_parquet(path, columns, {name: data[name] for name in ("schema", "version", *FACTS)})


def read_moments(path: str | PathLike[str]) -> LossMoments:
    """Read what `write_moments` wrote."""
    data = frames.read_parquet(path)
    lists = {name: [list(row) for row in data[name]] for name in PER_SERIES if name in data}
    labels = {name: data[name].tolist() if name in data else None for name in KEYS}
    return unstored(data | lists | labels)


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
    if not isinstance(rule, str) or not isinstance(dropped, int) or dropped < 0 or not _are_names(models):
        raise InputValueError(sentence(f"{SCHEMA} must name its models and its rule, and count what was dropped"))
    try:
        columns: dict[str, Any] = {name: np.asarray(found[name], dtype=np.float64) for name in (*PER_CELL, *PER_SERIES)}
    except (TypeError, ValueError) as error:
        raise InputValueError(sentence(f"{SCHEMA} must hold numbers", offender=str(error))) from error
    cells, series = columns["n"].size, len(models) * (len(models) + 1) // 2
    for name in (*PER_CELL, *PER_SERIES):
        shape = (cells,) if name in PER_CELL else (cells, series)
        if columns[name].shape != shape or cells == 0:
            law = f"{name} of {SCHEMA} must be of shape {shape} with at least one cell; got {columns[name].shape}"
            raise InputValueError(sentence(law))
    if not ((columns["n"] >= 1.0) & (columns["n"] < MOST)).all() or not (columns["weight"] > 0.0).all():
        raise InputValueError(sentence(f"every cell of {SCHEMA} must hold a case with a positive weight"))
    labels: dict[str, Any] = {name: None if found[name] is None else _objects(found[name], cells) for name in KEYS}
    columns["n"] = columns["n"].astype(np.int64)
    return LossMoments(models=tuple(models), rule=rule, dropped=dropped, **columns, **labels)


def _are_names(models: object) -> bool:
    return isinstance(models, list | tuple) and bool(models) and all(isinstance(name, str) for name in models)


def _objects(labels: Any, cells: int) -> Any:
    if not isinstance(labels, list) or len(labels) != cells:
        raise InputValueError(sentence(f"{SCHEMA} must have one label per cell; there are {cells} cells"))
    held = np.empty(cells, dtype=object)
    held[:] = labels
    return held
