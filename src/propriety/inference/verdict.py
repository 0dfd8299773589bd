"""The verdict on a finding, by one function in a fixed order, and what a gate makes of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from scipy.special import ndtr, ndtri

from propriety.errors import InputValueError
from propriety.inference.finding import BOUND, FURTHER_GROUP, HETEROGENEITY, TAU, Finding, Verdict
from propriety.inference.measures.measure import Measure
from propriety.inference.notes import Note
from propriety.result import Floats

Gate: TypeAlias = Literal["holds", "fails", "cannot be told"]


class Margin(NamedTuple):
    """The value that is ideal, the range that is as good, and the range beyond which an error is gross."""

    ideal: float
    near: tuple[float, float]
    gross: tuple[float, float]
    of_no_model: bool = False  # Whether the ranges are shares of the score of the constant event rate.


# Gross: an O/E of 1.25 on the log scale and slopes alike are what validation studies call clearly wrong (Van Calster
# et al. 2016, doi:10.1016/j.jclinepi.2015.12.005, on weak calibration); three points on average of the risk (Austin &
# Steyerberg 2019, doi:10.1002/sim.8281). The margins are ours: half of what rounding forecasts to a tenth does.
# Miscalibration: ours, half a percent of the score of the constant rate, and what an O/E of 1.25 costs at 33% events.
MARGINS = {
    "observed_expected": Margin(1.0, (0.95, 1.05), (0.8, 1.25)),
    "calibration_slope": Margin(1.0, (0.9, 1.1), (0.75, 1.33)),
    "calibration_intercept": Margin(0.0, (math.log(0.95), math.log(1.05)), (math.log(0.8), math.log(1.25))),
    "miscalibration": Margin(0.0, (-math.inf, 0.005), (-math.inf, 0.02), of_no_model=True),
    "ici": Margin(0.0, (-math.inf, 0.01), (-math.inf, 0.03)),
}
SCORE_MARGIN, AREA_MARGIN = 0.005, 0.01  # Of a difference: a share of no model's score, and of an area.
AREAS = ("auc",)
ONLY_TESTED = ("calibration",)  # What has a p-value and no number.
# Statistics for which the ideal value of the measure is none.
WITHOUT_IDEAL = (BOUND, FURTHER_GROUP, TAU, "apparent", "optimism", ".632+")
MODELS_ALONE = ("rest",)  # What is compared with these differs or not; of two models neither would be better.

# Least number of the rarer outcome, in terms of independent cases of equal weight, with which an error of 1.5 in
# observed/expected or in the slope is shown in 80% of samples: ((1.96 + .84) / log 1.5)^2 for observed/expected, and
# `studies/enough_outcomes` for the others.
ENOUGH = {"observed_expected": 48.0, "calibration_intercept": 48.0, "calibration_slope": 96.0, "calibration": 60.0}
FEWEST_UNITS, FEWEST_EQUAL = 10, 8.0  # Clusters or periods, and the number of clusters of equal size that they equal.


class Checked(NamedTuple):
    """A verdict, and the notes that explain it."""

    verdict: Verdict | None
    notes: tuple[Note, ...] = ()


def is_enough(measure: str, scarce: float, *, units: float = math.inf, equal_units: float = math.inf) -> bool:
    """Return whether the outcomes could have shown a gross error of a measure, whatever the forecasts.

    Parameters
    ----------
    measure : str
        The key of the measure.
    scarce : float
        Number of the rarer outcome, divided by the design effect of the outcomes.
    units, equal_units : float
        Number of clusters or periods, and of clusters of equal size that they are worth.

    Examples
    --------
    >>> is_enough("observed_expected", 48.0), is_enough("observed_expected", 47.0)
    (True, False)
    """
    needed = ENOUGH.get(measure, ENOUGH["calibration"])
    return bool(scarce >= needed and units >= FEWEST_UNITS and equal_units >= FEWEST_EQUAL)


def verdict(row: Finding, parts: Sequence[Finding] = ()) -> Checked:
    """Return the verdict on a finding; its order is documented in `docs/reference/methods.md`.

    Parameters
    ----------
    row : Finding
        The finding; its own verdict is not read.
    parts : sequence of Finding
        For a test without a number, the findings that say how large the errors are.

    Examples
    --------
    >>> from propriety.inference.measures.ratios import ObservedExpected
    >>> ratio = Finding(measure=ObservedExpected(), model="m", value=1.1, low=1.02, high=1.19, n=5000, enough=True)
    >>> verdict(ratio).verdict
    'small'
    """
    margin = None if row.statistic in WITHOUT_IDEAL else margin_of(row)
    only_tested = row.measure.key in ONLY_TESTED or row.statistic == HETEROGENEITY
    if margin is None and not only_tested and row.against is None:
        return Checked(None)
    if not row.has_limits and math.isnan(row.tested_p):
        return Checked("not tested", () if row.notes else (Note("no-limits"),))
    if only_tested:
        return _of_parts(row, parts)
    if row.against is not None and better_side(row) == 0:
        return _without_better_side(row)
    if margin is not None:
        return _of_ideal(row, margin)
    return _of_difference(row)


def has_ideal(measure: Measure) -> bool:
    """Return whether a value of a measure is ideal, so that its estimate has a verdict."""
    return measure.ideal is not None or measure.key in MARGINS


def margin_of(row: Finding) -> Margin | None:
    """Return the margin of a measure with an ideal value, in its own units; None if it has none."""
    found, ideal = MARGINS.get(row.measure.key), row.measure.ideal
    if found is None:
        return None if ideal is None else Margin(ideal, (ideal, ideal), (ideal, ideal))
    if not found.of_no_model:
        return found
    near, gross = ((low * row.no_model, high * row.no_model) for low, high in (found.near, found.gross))
    return Margin(found.ideal, near, gross)


def is_shown(row: Finding, ideal: float) -> tuple[bool, tuple[Note, ...]]:
    """Return whether a value other than the ideal is shown, and a note if only the limits show it."""
    outside = row.has_limits and not row.low <= ideal <= row.high
    if math.isnan(row.tested_p):
        return outside, ()
    shown = row.tested_p <= 1.0 - row.level
    return shown, (Note("adjusted"),) if outside and not shown else ()


def _of_ideal(row: Finding, margin: Margin) -> Checked:
    if row.has_limits and _within(row, margin.near):
        return Checked("good")
    shown, notes = is_shown(row, margin.ideal)
    if shown:
        low, high = margin.near
        reaches = row.low <= high and row.high >= low
        return Checked("small" if reaches and _within(row, margin.gross) else "bad", notes)
    return Checked("no error found" if row.enough else "too few", notes)


def _of_difference(row: Finding) -> Checked:
    """Check a difference or a gain."""
    shown, notes = is_shown(row, 0.0)
    margin = margin_of_difference(row)
    small = row.has_limits and _within(row, (-margin, margin))
    if shown:
        return Checked("small" if small else "good" if row.value * better_side(row) > 0.0 else "bad", notes)
    return Checked("no error found" if small else "too few", notes)


def better_side(row: Finding) -> int:
    """Return 1 if a difference above zero is better, -1 if one below zero is, and 0 if neither side is."""
    if margin_of(row) is not None or row.measure.higher_is_better is None:
        return 0
    return 1 if row.measure.higher_is_better else -1


def lead(row: Finding) -> int:
    """Return 1 if a model is shown to be better than what it is compared with, however little, -1 if worse, else 0.

    Examples
    --------
    >>> from propriety.inference.measures.of_means import MeanScore
    >>> row = Finding(measure=MeanScore(), model="a", against="b", value=-0.02, low=-0.03, high=-0.01)
    >>> lead(with_verdict(row))
    1
    """
    shown = row.verdict in ("good", "small", "bad")
    return better_side(row) * (1 if row.value > 0.0 else -1) if shown else 0


def margin_of_difference(row: Finding) -> float:
    """Return the largest difference that does not matter."""
    if row.measure.key in AREAS:
        return AREA_MARGIN
    return 0.0 if math.isnan(row.no_model) else SCORE_MARGIN * row.no_model


def _without_better_side(row: Finding) -> Checked:
    """Check a difference of which no side is better: groups differ or not; of two models nothing is said."""
    shown, notes = is_shown(row, 0.0)
    if row.against not in MODELS_ALONE:
        return Checked("not tested", (*notes, Note("no-better-side")))
    return Checked("bad" if shown else "no error found" if row.enough else "too few", notes)


def _of_parts(row: Finding, parts: Sequence[Finding]) -> Checked:
    """Check a test by its p-value; the parts say how large an error is."""
    tested = [part for part in parts if part.verdict not in (None, "not tested")]
    if row.tested_p <= 1.0 - row.level:
        gross = any(part.verdict == "bad" or not is_within_gross(part) for part in tested)
        known = row.note("refuted") is not None or row.note("shape") is not None
        return Checked("bad" if gross or known or not tested else "small")
    if tested and all(part.verdict == "good" for part in tested):
        return Checked("good")
    alone = tuple(dict.fromkeys(part.measure.key for part in tested if part.verdict in ("small", "bad")))
    notes = (Note("part-alone", {"measures": alone}),) if alone else ()
    return Checked("no error found" if row.enough else "too few", notes)


def is_within_gross(row: Finding) -> bool:
    """Return whether the limits exclude a gross error."""
    margin = margin_of(row)
    return margin is not None and row.has_limits and _within(row, margin.gross)


def _within(row: Finding, bounds: tuple[float, float]) -> bool:
    return bounds[0] <= row.low and row.high <= bounds[1]


def gate(row: Finding, parts: Sequence[Finding] = (), *, strict: bool = False) -> Gate:
    """Return whether a gate that asks for no error holds; `strict` also fails for small ones.

    Examples
    --------
    >>> from propriety.inference.measures.ratios import ObservedExpected
    >>> ratio = Finding(measure=ObservedExpected(), model="m", value=1.1, low=0.97, high=1.29, n=250, enough=True)
    >>> gate(with_verdict(ratio))
    'cannot be told'
    """
    if row.verdict is None:
        law = f"{row.measure.label} has no verdict, because no value of it is ideal"
        raise InputValueError(law, hint="compare its number.")
    if row.verdict == "bad" or (row.verdict == "small" and strict):
        return "fails"
    if row.verdict in ("good", "small"):
        return "holds"
    if row.verdict == "no error found":
        if row.against is not None and margin_of(row) is None:
            return "holds"  # Its limits lie within the margin of a difference.
        sizes = [part for part in parts if part.verdict not in (None, "not tested")] if parts else [row]
        return "holds" if sizes and all(map(is_within_gross, sizes)) else "cannot be told"
    return "cannot be told"


def as_number(said: Gate) -> float:
    """Return 1 for a gate that fails, 0 for one that holds, and NaN if that cannot be told.

    Examples
    --------
    >>> as_number("holds"), as_number("cannot be told")
    (0.0, nan)
    """
    return {"holds": 0.0, "fails": 1.0, "cannot be told": math.nan}[said]


def with_verdict(row: Finding, parts: Sequence[Finding] = ()) -> Finding:
    """Return a finding with its verdict and the notes that explain it."""
    found = verdict(row, parts)
    known = {note.code for note in row.notes}
    return replace(row, verdict=found.verdict, notes=(*row.notes, *(n for n in found.notes if n.code not in known)))


def holm(p_values: Floats) -> Floats:
    r"""Adjust p-values by Holm's method: the :math:`j`-th smallest of :math:`m` is multiplied by :math:`m - j + 1`.

    Adjusted p-values keep the order of the p-values and are at most 1. NaN means no test and is not counted.

    Examples
    --------
    >>> holm(np.array([0.01, 0.04, 0.03, np.nan]))
    array([0.03, 0.06, 0.06,  nan])
    """
    adjusted = np.full(len(p_values), np.nan)
    order = np.argsort(p_values)[: np.count_nonzero(~np.isnan(p_values))]
    multiplied = p_values[order] * np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(multiplied), 1.0)
    return adjusted


def p_of_limits(row: Finding, ideal: float) -> float:
    """Return the two-sided p-value of an ideal value that agrees with the limits at their level; NaN without limits.

    It is normal on the scale of the measure, with the distance of the limit that faces the ideal value.

    Examples
    --------
    >>> from propriety.inference.measures.ratios import ObservedExpected
    >>> ratio = Finding(measure=ObservedExpected(), model="m", value=1.1, low=1.0, high=1.21)
    >>> round(p_of_limits(ratio, 1.0), 6)
    0.05
    """
    if not row.has_limits:
        return row.p
    facing = row.low if row.value > ideal else row.high
    if row.measure.scale == "log":
        if min(row.value, facing, ideal) <= 0.0:
            return row.p
        away, half = math.log(row.value / ideal), math.log(row.value / facing)
    else:
        away, half = row.value - ideal, row.value - facing
    if half == 0.0:
        return 1.0 if away == 0.0 else 0.0
    return 2.0 * float(ndtr(-abs(away / half) * ndtri(0.5 + row.level / 2.0)))
