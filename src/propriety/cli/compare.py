"""`propriety compare`: by how much models differ, and whether the difference could be due to chance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import click

from propriety.cli.evaluate import evaluation_of_files
from propriety.cli.inputs import found_files
from propriety.cli.machine import document, written
from propriety.cli.messages import block, estimate, say, show_table
from propriety.cli.options import case_options, file_arguments, json_option, problem_options
from propriety.cli.outputs import STDOUT, check_targets, write
from propriety.cli.stages import Stages
from propriety.errors import InputValueError
from propriety.inference.comparison import Comparison
from propriety.inference.comparison_words import verdict_in_words

__all__ = ["compare"]


@click.command(
    short_help="Compare models pair by pair.",
    epilog=block(
        "Examples",
        "propriety compare predictions.parquet --outcome y --forecast a --forecast b",
        "propriety compare visits.csv --outcome fell --forecast a --forecast b --cluster patient --thresholds 0.05 0.2",
        "propriety compare days.csv --outcome rain --forecast a --forecast b --time day --json -",
    ),
)
@file_arguments
@case_options
@problem_options
@json_option
def compare(files: Sequence[str], json_file: str | None, **asked: Any) -> None:
    """Compare models on the same cases, pair by pair, by the score that fits the outcome and the thresholds.

    The tests assume independent cases unless --cluster, such as the patient, or --time is given. FILEs are those of
    `propriety evaluate`.
    """
    check_targets([json_file])
    stages = Stages()
    with found_files(files) as paths:
        check_targets([json_file], paths)
        with evaluation_of_files(paths, stages, **asked) as evaluation, stages.stage("comparison"):
            found = evaluation.comparison
    if found is None:
        law = "compare needs two or more models of the same cases"
        hint = (
            "repeat --forecast."
            if len(evaluation.models) < 2
            else "forecast tables do not contain the cases; pass the files of cases."
        )
        raise InputValueError(law, hint=hint)
    if json_file is not None:
        write(json_file, written(document("comparison", found.to_dict())))
    if json_file != STDOUT:
        _print(found)


def _print(found: Comparison) -> None:
    say(found.summary())
    rows = [
        [
            pair.model,
            pair.reference,
            estimate(pair.difference, pair.low, pair.high),
            _p(pair.p_adjusted),
            verdict_in_words(pair.model, pair.reference, verdict),
        ]
        for pair, verdict in zip(found.pairs, found.verdict.tolist(), strict=True)
    ]
    show_table(["model", "reference", "difference", "adjusted p", "verdict"], rows, numbers=(2, 3))


def _p(value: float) -> str:
    if math.isnan(value):
        return "-"
    return "< 0.001" if value < 0.001 else f"{value:.3f}"
