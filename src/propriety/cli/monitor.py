"""`propriety monitor`: the numbers and alarms of ledgers, day by day."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from propriety.cli.inputs import condensed_kind, found_files
from propriety.cli.machine import monitor_document, written
from propriety.cli.messages import say, show_table, stage
from propriety.cli.openmetrics import openmetrics
from propriety.cli.options import FILE, FILES, JSON, PERIOD, Group, command, option
from propriety.cli.outputs import STDOUT, check_targets, write
from propriety.errors import InputValueError
from propriety.inference.ledger_monitor import LedgerMonitor
from propriety.inference.ledger_monitor import monitor as monitor_ledger
from propriety.inference.monitor_files import FACTS
from propriety.inference.number_words import number
from propriety.ledger.ledger import Ledger

MOST_STREAMS = 20  # In the table on the terminal.

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
        if condensed_kind(paths) != "ledgers":
            raise InputValueError("monitor reads ledgers", hint="`propriety condense --by day` makes one.")
        with stage("reading"):
            ledger = Ledger.merge(map(Ledger.from_parquet, paths))
    given = {name: value for name, value in {PERIOD: period, **options}.items() if value is not None}
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
        say(result.summary())
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
    other = next((name for name, value in options.items() if getattr(before, name) != value), None)
    if other is not None:
        law = f"{state} was made with another --{'period' if other == PERIOD else other.replace('_', '-')}"
        offender = f"it has {getattr(before, other)!r}"
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
