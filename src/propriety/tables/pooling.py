"""Cases pooled into distinct forecasts: the work behind making and merging a forecast table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from propriety.errors import InputValueError
from propriety.result import Floats
from propriety.tables.cases import CHUNK, Cases, Chunk

__all__ = ["checked", "pool", "pool_cases", "pool_counts", "running_sum"]


def checked(columns: dict[str, Floats]) -> dict[str, Floats]:
    """Return the columns of a table without the rows that have no weight, or refuse what is no table.

    Without squares of the weights events and non-events are counts, which are whole numbers.
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
        raise InputValueError(
            "must lie in [0, 1]", argument="forecast", offender=f"it spans {forecast[0]} to {forecast[-1]}"
        )
    weightless = False
    for start in range(0, len(forecast), CHUNK):  # In cache, so that a large table is checked in one trip.
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
            law, argument="forecast", offender=offender, hint="ForecastTable.from_predictions sorts and pools."
        )


def _refuse_weights(columns: dict[str, Floats], start: int) -> NoReturn:
    for name, weights in columns.items():
        bad = ~((weights >= 0.0) & (weights < np.inf))
        if bad.any():
            row, offender = start + int(bad.argmax()), f"is {weights[bad][0].item()!r}"
            raise InputValueError("must be finite and not negative", argument=name, row=row, offender=offender)
    raise InputValueError("events and non_events must have a finite sum")


def _is_whole(counts: Floats) -> bool:
    return bool((np.rint(counts) == counts).all())


def _refuse_counts(columns: dict[str, Floats], start: int) -> NoReturn:
    name, counts = next((name, counts) for name, counts in columns.items() if not _is_whole(counts))
    row = int((np.rint(counts) != counts).argmax())
    law = "must hold whole numbers, the counts of unweighted cases, where no squares of weights are given"
    hint = "pass event_squares, non_event_squares, n and n_events as well, or use ForecastTable.from_predictions."
    raise InputValueError(law, argument=name, row=start + row, offender=f"is {counts[row].item()!r}", hint=hint)


def pool(
    forecast: Floats, events: Floats, non_events: Floats, *squares: Floats, cells: int | None = None
) -> tuple[Floats, ...]:
    """Sort rows by forecast and add up those of equal forecasts; rows without weight are left out.

    With `cells` the rows of each cell of this grid are added up, and their forecast is the weighted mean of theirs;
    forecasts of exactly 0 and 1 stay rows of their own.

    Examples
    --------
    >>> pool(np.array([0.5, 0.0, 0.75]), np.array([1.0, 0.0, 2.0]), np.array([0.0, 1.0, 1.0]), cells=2)
    (array([0.    , 0.6875]), array([0., 3.]), array([1., 1.]))
    """
    heavy = (events > 0.0) | (non_events > 0.0)
    # A stable sort merges tables, which are runs in order already, in linear time.
    order = np.flatnonzero(heavy)[np.argsort(forecast[heavy], kind="stable")]
    columns = [column[order] for column in (events, non_events, *squares)]
    forecast = forecast[order] + 0.0  # Adding 0.0 turns -0.0 into 0.0.
    key = forecast if cells is None else np.where(forecast == 0.0, -1.0, np.floor(forecast * cells))
    first = np.flatnonzero(np.diff(key, prepend=-2.0))
    with np.errstate(over="ignore"):  # A table refuses sums that are no numbers.
        sums = [np.add.reduceat(column, first) for column in columns]
    if cells is None:
        return forecast[first], *sums
    mean = np.add.reduceat((columns[0] + columns[1]) * forecast, first) / (sums[0] + sums[1])
    last = np.append(first[1:], len(forecast)) - 1
    return np.clip(mean, forecast[first], forecast[last]), *sums  # A mean may round to beyond its cell.


def pool_counts(chunks: Iterable[Chunk], cases: int) -> tuple[Floats, Floats, Floats]:
    """Pool unweighted cases by sorting one integer key for each, which costs about an eighth of an argsort.

    The bits of a float in [0, 1], read as an integer, are in the order of the floats and leave the two
    highest bits free; shifted up by one they make room for the event.
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
    """Return the columns of the table of cases of one event, and with weights how many of them count."""
    if cases.weight is None:
        return pool_counts(cases.chunks(), len(cases)), {}
    forecast, happened, weight = cases.gathered()
    assert weight is not None  # noqa: S101  (for the type checker; there are weights)
    squares, other = weight * weight, ~happened
    columns = pool(forecast, weight * happened, weight * other, squares * happened, squares * other)
    return columns, {"n": int(np.count_nonzero(weight)), "n_events": int(np.count_nonzero(weight[happened]))}


def isotonic_starts(events: Floats, non_events: Floats) -> NDArray[np.intp]:
    """Return where the blocks of isotonic regression begin, and the number of rows: the vertices of a lower hull."""
    from scipy.optimize import isotonic_regression  # Imported here, because it takes most of the time of an import.

    weight = events + non_events
    start: NDArray[np.intp] = isotonic_regression(events / weight, weights=weight).blocks.astype(np.intp)
    while True:
        happened, not_happened = (np.add.reduceat(column, start[:-1]) for column in (events, non_events))
        # The running means of the regression round, so that blocks of one and the same rate can stay apart.
        # Rates made from the sums of a block do not, where weights are counts.
        rate = happened / (happened + not_happened)
        rises = rate[1:] > rate[:-1]
        if rises.all():
            return start
        start = start[np.concatenate([[True], rises, [True]])]


def running_sum(weight: Floats) -> Floats:
    """Return the sum of the weights up to each row, off by about as many roundings as the root of the rows.

    `numpy.cumsum` rounds once for each row, and of a million equal weights always to the same side. Here each block is
    summed by itself and then moved by the sum of those before it. The sums never fall.

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

    Runs are counted chunk by chunk in cache; the forecasts are written back over the keys that have been
    read, and a run that goes on into the next chunk is carried there as `open_events` and `open_cases`.
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
    """Return the first rows; a copy where that frees most of the memory behind them."""
    return column[:rows] if 2 * rows > len(column) else column[:rows].copy()
