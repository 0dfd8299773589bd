"""The numbers of an evaluation, one row per model and measure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from propriety.result import Floats, Result

__all__ = ["Scores"]

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
    higher_is_better : ndarray of bool
        Whether higher values are better.
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
    higher_is_better: NDArray[np.bool_]
    ideal: Floats
    method: Names
    note: Names
    call: Names
    level: float

    def at(self, model: str, measure: str) -> dict[str, Any]:
        """Return one row, by the model and the key of the measure."""
        place = int(np.flatnonzero((self.model == model) & (self.measure == measure))[0])
        return {name: column[place].item() for name, column in self.columns().items()}
