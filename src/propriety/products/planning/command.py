"""`propriety plan`: how many cases a study needs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from propriety import demands
from propriety.cli.compare import rule_named
from propriety.cli.files import open_relation
from propriety.cli.inputs import are_ledgers, found_files
from propriety.cli.machine import document, written
from propriety.cli.messages import say, stage
from propriety.cli.options import DIALECT, FILE, JSON, SEED, Group, command, option, taken
from propriety.cli.outputs import STDOUT, check_targets, write
from propriety.cli.text_heads import Dialect
from propriety.errors import InputValueError
from propriety.ledger.ledger import Ledger
from propriety.products.planning.plan import plan as planned
from propriety.tables.frames import checked_columns, first_repeated

KNOWN = Group(
    "What is known",
    (
        option(
            *("--forecast", "forecasts"),
            multiple=True,
            metavar="COLUMN",
            help="Column of forecasts; no outcomes are needed. Repeat the option to compare two models, of which the "
            "first is taken as calibrated.",
        ),
        option("--prevalence", type=float, metavar="P", help="Anticipated share of events."),
        option("--auc", type=float, metavar="A", help="Without files: anticipated area under the ROC curve."),
        option("--spread", type=float, metavar="S", help="Standard deviation of the difference in one case."),
        option(
            "--share", type=float, metavar="P", default=1.0, show_default=True, help="Share of the smallest subgroup."
        ),
        option(
            "--cluster-size",
            type=float,
            metavar="N",
            default=1.0,
            show_default=True,
            help="Mean number of cases per cluster.",
        ),
        option("--icc", type=float, metavar="R", help="Correlation between cases of a cluster."),
    ),
)
GOALS = Group(
    "What the study must show",
    (
        option(
            *("--width", "widths"),
            multiple=True,
            metavar="MEASURE=W",
            help="Largest width of an interval: observed_expected, calibration_slope, auc or standardized_net_benefit. "
            "May be repeated; by default 0.2, 0.2, 0.1 and, with --thresholds, 0.2.",
        ),
        option("--thresholds", type=float, metavar="P", help="The probability from which you would act."),
        option("--slope", type=float, metavar="B", help="Calibration slope that the calibration test should detect."),
        option(
            "--observed-expected",
            type=float,
            metavar="R",
            help="Observed/expected that the calibration test should detect.",
        ),
        option(*("--rule", "rule_name"), metavar="RULE", help="Scoring rule of a comparison, as in propriety compare."),
        option("--difference", type=float, metavar="D", help="Difference between two models that should be detected."),
        option("--power", type=float, metavar="P", default=0.8, show_default=True, help="Power of tests."),
        option(
            "--level",
            type=float,
            metavar="P",
            default=0.95,
            show_default=True,
            help="Level of intervals and tests.",
        ),
    ),
)
CALCULATION = Group(
    "Calculation",
    (
        option(
            "--method",
            type=click.Choice(["influence", "riley"]),
            default="influence",
            show_default=True,
            help="Standard errors of propriety, or the formulas of Riley et al. (2021).",
        ),
        option(
            *("--resamples", "n_resamples"),
            type=int,
            metavar="N",
            default=2000,
            show_default=True,
            help="Simulated samples.",
        ),
        SEED,
    ),
)


@command(
    "Compute how many cases a study needs.",
    click.Argument(["files"], nargs=-1, type=FILE, metavar="[FILE...]"),
    *(KNOWN, GOALS, CALCULATION, DIALECT, Group("Files to write", (JSON,))),
    examples=[
        "propriety plan --prevalence 0.1 --auc 0.8",
        "propriety plan forecasts.parquet --forecast p --thresholds 0.1",
        "propriety plan forecasts.parquet --forecast p --width auc=0.05",
        "propriety plan forecasts.csv --forecast p --slope 0.8",
        "propriety plan forecasts.csv --forecast new --forecast old --rule log --power 0.9",
        "propriety plan --difference 0.002 --spread 0.05 --cluster-size 20 --icc 0.05 --json -",
    ],
)
def plan(
    files: Sequence[str],
    forecasts: Sequence[str],
    widths: Sequence[str],
    rule_name: str | None,
    json_file: str | None,
    **options: Any,
) -> None:
    """Compute how many cases a study needs: for precise estimates, a calibration test, or a comparison of two models.

    FILEs hold forecasts without outcomes, or are ledgers. Without files, give --prevalence and --auc, or
    --difference and --spread.
    """
    check_targets([json_file])
    dialect = taken(Dialect, options)
    if widths:
        named = list(map(_width, widths))
        twice = first_repeated(name for name, _ in named)
        if twice is not None:
            raise InputValueError(demands.named_once("measure", twice), argument="--width")
        options["widths"] = dict(named)
    if rule_name is not None:
        options["measure"] = rule_named(rule_name)
    of_cases = [*(["--forecast"] if forecasts else []), *dialect.given()]
    with found_files(files) as paths:
        check_targets([json_file], paths)
        condensed = are_ledgers(paths)
        if of_cases and (condensed or not paths):
            problem = "these are ledgers" if paths else "no file is given"
            raise InputValueError(f"{of_cases[0]} is for files of cases; {problem}")
        if condensed:
            known: Any = Ledger.merge(map(Ledger.from_parquet, paths))
        else:
            known = _forecasts(paths, forecasts, dialect) if paths else None
    with stage("planning"):
        result = planned(known, **options)
    if json_file is not None:
        write(json_file, written(document("plan", result.to_dict() | {"summary": str(result).splitlines()})))
    if json_file != STDOUT:
        say(str(result))


def _forecasts(paths: Sequence[Path], columns: Sequence[str], dialect: Dialect) -> dict[str, Any]:
    """Return the forecasts of files by model."""
    if not columns:
        message = "--forecast is required."
        raise click.UsageError(message)
    twice = first_repeated(columns)
    if twice is not None:
        raise InputValueError(demands.named_once("model", twice), argument="--forecast")
    with open_relation(paths, dialect=dialect, numbers=list(columns)) as frame:
        checked_columns(frame, list(columns))
        with stage("reading", is_held=True):
            forecasts = frame.select(*columns).collect(backend="pyarrow")
    return {name: forecasts[name].to_numpy() for name in columns}


def _width(text: str) -> tuple[str, float]:
    name, _, number = text.partition("=")
    try:
        return name, float(number)
    except ValueError:
        message = f"--width must be MEASURE=WIDTH, such as auc=0.1; got {text!r}."
        raise click.UsageError(message) from None
