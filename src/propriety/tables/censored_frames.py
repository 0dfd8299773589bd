"""`censored_frame`: outcomes by a horizon and their weights as columns of a lazy frame, computed by its engine."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import narwhals as nw
import numpy as np
from narwhals.typing import IntoFrame
from numpy.typing import NDArray

from propriety.checks import is_number
from propriety.errors import InputTypeError, InputValueError, UnsupportedOperationError
from propriety.result import Result
from propriety.tables.censoring import Censoring
from propriety.tables.frames import known
from propriety.tables.laws import beyond_follow_up
from propriety.tables.queries import Lazy, encoded, engine_of, fetched, flag, is_missing, named_columns

MISSING, INVALID = -2, -1  # Codes of rows that are rejected.
OUTCOME, WEIGHT, STEP = "outcome_by_horizon", "censoring_weight", "censoring_step"
MOST_STEPS = 2**17  # Sums by step are computed for no more steps of the censoring curves.
# Columns that are added and removed again.
OWN = ("_censoring_group", "_censoring_time", "_censoring_event", "_censoring_censored", "_censoring_curve")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class CensoredFrame(Result):
    """A lazy frame with the outcome by a horizon and its weight; see `propriety.censored_frame`.

    It takes the place of a frame and its `outcome` in `condense`, `evaluate`, `estimate`, `compare` and `slices`.

    Parameters
    ----------
    horizon : float
        Time by which the event is forecast.
    events, competing, censored, event_free : int
        Number of cases with the event by the horizon, with a competing event by then, censored before it, and still
        followed up without any event.
    n : int
        Number of cases.
    outcome, weight, step : str
        Names of the new columns: 0 or 1; the weight, which is 0 if the outcome is unknown; and the number of the last
        step of the censoring curve that the case passed, by which standard errors allow for the estimated weights.
    """

    horizon: float
    events: int
    competing: int
    censored: int
    event_free: int
    n: int
    outcome: str = OUTCOME
    weight: str = WEIGHT
    step: str = STEP
    censoring: Censoring = field(metadata={"hidden": True})
    native: Any = field(metadata={"hidden": True})

    @property
    def frame(self) -> Any:
        """The lazy frame with the new columns, for the library it came from."""
        return self.native


def censored_frame(
    frame: IntoFrame, *, time: str, event: str, horizon: float, competing: str | None = None, groups: str | None = None
) -> CensoredFrame:
    """Add the outcome by a horizon, and weights for censored cases, to a lazy frame.

    The weights are those of `propriety.censored`. The engine counts the cases at each time, computes the censoring
    curve by running sums over these counts, and joins it to the rows; one query here checks the columns and counts the
    outcomes. Pass the result in place of a frame: ``condense(found, ["p"])`` runs two more queries, or three if it has
    keys and more than 2**22 forecasts.

    Standard errors of scores, skill and observed/expected, and of differences in scores and skill between models, allow
    for the estimated weights, as long as the censoring curves have fewer than 2**17 steps: round times if they have
    more. If the frame is small enough to load its cases into memory, this holds for all measures. Other intervals treat
    the weights as known, which for scores makes them slightly too wide, and their `method` says so. Sample weights,
    clusters and times are not supported here. Whether censoring depends on the forecasts is not tested, so no note
    reports it: ``censored(...).dependence(p)`` tests it on a sample of the rows.

    Parameters
    ----------
    frame : lazy frame
        One row per case: Polars, DuckDB, Spark, or Ibis and the databases behind it.
    time, event, competing, groups : str
        Columns with the time at which follow-up ended; whether it ended with the event, as 0/1 or booleans; whether it
        ended with a competing event; and the groups that have a censoring curve of their own.
    horizon : float
        The time by which the event is forecast, not after the last time of all cases unless none is censored.

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
    >>> ledger = pr.condense(found, ["p"])
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
    if rows.implementation.is_dask():
        raise UnsupportedOperationError("dask cannot compute a censoring curve", hint="use Polars, DuckDB or Spark.")
    if taken := [name for name in (OUTCOME, WEIGHT, STEP, *OWN) if name in rows.collect_schema()]:
        raise InputValueError(f"must have no column called {taken[0]!r}", argument="frame")
    cast = _cast(rows, time, event, competing, groups)
    curves = _curves(cast, float(horizon))
    counts, censoring = _counted(curves, float(horizon))
    joined = curves.select("_censoring_group", "_censoring_time", "_censoring_curve", STEP)
    weighted = cast.join(joined, on=["_censoring_group", "_censoring_time"], how="left")
    is_known = (nw.col("_censoring_time") >= horizon) | ~nw.col("_censoring_censored")
    weight = nw.when(is_known).then((0.0 - nw.col("_censoring_curve")).exp()).otherwise(0.0)
    happened = nw.when((nw.col("_censoring_time") <= horizon) & (nw.col("_censoring_event") == 1)).then(1).otherwise(0)
    found = weighted.with_columns(**{OUTCOME: happened, WEIGHT: weight})
    kept = [name for name in found.collect_schema() if name not in OWN]
    kept = [name for name in kept if name != STEP] + [STEP]
    return CensoredFrame(horizon=float(horizon), **counts, censoring=censoring, native=found.select(*kept).to_native())


def _cast(rows: Lazy, time: str, event: str, competing: str | None, groups: str | None) -> Lazy:
    """Add the time, the event, whether the case is censored, and the group, under names of their own."""
    names = {"time": time, "event": event, "competing": competing, "groups": groups}
    given = {argument: name for argument, name in names.items() if name is not None}
    for argument, name in given.items():
        if not isinstance(name, str):
            raise InputTypeError("must name a column", argument=argument, offender=f"got {type(name).__name__}")
    frame, columns = named_columns(rows, list(dict.fromkeys(given.values())))
    number = {argument: columns[name].number(argument) for argument, name in given.items() if argument != "groups"}
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
    """Return the cases at each time of each group, with the negative log-weight and the number of the step there.

    Steps are numbered over all groups as in `propriety.tables.censoring.CensoringCurves.slot`.
    """
    time, event, gone = nw.col("_censoring_time"), nw.col("_censoring_event"), nw.col("_censoring_censored")
    counted = {
        "_leaving": gone,
        "missing": event == MISSING,
        "times": (event != MISSING) & ((time < 0.0) | (time == float("inf"))),
        "flags": event == INVALID,
        "events": (event == 1) & (time <= horizon),
        "competing": (event == 2) & (time <= horizon),
        "censored": gone & (time < horizon),
    }
    counts = (
        cases.select("_censoring_group", "_censoring_time", **{name: flag(one) for name, one in counted.items()})
        .group_by("_censoring_group", "_censoring_time")
        .agg(*(nw.col(name).sum() for name in counted), nw.len().cast(nw.Float64).alias("n"))
    )
    counts = counts.with_columns(
        _past=nw.col("n").cum_sum().over("_censoring_group", order_by="_censoring_time"),
        _all=nw.col("n").sum().over("_censoring_group"),
        _whole=nw.lit(0),
    )
    # At tied times events come first, so that they are not at risk of censoring.
    counts = counts.with_columns(
        _at_risk=nw.col("_all") - nw.col("_past") + nw.col("_leaving"),
        _is_step=flag((time < horizon) & (nw.col("_leaving") > 0.0)),
        _is_first=flag(nw.col("_past") == nw.col("n")),
    )
    leaving, at_risk = nw.col("_leaving"), nw.col("_at_risk")
    falls = (nw.col("_is_step") > 0.0) & (at_risk > leaving)
    counts = counts.with_columns(
        _step=nw.when(falls).then((1.0 - leaving / at_risk).log()).otherwise(0.0),
        factor=nw.when(falls).then(leaving / (at_risk * (at_risk - leaving))).otherwise(0.0),
        _begun=nw.col("_is_step") + nw.col("_is_first"),
    )
    curve = nw.col("_step").cum_sum().over("_censoring_group", order_by="_censoring_time") - nw.col("_step")
    begun = nw.col("_begun").cum_sum().over("_whole", order_by=["_censoring_group", "_censoring_time"])
    return counts.with_columns(**{"_censoring_curve": curve, STEP: (begun - nw.col("_is_step") - 1.0).cast(nw.Int64)})


def _counted(curves: Lazy, horizon: float) -> tuple[dict[str, Any], Censoring]:
    """Check the rows, count the outcomes and return the steps of the censoring curves, in one query."""
    time, leaving = nw.col("_censoring_time"), nw.col("_leaving")
    sums = ("missing", "times", "flags", "events", "competing", "censored", "n", "factor", "_is_step")
    last = {
        "last_event": nw.when(nw.col("n") > leaving).then(time).otherwise(-1.0),
        "last_censored": nw.when(leaving > 0.0).then(time).otherwise(-1.0),
    }
    step = nw.when(nw.col(STEP) < MOST_STEPS).then(nw.col(STEP)).otherwise(MOST_STEPS)
    query = (
        curves.with_columns(**last, **{STEP: step})
        .group_by("_censoring_group", STEP)
        .agg(*(nw.col(name).sum() for name in sums), *(nw.col(name).max() for name in last))
    )
    table = fetched(query)
    column = {name: table.column(name).to_numpy().astype(np.float64) for name in (*sums, *last, STEP)}
    rows = int(column["n"].sum())
    if not rows:
        raise InputValueError("must hold at least one case", argument="frame")
    for name, argument, law, words in (
        ("missing", "", "time, event, competing and groups must not hold missing values", "{} of {} rows do"),
        ("times", "time", "must be finite and not negative", "{} of {} rows are not"),
        ("flags", "event", "must hold 0 and 1, and no case both the event and a competing one", "{} of {} rows do not"),
    ):
        if wrong := int(column[name].sum()):
            raise InputValueError(law, argument=argument, offender=words.format(f"{wrong:,}", f"{rows:,}"))
    labels, group = encoded(table.column("_censoring_group"))
    whole = {name: np.bincount(group, column[name], minlength=len(labels)) for name in (*sums[3:7], "_is_step")}
    latest = max(float(column[name].max()) for name in last)
    if latest < horizon and whole["censored"].any():
        raise beyond_follow_up("horizon", horizon, latest)
    for place, label in enumerate(labels):
        event_at, censored_at = (float(column[name][group == place].max()) for name in last)
        if event_at <= censored_at < horizon:
            raise beyond_follow_up("horizon", horizon, censored_at, group=repr(label))
    free = whole["n"] - whole["events"] - whole["competing"] - whole["censored"]
    found = {name: int(whole[name].sum()) for name in sums[3:7]} | {"event_free": int(free.sum())}
    steps = _steps(column, group, whole["_is_step"].astype(np.intp))
    return found, Censoring(np.zeros(0, dtype=np.intp), *steps, rows, horizon, int(free.min()))


def _steps(
    column: dict[str, Any], group: NDArray[np.intp], falls: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return the factor of each step and the last step of its group; see `Censoring`."""
    slots = int(falls.sum()) + len(falls)
    if slots > MOST_STEPS:
        return np.array([np.nan]), np.zeros(1, dtype=np.intp)
    step = column[STEP].astype(np.intp)
    first = np.full(len(falls), slots)
    np.minimum.at(first, group, step)
    order = np.argsort(first)
    factor = np.bincount(step, column["factor"], minlength=slots).astype(np.float64)
    return factor, np.repeat((first + falls)[order], (falls + 1)[order])


def sampled_rows(frame: Lazy, share: float, seed: int) -> Lazy:
    """Return a frame of about a share of the rows, each kept independently; all of them if the share is 1 or more.

    Engines draw with their own generators. Those that read in parallel, and databases behind Ibis, may draw other rows
    from the same seed.
    """
    if share >= 1.0:
        return frame
    native: Any = frame.to_native()
    kind = frame.implementation
    if kind.is_duckdb():
        percent = f"{100.0 * share:.10f}"
        drawn = native.query("cases", f"SELECT * FROM cases USING SAMPLE {percent} PERCENT (bernoulli, {seed % 2**31})")  # noqa: S608  # nosec B608  (numbers)
    elif kind.is_polars():
        import polars as pl

        drawn = native.filter(pl.int_range(pl.len()).hash(seed) < round(share * 2**64))
    elif kind.is_dask():
        drawn = native.sample(frac=share, random_state=seed % 2**32)
    elif kind.is_ibis():
        drawn = native.sample(share)
    else:
        drawn = native.sample(share, seed=seed)
    rows: Lazy = nw.from_native(drawn)
    return rows
