"""Results of gates for other programs: JUnit XML for pipelines, and Markdown for pull requests."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element, SubElement, indent, tostring  # nosec B405  (writes, and parses nothing)

from propriety.cli.gates import UNTOLD, GateResult
from propriety.cli.messages import visible
from propriety.inference.estimates import counted

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
        rows += [[RESULTS[result.answer], result.gate, result.reason] for result in results]
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
