"""`propriety evaluate`: evaluate the forecasts in files, with a card, a report and an exit code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from propriety import demands
from propriety.cli.cases import Cases
from propriety.cli.gate_facts import Facts
from propriety.cli.gate_outputs import GatedCommand, Gates, Summary, gate_options
from propriety.cli.imports import imported_measure
from propriety.cli.inputs import are_ledgers, found_files
from propriety.cli.machine import evaluation_document, written
from propriety.cli.messages import estimate, say, stage
from propriety.cli.options import (
    COLUMNS_AND_GROUPS,
    DIALECT,
    FILE,
    FILES,
    JSON,
    PROBLEM,
    Group,
    command,
    option,
    taken,
)
from propriety.cli.outputs import STDOUT, check_targets, replaced, write
from propriety.errors import InputValueError, MissingDependencyError
from propriety.evaluation.evaluate import evaluate as evaluate_cases
from propriety.evaluation.evaluation import Evaluation
from propriety.inference.comparison_words import merit_in_words, merit_of
from propriety.ledger.ledger import Ledger

MEASURE = option(
    *("--measure", "measures"),
    multiple=True,
    metavar="MODULE:NAME",
    help="An additional measure, your own or one of propriety: an object, or a class without arguments. MODULE is "
    "imported and thereby executed, so name only code that you trust. It is looked up among the installed modules, "
    "then in the current folder. May be repeated.",
)
OUTPUTS = Group(
    "Files to write",
    (
        option("--html", type=FILE, metavar="FILE", help="Write the report, a single page that works offline."),
        option(
            "--title",
            metavar="TEXT",
            help="Title of the report, such as the name of the study. By default it names --outcome.",
        ),
        option(
            "--word",
            type=click.Path(),
            metavar="FILE",
            help="Write the tables of the report with their captions as a Word file (the extra `word`).",
        ),
        option(
            "--latex",
            type=FILE,
            metavar="FILE",
            help="Write the tables of the report with their captions for LaTeX with the package booktabs.",
        ),
        JSON,
    ),
)
GATES = gate_options(
    '"miscalibrated", "auc<0.7", "a/brier>b/brier", "a worse than b" or "any group/miscalibrated". Without a model, it '
    "applies to every model. It also fails if this cannot be told: a number could not be computed (for any group: in "
    "one of them), or a verdict has too few events or no test."
)


@command(
    "Evaluate models: scores, calibration, decisions, groups.",
    *(FILES, COLUMNS_AND_GROUPS, DIALECT, Group(PROBLEM.title, (*PROBLEM.options, MEASURE)), OUTPUTS, GATES),
    kind=GatedCommand,
    examples=[
        "propriety evaluate predictions.parquet --outcome y --forecast a --forecast b",
        "propriety evaluate 'days/*.csv' --outcome died --forecast risk --thresholds 0.05 0.2 --html report.html",
        "propriety evaluate trial.csv --outcome died --forecast risk --html r.html --title 'Trial A' --word t.docx",
        "propriety evaluate visits.csv --outcome fell --forecast risk --by sex --by ward --by sex,ward",
        "propriety evaluate grades.csv --outcome grade --forecast m=p0,p1,p2 --classes low,mid,high --ordered",
        "propriety evaluate - --outcome y --forecast p --json - < predictions.csv",
        "propriety evaluate p.parquet --outcome y --forecast p --fail-if miscalibrated",
        'propriety evaluate p.csv --outcome y --forecast new --forecast old --fail-if "new worse than old"',
        'propriety evaluate p.csv --outcome y --forecast p --by sex --fail-if "any group/miscalibrated" --junit g.xml',
        'propriety evaluate p.csv --outcome y --forecast p --baseline old.json --fail-if "brier_low>baseline/brier"',
        'propriety evaluate p.csv --outcome y --forecast p --measure my_measures:Lift --fail-if "lift<2"',
        "propriety evaluate ledgers/monday ledgers/tuesday                ledgers",
    ],
)
def evaluate(
    files: Sequence[str],
    html: str | None,
    title: str | None,
    word: str | None,
    latex: str | None,
    json_file: str | None,
    **options: Any,
) -> None:
    """Evaluate models by their forecasts: scores with intervals, calibration, decisions, comparisons, groups.

    FILEs are Parquet, CSV (plain, gzip or zstd), Arrow or Excel files (.xlsx; the extra `excel`), identified by their
    content. Write globs in quotes, and - for the standard input. Several files are one set of cases, with columns
    matched by name. A ledger written by `propriety condense`, a folder, needs neither --outcome nor --forecast; several
    are added.

    More than a million rows are not read into memory; DuckDB counts them. The scores are the same, but there is no
    ranking of the models by thresholds, and with weights or clusters some scores have no confidence interval.
    """
    gates = taken(Gates, options)
    targets = [html, word, latex, json_file, *gates.targets]
    check_targets(targets)
    _check_report(html, title, word)
    options["measures"] = [imported_measure(name) for name in options["measures"]]
    with found_files(files) as paths:
        check_targets(targets, [*paths, *gates.sources])
        with evaluation_of_files(paths, options) as evaluation:
            for part in ("scores", "decompositions", "comparison", "slices"):
                with stage(part):
                    getattr(evaluation, part)
            results = gates.check(Facts.of_evaluation(evaluation, gates.baseline))
            if html is not None:
                with stage("report"):
                    page = evaluation.to_html(title=title, description={"File": ", ".join(files)})
                write(html, page)
            if word is not None:
                with stage("Word"), replaced(word) as path:
                    evaluation.to_word(path)
            if latex is not None:
                with stage("LaTeX"):
                    tables = evaluation.to_latex()
                write(latex, tables)
            if json_file is not None:
                write(json_file, written(evaluation_document(evaluation, [result.to_dict() for result in results])))
            gates.write(results, Summary("evaluate", evaluation.card.words, _score_rows(evaluation)))
            if STDOUT not in targets:
                _print(evaluation)
    gates.finish(results)


def _check_report(html: str | None, title: str | None, word: str | None) -> None:
    """Raise an error before the work begins if the report cannot be written as asked."""
    if title is not None and html is None:
        raise click.UsageError("--title needs --html.")
    if word == STDOUT:
        raise InputValueError("must be a file; a Word file cannot be written to the standard output", argument="--word")
    if word is not None and find_spec("docx") is None:
        raise MissingDependencyError("--word needs python-docx", hint='pip install "propriety[word]".')


@contextmanager
def evaluation_of_files(files: Sequence[Path], options: dict[str, Any]) -> Iterator[Evaluation]:
    """Evaluate cases or ledgers; the files stay open, because analyses are computed when they are accessed."""
    cases = Cases.of(options)
    if are_ledgers(files):
        if given := cases.given():
            raise InputValueError(demands.ONLY_OF_CASES, argument=given[0])
        yield evaluate_cases(Ledger.merge(map(Ledger.from_parquet, files)), **options)
        return
    with cases.opened(files) as frame:
        with stage("reading", is_held=True):
            evaluation = evaluate_cases(**cases.arguments(frame), **options)
        yield replace(evaluation, calls=evaluation.calls.with_labels(cases.labels_typed(frame)))


def _print(evaluation: Evaluation) -> None:
    say(str(evaluation))
    say(f"Seed {evaluation.seed}.")


def _score_rows(evaluation: Evaluation) -> list[list[str]]:
    """Return a row for each measure, below the names of the models."""
    rows = [["", *evaluation.models]]
    for measure in evaluation.problem.measures:
        found = [evaluation.estimates[model][measure.key] for model in evaluation.models]
        # Most measures are losses: lower is better.
        merit = "" if merit_of(measure) == "lower" else merit_in_words(measure)
        merit = f" ({merit})" if merit else ""
        rows.append([f"{measure.label}{merit}", *(estimate(one.value, one.low, one.high) for one in found)])
    return rows
