"""`propriety recalibrate`: fit a map to forecasts in files, and estimate its gain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from propriety import demands
from propriety.cli.cases import Cases
from propriety.cli.inputs import are_ledgers, found_files
from propriety.cli.machine import document, written
from propriety.cli.messages import estimate, say, show_table, stage
from propriety.cli.options import (
    CLASSES,
    COLUMNS,
    DEPENDENCE,
    DIALECT,
    EVENT,
    FILES,
    JSON,
    LEVEL,
    THRESHOLDS,
    WEIGHT,
    Group,
    command,
    option,
)
from propriety.cli.outputs import STDOUT, check_targets, write
from propriety.errors import InputValueError
from propriety.ledger.ledger import Ledger
from propriety.number_words import number
from propriety.recalibration.methods import CLASS_METHODS, METHODS
from propriety.recalibration.recalibrate import CHOOSE
from propriety.recalibration.recalibrate import recalibrate as recalibrated
from propriety.recalibration.result import Recalibration
from propriety.rules.families import BoundedBrier, Elementary
from propriety.rules.rule import BinaryRule

FOLDS = option("--folds", type=int, default=10, show_default=True, metavar="N", help="Number of folds.")
ID = option("--id", metavar="COLUMN", help="Column whose hash determines the fold of a case.")
MAP = Group(
    "Map and its gain",
    (
        option(
            "--method",
            type=click.Choice([*dict.fromkeys((*METHODS, *CLASS_METHODS)), CHOOSE]),
            default="auto",
            show_default=True,
            help="Kind of map; choose takes the simplest one whose score is close to the best.",
        ),
        THRESHOLDS,
        FOLDS,
        LEVEL,
    ),
)
OUTPUT = option(
    "-o", "--output", type=click.Path(), metavar="FILE", help="File to write the map to, for propriety apply."
)


@command(
    "Fit a recalibration map and estimate its gain.",
    FILES,
    Group(COLUMNS.title, (*EVENT, WEIGHT, CLASSES, *DEPENDENCE, ID)),
    DIALECT,
    MAP,
    Group("Files to write", (OUTPUT, JSON)),
    examples=[
        "propriety recalibrate predictions.parquet --outcome y --forecast p --output map.json",
        "propriety recalibrate visits.csv --outcome fell --forecast p --cluster patient --method choose",
        "propriety recalibrate predictions.parquet --outcome y --forecast p --thresholds 0.05 0.2 --json -",
    ],
)
def recalibrate(
    files: Sequence[str],
    thresholds: float | tuple[float, float] | None,
    id: str | None,  # noqa: A002  (the name of the option)
    output: str | None,
    json_file: str | None,
    **options: Any,
) -> None:
    """Fit a recalibration map, and estimate by cross-fitting how much it improves the score on new cases.

    The default is an increasing curve in log-odds, shrunk towards the original forecasts if there is little evidence
    against them; for classes it is temperature, vector and matrix scaling, shrunk in the same way. Gains are measured
    by the score that ranks models in `propriety evaluate`, which depends on the --thresholds if they are given. FILEs
    are those of `propriety evaluate`; the cases of a ledger are assigned to folds at random.
    """
    check_targets([output, json_file])
    cases = Cases.of(options, crosses=False)
    options["rule"] = rule_of(thresholds)
    with found_files(files) as paths:
        check_targets([output, json_file], paths)
        if not are_ledgers(paths):
            result = _of_cases(paths, cases, id, options)
        elif given := [*cases.given(), *([] if id is None else ["--id"])]:
            raise InputValueError(demands.ONLY_OF_CASES, argument=given[0])
        else:
            result = recalibrated(Ledger.merge(map(Ledger.from_parquet, paths)), **options)
    write_recalibration(result, output, json_file)


def rule_of(thresholds: float | tuple[float, float] | None) -> BinaryRule | None:
    """Return the rule that measures the gain, which ranks the models in `propriety evaluate`; None for its default."""
    if thresholds is None:
        return None
    return BoundedBrier(*thresholds) if isinstance(thresholds, tuple) else Elementary(thresholds)


def _of_cases(paths: Sequence[Path], cases: Cases, id_column: str | None, options: dict[str, Any]) -> Recalibration:
    """Recalibrate cases; an identifier is read as a key."""
    keyed = cases if id_column is None else replace(cases, by=[id_column])
    with keyed.opened(paths) as frame:
        with stage("reading", is_held=True):
            arguments = keyed.arguments(frame)
        if id_column is not None:
            (arguments["id"],) = arguments.pop("by")
        with stage("recalibration", is_held=True):
            return recalibrated(**arguments, **options)


def write_recalibration(found: Recalibration, output: str | None, json_file: str | None) -> None:
    """Write the map and the document to their files, and print the rest."""
    if output is not None:
        write(output, found.map.to_json(indent=2))
    if json_file is not None:
        summary = {"summary": str(found).splitlines()}
        write(json_file, written(document("recalibration", found.to_dict() | summary)))
    if STDOUT in (output, json_file):
        return
    say(str(found))
    columns = (found.candidate, found.score, found.gain, found.low, found.high)
    rows = [
        [candidate, number(score), estimate(gain, low, high)]
        for candidate, score, gain, low, high in zip(*(column.tolist() for column in columns), strict=True)
    ]
    show_table(["candidate", found.rule.label, "gain"], rows, numbers=(1, 2))
