"""Forecasts whose events are reported late: reading days, and estimates for the cases of some ages."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from propriety.errors import InputValueError
from propriety.inference.days import read_days
from propriety.inference.reporting_delays import ReportingDelays
from propriety.ledger.ledger import Ledger
from propriety.result import Floats
from propriety.rules.rule import BinaryRule
from propriety.tables.validation import read_unlabelled

__all__ = ["LateCases", "WindowEstimate", "estimate_window", "read_late_cases"]

FEWEST = 4  # With fewer reported events, limits of the score would be too narrow; see `studies/late_labels.py`.
FEW = f"fewer than {FEWEST} reported events: no limits of the score"
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


def read_late_cases(forecasts: object, made: object, reported: object) -> LateCases:
    """Return the cells of arrays, or of a ledger whose keys `made` and `reported` are days and whose events reports."""
    if isinstance(forecasts, Ledger):
        return _cells_of_ledger(forecasts, made, reported)
    forecast = read_unlabelled(forecasts, "forecasts")
    days = read_days("made", made), read_days("reported", reported, missing=True)
    for name, own in zip(("made", "reported"), days, strict=True):
        if own.shape != forecast.shape:
            raise InputValueError(f"must have shape {forecast.shape}", argument=name, offender=f"it has {own.shape}")
    return _in_order(LateCases(forecast, *days, np.ones(len(forecast))))


def _cells_of_ledger(ledger: Ledger, made: object, reported: object) -> LateCases:
    for name, key in (("made", made), ("reported", reported)):
        if key not in ledger.keys:
            law = f"must be a key of the ledger, one of {list(ledger.keys)}"
            raise InputValueError(law, argument=name, offender=f"got {key!r}")
    if ledger.labels is not None or ledger.is_weighted:
        raise InputValueError("must hold one event and no weights", argument="forecasts")
    tables = ledger.keyed_tables(ledger.one_model(None), ledger.events[0])
    first = read_days("made", ledger.index.column(str(made)))[tables.entry]
    last = read_days("reported", ledger.index.column(str(reported)), missing=True)[tables.entry]
    cells = [
        LateCases(tables.forecast, first, last, tables.events),
        LateCases(tables.forecast, first, np.full(len(first), np.nan), tables.non_events),
    ]
    kept = [LateCases(*(column[one.number > 0.0] for column in one)) for one in cells]
    return _in_order(LateCases(*(np.concatenate(columns) for columns in zip(*kept, strict=True))))


def _in_order(cases: LateCases) -> LateCases:
    early = cases.reported < cases.made
    if early.any():
        law = "must not be before the day of the forecast"
        raise InputValueError(law, argument="reported", count=f"{int(cases.number[early].sum()):,} cases")
    return cases


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
    reported by age a; see `propriety.late_labels`.
    """
    p, count = cases.forecast, cases.number
    share = delays.share[age]
    expected, events = count * p * share, float(count[event].sum())
    total = float(expected.sum())
    low, high = _limits_of_ratio(
        events,
        total,
        float((expected * (1.0 - p * share)).sum()),
        float(delays.variance(_by_age(age, expected[None], delays))[0, 0]),
        z,
    )
    score, error, naive = _score(cases, age, event, delays, rule)
    away = math.exp(z * error / score) if score > 0.0 and events >= FEWEST else math.nan
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
        p_value=_test(cases, age, event, delays),
        score=score,
        score_low=score / away,
        score_high=score * away,
        if_slower=_ratio(events, slower),
        if_faster=_ratio(events, faster),
        as_labelled=_ratio(events, eventually),
        score_as_labelled=naive,
        note=FEW if events < FEWEST else "",
    )
    if (share[event] > 0.0).all():
        return found
    # One delay was longer than all that could be compared with it, so the share before it is estimated as 0.
    names = ("observed_expected", "low", "high", "p_value", "score", "score_low", "score_high")
    unknown: dict[str, Any] = dict.fromkeys((*names, "if_slower", "if_faster"), math.nan)
    return replace(found, **unknown, note=COLLAPSED)


def _ratio(observed: float, expected: float) -> float:
    return observed / expected if expected > 0.0 else math.nan


def _by_age(age: NDArray[np.intp], columns: Floats, delays: ReportingDelays) -> Floats:
    return np.stack([np.bincount(age, one, minlength=len(delays.share)) for one in columns])


def _limits_of_ratio(events: float, expected: float, outcomes: float, delays: float, z: float) -> tuple[float, float]:
    """Return the ratios r that solve (events - r expected)^2 = z^2 (r outcomes + r^2 delays), the score limits."""
    square = expected**2 - z**2 * delays
    if not expected > 0.0:
        return math.nan, math.nan
    middle = events * expected + z**2 * outcomes / 2.0
    if square <= 0.0:
        return events**2 / (2.0 * middle), math.inf
    spread = math.sqrt(max(middle**2 - square * events**2, 0.0))
    return (middle - spread) / square, (middle + spread) / square


def _score(
    cases: LateCases, age: NDArray[np.intp], event: NDArray[np.bool_], delays: ReportingDelays, rule: BinaryRule
) -> tuple[float, float, float]:
    """Return the score, its standard error, and the score if every case without a report were a non-event."""
    share, count, size = delays.share[age], cases.number, len(age)
    without, happened = (np.broadcast_to(rule.loss(cases.forecast, event=side), size) for side in (False, True))
    total = float(count @ share)
    with np.errstate(invalid="ignore"):
        loss = np.where(event, share * without + happened - without, share * without)
        naive = float((count * np.where(event, happened, without)).sum() / count.sum())
    if not total > 0.0:
        return math.nan, math.nan, naive
    score = float((count * loss).sum()) / total
    square = float(count @ (loss - score * share) ** 2)
    square += float(delays.variance(_by_age(age, (count * share * (without - score))[None], delays))[0, 0])
    return score, math.sqrt(square) / total, naive


def _test(cases: LateCases, age: NDArray[np.intp], event: NDArray[np.bool_], delays: ReportingDelays) -> float:
    """Return the p-value of the score test of Cox's intercept and slope, for reported events."""
    inside = (cases.forecast > 0.0) & (cases.forecast < 1.0) & (delays.share[age] > 0.0)
    p, count, share = cases.forecast[inside], cases.number[inside], delays.share[age[inside]]
    if len(p) == 0 or p.min() == p.max():
        return math.nan
    rate = p * share
    log_odds = np.log(p) - np.log1p(-p)
    log_odds -= float(count @ log_odds) / float(count.sum())
    gradient = np.stack([np.ones(len(p)), log_odds]) * ((1.0 - p) / (1.0 - rate))
    sums = gradient @ (count * (event[inside] - rate))
    variance = (gradient * (count * rate * (1.0 - rate))) @ gradient.T
    variance += delays.variance(_by_age(age[inside], gradient * (count * rate), delays))
    return float(chdtrc(2.0, float(sums @ np.linalg.solve(variance, sums))))
