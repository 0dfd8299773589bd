"""`propriety advise`: which measure fits a decision, by options or by questions."""

from __future__ import annotations

import sys
from typing import Any, get_args

import click
from click.core import ParameterSource

from propriety.cli.machine import document, written
from propriety.cli.messages import block, say
from propriety.cli.numbers import numbers_of
from propriety.cli.options import json_option, threshold_options
from propriety.cli.outputs import STDOUT, check_targets, write
from propriety.decisions.recommendations import Decisions, Kind, Need

DECISIONS, KINDS, NEEDS = (click.Choice(get_args(one)) for one in (Decisions, Kind, Need))


@click.command(
    short_help="Recommend measures for a decision.",
    epilog=block(
        "Examples",
        "propriety advise",
        "propriety advise --thresholds 0.05 0.2 --need decisions",
        "propriety advise --decisions capacity --rare --json -",
    ),
)
@click.option(
    "--decisions",
    type=DECISIONS,
    default="independent",
    show_default=True,
    help="Whether each case is decided independently, or the decisions share a limited capacity.",
)
@threshold_options
@click.option("--kind", type=KINDS, default="binary", show_default=True, help="What is forecast.")
@click.option("--rare", is_flag=True, help="The event is rare, below about one in ten.")
@click.option(
    "--need",
    type=NEEDS,
    default="probabilities",
    show_default=True,
    help="What the forecasts are used for: their values, their ranking, or only the decision to act.",
)
@json_option
@click.pass_context
def advise(ctx: click.Context, /, json_file: str | None, **options: Any) -> None:
    """Recommend measures for a decision, with the calls that compute them, and list those that would mislead.

    Without options, on a terminal, it asks for them.
    """
    check_targets([json_file])
    if _is_interactive(ctx):
        options = _answers()
    found = advise(**options)
    if json_file is not None:
        write(json_file, written(document("advice", found.to_dict())))
    if json_file != STDOUT:
        say(repr(found))


def _is_interactive(ctx: click.Context) -> bool:
    given = (ParameterSource.COMMANDLINE, ParameterSource.DEFAULT_MAP)
    silent = all(ctx.get_parameter_source(name) not in given for name in ctx.params)
    return silent and sys.stdin.isatty() and sys.stdout.isatty()


def _answers() -> dict[str, Any]:
    """Ask for the values of the options."""
    kind = click.prompt("What is forecast?", type=KINDS, default="binary")
    need = click.prompt("What are the forecasts used for?", type=NEEDS, default="probabilities")
    decisions = click.prompt(
        "Is each case decided independently, or do the decisions share a limited capacity?",
        type=DECISIONS,
        default="independent",
    )
    answers: dict[str, Any] = {
        "kind": kind,
        "need": need,
        "decisions": decisions,
        "rare": False,
        "thresholds": None,
    }
    if kind != "binary":
        return answers
    answers["rare"] = click.confirm("Is the event rare, below about one in ten?", default=False)
    question = "From which probability would you act? One number, two for a range, or nothing if unknown"
    found = click.prompt(question, value_proc=_numbers, default="", show_default=False)
    if found:
        answers["thresholds"] = found[0] if len(found) == 1 else found
    return answers


def _numbers(text: str) -> tuple[float, ...]:
    try:
        numbers = numbers_of(text)
    except ValueError as error:
        message = "write numbers such as 0.1, or 0.05 0.2."
        raise click.UsageError(message) from error
    if len(numbers) > 2:
        message = "write one number or two."
        raise click.UsageError(message)
    return numbers
