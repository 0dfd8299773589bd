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
from propriety.inference.finding_words import numbers_words
from propriety.ledger.ledger import Ledger
from propriety.products.monitoring.files import FACTS
from propriety.products.monitoring.monitor import Monitored
from propriety.products.monitoring.monitor import monitor as monitor_ledger
from propriety.products.monitoring.streams import NEVER
from propriety.products.monitoring.words import alarm_words, alarmed_streams, by_evidence, finite, measure_name

MOST_STREAMS = 20  # In the table on the terminal.
NOT_IN_LABELS = re.compile(r"[^a-zA-Z0-9_]")
OWN_LABELS = ("model", "reference", "measure")
BUDGET = "Bound on the probability of any false alarm, over all streams and days."

DAYS = Group(
    "Days and alarms",
    (
        option(
            "--period",
            metavar="KEY",
            help="Key of the ledgers whose labels are the days.  [default: day, or the only one]",
        ),
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
            help="One minus the probability of any false alarm, over all models, measures, keys and days.  "
            "[default: 0.95]",
        ),
        option(
            "--measure",
            "measures",
            multiple=True,
            metavar="NAME",
            help="Measure to monitor, such as auc; may be repeated.  [default: observed_expected, calibration_slope]",
        ),
        option(
            "--stated",
            multiple=True,
            metavar="NAME=VALUE",
            help="Stated value of a measure, such as auc=0.8; may be repeated. Without it, a measure is compared with "
            "the first days.",
        ),
        option(
            "--margin",
            type=float,
            metavar="D",
            help="Largest departure that does not raise an alarm.  [default: 0.05 of observed/expected, 0.1 of the "
            "slope; by measure]",
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
    measures: Sequence[str],
    stated: Sequence[str],
    **options: Any,
) -> None:
    """Monitor the models of ledgers day by day, for every combination of their other keys.

    An alarm means that forecasts are miscalibrated, or worse than another model or than was stated, beyond the margin.
    The probability of any false alarm is at most 1 - level, however often one looks; the cases of a day may be
    correlated. Exits with code 1 if there is an alarm; good news is said and exits with 0. FILEs are ledgers of
    `propriety condense` with --by day, or whatever --period names.
    """
    targets = [html, json_file, metrics_file]
    check_targets(targets)
    _check_state(state)
    with found_files(files) as paths:
        if not are_ledgers(paths):
            raise InputValueError("monitor reads ledgers", hint="`propriety condense --by day` makes one.")
        with stage("reading"):
            ledger = Ledger.merge(map(Ledger.from_parquet, paths))
    asked = {"measures": list(measures) or None, "stated": dict(map(_stated, stated)) or None}
    given = {name: one for name, one in {"period": period, **asked, **options}.items() if one is not None}
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


def _stated(text: str) -> tuple[str, float]:
    """Return the name and the value of a stated measure."""
    name, _, value = text.partition("=")
    try:
        return name, float(value)
    except ValueError:
        law = "must be the name of a measure and its value, such as auc=0.8"
        raise InputValueError(law, argument="--stated", got=text) from None


def _monitored(ledger: Ledger, state: str | None, given: dict[str, Any]) -> Monitored:
    if state is None or not (Path(state) / FACTS).exists():
        return monitor_ledger(ledger, **given)
    before = Monitored.from_parquet(state)
    stored = {name: getattr(before.options, name) for name in given}
    if "measures" in given:
        stored["measures"] = [one.key for one in before.options.measures]
    other = next((name for name, value in given.items() if stored[name] != value), None)
    if other is not None:
        option_name = "measure" if other == "measures" else other.replace("_", "-")
        law = f"{state} was made with another --{option_name}"
        offender = f"it has {stored[other]!r}"
        raise InputValueError(law, offender=offender, hint="leave the option out, or name another folder.")
    return before.extend(ledger)


def _show(found: Monitored) -> None:
    """Print the streams with the strongest evidence."""
    order, rows = by_evidence(found), []
    for place in order[:MOST_STREAMS]:
        against, alarm = found.against[place], found.extra["alarm"][place]
        name = found.model[place] if against is None else f"{found.model[place]} - {against}"
        value = numbers_words(found[place])
        keys = [str(found.keys[key][place]) for key in found.options.by]
        evidence = [_evidence(found.extra["evidence"][place]), f"{found.extra['threshold'][place]:.3g}"]
        row = [name, measure_name(found, place), *keys, f"{int(found.n[place]):,}", value]
        rows.append([*row, *evidence, found.verdict[place], "" if alarm is None else str(alarm)])
    head = ["model", "measure", *found.options.by, "cases", "value", "e-value", "alarm at", "verdict", "alarm"]
    show_table(head, rows, numbers=[len(found.options.by) + place for place in (2, 3, 4, 5)])
    if len(order) > MOST_STREAMS:
        say(f"The {MOST_STREAMS} streams with the strongest evidence of {len(order):,}; --json has all.")


def _evidence(value: float | None) -> str:
    return "refuted" if value is None else f"{value:.3g}"


def monitor_document(watch: Monitored) -> dict[str, Any]:
    """Return a monitor as plain data: the alarms in words, all streams, and the numbers of the last period."""
    streams, day = records(watch), watch.numbers(last=True)
    last = [
        {"stream": place, "n": n, "events": events, "value": value, "error": error, "psi": psi, "log_e_value": log_e}
        for place, n, events, value, error, psi, log_e in zip(
            day.stream.tolist(),
            day.n.tolist(),
            day.events.tolist(),
            *([finite(one) for one in column] for column in (day.value, day.error, day.psi, day.log_e_value)),
            strict=True,
        )
    ]
    options = watch.options
    return document(
        "monitor",
        {
            "period": options.period,
            "keys": list(options.by),
            "models": list(options.models),
            "level": options.level,
            "times": list(watch.times),
            "waiting": list(watch.waiting),
            "summary": str(watch).splitlines(),
            "alarms": [streams[place] | {"words": alarm_words(watch, place)} for place in alarmed_streams(watch)],
            "streams": streams,
            "last_period": last,
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


def openmetrics(watch: Monitored) -> str:
    """Return the alarms and the numbers of the last day as OpenMetrics text, ended by `# EOF`.

    Values of a day that are not known are left out. A stream without cases on the last day has only totals and alarms.
    """
    lines = [line for family in _families(watch) for line in family.lines()]
    return "\n".join([*lines, "# EOF"]) + "\n"


def _families(watch: Monitored) -> Iterator[Family]:
    streams, names = watch.streams, _label_names(watch.options.by)
    labels = [
        {"model": stream.model, "measure": stream.measure}
        | ({} if stream.against is None else {"reference": stream.against})
        | dict(zip(names, stream.labels, strict=True))
        for stream in streams.names
    ]

    def of(column: Any) -> list[tuple[Mapping[str, object], float]]:
        found = zip(labels, np.asarray(column, dtype=float).tolist(), strict=True)
        return [(own, value) for own, value in found if not math.isnan(value)]

    alarmed = streams["alarm"] != NEVER
    yield Family("propriety_alarm", "Whether the stream has raised an alarm: 1 or 0.", of(alarmed))
    yield Family(
        "propriety_log_e_value",
        "Natural logarithm of the e-value: the evidence of a departure beyond the margin.",
        of(streams["latest"]),
    )
    yield Family(
        "propriety_log_e_threshold",
        "Natural logarithm of the e-value that raises the alarm of the stream.",
        of(streams.log_thresholds(watch.options.level)),
    )
    seconds = [_seconds(label) for label in watch.times]
    if not any(map(math.isnan, seconds)):
        changed = [
            seconds[place] if on else math.nan for place, on in zip(streams["since"].tolist(), alarmed, strict=True)
        ]
        yield Family(
            "propriety_changed_timestamp_seconds",
            "Most likely time of the change that raised the alarm.",
            of(changed),
            unit="seconds",
        )
        last: list[tuple[Mapping[str, object], float]] = [({}, seconds[-1])]
        yield Family(
            "propriety_last_day_timestamp_seconds", "Beginning of the last day monitored.", last, unit="seconds"
        )
    yield Family("propriety_cases", "Cases monitored so far.", of(streams["n"]))
    yield from _last_day(watch, labels)
    budget: list[tuple[Mapping[str, object], float]] = [({}, 1.0 - watch.options.level)]
    yield Family("propriety_false_alarm_probability_ratio", BUDGET, budget, unit="ratio")


def _last_day(watch: Monitored, labels: Sequence[Mapping[str, object]]) -> Iterator[Family]:
    day = watch.numbers(last=True)
    measures = np.array([watch.streams.names[place].measure for place in day.stream.tolist()])
    pairs = np.array([watch.streams.names[place].against is not None for place in day.stream.tolist()])
    ratio, slope = measures == "observed_expected", measures == "calibration_slope"

    def of(column: Any, rows: Any) -> list[tuple[Mapping[str, object], float]]:
        found = zip(day.stream[rows].tolist(), np.asarray(column, dtype=float)[rows].tolist(), strict=True)
        return [(labels[at], value) for at, value in found if not math.isnan(value)]

    value, other = day.value, ~ratio & ~slope & ~pairs
    yield Family("propriety_day_cases", "Cases of the last day.", of(day.n, ratio))
    yield Family(
        "propriety_event_rate_ratio", "Share of events on the last day.", of(day.events / day.n, ratio), unit="ratio"
    )
    yield Family(
        "propriety_mean_forecast_ratio", "Mean forecast of the last day.", of(day.exposure / day.n, ratio), unit="ratio"
    )
    yield Family(
        "propriety_observed_expected_ratio",
        "Observed events over expected ones on the last day.",
        of(value, ratio),
        unit="ratio",
    )
    yield Family("propriety_calibration_slope", "Calibration slope of the last day, to first order.", of(value, slope))
    yield Family(
        "propriety_stability_index",
        "Population stability index of the forecasts of the last day against the reference window.",
        of(day.psi, ratio),
    )
    yield Family("propriety_measure", "Value of another measure on the last day.", of(value, other))
    yield Family(
        "propriety_score_difference",
        "Mean loss of the model minus that of the reference on the last day.",
        of(value, pairs),
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
