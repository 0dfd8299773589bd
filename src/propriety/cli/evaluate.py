"""`propriety evaluate`: from files to words, a table, a report, and an exit code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from propriety.cli.cases import Cases, thresholds_of
from propriety.cli.files import open_relation
from propriety.cli.gates import judge, parse_gate
from propriety.cli.inputs import are_tables, found_files
from propriety.cli.interrupts import held
from propriety.cli.machine import evaluation_document, written
from propriety.cli.messages import block, estimate, say, show_table
from propriety.cli.options import case_options, file_arguments, json_option, problem_options
from propriety.cli.outputs import STDOUT, check_targets, write
from propriety.cli.stages import Stages
from propriety.errors import InputValueError, sentence
from propriety.evaluation.evaluate import evaluate as evaluate_frame
from propriety.evaluation.evaluation import Evaluation
from propriety.evaluation.words import percent
from propriety.tables.forecast_table import ForecastTable

__all__ = ["evaluate", "evaluation_of_files"]


@click.command(
    short_help="Judge models: scores, calibration, decisions, groups.",
    epilog=block(
        "Examples",
        "propriety evaluate predictions.parquet --outcome y --forecast a --forecast b",
        "propriety evaluate 'days/*.csv' --outcome died --forecast risk --thresholds 0.05 0.2 --html report.html",
        "propriety evaluate grades.csv --outcome grade --forecast m=p0,p1,p2 --classes low,mid,high --ordered",
        "propriety evaluate - --outcome y --forecast p --json - < predictions.csv",
        'propriety evaluate p.parquet --outcome y --forecast p --fail-if "miscalibration>0.01"',
        "propriety evaluate a.parquet b.parquet                          forecast tables",
    ),
)
@file_arguments
@case_options
@problem_options
@click.option("--by", metavar="COLUMN", help="Column of groups to report on.")
@click.option(
    "--html", type=click.Path(allow_dash=True), metavar="FILE", help="Write the report, one page that works offline."
)
@json_option
@click.option(
    "--fail-if",
    multiple=True,
    metavar="CONDITION",
    help='End with exit code 1 if a number is so, such as "miscalibration>0.01" or "a/brier_low>=0.2". The keys are '
    "those of `metrics` in the JSON; without a model they are those of every model. A number that is not known fails. "
    "May be repeated.",
)
def evaluate(
    files: Sequence[str], html: str | None, json_file: str | None, fail_if: Sequence[str], **asked: Any
) -> None:
    """Judge models by their forecasts: scores with intervals, calibration, decisions, comparisons, groups.

    FILEs are Parquet, CSV (plain, gzip or zstd) or Arrow files, known by their content; globs in quotes; or - for what
    is piped in. Several files are one set of cases, with columns matched by name. Or they are forecast tables that
    `propriety table` made: each is then one model, named as its file is, and needs no --outcome and no --forecast.

    More than a million rows are not read into memory but counted where they lie. The scores are the same; there is no
    ranking of the models by thresholds then, and with weights or clusters some scores have no interval.
    """
    gates = [parse_gate(text) for text in fail_if]
    check_targets([html, json_file])
    stages = Stages()
    with found_files(files) as paths:
        check_targets([html, json_file], paths)
        with evaluation_of_files(paths, stages, **asked) as evaluation:
            _compute(evaluation, stages)
            verdicts = judge(gates, evaluation.to_dict(), evaluation.models)
            if html is not None:
                with stages.stage("report"):
                    page = evaluation.to_html()
                write(html, page)
            if json_file is not None:
                write(json_file, written(evaluation_document(evaluation, [one.to_dict() for one in verdicts])))
            if STDOUT not in (html, json_file):
                _print(evaluation)
    for verdict in verdicts:
        click.echo(str(verdict), err=True)
    if any(verdict.failed for verdict in verdicts):
        click.get_current_context().exit(1)


@contextmanager
def evaluation_of_files(
    files: Sequence[Path],
    stages: Stages,
    *,
    threshold: float | None,
    thresholds: tuple[float, float] | None,
    ordered: bool,
    level: float,
    resamples: int,
    seed: int | None,
    in_memory: bool = False,
    **columns: Any,
) -> Iterator[Evaluation]:
    """Evaluate cases or forecast tables; the files stay open, because the analyses are made when they are asked for."""
    options: dict[str, Any] = {"level": level, "n_resamples": resamples, "seed": seed}
    options["thresholds"] = thresholds_of(threshold, thresholds)
    cases = Cases(**columns)
    if are_tables(files):
        if ordered or cases.given():
            given = "--ordered" if ordered else cases.given()[0]
            raise InputValueError(sentence(f"{given} belongs to files of cases; these are forecast tables"))
        yield Evaluation.from_tables(_tables(files), **options)
        return
    with open_relation(files, nulls=cases.nulls) as opened:
        stages.watch(opened)
        with stages.stage("reading"), held():
            evaluation = evaluate_frame(**cases.arguments(opened, in_memory=in_memory), ordered=ordered, **options)
        yield evaluation


def _tables(files: Sequence[Path]) -> dict[str, ForecastTable]:
    """Read the table of each model, which has the name of its file."""
    tables: dict[str, ForecastTable] = {}
    for path in files:
        if path.stem in tables:
            law = f"forecast tables must have distinct names, as each is one model; {path.stem!r} is there twice"
            raise InputValueError(sentence(law, hint="`propriety merge` adds the tables of one model."))
        tables[path.stem] = ForecastTable.from_parquet(path)
    return tables


def _compute(evaluation: Evaluation, stages: Stages) -> None:
    """Make what every answer needs, so that each part shows as a stage."""
    for name in ("scores", "decompositions", "comparison", "slices"):
        with stages.stage(name):
            getattr(evaluation, name)


def _print(evaluation: Evaluation) -> None:
    say(evaluation.summary())
    scores = evaluation.scores
    measures = list(dict.fromkeys(zip(scores.measure.tolist(), scores.name.tolist(), strict=True)))
    rows = []
    for measure, name in measures:
        found = [scores.at(model, measure) for model in evaluation.models]
        better = " (higher is better)" if found[0]["higher_is_better"] else ""
        rows.append([f"{name}{better}", *(estimate(one["estimate"], one["low"], one["high"]) for one in found)])
    show_table(["", *evaluation.models], rows, numbers=range(1, len(evaluation.models) + 1))
    _print_slices(evaluation)
    say(f"Seed {evaluation.seed}; {percent(evaluation.level, 6)} intervals.")


def _print_slices(evaluation: Evaluation) -> None:
    found = evaluation.slices
    if found is None:
        return
    scores = zip(found.score.tolist(), found.low.tolist(), found.high.tolist(), strict=True)
    excesses = zip(found.excess.tolist(), found.excess_low.tolist(), found.excess_high.tolist(), strict=True)
    columns = (
        found.model.tolist(),
        found.group.tolist(),
        [f"{count:,}" for count in found.n.tolist()],
        [estimate(*one) for one in scores],
        [estimate(*one) for one in excesses],
        found.note.tolist(),
    )
    names = ["model", "group", "cases", evaluation.problem.headline.name, "events beyond forecast", ""]
    show_table(names, list(zip(*columns, strict=True)), numbers=(2, 3, 4))
