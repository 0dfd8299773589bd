"""`propriety segments` and `propriety recalibrate-segments`: where forecasts are wrong, and a map for that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from propriety.cli.cases import Cases
from propriety.cli.inputs import are_ledgers, found_files
from propriety.cli.machine import document, records, written
from propriety.cli.messages import estimate, say, show_table, stage
from propriety.cli.options import (
    COLUMNS,
    DEPENDENCE,
    DIALECT,
    EVENT,
    FILE,
    FILES,
    JSON,
    LEVEL,
    SEED,
    THRESHOLDS,
    Group,
    command,
    option,
)
from propriety.cli.outputs import STDOUT, check_targets, write
from propriety.cli.recalibrate import FOLDS, OUTPUT, rule_of, write_recalibration
from propriety.errors import InputValueError
from propriety.products.segments.find import Segments, find_segments
from propriety.products.segments.recalibrate import recalibrate_segments as recalibrated
from propriety.recalibration.methods import METHODS
from propriety.tables.reading import read_source

BY = option(
    "--by",
    multiple=True,
    required=True,
    metavar="COLUMN",
    help="Column that defines segments; numbers are cut at their quantiles. Repeat the option for every column.",
)
SEARCH = Group(
    "Search",
    (
        option(
            "--depth",
            type=int,
            default=2,
            show_default=True,
            metavar="N",
            help="Largest number of columns of a segment.",
        ),
        option(
            "--quantiles", type=int, default=5, show_default=True, metavar="N", help="Parts into which numbers are cut."
        ),
        option(
            "--control",
            type=click.Choice(["family", "discovery"]),
            default="family",
            show_default=True,
            help="Whether 1 - level is the probability of any false report, or the expected share of false reports.",
        ),
        option("--level", type=float, metavar="P", default=0.95, show_default=True, help="One minus the error rate."),
        option("--most", type=int, default=10, show_default=True, metavar="N", help="Largest number of segments."),
        option(
            *("--resamples", "n_resamples"),
            type=int,
            default=1000,
            show_default=True,
            metavar="N",
            help="Number of draws of outcomes, from which the p-values are computed.",
        ),
        SEED,
    ),
)
MAP = Group(
    "Map and its gain",
    (
        option(
            "--method",
            type=click.Choice(list(METHODS)),
            default="auto",
            show_default=True,
            help="Kind of map for all cases, on top of which the log-odds are shifted in segments.",
        ),
        *(THRESHOLDS, FOLDS, LEVEL),
    ),
)
HTML = option("--html", type=FILE, metavar="FILE", help="Write a page with a figure and a table; - for the output.")


@command(
    "Find the segments in which a model is wrong.",
    *(FILES, Group(COLUMNS.title, (*EVENT, BY)), DIALECT, SEARCH, Group("Files to write", (HTML, JSON))),
    examples=[
        "propriety segments visits.parquet --outcome clicked --forecast p --by country --by device --by age",
        "propriety segments visits.csv --outcome clicked --forecast p --by country --by device --html segments.html",
        "propriety segments visits.parquet --outcome y --forecast p --by a --by b --by c --depth 3 --json -",
    ],
)
def segments(files: Sequence[str], html: str | None, json_file: str | None, **options: Any) -> None:
    """Find the segments in which the forecasts of a model are wrong.

    A segment is a label of a column, or a combination of labels of up to --depth columns. All of them are tested, and
    the test allows for their number and overlap. Exits with code 1 if a segment stands out. FILEs are those of
    `propriety evaluate`.
    """
    targets = [html, json_file]
    check_targets(targets)
    cases = Cases.of(options, crosses=False)
    with found_files(files) as paths:
        check_targets(targets, paths)
        if are_ledgers(paths):
            raise InputValueError("segments are searched in files of cases; these are ledgers")
        with cases.opened(paths, cut=True) as frame:
            with stage("reading", is_held=True):
                arguments = cases.arguments(frame)
            with stage("searching", is_held=True):
                result = find_segments(read_source(**arguments), **options)
    if html is not None:
        write(html, result.to_html())
    if json_file is not None:
        write(json_file, written(segments_document(result)))
    if STDOUT not in targets:
        say(str(result))
        _show(result)
    if len(result.segment):
        click.get_current_context().exit(1)


@command(
    "Fit a recalibration map that differs by segment, and estimate its gain.",
    *(FILES, Group(COLUMNS.title, (*EVENT, *DEPENDENCE, BY)), DIALECT, MAP, Group("Files to write", (OUTPUT, JSON))),
    examples=[
        "propriety recalibrate-segments visits.parquet --outcome y --forecast p --by country --by device -o map.json",
        "propriety recalibrate-segments visits.csv --outcome y --forecast p --by age --method logistic --json -",
    ],
)
def recalibrate_segments(
    files: Sequence[str],
    thresholds: float | tuple[float, float] | None,
    output: str | None,
    json_file: str | None,
    **options: Any,
) -> None:
    """Fit a recalibration map whose log-odds are shifted in segments, and estimate its gain by cross-fitting.

    On top of the map for all cases, the log-odds are shifted for each label of each column, and for each segment of two
    columns that stands out. FILEs are those of `propriety evaluate`; see also `propriety recalibrate`.
    """
    check_targets([output, json_file])
    cases = Cases.of(options, crosses=False)
    with found_files(files) as paths:
        check_targets([output, json_file], paths)
        if are_ledgers(paths):
            raise InputValueError("segments are columns of files of cases; these are ledgers")
        with cases.opened(paths, cut=True) as frame:
            with stage("reading", is_held=True):
                arguments = cases.arguments(frame)
            with stage("recalibration", is_held=True):
                result = recalibrated(read_source(**arguments), rule=rule_of(thresholds), **options)
    write_recalibration(result, output, json_file)


def _show(found: Segments) -> None:
    columns = (found.segment, found.n, found.observed_expected, found.low, found.high, found.kuiper, found.p_adjusted)
    rows = [
        [segment, f"{n:,}", estimate(ratio, low, high), f"{kuiper:.1f}", f"{p:.2g}"]
        for segment, n, ratio, low, high, kuiper, p in zip(*(column.tolist() for column in columns), strict=True)
    ]
    if rows:
        show_table(["segment", "cases", "observed/expected", "Kuiper", "adjusted p"], rows, numbers=(1, 2, 3, 4))


def segments_document(found: Segments) -> dict[str, Any]:
    """Return segments as plain data, with one entry for each."""
    facts = {name: value for name, value in found.to_dict().items() if name not in found.columns()}
    places = [[{"column": column, "label": label} for column, label in own] for own in found.places.tolist()]
    rows = [row | {"places": own} for row, own in zip(records(found), places, strict=True)]
    return document("segments", {**facts, "summary": str(found).splitlines(), "segments": rows})
