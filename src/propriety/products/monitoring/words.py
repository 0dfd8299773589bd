"""A monitor in words: its alarms, its good news, and what its level means."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from propriety.inference.finding_words import note_words
from propriety.inference.group_rows import text_of_label
from propriety.number_words import counted, listed, number, percent
from propriety.products.monitoring.monitor import Monitored
from propriety.products.monitoring.streams import DIRECTIONS, NEVER

MOST_NAMED = 3  # Streams named in a sentence.
NAMES = {"observed_expected": "observed/expected", "calibration_slope": "slope"}


def summary_of(watch: Monitored) -> str:
    """Return the number of alarms, a sentence for each, good news, the periods that are not tested yet, and notes."""
    noun, places = watch.options.noun, alarmed_streams(watch)
    scope = f"{counted(len(watch), 'stream')} over {counted(len(watch.times), noun)}"
    budget = f"probability of any false alarm: at most {percent(1.0 - watch.options.level)}"
    head = f"{counted(len(places), 'alarm')} in {scope} ({budget}):" if places else f"No alarm in {scope} ({budget})."
    later = [f"Not tested yet: {counted(len(watch.waiting), noun)}."] if watch.waiting else []
    sentences = [alarm_words(watch, place) for place in places]
    return "\n".join([head, *sentences, *_good_news(watch), *_small(watch), *later, *_notes(watch)])


def _good_news(watch: Monitored) -> list[str]:
    better = watch.streams["better"]
    places = np.flatnonzero((better != NEVER) & (watch.streams["alarm"] == NEVER)).tolist()
    return [f"{subject(watch, place)}: better (shown on {time_words(watch, better[place])})." for place in places]


def _small(watch: Monitored) -> list[str]:
    places = np.flatnonzero(watch.verdict == "small").tolist()
    names = [f"{subject(watch, place)} ({_value(watch, place)})" for place in places[:MOST_NAMED]]
    if len(places) > MOST_NAMED:
        names.append(f"{len(places) - MOST_NAMED:,} more")
    return [f"Shown, but not beyond the margin: {listed(names)}."] if places else []


def _notes(watch: Monitored) -> list[str]:
    told: dict[str, list[int]] = {}
    for place, notes in enumerate(watch.notes):
        for note in notes:
            if note.code != "refuted":  # The alarm says so.
                told.setdefault(note_words(note), []).append(place)
    lines = []
    for text, places in told.items():
        names = [subject(watch, place) for place in places[:MOST_NAMED]]
        more = [f"{len(places) - MOST_NAMED:,} more streams"] if len(places) > MOST_NAMED else []
        lines.append(f"Note: {listed([*names, *more])}: {text}.")
    return lines


def alarmed_streams(watch: Monitored) -> list[int]:
    """Return the streams with an alarm, those with the strongest evidence first."""
    return [place for place in by_evidence(watch) if watch.streams["alarm"][place] != NEVER]


def by_evidence(watch: Monitored) -> list[int]:
    """Return all streams, those with the strongest evidence first."""
    if not len(watch):
        return []
    streams = watch.streams
    order = np.argsort(streams.log_thresholds(watch.options.level) - streams["highest"], kind="stable")
    return list(order.tolist())


def stream_name(watch: Monitored, place: int) -> str:
    """Return the labels of the keys of a stream, such as "site a, device b"."""
    labels = watch.streams.names[place].labels
    return ", ".join(f"{key} {text}" for key, text in zip(watch.options.by, map(text_of_label, labels), strict=True))


def measure_name(watch: Monitored, place: int) -> str:
    """Return the name of the measure of a stream."""
    measure = watch.measure[place]
    return NAMES.get(measure.key, str(measure.label))


def subject(watch: Monitored, place: int) -> str:
    """Return what a stream is about, such as "new against old, brier (site a)"."""
    stream, name = watch.streams.names[place], stream_name(watch, place)
    model = stream.model if stream.against is None else f"{stream.model} against {stream.against}"
    return f"{model}, {measure_name(watch, place)}{f' ({name})' if name else ''}"


def time_words(watch: Monitored, place: int) -> str:
    """Return a period in words: "day 12" for a number, and a date as it is."""
    label = watch.times[place]
    return f"{watch.options.noun} {label:,}" if isinstance(label, int | float) else str(label)


def alarm_words(watch: Monitored, place: int) -> str:
    """Return the sentence of an alarm."""
    return f"{subject(watch, place)}: {change_words(watch, place)}"


def change_words(watch: Monitored, place: int) -> str:
    """Return what an alarm says about its stream: the direction, since when, and how large the change is."""
    streams = watch.streams
    alarm, since = (time_words(watch, int(streams[name][place])) for name in ("alarm", "since"))
    direction, change = DIRECTIONS[int(streams["direction"][place])], float(streams["change"][place])
    if direction == "refuted":
        return f"a forecast of 0 or 1 was wrong on {alarm}, which no evidence can outweigh."
    is_calibration = streams.names[place].measure in NAMES
    who = f"forecasts {direction}" if is_calibration else direction
    size = "" if math.isnan(change) else f", {number(change)} until then"
    return f"{who} since {since} (alarm on {alarm}{size})."


def _value(watch: Monitored, place: int) -> str:
    return (
        f"{number(float(watch.value[place]))}, {number(float(watch.low[place]))} to {number(float(watch.high[place]))}"
    )


def finite(value: Any) -> float | None:
    """Return a number, or None where the evidence is nothing or infinite."""
    return float(value) if np.isfinite(value) else None
