"""The numbers of every monitored stream on every day."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from propriety.errors import InputValueError
from propriety.ledger.ledger import Ledger
from propriety.products.monitoring.states import RESTART, DayRows
from propriety.products.monitoring.times import label_in_words
from propriety.result import Floats, Result

if TYPE_CHECKING:
    from propriety.products.monitoring.ledger_monitor import LedgerMonitor

NUMBERS = tuple(one.name for one in fields(DayRows) if one.name != "time")


class StoredDay(NamedTuple):
    """The file of a day, and its checksum."""

    path: Path
    checksum: str


Block: TypeAlias = DayRows | StoredDay
SAME = 1e-6  # Relative difference between sums of the same forecasts, which engines add in another order.


class DayTotals(NamedTuple):
    """Cases, event rate and mean forecast of each time."""

    n: Floats
    event_rate: Floats
    mean_forecast: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class MonitoredDays(Result):
    """The numbers of each stream on each day, one row each.

    Parameters
    ----------
    labels : mapping of str to list
        The columns that identify a row: the time, the model, the reference of a comparison, and the keys.
    stream, position : ndarray
        Position of the stream, and of the time, in the monitor.
    n : ndarray
        Number of cases.
    event_rate, mean_forecast, observed_expected : ndarray
        Share of events, mean forecast, and their ratio; NaN for a pair of models.
    score, score_error : ndarray
        Mean loss of the model, or its mean difference to the reference, and the standard error.
    slope : ndarray
        Calibration slope of the day; NaN if it is not determined.
    psi : ndarray
        Population stability index of the forecasts against those of the first days; NaN on these days.
    log_e_value : ndarray
        Logarithm of the e-value after the day.
    """

    main_columns: ClassVar[tuple[str, ...]] = ()

    labels: Mapping[str, list[Any]] = field(metadata={"hidden": True})
    stream: NDArray[np.int64] = field(metadata={"hidden": True})
    position: NDArray[np.int64] = field(metadata={"hidden": True})
    n: NDArray[np.int64]
    event_rate: Floats
    mean_forecast: Floats
    observed_expected: Floats
    score: Floats
    score_error: Floats
    slope: Floats
    psi: Floats
    log_e_value: Floats

    def columns(self) -> Mapping[str, Any]:
        """Return the labels and the numbers."""
        return {**self.labels, **self._fields()}

    def rolling(self, window: int = 7) -> Floats:
        """Return observed/expected, or the mean difference, over the last `window` rows of one stream, at each row."""
        if self.labels["reference"][:1] == [None]:
            parts = self.event_rate * self.n, self.mean_forecast * self.n
        else:
            parts = self.score * self.n, self.n.astype(np.float64)
        above, below = (np.cumsum(np.append(0.0, part)) for part in parts)
        end = np.arange(1, len(self.n) + 1)
        start = np.maximum(end - window, 0)
        sums = below[end] - below[start]
        ratio: Floats = np.divide(above[end] - above[start], sums, out=np.full(len(end), np.nan), where=sums > 0.0)
        return ratio

    def totals(self, models: Sequence[str]) -> dict[str, DayTotals]:
        """Return, for each model, the cases, the event rate and the mean forecast of each time over all keys.

        The times are those up to the last one; a time without rows has no cases.
        """
        calibrated = np.array([reference is None for reference in self.labels["reference"]])
        own = np.array(self.labels["model"])
        found = {}
        for model in models:
            rows = np.flatnonzero(calibrated & (own == model))
            n, events, expected = (
                np.bincount(
                    self.position[rows], (weight * self.n)[rows], minlength=int(self.position.max()) + 1
                ).astype(float)
                for weight in (np.ones(len(self.n)), self.event_rate, self.mean_forecast)
            )
            with np.errstate(invalid="ignore"):
                found[model] = DayTotals(n, events / n, expected / n)
        return found

    def sizes(self, first: NDArray[np.int64], last: NDArray[np.int64]) -> Floats:
        """Return observed/expected, or the mean difference, of each stream from its `first` to its `last` position."""
        inside = (self.position >= first[self.stream]) & (self.position <= last[self.stream])
        rows = np.flatnonzero(inside)
        stream, n, pair = self.stream[rows], self.n[rows], np.isnan(self.mean_forecast[rows])
        parts = np.where(pair, self.score[rows], self.event_rate[rows]), np.where(pair, 1.0, self.mean_forecast[rows])
        above, below = (np.bincount(stream, part * n, minlength=len(first)) for part in parts)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            ratio: Floats = above / below
        return ratio

    def of_stream(self, place: int) -> MonitoredDays:
        """Return the days of one stream."""
        rows = np.flatnonzero(self.stream == place)
        arrays = {name: getattr(self, name)[rows] for name in self.__slots__ if name != "labels"}
        labels = {name: [column[row] for row in rows.tolist()] for name, column in self.labels.items()}
        return MonitoredDays(labels=labels, **arrays)


@dataclass(frozen=True, slots=True, eq=False)
class History:
    """The days in order: each a list of rows, or the file that holds them."""

    blocks: tuple[Block, ...] = ()

    def with_day(self, rows: Sequence[DayRows]) -> History:
        """Return the history with one more day."""
        joined = DayRows(
            time=rows[0].time, **{name: np.concatenate([getattr(one, name) for one in rows]) for name in NUMBERS}
        )
        return History((*self.blocks, joined))

    def days(self, watch: LedgerMonitor, first: int = 0) -> MonitoredDays:
        """Return the rows of all days, the first of which has the position `first`."""
        return _days(self.blocks, watch, first)

    def last(self, watch: LedgerMonitor) -> MonitoredDays:
        """Return the rows of the last day."""
        return _days(self.blocks[-1:], watch, len(self.blocks) - 1)

    def day(self, place: int) -> DayRows:
        """Return the rows of one day."""
        return _read(self.blocks[place])

    def check_same(self, watch: LedgerMonitor, ledger: Ledger) -> None:
        """Raise an error if the cases of days that have been monitored have changed."""
        columns = [ledger.index.column(key) for key in watch.keys]
        labels = list(zip(*columns, strict=True)) if columns else [()] * len(ledger.index)
        found: dict[Any, dict[tuple[str, Any], tuple[float, ...]]] = {}
        times = ledger.index.column(watch.time)
        moments = ledger.moments(watch.rule).over(*ledger.index.names)
        cells = np.argsort(ledger.index.entry_of(moments.index), kind="stable")
        for place, model in enumerate(ledger.models):
            keyed = ledger.keyed_tables(model, ledger.events[0])
            weight = (keyed.events + keyed.non_events) * keyed.forecast
            expected = np.bincount(keyed.entry, weight, minlength=len(times))
            score = moments.mean[cells, place].tolist()
            numbers = zip(keyed.n.tolist(), keyed.n_events.tolist(), expected.tolist(), score, strict=True)
            for time, own, values in zip(times, labels, numbers, strict=True):
                found.setdefault(time, {})[model, own] = values
        streams, position = watch.states.streams, {label: at for at, label in enumerate(watch.times)}
        for time, cases in found.items():
            rows = self.day(position[time])
            known = {
                (streams[at].model, streams[at].labels): values
                for at, *values in zip(*(column.tolist() for column in (rows.stream, *_cases(rows))), strict=True)
                if streams[at].reference is None
            }
            same = cases.keys() == known.keys()
            if not same or not np.allclose(list(cases.values()), [known[one] for one in cases], rtol=SAME, atol=0.0):
                what = "cases or forecasts" if same else "models and keys"
                law = f"the {what} of a {watch.time} that has been monitored must not change"
                hint = f"add a {watch.time} when all outcomes are known; "
                hint += "to start again, monitor the whole ledger and write to another folder."
                raise InputValueError(law, offender=f"those of {label_in_words(time)} have", hint=hint)


def _cases(rows: DayRows) -> tuple[NDArray[Any], ...]:
    return rows.n, rows.events, rows.expected, rows.score


def _read(block: Block) -> DayRows:
    if isinstance(block, DayRows):
        return block
    from propriety.products.monitoring.files import read_day

    return read_day(block)


def _days(blocks: Iterable[Block], watch: LedgerMonitor, first: int = 0) -> MonitoredDays:
    several = [_read(block) for block in blocks]
    numbers = {name: np.concatenate([getattr(one, name) for one in several]) for name in NUMBERS}
    stream = numbers["stream"]
    of_streams = watch.labels_of(watch.states.streams)
    labels = {watch.time: [one.time for one in several for _ in range(len(one.stream))]}
    if stream.max(initial=-1) >= len(watch.states):
        raise InputValueError("the days of a stored monitor must be of its streams", hint=RESTART)
    labels |= {name: [column[place] for place in stream.tolist()] for name, column in of_streams.items()}
    n, events, expected = (numbers.pop(name) for name in ("n", "events", "expected"))
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        return MonitoredDays(
            labels=labels,
            position=first + np.repeat(np.arange(len(several)), [len(one.stream) for one in several]),
            n=n,
            event_rate=events / n,
            mean_forecast=expected / n,
            observed_expected=events / expected,
            **numbers,
        )
