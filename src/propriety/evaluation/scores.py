"""The numbers of an evaluation, one row per model and measure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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
        The model, and the short key of what is measured.
    label : ndarray of str
        What is measured, in words.
    value, low, high, standard_error : ndarray of float
        The number and its interval; NaN where the sample does not tell.
    raw : ndarray of float
        The number with the noise of the sample, of what is told without it; NaN for all others.
    higher_is_better : ndarray of bool
        Whether more of it is better.
    ideal : ndarray of float
        The best value of a measure that can be too high and too low; NaN for all others.
    method, note, call : ndarray of str
        How the interval was made, what to beware of, and the call that makes the number alone.
    level : float
        Level of the intervals.
    """

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
