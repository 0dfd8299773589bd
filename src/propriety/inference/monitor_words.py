"""The alarms of a monitor in words."""

from __future__ import annotations

import numpy as np

from propriety.inference.estimates import counted
from propriety.inference.ledger_monitor import LedgerMonitor
from propriety.inference.monitor_history import MonitoredDays
from propriety.inference.number_words import number
from propriety.inference.stream_states import DIRECTIONS, NEVER

__all__ = ["alarm_words", "alarmed_streams", "stream_name", "summary_of"]


def summary_of(watch: LedgerMonitor) -> str:
    """Return the number of alarms, and a sentence for each, those with the strongest evidence first."""
    scope = f"{counted(len(watch.states), 'stream')} over {counted(len(watch.times), watch.time)}"
    budget = f"probability of any false alarm: at most {100.0 * (1.0 - watch.level):.3g}%"
    places = alarmed_streams(watch)
    if not places:
        return f"No alarm in {scope} ({budget})."
    head = f"{counted(len(places), 'alarm')} in {scope} ({budget}):"
    return "\n".join([head, *(alarm_words(watch, place) for place in places)])


def alarmed_streams(watch: LedgerMonitor) -> list[int]:
    """Return the streams with an alarm, those with the strongest evidence first."""
    states = watch.states
    order = np.argsort(states.log_thresholds(watch.level) - states.highest, kind="stable")
    return [place for place in order.tolist() if states.alarm[place] != NEVER]


def stream_name(watch: LedgerMonitor, place: int) -> str:
    """Return the labels of the keys of a stream, such as "site a, device b"."""
    labels = watch.states.streams[place].labels
    return ", ".join(f"{key} {label}" for key, label in zip(watch.keys, labels, strict=True))


def alarm_words(watch: LedgerMonitor, place: int) -> str:
    """Return the sentence of an alarm."""
    states = watch.states
    stream, name = states.streams[place], stream_name(watch, place)
    alarm, since = (watch.times[int(column[place])] for column in (states.alarm, states.since))
    direction = DIRECTIONS[int(states.direction[place])]
    where, when = f" ({name})" if name else "", f"since {watch.time} {since} (alarm on {watch.time} {alarm})"
    own = _changed_days(watch, place)
    if direction == "refuted":
        return f"{stream.model}{where}: a forecast of 0 or 1 was wrong on {watch.time} {alarm}."
    if stream.reference is not None:
        difference = float((own.score * own.n).sum() / own.n.sum())
        size = f"mean difference of the losses {number(difference)}"
        return f"{stream.model} is {direction} than {stream.reference}{where} {when}: {size}."
    subject = f"{stream.model}{where}: the forecasts are {direction} {when}"
    if direction in ("too extreme", "too timid"):
        return f"{subject}."
    ratio = float((own.event_rate * own.n).sum() / (own.mean_forecast * own.n).sum())
    return f"{subject}: observed/expected {number(ratio)}."


def _changed_days(watch: LedgerMonitor, place: int) -> MonitoredDays:
    """Return the days of a stream from the estimated change to the day of the strongest evidence."""
    states = watch.states
    return watch.history.between(watch, place, int(states.since[place]), int(states.until[place]))
