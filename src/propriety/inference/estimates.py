"""What an estimate is: a value of a sample, the limits that hold the truth, and how they were made."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, logit, ndtri, stdtrit

from propriety.inference.measures import Measure
from propriety.ledger.ledger import Ledger
from propriety.results import Result

__all__ = [
    "INDEPENDENT",
    "NO_SPREAD",
    "Estimate",
    "counted",
    "few",
    "few_in_words",
    "limits_of",
    "make_estimate",
    "units_of",
    "without_limits",
]

FEWEST = {"cluster": 40, "event": 50, "non-event": 50}  # With fewer, an interval says that it may be too narrow.
ROUNDING = 1e-12  # Spreads below this share of the value are rounding error.
INDEPENDENT = "neighbours in time count as independent: it may be too narrow"
NO_SPREAD = "nothing varies in the sample: there is no spread to make an interval from"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Estimate(Result):
    """A number, and the limits that hold the truth as often as the level says; see `propriety.estimate`.

    Parameters
    ----------
    value : float
        The number in the sample; of miscalibration and discrimination, without the noise of the sample.
    low, high : float
        Limits of the interval; NaN where the sample does not tell, and `note` says why.
    standard_error : float
        Standard error of the value; for a bootstrap, the standard deviation of the draws.
    raw : float, optional
        For miscalibration and discrimination, the number with the noise of the sample, as in `propriety.decompose`.
    level : float
        Level of the interval.
    method : str
        How it was made.
    measure : Measure
        What was estimated.
    n : int
        Number of cases.
    units : int
        Number of independent units: the cases, clusters or times.
    note : str
        What to beware of; empty if nothing.
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
    def higher_is_better(self) -> bool:
        """Whether more of it is better."""
        return self.measure.higher_is_better

    def _fields(self) -> dict[str, Any]:
        fields = Result._fields(self)
        return fields | {"measure": self.measure.key, "higher_is_better": self.higher_is_better}

    def _facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = {"value": self.value, "low": self.low, "high": self.high, "level": self.level}
        facts |= {"measure": self.measure.label, "method": self.method, "n": self.n}
        return facts | {name: value for name, value in (("note", self.note), ("dropped", self.dropped)) if value}


def limits_of(value: float, error: float, df: float, level: float, scale: str = "identity") -> tuple[float, float]:
    """Return the limits of Student's interval, or the normal one for infinite `df`, made on a scale.

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


def counted(number: int, noun: str) -> str:
    """Say a number of things.

    Examples
    --------
    >>> counted(1, "case"), counted(1204, "cluster")
    ('1 case', '1,204 clusters')
    """
    return f"{number:,} {noun}" + "s" * (number != 1)


def few_in_words(numbers: Mapping[str, int | None]) -> str:
    """Say which of the numbers of clusters, events and non-events are too small to trust an interval; "" if none is.

    Examples
    --------
    >>> few_in_words({"cluster": 20, "event": 60, "non-event": 1})
    'rests on 20 clusters, 1 non-event: it may be too narrow'
    """
    parts = [counted(number, name) for name, number in numbers.items() if number is not None and number < FEWEST[name]]
    return f"rests on {', '.join(parts)}: it may be too narrow" if parts else ""


def units_of(ledger: Ledger) -> int:
    """Return the number of clusters or times with weight, or of cases; known moments tell it without the cases."""
    if ledger.dependence is None:
        return ledger.n
    if ledger.rules:
        return ledger.moments(ledger.rules[0]).units
    cases = ledger.cases
    if cases is None:
        return ledger.n
    keys = cases.cluster if ledger.dependence == "cluster" else cases.time
    assert keys is not None  # noqa: S101  (for the type checker; the ledger says that they are there)
    present = np.ones(len(cases), dtype=bool) if cases.weight is None else np.asarray(cases.weight) > 0.0
    return len(np.unique(keys.codes[present]))


def few(ledger: Ledger, units: int | None = None) -> str:
    """Say what there is too little of to trust an interval."""
    numbers: dict[str, int | None] = {"cluster": units if ledger.dependence == "cluster" else None}
    if ledger.labels is None:
        table = ledger.table(ledger.models[0])
        numbers |= {"event": table.n_events, "non-event": table.n - table.n_events}
    return few_in_words(numbers)


def make_estimate(
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
    **facts: Any,
) -> Estimate:
    """Make an interval; there is none of an infinite mean, of one unit, or where nothing varies."""
    low, high = limits_of(value, error, df, level, scale)
    note = ""
    if math.isinf(value):
        low = high = error = math.nan
        note = "what was called impossible happened: the mean is infinite"
    elif units == 1 or math.isnan(error):
        low = high = error = math.nan
        note = (
            "a single time has no spread" if ledger.dependence == "time" else "a single case or cluster has no spread"
        )
        note = note if units == 1 else "a single event, non-event or cluster has no spread"
    elif error * math.sqrt(units) <= ROUNDING * abs(value):
        low, high, error, note = math.nan, math.nan, 0.0, NO_SPREAD
    else:
        note = few(ledger, units)
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


def without_limits(ledger: Ledger, measure: Measure, value: float, level: float) -> Estimate:
    """Return a value whose interval cannot be had without the cases."""
    return Estimate(
        value=value,
        low=math.nan,
        high=math.nan,
        standard_error=math.nan,
        level=level,
        method="without an interval",
        measure=measure,
        n=ledger.n,
        units=units_of(ledger),
        note=ledger.why_no_cases("an interval"),
        dropped=ledger.dropped,
    )
