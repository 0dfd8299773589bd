"""The program: its commands, its exit codes, and error messages of one line."""

from __future__ import annotations

import io
import os
import sys
import traceback
from contextlib import suppress
from importlib import import_module
from typing import Any, Never

import click

from propriety.cli.apply import apply
from propriety.cli.compare import compare
from propriety.cli.evaluate import evaluate
from propriety.cli.interrupts import exit_code, hear_signals, was_interrupted
from propriety.cli.ledgers import condense, merge
from propriety.cli.messages import block, one_line, visible
from propriety.cli.options import numbers_joined, origin
from propriety.cli.recalibrate import recalibrate
from propriety.errors import MissingDependencyError, ProprietyError
from propriety.upward import brought

STOPPED = "Interrupted; no incomplete files are left."
USAGE, EXTRA, BUG, PIPE = 2, 3, 70, 141
LONGEST = 4000  # Characters of an error message, which may list every column of a file.


class Program(click.Group):
    """A group of commands with error messages of one line and exit codes by type of error."""

    def main(self, *args: Any, **extra: Any) -> Never:
        """Run a command and exit with its exit code."""
        extra["standalone_mode"] = False
        try:
            code = super().main(*args, **extra)
        except click.exceptions.NoArgsIsHelpError as error:
            error.show()
            code = USAGE
        except click.ClickException as error:
            code = _fail(_usage(error), USAGE)
        except (click.Abort, KeyboardInterrupt):
            code = _fail(STOPPED, exit_code())
        except Exception as error:  # noqa: BLE001  (the last resort: a bug must not look like a failed gate)
            code = _code_of(error)
        sys.exit(code if isinstance(code, int) else 0)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments; some options take one or more numbers."""
        return super().parse_args(ctx, numbers_joined(args))

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  (click's)
        """Return the commands in the order of use."""
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; exit without an error message if the reader of the output has closed the pipe."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            _close_output()
            ctx.exit(PIPE)

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        """Read the command line, where --help and --version write to the output too."""
        try:
            return super().make_context(*args, **extra)
        except BrokenPipeError:
            _close_output()
            sys.exit(PIPE)


@click.group(
    name="propriety",
    epilog="\n\n".join(
        [
            block(
                "Examples",
                "propriety evaluate predictions.parquet --outcome y --forecast a --forecast b --html report.html",
                "propriety compare predictions.csv --outcome y --forecast a --forecast b --cluster patient",
                "propriety condense monday.parquet --outcome y --forecast a --by site -o ledgers/monday",
            ),
            block(
                "Exit codes",
                "0    success",
                "1    a condition of --fail-if is true, or there is what the command looks for, such as an alarm",
                "2    wrong usage or invalid input; the error message says which",
                "3    an optional library is missing; the error message says what to install",
                "70   a bug in propriety",
                "129  the terminal was closed (SIGHUP); no incomplete files are left",
                "130  interrupted (Ctrl-C); no incomplete files are left",
                "143  terminated (SIGTERM); no incomplete files are left",
                "141  the program that read the output closed the pipe",
            ),
            block(
                "Shell completion of commands and options",
                'bash  eval "$(_PROPRIETY_COMPLETE=bash_source propriety)"     in ~/.bashrc',
                'zsh   eval "$(_PROPRIETY_COMPLETE=zsh_source propriety)"      in ~/.zshrc',
                "fish  _PROPRIETY_COMPLETE=fish_source propriety | source      in ~/.config/fish/config.fish",
            ),
        ]
    ),
    cls=Program,
    commands=[
        *(evaluate, compare, recalibrate, apply, condense, merge),
        *(getattr(import_module(module), name) for module, name in brought("commands")),
    ],
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(package_name="propriety", message="%(prog)s %(version)s")
def program() -> None:
    """Evaluate probability forecasts: scores, calibration, decisions and comparisons, with confidence intervals.

    Output is coloured only on a terminal, and not if NO_COLOR is set.
    """


def run() -> None:
    """Run the program as a separate process."""
    hear_signals()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        program.main(prog_name="propriety")
    except SystemExit as end:
        if was_interrupted() and end.code == exit_code():
            # Files are cleaned up. A normal exit would let interrupted libraries print errors of their own.
            sys.stderr.flush()
            os._exit(exit_code())
        raise


def _close_output() -> None:
    """Redirect the output to nowhere: Python flushes it at exit, which must not fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _usage(error: click.ClickException) -> str:
    message = one_line(Exception(error.format_message()))
    if (file := origin(error)) is not None:
        message = f"{file}: {message}"
    context = error.ctx if isinstance(error, click.UsageError) else None
    end = "" if message.endswith((".", "?")) else "."
    return message if context is None else f"{message}{end} See '{context.command_path} --help'."


def _code_of(error: Exception) -> int:
    if was_interrupted():  # A library may turn the interrupt into another error.
        return _fail(STOPPED, exit_code())
    if isinstance(error, MissingDependencyError):
        return _fail(one_line(error), EXTRA)
    if isinstance(error, ProprietyError | OSError):
        return _fail(one_line(error), USAGE)
    traceback.print_exc()
    return _fail("This is a bug in propriety; please report it with the lines above.", BUG)


def _fail(message: str, code: int) -> int:
    text = visible(message)
    with suppress(BrokenPipeError):
        click.echo(f"Error: {text if len(text) <= LONGEST else f'{text[:LONGEST]}...'}", err=True)
    return code
