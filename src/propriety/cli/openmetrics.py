"""The state of a monitor as OpenMetrics text, which Prometheus and compatible systems read."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from propriety.errors import InputValueError
from propriety.inference.ledger_monitor import LedgerMonitor
from propriety.inference.stream_states import NEVER

NAME = re.compile(r"[^a-zA-Z0-9_]")
OWN = ("model", "reference", "rule")


@dataclass(frozen=True, slots=True)
class Family:
    """The samples of one metric, with its unit, which its name ends with, and help."""

    name: str
    help: str
    samples: Iterable[tuple[Mapping[str, object], float]]
    unit: str = ""

    def lines(self) -> Iterator[str]:
        """Yield the metadata and the samples."""
        samples = list(self.samples)
        if not samples:
            return
        yield f"# TYPE {self.name} gauge"
        if self.unit:
            yield f"# UNIT {self.name} {self.unit}"
        yield f"# HELP {self.name} {_escaped(self.help)}"
        for labels, value in samples:
            inside = ",".join(f'{name}="{_escaped(str(text))}"' for name, text in labels.items())
            yield f"{self.name}{{{inside}}} {_number(value)}" if inside else f"{self.name} {_number(value)}"


def openmetrics(watch: LedgerMonitor) -> str:
    """Return the alarms and the numbers of the last day as OpenMetrics text, ended by `# EOF`.

    Values of a day that are not known are left out. A stream without cases on the last day has only totals and alarms.
    """
    lines = [line for family in _families(watch) for line in family.lines()]
    return "\n".join([*lines, "# EOF"]) + "\n"


def _families(watch: LedgerMonitor) -> Iterator[Family]:
    states, names = watch.states, _label_names(watch.keys)
    labels = [
        {"model": stream.model}
        | ({} if stream.reference is None else {"reference": stream.reference})
        | dict(zip(names, stream.labels, strict=True))
        for stream in states.streams
    ]
    pairs = states.is_pair
    models, both = np.flatnonzero(~pairs).tolist(), range(len(states))

    def of(places: Iterable[int], values: Sequence[float]) -> list[tuple[Mapping[str, object], float]]:
        return [(labels[place], value) for place in places if not math.isnan(value := values[place])]

    alarmed = (states.alarm != NEVER).astype(float).tolist()
    yield Family("propriety_alarm", "Whether the stream has raised an alarm: 1 or 0.", of(both, alarmed))
    yield Family(
        "propriety_log_e_value",
        "Natural logarithm of the e-value: the evidence that forecasts are not calibrated, or that models differ.",
        of(both, states.evidence.log_e_value.tolist()),
    )
    yield Family(
        "propriety_log_e_threshold",
        "Natural logarithm of the e-value that raises the alarm of the stream.",
        of(both, states.log_thresholds(watch.level).tolist()),
    )
    seconds = [_seconds(label) for label in watch.times]
    if not any(map(math.isnan, seconds)):
        changed = [seconds[place] if on else math.nan for place, on in zip(states.since.tolist(), alarmed, strict=True)]
        yield Family(
            "propriety_changed_timestamp_seconds",
            "Most likely time of the change that raised the alarm.",
            of(both, changed),
            unit="seconds",
        )
        last: list[tuple[Mapping[str, object], float]] = [({}, seconds[-1])]
        yield Family(
            "propriety_last_day_timestamp_seconds", "Beginning of the last day monitored.", last, unit="seconds"
        )
    yield Family("propriety_cases", "Cases monitored so far.", of(models, states.n.astype(float).tolist()))
    yield from _last_day(watch, labels)
    yield Family("propriety_false_alarm_probability_ratio", _BUDGET, [({}, 1.0 - watch.level)], unit="ratio")


_BUDGET = "Bound on the probability of any false alarm, over all streams and days, for independent cases."


def _last_day(watch: LedgerMonitor, labels: Sequence[Mapping[str, object]]) -> Iterator[Family]:
    day, pairs = watch.latest, watch.states.is_pair

    def of(values: Any, *, pair: bool = False, scored: bool = False) -> list[tuple[Mapping[str, object], float]]:
        more = {"rule": watch.rule.name} if scored else {}
        found = zip(day.stream.tolist(), np.asarray(values, dtype=float).tolist(), strict=True)
        return [({**labels[at], **more}, value) for at, value in found if pairs[at] == pair and not math.isnan(value)]

    yield Family("propriety_day_cases", "Cases of the last day.", of(day.n))
    yield Family("propriety_event_rate_ratio", "Share of events on the last day.", of(day.event_rate), unit="ratio")
    yield Family("propriety_mean_forecast_ratio", "Mean forecast of the last day.", of(day.mean_forecast), unit="ratio")
    yield Family(
        "propriety_observed_expected_ratio",
        "Observed events over expected ones on the last day.",
        of(day.observed_expected),
        unit="ratio",
    )
    yield Family("propriety_calibration_slope", "Calibration slope of the last day.", of(day.slope))
    yield Family(
        "propriety_stability_index",
        "Population stability index of the forecasts of the last day against the reference window.",
        of(day.psi),
    )
    yield Family("propriety_score", "Mean loss on the last day; lower is better.", of(day.score, scored=True))
    yield Family("propriety_score_error", "Standard error of the mean loss.", of(day.score_error, scored=True))
    yield Family(
        "propriety_score_difference",
        "Mean loss of the model minus that of the reference on the last day.",
        of(day.score, pair=True, scored=True),
    )


def _label_names(keys: Sequence[str]) -> list[str]:
    """Return the names of keys as names of labels."""
    names = []
    for key in keys:
        name = NAME.sub("_", key)
        names.append(f"key_{name}" if not name or name[0].isdigit() or name.startswith("__") else name)
    taken = next((key for key, name in zip(keys, names, strict=True) if names.count(name) > 1 or name in OWN), None)
    if taken is not None:
        law = f"the key {taken!r} has no label name of its own in OpenMetrics; there are {[*OWN, *names]}"
        raise InputValueError(law, hint="give the key another name.")
    return names


def _seconds(label: object) -> float:
    """Return the Unix time of a date or time, in UTC unless it has a zone; NaN for another label."""
    if isinstance(label, str):
        try:
            label = dt.datetime.fromisoformat(label)
        except ValueError:
            return math.nan
    if isinstance(label, dt.date) and not isinstance(label, dt.datetime):
        label = dt.datetime(label.year, label.month, label.day, tzinfo=dt.UTC)
    if not isinstance(label, dt.datetime):
        return math.nan
    return (label if label.tzinfo is not None else label.replace(tzinfo=dt.UTC)).timestamp()


def _number(value: float) -> str:
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


def _escaped(text: str) -> str:
    r"""Escape the value of a label.

    Examples
    --------
    >>> print(_escaped('a "b"'))
    a \"b\"
    """
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
