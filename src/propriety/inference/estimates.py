"""Estimates: the value in a sample, confidence limits, and how they were computed."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from scipy.special import expit, logit, ndtri, stdtrit

from propriety.inference.cluster_errors import effective_number
from propriety.inference.finding import Finding
from propriety.inference.imagined import Imagined
from propriety.inference.limits import hull, imagined_limits
from propriety.inference.measures.measure import Measure
from propriety.inference.notes import Note
from propriety.ledger.keyed_tables import KeyedTables
from propriety.ledger.ledger import Ledger
from propriety.ledger.moments import OUTCOME
from propriety.result import Floats
from propriety.tables.cases import Cases
from propriety.tables.forecast_table import ForecastTable

# With fewer, an interval is noted to be possibly too narrow: clusters of equal size, and events and non-events, for
# intervals that are valid with few of them and for others.
FEWEST_CLUSTERS, FEWEST_HELD, FEWEST = 20, 10, 50
FEWEST_FOLLOWED = 30  # With fewer cases of a censoring curve followed up, intervals and tests are noted alike.
FEWEST_WORTH = 3  # Effective number of weighted cases; below it, 95% intervals held the truth in 0 to 60% of samples.
VARIED = 1.5  # Events count by their effective number if their weights reduce it by this factor or more.
# Periods are noted if correlation reduces their number by this factor or more, and they are worth few
# (`studies/times`).
CORRELATED, FEWEST_PERIODS = 2.0, 40
ROUNDING = 1e-12  # Differences and spreads below this share of the values are rounding error.
DEPENDENT = 0.01  # A smaller p-value of the test of whether censoring depends on the forecasts is reported.
KNOWN_WEIGHTS = "with censoring weights taken as known"
IMAGINED = "with imagined outcomes"
NO_SPREAD = Note("nothing-varies")


def limits_of(value: float, error: float, df: float, level: float, scale: str = "identity") -> tuple[float, float]:
    """Return the limits of Student's interval, or of the normal one for infinite `df`, computed on a scale.

    Examples
    --------
    >>> [round(limit, 3) for limit in limits_of(0.9, 0.05, float("inf"), 0.95, "logit")]
    [0.752, 0.964]
    >>> [round(limit, 3) for limit in limits_of(1.2, 0.1, float("inf"), 0.95, "log")]
    [1.019, 1.413]
    """
    upper = (1.0 + level) / 2.0
    quantile = float(ndtri(upper)) if math.isinf(df) else float(stdtrit(df, upper))
    if math.isnan(error) or not math.isfinite(value):
        return math.nan, math.nan
    if scale == "logit":
        if not 0.0 < value < 1.0:
            return math.nan, math.nan
        margin = quantile * error / (value * (1.0 - value))
        return float(expit(logit(value) - margin)), float(expit(logit(value) + margin))
    if scale == "log":
        if value <= 0.0:
            return math.nan, math.nan
        margin = quantile * error / value
        return (value * math.exp(-margin), value * math.exp(margin)) if margin < 700.0 else (0.0, math.inf)
    return value - quantile * error, value + quantile * error


def note_on_few(
    events: tuple[int, int] | None,
    clusters: tuple[int, float] | None,
    inflation: float = 1.0,
    fewest: int = FEWEST,
    others: int | None = None,
    cases: tuple[int, float] | None = None,
    effective: tuple[float, float] | None = None,
    periods: tuple[int, float] | None = None,
) -> Note | None:
    """Return which numbers are too small for an interval to be reliable; None if all are large enough.

    Parameters
    ----------
    events : (int, int), optional
        Number of events and of non-events.
    clusters : (int, float), optional
        Number of clusters, and their effective number if they were of equal size.
    inflation : float
        Factor by which correlation inflates the variance: this many events count as one.
    fewest : int
        Number of independent events and non-events that the interval needs.
    others : int, optional
        For classes, the number of cases outside the most frequent class.
    cases : (int, float), optional
        For independent cases with weights, their number, and their effective number if they were of equal weight.
    effective : (float, float), optional
        The effective numbers of events and of non-events.
    periods : (int, float), optional
        Number of periods, and the number of independent ones that would have the same error.

    Returns
    -------
    Note, optional
        Its `counts` have a number, its noun, what it is worth, and "independent", "weight" or "size": of what kind.

    Examples
    --------
    >>> note_on_few((60, 1), (50, 7.2)).parts["counts"]
    ((1, 'non-event', None, ''), (50, 'cluster', 7, 'size'))
    >>> note_on_few((200, 9800), None, inflation=5.0).parts["counts"]
    ((200, 'event', 40, 'independent'),)
    """
    counts: list[tuple[int, str, int | None, str]] = []
    few_cases = cases is not None and round(cases[1]) < min(cases[0], FEWEST_CLUSTERS)
    numbers = list(zip(("event", "non-event"), events or (), strict=False))
    numbers += [] if others is None else [("other case", others)]
    for name, number in numbers:
        if number / inflation < fewest:
            worth = max(round(number / inflation), 1)
            counts.append((number, name, *((worth, "independent") if number > worth else (None, ""))))
        elif effective is not None and fewest and not few_cases:
            own = effective[name == "non-event"]
            if VARIED * own < number and own < FEWEST:
                counts.append((number, name, round(own), "weight"))
    if clusters is not None and clusters[1] < FEWEST_CLUSTERS:
        number, equal = clusters
        counts.append((number, "cluster", *((round(equal), "size") if round(equal) < number else (None, ""))))
    if cases is not None and few_cases:
        counts.append((cases[0], "case", round(cases[1]), "weight"))
    if periods is not None and periods[1] < min(FEWEST_PERIODS, periods[0] / CORRELATED):
        counts.append((periods[0], "period", max(round(periods[1]), 1), "independent"))
    return Note("few", {"counts": tuple(counts)}) if counts else None


def censoring_notes(ledger: Ledger) -> tuple[Note, ...]:
    """Return whether few cases are followed up until the horizon, and whether censoring depends on the forecasts."""
    censoring, notes = ledger.censoring, []
    if censoring is None or not censoring.is_estimated:
        return ()
    several = censoring.has_groups
    if censoring.followed < FEWEST_FOLLOWED:
        notes.append(
            Note("few-followed", {"cases": censoring.followed, "horizon": censoring.horizon, "groups": several})
        )
    p_value = min(censoring.dependence.values(), default=1.0) * len(censoring.dependence)
    if p_value <= DEPENDENT and censoring.dependence:
        notes.append(Note("censoring", {"p": p_value, "groups": several}))
    return tuple(notes)


def units_of(ledger: Ledger) -> int:
    """Return the number of clusters or periods with weight, or of cases; from moments if there are no cases."""
    if ledger.dependence is None:
        return ledger.n
    weights = _unit_weights(ledger)
    return ledger.n if weights is None else len(weights)


def few(
    ledger: Ledger,
    *,
    inflation: float = 1.0,
    fewest: int = FEWEST,
    independent_periods: float = math.nan,
) -> tuple[Note, ...]:
    """Return a note on the numbers that are too small for an interval to be reliable, if any; see `note_on_few`."""
    weights = _unit_weights(ledger) if ledger.dependence == "cluster" else None
    clusters = None if weights is None else (len(weights), effective_number(weights))
    periods = None if math.isnan(independent_periods) else (units_of(ledger), independent_periods)
    noted = partial(note_on_few, clusters=clusters, inflation=inflation, fewest=fewest, periods=periods)
    weighted = _has_own_weights(ledger)
    if ledger.labels is not None and not weighted:
        return some(noted(None, others=_beside_the_most_frequent(ledger)))
    found = _counted(ledger)
    n, n_events = int(np.sum(found.n)), int(np.sum(found.n_events))
    cases = (n, _effective(found)) if weighted else None
    if ledger.labels is not None:
        return some(noted(None, others=_beside_the_most_frequent(ledger), cases=cases))
    effective = effective_by_outcome(found) if weighted else None
    return some(noted((n_events, n - n_events), cases=cases, effective=effective))


def is_worth_too_little(ledger: Ledger) -> bool:
    """Whether the weight of independent cases is that of hardly more than one, so that nothing can be tested."""
    return _has_own_weights(ledger) and _effective(_counted(ledger)) < FEWEST_WORTH


def _has_own_weights(ledger: Ledger) -> bool:
    return ledger.is_weighted and ledger.dependence is None


def _counted(ledger: Ledger) -> ForecastTable | KeyedTables:
    """Return a table of all cases, or tables of groups, which are not added up only to count."""
    first, event = ledger.models[0], ledger.events[0]
    return ledger.table(first, event) if isinstance(ledger.source, Cases) else ledger.keyed_tables(first, event)


def _effective(found: ForecastTable | KeyedTables) -> float:
    """Return the number of cases of equal weight that would estimate a mean as precisely."""
    squares = float(found.event_squares.sum() + found.non_event_squares.sum())
    return float(found.events.sum() + found.non_events.sum()) ** 2 / squares


def effective_by_outcome(found: ForecastTable | KeyedTables) -> tuple[float, float]:
    """Return the numbers of events and of non-events of equal weight that would count as much."""
    sides = (found.events, found.event_squares), (found.non_events, found.non_event_squares)
    events, others = (float(own.sum()) ** 2 / (float(squares.sum()) or 1.0) for own, squares in sides)
    return events, others


def _beside_the_most_frequent(ledger: Ledger) -> int | None:
    """Return the number of cases outside the most frequent class; None if it is not known."""
    if not ledger.rules:
        return None
    cases = ledger.moments(ledger.rules[0]).over(OUTCOME).n
    return int(cases.sum() - cases.max())


def _unit_weights(ledger: Ledger) -> Floats | None:
    """Return the weight of each cluster or period; None if not known."""
    if ledger.rules:
        moments = ledger.moments(ledger.rules[0])
        assert moments.dependence is not None  # noqa: S101  (for the type checker; the ledger has clusters or periods)
        return moments.over(moments.dependence).weight
    cases = ledger.cases
    if cases is None:
        return None
    keys = cases.units
    assert keys is not None  # noqa: S101  (for the type checker; the ledger says that they are there)
    weights: Floats = np.bincount(keys.codes, cases.weight, minlength=len(keys)).astype(np.float64)
    return weights[weights > 0.0]


def make_estimate(  # noqa: PLR0913  (a number, its error, and what it rests on)
    ledger: Ledger,
    model: str,
    measure: Measure,
    value: float,
    error: float,
    df: float,
    level: float,
    method: str,
    *,
    units: int,
    scale: str = "identity",
    inflation: float = 1.0,
    fewest: int = FEWEST,
    independent_periods: float = math.nan,
    imagined: Imagined | None = None,
    **extra: float,
) -> Finding:
    """Make an estimate with its interval, except for an infinite mean, a single unit, or values that do not vary.

    The interval is the hull of Student's and, if it is known, that of imagined outcomes.
    """
    low, high = limits_of(value, error, df, level, scale)
    is_flat = error * math.sqrt(units) <= ROUNDING * abs(value)
    if imagined is not None and np.isfinite(imagined.third):
        of_jumps = math.inf if ledger.dependence is None else df
        foreseen = imagined_limits(np.array(value), imagined, of_jumps, level)
        low, high = map(float, foreseen if is_flat else hull((np.array(low), np.array(high)), foreseen))
        is_flat = is_flat and not high - low > ROUNDING * abs(value)
        method += f", {IMAGINED}"
    why = _why_without(ledger, value, error, units, is_flat=is_flat)
    if why is None:
        notes = few(ledger, inflation=inflation, fewest=fewest, independent_periods=independent_periods)
        notes += censoring_notes(ledger)
    else:
        low, high, error, notes = math.nan, math.nan, 0.0 if why is NO_SPREAD else math.nan, (why,)
    facts = estimated_facts(ledger, model, measure, level)
    facts["units"] = None if ledger.dependence is None else units
    return Finding(**facts, value=value, low=low, high=high, error=error, method=method, notes=notes, extra=extra)


def _why_without(ledger: Ledger, value: float, error: float, units: int, *, is_flat: bool) -> Note | None:
    """Return why a value has no interval; None if it has one."""
    if math.isinf(value):
        return Note("infinite-mean")
    if math.isnan(value):
        return Note("undefined", {"why": "the value is not a number"})
    if units == 1:
        return Note("single", {"unit": "period" if ledger.dependence == "period" else "case or cluster"})
    if math.isnan(error):
        return Note("single", {"unit": "event, non-event or cluster"})
    if is_worth_too_little(ledger):
        return Note("light", {"fewest": FEWEST_WORTH, "for": "an interval"})
    return NO_SPREAD if is_flat else None


def without_limits(
    ledger: Ledger, model: str, measure: Measure, value: float, level: float, *, note: Note | None = None
) -> Finding:
    """Return a value without an interval, which would need the cases unless a note gives another reason."""
    note = note or Note("needs-cases", {"what": "an interval of this measure", "where": ledger.where_cases_are})
    return Finding(**estimated_facts(ledger, model, measure, level), value=value, notes=(note,))


def estimated_facts(ledger: Ledger, model: str, measure: Measure, level: float) -> dict[str, Any]:
    """Return what an estimate is about."""
    units = None if ledger.dependence is None else units_of(ledger)
    return {"measure": measure, "model": model, "level": level, "n": ledger.n, "units": units}


def some(note: Note | None) -> tuple[Note, ...]:
    """Return a note as the notes of a row."""
    return () if note is None else (note,)
