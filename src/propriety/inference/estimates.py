"""Estimates: the value in a sample, confidence limits, and how they were computed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.special import expit, logit, ndtri, stdtrit

from propriety.inference.cluster_errors import effective_number
from propriety.inference.imagined import Imagined
from propriety.inference.limits import hull, imagined_limits
from propriety.inference.measures.measure import Measure
from propriety.ledger.keyed_tables import KeyedTables
from propriety.ledger.ledger import Ledger
from propriety.ledger.moments import OUTCOME
from propriety.number_words import counted, p_value_words
from propriety.result import Floats, Result
from propriety.tables.cases import Cases
from propriety.tables.forecast_table import ForecastTable

# With fewer, an interval is noted to be possibly too narrow: clusters of equal size, and events and non-events, for
# intervals that are valid with few of them and for others.
FEWEST_CLUSTERS, FEWEST_HELD, FEWEST = 20, 10, 50
FEWEST_FOLLOWED = 30  # With fewer cases of a censoring curve followed up, intervals and tests are noted alike.
FEWEST_WORTH = 3  # Effective number of weighted cases; below it, 95% intervals held the truth in 0 to 60% of samples.
TOO_LITTLE = f"the cases are worth fewer than {FEWEST_WORTH} of equal weight"
VARIED = 1.5  # Events count by their effective number if their weights reduce it by this factor or more.
# Periods are noted if correlation reduces their number by this factor or more, and they are worth few
# (`studies/times`).
CORRELATED, FEWEST_PERIODS = 2.0, 40
ROUNDING = 1e-12  # Differences and spreads below this share of the values are rounding error.
NEIGHBOURS = "neighbouring periods count as independent"
INDEPENDENT = f"{NEIGHBOURS}: the interval may be too narrow"
DEPENDENT = 0.01  # A smaller p-value of the test of whether censoring depends on the forecasts is reported.
KNOWN_WEIGHTS = "with censoring weights taken as known"
WITHOUT = "without an interval"
IMAGINED = "with imagined outcomes"
NO_SPREAD = "nothing varies in the sample, so there is no interval"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Estimate(Result):
    """An estimate with its confidence limits; see `propriety.estimate`.

    Parameters
    ----------
    value : float
        The value in the sample; bias-corrected for miscalibration and discrimination.
    low, high : float
        Limits of the interval; NaN if the sample does not determine them, and `note` says why.
    standard_error : float
        Standard error of the value; for a bootstrap, the standard deviation of the draws.
    raw : float, optional
        For miscalibration and discrimination, the value before bias correction, as in `propriety.decompose`.
    level : float
        Level of the interval.
    method : str
        How the interval was computed.
    measure : Measure
        The measure that was estimated.
    n : int
        Number of cases.
    units : int
        Number of independent units: the cases, clusters or periods.
    note : str
        A caveat, if any.
    dropped : int
        Rows left out because of missing values.
    n_resamples, seed : int, optional
        Number and seed of the draws.
    """

    value: float
    low: float
    high: float
    standard_error: float
    level: float
    method: str
    measure: Measure
    n: int
    units: int
    raw: float | None = None
    note: str = ""
    dropped: int = 0
    n_resamples: int | None = None
    seed: int | None = None

    @property
    def is_without(self) -> bool:
        """Whether the interval is missing because it needs cases that are not available."""
        return self.method == WITHOUT

    @property
    def higher_is_better(self) -> bool | None:
        """Whether higher values are better; None for a function, which does not say so."""
        return self.measure.higher_is_better

    def _fields(self) -> dict[str, Any]:
        fields = Result._fields(self)
        return fields | {"measure": self.measure.key, "higher_is_better": self.higher_is_better}

    def _facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = {"value": self.value, "low": self.low, "high": self.high, "level": self.level}
        facts |= {"measure": self.measure.label, "method": self.method, "n": self.n}
        return facts | {name: value for name, value in (("note", self.note), ("dropped", self.dropped)) if value}


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


def few_in_words(
    events: tuple[int, int] | None,
    clusters: tuple[int, float] | None,
    inflation: float = 1.0,
    fewest: int = FEWEST,
    others: int | None = None,
    what: str = "the interval",
    cases: tuple[int, float] | None = None,
    effective: tuple[float, float] | None = None,
    periods: tuple[int, float] | None = None,
) -> str:
    """Say which numbers are too small for an interval to be reliable; "" if all are large enough.

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
    what : str
        Name of what may be too narrow.
    cases : (int, float), optional
        For independent cases with weights, their number, and their effective number if they were of equal weight.
    effective : (float, float), optional
        The effective numbers of events and of non-events.
    periods : (int, float), optional
        Number of periods, and the number of independent ones that would have the same error.

    Examples
    --------
    >>> few_in_words((60, 1), (50, 7.2))
    'based on 1 non-event and 50 clusters (worth 7 of equal size): the interval may be too narrow'
    >>> few_in_words((200, 9800), None, inflation=5.0)
    'based on 200 events (worth 40 independent ones): the interval may be too narrow'
    >>> few_in_words((100, 1900), None, fewest=10, effective=(21.4, 1900.0))
    'based on 100 events (worth 21 of equal weight): the interval may be too narrow'
    >>> few_in_words((200, 9800), None, periods=(60, 12.3))
    'based on 60 periods (worth 12 independent ones): the interval may be too narrow'
    """
    parts = []
    few_cases = cases is not None and round(cases[1]) < min(cases[0], FEWEST_CLUSTERS)
    numbers = list(zip(("event", "non-event"), events or (), strict=False))
    numbers += [] if others is None else [("case", others)]
    for name, number in numbers:
        if number / inflation < fewest:
            worth = max(round(number / inflation), 1)
            parts.append(
                counted(number, name)
                + " outside the most frequent class" * (name == "case")
                + (f" (worth {counted(worth, 'independent one')})" * (number > worth))
            )
        elif effective is not None and fewest and not few_cases:
            own = effective[name == "non-event"]
            if VARIED * own < number and own < FEWEST:
                parts.append(f"{counted(number, name)} (worth {own:.0f} of equal weight)")
    if clusters is not None and clusters[1] < FEWEST_CLUSTERS:
        number, equal = clusters
        parts.append(counted(number, "cluster") + f" (worth {equal:.0f} of equal size)" * (round(equal) < number))
    if cases is not None and few_cases:
        parts.append(f"{counted(cases[0], 'case')} (worth {cases[1]:.0f} of equal weight)")
    if periods is not None and periods[1] < min(FEWEST_PERIODS, periods[0] / CORRELATED):
        parts.append(f"{counted(periods[0], 'period')} (worth {counted(max(round(periods[1]), 1), 'independent one')})")
    listed = " and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))
    return too_narrow(f"based on {listed}", what) if parts else ""


def too_narrow(why: str, what: str = "the interval") -> str:
    """Say why an interval, or intervals, may be too narrow."""
    return f"{why}: {what} may be too narrow"


def of_intervals(note: str) -> str:
    """Return the note of one interval as a note of several.

    Examples
    --------
    >>> of_intervals(too_narrow("based on 3 events"))
    'based on 3 events: intervals may be too narrow'
    """
    return note.replace(too_narrow(""), too_narrow("", "intervals"))


def censoring_note(ledger: Ledger, consequence: str = "the interval may be too narrow") -> str:
    """Say if censoring depends on the forecasts, or if few cases are followed up until the horizon; "" if neither."""
    censoring, said = ledger.censoring, []
    if censoring is None or not censoring.is_estimated:
        return ""
    several = censoring.has_groups
    if censoring.followed < FEWEST_FOLLOWED:
        cases = f"based on {counted(censoring.followed, 'case')} followed up until {censoring.horizon:g}"
        said.append(f"{cases}{' in one of the groups' * several}: {consequence}")
    p_value = min(censoring.dependence.values(), default=1.0) * len(censoring.dependence)
    if p_value <= DEPENDENT and censoring.dependence:
        found = f"censoring depends on the forecasts{' within groups' * several} ({p_value_words(p_value)})"
        remedy = "finer groups= or weights=" if several else "forecast="
        said.append(f"{found}, which may bias the results: pass {remedy} to censored")
    return "; ".join(said)


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
    what: str = "the interval",
    independent_periods: float = math.nan,
) -> str:
    """Say which numbers are too small for an interval to be reliable; see `few_in_words`."""
    weights = _unit_weights(ledger) if ledger.dependence == "cluster" else None
    clusters = None if weights is None else (len(weights), effective_number(weights))
    periods = None if math.isnan(independent_periods) else (units_of(ledger), independent_periods)
    said = partial(few_in_words, clusters=clusters, inflation=inflation, fewest=fewest, what=what, periods=periods)
    weighted = _has_own_weights(ledger)
    if ledger.labels is not None and not weighted:
        return said(None, others=_beside_the_most_frequent(ledger))
    found = _counted(ledger)
    n, n_events = int(np.sum(found.n)), int(np.sum(found.n_events))
    cases = (n, _effective(found)) if weighted else None
    if ledger.labels is not None:
        return said(None, others=_beside_the_most_frequent(ledger), cases=cases)
    effective = effective_by_outcome(found) if weighted else None
    return said((n_events, n - n_events), cases=cases, effective=effective)


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
    **facts: Any,
) -> Estimate:
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
    note = ""
    if math.isinf(value):
        low = high = error = math.nan
        note = "an outcome with a forecast of 0 happened, so the mean is infinite"
    elif math.isnan(value):
        low = high = error = math.nan
        note = "the value is not a number"
    elif units == 1 or math.isnan(error):
        low = high = error = math.nan
        note = (
            "a single period has no spread"
            if ledger.dependence == "period"
            else "a single case or cluster has no spread"
        )
        note = note if units == 1 else "a single event, non-event or cluster has no spread"
    elif is_worth_too_little(ledger):
        low = high = error = math.nan
        note = f"{TOO_LITTLE}, too few for an interval"
    elif is_flat:
        low, high, error, note = math.nan, math.nan, 0.0, NO_SPREAD
    else:
        few_there = few(ledger, inflation=inflation, fewest=fewest, independent_periods=independent_periods)
        note = "; ".join(filter(None, (few_there, censoring_note(ledger))))
    return Estimate(
        value=value,
        low=low,
        high=high,
        standard_error=error,
        level=level,
        method=method,
        measure=measure,
        n=ledger.n,
        units=units,
        note=note,
        dropped=ledger.dropped,
        **facts,
    )


def without_limits(ledger: Ledger, measure: Measure, value: float, level: float, *, note: str = "") -> Estimate:
    """Return a value without an interval, which would need the cases unless a note gives another reason."""
    return Estimate(
        value=value,
        low=math.nan,
        high=math.nan,
        standard_error=math.nan,
        level=level,
        method="" if note else WITHOUT,
        measure=measure,
        n=ledger.n,
        units=units_of(ledger),
        note=note or f"an interval of this measure needs {ledger.where_cases_are}",
        dropped=ledger.dropped,
    )
