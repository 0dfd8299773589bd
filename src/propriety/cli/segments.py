"""`propriety segments`: the segments of the cases in which forecasts are wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from propriety.cli.cases import Cases
from propriety.cli.files import open_relation
from propriety.cli.inputs import condensed_kind, found_files
from propriety.cli.interrupts import held
from propriety.cli.machine import segments_document, written
from propriety.cli.messages import block, estimate, say, show_table
from propriety.cli.options import FILE, case_options, file_arguments, json_option, seed_option
from propriety.cli.outputs import STDOUT, check_targets, write
from propriety.cli.stages import Stages
from propriety.errors import InputValueError
from propriety.inference.segments import Segments, find_segments

REJECTED = ("weight", "classes")  # Options of all commands that read cases, also in a file of options.


@click.command(
    short_help="Find the segments in which a model is wrong.",
    epilog=block(
        "Examples",
        "propriety segments visits.parquet --outcome clicked --forecast p --by country --by device --by age",
        "propriety segments visits.csv --outcome clicked --forecast p --by country --by device --html segments.html",
        "propriety segments visits.parquet --outcome y --forecast p --by a --by b --by c --depth 3 --json -",
    ),
)
@file_arguments
@case_options
@click.option(
    "--by",
    multiple=True,
    required=True,
    metavar="COLUMN",
    help="Column that defines segments; numbers are cut at their quantiles. Repeat the option for every column.",
)
@click.option(
    "--depth", type=int, default=2, show_default=True, metavar="N", help="Largest number of columns of a segment."
)
@click.option(
    "--quantiles", type=int, default=5, show_default=True, metavar="N", help="Parts into which numbers are cut."
)
@click.option(
    "--control",
    type=click.Choice(["family", "discovery"]),
    default="family",
    show_default=True,
    help="Whether 1 - level is the probability of any false report, or the expected share of false reports.",
)
@click.option("--level", type=float, metavar="P", default=0.95, show_default=True, help="One minus the error rate.")
@click.option("--most", type=int, default=10, show_default=True, metavar="N", help="Largest number of segments.")
@click.option(
    *("--resamples", "n_resamples"),
    type=int,
    default=1000,
    show_default=True,
    metavar="N",
    help="Number of draws of outcomes, from which the p-values are computed.",
)
@seed_option
@click.option("--html", type=FILE, metavar="FILE", help="Write a page with a figure and a table; - for the output.")
@json_option
def segments(files: Sequence[str], *, html: str | None, json_file: str | None, **asked: Any) -> None:
    """Find the segments in which the forecasts of a model are wrong.

    A segment is a label of a column, or a combination of labels of up to --depth columns. All of them are tested, and
    the test allows for their number and overlap. Exits with code 1 if a segment stands out. FILEs are those of
    `propriety evaluate`.
    """
    targets = [html, json_file]
    check_targets(targets)
    names = ("depth", "quantiles", "control", "level", "most", "n_resamples", "seed")
    options = {name: asked.pop(name) for name in names}
    for name in REJECTED:
        if asked[name] is not None:
            raise InputValueError("cannot be used in the search for segments", argument=f"--{name}")
    stages, cases = Stages(), Cases(crosses=False, **asked)
    with found_files(files) as paths:
        check_targets(targets, paths)
        if condensed_kind(paths) is not None:
            raise InputValueError("segments are searched in files of cases; these are condensed")
        labels = cases.labels(cut=True)
        with open_relation(paths, dialect=cases.dialect, labels=labels, numbers=cases.numbers()) as opened:
            stages.watch(opened)
            with stages.stage("reading"), held():
                arguments = cases.arguments(opened)
            for name in ("cluster", "time", "sample_weight"):
                del arguments[name]
            with stages.stage("searching"), held():
                found = find_segments(**arguments, **options)
    if html is not None:
        write(html, found.to_html())
    if json_file is not None:
        write(json_file, written(segments_document(found)))
    if STDOUT not in targets:
        say(found.summary())
        _show(found)
    if len(found.segment):
        click.get_current_context().exit(1)


for _option in segments.params:
    if isinstance(_option, click.Option) and _option.name in REJECTED:
        _option.hidden = True


def _show(found: Segments) -> None:
    columns = (found.segment, found.n, found.observed_expected, found.low, found.high, found.kuiper, found.p_adjusted)
    rows = [
        [segment, f"{n:,}", estimate(ratio, low, high), f"{kuiper:.1f}", f"{p:.2g}"]
        for segment, n, ratio, low, high, kuiper, p in zip(*(column.tolist() for column in columns), strict=True)
    ]
    if rows:
        show_table(["segment", "cases", "observed/expected", "Kuiper", "adjusted p"], rows, numbers=(1, 2, 3, 4))
