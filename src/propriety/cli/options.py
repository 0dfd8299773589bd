"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, TypeAlias, TypeVar

import click

from propriety.cli.numbers import THRESHOLDS

__all__ = [
    "case_options",
    "dependence_options",
    "file_arguments",
    "json_option",
    "problem_options",
    "seed_option",
    "threshold_options",
]

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
Decorator: TypeAlias = Callable[[Decorated], Decorated]

FILE = click.Path(allow_dash=True)


def file_arguments(command: Decorated) -> Decorated:
    """Take one file or more."""
    return click.argument("files", nargs=-1, required=True, type=FILE, metavar="FILE...")(command)


def case_options(command: Decorated) -> Decorated:
    """Say which columns of the files are what."""
    return _all(
        command,
        click.option("--outcome", metavar="COLUMN", help="Column of what happened."),
        click.option(
            *("--forecast", "forecasts"),
            multiple=True,
            metavar="COLUMN",
            help="Column of the probability of the event; NAME=COLUMN to name the model; NAME=COLUMN,COLUMN,... with "
            "one column per class. Repeat it for every model.",
        ),
        click.option("--weight", metavar="COLUMN", help="Column of the weights of the cases."),
        click.option(
            "--classes",
            metavar="A,B,...",
            help="Labels of the classes in the order of their columns; not needed where they are 0, 1, 2, ...",
        ),
        click.option("--pos-label", metavar="LABEL", help="Label of the event; not needed where outcomes are 0 and 1."),
        click.option(
            "--missing",
            type=click.Choice(["raise", "drop"]),
            default="raise",
            show_default=True,
            help="Whether a missing value is an error, or its row is left out and counted.",
        ),
        click.option(
            *("--null", "nulls"),
            multiple=True,
            metavar="TEXT",
            help="Text that means a missing value in CSV, such as NA, beside an empty field. May be repeated.",
        ),
    )


def threshold_options(command: Decorated) -> Decorated:
    """Say at which probabilities somebody would act."""
    return _all(
        command,
        click.option(
            "--thresholds",
            type=THRESHOLDS,
            metavar="P | LOW HIGH",
            help="The probability from which somebody would act, or the range it lies in.",
        ),
    )


def dependence_options(command: Decorated) -> Decorated:
    """Say what the cases share."""
    return _all(
        command,
        click.option("--cluster", metavar="COLUMN", help="Column of clusters, whose cases may depend on each other."),
        click.option("--time", metavar="COLUMN", help="Column of times; neighbours may depend on each other."),
    )


def seed_option(command: Decorated) -> Decorated:
    """Make draws again."""
    return click.option(
        "--seed", type=click.IntRange(min=0), metavar="N", help="Seed of all draws; the same seed, the same numbers."
    )(command)


def problem_options(command: Decorated) -> Decorated:
    """Say what the forecasts are for and what the cases share."""
    return _all(
        command,
        threshold_options,
        click.option("--ordered", is_flag=True, help="The classes have an order, that of their columns."),
        dependence_options,
        click.option(
            "--level", type=float, metavar="P", default=0.95, show_default=True, help="Level of all intervals."
        ),
        click.option(
            "--resamples", type=int, metavar="N", default=1000, show_default=True, help="Number of draws of intervals."
        ),
        seed_option,
    )


def json_option(command: Decorated) -> Decorated:
    """Write the answer for machines."""
    return click.option(
        *("--json", "json_file"),
        type=FILE,
        metavar="FILE",
        help="Write JSON with a versioned schema, in which NaN is null and infinities are strings; - writes it to the "
        "output, and nothing else.",
    )(command)


def _all(command: Decorated, *decorators: Decorator[Any]) -> Decorated:
    # Click lists options in the reverse order of their application.
    return reduce(lambda decorated, decorator: decorator(decorated), reversed(decorators), command)
