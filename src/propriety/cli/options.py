"""Options that several commands share."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, TypeVar, cast

import click
from click.core import ParameterSource

from propriety.cli.numbers import THRESHOLDS
from propriety.cli.written_numbers import Dialect

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
Decorator: TypeAlias = Callable[[Decorated], Decorated]

FILE = click.Path(allow_dash=True)
DIALECT = {
    "nulls": "--null",
    "delimiter": "--delimiter",
    "decimal": "--decimal",
    "thousands": "--thousands",
    "sheet": "--sheet",
}


class Files(click.Argument):
    """The files, which a configuration may name if the command line does not."""

    def consume_value(self, ctx: click.Context, opts: Mapping[str, Any]) -> tuple[Any, ParameterSource]:
        """Return the files; click would take no files on the command line for an empty list."""
        return super().consume_value(ctx, {} if opts.get("files") == () else opts)


def file_arguments(command: Decorated) -> Decorated:
    """Take one or more files."""
    return click.argument("files", cls=Files, nargs=-1, required=True, type=FILE, metavar="FILE...")(command)


def case_options(command: Decorated) -> Decorated:
    """Take the columns of the files by role."""
    return _all(
        command,
        click.option("--outcome", metavar="COLUMN", help="Column of the outcomes."),
        click.option(
            *("--forecast", "forecasts"),
            multiple=True,
            metavar="COLUMN",
            help="Column of the forecasts of an event. NAME=COLUMN also names the model; NAME=COLUMN,COLUMN,... gives "
            "one column per class. Repeat the option for several models, where they are compared.",
        ),
        click.option("--weight", metavar="COLUMN", help="Column of the weights of the cases."),
        click.option(
            "--classes",
            metavar="A,B,...",
            help="Labels of the classes in the order of their columns; not needed if they are 0, 1, 2, ...",
        ),
        click.option(
            "--pos-label", metavar="LABEL", help="Label of the event; not needed if the outcomes are 0 and 1."
        ),
        click.option(
            "--missing",
            type=click.Choice(["raise", "drop"]),
            default="raise",
            show_default=True,
            help="Whether a missing value is an error, or its row is dropped and counted.",
        ),
        dialect_options,
    )


def dialect_options(command: Decorated) -> Decorated:
    """Take how CSV and Excel files are written, and pass it to the command as `dialect`."""

    @functools.wraps(command)
    def read(**given: Any) -> Any:
        signs = {name: given.pop(name) for name in DIALECT}
        source = click.get_current_context().get_parameter_source
        typed = [option for name, option in DIALECT.items() if source(name) is ParameterSource.COMMANDLINE]
        return command(dialect=Dialect(**signs, typed=typed), **given)

    return _all(
        cast("Decorated", read),
        click.option(
            *("--null", "nulls"),
            multiple=True,
            metavar="TEXT",
            help="Text that means a missing value in CSV or Excel, such as NA, in addition to empty fields. May be "
            "repeated.",
        ),
        click.option(
            "--delimiter",
            metavar="SIGN",
            help="Separator of the fields of CSV: a sign, tab or space. By default the one of , ; | and tab that the "
            "header has most often.",
        ),
        click.option(
            "--decimal",
            metavar="SIGN",
            help="Decimal sign in CSV of forecasts, weights and numbers that define segments; a comma is found without "
            "it if there is no doubt.",
        ),
        click.option(
            "--thousands",
            metavar="SIGN",
            help="Separator of thousands of the same numbers, such as . or '.",
        ),
        click.option("--sheet", metavar="NAME", help="Sheet of an Excel file; by default the first."),
    )


def threshold_options(command: Decorated) -> Decorated:
    """Take the threshold, or the threshold range."""
    return _all(
        command,
        click.option(
            "--thresholds",
            type=THRESHOLDS,
            metavar="P | LOW HIGH",
            help="The probability from which you would act, or the range of such probabilities.",
        ),
    )


def dependence_options(command: Decorated) -> Decorated:
    """Take the column of clusters, or of times."""
    return _all(
        command,
        click.option(
            "--cluster",
            metavar="COLUMN",
            help="Column of clusters, such as the patient; cases of a cluster may be correlated.",
        ),
        click.option(
            "--time", metavar="COLUMN", help="Column of times; cases that follow each other may be correlated."
        ),
    )


def seed_option(command: Decorated) -> Decorated:
    """Take the seed of random draws."""
    return click.option(
        "--seed",
        type=click.IntRange(min=0),
        metavar="N",
        help="Seed of all random draws; the same seed gives the same numbers.",
    )(command)


def problem_options(command: Decorated) -> Decorated:
    """Take what determines the measures, the intervals and the tests."""
    return _all(
        command,
        threshold_options,
        ordered_option,
        dependence_options,
        click.option(
            "--level",
            type=float,
            metavar="P",
            default=0.95,
            show_default=True,
            help="Level of all confidence intervals.",
        ),
        click.option(
            "--resamples",
            type=int,
            metavar="N",
            default=1000,
            show_default=True,
            help="Number of resamples for confidence intervals.",
        ),
        seed_option,
    )


def ordered_option(command: Decorated) -> Decorated:
    """Take whether the classes are ordered."""
    option = click.option(
        "--ordered", is_flag=True, help="The classes are ordered grades, in the order of their columns."
    )
    return option(command)


def by_option(command: Decorated) -> Decorated:
    """Take the columns of groups."""
    return click.option(
        "--by",
        multiple=True,
        metavar="COLUMN[,...]",
        help="Column of groups to report on; several columns, such as sex,site, are crossed. Repeat the option to "
        "report on several groupings.",
    )(command)


def json_option(command: Decorated) -> Decorated:
    """Take the file for JSON output."""
    return click.option(
        *("--json", "json_file"),
        type=FILE,
        metavar="FILE",
        help="Write JSON with a versioned schema, in which NaN is null and infinities are strings; - writes it to the "
        "standard output, without any other text.",
    )(command)


def _all(command: Decorated, *decorators: Decorator[Any]) -> Decorated:
    # Click lists options in the reverse order of their application.
    return functools.reduce(lambda decorated, decorator: decorator(decorated), reversed(decorators), command)
