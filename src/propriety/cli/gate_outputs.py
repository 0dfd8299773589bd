"""The options of gates, and their results for pipelines: JUnit XML, and Markdown for pull requests."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring  # nosec B405  (writes, and parses nothing)

import click

from propriety.cli.gate_facts import Facts, Numbers, read_baseline
from propriety.cli.gate_grammar import Condition, parse_condition
from propriety.cli.gates import UNTOLD, GateResult, check_gates
from propriety.cli.messages import one_line, visible
from propriety.cli.options import FILE, Command, Group, option
from propriety.cli.outputs import check_targets, write
from propriety.errors import ProprietyError
from propriety.number_words import counted

JUNIT = "--junit"
JUNIT_HEAD = "<?xml version='1.0' encoding='utf-8'?>\n<testsuites name=\"propriety\""
# Signs with a meaning in GitHub's Markdown; those of links and lists are escaped where they have it.
SIGNS = re.compile(r"([\\`*_\[\]<>&|~!$^])")
PLACES = ((re.compile(r"://"), r":\\//"), (re.compile(r"(?i)\bwww\."), r"www\\."), (re.compile(r"\n"), " "))
LIST = re.compile(r"^(\d*)([-+.)])(?=\s)")
MENTION = re.compile(r"([@#])")
RESULTS = {"yes": "❌ failed", "no": "✅ passed", UNTOLD: f"❌ {UNTOLD}"}
ZERO_WIDTH_SPACE = "\u200b"  # Without it, GitHub would notify the people and link the issues that a name mentions.


@dataclass(frozen=True, slots=True)
class Summary:
    """What a command found: sentences, and a table whose first row is its head."""

    command: str
    sentences: Sequence[str]
    rows: Sequence[Sequence[str]]


def gate_options(such_as: str) -> Group:
    """Return the options of gates; the help of `--fail-if` names conditions such as those of the command."""
    return Group(
        "Gates",
        (
            option(
                "--fail-if",
                multiple=True,
                metavar="CONDITION",
                help=f"Exit with code 1 if the condition is true, such as {such_as} May be repeated.",
            ),
            option("--allow-untold", is_flag=True, help="Let a gate pass if its condition cannot be told."),
            option(
                *("--baseline", "baseline_file"),
                metavar="FILE",
                type=click.Path(),
                help='JSON of an earlier evaluation, for conditions such as "brier>baseline/brier_high".',
            ),
            option(
                *(JUNIT, "junit_file"),
                type=FILE,
                metavar="FILE",
                help="Write the results of the conditions as JUnit XML.",
            ),
            option(
                *("--markdown", "markdown_file"),
                type=FILE,
                metavar="FILE",
                help="Write a summary in Markdown, for example for a pull request.",
            ),
        ),
    )


@dataclass(slots=True, kw_only=True)
class Gates:
    """The options of gates, whose conditions and earlier evaluation are read at once."""

    fail_if: Sequence[str]
    allow_untold: bool
    baseline_file: str | None
    junit_file: str | None
    markdown_file: str | None
    conditions: Sequence[Condition] = field(init=False)
    baseline: Numbers | None = field(init=False)

    def __post_init__(self) -> None:
        """Read the conditions and the earlier evaluation."""
        self.conditions = [parse_condition(text) for text in self.fail_if]
        self.baseline = None if self.baseline_file is None else read_baseline(Path(self.baseline_file))

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
        return [replace(result, is_allowed=self.allow_untold) for result in check_gates(self.conditions, facts)]

    def write(self, results: Sequence[GateResult], summary: Summary) -> None:
        """Write the results."""
        if self.junit_file is not None:
            write(self.junit_file, junit(summary.command, results))
        if self.markdown_file is not None:
            write(self.markdown_file, markdown(summary, results))

    def finish(self, results: Sequence[GateResult]) -> None:
        """Report the results on the standard error, and exit with code 1 if a gate failed."""
        for result in results:
            click.echo(visible(str(result)), err=True)
        if any(result.failed for result in results):
            click.get_current_context().exit(1)


class GatedCommand(Command):
    """A command with gates, whose JUnit file also tells of an error."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Read the options; an error replaces the results of an earlier run."""
        typed = list(args)
        try:
            return super().make_context(info_name, args, parent, **extra)
        except (click.ClickException, ProprietyError, OSError) as error:
            for name, value in pairwise([*typed, ""]):
                target = value if name == JUNIT else name.removeprefix(f"{JUNIT}=")
                if target != name and target:
                    self._write_error(target, error)
            raise

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; an error replaces the results of an earlier run."""
        target = ctx.params["junit_file"]
        try:
            return super().invoke(ctx)
        except click.exceptions.Exit:  # The results are written.
            raise
        except Exception as error:
            if target is not None:
                self._write_error(target, error)
            raise

    def _write_error(self, target: str, error: Exception) -> None:
        """Replace the results of an earlier run by the error; a file of another kind is kept.

        Nothing is said of it: before the error message, "Written" would read as if the command had succeeded.
        """
        reason = Exception(error.format_message()) if isinstance(error, click.ClickException) else error
        with suppress(ProprietyError, OSError):
            check_targets([target])
            path = Path(target)
            if not path.exists() or path.read_text(encoding="utf-8", errors="replace").startswith(JUNIT_HEAD):
                write(target, error_junit(str(self.name), one_line(reason)), announced=False)


def _shown(result: GateResult) -> str:
    return f"{UNTOLD}, allowed" if result.answer == UNTOLD and result.is_allowed else RESULTS[result.answer]


def junit(command: str, results: Sequence[GateResult]) -> str:
    """Return JUnit XML with a test case for each gate and model."""
    suite = _suite(command, len(results), failures=sum(result.failed for result in results))
    for result in results:
        case = _case(suite, result.gate if result.key == result.gate else f"{result.gate} [{result.key}]")
        if result.failed:
            kind = UNTOLD if result.answer == UNTOLD else "gate"
            SubElement(case, "failure", message=visible(result.reason), type=kind)
        else:
            SubElement(case, "system-out").text = visible(result.reason)
    return _xml(suite)


def error_junit(command: str, message: str) -> str:
    """Return JUnit XML for a command that could not check its gates."""
    suite = _suite(command, 1, errors=1)
    SubElement(_case(suite, "input"), "error", message=visible(message), type="input")
    return _xml(suite)


def markdown(summary: Summary, results: Sequence[GateResult]) -> str:
    """Return a summary in GitHub's Markdown: the gates, the results in words, and the table."""
    failed = sum(result.failed for result in results)
    gates = counted(len(results), "gate")
    verdict = f"{failed} of {gates} failed" if failed else f"{gates} passed"
    parts = [f"## propriety {summary.command}" + (f": {verdict}" if results else "")]
    if results:
        rows = [["result", "gate", "reason"]]
        rows += [[_shown(result), result.gate, result.reason] for result in results]
        parts.append(_table(rows))
    parts += ["\n".join(f"- {_escaped(line)}" for line in summary.sentences), _table(summary.rows)]
    return "\n\n".join(parts) + "\n"


def _suite(command: str, tests: int, *, failures: int = 0, errors: int = 0) -> Element:
    counts = {"tests": str(tests), "failures": str(failures), "errors": str(errors)}
    root = Element("testsuites", {"name": "propriety", **counts})
    SubElement(root, "testsuite", {"name": f"propriety {command}", **counts})
    return root


def _case(root: Element, name: str) -> Element:
    return SubElement(root[0], "testcase", classname=root[0].attrib["name"].replace(" ", "."), name=visible(name))


def _xml(root: Element) -> str:
    indent(root)
    return str(tostring(root, encoding="utf-8", xml_declaration=True), "utf-8")


def _table(rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(map(_escaped, row))} |" for row in rows]
    return "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:]])


def _escaped(text: str) -> str:
    r"""Escape a text so that GitHub shows it as it is.

    Examples
    --------
    >>> print(_escaped("a|b <i> [x](http://y)"))
    a\|b \<i\> \[x\](http:\//y)
    """
    escaped = SIGNS.sub(r"\\\1", visible(text))
    for pattern, with_escape in PLACES:
        escaped = pattern.sub(with_escape, escaped)
    return MENTION.sub(rf"\1{ZERO_WIDTH_SPACE}", LIST.sub(r"\1\\\2", escaped))
