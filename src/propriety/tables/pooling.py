"""Pooling cases into distinct forecasts, to make and merge forecast tables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from propriety import demands
from propriety.errors import InputValueError
from propriety.result import Floats
from propriety.tables.cases import CHUNK, Cases, Chunk

MANY_ROWS = 500_000  # In all passes; merging fewer takes less time than the import of SciPy's regression.
PASS = 10_000  # A pass takes at least the time of this many rows.


def checked(columns: dict[str, Floats]) -> dict[str, Floats]:
    """Return the columns of a table without the rows of zero weight, or raise an error if they are invalid.

    Without squares of the weights, events and non-events are counts and must be whole numbers.
    """
    forecast, events, non_events, *squares = columns.values()
    if not len(forecast) == len(events) == len(non_events):
        lengths = f"lengths are {len(forecast)}, {len(events)} and {len(non_events)}"
        raise InputValueError("forecast, events and non_events must be equally long", offender=lengths)
    if any(len(column) != len(forecast) for column in squares):
        lengths = f"lengths are {len(squares[0])} and {len(squares[1])}"
        law = f"event_squares and non_event_squares must be as long as forecast, {len(forecast)} rows"
        raise InputValueError(law, offender=lengths)
    if not len(forecast):
        raise InputValueError("a table must hold at least one case; it is empty")
    if not (forecast[0] >= 0.0 and forecast[-1] <= 1.0):
        raise InputValueError(demands.UNIT, argument="forecast", offender=f"it spans {forecast[0]} to {forecast[-1]}")
    weightless = False
    for start in range(0, len(forecast), CHUNK):  # In chunks that fit in cache.
        part = slice(start, start + CHUNK)
        _check_order(forecast[start : start + CHUNK + 1], start)
        weight = events[part] + non_events[part]
        if not (events[part].min() >= 0.0 and non_events[part].min() >= 0.0 and weight.max() < np.inf):
            _refuse_weights({"events": events[part], "non_events": non_events[part]}, start)
        if not squares and not (_is_whole(events[part]) and _is_whole(non_events[part])):
            _refuse_counts({"events": events[part], "non_events": non_events[part]}, start)
        weightless |= weight.min() == 0.0
    if not weightless:
        return columns
    heavy = (events > 0.0) | (non_events > 0.0)
    if not heavy.any():
        raise InputValueError("a table must hold at least one case; its weights are all zero")
    return {name: column[heavy] for name, column in columns.items()}


def _check_order(forecast: Floats, start: int) -> None:
    rising = forecast[1:] > forecast[:-1]
    if not rising.all():
        row = start + int(rising.argmin())
        law = "must be strictly increasing"
        offender = f"row {row + 1} does not exceed row {row}"
        raise InputValueError(
            law, argument="forecast", offender=offender, hint="ForecastTable.from_predictions sorts and pools them."
        )


def _refuse_weights(columns: dict[str, Floats], start: int) -> NoReturn:
    for name, weights in columns.items():
        bad = ~((weights >= 0.0) & (weights < np.inf))
        if bad.any():
            row, offender = start + int(bad.argmax()), f"is {weights[bad][0].item()!r}"
            raise InputValueError(demands.WEIGHT, argument=name, row=row, offender=offender)
    raise InputValueError("events and non_events must have a finite sum")


def _is_whole(counts: Floats) -> bool:
    return bool((np.rint(counts) == counts).all())


def _refuse_counts(columns: dict[str, Floats], start: int) -> NoReturn:
    name, counts = next((name, counts) for name, counts in columns.items() if not _is_whole(counts))
    row = int((np.rint(counts) != counts).argmax())
    law = "must hold whole numbers, the counts of unweighted cases, unless squares of weights are given"
    hint = "pass event_squares, non_event_squares, n and n_events as well, or use ForecastTable.from_predictions."
    raise InputValueError(law, argument=name, row=start + row, offender=f"is {counts[row].item()!r}", hint=hint)


def pool(
    forecast: Floats, events: Floats, non_events: Floats, *squares: Floats, cells: int | None = None
) -> tuple[Floats, ...]:
    """Sort rows by forecast and add up those with equal forecasts; rows of zero weight are left out.

    With `cells`, the rows in each cell of this grid are added up, and their forecast is the weighted mean. Forecasts of
    exactly 0 and 1 stay rows of their own.

    Examples
    --------
    >>> pool(np.array([0.5, 0.0, 0.75]), np.array([1.0, 0.0, 2.0]), np.array([0.0, 1.0, 1.0]), cells=2)
    (array([0.    , 0.6875]), array([0., 3.]), array([1., 1.]))
    """
    heavy = (events > 0.0) | (non_events > 0.0)
    # A stable sort merges tables, whose rows are sorted already, in linear time.
    order = np.flatnonzero(heavy)[np.argsort(forecast[heavy], kind="stable")]
    columns = [column[order] for column in (events, non_events, *squares)]
    forecast = forecast[order] + 0.0  # Adding 0.0 turns -0.0 into 0.0.
    key = forecast if cells is None else np.where(forecast == 0.0, -1.0, np.floor(forecast * cells))
    first = np.flatnonzero(np.diff(key, prepend=-2.0))
    with np.errstate(over="ignore"):  # A table rejects infinite sums.
        sums = [np.add.reduceat(column, first) for column in columns]
    if cells is None:
        return forecast[first], *sums
    mean = np.add.reduceat((columns[0] + columns[1]) * forecast, first) / (sums[0] + sums[1])
    last = np.append(first[1:], len(forecast)) - 1
    return np.clip(mean, forecast[first], forecast[last]), *sums  # Rounding may move a mean out of its cell.


def pool_counts(chunks: Iterable[Chunk], cases: int) -> tuple[Floats, Floats, Floats]:
    """Pool unweighted cases by sorting one integer key per case, which takes about an eighth of the time of an argsort.

    The bits of floats in [0, 1], read as integers, sort as the floats do and leave the two highest bits free. Shifting
    them up by one makes room for the event.
    """
    keys = np.empty(cases, dtype=np.int64)
    start = 0
    for forecast, event, _ in chunks:
        key = (forecast + 0.0).view(np.int64)  # Adding 0.0 copies, and turns -0.0 into 0.0.
        key <<= 1
        key |= event
        keys[start : start + len(key)] = key
        start += len(key)
    keys.sort()
    return _count_runs(keys)


def pool_cases(cases: Cases) -> tuple[tuple[Floats, ...], dict[str, int]]:
    """Return the columns of the forecast table of one event and, with weights, the numbers of cases and events."""
    if cases.weight is None:
        return pool_counts(cases.chunks(), len(cases)), {}
    forecast, happened, weight = cases.gathered()
    assert weight is not None  # noqa: S101  (for the type checker; there are weights)
    squares, other = weight * weight, ~happened
    columns = pool(forecast, weight * happened, weight * other, squares * happened, squares * other)
    return columns, {"n": int(np.count_nonzero(weight)), "n_events": int(np.count_nonzero(weight[happened]))}


def isotonic_starts(events: Floats, non_events: Floats, draw: NDArray[np.intp] | None = None) -> NDArray[np.intp]:
    """Return the first row of each block of isotonic regression, and the number of rows at the end.

    Rows that differ in `draw`, which never decreases, are in different blocks. Each pass merges all neighbours whose
    rates do not rise. Most passes halve the rows or more, but some tables need as many passes as rows, so SciPy's
    regression takes over after `MANY_ROWS`. Rates are computed from the sums of a block, which are exact if the weights
    are counts; the regression rounds its running means, so passes follow it too.

    Examples
    --------
    >>> isotonic_starts(np.array([0.0, 1.0, 0.0, 1.0]), np.array([1.0, 0.0, 1.0, 0.0]))
    array([0, 1, 3, 4])
    """
    start: NDArray[np.intp] = np.arange(len(events))
    rows = len(events)
    seen = 0
    while True:
        weight = events + non_events
        rate = events / weight
        if draw is not None:
            rate += 2.0 * draw
        rises = np.empty(len(rate), dtype=bool)
        rises[0] = True
        np.greater(rate[1:], rate[:-1], out=rises[1:])
        if rises.all():
            return np.append(start, rows)
        kept = np.flatnonzero(rises)
        before, seen = seen, seen + len(events) + PASS
        if before < MANY_ROWS <= seen:
            from scipy.optimize import isotonic_regression  # Imported here, because it is slow to import.

            kept = isotonic_regression(rate, weights=weight).blocks[:-1].astype(np.intp)
        start = start[kept]
        events, non_events = np.add.reduceat(events, kept), np.add.reduceat(non_events, kept)
        draw = None if draw is None else draw[kept]


def running_sum(weight: Floats) -> Floats:
    """Return the cumulative sum of the weights, with a rounding error that grows as the square root of the rows.

    `numpy.cumsum` rounds once per row, and for a million equal weights always in the same direction. Here each block is
    summed by itself and then shifted by the sum of the blocks before it. The result never decreases.

    Examples
    --------
    >>> running_sum(np.array([1.0, 2.0, 3.0, 4.0, 5.0]))
    array([ 1.,  3.,  6., 10., 15.])
    """
    width = 1 << (len(weight).bit_length() // 2)
    whole = len(weight) // width * width
    sums = np.empty(len(weight))
    blocks = sums[:whole].reshape(-1, width)
    np.cumsum(weight[:whole].reshape(-1, width), axis=1, out=blocks)
    before = np.cumsum(blocks[:, -1])
    blocks[1:] += before[:-1, None]
    np.cumsum(weight[whole:], out=sums[whole:])
    sums[whole:] += before[-1] if len(before) else 0.0
    return sums


def _count_runs(keys: NDArray[np.int64]) -> tuple[Floats, Floats, Floats]:
    """Return forecast, events and non-events of each run of equal forecasts; `keys` is overwritten.

    Runs are counted chunk by chunk in cache. The forecasts overwrite the keys that have been read, and a run that
    continues in the next chunk is carried over as `open_events` and `open_cases`.
    """
    forecast = keys.view(np.float64)
    events, non_events = np.empty(len(keys)), np.empty(len(keys))
    open_events = open_cases = rows = 0
    for start in range(0, len(keys), CHUNK):
        chunk = keys[start : start + CHUNK]
        event, bits = chunk & 1, chunk >> 1
        following = keys[start + len(chunk) : start + len(chunk) + 1] >> 1
        is_last = np.append(bits[1:] != bits[:-1], len(following) == 0 or following[0] != bits[-1])
        if open_cases == 0 and is_last.all():  # The common case of continuous forecasts: every run is one case.
            here = slice(rows, rows + len(chunk))
            forecast[here], events[here], non_events[here] = bits.view(np.float64), event, 1 - event
            rows += len(chunk)
            continue
        last, counted = np.flatnonzero(is_last), np.cumsum(event)
        if len(last) == 0:
            open_events, open_cases = open_events + counted[-1], open_cases + len(chunk)
            continue
        here = slice(rows, rows + len(last))
        forecast[here] = bits[last].view(np.float64)
        events[here] = np.diff(counted[last], prepend=-open_events)
        non_events[here] = np.diff(last, prepend=-1 - open_cases) - events[here]
        open_events, open_cases = counted[-1] - counted[last[-1]], len(chunk) - 1 - last[-1]
        rows += len(last)
    return tuple(_trimmed(column, rows) for column in (forecast, events, non_events))  # type: ignore[return-value]  # three


def _trimmed(column: Floats, rows: int) -> Floats:
    """Return the first rows, copied if that frees most of the memory."""
    return column[:rows] if 2 * rows > len(column) else column[:rows].copy()
