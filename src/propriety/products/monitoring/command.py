"""`propriety monitor`: the numbers and alarms of ledgers, day by day, also as OpenMetrics text for Prometheus."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np

from propriety.cli.inputs import are_ledgers, found_files
from propriety.cli.machine import document, records, written
from propriety.cli.messages import say, show_table, stage
from propriety.cli.options import FILE, FILES, JSON, Group, command, option
from propriety.cli.outputs import STDOUT, check_targets, write
from propriety.errors import InputValueError
from propriety.ledger.ledger import Ledger
from propriety.number_words import number
from propriety.products.monitoring.files import FACTS
from propriety.products.monitoring.ledger_monitor import LedgerMonitor
from propriety.products.monitoring.ledger_monitor import monitor as monitor_ledger
from propriety.products.monitoring.states import NEVER
from propriety.products.monitoring.words import alarm_words, alarmed_streams

MOST_STREAMS = 20  # In the table on the terminal.
NOT_IN_LABELS = re.compile(r"[^a-zA-Z0-9_]")
OWN_LABELS = ("model", "reference", "rule")
BUDGET = "Bound on the probability of any false alarm, over all streams and days, for independent cases."

DAYS = Group(
    "Days and alarms",
    (
        option("--period", metavar="KEY", help="Key of the ledgers whose labels are the days.  [default: day]"),
        option(
            "--state",
            type=click.Path(),
            metavar="FOLDER",
            help="Folder of the state, made if it does not exist. With it, only new days are needed, and the options "
            "of the first run apply.",
        ),
        option(
            "--level",
            type=float,
            metavar="P",
            help="One minus the probability of any false alarm, over all models, keys and days, if the cases of a day "
            "are independent.  [default: 0.95]",
        ),
        option(
            "--reference-days",
            type=int,
            metavar="N",
            help="Number of first days with which later forecasts are compared.  [default: 28]",
        ),
        option(
            "--mature-after",
            type=int,
            metavar="N",
            help="Number of days after which the outcomes of a day are complete; later days are shown and not tested.  "
            "[default: 0]",
        ),
    ),
)
OUTPUTS = Group(
    "Files to write",
    (
        option("--html", type=FILE, metavar="FILE", help="Write a page with figures of every day; - for the output."),
        JSON,
        option(
            *("--openmetrics", "metrics_file"),
            type=FILE,
            metavar="FILE",
            help="Write the alarms and the numbers of the last day as OpenMetrics text, for Prometheus.",
        ),
    ),
)


@command(
    "Monitor ledgers day by day.",
    *(FILES, DAYS, OUTPUTS),
    examples=[
        "propriety monitor 'ledgers/*' --html monitor.html",
        "propriety monitor ledgers/today --state monitor --openmetrics monitor.prom",
        "propriety monitor ledger --period week --level 0.99 --json -",
    ],
)
def monitor(
    files: Sequence[str],
    period: str | None,
    state: str | None,
    html: str | None,
    json_file: str | None,
    metrics_file: str | None,
    **options: Any,
) -> None:
    """Monitor the models of ledgers day by day, for every combination of their other keys.

    An alarm means that forecasts are not calibrated, or that two models differ. The probability of any false alarm is
    at most 1 - level, however often one looks, if the cases of a day are independent given their forecasts; if they are
    correlated, it is higher. Exits with code 1 if there is an alarm. FILEs are ledgers of `propriety condense` with
    --by day, or whatever --period names.
    """
    targets = [html, json_file, metrics_file]
    check_targets(targets)
    _check_state(state)
    with found_files(files) as paths:
        if not are_ledgers(paths):
            raise InputValueError("monitor reads ledgers", hint="`propriety condense --by day` makes one.")
        with stage("reading"):
            ledger = Ledger.merge(map(Ledger.from_parquet, paths))
    given = {name: value for name, value in {"period": period, **options}.items() if value is not None}
    with stage("monitoring"):
        result = _monitored(ledger, state, given)
    if state is not None:
        result.to_parquet(state)
    if html is not None:
        write(html, result.to_html())
    if json_file is not None:
        write(json_file, written(monitor_document(result)))
    if metrics_file is not None:
        write(metrics_file, openmetrics(result).rstrip("\n") if metrics_file == STDOUT else openmetrics(result))
    if STDOUT not in targets:
        say(str(result))
        _show(result)
    if result.alarms:
        click.get_current_context().exit(1)


def _check_state(state: str | None) -> None:
    """Raise an error if the folder is a file, or holds anything but a state."""
    if state is None or not Path(state).exists():
        return
    if not Path(state).is_dir():
        raise InputValueError("must be a folder", argument="--state", offender=f"{state} is a file")
    if any(Path(state).iterdir()) and not (Path(state) / FACTS).exists():
        law = "must be a new folder, an empty one, or one that holds a state"
        raise InputValueError(law, argument="--state", offender=f"{state} holds other files")


def _monitored(ledger: Ledger, state: str | None, options: dict[str, Any]) -> LedgerMonitor:
    if state is None or not (Path(state) / FACTS).exists():
        return monitor_ledger(ledger, **options)
    before = LedgerMonitor.from_parquet(state)
    stored = {name: before.time if name == "period" else getattr(before, name) for name in options}
    other = next((name for name, value in options.items() if stored[name] != value), None)
    if other is not None:
        law = f"{state} was made with another --{other.replace('_', '-')}"
        offender = f"it has {stored[other]!r}"
        raise InputValueError(law, offender=offender, hint="leave the option out, or name another folder.")
    return before.extend(ledger)


def _show(found: LedgerMonitor) -> None:
    """Print the streams with the strongest evidence."""
    columns = found.columns()
    order = sorted(range(len(found.states)), key=lambda place: -found.states.highest[place])
    rows = []
    for place in order[:MOST_STREAMS]:
        reference = columns["reference"][place]
        name = columns["model"][place] if reference is None else f"{columns['model'][place]} - {reference}"
        value = columns["observed_expected" if reference is None else "difference"][place]
        limits = f"{number(value)} ({number(columns['low'][place])} to {number(columns['high'][place])})"
        keys = [str(columns[key][place]) for key in found.keys]
        evidence = [f"{columns['e_value'][place]:.3g}", f"{columns['threshold'][place]:.3g}"]
        alarm = columns["alarm"][place]
        rows.append([name, *keys, f"{columns['n'][place]:,}", limits, *evidence, "" if alarm is None else str(alarm)])
    head = ["model", *found.keys, "cases", "observed/expected, or difference", "e-value", "alarm at", "alarm"]
    numbers = [len(found.keys) + place for place in (1, 2, 3, 4)]
    show_table(head, rows, numbers=numbers)
    if len(order) > MOST_STREAMS:
        say(f"The {MOST_STREAMS} streams with the strongest evidence of {len(order):,}; --json has all.")


def monitor_document(watch: LedgerMonitor) -> dict[str, Any]:
    """Return a monitor as plain data: the alarms in words, all streams, and the numbers of the last day."""
    streams = records(watch)
    return document(
        "monitor",
        {
            **watch.to_dict(),
            "summary": str(watch).splitlines(),
            "note": watch.note,
            "alarms": [streams[place] | {"words": alarm_words(watch, place)} for place in alarmed_streams(watch)],
            "streams": streams,
            "last_day": records(watch.latest),
        },
    )


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
    yield Family("propriety_false_alarm_probability_ratio", BUDGET, [({}, 1.0 - watch.level)], unit="ratio")


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
        name = NOT_IN_LABELS.sub("_", key)
        names.append(f"key_{name}" if not name or name[0].isdigit() or name.startswith("__") else name)
    taken = next(
        (key for key, name in zip(keys, names, strict=True) if names.count(name) > 1 or name in OWN_LABELS), None
    )
    if taken is not None:
        law = f"the key {taken!r} has no label name of its own in OpenMetrics; there are {[*OWN_LABELS, *names]}"
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
