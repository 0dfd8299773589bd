"""Scores expected before the outcomes are known, with the range that past days suggest, and their reconciliation."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit, ndtri, stdtrit

from propriety.calibration.logistic import cox_line
from propriety.checks import check_level
from propriety.errors import UNDEFINED, InputTypeError, InputValueError
from propriety.inference.measures.measure import Measure
from propriety.inference.measures.ranking import AreaUnderRoc
from propriety.inference.measures.ratios import ObservedExpected
from propriety.inference.measures.reading import AnyMeasure, read_measures
from propriety.inference.random_effects import LEAST_VARIANCE, between_variance
from propriety.ledger.ledger import Ledger
from propriety.number_words import capitalized, number
from propriety.result import Floats, Result
from propriety.rules.families import BRIER
from propriety.tables.arguments import check_indices
from propriety.tables.arrays import Reading, read_array
from propriety.tables.forecast_table import ForecastTable, expected_table
from propriety.tables.validation import read_unlabelled

BLIND = (
    "Assumed: the outcomes follow the forecasts, or differ from them as on the past days. A change in how the event "
    "depends on what the model knows (concept drift) cannot be seen without labels."
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Reconciliation(Result):
    """Expected values and what came; see `BeforeLabels.reconcile`.

    Parameters
    ----------
    measure, label : ndarray of shape (measures,)
        Short name and name of each measure.
    value : ndarray of shape (measures,)
        The value with the outcomes.
    expected, low, high : ndarray of shape (measures,)
        As in `BeforeLabels`; without past days, the limits are those of calibrated forecasts.
    inside : ndarray of shape (measures,)
        Whether the value lies within the limits; false if it has none, as an area without events.
    level : float
        Level of the limits.
    """

    measure: NDArray[np.object_]
    label: NDArray[np.object_]
    value: Floats
    expected: Floats
    low: Floats
    high: Floats
    inside: NDArray[np.bool_]
    level: float

    def __str__(self) -> str:
        """Say in a sentence per measure whether the value came as expected."""
        rows = zip(self.label, self.value, self.low, self.high, self.inside, strict=True)
        lines = []
        for label, value, low, high, inside in rows:
            where = f"{'inside' if inside else 'outside'} the limits of {number(low)} to {number(high)} given before"
            found = "no value" if math.isnan(value) else f"{number(value)}, {where}"
            lines.append(f"{capitalized(label)}: {found}.")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class BeforeLabels(Result):
    """Values expected before the outcomes are known; see `propriety.before_labels`.

    Parameters
    ----------
    measure, label : ndarray of shape (measures,)
        Short name and name of each measure.
    expected : ndarray of shape (measures,)
        The value if the forecasts are calibrated.
    chance_low, chance_high : ndarray of shape (measures,)
        Limits within which it will be if they are, given the forecasts.
    past_difference : ndarray of shape (measures,)
        Mean difference between the value and its expectation on past days; NaN without them.
    low, high : ndarray of shape (measures,)
        Limits within which it will be if these forecasts are as those of past days; NaN with fewer than two.
    days : ndarray of shape (measures,)
        Number of past days on which the measure has a value.
    n : int
        Number of forecasts.
    level : float
        Level of the limits.
    table : ForecastTable
        The expected events and non-events, which every curve reads.
    """

    measure: NDArray[np.object_]
    label: NDArray[np.object_]
    expected: Floats
    chance_low: Floats
    chance_high: Floats
    past_difference: Floats
    low: Floats
    high: Floats
    days: NDArray[np.int64]
    n: int
    level: float
    table: ForecastTable = field(metadata={"hidden": True})
    forecasts: Floats = field(metadata={"hidden": True})
    index: Any = field(metadata={"hidden": True})
    measures: tuple[Measure, ...] = field(metadata={"hidden": True})

    def __str__(self) -> str:
        """Describe each measure in a sentence, and say what is assumed."""
        lines = []
        for row, label in enumerate(self.label):
            text = (
                f"{capitalized(label)}: {number(self.expected[row])} expected if the forecasts are calibrated "
                f"({number(self.chance_low[row])} to {number(self.chance_high[row])} by chance)"
            )
            if not math.isnan(self.low[row]):
                text += (
                    f"; {number(self.low[row])} to {number(self.high[row])} if as on {self.days[row]:,} past days, "
                    f"when it differed from the expectation by {self.past_difference[row]:+.3g} on average"
                )
            lines.append(f"{text}.")
        return "\n".join([*lines, BLIND])

    def reconcile(self, y_true: ArrayLike) -> Reconciliation:
        """Compare the expected values with those of the outcomes, given in the order of the forecasts."""
        outcomes = read_array(y_true, "y_true", role="outcomes")
        check_indices(Reading("forecasts", self.forecasts, index=self.index), outcomes)
        table = ForecastTable.from_predictions(outcomes, self.forecasts)
        value = np.array([_value(measure, table) for measure in self.measures])
        known = ~np.isnan(self.low)
        low, high = np.where(known, self.low, self.chance_low), np.where(known, self.high, self.chance_high)
        return Reconciliation(
            measure=self.measure,
            label=self.label,
            value=value,
            expected=self.expected,
            low=low,
            high=high,
            inside=(low <= value) & (value <= high),
            level=self.level,
        )


def before_labels(
    forecasts: ArrayLike,
    *,
    past: Ledger | None = None,
    period: str = "day",
    measures: Sequence[AnyMeasure] = (BRIER, ObservedExpected(), AreaUnderRoc()),
    level: float = 0.95,
) -> BeforeLabels:
    r"""Return the scores to be expected of forecasts whose outcomes are not known yet.

    If the forecasts are calibrated, a case with forecast p is p of an event and 1 - p of a non-event. A mean score of
    this table is the expected one. The area under the ROC curve is slightly lower, because a case is also compared with
    itself. Observed/expected is then 1. Past days with labels show how far a measure
    :math:`m_d` usually is from its expectation :math:`e_d`: their differences :math:`m_d - e_d` have a mean, a variance
    :math:`v_d` by chance, and a variance :math:`\tau^2` between days, which is estimated (DerSimonian and Laird). The
    variances by chance follow from the forecasts, recalibrated by Cox's line (intercept and slope) of all past days.
    The limits are

    .. math:: e + \hat\mu \pm t_{k - 1} \sqrt{\hat\tau^2 + v + \mathrm{se}(\hat\mu)^2} .

    Parameters
    ----------
    forecasts : array-like of shape (n,)
        Forecasts of the event without labels.
    past : Ledger, optional
        Past cases of the same model, with a key for the day or batch.
    period : str
        The name of that key.
    measures : sequence of Measure or Rule
        What to expect: rules, and measures that are means or have an influence function, such as `NetBenefit`.
    level : float
        Level of the limits, which are prediction limits.

    Returns
    -------
    BeforeLabels
        One row per measure, which prints as sentences; ``table`` is for curves, and ``reconcile(y_true)`` for later.

    Notes
    -----
    The expected score says how sharp the forecasts are, not whether they are right: a model that has stopped working
    but is as confident as before has the same expected score. If past days have no events or no non-events, they have
    no line, and variances by chance are those of calibrated forecasts. In `studies/before_labels.py`, 95% limits from
    30 past days had a coverage of 91 to 100% for calibrated forecasts and for those as miscalibrated as on past days,
    also if the new day was ten times smaller; 76 to 83% if the miscalibration grew from day to day; and next to none if
    it set in on the new day. It was 62 to 76% for net benefit at a threshold that hardly a case of a small new day
    reached: the mean difference of past days does not allow for other forecasts on the new day.

    References
    ----------
    Higgins, Thompson & Spiegelhalter (2009), doi:10.1111/j.1467-985X.2008.00552.x, for limits of a new group.

    Examples
    --------
    >>> import propriety as pr
    >>> found = before_labels([0.1, 0.2, 0.6, 0.9] * 25, measures=[pr.Brier()])
    >>> round(float(found.expected[0]), 4), pr.decision_curve(found.table, grid=[0.3]).value.round(3)
    (0.145, array([0.321]))
    """
    check_level(level)
    asked = read_measures(measures, needed=True)
    for one in asked:
        if not one.has_influence or (one.has_moments and one.sign is None):
            law = "must be rules, or measures that are means or have an influence function"
            raise InputTypeError(law, argument="measures", offender=f"got {one.label}")
    given = read_array(forecasts, "forecasts")
    values = read_unlabelled(given, "forecasts")
    distinct, number_of_cases = np.unique(values + 0.0, return_counts=True)
    count = number_of_cases.astype(np.float64)
    table = expected_table(distinct, count, count)
    days, line = ([], CALIBRATED) if past is None else _past_days(past, period)
    recalibrated = expected_table(distinct, count, count, _rates(distinct, line))
    rows = [_row(measure, table, recalibrated, days, level) for measure in asked]
    names = ("expected", "chance_low", "chance_high", "past_difference", "low", "high", "days")
    columns = {name: np.array(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}
    return BeforeLabels(
        measure=np.array([one.key for one in asked], dtype=object),
        label=np.array([one.label for one in asked], dtype=object),
        **columns,
        n=len(values),
        level=level,
        table=table,
        forecasts=values,
        index=None if given.index is None else given.index.copy(deep=True),
        measures=asked,
    )


SMALLEST, ROUNDING = 1e-300, 2.0**-53


class _Line(NamedTuple):
    """Cox's recalibration line."""

    slope: float
    intercept: float


CALIBRATED = _Line(1.0, 0.0)


class _PastDay(NamedTuple):
    """A past day: observed events, those of calibrated and recalibrated forecasts, and squared weights in each row."""

    table: ForecastTable
    expected: ForecastTable
    recalibrated: ForecastTable
    squares: Floats

    @classmethod
    def of(cls, table: ForecastTable, line: _Line) -> _PastDay:
        squares = table.event_squares + table.non_event_squares
        given = table.forecast, table.weights, squares
        return cls(table, expected_table(*given), expected_table(*given, _rates(table.forecast, line)), squares)


def _past_days(past: Ledger, day: str) -> tuple[list[_PastDay], _Line]:
    """Return the past days and the line of all of them."""
    if not isinstance(past, Ledger) or past.labels is not None or not isinstance(day, str) or day not in past.keys:
        law = f"must be a Ledger of one event with the key {day!r}"
        raise InputValueError(law, argument="past", hint="condense the past cases with by={...}.")
    others = [name for name in past.keys if name != day]
    ledger = past.over(*others)
    line, tables = _line_of(ledger.table()), ledger.keyed_tables(ledger.one_model(None), ledger.events[0])
    return [_PastDay.of(tables.at(entry), line) for entry in range(len(ledger.index))], line


def _line_of(table: ForecastTable) -> _Line:
    """Return Cox's line; without a finite slope, that of slope 1, and without an intercept, that of calibration."""
    for slope in (True, False):
        with contextlib.suppress(*UNDEFINED):
            found = cox_line(table, slope=slope)
            if found.converged:
                return _Line(*found.coefficients.tolist()) if slope else _Line(1.0, float(found.coefficients[0]))
    return CALIBRATED


def _rates(forecast: Floats, line: _Line) -> Floats:
    inside = (forecast > 0.0) & (forecast < 1.0)
    rate = forecast.copy()
    fitted = expit(line.intercept + line.slope * logit(forecast[inside]))
    rate[inside] = np.clip(fitted, SMALLEST, 1.0 - ROUNDING)  # No table without events or non-events.
    return rate


def _row(
    measure: Measure, table: ForecastTable, recalibrated: ForecastTable, days: Sequence[_PastDay], level: float
) -> tuple[float, float, float, float, float, float, int]:
    """Return the expected value with its limits by chance, and the mean difference and the limits from past days."""
    expected = _value(measure, table)
    away = float(ndtri((1.0 + level) / 2.0)) * math.sqrt(_chance(measure, table, table.weights))
    plain = expected, *_possible(measure, expected, expected - away, expected + away)
    differences, variances = [], []
    for one in days:
        difference = _value(measure, one.table) - _value(measure, one.expected)
        if not math.isfinite(difference):
            continue
        variance = _chance(measure, one.recalibrated, one.squares)
        if variance > 0.0:
            differences.append(difference)
            variances.append(variance)
    if len(differences) < 2:
        return *plain, math.nan, math.nan, math.nan, len(differences)
    mean, error, between = _pooled(np.array(differences), np.array(variances))
    quantile = float(stdtrit(len(differences) - 1, (1.0 + level) / 2.0))
    away = quantile * math.sqrt(between + _chance(measure, recalibrated, table.weights) + error)
    likely = expected + mean
    low, high = _possible(measure, likely, likely - away, likely + away)
    return *plain, mean, low, high, len(differences)


def _possible(measure: Measure, expected: float, low: float, high: float) -> tuple[float, float]:
    """Clip limits to the values that a measure can have; an expected value outside them stays within the limits."""
    if math.isnan(expected):
        return low, high
    least, most = measure.range_of(None)
    low, high = (min(max(limit, least), most) for limit in (low, high))
    return min(low, max(expected, least)), max(high, min(expected, most))


def _pooled(differences: Floats, variances: Floats) -> tuple[float, float, float]:
    """Return the mean over days, its squared error, and the variance between days (DerSimonian and Laird)."""
    between = between_variance(differences, variances, "dersimonian-laird")
    if math.isnan(between):  # Events had forecasts of almost 0.
        return math.nan, math.nan, math.nan
    weight = 1.0 / (np.maximum(variances, LEAST_VARIANCE) + between)
    return float(weight @ differences / weight.sum()), 1.0 / float(weight.sum()), between


def _value(measure: Measure, table: ForecastTable) -> float:
    """Return the value of a measure; NaN if it is undefined, such as an area without events."""
    try:
        return measure.value(table)
    except UNDEFINED:
        return math.nan


def _chance(measure: Measure, table: ForecastTable, squares: Floats) -> float:
    """Return the variance of a measure over outcomes whose rates are those of the table.

    Parameters
    ----------
    measure : Measure
        A mean, or a measure with an influence function.
    table : ForecastTable
        Expected events and non-events.
    squares : ndarray of shape (rows,)
        Sum of the squared weights of the cases in each row.
    """
    happened, without = measure.influence(table)
    rate = table.events / table.weights
    inside = (rate > 0.0) & (rate < 1.0)
    spread = squares * rate * (1.0 - rate)
    with np.errstate(over="ignore"):  # Events with a forecast of almost 0.
        return float((spread[inside] * (happened - without)[inside] ** 2).sum()) / table.weight**2
