"""Commands and their options, which are defined once and listed in groups by the help."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

import click

from propriety.cli.config import config_option
from propriety.cli.messages import block

if TYPE_CHECKING:
    ParamType = click.ParamType[Any]
else:
    ParamType = click.ParamType  # It takes no type in the oldest supported version of click.

Function: TypeAlias = Callable[..., None]
Holder = TypeVar("Holder")

FILE = click.Path(allow_dash=True)
TAKES_NUMBERS = "--thresholds"  # Followed by one number or two.


class Group(NamedTuple):
    """Options that the help lists under a title."""

    title: str
    options: tuple[click.Parameter, ...]


class Command(click.Command):
    """A command whose help lists the options in groups."""

    groups: Sequence[Group] = ()

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options below the titles of their groups."""
        titled = [option for group in self.groups for option in group.options]
        others = [one for one in self.get_params(ctx) if isinstance(one, click.Option) and one not in titled]
        for title, options in [*self.groups, Group("Other options", tuple(others))]:
            records = [record for option in options if (record := option.get_help_record(ctx)) is not None]
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def command(
    summary: str,
    *given: click.Parameter | Group,
    examples: Sequence[str],
    kind: type[Command] = Command,
) -> Callable[[Function], Command]:
    """Make a command of a function, which gets the value of each option by its name."""

    def made(function: Function) -> Command:
        parameters = [option for one in given for option in (one.options if isinstance(one, Group) else [one])]
        found = kind(
            name=function.__name__,
            callback=function,
            params=[*parameters, config_option()],
            help=function.__doc__,
            short_help=summary,
            epilog=block("Examples", *examples),
        )
        found.groups = [one for one in given if isinstance(one, Group)]
        return found

    return made


def option(*names: str, **settings: Any) -> click.Option:
    """Define an option."""
    return click.Option(names, **settings)


def taken(kind: type[Holder], options: dict[str, Any]) -> Holder:
    """Make an object of the options that are its fields, and remove these from the others.

    Examples
    --------
    >>> from propriety.cli.gate_outputs import Summary
    >>> options = {"command": "compare", "sentences": [], "rows": [], "seed": 1}
    >>> taken(Summary, options), options
    (Summary(command='compare', sentences=[], rows=[]), {'seed': 1})
    """
    names = [field.name for field in fields(kind) if field.name in options]  # type: ignore[arg-type]  # a dataclass
    return kind(**{name: options.pop(name) for name in names})


class _Thresholds(ParamType):
    """One number, or two."""

    name = "thresholds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return one number as a float and two as a tuple."""
        if not isinstance(value, str):
            return value
        try:
            found = _numbers(value)
        except ValueError:
            found = ()
        if len(found) not in (1, 2):
            self.fail(f"write one number such as 0.1, or two, 0.05 0.2; got {value!r}.", param, ctx)
        return found[0] if len(found) == 1 else found


def numbers_joined(arguments: Sequence[str]) -> list[str]:
    """Join the numbers that follow `--thresholds` into one argument, because click takes a fixed number of them.

    Examples
    --------
    >>> numbers_joined(["compare", "--thresholds", "0.05", "0.2", "p.csv"])
    ['compare', '--thresholds', '0.05 0.2', 'p.csv']
    """
    joined: list[str] = []
    taking = False
    for argument in arguments:
        if taking and _is_number(argument):
            joined[-1] += f" {argument}"
            continue
        follows = bool(joined) and joined[-1] == TAKES_NUMBERS and _is_number(argument)
        taking = follows or argument.startswith(f"{TAKES_NUMBERS}=")
        joined.append(argument)
    return joined


def _numbers(text: str) -> tuple[float, ...]:
    """Read numbers that are separated by spaces or commas."""
    return tuple(float(part) for part in text.replace(",", " ").split())


def _is_number(text: str) -> bool:
    try:
        return bool(_numbers(text))
    except ValueError:
        return False


class _Files(click.Argument):
    """The files, which `--config` may name if the command line does not."""

    def consume_value(self, ctx: click.Context, opts: Mapping[str, Any]) -> Any:
        """Return the files; click would take no files on the command line for an empty list."""
        return super().consume_value(ctx, {} if opts.get("files") == () else opts)


FILES = _Files(["files"], nargs=-1, required=True, type=FILE, metavar="FILE...")

WEIGHT = option("--weight", metavar="COLUMN", help="Column of the weights of the cases.")
CLASSES = option(
    "--classes",
    metavar="A,B,...",
    help="Labels of the classes in the order of their columns; not needed if they are 0, 1, 2, ...",
)
BY = option(
    "--by",
    multiple=True,
    metavar="COLUMN[,...]",
    help="Column of groups to report on; several columns, such as sex,site, are crossed. Repeat the option to report "
    "on several groupings.",
)
ORDERED = option("--ordered", is_flag=True, help="The classes are ordered grades, in the order of their columns.")
EVENT = (
    option("--outcome", metavar="COLUMN", help="Column of the outcomes."),
    option(
        *("--forecast", "forecasts"),
        multiple=True,
        metavar="COLUMN",
        help="Column of the forecasts of an event. NAME=COLUMN also names the model; NAME=COLUMN,COLUMN,... gives one "
        "column per class. Repeat the option for several models, where they are compared.",
    ),
    option("--pos-label", metavar="LABEL", help="Label of the event; not needed if the outcomes are 0 and 1."),
    option(
        "--missing",
        type=click.Choice(["raise", "drop"]),
        default="raise",
        show_default=True,
        help="Whether a missing value is an error, or its row is dropped and counted.",
    ),
)
DEPENDENCE = (
    option(
        "--cluster",
        metavar="COLUMN",
        help="Column of clusters, such as the patient; cases of a cluster may be correlated.",
    ),
    option("--period", metavar="COLUMN", help="Column of times; cases that follow each other may be correlated."),
)
COLUMNS = Group("Columns of the files", (*EVENT, WEIGHT, CLASSES, ORDERED, *DEPENDENCE))
COLUMNS_AND_GROUPS = Group(COLUMNS.title, (*COLUMNS.options, BY))

DIALECT = Group(
    "How text and Excel files are written",
    (
        option(
            *("--null", "nulls"),
            multiple=True,
            metavar="TEXT",
            help="Text that means a missing value, such as NA, in addition to empty fields. May be repeated.",
        ),
        option(
            "--delimiter",
            metavar="SIGN",
            help="Separator of the fields of CSV: a sign, tab or space. By default the one of , ; | and tab that the "
            "header has most often.",
        ),
        option(
            "--decimal",
            type=click.Choice([".", ","]),
            help="Decimal sign in CSV of forecasts, weights and numbers that define segments; a comma is found without "
            "it if there is no doubt.",
        ),
        option("--sheet", metavar="NAME", help="Sheet of an Excel file; by default the first."),
    ),
)

THRESHOLDS = option(
    TAKES_NUMBERS,
    type=_Thresholds(),
    metavar="P | LOW HIGH",
    help="The probability from which you would act, or the range of such probabilities.",
)
LEVEL = option(
    "--level", type=float, metavar="P", default=0.95, show_default=True, help="Level of all confidence intervals."
)
SEED = option(
    "--seed",
    type=click.IntRange(min=0),
    metavar="N",
    help="Seed of all random draws; the same seed gives the same numbers.",
)
PROBLEM = Group(
    "Measures, intervals and tests",
    (
        THRESHOLDS,
        LEVEL,
        option(
            *("--resamples", "n_resamples"),
            type=int,
            metavar="N",
            default=1000,
            show_default=True,
            help="Number of resamples for confidence intervals.",
        ),
        SEED,
    ),
)
JSON = option(
    *("--json", "json_file"),
    type=FILE,
    metavar="FILE",
    help="Write JSON with a versioned schema, in which NaN is null and infinities are strings; - writes it to the "
    "standard output, without any other text.",
)
