"""Tests of calibration in every group that is large enough, with one level for all of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, chdtri, logit, ndtri

from propriety.calibration.calibration_test import FEWEST, FEWEST_UNITS
from propriety.calibration.null_scores import log_weight_ratio, weighted_variance
from propriety.inference.calibration_summary import RATIO_MARGIN, SLOPE_MARGIN, Direction
from propriety.inference.few_events import tail_of_skewed
from propriety.inference.slice_table import Slices, group_names
from propriety.inference.slices import FEWEST as FEWEST_EVENTS
from propriety.inference.slices import FEWEST_EQUAL, SMALLEST
from propriety.inference.verdicts import Names, holm
from propriety.ledger.ledger import Ledger
from propriety.result import Floats, Result
from propriety.tables.cases import Cases

__all__ = ["GroupCalibration", "calibration_of_groups"]

COLUMNS = ("events", "non_events", "event_squares", "non_event_squares")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class GroupCalibration(Result):
    """Calibration of each model in each tested group, one row each; see `calibration_of_groups`.

    Parameters
    ----------
    model, group : ndarray of str
        The model and the group, as in `Slices`.
    outcome : ndarray of str
        Result of the test of calibration, as in `propriety.calibration_summary`, with one level for all rows.
    directions : tuple of tuples of str
        For each row, in which ways the forecasts are wrong, if they are, in the same words; shapes are not tested, and
        with few events only the level is.
    observed_expected, observed_expected_low, observed_expected_high : ndarray of float
        Observed/expected events, with its interval.
    p_value, p_adjusted : ndarray of float
        p-value of Cox's score test of intercept 0 and slope 1 (with few events, of the number of events only), and the
        same with Holm's adjustment for all rows.
    level : float
        Level of the intervals and of the outcomes.
    """

    model: Names
    group: Names
    outcome: Names
    directions: tuple[tuple[Direction, ...], ...]
    observed_expected: Floats
    observed_expected_low: Floats
    observed_expected_high: Floats
    p_value: Floats
    p_adjusted: Floats
    level: float

    @property
    def is_miscalibrated(self) -> NDArray[np.bool_]:
        """Whether a row is miscalibrated, with one level for all rows."""
        return np.asarray(self.outcome == "miscalibrated")

    def _fields(self) -> dict[str, Any]:
        """Return the fields by name, the directions of a row as one text."""
        return Result._fields(self) | {"directions": np.array([", ".join(row) for row in self.directions])}


class _GroupNumbers(NamedTuple):
    """Numbers of all groups of a key for one model."""

    ratio: Floats
    ratio_error: Floats  # Standard error of its logarithm.
    p_value: Floats
    information: Floats
    slope_gap: Floats  # Slope minus 1, by one step of the fit, and its standard error.
    slope_error: Floats
    slope_sign: Floats  # Sum of residuals from the event rate times the log-odds, divided by its standard error.
    refuted: Floats
    observed: Floats  # Observed and expected events, in terms of independent cases of equal weight.
    expected: Floats
    is_rare: NDArray[np.bool_]  # Whether only the number of events is tested.
    units: Floats  # Clusters or times, and their effective number; infinite if cases are independent.
    worth: Floats


def calibration_of_groups(ledger: Ledger, found: Slices, *, level: float) -> GroupCalibration | None:
    r"""Test the calibration of the groups of each key of a ledger; clusters require the cases.

    All groups are tested at once, by the sums of :math:`w (y - p)` and :math:`w (y - p) (x - \bar x)` with log-odds
    :math:`x`, relative to their variance under calibration, adjusted for clusters or weights: Cox's score test. The
    shape beyond intercept and slope, which needs more cases, is not tested. The result is None if no group is tested,
    or if cases may be correlated and are not available.

    A group is tested if it has 50 cases, and enough clusters if there are any, however many events it has. With few
    events the sums are skewed. If the variance of their number is below 20, or there are fewer than 10 events or
    non-events, only their number is tested, against a Pearson type III distribution with the same first three moments.
    """
    cases = None if ledger.dependence is None else ledger.cases
    if ledger.dependence is not None and cases is None:
        return None
    several, rows = len(found.by) > 1, []
    for name in found.by:
        own = ledger.over(*(other for other in ledger.index.names if other != name))
        names = [f"{name}: {group}" if several else group for group in group_names(own.index).tolist()]
        rows += [(model, names, _group_numbers(own, model, cases)) for model in ledger.models]
    order = np.argsort([ledger.models.index(model) for model, *_ in rows], kind="stable")
    rows = [rows[place] for place in order]
    model = np.concatenate([np.full(len(names), model) for model, names, _ in rows])
    group = np.concatenate([names for _, names, _ in rows])
    numbers = _GroupNumbers(*(np.concatenate(column) for column in zip(*(one for *_, one in rows), strict=True)))
    cases_of = dict(zip(zip(found.model.tolist(), found.group.tolist(), strict=True), found.n.tolist(), strict=True))
    n = np.array([cases_of[row] for row in zip(model.tolist(), group.tolist(), strict=True)])
    # Not by the number of events: groups selected by their outcomes would be flagged too often.
    kept = (n >= SMALLEST) & (numbers.units >= FEWEST_UNITS) & (numbers.worth >= FEWEST_EQUAL)
    if not kept.any():
        return None
    columns: list[Any] = [column[kept] for column in numbers]
    return _outcomes(model[kept], group[kept], _GroupNumbers(*columns), level)


def _outcomes(model: Names, group: Names, found: _GroupNumbers, level: float) -> GroupCalibration:
    p_adjusted = holm(found.p_value)
    z = float(ndtri(0.5 + level / 2.0))
    with np.errstate(over="ignore", invalid="ignore"):
        factor = np.exp(z * found.ratio_error)
        low, high = found.ratio / factor, found.ratio * factor
        # Limits of the mean of a Poisson distribution, which are valid with few or no events.
        few = found.observed < FEWEST_EVENTS
        tail = (1.0 - level) / 2.0
        low = np.where(few, chdtri(2.0 * found.observed, 1.0 - tail) / 2.0 / found.expected, low)
        low = np.where(found.observed > 0.0, low, 0.0)
        high = np.where(few, chdtri(2.0 * found.observed + 2.0, tail) / 2.0 / found.expected, high)
        near = (low > 1.0 - RATIO_MARGIN) & (high < 1.0 + RATIO_MARGIN)
        near &= np.abs(found.slope_gap) + z * found.slope_error < SLOPE_MARGIN
    wrong = p_adjusted <= 1.0 - level
    outcome = np.where(
        wrong,
        np.where(near & (found.refuted == 0.0), "immaterial", "miscalibrated"),
        np.where(found.information < FEWEST, "too few events", "consistent"),
    )
    return GroupCalibration(
        model=model,
        group=group,
        outcome=outcome,
        directions=tuple(_directions(found, wrong, low, high, z)),
        observed_expected=found.ratio,
        observed_expected_low=low,
        observed_expected_high=high,
        p_value=found.p_value,
        p_adjusted=p_adjusted,
        level=level,
    )


def _directions(
    found: _GroupNumbers, wrong: NDArray[np.bool_], low: Floats, high: Floats, z: float
) -> Iterator[tuple[Direction, ...]]:
    """Yield in which ways the forecasts of each row are wrong, if they are."""
    margin = z * found.slope_error
    counted = found.is_rare & (found.refuted == 0.0)  # Only the number of events was tested.
    reversed_ = ~found.is_rare & (found.slope_sign < -z)
    ways: dict[Direction, NDArray[np.bool_]] = {
        "refuted": found.refuted > 0.0,
        "too high": (high < 1.0) | (counted & (found.ratio < 1.0)),
        "too low": (low > 1.0) | (counted & (found.ratio > 1.0)),
        "reversed": reversed_,
        "too extreme": ~found.is_rare & ~reversed_ & (found.slope_gap < -margin),
        "too timid": ~found.is_rare & (found.slope_gap > margin),
    }
    for row, *holds in zip(wrong.tolist(), *(column.tolist() for column in ways.values()), strict=True):
        yield (tuple(itertools.compress(ways, holds)) or ("together",)) if row else ()


def _group_numbers(ledger: Ledger, model: str, cases: Cases | None) -> _GroupNumbers:
    keyed, groups = ledger.keyed_tables(model, ledger.events[0]), len(ledger.index)
    events, non_events, event_squares, non_event_squares = (getattr(keyed, name) for name in COLUMNS)
    p, entry = keyed.forecast, keyed.entry
    inside = (p > 0.0) & (p < 1.0)

    def summed(values: Floats) -> Floats:
        return np.bincount(entry, values, minlength=groups).astype(np.float64)

    weight = events + non_events
    residual = np.where(inside, events * (1.0 - p) - non_events * p, 0.0)
    variance = np.where(inside, weight * p * (1.0 - p), 0.0)
    own = variance
    if ledger.is_weighted:
        own = weighted_variance(p, event_squares, non_event_squares, log_weight_ratio(ledger.table(model)))
    x = np.where(inside, logit(np.where(inside, p, 0.5)), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        centre = summed(own * x) / summed(own)
        centred = np.where(inside, x - centre[entry], 0.0)
        spreads = np.stack([summed(own), summed(own * centred**2)])
        sums = np.stack([summed(residual), summed(residual * centred)])
        observed, expected = summed(events), summed(weight * p)
        rate = observed / expected
        gap = rate[entry] * p
        middle, share = summed(weight * x) / summed(weight * inside), summed(events * inside) / summed(weight * inside)
        away, missed = np.where(inside, x - middle[entry], 0.0), share[entry]
        sign = summed((events * (1.0 - missed) - non_events * missed) * away)
        sign_spread = summed((event_squares * (1.0 - missed) ** 2 + non_event_squares * missed**2) * away**2)
        error = np.sqrt(summed(event_squares * (1.0 - gap) ** 2 + non_event_squares * gap**2)) / observed
        flat = spreads[1] <= 1e-18 * summed(own * (1.0 + x**2))
        factor, units = np.ones((2, groups)), np.full((2, groups), np.inf)
        if cases is not None:
            given = _Centres(centre, rate, share, middle)
            error, dispersed, sign_spread, units = _dispersed(ledger, cases, model, given, observed)
            factor = dispersed / spreads
            factor[1] = np.where(flat, factor[0], factor[1])
        p_value = _line_p_value(sums, spreads, factor, flat)
        inflated = np.maximum(factor[0], 1.0)
        information = summed(variance) ** 2 / summed(own) / np.maximum(factor.mean(axis=0), 1.0)
        steep = summed(variance * centred**2)
        slope = np.where(flat, 0.0, sums[1] / steep)
        slope_error = np.where(flat, 0.0, np.sqrt(spreads[1] * np.maximum(factor[1], 1.0)) / steep)
        # Weights and clusters reduce the information in events, as if they came in copies.
        copies = summed(own) / summed(variance) * inflated
        rare = (information < FEWEST) | (np.minimum(observed, summed(non_events)) / copies < FEWEST_EVENTS)
        third = summed(own * np.where(inside, own / variance, 0.0) * (1.0 - 2.0 * p))
        p_value = np.where(rare, _tail_of_number(sums[0], spreads[0], third, copies, inflated), p_value)
        sign = np.where(flat, 0.0, sign / np.sqrt(sign_spread))
    wrong = summed(np.where(p == 0.0, events, np.where(p == 1.0, non_events, 0.0)))
    p_value = np.where(wrong > 0.0, 0.0, np.where(np.isnan(p_value), 1.0, p_value))
    p_values = p_value, np.nan_to_num(information)
    slopes = np.where(rare, 0.0, slope), np.where(rare, np.inf, slope_error), np.nan_to_num(sign)
    return _GroupNumbers(rate, error, *p_values, *slopes, wrong, observed / copies, expected / copies, rare, *units)


def _line_p_value(sums: Floats, spreads: Floats, factor: Floats, flat: NDArray[np.bool_]) -> Floats:
    """Return the p-value of Cox's score test from the chi-squared distribution with matching mean and variance."""
    squares = np.where(spreads > 0.0, sums**2 / spreads, 0.0)
    squares[1] = np.where(flat, 0.0, squares[1])
    inflated = np.maximum(factor.mean(axis=0), 1.0)
    uneven = 1.0 + np.where(inflated > 1.0, factor.var(axis=0) / inflated**2, 0.0)
    df = np.where(flat, 1.0, 2.0) / uneven
    return np.asarray(chdtrc(df, squares.sum(axis=0) / (inflated * uneven)))


def _tail_of_number(excess: Floats, variance: Floats, third: Floats, copies: Floats, inflated: Floats) -> Floats:
    """Return the p-value of an excess of events over their expectation, with a continuity correction of one half."""
    skewness = third / variance**1.5 * np.sqrt(inflated)
    beyond = np.maximum(np.abs(excess) - copies / 2.0, 0.0) * np.sign(excess)
    return tail_of_skewed(beyond / np.sqrt(variance * inflated), skewness)


class _Centres(NamedTuple):
    """For each group: mean log-odds, observed/expected, and event rate and mean log-odds of forecasts inside (0, 1)."""

    log_odds: Floats
    ratio: Floats
    rate: Floats
    middle: Floats


def _dispersed(
    ledger: Ledger, cases: Cases, model: str, given: _Centres, observed: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the error of log observed/expected, the variances of the sums, and the clusters: number and effective."""
    forecast, event, weight = cases.gathered(model)
    keys = cases.cluster if cases.time is None else cases.time
    assert keys is not None  # noqa: S101  (for the type checker; such cases have them)
    entry, groups = ledger.entries(), len(ledger.index)
    pair, place = np.unique(entry * len(keys) + keys.codes, return_inverse=True)
    inside = (forecast > 0.0) & (forecast < 1.0)
    weights = np.ones(len(forecast)) if weight is None else weight
    odds = logit(np.where(inside, forecast, 0.5))
    residual = np.where(inside, weights * (event - forecast), 0.0)
    parts = (
        residual,
        residual * (odds - given.log_odds[entry]),
        weights * (event - given.ratio[entry] * forecast),
        np.where(inside, weights * (event - given.rate[entry]) * (odds - given.middle[entry]), 0.0),
    )
    own = pair // len(keys)
    squares = [
        np.bincount(own, np.bincount(place, part, minlength=len(pair)) ** 2, minlength=groups).astype(np.float64)
        for part in parts
    ]
    sizes = np.bincount(place, weights, minlength=len(pair))
    whole, squared = (np.bincount(own, part, minlength=groups) for part in (sizes, sizes**2))
    units = np.stack([np.bincount(own, sizes > 0.0, minlength=groups), whole**2 / squared])
    return np.sqrt(squares[2]) / observed, np.stack(squares[:2]), squares[3], units
