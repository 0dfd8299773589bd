"""`censored_frame`: outcomes by a horizon and their weights as columns of a lazy frame, computed by its engine."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import narwhals as nw
from narwhals.typing import IntoFrame

from propriety.checks import is_number
from propriety.errors import InputTypeError, InputValueError
from propriety.result import Result
from propriety.tables.frames import known
from propriety.tables.lazy_columns import named_columns
from propriety.tables.queries import Lazy, engine_of, fetched, is_missing

__all__ = ["CensoredFrame", "censored_frame"]

MISSING, INVALID = -2, -1  # Codes of rows that are rejected.
OUTCOME, WEIGHT = "outcome_by_horizon", "censoring_weight"
# Columns that are added and removed again.
OWN = ("_censoring_group", "_censoring_time", "_censoring_event", "_censoring_censored", "_censoring_curve")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class CensoredFrame(Result):
    """A lazy frame with the outcome by a horizon and its weight; see `propriety.censored_frame`.

    Parameters
    ----------
    horizon : float
        Time by which the event is forecast.
    events, competing, censored, event_free : int
        Number of cases with the event by the horizon, with a competing event by then, censored before it, and still
        followed up without any event.
    n : int
        Number of cases.
    outcome, weight : str
        Names of the new columns: 0 or 1, and the weight, which is 0 if the outcome is unknown.
    """

    horizon: float
    events: int
    competing: int
    censored: int
    event_free: int
    n: int
    outcome: str = OUTCOME
    weight: str = WEIGHT
    native: Any = field(metadata={"hidden": True})

    @property
    def frame(self) -> Any:
        """The lazy frame with the two columns, for the library it came from."""
        return self.native


def censored_frame(
    frame: IntoFrame, *, time: str, event: str, horizon: float, competing: str | None = None, groups: str | None = None
) -> CensoredFrame:
    """Add the outcome by a horizon, and weights for censored cases, to a lazy frame.

    The weights are those of `propriety.censored`. The engine counts the cases at each time, computes the censoring
    curve by running sums over these counts, and joins it to the rows; one query here checks the columns and counts the
    outcomes. Pass the result as any frame with weights: ``condense(found.frame, ["p"], outcome=found.outcome,
    sample_weight=found.weight)``. Intervals then treat the weights as known, which for scores makes them slightly too
    wide. Whether censoring depends on the forecasts is not tested here, so no note reports it:
    ``censored(...).dependence(p)`` tests it on a sample of the rows.

    Parameters
    ----------
    frame : lazy frame
        One row per case: Polars, DuckDB, Spark, or Ibis and the databases behind it.
    time, event, competing, groups : str
        Columns with the time at which follow-up ended; whether it ended with the event, as 0/1 or booleans; whether it
        ended with a competing event; and the groups that have a censoring curve of their own.
    horizon : float
        The time by which the event is forecast.

    Returns
    -------
    CensoredFrame
        It has the `frame`, the names of its new columns, and the numbers of outcomes.

    Examples
    --------
    >>> import polars as pl, propriety as pr
    >>> frame = pl.LazyFrame({"t": [1, 2, 3, 4], "died": [1, 0, 1, 0], "p": [0.6, 0.2, 0.5, 0.1]})
    >>> found = censored_frame(frame, time="t", event="died", horizon=3.5)
    >>> found
    CensoredFrame(horizon=3.5, events=2, competing=0, censored=1, event_free=1, n=4, ...)
    >>> ledger = pr.condense(found.frame, ["p"], outcome=found.outcome, sample_weight=found.weight)
    >>> round(ledger.table("p").event_rate, 4)
    0.625
    """
    if not is_number(horizon) or not 0.0 < horizon < float("inf"):
        raise InputValueError("must be a positive number", argument="horizon", offender=f"got {horizon!r}")
    rows = known(frame)
    if not isinstance(rows, nw.LazyFrame):
        hint = "pass the columns of an eager frame to censored."
        raise InputTypeError(
            "must be a lazy frame", argument="frame", offender=f"got {type(frame).__name__}", hint=hint
        )
    if taken := [name for name in (OUTCOME, WEIGHT, *OWN) if name in rows.collect_schema()]:
        raise InputValueError(f"must have no column called {taken[0]!r}", argument="frame")
    cast = _cast(rows, time, event, competing, groups)
    counts = _counted(cast, float(horizon))
    weighted = cast.join(_curves(cast, float(horizon)), on=["_censoring_group", "_censoring_time"], how="left")
    is_known = (nw.col("_censoring_time") >= horizon) | ~nw.col("_censoring_censored")
    weight = nw.when(is_known).then((0.0 - nw.col("_censoring_curve")).exp()).otherwise(0.0)
    happened = nw.when((nw.col("_censoring_time") <= horizon) & (nw.col("_censoring_event") == 1)).then(1).otherwise(0)
    found = weighted.with_columns(**{OUTCOME: happened, WEIGHT: weight})
    kept = [name for name in found.collect_schema() if name not in OWN]
    return CensoredFrame(horizon=float(horizon), **counts, native=found.select(*kept).to_native())


def _cast(rows: Lazy, time: str, event: str, competing: str | None, groups: str | None) -> Lazy:
    """Add the time, the event, whether the case is censored, and the group, under names of their own."""
    names = {"time": time, "event": event, "competing": competing, "groups": groups}
    given = {argument: name for argument, name in names.items() if name is not None}
    for argument, name in given.items():
        if not isinstance(name, str):
            raise InputTypeError("must name a column", argument=argument, offender=f"got {type(name).__name__}")
    frame, columns = named_columns(rows, list(dict.fromkeys(given.values())))
    number = {argument: columns[name].values.cast(nw.Float64) for argument, name in given.items() if name != groups}
    happened, engine = number["event"], engine_of(rows)
    other = happened * 0.0 if competing is None else number["competing"]
    absent = is_missing(number["time"], engine) | is_missing(happened, engine) | is_missing(other, engine)
    group = nw.lit(0) if groups is None else columns[groups].values
    code = nw.when((happened == 0.0) & (other == 1.0)).then(2).otherwise(INVALID)
    code = nw.when((happened == 1.0) & (other == 0.0)).then(1).otherwise(code)
    code = nw.when((happened == 0.0) & (other == 0.0)).then(0).otherwise(code)
    return frame.with_columns(
        _censoring_time=number["time"],
        _censoring_event=nw.when(absent if groups is None else absent | group.is_null()).then(MISSING).otherwise(code),
        _censoring_group=group,
    ).with_columns(_censoring_censored=nw.col("_censoring_event") == 0)


def _curves(cases: Lazy, horizon: float) -> Lazy:
    """Return the negative log-weight at each time of each group: running sums over the counts of cases by time."""
    counts = cases.group_by("_censoring_group", "_censoring_time").agg(
        _leaving=nw.col("_censoring_censored").cast(nw.Float64).sum(),
        _all=(nw.col("_censoring_time") * 0.0 + 1.0).sum(),
    )
    counts = counts.with_columns(
        _past=nw.col("_all").cum_sum().over("_censoring_group", order_by="_censoring_time"),
        _n=nw.col("_all").sum().over("_censoring_group"),
    )
    # At tied times events come first, so that they are not at risk of censoring.
    at_risk = nw.col("_n") - nw.col("_past") + nw.col("_leaving")
    is_step = (nw.col("_censoring_time") < horizon) & (nw.col("_leaving") > 0.0)
    step = nw.when(is_step & (at_risk > nw.col("_leaving"))).then((1.0 - nw.col("_leaving") / at_risk).log())
    counts = counts.with_columns(_step=step.otherwise(0.0))
    curve = nw.col("_step").cum_sum().over("_censoring_group", order_by="_censoring_time") - nw.col("_step")
    return counts.with_columns(_censoring_curve=curve).select("_censoring_group", "_censoring_time", "_censoring_curve")


def _counted(cases: Lazy, horizon: float) -> dict[str, Any]:
    """Check the rows and count the outcomes, in one query."""
    time, event, gone = nw.col("_censoring_time"), nw.col("_censoring_event"), nw.col("_censoring_censored")
    whole = {
        "missing": event == MISSING,
        "times": (event != MISSING) & ((time < 0.0) | (time == float("inf"))),
        "flags": event == INVALID,
        "events": (event == 1) & (time <= horizon),
        "competing": (event == 2) & (time <= horizon),
        "censored": gone & (time < horizon),
    }
    last = {
        "last_event": nw.when(~gone).then(time).otherwise(-1.0),
        "last_censored": nw.when(gone).then(time).otherwise(-1.0),
    }
    sums = {name: nw.when(one).then(1).otherwise(0) for name, one in whole.items()}
    query = (
        cases.with_columns(**sums, **last)
        .group_by("_censoring_group")
        .agg(*(nw.col(name).sum() for name in whole), *(nw.col(name).max() for name in last), n=nw.len())
    )
    table = fetched(query).to_pydict()
    for name, argument, law in (
        ("missing", "", "time, event, competing and groups must not hold missing values"),
        ("times", "time", "must be finite and not negative"),
        ("flags", "event", "must hold 0 and 1, and no case both the event and a competing one"),
    ):
        if wrong := sum(table[name]):
            raise InputValueError(law, argument=argument, offender=f"{wrong:,} of {sum(table['n']):,} rows do not")
    for group, event_at, censored_at in zip(
        table["_censoring_group"], table["last_event"], table["last_censored"], strict=True
    ):
        if event_at <= censored_at < horizon:
            where = "" if len(table["_censoring_group"]) == 1 else f" in group {group!r}"
            law = f"must be within the follow-up; nobody is followed up until {horizon:g}{where}"
            hint = "use an earlier horizon."
            raise InputValueError(law, argument="horizon", offender=f"the last time is {censored_at:g}", hint=hint)
    found = {name: int(sum(table[name])) for name in ("events", "competing", "censored", "n")}
    return found | {"event_free": found["n"] - found["events"] - found["competing"] - found["censored"]}
