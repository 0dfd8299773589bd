"""The state of all monitored streams, which is all that the next day needs, and checks of a stored one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from propriety import checks
from propriety.checks import check_level
from propriety.errors import InputValueError
from propriety.products.monitoring.daily_numbers import Day, DayPart, Stream
from propriety.products.monitoring.evidence import ALTERNATIVES, Evidence
from propriety.products.monitoring.stability_index import BINS, stability_index
from propriety.result import Floats
from propriety.tables.frames import are_names

FIRST_SHARE = 0.75  # Of the error budget, for the streams of the first day; later ones share the rest.
NEVER = -1
DIRECTIONS = ("too low", "too high", "too extreme", "too timid", "worse", "better", "refuted")
OF_CALIBRATION = np.repeat([0, 1, 2, 3], [6, 6, 2, 2])  # The direction of each alternative.
OF_COMPARISON = np.repeat([0, 1], [8, 8])
REFUTED = DIRECTIONS.index("refuted")
RESTART = "restore the folder from a copy, or monitor the whole ledger and write to another folder."
ROUNDING = 1e-9
WHOLE = ("alarm", "since", "direction", "n")

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DayRows:
    """The numbers of one day to report, one row per stream with cases; `stream` is its position."""

    time: Any
    stream: Ints
    n: Ints
    events: Floats
    expected: Floats
    score: Floats
    score_error: Floats
    slope: Floats
    psi: Floats
    log_e_value: Floats

    def known(self, streams: int) -> DayRows:
        """Return the rows of the first streams, without evidence."""
        rows = self.stream < streams
        names = [name for name in self.__slots__ if name not in ("time", "log_e_value")]
        columns: dict[str, Any] = {name: getattr(self, name)[rows] for name in names}
        return DayRows(time=self.time, **columns, log_e_value=np.full(int(rows.sum()), np.nan))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class StreamStates:
    """The streams in order of their first day, and their state, one element each.

    Parameters
    ----------
    streams : tuple of Stream
        The streams.
    evidence : Evidence
        The capital of the alternatives.
    share : ndarray
        Share of the error budget.
    highest : ndarray
        Logarithm of the highest e-value so far.
    alarm, since : ndarray
        The time at which the e-value first reached its threshold, and the most likely time of the change, as estimated
        then; -1 before an alarm.
    direction : ndarray
        Position in `DIRECTIONS` of the direction in which the evidence was strongest at the alarm.
    n, events, expected, sums, squares : ndarray
        Totals of those of `DayPart`.
    reference : ndarray of shape (streams, bins)
        Cases by forecast in the reference window.
    """

    streams: tuple[Stream, ...]
    evidence: Evidence
    share: Floats
    highest: Floats
    alarm: Ints
    since: Ints
    direction: Ints
    n: Ints
    events: Floats
    expected: Floats
    sums: Floats
    squares: Floats
    reference: Floats

    @classmethod
    def none(cls) -> StreamStates:
        """Return the state before the first day."""
        return cls._new([], np.array([]))

    @classmethod
    def _new(cls, streams: Sequence[Stream], share: Floats) -> StreamStates:
        size = len(streams)
        zeros, whole = np.zeros(size), np.zeros(size, dtype=np.int64)
        return cls(
            streams=tuple(streams),
            evidence=Evidence.none(size),
            share=share,
            highest=zeros,
            alarm=np.full(size, NEVER),
            since=np.full(size, NEVER),
            direction=whole,
            n=whole,
            events=zeros,
            expected=zeros,
            sums=zeros,
            squares=zeros,
            reference=np.zeros((size, BINS)),
        )

    def __len__(self) -> int:
        return len(self.streams)

    @property
    def is_pair(self) -> NDArray[np.bool_]:
        """Whether each stream compares two models."""
        return np.array([stream.reference is not None for stream in self.streams], dtype=bool)

    def log_thresholds(self, level: float) -> Floats:
        """Return the logarithm of the e-value at which each stream raises an alarm."""
        thresholds: Floats = -np.log1p(-level) - np.log(self.share)
        return thresholds

    def after(self, day: Day, time: int, *, level: float, reference_days: int) -> tuple[StreamStates, list[DayRows]]:
        """Return the state after one more day, which has the position `time`, and the rows of the day."""
        known = {stream: place for place, stream in enumerate(self.streams)}
        new = [stream for part in day.parts for stream in part.streams if stream not in known]
        grown = self._joined(new)
        known |= {stream: len(self) + place for place, stream in enumerate(new)}
        found, rows = grown, []
        for part in day.parts:
            at = np.array([known[stream] for stream in part.streams], dtype=np.int64)
            found, own = _after_part(found, part, at, time, day.time, level, reference_days)
            rows.append(own)
        return found, rows

    def _joined(self, new: Sequence[Stream]) -> StreamStates:
        """Return the state with new streams, which get a part of the error budget that is left."""
        if not new:
            return self
        before, after = len(self), len(self) + len(new)
        # Nothing is left unused in the limit: the shares of later streams add up to first * (1/first - 1/after).
        first = int((self.share == self.share[0]).sum()) if before else 0
        whole = (1.0 - FIRST_SHARE) * first * (1.0 / before - 1.0 / after) if before else FIRST_SHARE
        other = StreamStates._new(new, np.full(len(new), whole / len(new)))
        names = [name for name in StreamStates.__slots__ if name not in ("streams", "evidence")]
        columns: dict[str, Any] = {name: np.concatenate([getattr(self, name), getattr(other, name)]) for name in names}
        return StreamStates(
            streams=self.streams + other.streams, evidence=self.evidence.joined(other.evidence), **columns
        )


def _after_part(
    states: StreamStates, part: DayPart, at: Ints, time: int, label: Any, level: float, reference_days: int
) -> tuple[StreamStates, DayRows]:
    before = states.evidence.at(at)
    evidence = before.after(part.growth, time)
    log_e = evidence.log_e_value
    psi = np.full(len(at), np.nan)
    reference = states.reference
    if part.bins is not None:
        inside = before.days < reference_days
        psi = np.where(inside, np.nan, stability_index(part.bins, reference[at]))
        reference = reference.copy()
        reference[at] += np.where(inside[:, None], part.bins, 0.0)
    directions = OF_CALIBRATION if part.bins is not None else OF_COMPARISON
    strongest = evidence.strongest(directions) + (0 if part.bins is not None else DIRECTIONS.index("worse"))
    refuted = np.isposinf(log_e)
    strongest, since = np.where(refuted, REFUTED, strongest), np.where(refuted, time, evidence.since)
    first = (log_e >= states.log_thresholds(level)[at]) & (states.alarm[at] == NEVER)
    totals = {name: np.nan_to_num(getattr(part, name)) for name in ("n", "events", "expected", "sums", "squares")}
    columns: dict[str, Any] = {name: _added(getattr(states, name), at, values) for name, values in totals.items()}
    found = replace(
        states,
        evidence=states.evidence.with_streams(at, evidence),
        highest=_replaced(states.highest, at, np.maximum(log_e, states.highest[at])),
        alarm=_replaced(states.alarm, at, np.where(first, time, states.alarm[at])),
        since=_replaced(states.since, at, np.where(first, since, states.since[at])),
        direction=_replaced(states.direction, at, np.where(first, strongest, states.direction[at])),
        reference=reference,
        **columns,
    )
    rows = DayRows(
        time=label,
        stream=at,
        n=part.n,
        events=part.events,
        expected=part.expected,
        score=part.score,
        score_error=part.score_error,
        slope=part.slope,
        psi=psi,
        log_e_value=log_e,
    )
    return found, rows


def _replaced(column: NDArray[Any], at: Ints, values: NDArray[Any]) -> NDArray[Any]:
    new = column.copy()
    new[at] = values
    return new


def _added(column: NDArray[Any], at: Ints, values: NDArray[Any]) -> NDArray[Any]:
    return _replaced(column, at, column[at] + values)


def check_facts(facts: Mapping[str, Any]) -> None:
    """Raise an error if the facts are not those of a monitor."""
    check_level(facts["level"])
    checks.whole(facts["reference_days"], "reference_days", least=1)
    checks.whole(facts["days"], "days", least=1)
    for name in ("mature_after", "waiting"):
        checks.whole(facts[name], name, least=0)
    named = isinstance(facts["keys"], list) and all(isinstance(one, str) for one in [*facts["keys"], facts["time"]])
    if not named or not are_names(facts["models"]) or not facts["models"]:
        _refuse("its time, keys and models must be names")


def check_states(states: StreamStates, models: Sequence[str], days: int) -> None:
    """Raise an error if no monitor can have these states after some days."""
    if not len(states) or len(set(states.streams)) < len(states):
        _refuse("its streams must be distinct, and at least one")
    if not {name for one in states.streams for name in (one.model, one.reference)} <= {None, *models}:
        _refuse("its streams must be of its models")
    evidence = states.evidence
    shapes = [evidence.log_capital.shape[1:], evidence.gain.shape[1:], evidence.start.shape[1:]]
    if shapes != [(ALTERNATIVES,)] * 3 or states.reference.shape[1:] != (BINS,):
        _refuse(f"its streams must have {ALTERNATIVES} alternatives and {BINS} bins")
    if not ((states.share > 0.0).all() and states.share.sum() <= 1.0 + ROUNDING):
        _refuse("the shares of the error budget must be positive, and add up to at most 1")
    whole = [*(getattr(states, name) for name in WHOLE), evidence.days, evidence.start]
    if not all(np.issubdtype(column.dtype, np.integer) for column in whole):
        _refuse("its times and counts must be whole numbers")
    places = np.concatenate([states.alarm, states.since])
    if not ((places >= NEVER) & (places < days)).all() or ((states.alarm == NEVER) != (states.since == NEVER)).any():
        _refuse(f"its alarms must be on one of {days} days")
    if not ((states.direction >= 0) & (states.direction < len(DIRECTIONS))).all():
        _refuse("its directions must be known")
    if not ((evidence.days >= 1) & (evidence.days <= days) & (states.n >= 1)).all():
        _refuse(f"every stream must have a case on one of {days} days")
    numbers = [states.highest, states.events, states.expected, states.sums, states.squares, states.reference]
    if any(np.isnan(column).any() for column in (*numbers, evidence.log_capital, evidence.gain)):
        _refuse("its numbers must not be missing")


def _refuse(law: str) -> NoReturn:
    raise InputValueError(f"this is not a valid stored monitor: {law}", hint=RESTART)
