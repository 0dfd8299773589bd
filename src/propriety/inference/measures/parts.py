"""Measures by a curve that is fitted to the same cases, whose noise inflates them; limits are their own."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from propriety.calibration.calibration_errors import expected_calibration_error
from propriety.calibration.decomposition import decompose_table, proper_binary_rule
from propriety.calibration.smooth_calibration import calibration_index
from propriety.inference.estimates import without_limits
from propriety.inference.finding import Finding
from propriety.inference.measures.measure import Measure
from propriety.inference.measures.of_means import MeanScore
from propriety.inference.notes import Note
from propriety.inference.part_estimates import Part, estimate_index, estimate_part
from propriety.ledger.ledger import Ledger
from propriety.rules.families import BRIER
from propriety.rules.rule import Rule
from propriety.tables.forecast_table import ForecastTable


@dataclass(frozen=True)
class _Part(Measure):
    """A part of the decomposition, which needs a proper rule for one event."""

    rule: Rule = BRIER

    part: ClassVar[Part] = "miscalibration"
    range = (0.0, math.inf)

    def __post_init__(self) -> None:
        proper_binary_rule(self.rule)
        key, label = (
            self.part if self.rule == BRIER else f"{name}{between}{self.part}"
            for name, between in ((self.rule.name, "_"), (self.rule.label, " "))
        )
        self.declare(key=key, label=label, instead=MeanScore(self.rule))

    def value(self, table: ForecastTable) -> float:
        """Return the part, in which the noise that recalibration fits is included."""
        return float(getattr(decompose_table(table, self.rule), self.part))

    def own_estimate(self, ledger: Ledger, model: str, *, level: float, drawing: Any) -> Finding:
        """Return the part less the noise, with its limits."""
        return estimate_part(ledger, model, self, self.part, self.rule, level=level, drawing=drawing)


@dataclass(frozen=True)
class Miscalibration(_Part):
    """How much the score exceeds that of the recalibrated forecasts, as in `propriety.decompose`; lower is better.

    Parameters
    ----------
    rule : Rule
        The scoring rule, proper and of one event, by default the Brier score.

    Examples
    --------
    >>> table = ForecastTable.from_predictions([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8])
    >>> round(Miscalibration().value(table), 6)
    0.05
    """

    higher_is_better = False


@dataclass(frozen=True)
class Discrimination(_Part):
    """How much the recalibrated forecasts improve on the event rate, as in `propriety.decompose`; higher is better.

    Parameters
    ----------
    rule : Rule
        The scoring rule, proper and of one event, by default the Brier score.

    Examples
    --------
    >>> table = ForecastTable.from_predictions([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8])
    >>> round(Discrimination().value(table), 6)
    0.125
    """

    higher_is_better = True
    part: ClassVar[Part] = "discrimination"


@dataclass(frozen=True)
class BinnedCalibrationError(Measure):
    """Expected calibration error over 15 bins of equal width, ECE, as in `propriety.expected_calibration_error`.

    It depends on the bins, and noise inflates it; `Miscalibration` has an interval and needs no bins.

    Examples
    --------
    >>> y, p = ([0] * 9 + [1]) * 20 + ([0] * 4 + [1] * 6) * 20, [0.2] * 200 + [0.4] * 200
    >>> round(BinnedCalibrationError().value(ForecastTable.from_predictions(y, p)), 4)
    0.15
    """

    key = "ece"
    label = "expected calibration error, 15 bins of equal width"
    higher_is_better = False
    instead = Miscalibration()
    range = (0.0, 1.0)

    def value(self, table: ForecastTable) -> float:
        """Return the error as usually reported."""
        return expected_calibration_error(table).value

    def own_estimate(self, ledger: Ledger, model: str, *, level: float, drawing: Any) -> Finding:
        """Return the error without an interval."""
        del drawing
        note = Note("noisy", {"instead": self.instead.label})
        return without_limits(ledger, model, self, self.value(ledger.table(model)), level, note=note)


@dataclass(frozen=True)
class IntegratedCalibrationIndex(Measure):
    """Mean distance between the forecasts and their smooth calibration curve, ICI; lower is better.

    The curve and the interval are those of `ReliabilityCurve.smooth`. Noise inflates the value.

    References
    ----------
    Austin & Steyerberg (2019), doi:10.1002/sim.8281.

    Examples
    --------
    >>> y, p = ([0] * 9 + [1]) * 20 + ([0] * 4 + [1] * 6) * 20, [0.2] * 200 + [0.4] * 200
    >>> round(IntegratedCalibrationIndex().value(ForecastTable.from_predictions(y, p)), 4)
    0.15
    """

    key = "ici"
    label = "integrated calibration index"
    higher_is_better = False
    instead = MeanScore()
    range = (0.0, 1.0)

    def value(self, table: ForecastTable) -> float:
        """Return the mean distance."""
        return calibration_index(table, self.key)

    def own_estimate(self, ledger: Ledger, model: str, *, level: float, drawing: Any) -> Finding:
        """Return the estimate from draws of the coefficients of the curve."""
        return estimate_index(ledger, model, self, level=level, drawing=drawing)
