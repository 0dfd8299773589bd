"""The numbers of an evaluation, one row per model and measure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from propriety.inference.estimates import Estimate
from propriety.result import Floats, Result

Names = NDArray[np.str_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Scores(Result):
    """Numbers of each model with their intervals, one row per model and measure.

    Parameters
    ----------
    model, measure : ndarray of str
        The model, and the short key of the measure.
    label : ndarray of str
        The name of the measure.
    value, low, high, standard_error : ndarray of float
        The estimate and its interval; NaN if the sample does not determine them.
    raw : ndarray of float
        For bias-corrected measures, the estimate before the correction; NaN for all others.
    higher_is_better : ndarray of object
        Whether higher values are better; None for a function, which does not say so.
    ideal : ndarray of float
        The best value of a measure that can be too high and too low; NaN for all others.
    method, note, call : ndarray of str
        How the interval was computed, a caveat, and the call that reproduces the number.
    level : float
        Level of the intervals.
    """

    main_columns: ClassVar[tuple[str, ...]] = ("model", "label", "value", "low", "high", "note")

    model: Names
    measure: Names
    label: Names
    value: Floats
    low: Floats
    high: Floats
    standard_error: Floats
    raw: Floats
    higher_is_better: NDArray[np.object_]
    ideal: Floats
    method: Names
    note: Names
    call: Names
    level: float

    def columns(self) -> Mapping[str, Sequence[Any] | NDArray[Any]]:
        """Return one row per model and measure."""
        # Polars reads a list with None as a column of booleans, but not an array.
        return {**Result.columns(self), "higher_is_better": self.higher_is_better.tolist()}

    def at(self, model: str, measure: str) -> dict[str, Any]:
        """Return one row, by the model and the key of the measure."""
        place = int(np.flatnonzero((self.model == model) & (self.measure == measure))[0])
        return {name: np.asarray(column).tolist()[place] for name, column in self.columns().items()}


def scores_of(rows: Sequence[tuple[str, Estimate, str]], level: float) -> Scores:
    """Return the table of estimates, each with its model and its call."""
    models, found, calls = zip(*rows, strict=True)
    return Scores(
        model=np.array(models),
        measure=np.array([one.measure.key for one in found]),
        label=np.array([one.measure.label for one in found]),
        **{
            name: np.array([getattr(one, name) for one in found])
            for name in ("value", "low", "high", "standard_error", "method", "note")
        },
        higher_is_better=np.array([one.higher_is_better for one in found], dtype=object),
        raw=np.array([math.nan if one.raw is None else one.raw for one in found]),
        ideal=np.array([getattr(one.measure, "ideal", math.nan) for one in found]),
        call=np.array(calls),
        level=level,
    )
