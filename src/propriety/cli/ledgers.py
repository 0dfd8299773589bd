"""`propriety condense` and `propriety merge`: condense cases to a ledger, and add ledgers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from propriety.cli.cases import Cases
from propriety.cli.inputs import are_ledgers, found_files
from propriety.cli.interrupts import check_interrupt
from propriety.cli.messages import say, stage, visible_name
from propriety.cli.options import COLUMNS_AND_GROUPS, DIALECT, FILES, THRESHOLDS, Group, command, option
from propriety.cli.outputs import check_folder, followed
from propriety.errors import InputValueError
from propriety.evaluation.problem import Problem
from propriety.ledger.ledger import Ledger
from propriety.ledger.sources import condense as condense_cases
from propriety.number_words import counted
from propriety.rules.rule import Rule
from propriety.rules.weights import Thresholds

CELLS = option(
    "--cells",
    type=int,
    metavar="N",
    help="Pool forecasts in N equal cells, a power of two, at the mean of each. The result then stays small, whatever "
    "the number of cases.",
)
COUNTS = option("--counts", metavar="COLUMN", help="Column with the number of equal cases that each row stands for.")
LEDGER = option("-o", "--output", required=True, type=click.Path(), metavar="FOLDER", help="New folder to write.")


@command(
    "Condense cases to a ledger.",
    FILES,
    Group(COLUMNS_AND_GROUPS.title, (*COLUMNS_AND_GROUPS.options, COUNTS)),
    DIALECT,
    Group("Ledger", (THRESHOLDS, CELLS, LEDGER)),
    examples=[
        "propriety condense monday.parquet --outcome y --forecast a --forecast b -o ledgers/monday",
        "propriety condense 'shards/*.parquet' --outcome y --forecast p --by site --cells 1024 -o ledger",
        "propriety condense visits.csv --outcome fell --forecast p --cluster patient --thresholds 0.05 0.2 -o ledger",
        "propriety condense cells.parquet --outcome y --forecast p --counts cases -o ledger",
    ],
)
def condense(
    files: Sequence[str],
    thresholds: Thresholds | None,
    cells: int | None,
    counts: str | None,
    output: str,
    **options: Any,
) -> None:
    """Condense the cases of one or several models to a ledger, a folder of small Parquet files.

    It contains forecast tables, for each distinct forecast the weight of the cases with and without the event, and sums
    of the losses, from which scores, comparisons and groups are computed without the cases. `propriety evaluate`
    and `compare` read it, and `propriety merge` adds several. With --thresholds, it also contains the sums for
    evaluations at these thresholds. FILEs are those of `propriety evaluate`.
    """
    check_folder(output)
    if counts is not None and options["weight"] is not None:
        raise InputValueError("cannot be combined with --weight", argument="--counts")
    cases = Cases.of(options if counts is None else {**options, "weight": counts})  # Counts are read as weights are.
    with found_files(files) as paths:
        if are_ledgers(paths):
            hint = "`propriety merge` adds ledgers."
            raise InputValueError("condense reads files of cases; these are ledgers", hint=hint)
        with cases.opened(paths) as frame, stage("counting", is_held=True):
            arguments = cases.arguments(frame)
            if counts is not None:
                arguments["counts"] = arguments.pop("sample_weight")
            ledger = condense_cases(**arguments, cells=cells, rules=_rules(thresholds))
    _write(ledger, output)


@command(
    "Add ledgers.",
    *(FILES, Group("Result", (CELLS, LEDGER))),
    examples=[
        "propriety merge ledgers/monday ledgers/tuesday -o ledgers/week",
        "propriety merge 'ledgers/*' --cells 1024 -o year",
    ],
)
def merge(files: Sequence[str], cells: int | None, output: str) -> None:
    """Add ledgers of the same models; the result is the ledger of all their cases."""
    with found_files(files) as paths:
        if not are_ledgers(paths):
            hint = "`propriety condense` makes ledgers."
            raise InputValueError("merge adds ledgers; these are files of cases", hint=hint)
        check_folder(output)
        ledger = Ledger.merge(map(Ledger.from_parquet, paths))
        _write(ledger if cells is None else ledger.grid(cells), output)


def _rules(thresholds: Thresholds | None) -> list[Rule]:
    """Return the rules that evaluations at some thresholds need in addition to the usual ones."""
    if thresholds is None:
        return []
    problem = Problem(kind="binary", thresholds=thresholds, rare=False, more=())
    return [*dict.fromkeys([*problem.rules, *problem.rules_of_groups])]


def _write(ledger: Ledger, output: str) -> None:
    check_interrupt()
    written = ledger.to_parquet(followed(output))
    name = visible_name(output)
    click.echo(f"Written: {name}" if written.added else f"Nothing written: {name} holds these cases already.", err=True)
    names = [repr(name) if "," in name else name for name in ledger.keys]
    keys = f", by {', '.join(names)}" if names else ""
    say(f"{counted(ledger.n, 'case')} of {counted(len(ledger.models), 'model')}{keys}{_dropped(ledger.dropped)}.")


def _dropped(rows: int) -> str:
    if not rows:
        return ""
    return (
        "; 1 row with missing values was dropped" if rows == 1 else f"; {rows:,} rows with missing values were dropped"
    )
