"""The alarms of a monitor in words."""

from __future__ import annotations

import numpy as np

from propriety.inference.estimates import counted
from propriety.inference.group_rows import text_of_label
from propriety.number_words import number, percent
from propriety.products.monitoring.ledger_monitor import LedgerMonitor
from propriety.products.monitoring.states import DIRECTIONS, NEVER


def summary_of(watch: LedgerMonitor) -> str:
    """Return the number of alarms, a sentence for each, the number of days that are not tested yet, and the note."""
    scope = f"{counted(len(watch.states), 'stream')} over {counted(len(watch.times), watch.time)}"
    budget = f"probability of any false alarm: at most {percent(1.0 - watch.level)}"
    budget += " for independent cases" if watch.note else ""
    places = alarmed_streams(watch)
    head = f"{counted(len(places), 'alarm')} in {scope} ({budget}):" if places else f"No alarm in {scope} ({budget})."
    later = [f"Not tested yet: {counted(len(watch.waiting), watch.time)}."] if watch.waiting else []
    note = [f"Note: {watch.note}."] if watch.note else []
    return "\n".join([head, *(alarm_words(watch, place) for place in places), *later, *note])


def alarmed_streams(watch: LedgerMonitor) -> list[int]:
    """Return the streams with an alarm, those with the strongest evidence first."""
    states = watch.states
    order = np.argsort(states.log_thresholds(watch.level) - states.highest, kind="stable")
    return [place for place in order.tolist() if states.alarm[place] != NEVER]


def stream_name(watch: LedgerMonitor, place: int) -> str:
    """Return the labels of the keys of a stream, such as "site a, device b"."""
    labels = watch.states.streams[place].labels
    return ", ".join(f"{key} {text}" for key, text in zip(watch.keys, map(text_of_label, labels), strict=True))


def time_words(watch: LedgerMonitor, place: int) -> str:
    """Return a time in words: "day 12" for a number, and a date as it is."""
    label = watch.times[place]
    return f"{watch.time} {label}" if isinstance(label, int | float) else str(label)


def alarm_words(watch: LedgerMonitor, place: int) -> str:
    """Return the sentence of an alarm."""
    stream, name = watch.states.streams[place], stream_name(watch, place)
    subject = stream.model if stream.reference is None else f"{stream.model} against {stream.reference}"
    return f"{subject} ({name}): {change_words(watch, place)}" if name else f"{subject}: {change_words(watch, place)}"


def change_words(watch: LedgerMonitor, place: int) -> str:
    """Return what an alarm says about its stream: the direction, since when, and how large the change is."""
    states, stream = watch.states, watch.states.streams[place]
    alarm, since = (time_words(watch, int(column[place])) for column in (states.alarm, states.since))
    direction = DIRECTIONS[int(states.direction[place])]
    if direction == "refuted":
        return f"a forecast of 0 or 1 was wrong on {alarm}."
    when = f"since {since} (alarm on {alarm})"
    size = number(float(watch.changes[place]))
    if stream.reference is not None:
        return f"{direction} {when}, mean difference of the losses {size} until the alarm."
    if direction in ("too extreme", "too timid"):
        return f"forecasts {direction} {when}."
    return f"forecasts {direction} {when}, observed/expected {size} until the alarm."
