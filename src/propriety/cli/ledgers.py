"""`propriety condense` and `propriety merge`: condense cases to a ledger, and add ledgers or forecast tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from propriety.cli.cases import Cases
from propriety.cli.files import open_relation
from propriety.cli.inputs import condensed_kind, found_files
from propriety.cli.interrupts import held
from propriety.cli.messages import block, say
from propriety.cli.options import (
    by_option,
    case_options,
    dependence_options,
    file_arguments,
    ordered_option,
    threshold_options,
)
from propriety.cli.outputs import STDOUT, check_folder, check_targets, new_folder, replaced
from propriety.cli.stages import Stages
from propriety.errors import InputValueError
from propriety.evaluation.problem import Problem
from propriety.inference.estimates import counted
from propriety.ledger.condense import condense as condense_cases
from propriety.ledger.ledger import Ledger
from propriety.rules.rule import Rule
from propriety.rules.weights import Thresholds
from propriety.tables.forecast_table import ForecastTable

cells_option = click.option(
    "--cells",
    type=int,
    metavar="N",
    help="Pool forecasts in N equal cells, a power of two, at the mean of each. The result then stays small, whatever "
    "the number of cases.",
)


@click.command(
    short_help="Condense cases to a ledger.",
    epilog=block(
        "Examples",
        "propriety condense monday.parquet --outcome y --forecast a --forecast b -o ledgers/monday",
        "propriety condense 'shards/*.parquet' --outcome y --forecast p --by site --cells 1024 -o ledger",
        "propriety condense visits.csv --outcome fell --forecast p --cluster patient --thresholds 0.05 0.2 -o ledger",
        "propriety condense cells.parquet --outcome y --forecast p --counts cases -o ledger",
    ),
)
@file_arguments
@case_options
@by_option
@dependence_options
@ordered_option
@threshold_options
@cells_option
@click.option("--counts", metavar="COLUMN", help="Column with the number of equal cases that each row stands for.")
@click.option("-o", "--output", required=True, type=click.Path(), metavar="FOLDER", help="New folder to write.")
def condense(
    files: Sequence[str],
    *,
    thresholds: Thresholds | None,
    ordered: bool,
    cells: int | None,
    counts: str | None,
    output: str,
    **columns: Any,
) -> None:
    """Condense the cases of one or several models to a ledger, a folder of small Parquet files.

    It contains forecast tables, for each distinct forecast the weight of the cases with and without the event, and sums
    of the losses, from which scores, comparisons and groups are computed without the cases. `propriety evaluate`
    and `compare` read it, and `propriety merge` adds several. With --thresholds, it also contains the sums for
    evaluations at these thresholds. FILEs are those of `propriety evaluate`.
    """
    check_folder(output)
    if counts is not None and columns["weight"] is not None:
        raise InputValueError("cannot be combined with --weight", argument="--counts")
    # Counts are read as weights are.
    stages, cases = Stages(), Cases(**columns if counts is None else {**columns, "weight": counts})
    with found_files(files) as paths:
        kind = condensed_kind(paths)
        if kind is not None:
            law = f"condense reads files of cases; these are {kind}"
            raise InputValueError(law, hint=f"`propriety merge` adds {kind}.")
        with open_relation(paths, dialect=cases.dialect, labels=cases.labels(), numbers=cases.numbers()) as opened:
            stages.watch(opened)
            with stages.stage("counting"), held():
                arguments = cases.arguments(opened)
                if counts is not None:
                    arguments["counts"] = arguments.pop("sample_weight")
                found = condense_cases(**arguments, ordered=ordered, cells=cells, rules=_rules(thresholds))
    _write(found, output)


@click.command(
    short_help="Add ledgers or forecast tables.",
    epilog=block(
        "Examples",
        "propriety merge ledgers/monday ledgers/tuesday -o ledgers/week",
        "propriety merge 'ledgers/*' --cells 1024 -o year",
        "propriety merge monday.parquet tuesday.parquet -o week.parquet          forecast tables",
    ),
)
@file_arguments
@cells_option
@click.option(
    "-o", "--output", required=True, type=click.Path(), metavar="FILE", help="New folder, or table, to write."
)
def merge(files: Sequence[str], cells: int | None, output: str) -> None:
    """Add ledgers of the same models, or the forecast tables of one model; the result is that of all their cases."""
    with found_files(files) as paths:
        kind = condensed_kind(paths)
        if kind is None:
            hint = "`propriety condense` makes ledgers."
            raise InputValueError("merge adds ledgers or forecast tables; these are files of cases", hint=hint)
        if kind == "ledgers":
            check_folder(output)
            ledger = Ledger.merge(map(Ledger.from_parquet, paths))
            _write(ledger if cells is None else ledger.grid(cells), output)
            return
        if output == STDOUT:
            law = "must be a file; a table cannot be written to the standard output"
            raise InputValueError(law, argument="--output")
        check_targets([output], paths)
        tables = [ForecastTable.from_parquet(path) for path in paths]
    if cells is not None:
        tables = [one.grid(cells) for one in tables]
    table = ForecastTable.merge(tables)
    with replaced(output) as path:
        table.to_parquet(path)
    rate = f"event rate {100.0 * table.event_rate:.3g}%"
    say(f"{counted(table.n, 'case')} in {counted(len(table), 'row')}, {rate}{_dropped(table.dropped)}.")


def _rules(thresholds: Thresholds | None) -> list[Rule]:
    """Return the rules that evaluations at some thresholds need in addition to the usual ones."""
    if thresholds is None:
        return []
    problem = Problem(kind="binary", thresholds=thresholds, rare=False, more=())
    return [*dict.fromkeys([*problem.rules, *problem.rules_of_groups])]


def _write(ledger: Ledger, output: str) -> None:
    with new_folder(output) as folder:
        ledger.to_parquet(folder)
    names = [repr(name) if "," in name else name for name in ledger.keys]
    keys = f", by {', '.join(names)}" if names else ""
    say(f"{counted(ledger.n, 'case')} of {counted(len(ledger.models), 'model')}{keys}{_dropped(ledger.dropped)}.")


def _dropped(rows: int) -> str:
    if not rows:
        return ""
    return (
        "; 1 row with missing values was dropped" if rows == 1 else f"; {rows:,} rows with missing values were dropped"
    )
