"""`propriety table` and `propriety merge`: condense forecasts in files, and add forecast tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from propriety.cli.cases import Cases
from propriety.cli.files import open_relation
from propriety.cli.inputs import are_tables, found_files
from propriety.cli.interrupts import held
from propriety.cli.messages import block, say
from propriety.cli.options import case_options, file_arguments
from propriety.cli.outputs import STDOUT, check_targets, replaced
from propriety.cli.stages import Stages
from propriety.errors import InputValueError
from propriety.tables.forecast_table import ForecastTable

__all__ = ["merge", "table"]

output_option = click.option("-o", "--output", required=True, type=click.Path(), metavar="FILE", help="Table to write.")
cells_option = click.option(
    "--cells",
    type=int,
    metavar="N",
    help="Pool forecasts in N equal cells, a power of two, at the mean of each. Tables then stay small, whatever the "
    "number of cases, and can be added.",
)


@click.command(
    short_help="Condense forecasts into a forecast table.",
    epilog=block(
        "Examples",
        "propriety table monday.parquet --outcome y --forecast p -o tables/monday.parquet",
        "propriety table 'shards/*.parquet' --outcome y --forecast p --cells 1024 -o model.parquet",
    ),
)
@file_arguments
@case_options
@cells_option
@output_option
def table(files: Sequence[str], cells: int | None, output: str, **columns: Any) -> None:
    """Condense the forecasts of one model into a forecast table, a small Parquet file.

    It contains, for each distinct forecast, the weight of the cases with and without the event. `propriety evaluate`
    reads it, and `propriety merge` adds several. FILEs are those of `propriety evaluate`, and are never read into
    memory.
    """
    _check_name(output)
    stages, cases = Stages(), Cases(**columns)
    with found_files(files) as paths:
        check_targets([output], paths)
        if are_tables(paths):
            hint = "`propriety merge` adds forecast tables."
            raise InputValueError("table reads files of cases; these are forecast tables", hint=hint)
        with open_relation(paths, dialect=cases.dialect, labels=cases.labels(), numbers=cases.numbers()) as opened:
            stages.watch(opened)
            options = cases.event(opened)
            options |= {} if cells is None else {"exact": False, "cells": cells}
            with stages.stage("counting"), held():
                found = ForecastTable.from_frame(**options)
    _write(found, output)


@click.command(
    short_help="Add forecast tables.",
    epilog=block(
        "Examples",
        "propriety merge monday.parquet tuesday.parquet -o week.parquet",
        "propriety merge 'days/*.parquet' --cells 1024 -o year.parquet",
    ),
)
@file_arguments
@cells_option
@output_option
def merge(files: Sequence[str], cells: int | None, output: str) -> None:
    """Add the forecast tables of one model; the result is the table of all their cases."""
    _check_name(output)
    with found_files(files) as paths:
        check_targets([output], paths)
        if not are_tables(paths):
            hint = "`propriety table` makes forecast tables."
            raise InputValueError("merge adds forecast tables; these are files of cases", hint=hint)
        tables = [ForecastTable.from_parquet(path) for path in paths]
    if cells is not None:
        tables = [one.grid(cells) for one in tables]
    _write(ForecastTable.merge(tables), output)


def _check_name(output: str) -> None:
    if output == STDOUT:
        raise InputValueError("must be a file; a table cannot be written to the standard output", argument="--output")
    check_targets([output])


def _write(found: ForecastTable, output: str) -> None:
    with replaced(output) as path:
        found.to_parquet(path)
    rows = "1 row with missing values was" if found.dropped == 1 else f"{found.dropped:,} rows with missing values were"
    dropped = f"; {rows} dropped" if found.dropped else ""
    say(f"{found.n:,} cases in {len(found):,} rows, event rate {100.0 * found.event_rate:.3g}%{dropped}.")
