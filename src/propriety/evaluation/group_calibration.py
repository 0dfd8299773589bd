"""Calibration in every group that is large enough to be judged, with one level for all of them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, logit, ndtri

from propriety.calibration.calibration_test import FEWEST
from propriety.calibration.null_scores import log_weight_ratio, weighted_variance
from propriety.inference.calibration_summary import RATIO_MARGIN, SLOPE_MARGIN, Direction
from propriety.inference.slice_table import Slices, group_names
from propriety.inference.verdicts import Names, holm
from propriety.ledger.ledger import Ledger
from propriety.results import Floats, Result
from propriety.tables.cases import Cases

__all__ = ["GroupCalibration", "calibration_of_groups"]

COLUMNS = ("events", "non_events", "event_squares", "non_event_squares")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class GroupCalibration(Result):
    """Calibration of each model in each group that is judged, one row each; see `calibration_of_groups`.

    Parameters
    ----------
    model, group : ndarray of str
        The model and the group, as in `Slices`.
    outcome : ndarray of str
        What the test of calibration allows to be said, as in `propriety.calibration_summary`, with one level for all
        rows.
    directions : ndarray of str
        How the forecasts of a row are wrong, if they are, as there; the shape is not looked at.
    observed_expected, observed_expected_low, observed_expected_high : ndarray of float
        Observed over expected events, with its interval.
    p_value, p_adjusted : ndarray of float
        p-value of Cox's score test of intercept 0 and slope 1, and the same with Holm's adjustment for all rows.
    level : float
        Level of the intervals and of the outcomes.
    """

    model: Names
    group: Names
    outcome: Names
    directions: Names
    observed_expected: Floats
    observed_expected_low: Floats
    observed_expected_high: Floats
    p_value: Floats
    p_adjusted: Floats
    level: float

    @property
    def is_miscalibrated(self) -> NDArray[np.bool_]:
        """Whether a row is miscalibrated, with the level held over all rows."""
        return np.asarray(self.outcome == "miscalibrated")


class _Judged(NamedTuple):
    """Numbers of all groups of a key for one model."""

    ratio: Floats
    ratio_error: Floats  # Of its logarithm.
    p_value: Floats
    information: Floats
    slope_gap: Floats  # Distance of the slope from 1, by one step of the fit, and its error.
    slope_error: Floats
    refuted: Floats


def calibration_of_groups(ledger: Ledger, found: Slices, *, level: float) -> GroupCalibration | None:
    r"""Judge the calibration of the groups of each key of a ledger, for which clusters need the cases.

    All groups are tested at once, by the sums of :math:`w (y - p)` and :math:`w (y - p) (x - \bar x)` with log-odds
    :math:`x`, over their variance if the forecasts are calibrated, as clusters or weights make it: Cox's score test.
    The shape beyond intercept and slope, which takes more cases to see, is not looked at. None where no group is
    judged, or where cases may depend on each other and are not at hand.
    """
    cases = None if ledger.dependence is None else ledger.cases
    if not found.is_judged.any() or (ledger.dependence is not None and cases is None):
        return None
    several, rows = len(found.by) > 1, []
    for name in found.by:
        own = ledger.over(*(other for other in ledger.index.names if other != name))
        names = [f"{name}: {group}" if several else group for group in group_names(own.index).tolist()]
        rows += [(model, names, _judged(own, model, cases)) for model in ledger.models]
    order = np.argsort([ledger.models.index(model) for model, *_ in rows], kind="stable")
    rows = [rows[place] for place in order]
    model = np.concatenate([np.full(len(names), model) for model, names, _ in rows])
    group = np.concatenate([names for _, names, _ in rows])
    numbers = _Judged(*(np.concatenate(column) for column in zip(*(one for *_, one in rows), strict=True)))
    wanted = set(zip(found.model[found.is_judged].tolist(), found.group[found.is_judged].tolist(), strict=True))
    kept = np.array([row in wanted for row in zip(model.tolist(), group.tolist(), strict=True)])
    return _outcomes(model[kept], group[kept], _Judged(*(column[kept] for column in numbers)), level)


def _outcomes(model: Names, group: Names, found: _Judged, level: float) -> GroupCalibration:
    p_adjusted = holm(found.p_value)
    z = float(ndtri(0.5 + level / 2.0))
    with np.errstate(over="ignore", invalid="ignore"):
        factor = np.exp(z * found.ratio_error)
        low, high = found.ratio / factor, found.ratio * factor
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
        directions=np.where(wrong, _directions(found, low, high, z), ""),
        observed_expected=found.ratio,
        observed_expected_low=low,
        observed_expected_high=high,
        p_value=found.p_value,
        p_adjusted=p_adjusted,
        level=level,
    )


def _directions(found: _Judged, low: Floats, high: Floats, z: float) -> Names:
    """Say in which ways the forecasts of each row are wrong, if they are."""
    margin = z * found.slope_error
    ways: dict[Direction, NDArray[np.bool_]] = {
        "refuted": found.refuted > 0.0,
        "too high": high < 1.0,
        "too low": low > 1.0,
        "too extreme": found.slope_gap < -margin,
        "too timid": found.slope_gap > margin,
    }
    rows = zip(*(holds.tolist() for holds in ways.values()), strict=True)
    return np.array([", ".join(itertools.compress(ways, row)) or "together" for row in rows])


def _judged(ledger: Ledger, model: str, cases: Cases | None) -> _Judged:
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
        error = np.sqrt(summed(event_squares * (1.0 - gap) ** 2 + non_event_squares * gap**2)) / observed
        flat = spreads[1] <= 1e-18 * summed(own * (1.0 + x**2))
        factor = np.ones((2, groups))
        if cases is not None:
            error, dispersed = _dispersed(ledger, cases, model, centre, rate, observed)
            factor = dispersed / spreads
            factor[1] = np.where(flat, factor[0], factor[1])
        squares = np.where(spreads > 0.0, sums**2 / spreads, 0.0)
        squares[1] = np.where(flat, 0.0, squares[1])
        # The chi-squared law with the mean and the variance of the sum, as in `calibration_test`.
        inflated = np.maximum(factor.mean(axis=0), 1.0)
        uneven = 1.0 + np.where(inflated > 1.0, factor.var(axis=0) / inflated**2, 0.0)
        df = np.where(flat, 1.0, 2.0) / uneven
        p_value = np.asarray(chdtrc(df, squares.sum(axis=0) / (inflated * uneven)))
        information = summed(variance) ** 2 / summed(own) / inflated
        steep = summed(variance * centred**2)
        slope = np.where(flat, 0.0, sums[1] / steep)
        slope_error = np.where(flat, 0.0, np.sqrt(spreads[1] * np.maximum(factor[1], 1.0)) / steep)
    wrong = summed(np.where(p == 0.0, events, np.where(p == 1.0, non_events, 0.0)))
    p_value = np.where(wrong > 0.0, 0.0, np.where(np.isnan(p_value), 1.0, p_value))
    return _Judged(rate, error, p_value, np.nan_to_num(information), slope, slope_error, wrong)


def _dispersed(
    ledger: Ledger, cases: Cases, model: str, centre: Floats, rate: Floats, observed: Floats
) -> tuple[Floats, Floats]:
    """Return the error of log observed/expected, and the variance of both sums, from what each cluster adds to them."""
    forecast, event, weight = cases.gathered(model)
    keys = cases.cluster if cases.time is None else cases.time
    assert keys is not None  # noqa: S101  (for the type checker; it is asked of such cases)
    entry, groups = ledger.entries(), len(ledger.index)
    pair, place = np.unique(entry * len(keys) + keys.codes, return_inverse=True)
    inside = (forecast > 0.0) & (forecast < 1.0)
    weights = np.ones(len(forecast)) if weight is None else weight
    x = np.where(inside, logit(np.where(inside, forecast, 0.5)) - centre[entry], 0.0)
    residual = np.where(inside, weights * (event - forecast), 0.0)
    parts = (residual, residual * x, weights * (event - rate[entry] * forecast))
    squares = [
        np.bincount(pair // len(keys), np.bincount(place, part, minlength=len(pair)) ** 2, minlength=groups)
        for part in parts
    ]
    return np.sqrt(squares[2]) / observed, np.stack(squares[:2])
