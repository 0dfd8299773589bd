"""Calibration in a few numbers: observed against expected, intercept, slope and distances from the curve."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.special import ndtri

from propriety.calibration.binning import weighted_quantile
from propriety.calibration.cox_line import cox_line
from propriety.calibration.pav import pool_adjacent_violators
from propriety.calibration.resampling import check_level
from propriety.errors import InputValueError
from propriety.results import Result
from propriety.rules.scoring import weighted_sum
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.validation import Labels, Missing

__all__ = ["CalibrationSummary", "calibration_summary"]

Estimate: TypeAlias = tuple[float | None, float | None, float | None]  # A value and its interval.

UNKNOWN: Estimate = (None, None, None)
INTERVAL = "interval of the ratio"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class CalibrationSummary(Result):
    """How far forecasts are from calibrated, in a few numbers; see `calibration_summary` for their formulas.

    What the data do not determine is None, and `note` says why.

    Parameters
    ----------
    observed, expected : float
        Event rate and mean forecast.
    ratio, ratio_lower, ratio_upper : float
        Observed over expected, with its interval; 1 if calibrated, above 1 if the forecasts are too low.
    intercept, intercept_lower, intercept_upper : float
        Calibration in the large; 0 if calibrated, positive if the forecasts are too low.
    slope, slope_lower, slope_upper : float
        Calibration slope; 1 if calibrated, below 1 if the forecasts are too extreme.
    ici, e50, e90, e_max : float
        Mean (integrated calibration index), median, 90 per cent quantile and maximum of the distance between forecast
        and CORP curve.
    level : float
        Level of the intervals.
    n : int
        Number of cases.
    effective_n : float
        Their effective number, which the intervals are for; less than `n` if they are weighted.
    dropped : int
        Rows left out because of missing values.
    note : str, optional
        What could not be computed, and why.
    """

    observed: float
    expected: float
    ratio: float | None
    ratio_lower: float | None
    ratio_upper: float | None
    intercept: float | None
    intercept_lower: float | None
    intercept_upper: float | None
    slope: float | None
    slope_lower: float | None
    slope_upper: float | None
    ici: float
    e50: float
    e90: float
    e_max: float
    level: float
    n: int
    effective_n: float
    dropped: int = 0
    note: str | None = None


def calibration_summary(
    y_true: object,
    y_proba: object = None,
    *,
    level: float = 0.95,
    sample_weight: object = None,
    pos_label: object = None,
    labels: Labels | None = None,
    missing: Missing = "raise",
) -> CalibrationSummary:
    r"""Summarise the calibration of forecasts of an event in a few numbers.

    With event rate :math:`\bar y`, mean forecast :math:`\bar p`, n cases and the normal quantile z of the level:

    - ratio :math:`r = \bar y / \bar p` with the interval
      :math:`r \exp\{\pm z \sqrt{(1 - \bar y) / (n \bar y)}\}`, the forecasts taken as given;
    - intercept :math:`a` of :math:`\operatorname{logit} P(Y = 1) = a + \operatorname{logit} p`, the slope fixed at 1;
    - slope :math:`b` of :math:`\operatorname{logit} P(Y = 1) = a' + b \operatorname{logit} p`; both have Wald
      intervals :math:`\pm z` standard errors;
    - ICI, E50, E90 and Emax: mean, median, 90 per cent quantile and maximum over the cases of
      :math:`|p - \hat c(p)|`, where :math:`\hat c` is the CORP curve, the isotonic regression.

    Parameters
    ----------
    y_true, y_proba, sample_weight, pos_label, labels, missing
        As in `propriety.mean_score`: binary outcomes and the probability of the event, or a ForecastTable.
    level : float
        Level of the intervals, strictly between 0 and 1.

    Returns
    -------
    CalibrationSummary
        The numbers. Some are None where the data do not determine them, and `note` says why: forecasts of exactly 0
        or 1 have no log-odds, outcomes of one class and forecasts that separate the classes no finite fit.

    Notes
    -----
    Intervals of weighted cases are for Kish's effective number of cases, :math:`(\sum w)^2 / \sum w^2`, to which the
    weights are scaled.

    Austin and Steyerberg measure the distances from a loess curve. The CORP curve needs no bandwidth, but follows the
    noise of a small sample: the ICI even of calibrated forecasts is positive and falls only as more cases come.
    `propriety.miscalibration_test` tells miscalibration from noise.

    References
    ----------
    Cox (1958), doi:10.1093/biomet/45.3-4.562, for intercept and slope; Debray et al. (2019),
    doi:10.1177/0962280218785504, for the ratio; Austin & Steyerberg (2019), doi:10.1002/sim.8281, for the distances.

    Examples
    --------
    >>> summary = calibration_summary([0, 0, 0, 1, 0, 1, 1, 1] * 10, [0.1, 0.1, 0.1, 0.1, 0.8, 0.8, 0.8, 0.8] * 10)
    >>> round(summary.intercept, 3), round(summary.slope, 3), round(summary.slope_upper, 3), round(summary.ici, 3)
    (0.405, 0.613, 0.896, 0.1)
    >>> calibration_summary([0, 1, 1], [0.0, 0.5, 0.8]).note
    'No intercept and slope: forecasts of exactly 0 or 1 have no log-odds.'
    """
    check_level(level)
    table = ForecastTable.of(
        y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label, labels=labels, missing=missing
    )
    z = float(ndtri(0.5 + level / 2.0))
    gaps = _gaps(table)
    ratio = _ratio(table, gaps, z)
    intercept, slope = (_coefficient(table, name, gaps, z) for name in ("intercept", "slope"))
    distance = np.abs(table.forecast - pool_adjacent_violators(table).per_row())
    e50, e90 = weighted_quantile(distance, table.weights, np.array([0.5, 0.9])).tolist()
    return CalibrationSummary(
        observed=table.event_rate,
        expected=table.mean_forecast,
        **_named("ratio", ratio),
        **_named("intercept", intercept),
        **_named("slope", slope),
        ici=weighted_sum(distance, table.weights) / table.weight,
        e50=e50,
        e90=e90,
        e_max=float(distance.max()),
        level=level,
        n=table.n,
        effective_n=table.effective_n,
        dropped=table.dropped,
        note=_note(gaps),
    )


def _gaps(table: ForecastTable) -> dict[str, str]:
    """Return what the data do not determine, and why."""
    gaps = {"ratio": "all forecasts are 0"} if table.mean_forecast == 0.0 else {}
    if not (table.events.any() and table.non_events.any()):
        return gaps | dict.fromkeys((INTERVAL, "intercept", "slope"), "all outcomes are of one class")
    if table.forecast[0] == 0.0 or table.forecast[-1] == 1.0:
        return gaps | dict.fromkeys(("intercept", "slope"), "forecasts of exactly 0 or 1 have no log-odds")
    if len(table) == 1:
        return {"slope": "all forecasts are equal"}
    with_event, without = table.forecast[table.events > 0.0], table.forecast[table.non_events > 0.0]
    if with_event[0] >= without[-1] or without[0] >= with_event[-1]:
        return {"slope": "the forecasts separate events from non-events"}
    return {}


def _ratio(table: ForecastTable, gaps: dict[str, str], z: float) -> Estimate:
    if "ratio" in gaps:
        return UNKNOWN
    rate = table.event_rate
    ratio = rate / table.mean_forecast
    if INTERVAL in gaps:
        return ratio, None, None
    other_rate = float(table.non_events.sum()) / table.weight
    with np.errstate(over="ignore"):  # So few events leave the interval open: from 0 to infinity.
        factor = float(np.exp(z * math.sqrt(other_rate / (table.effective_n * rate))))
    return ratio, ratio / factor, ratio * factor


def _coefficient(table: ForecastTable, name: str, gaps: dict[str, str], z: float) -> Estimate:
    """Return the intercept beside a slope of 1, or the slope beside a free intercept, with its Wald interval."""
    if name in gaps:
        return UNKNOWN
    try:
        line = cox_line(table, slope=name == "slope")
    except InputValueError:  # What is left of equal and of separating forecasts is within rounding of either.
        gaps[name] = "the forecasts are all but equal, or all but separate events from non-events"
        return UNKNOWN
    if not line.converged:
        gaps[name] = "the fit did not converge"
        return UNKNOWN
    value = float(line.coefficients[0])
    error = math.sqrt(line.covariance[0, 0] * table.weight / table.effective_n)
    return value, value - z * error, value + z * error


def _named(name: str, estimate: Estimate) -> dict[str, float | None]:
    return dict(zip((name, f"{name}_lower", f"{name}_upper"), estimate, strict=True))


def _note(gaps: dict[str, str]) -> str | None:
    """Tell each reason once, with all that is missing because of it."""
    told = []
    for reason in dict.fromkeys(gaps.values()):
        *others, last = (name for name, why in gaps.items() if why == reason)
        told.append(f"No {', '.join(others)}{' and ' if others else ''}{last}: {reason}.")
    return " ".join(told) or None
