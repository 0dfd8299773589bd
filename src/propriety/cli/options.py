"""Commands and their options, defined once, listed in groups by the help, and read from `--config`."""

from __future__ import annotations

import csv
import difflib
import io
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

import click
from click.core import ParameterSource

from propriety.cli.messages import block
from propriety.errors import InputValueError

if TYPE_CHECKING:
    ParamType = click.ParamType[Any]
else:
    ParamType = click.ParamType  # It takes no type in the oldest supported version of click.
Function: TypeAlias = Callable[..., None]
Holder = TypeVar("Holder")

FILE = click.Path(allow_dash=True)
TAKES_NUMBERS = "--thresholds"  # Followed by one number or two.
NOT_IN_FILES = ("config", "help")
READ = "propriety.config"  # The file that a command has read, in the context of click.
MOST_NEAR_NAMES = 4


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
            name=function.__name__.replace("_", "-"),
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
            help="Decimal sign in CSV of forecasts, weights and numbers that are cut; a comma is found without "
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


def config_option() -> click.Option:
    """Return the option `--config`; what is typed takes precedence over the file.

    A file has a table for each command, such as `[evaluate]`, with its options. No file is read unless it is named:
    options also name the files to write, and code to import, and the current folder may be somebody else's.
    """
    return click.Option(
        ["--config"],
        type=click.Path(),
        metavar="FILE",
        is_eager=True,
        expose_value=False,
        callback=_read,
        help='TOML file with a table for each command, such as [evaluate] with outcome = "y" and by = ["sex", "site"].',
    )


def origin(error: click.ClickException) -> str | None:
    """Return the file of options that gave the value that click rejects; None if it was typed."""
    if not isinstance(error, click.BadParameter) or error.ctx is None or error.param is None:
        return None
    is_of_file = error.ctx.get_parameter_source(str(error.param.name)) is ParameterSource.DEFAULT_MAP
    return error.ctx.meta.get(READ) if is_of_file else None


def near_names(typed: str, known: Iterable[str]) -> str:
    """Return a hint with the known names that are most like the typed one; empty if there is none.

    Examples
    --------
    >>> near_names("brjer", ["brier", "log", "brier_low"])
    'did you mean brier?'
    """
    by_case = {name.lower(): name for name in known}
    near = [by_case[name] for name in difflib.get_close_matches(typed.lower(), by_case, MOST_NEAR_NAMES)]
    if not near:
        return ""
    return f"did you mean {', '.join(near[:-1])}{' or ' if len(near) > 1 else ''}{near[-1]}?"


def option_names(command: click.Command) -> dict[str, click.Parameter]:
    """Return the parameters by their names in a file: those of the long options, and FILE as `files`."""
    named: dict[str, click.Parameter] = {}
    for parameter in command.params:
        long = [name.removeprefix("--") for name in parameter.opts if name.startswith("--")]
        named |= dict.fromkeys(long or [str(parameter.name)], parameter)
    return {name: parameter for name, parameter in named.items() if name not in NOT_IN_FILES}


def _read(ctx: click.Context, _: click.Parameter, name: str | None) -> None:
    """Make the options of a file the defaults of the running command."""
    if name is None:
        return
    path, own = Path(name), str(ctx.command.name)
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:  # Also a whole number of more than 4,300 digits.
        raise InputValueError(f"{path} must be TOML; {error}", argument="--config") from error
    commands = [own] if ctx.parent is None else list(getattr(ctx.parent.command, "commands", [own]))
    _check_known(tables, commands, f"{path} has no command")
    if not isinstance(tables.get(own), Mapping):
        law = f"must name a file with the table [{own}]; {path} has none"
        raise InputValueError(law, argument="--config", hint="write the options of a command below its name.")
    named = option_names(ctx.command)
    _check_known(tables[own], named, f"the table {own} of {path} has no option")
    ctx.meta[READ] = str(path)
    ctx.default_map = {str(named[key].name): _value(key, value, named[key], path) for key, value in tables[own].items()}


def _check_known(given: Iterable[str], known: Iterable[str], problem: str) -> None:
    names = list(known)
    for key in given:
        if key not in names:
            law = f"has an unknown name; {problem} {key!r}"
            raise InputValueError(law, argument="--config", hint=near_names(key, names))


def _value(key: str, value: Any, parameter: click.Parameter, path: Path) -> Any:
    """Return a value as click takes it: lists for options that may be repeated, texts or flags for others."""
    if isinstance(value, Mapping):
        raise InputValueError(f"{key} in {path} must be a value, not a table", argument="--config")
    is_flag = isinstance(parameter, click.Option) and parameter.is_flag
    if is_flag != isinstance(value, bool):
        raise InputValueError(f"{key} in {path} must {'' if is_flag else 'not '}be true or false", argument="--config")
    values = value if isinstance(value, list) else [value]
    if any("\0" in str(each) for each in values):
        raise InputValueError(f"{key} in {path} must not hold the character NUL", argument="--config")
    if parameter.multiple or parameter.nargs == -1:
        return list(map(str, values))
    if isinstance(value, list):
        joined = io.StringIO()
        csv.writer(joined, lineterminator="").writerow(value)
        return joined.getvalue()
    return value if is_flag else str(value)
