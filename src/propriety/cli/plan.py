"""`propriety plan`: how many cases a study needs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from propriety.cli.compare import rule_named
from propriety.cli.config import is_preset
from propriety.cli.files import open_relation
from propriety.cli.inputs import condensed_kind, found_files
from propriety.cli.interrupts import held
from propriety.cli.machine import document, written
from propriety.cli.messages import block, say
from propriety.cli.options import FILE, dialect_options, json_option, seed_option
from propriety.cli.outputs import STDOUT, check_targets, write
from propriety.cli.stages import Stages
from propriety.cli.written_numbers import Dialect
from propriety.errors import InputValueError
from propriety.inference.plan import plan as planned
from propriety.ledger.ledger import Ledger
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.frames import checked_columns, first_repeated


@click.command(
    short_help="Compute how many cases a study needs.",
    epilog=block(
        "Examples",
        "propriety plan --prevalence 0.1 --auc 0.8",
        "propriety plan forecasts.parquet --forecast p --thresholds 0.1",
        "propriety plan forecasts.parquet --forecast p --width auc=0.05",
        "propriety plan forecasts.csv --forecast p --slope 0.8",
        "propriety plan forecasts.csv --forecast new --forecast old --rule log --power 0.9",
        "propriety plan --difference 0.002 --spread 0.05 --cluster-size 20 --icc 0.05 --json -",
    ),
)
@click.argument("files", nargs=-1, type=FILE, metavar="[FILE...]")
@click.option(
    *("--forecast", "forecasts"),
    multiple=True,
    metavar="COLUMN",
    help="Column of forecasts; no outcomes are needed. Repeat the option to compare two models, of which the first is "
    "taken as calibrated.",
)
@click.option("--prevalence", type=float, metavar="P", help="Anticipated share of events.")
@click.option("--auc", type=float, metavar="A", help="Without files: anticipated area under the ROC curve.")
@click.option(
    *("--width", "widths"),
    multiple=True,
    metavar="MEASURE=W",
    help="Largest width of an interval: observed_expected, calibration_slope, auc or standardized_net_benefit. May be "
    "repeated; by default 0.2, 0.2, 0.1 and, with --thresholds, 0.2.",
)
@click.option("--thresholds", type=float, metavar="P", help="The probability from which you would act.")
@click.option("--slope", type=float, metavar="B", help="Calibration slope that the calibration test should detect.")
@click.option(
    "--observed-expected", type=float, metavar="R", help="Observed/expected that the calibration test should detect."
)
@click.option(*("--rule", "rule_name"), metavar="RULE", help="Scoring rule of a comparison, as in propriety compare.")
@click.option("--difference", type=float, metavar="D", help="Difference between two models that should be detected.")
@click.option("--spread", type=float, metavar="S", help="Standard deviation of the difference in one case.")
@click.option("--power", type=float, metavar="P", default=0.8, show_default=True, help="Power of tests.")
@click.option("--level", type=float, metavar="P", default=0.95, show_default=True, help="Level of intervals and tests.")
@click.option(
    "--share",
    type=float,
    metavar="P",
    default=1.0,
    show_default=True,
    help="Share of the smallest subgroup.",
)
@click.option(
    "--cluster-size", type=float, metavar="N", default=1.0, show_default=True, help="Mean number of cases per cluster."
)
@click.option("--icc", type=float, metavar="R", help="Correlation between cases of a cluster.")
@click.option(
    "--method",
    type=click.Choice(["influence", "riley"]),
    default="influence",
    show_default=True,
    help="Standard errors of propriety, or the formulas of Riley et al. (2021).",
)
@click.option(
    *("--resamples", "n_resamples"), type=int, metavar="N", default=2000, show_default=True, help="Simulated samples."
)
@seed_option
@dialect_options
@json_option
def plan(
    files: Sequence[str],
    forecasts: Sequence[str],
    widths: Sequence[str],
    rule_name: str | None,
    dialect: Dialect,
    json_file: str | None,
    **options: Any,
) -> None:
    """Compute how many cases a study needs: for precise estimates, a calibration test, or a comparison of two models.

    FILEs hold forecasts without outcomes, forecast tables or ledgers. Without files, give --prevalence and --auc, or
    --difference and --spread.
    """
    check_targets([json_file])
    if widths:
        named = list(map(_width, widths))
        twice = first_repeated(name for name, _ in named)
        if twice is not None:
            raise InputValueError(f"must name each measure once; {twice!r} is named again", argument="--width")
        options["widths"] = dict(named)
    if rule_name is not None:
        options["measure"] = rule_named(rule_name)
    stages = Stages()
    with found_files(files) as paths:
        check_targets([json_file], paths)
        known = _forecasts(paths, forecasts, dialect, stages) if paths else None
    if known is None and (typed := _typed(forecasts, dialect)):
        raise InputValueError(f"{typed[0]} is for files of cases; no file is given")
    with stages.stage("planning"):
        found = planned(known, **options)
    if json_file is not None:
        write(json_file, written(document("plan", found.to_dict() | {"summary": found.summary().splitlines()})))
    if json_file != STDOUT:
        say(found.summary())


def _typed(forecasts: Sequence[str], dialect: Dialect) -> list[str]:
    """Return the typed options that apply only to files of cases."""
    return [*(["--forecast"] if forecasts and not is_preset("--forecast") else []), *dialect.typed]


def _forecasts(paths: Sequence[Path], forecasts: Sequence[str], dialect: Dialect, stages: Stages) -> Any:
    """Return the forecasts of files by model, or the table or ledger that they hold."""
    kind = condensed_kind(paths)
    if kind is not None:
        if typed := _typed(forecasts, dialect):
            raise InputValueError(f"{typed[0]} is for files of cases; these are {kind}")
        if kind == "ledgers":
            return Ledger.merge(map(Ledger.from_parquet, paths))
        return ForecastTable.merge(map(ForecastTable.from_parquet, paths))
    if not forecasts:
        message = "--forecast is required."
        raise click.UsageError(message)
    twice = first_repeated(forecasts)
    if twice is not None:
        raise InputValueError(f"must name each model once; {twice!r} is named again", argument="--forecast")
    with open_relation(paths, dialect=dialect, numbers=list(forecasts)) as opened:
        stages.watch(opened)
        checked_columns(opened.frame, list(forecasts))
        with stages.stage("reading"), held():
            frame = opened.frame.select(*forecasts).collect(backend="pyarrow")
    return {name: frame[name].to_numpy() for name in forecasts}


def _width(text: str) -> tuple[str, float]:
    name, _, number = text.partition("=")
    try:
        return name, float(number)
    except ValueError:
        message = f"--width must be MEASURE=WIDTH, such as auc=0.1; got {text!r}."
        raise click.UsageError(message) from None
