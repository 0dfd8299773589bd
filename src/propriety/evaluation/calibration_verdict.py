"""What tests and intervals say about the calibration of one model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from propriety.calibration.cox import CoxTest, cox_test
from propriety.calibration.miscalibration import miscalibration_test
from propriety.calibration.summary import Estimate, calibration_summary
from propriety.tables.forecast_table import ForecastTable

__all__ = ["CalibrationVerdict", "Outcome", "calibration_verdict"]

Outcome: TypeAlias = Literal["refuted", "miscalibrated", "no evidence", "too few events"]

MOST_ROWS = 50_000  # A table with more rows is not drawn anew a thousand times.
FEWEST = 20.0  # Variance of the number of events below which a test finds only gross errors.


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationVerdict:
    """Whether forecasts of an event are miscalibrated, and how; see `calibration_verdict`.

    Parameters
    ----------
    outcome : {"refuted", "miscalibrated", "no evidence", "too few events"}
        "refuted" if a forecast of exactly 0 or 1 did not come true, "miscalibrated" if the p-value is at most
        1 - level, "too few events" if it is not and the tests could hardly have found anything.
    p_value : float
        p-value of all tests together.
    cox : CoxTest
        Test of intercept and slope.
    shape_p_value : float, optional
        p-value of `propriety.miscalibration_test`; None where it was not run.
    observed_expected, slope : (float, float, float)
        Ratio and slope with their intervals; None in them where the data do not determine it.
    """

    outcome: Outcome
    p_value: float
    cox: CoxTest
    shape_p_value: float | None
    observed_expected: Estimate
    slope: Estimate

    @property
    def level_is_off(self) -> Literal["too high", "too low"] | None:
        """How the forecasts are wrong on average, if the interval of observed/expected says so."""
        ratio, low, high = self.observed_expected
        if ratio is None:
            return None
        # Outcomes of one class leave no interval; then only the level can have been found to be off.
        low, high = ratio if low is None else low, ratio if high is None else high
        return "too high" if high < 1.0 else "too low" if low > 1.0 else None

    @property
    def slope_is_off(self) -> Literal["too extreme", "too timid"] | None:
        """How the forecasts are spread too much or too little, if the interval of the slope says so."""
        _, low, high = self.slope
        if low is None or high is None:
            return None
        return "too extreme" if high < 1.0 else "too timid" if low > 1.0 else None

    @property
    def shape_is_off(self) -> bool:
        """Whether the test that sees any shape found more than the test of level and slope."""
        return self.shape_p_value is not None and self.shape_p_value < self.cox.p_value


def calibration_verdict(table: ForecastTable, *, level: float, n_resamples: int, seed: int) -> CalibrationVerdict:
    r"""Test calibration by Cox's score test and by the miscalibration test, and say in which direction it fails.

    The two tests see different errors. Their p-values are combined by Bonferroni's inequality,
    :math:`p = \min(1, 2 \min(p_1, p_2))`. Cox's test stands alone, with its own p-value, for tables of more than
    50,000 rows, which take too long to draw anew, and for weighted tables, which do not hold the weights of their
    cases.

    Parameters
    ----------
    table : ForecastTable
        Forecasts and outcomes.
    level : float
        Level of the intervals; the forecasts are called miscalibrated if :math:`p \le 1 - \text{level}`.
    n_resamples, seed : int
        Number and seed of the draws of the miscalibration test.

    Returns
    -------
    CalibrationVerdict
        The verdict with its evidence.

    Examples
    --------
    >>> table = ForecastTable.from_predictions([0, 1, 0, 1, 1] * 40, [0.1, 0.3, 0.5, 0.7, 0.9] * 40)
    >>> verdict = calibration_verdict(table, level=0.95, n_resamples=100, seed=1)
    >>> verdict.outcome, verdict.level_is_off, verdict.slope_is_off
    ('miscalibrated', 'too low', None)
    """
    cox, shape = cox_test(table), None
    p_value = cox.p_value
    if not table.is_weighted and len(table) <= MOST_ROWS:
        shape = miscalibration_test(table, n_resamples=n_resamples, seed=seed).p_value
        p_value = min(1.0, 2.0 * min(cox.p_value, shape))
    summary = calibration_summary(table, level=level)
    inside = _without_certain(table) if cox.n_certain > 0.0 else None
    fitted = summary if inside is None else calibration_summary(inside, level=level)
    return CalibrationVerdict(
        outcome=_outcome(cox, p_value, 1.0 - level),
        p_value=p_value,
        cox=cox,
        shape_p_value=shape,
        observed_expected=(summary.ratio, summary.ratio_lower, summary.ratio_upper),
        slope=(fitted.slope, fitted.slope_lower, fitted.slope_upper),
    )


def _outcome(cox: CoxTest, p_value: float, alpha: float) -> Outcome:
    if cox.n_refuted > 0.0:
        return "refuted"
    if p_value <= alpha:
        return "miscalibrated"
    return "too few events" if cox.information < FEWEST else "no evidence"


def _without_certain(table: ForecastTable) -> ForecastTable | None:
    """Return the cases with forecasts inside (0, 1), if there are any and they are counted, not weighted."""
    inside = (table.forecast > 0.0) & (table.forecast < 1.0)
    if table.is_weighted or not inside.any():
        return None
    return ForecastTable(
        forecast=table.forecast[inside],
        events=table.events[inside],
        non_events=table.non_events[inside],
    )
