"""Evaluating forecasts whose events are reported late, from the reports that have arrived so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from propriety import checks
from propriety.checks import check_level
from propriety.errors import InputTypeError, InputValueError
from propriety.ledger.ledger import Ledger
from propriety.products.late_labels.cases import LateCases, WindowEstimate, estimate_window, read_late_cases
from propriety.products.late_labels.delays import ReportingDelays, estimate_delays
from propriety.products.late_labels.words import summary_of_labels, summary_of_revision
from propriety.result import Floats, Result
from propriety.rules.families import BRIER
from propriety.rules.rule import BinaryRule, Rule, binary_rule

MATURE = 0.95  # Share of the events reported from which labels are taken as final, for comparison.


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ReportedByAge(Result):
    """Reports by the age of the forecasts in days.

    Parameters
    ----------
    age : ndarray of shape (ages,)
        Age in days.
    n : ndarray of shape (ages,)
        Number of forecasts.
    reported : ndarray of shape (ages,)
        Events reported so far.
    maturity : ndarray of shape (ages,)
        Estimated share of the events that is reported by this age, F.
    expected_so_far, expected : ndarray of shape (ages,)
        Events that calibrated forecasts would have had reported so far, and will have in the end.

    Examples
    --------
    >>> reported = [0, 1, None, None, 1, None, None, None]
    >>> found = late_labels([0.25] * 8, made=[0, 0, 0, 0, 1, 1, 1, 1], reported=reported)
    >>> found.by_age.maturity, found.by_age.expected_so_far
    (array([0.5, 1. ]), array([0.5, 1. ]))
    """

    age: NDArray[np.intp]
    n: NDArray[np.int64]
    reported: NDArray[np.int64]
    maturity: Floats
    expected_so_far: Floats
    expected: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class LateLabels(Result):
    """Estimates from events reported so far, by window of ages; see `propriety.late_labels`.

    The last row holds the mature cases, whose labels are taken as final in `as_labelled`.

    Parameters
    ----------
    youngest, oldest : ndarray of shape (windows,)
        Ages of the forecasts in the window, in days.
    n, reported : ndarray of shape (windows,)
        Number of forecasts, and of events reported so far.
    expected : ndarray of shape (windows,)
        Events that calibrated forecasts would have had reported so far.
    maturity : ndarray of shape (windows,)
        Share of the expected events that is reported so far.
    observed_expected, low, high : ndarray of shape (windows,)
        Observed over expected events and its limits.
    p_value : ndarray of shape (windows,)
        Test of calibration (intercept and slope); 0 if an event is reported whose forecast was 0. With fewer than 20
        expected reports, it is at least 1/5000.
    score, score_low, score_high : ndarray of shape (windows,)
        The score that the window will have when all events are reported, and its limits; these are NaN with fewer than
        4 expected reports, with none reported, or if all losses are equal.
    if_slower, if_faster : ndarray of shape (windows,)
        Observed/expected if all delays were 20% longer, or shorter.
    as_labelled, score_as_labelled : ndarray of shape (windows,)
        Observed/expected and the score if cases without a report counted as non-events.
    note : ndarray of str, of shape (windows,)
        Why some numbers are missing, and whether events are reported whose forecast was 0.
    by_age : ReportedByAge
        Reports by age, and the estimated maturity.
    label : str
        Name of the score.
    level : float
        Level of the limits.
    """

    youngest: NDArray[np.intp]
    oldest: NDArray[np.intp]
    n: NDArray[np.int64]
    reported: NDArray[np.int64]
    expected: Floats
    maturity: Floats
    observed_expected: Floats
    low: Floats
    high: Floats
    p_value: Floats
    score: Floats
    score_low: Floats
    score_high: Floats
    if_slower: Floats
    if_faster: Floats
    as_labelled: Floats
    score_as_labelled: Floats
    note: NDArray[np.str_]
    label: str
    level: float
    by_age: ReportedByAge = field(metadata={"hidden": True})
    now: float = field(metadata={"hidden": True})
    rule: Rule = field(metadata={"hidden": True})
    cases: LateCases = field(metadata={"hidden": True})

    def age_at(self, share: float) -> int:
        """Return the age in days by which a share of the events is reported."""
        checks.number(share, "share", above=0.0, most=1.0)
        return int(np.argmax(self.by_age.maturity >= share))

    def __str__(self) -> str:
        """Describe each window in a sentence, and say what is assumed."""
        return summary_of_labels(self)

    def revision(self, earlier: LateLabels) -> LabelRevision:
        """Compare estimates of an earlier day with those of the same forecasts today."""
        checks.instance(earlier, "earlier", LateLabels, "a result of late_labels")
        later = int(self.now - earlier.now)
        if later < 0 or self.rule != earlier.rule or self.level != earlier.level:
            raise InputValueError("must be of the same rule and level, and of no later day", argument="earlier")
        windows = list(zip((earlier.youngest + later).tolist(), (earlier.oldest + later).tolist(), strict=True))
        today = _estimates(self.cases, self.now, windows, binary_rule(self.rule), self.level)[1]
        names = ("n", "reported", "observed_expected", "low", "high", "score", "score_low", "score_high")
        before = {f"{name}_before": getattr(earlier, name) for name in names}
        return LabelRevision(
            youngest=earlier.youngest,
            oldest=earlier.oldest,
            **before,
            **{name: np.array([getattr(one, name) for one in today]) for name in names},
            days=later,
            label=self.label,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class LabelRevision(Result):
    """Estimates of an earlier day and of today for the same forecasts; see `LateLabels.revision`.

    Parameters
    ----------
    youngest, oldest : ndarray of shape (windows,)
        Ages of the forecasts on the earlier day.
    n_before, reported_before, observed_expected_before, low_before, high_before, score_before, score_low_before, \
score_high_before : ndarray of shape (windows,)
        As in `LateLabels`, on the earlier day.
    n, reported, observed_expected, low, high, score, score_low, score_high : ndarray of shape (windows,)
        The same today.
    days : int
        Number of days in between.
    label : str
        Name of the score.
    """

    youngest: NDArray[np.intp]
    oldest: NDArray[np.intp]
    n_before: NDArray[np.int64]
    reported_before: NDArray[np.int64]
    observed_expected_before: Floats
    low_before: Floats
    high_before: Floats
    score_before: Floats
    score_low_before: Floats
    score_high_before: Floats
    n: NDArray[np.int64]
    reported: NDArray[np.int64]
    observed_expected: Floats
    low: Floats
    high: Floats
    score: Floats
    score_low: Floats
    score_high: Floats
    days: int
    label: str

    def __str__(self) -> str:
        """Say in a sentence per window what has changed."""
        return summary_of_revision(self)


def late_labels(
    forecasts: ArrayLike | Ledger,
    *,
    made: ArrayLike | str,
    reported: ArrayLike | str,
    now: object = None,
    rule: Rule = BRIER,
    windows: Sequence[int] = (7, 14, 28),
    level: float = 0.95,
) -> LateLabels:
    r"""Evaluate forecasts whose events are reported late, such as conversions, chargebacks or claims.

    A case without a report is not a non-event yet. The share F(a) of events that are reported within a days is
    estimated from the delays of the reports. With :math:`y^*_i = 1` for a reported event, and the losses :math:`l_1` of
    an event and :math:`l_0` of a non-event,

    .. math:: \frac{O}{E} = \frac{\sum y^*_i}{\sum p_i F(a_i)}, \qquad
              S = \frac{\sum F(a_i)\, l_0(p_i) + y^*_i (l_1(p_i) - l_0(p_i))}{\sum F(a_i)} .

    Parameters
    ----------
    forecasts : array-like of shape (n,), or Ledger
        Forecasts of the event; or a ledger of one model by day of forecast and day of report, whose events are reports.
    made : array-like of shape (n,), or str
        Day of each forecast: dates, ISO dates as text, or numbers of days. With a ledger, the name of the key.
    reported : array-like of shape (n,), or str
        Day on which the event was reported; missing (NaN, NaT, None) if it has not been. With a ledger, the name of the
        key; for cases without a report its label does not matter.
    now : date or number, optional
        The day of the evaluation, by default the last day in the data. Later forecasts are left out, and later reports
        count as not known yet, so that any past day can be evaluated as it would have been.
    rule : Rule
        The scoring rule.
    windows : sequence of int
        Numbers of days: the forecasts of the last 7 days, and so on. All cases, and those that are old enough for 95%
        of their events to be reported, are always added.
    level : float
        Confidence level of the limits.

    Returns
    -------
    LateLabels
        One row per window, which prints as sentences, with ``plot()``; ``revision(earlier)`` compares two days.

    Notes
    -----
    It is assumed that delays do not depend on the forecast or on the day, and that every event is reported within the
    age of the oldest forecast. `if_slower` and `if_faster` say how much observed/expected changes if delays are in fact
    20% longer or shorter. Formulas and simulations: `docs/reference/methods.md`.

    References
    ----------
    Chapelle (2014), doi:10.1145/2623330.2623634, for delayed conversions; Lagakos, Barraj & De Gruttola (1988),
    doi:10.1093/biomet/75.3.515, for right-truncated delays.

    Examples
    --------
    >>> made = np.repeat(np.arange(30), 40)
    >>> reported = np.where(np.arange(1200) % 4 == 0, made + np.arange(1200) % 11, np.nan)
    >>> found = late_labels(np.full(1200, 0.25), made=made, reported=reported, now=29, windows=[7])
    >>> found.as_labelled.round(2), found.observed_expected.round(2)
    (array([0.37, 0.83, 1.  ]), array([1.01, 1.  , 1.  ]))
    """
    check_level(level)
    if not isinstance(windows, Sequence | np.ndarray) or isinstance(windows, str):
        raise InputTypeError("must be a sequence of numbers of days", argument="windows", got=windows)
    for window in windows:
        checks.whole(window, "windows", least=1)
    cases, today = read_late_cases(forecasts, made, reported, now)
    if not (cases.made <= today).any():
        raise InputValueError("must not be before every forecast", argument="now", got=now)
    oldest = int(today - cases.made.min())
    spans = [(0, window - 1) for window in windows if window <= oldest] + [(0, oldest)]
    scored = binary_rule(rule)
    delays = _estimates(cases, today, [], scored, level)[0]
    spans.append((int(np.argmax(delays.share >= MATURE)), oldest))
    found = _estimates(cases, today, spans, scored, level)[1]
    columns = {name: np.array([asdict(one)[name] for one in found]) for name in WindowEstimate.__dataclass_fields__}
    youngest, oldest_ages = (np.array(ends) for ends in zip(*spans, strict=True))
    return LateLabels(
        youngest=youngest,
        oldest=oldest_ages,
        **columns,
        label=rule.label,
        level=level,
        by_age=_by_age(cases, today, delays),
        now=today,
        rule=rule,
        cases=cases,
    )


def _seen(cases: LateCases, now: float) -> tuple[LateCases, NDArray[np.intp], NDArray[np.bool_]]:
    """Return the cases known on a day, their ages, and whether an event was reported."""
    some = LateCases(*(column[cases.made <= now] for column in cases))
    return some, (now - some.made).astype(np.intp), some.reported <= now


def _estimates(
    cases: LateCases, now: float, windows: Sequence[tuple[int, int]], rule: BinaryRule, level: float
) -> tuple[ReportingDelays, list[WindowEstimate]]:
    """Return the distribution of the delays and the estimates for windows of ages."""
    some, age, event = _seen(cases, now)
    if not event.any():
        raise InputValueError("must hold at least one report", argument="reported")
    delay = (some.reported - some.made)[event].astype(np.intp)
    delays = estimate_delays(delay, age[event], some.number[event], int(age.max()) + 1)
    z = float(ndtri((1.0 + level) / 2.0))
    found = []
    for youngest, oldest in windows:
        kept = (age >= youngest) & (age <= oldest)
        own = LateCases(*(column[kept] for column in some))
        found.append(estimate_window(own, age[kept], event[kept], delays, rule, z))
    return delays, found


def _by_age(cases: LateCases, now: float, delays: ReportingDelays) -> ReportedByAge:
    some, age, event = _seen(cases, now)
    ages = len(delays.share)
    expected = np.bincount(age, some.number * some.forecast, minlength=ages).astype(np.float64)
    return ReportedByAge(
        age=np.arange(ages),
        n=np.bincount(age, some.number, minlength=ages).astype(np.int64),
        reported=np.bincount(age, some.number * event, minlength=ages).astype(np.int64),
        maturity=delays.share,
        expected_so_far=expected * delays.share,
        expected=expected,
    )
