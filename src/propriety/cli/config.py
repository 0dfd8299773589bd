"""Options from a file that the user names, as in `--config evaluation.toml`; no other file is looked for."""

from __future__ import annotations

import csv
import io
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from propriety.cli.gate_facts import near_names
from propriety.errors import InputValueError

# Options of one command line, which do not belong in a file.
PERSONAL = ("config", "help")
READ = "propriety.config"  # The file that a command has read, in the context of click.


def configured(commands: Sequence[click.Command]) -> list[click.Command]:
    """Give every command the option `--config`; what the command line gives takes precedence.

    A file has options at its top level, for every command that has them, and tables such as `[evaluate]` with the
    options of one command, which take precedence. No file is read unless it is named: options also name the files to
    write, and code to import, and the current folder may be somebody else's.
    """
    for command in commands:
        command.params.append(
            click.Option(
                ["--config"],
                type=click.Path(),
                metavar="FILE",
                is_eager=True,
                expose_value=False,
                callback=lambda ctx, _, name: _read(ctx, name, commands),
                help='TOML file with options, such as outcome = "y" or fail-if = ["miscalibrated"].',
            )
        )
    return list(commands)


def is_preset(option: str) -> bool:
    """Whether an option of the running command was given by a file of options rather than typed."""
    ctx = click.get_current_context(silent=True)
    if ctx is None:
        return False
    names = [str(one.name) for one in ctx.command.params if option in one.opts]
    return any(ctx.get_parameter_source(name) is ParameterSource.DEFAULT_MAP for name in names)


def origin(error: click.ClickException) -> str | None:
    """Return the file of options that gave the value that click rejects; None if it was typed."""
    if not isinstance(error, click.BadParameter) or error.ctx is None or error.param is None:
        return None
    preset = error.ctx.get_parameter_source(str(error.param.name)) is ParameterSource.DEFAULT_MAP
    return error.ctx.meta.get(READ) if preset else None


def _read(ctx: click.Context, name: str | None, commands: Sequence[click.Command]) -> None:
    """Make the options of a file the defaults of the running command."""
    if name is None:
        return
    path = Path(name)
    try:
        options = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:  # Also a whole number of more than 4,300 digits.
        raise InputValueError(f"{path} must be TOML; {error}", argument="--config") from error
    parameters = _parameters(ctx.command)
    values = _of_command(options, ctx.command, commands, path)
    ctx.meta[READ] = str(path)
    ctx.default_map = {
        str(parameters[key].name): _value(key, value, parameters[key], path) for key, value in values.items()
    }


def _of_command(
    options: Mapping[str, Any], command: click.Command, commands: Sequence[click.Command], path: Path
) -> dict[str, Any]:
    """Return the options of a file that a command takes; the names of all others are checked too."""
    by_name = {str(each.name): each for each in commands}
    shared = {name: value for name, value in options.items() if name not in by_name}
    known = [key for each in commands for key in _parameters(each)]
    _check_known(shared, [*known, *by_name], f"{path} has no option or command")
    for name, each in by_name.items():
        if not isinstance(options.get(name, {}), Mapping):
            raise InputValueError(f"{name} in {path} must be a table of options", argument="--config")
        _check_known(options.get(name, {}), _parameters(each), f"the table {name} of {path} has no option")
    parameters = _parameters(command)
    # A range of thresholds is for other commands than those that take a single one.
    fits = {
        key: key in parameters and not (isinstance(value, list) and parameters[key].type is click.FLOAT)
        for key, value in shared.items()
    }
    return {key: value for key, value in shared.items() if fits[key]} | dict(options.get(str(command.name), {}))


def _parameters(command: click.Command) -> dict[str, click.Parameter]:
    """Return the parameters by their names in the file: those of the long options, and FILE as `files`."""
    found: dict[str, click.Parameter] = {}
    for one in command.params:
        long = [option.removeprefix("--") for option in one.opts if option.startswith("--")]
        found |= dict.fromkeys(long or [str(one.name)], one)
    return {key: one for key, one in found.items() if key not in PERSONAL}


def _check_known(given: Iterable[str], known: Iterable[str], what: str) -> None:
    names = list(known)
    for key in given:
        if key not in names:
            raise InputValueError(
                f"has an unknown name; {what} {key!r}", argument="--config", hint=near_names(key, names)
            )


def _value(key: str, value: Any, parameter: click.Parameter, path: Path) -> Any:
    """Return a value as click takes it: lists for options that may be repeated, texts or flags for others."""
    if isinstance(value, Mapping):
        raise InputValueError(f"{key} in {path} must be a value, not a table", argument="--config")
    is_flag = isinstance(parameter, click.Option) and parameter.is_flag
    if is_flag != isinstance(value, bool):
        law = f"{key} in {path} must {'' if is_flag else 'not '}be true or false"
        raise InputValueError(law, argument="--config")
    if any("\0" in str(one) for one in (value if isinstance(value, list) else [value])):
        raise InputValueError(f"{key} in {path} must not hold the character NUL", argument="--config")
    if parameter.multiple or parameter.nargs == -1:
        return [str(one) for one in value] if isinstance(value, list) else [str(value)]
    if isinstance(value, list):
        joined = io.StringIO()
        csv.writer(joined, lineterminator="").writerow(value)
        return joined.getvalue()
    return value if is_flag else str(value)
