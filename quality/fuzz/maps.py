"""The JSON of recalibration maps, mutated: a refusal in the package's own words, or a map that keeps its promises."""

from __future__ import annotations

import functools
import json
import math
import warnings
from typing import Any

import numpy as np
from drawing import Drawing
from stored import changed, mutated

import propriety.recalibration as maps
from propriety.errors import ProprietyError

__all__ = ["one"]

GRID = np.array([0.0, 5e-324, 1e-300, 1e-9, 0.05, 0.2, 0.5, 0.8, 0.95, 1.0 - 1e-9, 1.0 - 2.0**-53, 1.0])
ROWS = [[0.2, 0.3, 0.5], [1.0, 0.0, 0.0], [1 / 3, 1 / 3, 1 / 3], [1e-300, 1.0, 0.0]]


@functools.cache
def _sound() -> tuple[dict[str, Any], ...]:
    """Return the plain data of a map of every kind."""
    binary = maps.OddsMap(intercept=0.1, slope=0.8, floor=1e-6)
    effect = maps.SegmentEffect(places=(("site", "a"), ("age", (None, 30.0))), log_odds=0.2)
    found = (
        binary,
        maps.IdentityMap(floor=0.01),
        maps.OddsMap(intercept=0.2, slope=0.4, slope_at_1=1.7, floor=1e-6),
        maps.SplineMap(knots=[-3.0, 0.0, 2.0], level=-2.5, slopes=[0.0, 1.5, 0.2], floor=1e-6),
        maps.OddsMap(intercept=-2.3),
        maps.IsotonicMap(forecast=[0.05, 0.3, 0.9], event_rate=[0.1, 0.2, 1.0]),
        maps.VennAbersMap(low_from=[0.2, 0.6], low=[0.1, 0.5], high_to=[0.3, 0.7], high=[0.3, 0.8]),
        maps.MatrixMap(matrix=0.5, floor=1e-9),
        maps.MatrixMap(matrix=[1.0, 0.5, 2.0], intercepts=[0.0, 0.1, -0.1], floor=1e-9),
        maps.MatrixMap(matrix=np.eye(3) + 0.1, intercepts=[0.0, 0.1, -0.1], floor=1e-9),
        maps.OneVsRestMap(maps=(binary, binary, binary)),
        maps.SegmentMap(whole=binary, effects=(effect,), floor=1e-6),
    )
    return tuple(json.loads(one.to_json()) for one in found)


def one(data: bytes) -> None:
    """Read what the bytes say, and look at the map that comes of it."""
    drawing = Drawing(data)
    how = drawing.number(7)
    base = drawing.choice(_sound())
    if how == 0:
        text = drawing.rest().decode("utf-8", errors="replace")
    elif how == 1:
        text = mutated(drawing, json.dumps(base).encode()).decode("utf-8", errors="replace")
    else:
        text = json.dumps(changed(drawing, json.loads(json.dumps(base))), default=str)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for family in (maps.RecalibrationMap, maps.ClassMap, maps.SegmentMap):
            try:
                found = family.from_json(text)
            except ProprietyError:
                continue
            _look_at(found)


def _look_at(found: Any) -> None:
    """Look whether a map that was read is stored as it is and returns probabilities."""
    kind = type(found)
    _require(kind.from_json(found.to_json()) == found, "stored and read again it differs")
    _require(bool(repr(found)) and bool(found.formula), "words")
    if isinstance(found, maps.RecalibrationMap):
        moved = found(GRID)
        _require(np.isfinite(moved).all() and (moved >= 0.0).all() and (moved <= 1.0).all(), f"not forecasts: {moved}")
        _require(not found.is_monotone or (np.diff(moved) >= -1e-12).all(), f"said to be monotone: {moved}")
    elif isinstance(found, maps.SegmentMap):
        by = {name: np.resize(np.array(["a", "b", ""], dtype=object), len(GRID)) for name in found.by}
        try:
            moved = found(GRID, by)
        except ProprietyError:  # An effect is of numbers.
            return
        _require(np.isfinite(moved).all() and (moved >= 0.0).all() and (moved <= 1.0).all(), f"not forecasts: {moved}")
    elif isinstance(found, maps.ClassMap):
        try:
            rows = found(ROWS)
        except ProprietyError:  # It is of another number of classes.
            return
        _require(np.isfinite(rows).all() and (rows >= 0.0).all(), f"not forecasts: {rows}")
        _require(all(math.isclose(float(row.sum()), 1.0, rel_tol=1e-9) for row in rows), f"rows: {rows}")


def _require(holds: object, what: str) -> None:
    if not holds:
        raise AssertionError(what)
