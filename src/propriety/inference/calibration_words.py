"""The result of a test of calibration in plain words; every claim is a value of the summary."""

from __future__ import annotations

import math
from collections.abc import Iterable

from propriety.calibration.calibration_test import FEWEST
from propriety.inference.calibration_summary import COST_MARGIN, CalibrationSummary, Direction
from propriety.inference.estimates import Estimate, counted
from propriety.number_words import number, p_value_words, ratio_and_limits

FEWEST_A_CASE = 0.1  # With less variance per case, forecasts are close to 0 and 1.
LEVEL: tuple[Direction, ...] = ("too high", "too low")
TOGETHER = "intercept and slope jointly differ from 0 and 1"
CELLS = {"refuted": "wrong when certain", "together": "intercept and slope jointly"}
SLOPE: tuple[Direction, ...] = ("reversed", "too extreme", "too timid")


def calibration_words(found: CalibrationSummary, name: str) -> str:
    """Report the result of the test of calibration for a named model.

    Examples
    --------
    >>> from propriety import calibration_summary
    >>> found = calibration_summary([0, 0, 0, 1] * 100, [0.25] * 400)
    >>> calibration_words(found, "a")
    'a is consistent with calibration (p = 1; observed/expected 1.00, 0.83 to 1.18).'
    """
    ratio = estimate_words("observed/expected", found.observed_expected)
    slope = estimate_words("slope", found.slope)
    evidence = [one for one in (ratio, slope) if one]
    p_value = p_value_words(found.p_value)
    note = f" Note: {found.note}." if found.note else ""
    match found.outcome:
        case "not tested":
            return f"{name}: calibration was not tested ({'; '.join([found.note, *evidence])})."
        case "consistent":
            return f"{name} is consistent with calibration ({'; '.join([p_value, *evidence])}).{note}"
        case "too few events":
            said = "; ".join([p_value, *evidence])
            return f"{name}: too few {_scarce(found)} to tell whether it is calibrated ({said}).{note}"
        case "miscalibrated" | "immaterial":
            pass
    what = "is miscalibrated" if found.outcome == "miscalibrated" else "is miscalibrated, but not materially"
    return f"{name} {what} ({p_value}): {_ways(found, ratio, slope)}.{_cost(found)}{note}"


def direction_words(directions: Iterable[str]) -> list[str]:
    """Return the directions of a miscalibrated model as a table shows them.

    Examples
    --------
    >>> direction_words(["refuted", "too timid"])
    ['wrong when certain', 'too timid']
    """
    return [CELLS.get(one, one) for one in directions]


def _ways(found: CalibrationSummary, ratio: str, slope: str) -> str:
    """Say how the forecasts are wrong."""
    said = []
    if "refuted" in found.directions and found.test is not None:
        number_wrong = round(found.test.n_refuted)
        many = "forecasts" if found.test.is_weighted else counted(number_wrong, "forecast")
        verb = "was" if number_wrong == 1 and not found.test.is_weighted else "were"
        said.append(f"{many} of exactly 0 or 1 {verb} wrong")
    ways = [
        f"{direction} ({evidence})" if evidence else direction
        for directions, evidence in ((LEVEL, ratio), (SLOPE, slope))
        for direction in directions
        if direction in found.directions
    ]
    if ways:
        said.append(f"its forecasts are {' and '.join(ways)}")
    evidence = "; ".join(one for one in (ratio, slope) if one)
    if "other shape" in found.directions:
        shape = "its reliability curve departs from the diagonal in shape"
        said.append(shape if ways else f"{shape} ({evidence})")
    if "together" in found.directions:
        rest = ", though neither does by itself" if slope else "; no slope can be fitted"
        said.append(f"{TOGETHER}{rest} ({evidence})")
    return "; ".join(said)


def _cost(found: CalibrationSummary) -> str:
    """Say what recalibration would gain, and what miscalibration costs under the Brier score if that is more."""
    cost, gained = found.miscalibration, ""
    if found.gain is not None:
        gained = f" {found.gain}"
        # The two may be in units of different scores, so they are compared as shares of the uncertainty.
        more = cost.low * found.gain.uncertainty > found.gain.high * found.uncertainty
        if not (more and cost.low > COST_MARGIN * found.uncertainty):
            return gained
    return f"{gained}{_cost_of_miscalibration(found)}"


def _cost_of_miscalibration(found: CalibrationSummary) -> str:
    """Say by how much perfect recalibration would lower the Brier score."""
    cost = found.miscalibration
    if math.isnan(cost.value) or (cost.value == 0.0 and cost.high >= found.brier):  # The limit is not informative.
        return ""
    gain = f"Perfect recalibration would lower its Brier score of {number(found.brier)} by"
    if cost.value == 0.0 and math.isfinite(cost.high):
        return f" {gain} at most {number(cost.high)}."
    interval = "" if math.isnan(cost.low) else f" ({number(cost.low)} to {number(cost.high)})"
    return f" {gain} {number(cost.value)}{interval}."


def _scarce(found: CalibrationSummary) -> str:
    """Name what is too scarce to test calibration."""
    others, test = found.n - found.n_events, found.test
    if min(found.n_events, others) < 40 or test is None:
        return "events" if found.n_events <= others else "non-events"
    if test.information * test.dispersion >= FEWEST:
        return "independent cases"
    if test.information * test.dispersion >= FEWEST_A_CASE * found.n:
        return "cases"
    return "cases of similar weight" if test.is_weighted else "forecasts away from 0 and 1"


def estimate_words(name: str, estimate: Estimate) -> str:
    """Format an estimate with its interval; an empty text if it is NaN."""
    if math.isnan(estimate.value):
        return ""
    value, low, high = ratio_and_limits(estimate.value, estimate.low, estimate.high)
    return f"{name} {value}" if math.isnan(estimate.low) else f"{name} {value}, {low} to {high}"
