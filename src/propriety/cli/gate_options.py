"""The options of gates, which `evaluate` and `compare` share."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import click

from propriety.cli.gate_facts import Facts, Numbers, read_baseline
from propriety.cli.gate_grammar import Condition, parse_condition
from propriety.cli.gate_outputs import JUNIT_HEAD, Summary, error_junit, junit, markdown
from propriety.cli.gates import GateResult, check_gates
from propriety.cli.messages import one_line, visible
from propriety.cli.outputs import check_targets, write
from propriety.errors import ProprietyError

JUNIT = "--junit"
SUCH_AS = {  # By command.
    "evaluate": (
        '"miscalibrated", "auc<0.7", "a/brier>b/brier", "a worse than b" or "any group/miscalibrated". Without a '
        "model, it applies to every model. It also fails if this cannot be told: a number could not be computed (for "
        "any group: in one of them), or a verdict has too few events or no test."
    ),
    "compare": (
        '"a worse than b", "a not better than b" or "a/brier>b/brier". Without a model, it applies to every model. It '
        "also fails if this cannot be told: a number could not be computed, or a verdict has no test."
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Gates:
    """Conditions, an earlier evaluation, and the files to write the results to."""

    conditions: Sequence[Condition]
    baseline_file: str | None
    junit_file: str | None
    markdown_file: str | None
    baseline: Numbers | None

    @property
    def targets(self) -> list[str | None]:
        """The files to write."""
        return [self.junit_file, self.markdown_file]

    @property
    def sources(self) -> list[Path]:
        """The files that are read in addition to the cases."""
        return [] if self.baseline_file is None else [Path(self.baseline_file)]

    def check(self, facts: Facts) -> list[GateResult]:
        """Check the conditions."""
        return check_gates(self.conditions, facts)

    def write(self, results: Sequence[GateResult], summary: Summary) -> None:
        """Write the results."""
        if self.junit_file is not None:
            write(self.junit_file, junit(summary.command, results))
        if self.markdown_file is not None:
            write(self.markdown_file, markdown(summary, results))

    def finish(self, results: Sequence[GateResult]) -> None:
        """Report the results on the standard error, and exit with code 1 if a gate failed."""
        for one in results:
            click.echo(visible(str(one)), err=True)
        if any(one.failed for one in results):
            click.get_current_context().exit(1)


class GatedCommand(click.Command):
    """A command with gates, whose JUnit file also tells of options that cannot be read."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Read the options; an error replaces the results of an earlier run."""
        typed = list(args)
        try:
            return super().make_context(info_name, args, parent, **extra)
        except (click.ClickException, ProprietyError, OSError) as error:
            reason = Exception(error.format_message()) if isinstance(error, click.ClickException) else error
            for option, value in pairwise([*typed, ""]):
                target = value if option == JUNIT else option.removeprefix(f"{JUNIT}=")
                if target != option and target:
                    _write_error(target, str(self.name), one_line(reason))
            raise


def gate_options(command: Callable[..., None]) -> Callable[..., None]:
    """Take conditions, and pass them to the command as `gates`."""

    @functools.wraps(command)
    def gated(
        *, fail_if: Sequence[str], baseline: str | None, junit_file: str | None, markdown_file: str | None, **asked: Any
    ) -> None:
        try:
            gates = Gates(
                conditions=[parse_condition(text) for text in fail_if],
                baseline_file=baseline,
                junit_file=junit_file,
                markdown_file=markdown_file,
                baseline=None if baseline is None else read_baseline(Path(baseline)),
            )
            command(gates=gates, **asked)
        except click.exceptions.Exit:  # The results are written.
            raise
        except Exception as error:
            if junit_file is not None:
                _write_error(junit_file, command.__name__, one_line(error))
            raise

    options = (
        click.option(
            "--fail-if",
            multiple=True,
            metavar="CONDITION",
            help=f"Exit with code 1 if the condition is true, such as {SUCH_AS[command.__name__]} May be repeated.",
        ),
        click.option(
            "--baseline",
            metavar="FILE",
            type=click.Path(),
            help='JSON of an earlier evaluation, for conditions such as "brier>baseline/brier_high".',
        ),
        click.option(
            *(JUNIT, "junit_file"),
            type=click.Path(allow_dash=True),
            metavar="FILE",
            help="Write the results of the conditions as JUnit XML.",
        ),
        click.option(
            *("--markdown", "markdown_file"),
            type=click.Path(allow_dash=True),
            metavar="FILE",
            help="Write a summary in Markdown, for example for a pull request.",
        ),
    )
    return functools.reduce(lambda decorated, option: option(decorated), reversed(options), gated)


def _write_error(target: str, command: str, message: str) -> None:
    """Replace the results of an earlier run by the error; a file of another kind is kept.

    Nothing is said of it: before the error message, "Written" would read as if the command had succeeded.
    """
    with suppress(ProprietyError, OSError):
        check_targets([target])
        path = Path(target)
        if not path.exists() or path.read_text(encoding="utf-8", errors="replace").startswith(JUNIT_HEAD):
            write(target, error_junit(command, message), announced=False)
