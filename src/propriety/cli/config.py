"""Options from a file that the user names, as in `--config evaluation.toml`; no other file is looked for."""

from __future__ import annotations

import csv
import difflib
import io
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from propriety.errors import InputValueError

NOT_IN_FILES = ("config", "help")
READ = "propriety.config"  # The file that a command has read, in the context of click.
MOST_NEAR_NAMES = 4


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
