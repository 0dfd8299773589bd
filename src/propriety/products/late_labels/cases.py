"""Forecasts whose events are reported late: reading them, and estimates for the cases of some ages."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv, ndtr

from propriety import checks
from propriety.errors import InputValueError
from propriety.inference.day_numbers import Days, check_alike, read_day, read_days
from propriety.inference.estimates import NO_SPREAD, ROUNDING
from propriety.inference.finding_words import note_words
from propriety.ledger.ledger import Ledger
from propriety.products.late_labels.calibration import p_value_of_reports
from propriety.products.late_labels.delays import ReportingDelays
from propriety.result import Floats
from propriety.rules.rule import BinaryRule
from propriety.tables.arguments import check_indices
from propriety.tables.arrays import read_array
from propriety.tables.validation import read_unlabelled

# With fewer expected reports, limits of the score would be too narrow; see `studies/late_labels.py`. The number that
# came does not say so: where few are expected, four reports are an extreme sample.
FEWEST = 4
EVENTS_OF_GROUP, MOST_GROUPS = 20, 10  # Groups of forecasts whose observed event rates give the limits of O/E.
FEW = f"fewer than {FEWEST} expected reports: no limits of the score"
NONE = "no event is reported: no limits of the score"
UNVARIED = f"{note_words(NO_SPREAD)} of the score"
UNBOUNDED = "a forecast has an infinite loss: no limits of the score"
UNSCORED = "a forecast has an infinite loss: no score"
NO_CASES = "no forecasts of these ages"
ALL_ZERO = "all forecasts are 0: no observed/expected"
REFUTED = "events are reported whose forecast was 0"
NO_REPORTS = "no event of these ages can be reported yet: no observed/expected and no score"
BELOW = "the estimated score is not positive: no limits of the score"
ALL_EQUAL = "all forecasts are equal: calibration is not tested"
COLLAPSED = "events are reported at ages at which the estimated share of reported events is 0: nothing is estimable"


class LateCases(NamedTuple):
    """Cells of cases: the forecast, its day, the day of the report (NaN if there is none), and the number of cases."""

    forecast: Floats
    made: Floats
    reported: Floats
    number: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowEstimate:
    """Estimates for the cases of some ages; the fields are columns of `LateLabels`."""

    n: int
    reported: int
    expected: float
    maturity: float
    observed_expected: float
    low: float
    high: float
    p_value: float
    score: float
    score_low: float
    score_high: float
    if_slower: float
    if_faster: float
    as_labelled: float
    score_as_labelled: float
    note: str


def read_late_cases(forecasts: object, made: object, reported: object, now: object = None) -> tuple[LateCases, float]:
    """Return the cells of cases, and the day of the evaluation, by default the last one.

    The cases are arrays, or a ledger whose keys `made` and `reported` are days and whose events are reports.
    """
    if isinstance(forecasts, Ledger):
        cases, first = _cells_of_ledger(forecasts, made, reported)
    else:
        cases, first = _cells_of_arrays(forecasts, made, reported)
    early = cases.reported < cases.made
    if early.any():
        law = "must not be before the day of the forecast"
        raise InputValueError(law, argument="reported", count=f"{int(cases.number[early].sum()):,} cases")
    if now is None:
        return cases, float(np.fmax(cases.made.max(), np.fmax.reduce(cases.reported)))
    today = read_day("now", now)
    check_alike("now", today, first)
    return cases, float(today.number[0])


def _cells_of_arrays(forecasts: object, made: object, reported: object) -> tuple[LateCases, Days]:
    given = read_array(forecasts, "forecasts")
    days = [read_array(values, name, role="keys") for name, values in (("made", made), ("reported", reported))]
    forecast = read_unlabelled(given, "forecasts")
    first, last = read_days("made", days[0]), read_days("reported", days[1], missing=True)
    check_alike("reported", last, first)
    for name, own in (("made", first.number), ("reported", last.number)):
        if own.shape != forecast.shape:
            raise InputValueError(f"must have shape {forecast.shape}", argument=name, offender=f"it has {own.shape}")
    check_indices(given, *days)
    return LateCases(forecast, first.number, last.number, np.ones(len(forecast))), first


def _cells_of_ledger(ledger: Ledger, made: object, reported: object) -> tuple[LateCases, Days]:
    for name, key in (("made", made), ("reported", reported)):
        checks.choice(key, name, list(ledger.keys))
    if ledger.labels is not None or ledger.is_weighted:
        raise InputValueError("must hold one event and no weights", argument="forecasts")
    if ledger.dependence is not None:
        law = f"must hold independent cases; those of this ledger may be correlated within its {ledger.dependence}"
        raise InputValueError(law, argument="forecasts", hint="condense them without it, if they are independent.")
    tables = ledger.keyed_tables(ledger.one_model(None), ledger.events[0])
    first = read_days("made", ledger.index.column(str(made)))
    labels = ledger.index.column(str(reported))
    happened = np.bincount(tables.entry, tables.events, minlength=len(labels)) > 0.0
    reports = [label if seen else None for label, seen in zip(labels, happened.tolist(), strict=True)]
    last = read_days("reported", reports, missing=True)
    check_alike("reported", last, first)
    days = first.number[tables.entry]
    cells = [
        LateCases(tables.forecast, days, last.number[tables.entry], tables.events),
        LateCases(tables.forecast, days, np.full(len(days), np.nan), tables.non_events),
    ]
    kept = [LateCases(*(column[one.number > 0.0] for column in one)) for one in cells]
    return LateCases(*(np.concatenate(columns) for columns in zip(*kept, strict=True))), first


def estimate_window(
    cases: LateCases,
    age: NDArray[np.intp],
    event: NDArray[np.bool_],
    delays: ReportingDelays,
    rule: BinaryRule,
    z: float,
) -> WindowEstimate:
    r"""Estimate observed/expected, the score and a test of calibration from events reported so far.

    A reported event has probability :math:`p F(a)` if the forecast is calibrated, with the share F of events that are
    reported by age a; see `propriety.late_labels`. With few expected reports, the lower limit of observed/expected is
    no higher than that of a Poisson number.
    """
    p, count = cases.forecast, cases.number
    share = delays.share[age]
    expected, events = count * p * share, float(count[event].sum())
    total = float(expected.sum())
    low = high = math.nan
    estimable = bool((share[event] > 0.0).all())
    if estimable and total > 0.0:
        error = float(delays.variance(_by_age(age, expected[None], delays))[0, 0])
        low, high = _limits_of_ratio(events, total, _common(cases, share, event), error, z)
        if total < FEWEST and events > 0.0:
            exact = float(gammaincinv(events, float(ndtr(-z))))  # The limit of a Poisson number.
            low = min(low, exact / total)
    score, error, naive = _score(cases, age, event, delays, rule)
    varies = error > ROUNDING * abs(score)
    has_limits = varies and score > 0.0 and total >= FEWEST and events > 0.0
    away = math.exp(min(z * error / score, 700.0)) if has_limits else math.nan
    worst = rule.properties().worst
    slower, faster = (float((count * p * delays.stretched(by).share[age]).sum()) for by in (1.2, 0.8))
    eventually = float((count * p).sum())
    found = WindowEstimate(
        n=int(count.sum()),
        reported=int(events),
        expected=total,
        maturity=_ratio(total, eventually),
        observed_expected=_ratio(events, total),
        low=low,
        high=high,
        p_value=0.0 if _refuted(cases, event) else p_value_of_reports(p, count, age, event, delays),
        score=score,
        score_low=score / away,
        score_high=score * away if worst is None or score > worst else min(score * away, worst),
        if_slower=_ratio(events, slower),
        if_faster=_ratio(events, faster),
        as_labelled=_ratio(events, eventually),
        score_as_labelled=naive,
        note=_note(cases, event, score, error, total, varies=varies),
    )
    if estimable:
        return found
    # One delay was longer than all that could be compared with it, so the share before it is estimated as 0.
    names = ("observed_expected", "low", "high", "score", "score_low", "score_high", "if_slower", "if_faster")
    unknown: dict[str, Any] = dict.fromkeys(names, math.nan)
    if not _refuted(cases, event):
        unknown["p_value"] = math.nan
    return replace(found, **unknown, note=COLLAPSED)


def _note(
    cases: LateCases, event: NDArray[np.bool_], score: float, error: float, expected: float, *, varies: bool
) -> str:
    """Say what cannot be estimated, and why."""
    if len(cases.number) == 0:
        return NO_CASES
    notes = [ALL_ZERO if cases.forecast.max() == 0.0 else ALL_EQUAL] if np.ptp(cases.forecast) == 0.0 else []
    if _refuted(cases, event):
        notes.append(REFUTED)
    if math.isnan(score):
        notes.append(UNSCORED if expected > 0.0 else NO_REPORTS)
    elif expected < FEWEST:
        notes.append(FEW)
    elif not event.any():
        notes.append(NONE)
    elif math.isnan(error):
        notes.append(UNBOUNDED)
    elif not varies:
        notes.append(UNVARIED)
    elif score <= 0.0:
        notes.append(BELOW)
    return "; ".join(notes)


def _ratio(observed: float, expected: float) -> float:
    return observed / expected if expected > 0.0 else math.nan


def _by_age(age: NDArray[np.intp], columns: Floats, delays: ReportingDelays) -> Floats:
    return np.stack([np.bincount(age, one, minlength=len(delays.share)) for one in columns])


def _common(cases: LateCases, share: Floats, event: NDArray[np.bool_]) -> float:
    r"""Return the term c of the variance :math:`r E - r^2 c` of :math:`\sum y^*_i - r p_i F_i`.

    With the probability :math:`f_i` of a report and :math:`r = \sum f_i / E`, the variance is
    :math:`\sum f_i (1 - f_i) + (f_i - r p_i F_i)^2`, also for forecasts that are wrong. The event rates in :math:`f_i`
    are those observed in groups of forecasts; with few events there is one group.
    """
    p, count = cases.forecast, cases.number
    reports, exposed = count * event, count * share
    _, row = np.unique(p, return_inverse=True)
    expected = np.bincount(row, exposed * p)
    total = float(expected.sum())
    groups = int(np.clip(reports.sum() // EVENTS_OF_GROUP, 1, MOST_GROUPS))
    middle = (np.cumsum(expected) - expected / 2.0) / total
    group = np.minimum(groups * middle, groups - 1).astype(np.intp)[row]
    own = np.bincount(group, exposed, minlength=groups)
    seen = np.bincount(group, reports if event.any() else exposed, minlength=groups)
    rate = np.minimum(np.divide(seen, own, out=np.zeros(groups), where=own > 0.0)[group] * share, 1.0)
    reported = count * rate * p * share
    return 2.0 * total * float(reported.sum()) / float(count @ rate) - float(count @ (p * share) ** 2)


def _limits_of_ratio(events: float, expected: float, common: float, delays: float, z: float) -> tuple[float, float]:
    """Return the ratios r that solve (events - r expected)^2 = z^2 (r expected - r^2 common + r^2 delays)."""
    square = expected**2 + z**2 * (common - delays)
    middle = events * expected + z**2 * expected / 2.0
    upper = middle + math.sqrt(max(middle**2 - square * events**2, 0.0))
    return events**2 / upper, upper / square if square > 0.0 else math.inf


def _score(
    cases: LateCases, age: NDArray[np.intp], event: NDArray[np.bool_], delays: ReportingDelays, rule: BinaryRule
) -> tuple[float, float, float]:
    """Return the score, its standard error, and the score if every case without a report were a non-event."""
    share, count, size = delays.share[age], cases.number, len(age)
    without, happened = (np.broadcast_to(rule.loss(cases.forecast, event=side), size) for side in (False, True))
    total = float(count @ share)
    with np.errstate(invalid="ignore"):
        loss = np.where(event, share * without + happened - without, share * without)
        loss = np.where(event & (share == 1.0), happened, loss)  # Also if the loss of a non-event is infinite.
        naive = float((count * np.where(event, happened, without)).sum() / count.sum())
    if not total > 0.0:
        return math.nan, math.nan, naive
    score = float((count * loss).sum()) / total
    if not (math.isfinite(score) and np.isfinite(without).all()):
        return score, math.nan, naive
    square = float(count @ (loss - score * share) ** 2)
    square += float(delays.variance(_by_age(age, (count * share * (without - score))[None], delays))[0, 0])
    return score, math.sqrt(square) / total, naive


def _refuted(cases: LateCases, event: NDArray[np.bool_]) -> bool:
    """Whether an event is reported that was said to be impossible, whatever the delays."""
    return bool((cases.forecast[event] == 0.0).any())
