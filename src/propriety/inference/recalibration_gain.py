"""The gain of recalibration, as the verdict on calibration reports it."""

from __future__ import annotations

import math
from typing import NamedTuple

from propriety.number_words import number, percent


class RecalibrationGain(NamedTuple):
    """The out-of-sample gain of recalibration.

    Parameters
    ----------
    label : str
        Name of the score.
    before : float
        The score of the original forecasts.
    value, low, high : float
        How much the map lowers the score, and the limits of its interval.
    uncertainty : float
        The score of the constant event rate.

    Examples
    --------
    >>> print(RecalibrationGain("Brier score", 0.18, 0.0072, 0.0051, 0.0093, 0.21))
    Recalibration would lower its Brier score of 0.180 by 0.00720 (4%; 0.00510 to 0.00930).
    >>> print(RecalibrationGain("Brier score", 0.18, 0.0001, -0.0002, 0.0004, 0.21))
    Recalibration is not shown to lower its Brier score of 0.180 (gain 0.000100, -0.000200 to 0.000400).
    """

    label: str
    before: float
    value: float
    low: float
    high: float
    uncertainty: float

    def is_within(self, share: float) -> bool:
        """Whether the upper limit is at most this share of the uncertainty."""
        return self.high <= share * self.uncertainty

    def __str__(self) -> str:
        score, limits = f"its {self.label} of {number(self.before)}", f"{number(self.low)} to {number(self.high)}"
        if self.low > 0.0:
            share = "" if math.isinf(self.before) else f"{percent(self.value / self.before, 2)}; "
            return f"Recalibration would lower {score} by {number(self.value)} ({share}{limits})."
        return f"Recalibration is not shown to lower {score} (gain {number(self.value)}, {limits})."
